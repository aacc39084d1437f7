"""Marks of many submissions: a table for the instructor, feedback for each student."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from assignments.collection import Handed
from assignments.grading.results import printable
from assignments.grading.specification import Specification
from safe_files import write_text

__all__ = ["Mark", "failed_mark", "load_mark", "mark_of", "write_marks"]


@dataclass(frozen=True)
class Mark:
    """One row of the table.

    Attributes
    ----------
    submission, assignment : str
    total : float
    questions : dict of str to float
    remarks : tuple of str
    feedback : dict
        What the JSON file of the submission holds.
    """

    submission: str
    assignment: str
    total: float
    questions: dict[str, float]
    remarks: tuple[str, ...]
    feedback: dict[str, Any]

    def text(self) -> str:
        """Return the mark with its feedback, a line per test."""
        lines = [f"{printable(self.submission)}: {self.total:g} points"]
        for outcome in self.feedback.get("outcomes", []):
            points = f"{outcome['points']:g}/{outcome['max_points']:g}"
            lines.append(f"{points:>7s}  {outcome['test']}: {outcome['message'] or 'passed'}")
        remarks = (f"  remark: {printable(remark)}" for remark in self.remarks)
        return "\n".join([*lines, *remarks])


def failed_mark(entry: Handed, problem: str) -> Mark:
    """Return no points for a file that could not be graded, and why."""
    return Mark(entry.name, entry.assignment, 0.0, {}, (problem,), {})


def mark_of(entry: Handed, written: Path, specification: Specification, limit: float) -> Mark:
    """Return the mark that the grader wrote under a limit in seconds."""
    feedback = json.loads(written.read_text(encoding="utf-8"))
    feedback |= {
        "submission": entry.name,
        "max_points": specification.points,
        "term": specification.term,
        "fingerprint": _fingerprint(entry, specification, limit),
    }
    return _mark(entry, feedback)


def _mark(entry: Handed, feedback: dict[str, Any]) -> Mark:
    questions: dict[str, float] = {}
    for outcome in feedback["outcomes"]:
        before = questions.get(outcome["question"], 0.0)
        questions[outcome["question"]] = before + outcome["points"]
    remarks = tuple(feedback["remarks"])
    total = sum(questions.values())
    return Mark(entry.name, entry.assignment, total, questions, remarks, feedback)


def load_mark(
    folder: Path, entry: Handed, specifications: dict[str, Specification], limit: float
) -> Mark | None:
    """Return the mark of an earlier run, if the same notebook met the same tests and limit."""
    specification = specifications.get(entry.assignment)
    path = folder / f"{entry.name}.json"
    if specification is None or entry.problem or not path.is_file():
        return None
    try:
        feedback = json.loads(path.read_text(encoding="utf-8"))
        same = feedback["fingerprint"] == _fingerprint(entry, specification, limit)
    except (ValueError, KeyError, TypeError):
        return None
    return _mark(entry, feedback) if same else None


def _fingerprint(entry: Handed, specification: Specification, limit: float) -> str:
    tests = json.dumps([asdict(specification), limit], sort_keys=True).encode()
    return hashlib.sha256(entry.path.read_bytes() + tests).hexdigest()


def write_marks(path: Path, marks: list[Mark]) -> None:
    """Write the table, whole or not at all."""
    questions = sorted({name for mark in marks for name in mark.questions}, key=_in_order)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = io.StringIO(newline="")
    table = csv.writer(text)
    table.writerow(["submission", "assignment", "total", *questions, "remarks"])
    for mark in marks:
        points = [f"{mark.questions[q]:g}" if q in mark.questions else "" for q in questions]
        remarks = " | ".join(" ".join(remark.split()) for remark in mark.remarks)
        row = [mark.submission, mark.assignment, f"{mark.total:g}", *points, remarks]
        table.writerow([printable(entry) for entry in row])
    write_text(path, text.getvalue())


def _in_order(name: str) -> tuple[int, str]:
    """Sort q10 after q9."""
    return len(name), name
