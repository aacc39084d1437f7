"""The table of marks: merged submission by submission, hand-entered columns kept, never lost."""

from __future__ import annotations

import csv
import io
import re
import shutil
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from assignments.grading.results import printable
from safe_files import write_text

_FIRST = ("submission", "assignment", "total", "automatic")
ADJUSTMENT = "adjustment"  # a column that an instructor may add; it counts
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Mark:
    """What the grader says of one submission."""

    submission: str
    assignment: str
    total: float  # the automatic points
    questions: dict[str, float]
    remarks: tuple[str, ...]
    feedback: dict[str, Any]  # what the JSON file of the submission holds

    def text(self) -> str:
        """Return the mark with its feedback, a line per test."""
        lines = [f"{printable(self.submission)}: {self.total:g} points"]
        for outcome in self.feedback.get("outcomes", []):
            points = f"{outcome['points']:g}/{outcome['max_points']:g}"
            lines.append(f"{points:>7s}  {outcome['test']}: {outcome['message'] or 'passed'}")
        remarks = (f"  remark: {printable(remark)}" for remark in self.remarks)
        return "\n".join([*lines, *remarks])


@dataclass
class Ledger:
    """The marks of a class."""

    # Of each assignment, the questions that people mark, with their points.
    manual: dict[str, dict[str, float]]
    columns: list[str] = field(default_factory=lambda: list(_FIRST))
    # By submission and assignment, the cells as text.
    rows: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path, manual: dict[str, dict[str, float]]) -> Ledger:
        """Read a table; a file that is not there is an empty one."""
        if not path.is_file():
            return cls(manual)
        columns, rows = read_csv(path)
        if "submission" not in columns:
            raise ValueError(f"{path} is not a table of marks: it has no column 'submission'.")
        keyed = {(row["submission"], row.get("assignment", "")): row for row in rows}
        if len(keyed) < len(rows):
            raise ValueError(f"{path} has two rows for one submission; remove one.")
        ledger = cls(manual, columns, keyed)
        for key in keyed:
            ledger.total(key)  # raises where a mark is not a number
        return ledger

    def enter(self, mark: Mark) -> None:
        """Take what the grader says of a submission; all other cells of its row stay."""
        name = printable(mark.submission)
        before = self.rows.pop((name, ""), {})  # from when its assignment could not be told
        row = self.rows.setdefault((name, mark.assignment), before)
        row |= {"submission": name, "assignment": mark.assignment, "automatic": f"{mark.total:g}"}
        row |= {question: f"{points:g}" for question, points in mark.questions.items()}
        row["remarks"] = " | ".join(" ".join(printable(r).split()) for r in mark.remarks)

    def total(self, key: tuple[str, str]) -> float:
        """Return the automatic points and those given by hand of one row."""
        counted = ("automatic", *self.manual.get(key[1], {}), ADJUSTMENT)
        return sum(number for name in counted if (number := self._number(key, name)) is not None)

    def pending(self, key: tuple[str, str]) -> list[str]:
        """Return the questions with points that nobody has marked yet."""
        asked = self.manual.get(key[1], {}).items()
        return [name for name, most in asked if most and self._number(key, name) is None]

    def _number(self, key: tuple[str, str], column: str) -> float | None:
        text = self.rows[key].get(column, "").strip()
        if not text:
            return None
        try:
            return float(text.replace(",", "."))
        except ValueError:
            raise ValueError(
                f"the mark of {key[0]} for {column} must be a number, got {text!r}."
            ) from None

    def write(self, path: Path) -> None:
        """Write the table, whole or not at all, rows sorted by name."""
        for key, row in self.rows.items():
            row["total"] = f"{self.total(key):g}"
        used = {name for row in self.rows.values() for name in row}
        manual = [name for questions in self.manual.values() for name in questions]
        graded = sorted(
            (name for name in used if re.fullmatch(r"q\d+", name)), key=lambda n: (len(n), n)
        )
        wanted = [*_FIRST, *graded, *dict.fromkeys(manual), "remarks"]
        columns = list(dict.fromkeys([*wanted, *self.columns, *sorted(used)]))
        path.parent.mkdir(parents=True, exist_ok=True)
        write_csv(path, columns, [self.rows[key] for key in sorted(self.rows)])


def keep_previous(path: Path) -> Path | None:
    """Copy a file into the folder NAME-before, under the time of day; None when there is none."""
    if not path.is_file():
        return None
    folder = path.with_name(f"{path.stem}-before")
    folder.mkdir(parents=True, exist_ok=True)
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S-%f")
    return Path(shutil.copy2(path, folder / f"{stamp}{path.suffix}"))


def read_csv(path: Path) -> tuple[list[str], list[dict[str, str]]]:
    """Return columns and rows of a CSV file, as spreadsheets write them: BOM, semicolons or not."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8; save it as 'CSV UTF-8'.") from None
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    if not lines:
        return [], []
    columns = [_plain(name) for name in lines[0]]
    rows = [dict(zip(columns, map(_plain, line), strict=False)) for line in lines[1:] if any(line)]
    return columns, rows


def write_csv(path: Path, columns: list[str], rows: list[dict[str, str]]) -> None:
    """Write a CSV file; no cell is a formula for a spreadsheet."""
    text = io.StringIO(newline="")
    table = csv.writer(text)
    for line in (columns, *([row.get(name, "") for name in columns] for row in rows)):
        table.writerow([spelt(printable(cell)) for cell in line])
    write_text(path, text.getvalue())


def spelt(cell: str) -> str:
    """Return a cell that no spreadsheet runs: an apostrophe before what would be a formula."""
    harmless = not cell.startswith(_FORMULA) or re.fullmatch(r"[+-]?[\d.,]+(e[+-]?\d+)?", cell)
    return cell if harmless else f"'{cell}"


def _plain(cell: str) -> str:
    """Undo `spelt`."""
    return cell[1:] if cell[:1] == "'" and cell[1:].startswith(_FORMULA) else cell
