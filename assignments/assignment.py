"""An assignment: the cells of a source in their blocks, and what the grader needs of them."""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assignments.grading.specification import Question, Specification, Test, names_bound, names_used
from assignments.source import Cell, SourceError, read_cells, read_settings
from assignments.written import WRITTEN_PART, WrittenQuestion, read_written

__all__ = ["Assignment", "Block", "read_assignment"]


@dataclass(frozen=True)
class Block:
    """A run of cells with one role.

    Attributes
    ----------
    role : str
        "text" (shown to everybody), "solution" or "tests".
    question : str
        The question it belongs to; empty outside questions.
    cells : list of Cell
    """

    role: str
    question: str
    cells: list[Cell] = field(default_factory=list)


@dataclass(frozen=True)
class Assignment:
    """A source that has been read and checked.

    Attributes
    ----------
    path : Path
    name : str
    settings : dict
        Of the configuration cell.
    blocks : tuple of Block
    questions : dict of str to dict
        The settings of each question, graded by hand ones among them.
    term : int
        Whose variants of the questions were read.
    """

    path: Path
    name: str
    settings: dict[str, Any]
    blocks: tuple[Block, ...]
    questions: dict[str, dict[str, Any]]
    term: int = 0

    @property
    def title(self) -> str:
        """What the assignment is called."""
        return str(self.settings.get("course", {}).get("title", self.name))

    @property
    def setup(self) -> str:
        """The code of the cells tagged "setup"."""
        cells = [cell for block in self.blocks for cell in block.cells if "setup" in cell.tags]
        return "\n\n".join(cell.text for cell in cells) + "\n"

    def cells(self, role: str, question: str) -> list[Cell]:
        """Return the cells of one role in a question."""
        blocks = [b for b in self.blocks if b.role == role and b.question == question]
        return [cell for block in blocks for cell in block.cells]

    @property
    def manual(self) -> dict[str, float]:
        """The questions that are marked by hand, with their points; 0 where none are fixed."""
        asked = self.questions.items()
        return {name: float(q.get("points") or 0) for name, q in asked if q.get("manual")}

    def specification(self, term: int = 0) -> Specification:
        """Return what the grader needs; raises SourceError when a question is not in order."""
        if term != self.term:
            return read_assignment(self.path, term).specification(term)
        graded = [name for name in self.questions if not self.questions[name].get("manual")]
        questions = tuple(self._question(name) for name in graded)
        shown = self.settings.get("course", {}).get("show_hidden", True)
        specification = Specification(
            self.name, self.title, self.setup, questions, term, bool(shown)
        )
        self._check(specification)
        return specification

    def _question(self, name: str) -> Question:
        solution = [cell for cell in self.cells("solution", name) if cell.kind == "code"]
        bound = {entry for cell in solution for entry in names_bound(cell.text)}
        answers = sorted(bound - names_bound(self.setup))
        tests = tuple(_test(cell) for cell in self.cells("tests", name))
        return Question(name, tuple(answers), tests)

    def _check(self, specification: Specification) -> None:
        seen: set[str] = set()
        known = names_bound(self.setup) | set(dir(builtins)) | {"TERM"}
        for question in specification.questions:
            self._check_points(question)
            for cell, test in zip(self.cells("tests", question.name), question.tests, strict=True):
                if test.name in seen:
                    raise cell.fault(f"a second test is called {test.name!r}.")
                seen.add(test.name)
                _check_test(cell, test, known | set(question.answers))
        wanted = self.settings.get("course", {}).get("points")
        if wanted is not None and specification.points != wanted:
            raise SourceError(
                f"{self.path}:1: the questions have {specification.points:g} points in all, "
                f"the configuration says {wanted:g}."
            )

    def _check_points(self, question: Question) -> None:
        settings = self.questions[question.name]
        place = f"{self.path}:{settings['line']}: {question.name}"
        if not question.tests or not question.answers:
            missing = "tests" if question.answers else "solution that defines a name"
            raise SourceError(f"{place} has no {missing}.")
        if {test.hidden for test in question.tests} != {True, False}:
            raise SourceError(f"{place} needs a visible and a hidden test.")
        if settings.get("points") != question.points:
            raise SourceError(
                f"{place} is worth {settings.get('points')} points, "
                f"but those of its tests are {question.points:g}."
            )


def _test(cell: Cell) -> Test:
    settings, code = cell.test_parts()
    missing = [key for key in ("name", "points", "hidden") if key not in settings]
    if missing:
        raise cell.fault(f"the test does not say its {missing[0]}.")
    return Test(str(settings["name"]), settings["points"], settings["hidden"], code)


