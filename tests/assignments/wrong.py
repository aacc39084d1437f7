"""Wrong answers that students give, and notebooks that hand them in."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

from outcomes import messages, points

from assignments.assignment import Assignment, Block, read_assignment
from assignments.grading.results import Result
from assignments.grading.runner import grade
from assignments.notebooks import solution_notebook
from assignments.source import SOURCES, Cell


@dataclass(frozen=True)
class Wrong:
    """One wrong answer: what it keeps of the points, and what the feedback must say.

    Attributes
    ----------
    question : str
    story : str
        What the student had in mind.
    code : str
        Replaces the code of the solution.
    keeps : float
        Points that remain.
    says : str
        A regular expression that the feedback matches.
    """

    question: str
    story: str
    code: str
    keeps: float
    says: str


def assignment(name: str) -> Assignment:
    """Return an assignment by name."""
    return read_assignment(SOURCES / f"{name}.md")


def handed_in(source: Assignment, answers: dict[str, str]) -> dict:
    """Return a notebook: the reference solution, some questions answered otherwise."""
    blocks = tuple(_replaced(block, answers) for block in source.blocks)
    return solution_notebook(replace(source, blocks=blocks))


def _replaced(block: Block, answers: dict[str, str]) -> Block:
    if block.role != "solution" or block.question not in answers:
        return block
    first = block.cells[0]
    return replace(block, cells=[Cell("code", answers[block.question], (), first.path, first.line)])


def wrong_answers(name: str) -> tuple[Wrong, ...]:
    """Return all wrong answers to an assignment."""
    letter = name.partition("_")[0]
    wrong: tuple[Wrong, ...] = import_module(f"wrong_answers_{letter}").WRONG
    return wrong


def wrong_students(name: str) -> Iterator[list[Wrong]]:
    """Yield students, each with one wrong answer to as many questions as possible."""
    by_question: dict[str, list[Wrong]] = {}
    for wrong in wrong_answers(name):
        by_question.setdefault(wrong.question, []).append(wrong)
    for i in range(max(map(len, by_question.values()))):
        yield [answers[i] for answers in by_question.values() if i < len(answers)]


def graded(source: Assignment, answers: dict[str, str], folder: Path, term: int = 0) -> Result:
    """Return the marks of a notebook that answers some questions of a term otherwise."""
    source = read_assignment(source.path, term)
    path = folder / f"{source.name}.ipynb"
    path.write_text(json.dumps(handed_in(source, answers)), encoding="utf-8")
    return grade(source.specification(term), path)


def try_wrong(name: str, question: str, code: str) -> None:
    """Print what one wrong answer gets: for writing them."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        result = graded(assignment(name), {question: code}, Path(folder))
    print(points(result, question), *messages(result, question), *result.remarks, sep="\n  ")
