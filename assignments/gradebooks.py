"""Gradebooks of Canvas and Moodle: the file that these export, with the marks filled in.

Both name the files that students hand in after the student, Canvas ``namefirst_12345_678_file``,
Moodle ``First Last_12345_assignsubmission_file/...``. A student is found by number, login, e-mail
address or name, whichever stands in the name of the submission.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from assignments.ledger import keep_previous, read_csv, write_csv

_CANVAS = ("ID", "SIS User ID", "SIS Login ID", "Student")
_HANDED_IN = re.compile(r"((?:^|/)[^/_]*(?:_late)?_\d+)_\d+_", re.I)  # Canvas: student, submission
_MOODLE = ("Identifier", "Username", "ID number", "Email address", "Full name")


@dataclass(frozen=True)
class Filled:
    """How a gradebook was filled: students in it, those with a mark, submissions of nobody."""

    students: int
    matched: int
    unmatched: tuple[str, ...]


def fill_gradebook(gradebook: Path, out: Path, totals: dict[str, float], column: str) -> Filled:
    """Fill one column of what Canvas or Moodle exported; rows and other columns stay as they are.

    `totals` are by submission. Canvas writes a number in brackets behind the name of a column,
    which need not be given; a new one is added.
    """
    if not gradebook.is_file():
        raise ValueError(f"{gradebook} is not there; export it from the gradebook first.")
    columns, rows = read_csv(gradebook)
    kind = next((keys for keys in (_CANVAS, _MOODLE) if keys[-1] in columns), None)
    if kind is None:
        raise ValueError(f"{gradebook} has no column {_CANVAS[-1]!r} or {_MOODLE[-1]!r}.")
    target = next((c for c in columns if c == column or c.startswith(f"{column} (")), column)
    students = [row for row in rows if not row[kind[-1]].strip().startswith("Points Possible")]
    filled = _fill(students, totals, kind, target)
    keep_previous(out)
    write_csv(out, columns if target in columns else [*columns, target], rows)
    return filled


def _fill(
    rows: list[dict[str, str]], totals: dict[str, float], keys: tuple[str, ...], target: str
) -> Filled:
    plain = {name: _HANDED_IN.sub(r"\1_", name) if keys is _CANVAS else name for name in totals}
    words = {name: _words(plain[name]) for name in totals}
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
