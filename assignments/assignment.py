"""An assignment: the cells of a source in their blocks, and what the grader needs of them."""

import ast
import builtins
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from assignments.grading.specification import Question, Specification, Test, names_bound, names_used
from assignments.source import MARK, Cell, SourceError, read_cells
from assignments.written import WRITTEN_PART, WrittenQuestion, read_written

OPEN_POINTS = 5  # the most for an open question: they come on top
_ABOUT = Path(__file__).parent / "delivery" / "about.md"


@dataclass(frozen=True)
class Block:
    """A run of cells with one role."""

    role: str  # "text" (shown to everybody), "solution" or "tests"
    question: str  # empty outside questions
    cells: list[Cell] = field(default_factory=list)


@dataclass(frozen=True)
class Assignment:
    """A source that has been read and checked."""

    path: Path
    name: str
    # From the top of the file: `title`, `points`, and `show_hidden` where it is false.
    settings: dict[str, Any]
    blocks: tuple[Block, ...]
    # The settings of each question, those marked by hand among them.
    questions: dict[str, dict[str, Any]]
    term: int = 0  # whose variants of the questions were read

    @property
    def title(self) -> str:
        """What the assignment is called."""
        return str(self.settings.get("title", self.name))

    @property
    def show_hidden(self) -> bool:
        """Whether students are told what a failed hidden test says."""
        return bool(self.settings.get("show_hidden", True))

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
        for name in self.manual:
            if not self.cells("solution", name):
                raise SourceError(
                    f"{self.path}:{self.questions[name]['line']}: {name} has no solution."
                )
        questions = tuple(self._question(name) for name in graded)
        specification = Specification(
            self.name, self.title, self.setup, questions, term, self.show_hidden
        )
        self._check(specification)
        return specification

    def _question(self, name: str) -> Question:
        solution = [cell for cell in self.cells("solution", name) if cell.kind == "code"]
        for cell in solution:
            _check_solution(cell)
        bound = {entry for cell in solution for entry in names_bound(cell.text)}
        answers = sorted(bound - names_bound(self.setup))
        cells = [(cell.test, cell.text) for cell in self.cells("tests", name)]
        tests = [Test(t["test"], t["points"], t["hidden"], f"{text}\n") for t, text in cells]
        return Question(name, tuple(answers), tuple(tests))

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
        wanted = self.settings.get("points")
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


def _check_solution(cell: Cell) -> None:
    """Refuse a solution of which students would see more than a prompt."""
    for node in ast.parse(cell.text).body:
        function = isinstance(node, ast.FunctionDef) and ast.get_docstring(node)
        value = isinstance(node, ast.Assign) and node.end_lineno == node.lineno
        if "solution" in cell.tags and not (function or value or MARK.search(cell.text)):
            raise cell.fault(
                "a solution has functions with docstrings, and assignments of one line; mark what "
                "else is the answer, or make it a demonstration."
            )


def _check_test(cell: Cell, test: Test, known: set[str]) -> None:
    unknown = sorted(names_used(test.code) - known - names_bound(test.code, inside=True))
    if unknown:
        raise cell.fault(
            f"test {test.name!r} uses {unknown[0]!r}, which neither a setup cell, the test "
            "nor the solution of its question defines."
        )
    if not test.hidden and "TERM" in names_used(test.code):
        raise cell.fault(f"test {test.name!r} is visible and must not use TERM.")
    bare = [node.value for node in ast.parse(test.code).body if isinstance(node, ast.Expr)]
    if not all(isinstance(value, ast.Call) for value in bare):
        raise cell.fault(f"test {test.name!r} has a bare expression; assign it or assert it.")


def _check_syntax(cell: Cell) -> None:
    try:
        ast.parse(cell.text)
    except SyntaxError as error:
        line = cell.text.splitlines()[(error.lineno or 1) - 1]
        raise cell.fault(f"not Python ({error.msg}): {line.strip()!r}.") from error


def read_assignment(path: Path, term: int = 0, wheel: str = "NAME.whl") -> Assignment:
    """Read a source as a term has it; raises SourceError with file and line if it is malformed.

    `wheel` is the file that students install.
    """
    cells = read_cells(path, term)
    if cells[0].kind != "raw" or "title" not in cells[0].settings():
        raise cells[0].fault("the file must begin with '+++', its title and its points.")
    reader = _Reader()
    for cell in cells[1:]:
        reader.read(cell)
    for question in read_written(path.parents[1] / "written" / f"{path.stem}.toml"):
        reader.read_written(question, cells[-1])
    blocks, settings = tuple(reader.blocks), cells[0].settings()
    assignment = Assignment(path, path.stem, settings, blocks, reader.questions, term)
    first = next((cell for cell in cells if cell.kind == "code"), None)
    if first is None or "setup" not in first.tags:
        raise (first or cells[0]).fault('the first code cell must have tags=["setup"].')
    about = _about(assignment.specification(term), assignment, wheel)
    blocks[0].cells.insert(1, Cell("markdown", about, (), path, cells[1].line))
    return assignment


def _about(tests: Specification, assignment: Assignment, wheel: str) -> str:
    """Return what students of every assignment are told below its first cell."""
    visible = sum(test.points for _, test in tests.tests() if not test.hidden)
    written = sum(assignment.manual.values())
    points = {"automatic": tests.points, "visible": visible, "written": written}
    text = _ABOUT.read_text(encoding="utf-8").strip()
    return text.format(wheel=wheel, all=tests.points + written, **points)


def _heading(settings: dict[str, Any]) -> str:
    """Return the heading of a question, which says what it is worth and how long it takes."""
    asked, worth = f"Question {settings['question'][1:]}", f"{settings['points']:g} points"
    if settings.get("manual"):
        asked, worth = "Open question", f"{OPEN_POINTS} points on top"
    return f"## {asked}: {settings['title']} ({worth}, {settings['minutes']} minutes)"


class _Reader:
    """Put cells into blocks, cell by cell; a question ends at the text behind its solution."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.questions: dict[str, dict[str, Any]] = {}
        self._question, self._heading, self._written = "", "", False

    def read(self, cell: Cell) -> None:
        """Take one cell."""
        if cell.kind == "raw":
            self._begin_question(cell)
            return
        if cell.kind == "code":
            _check_syntax(cell)
        last = self.blocks[-1] if self.blocks else Block("text", "")
        if cell.role == "text" and last.role != "text" and last.question == self._question:
            self._question = ""
        if cell.role != "text" and not self._question:
            raise cell.fault(f"{cell.role} outside a question.")
        if cell.role == "text" and self._heading:
            cell = replace(cell, text=f"{self._heading}\n\n{cell.text}")
            self._heading = ""
        if not self.blocks or (last.role, last.question) != (cell.role, self._question):
            last = Block(cell.role, self._question)
            self.blocks.append(last)
        last.cells.append(cell)

    def _begin_question(self, cell: Cell) -> None:
        settings = cell.settings()
        name = str(settings.get("question", ""))
        if not name or name in self.questions:
            raise cell.fault(f"a question needs a name of its own; got {name!r}.")
        self.questions[name] = settings | {"line": cell.line}
        self._question, self._heading = name, _heading(settings) if "title" in settings else ""

    def read_written(self, question: WrittenQuestion, last: Cell) -> None:
        """Take a question of the written part, as if its cells stood at the end of the source."""
        settings = {"question": question.id, "points": question.points, "manual": True}
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
