"""Marks and feedback of one submission, and the file that Gradescope reads."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safe_files import write_text

from .specification import Specification

_WITHHELD = "A hidden test failed."


@dataclass(frozen=True)
class Outcome:
    """What one test gave."""

    question: str
    test: str
    hidden: bool
    points: float
    max_points: float
    message: str  # why points were lost; empty when none were

    @property
    def passed(self) -> bool:
        """Whether the test passed."""
        return not self.message


@dataclass(frozen=True)
class Result:
    """The marks of one submission."""

    submission: str
    assignment: str
    outcomes: tuple[Outcome, ...]
    # What else the grader noticed: cells that failed, attempts that were refused.
    remarks: tuple[str, ...] = ()
    output: str = field(default="", repr=False)  # what the submission printed, cut

    @property
    def total(self) -> float:
        """The points of all tests."""
        return sum(outcome.points for outcome in self.outcomes)


def printable(text: str) -> str:
    """Return text that any file and terminal can show; control codes and broken characters escaped.

    Names of files and messages of errors are the student's, and one character that cannot be
    written would stop the table of all.
    """
    shown = (c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text)
    return "".join(shown)


def gradescope(result: Result, specification: Specification) -> dict[str, Any]:
    """Return the content of results.json as Gradescope reads it."""
    return {
        "score": result.total,
        "max_score": specification.points,
        "output": "\n".join(result.remarks),
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [_entry(outcome, specification.show_hidden) for outcome in result.outcomes],
        "extra_data": {"assignment": result.assignment, "term": specification.term},
    }


def _entry(outcome: Outcome, show_hidden: bool) -> dict[str, Any]:
    withheld = outcome.hidden and not show_hidden and not outcome.passed
    return {
        "name": outcome.test,
        "number": outcome.question,
        "score": outcome.points,
        "max_score": outcome.max_points,
        "status": "passed" if outcome.passed else "failed",
        "output": _WITHHELD if withheld else outcome.message or "Passed.",
        "visibility": "after_due_date" if outcome.hidden else "visible",
    }


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file, whole or not at all."""
    write_text(path, json.dumps(content, indent=1) + "\n")
