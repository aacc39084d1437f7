"""Gradebooks of Canvas and Moodle: the file that these export, with the marks filled in.

Both name the files that students hand in after the student, Canvas ``namefirst_12345_678_file``,
Moodle ``First Last_12345_assignsubmission_file/...``. A student is found by number, login, e-mail
address or name, whichever stands in the name of the submission.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from assignments.ledger import keep_previous, read_csv, write_csv

__all__ = ["Filled", "fill_canvas", "fill_moodle"]

_CANVAS = ("ID", "SIS User ID", "SIS Login ID", "Student")
_MOODLE = ("Identifier", "Username", "ID number", "Email address", "Full name")


@dataclass(frozen=True)
class Filled:
    """How a gradebook was filled: students in it, those with a mark, submissions of nobody."""

    students: int
    matched: int
    unmatched: tuple[str, ...]


def fill_canvas(gradebook: Path, out: Path, totals: dict[str, float], column: str) -> Filled:
    """Fill the column of an assignment; the row of possible points stays as it is."""
    columns, rows = _read(gradebook, "Student")
    full = [name for name in columns if name == column or name.startswith(f"{column} (")]
    target = full[0] if full else column
    students = [row for row in rows if not row["Student"].strip().startswith("Points Possible")]
    filled = _fill(students, totals, _CANVAS, target)
    _write(out, columns if target in columns else [*columns, target], rows)
    return filled


def fill_moodle(gradebook: Path, out: Path, totals: dict[str, float]) -> Filled:
    """Fill the column "Grade" of a grading worksheet."""
    columns, rows = _read(gradebook, "Identifier")
    filled = _fill(rows, totals, _MOODLE, "Grade")
    _write(out, columns if "Grade" in columns else [*columns, "Grade"], rows)
    return filled


def _read(path: Path, needed: str) -> tuple[list[str], list[dict[str, str]]]:
    if not path.is_file():
        raise ValueError(f"{path} is not there; export it from the gradebook first.")
    columns, rows = read_csv(path)
    if needed not in columns:
        raise ValueError(f"{path} has no column {needed!r}: it is no gradebook of this kind.")
    return columns, rows


def _write(path: Path, columns: list[str], rows: list[dict[str, str]]) -> None:
    keep_previous(path)
    write_csv(path, columns, rows)


def _fill(
    rows: list[dict[str, str]], totals: dict[str, float], keys: tuple[str, ...], target: str
) -> Filled:
    words = {name: _words(name) for name in totals}
    found: dict[str, int] = {}
    for number, row in enumerate(rows):
        for name in _owned(row, words, keys):
            if found.setdefault(name, number) != number:
                raise ValueError(f"{name} may be of two students; put a number into its name.")
    matched = set()
    for name, number in found.items():
        if number in matched:
            raise ValueError(f"{rows[number][keys[-1]]} has two submissions; remove one row.")
        matched.add(number)
        rows[number][target] = f"{totals[name]:g}"
    return Filled(len(rows), len(matched), tuple(sorted(set(totals) - set(found))))


def _owned(row: dict[str, str], words: dict[str, set[str]], keys: tuple[str, ...]) -> list[str]:
    """Return the submissions of a student: by the first key that finds one."""
    for key in keys:
        value = row.get(key, "").strip().lower().removeprefix("participant ")
        wanted = {value, _joined(value), _joined(value.partition("@")[0])} - {""}
        if key in ("Student", "Full name"):
            wanted |= {_joined("".join(reversed(value.split(",")))), _joined(value)}
        owned = [name for name, found in words.items() if wanted & found]
        if owned:
            return owned
    return []


def _words(submission: str) -> set[str]:
    """Return what may name a student in the path of a submission."""
    stem = submission.lower().removesuffix(".ipynb")
    parts = [*stem.split("/"), *re.split(r"[/_]", stem)]
    return {word for part in parts for word in (part.strip(), _joined(part))} - {""}


def _joined(text: str) -> str:
    return "".join(filter(str.isalnum, text))