def _check_test(cell: Cell, test: Test, known: set[str]) -> None:
    try:
        tree = ast.parse(test.code)
    except SyntaxError as error:
        raise cell.fault(f"test {test.name!r} is not Python: {error.msg}.") from error
    unknown = sorted(names_used(test.code) - known - names_bound(test.code, inside=True))
    if unknown:
        raise cell.fault(
            f"test {test.name!r} uses {unknown[0]!r}, which neither a setup cell, the test "
            "nor the solution of its question defines."
        )
    if not test.hidden and "TERM" in names_used(test.code):
        raise cell.fault(f"test {test.name!r} is visible and must not use TERM.")
    if any(isinstance(node, ast.Expr) and not _is_call(node) for node in tree.body):
        raise cell.fault(f"test {test.name!r} has a bare expression; assign it or assert it.")


def _is_call(node: ast.Expr) -> bool:
    return isinstance(node.value, ast.Call)


def read_assignment(path: Path, term: int = 0) -> Assignment:
    """Read a source as a term has it; raises SourceError with file and line if it is malformed."""
    cells = read_cells(path, term)
    config = [cell for cell in cells if cell.heading == "ASSIGNMENT CONFIG"]
    if len(config) != 1:
        raise SourceError(f"{path}:1: one ASSIGNMENT CONFIG cell is needed, got {len(config)}.")
    settings = read_settings(config[0], config[0].text)
    if settings.get("name") != path.stem:
        raise config[0].fault(f"the name must be that of the file, {path.stem!r}.")
    reader = _Reader()
    for cell in cells:
        if cell is not config[0]:
            reader.read(cell)
    reader.finish(cells[-1])
    for question in read_written(path.parents[1] / "written" / f"{path.stem}.toml"):
        reader.read_written(question, cells[-1])
    assignment = Assignment(path, path.stem, settings, tuple(reader.blocks), reader.questions, term)
    first = next((cell for cell in cells if cell.kind == "code"), None)
    if first is None or "setup" not in first.tags:
        raise (first or cells[0]).fault('the first code cell must have tags=["setup"].')
    assignment.specification(term)
    return assignment


class _Reader:
    """Put cells into blocks, cell by cell."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.questions: dict[str, dict[str, Any]] = {}
        self._question, self._role, self._written = "", "text", False

    def read(self, cell: Cell) -> None:
        """Take one cell."""
        if cell.kind != "raw":
            self._add(cell)
        elif cell.heading == "BEGIN QUESTION":
            self._begin_question(cell)
        elif cell.heading == "END QUESTION" and self._question and self._role == "text":
            self._question = ""
        elif cell.heading in ("BEGIN SOLUTION", "BEGIN TESTS") and self._question:
            self._expect("text", cell)
            self._role = cell.heading.split()[1].lower()
        elif cell.heading == f"END {self._role.upper()}":
            self._role = "text"
        else:
            raise cell.fault(f"{cell.heading or 'a raw cell'} does not fit here.")

    def _expect(self, role: str, cell: Cell) -> None:
        if self._role != role:
            raise cell.fault(f"{cell.heading} inside a {self._role} block.")

    def _begin_question(self, cell: Cell) -> None:
        settings = read_settings(cell, cell.text)
        name = str(settings.get("name", ""))
        if not name or name in self.questions or self._question:
            raise cell.fault(f"a question needs a name of its own and cannot be nested ({name!r}).")
        self.questions[name] = settings | {"line": cell.line}
        self._question = name

    def _add(self, cell: Cell) -> None:
        if self._role == "tests" and cell.kind != "code":
            raise cell.fault("only code cells belong between BEGIN TESTS and END TESTS.")
        last = self.blocks[-1] if self.blocks else None
        if last is None or (last.role, last.question) != (self._role, self._question):
            last = Block(self._role, self._question)
            self.blocks.append(last)
        last.cells.append(cell)

    def read_written(self, question: WrittenQuestion, last: Cell) -> None:
        """Take a question of the written part, as if its cells stood at the end of the source."""
        settings = {"name": question.id, "points": question.points, "manual": True}
        settings |= {"minutes": question.minutes, "goal": question.title, "line": last.line}
        if question.id in self.questions:
            raise last.fault(f"the written part has a second question {question.id!r}.")
        self.questions[question.id] = settings
        if not self._written:
            self._written = True
            heading = Cell("markdown", WRITTEN_PART, (), last.path, last.line)
            self.blocks.append(Block("text", "", [heading]))
        for role, text in (("text", question.prompt), ("solution", question.guide)):
            cell = Cell("markdown", text.strip(), (), last.path, last.line)
            self.blocks.append(Block(role, question.id, [cell]))

    def finish(self, cell: Cell) -> None:
        """Refuse a source that ends inside a block."""
        if self._question:
            raise cell.fault(f"question {self._question!r} has no END QUESTION.")
