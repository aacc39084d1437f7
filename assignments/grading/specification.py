"""What an assignment asks: its questions, their tests and points, as written to an autograder."""

import ast
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

_CLOSED = (  # what is bound in these stays in them
    ast.FunctionDef,
    ast.ClassDef,
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)


@dataclass(frozen=True)
class Test:
    """One test cell."""

    name: str
    points: float
    hidden: bool  # whether students never see the cell
    code: str
    __test__ = False  # not a test class of pytest


@dataclass(frozen=True)
class Question:
    """One question that is graded automatically."""

    name: str
    answers: tuple[str, ...]  # the names that the student defines
    tests: tuple[Test, ...]

    @property
    def points(self) -> float:
        """The points that can be had."""
        return sum(test.points for test in self.tests)

    def asked(self, test: Test) -> list[str]:
        """Return the student's names that a test looks at."""
        used = names_used(test.code) - names_bound(test.code, inside=True)
        return [name for name in self.answers if name in used]


@dataclass(frozen=True)
class Specification:
    """All that the grader needs of an assignment."""

    name: str
    title: str
    setup: str  # code that gives the tests their names: imports and helpers
    questions: tuple[Question, ...]
    term: int = 0  # the tests know it as TERM; it seeds the hidden ones
    show_hidden: bool = True  # whether students are told what a failed hidden test says

    @property
    def points(self) -> float:
        """The points that can be had."""
        return sum(question.points for question in self.questions)

    def tests(self) -> list[tuple[Question, Test]]:
        """Return every test beside its question."""
        return [(question, test) for question in self.questions for test in question.tests]

    def save(self, path: Path) -> None:
        """Write the specification as JSON."""
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` has written."""
        fields = json.loads(path.read_text(encoding="utf-8"))
        questions = tuple(_question(entry) for entry in fields.pop("questions"))
        return cls(questions=questions, **fields)


def _question(entry: dict[str, Any]) -> Question:
    tests = tuple(Test(**test) for test in entry["tests"])
    return Question(entry["name"], tuple(entry["answers"]), tests)


def names_used(code: str) -> set[str]:
    """Return the names that a piece of code reads."""
    nodes = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)]
    return {node.id for node in nodes if isinstance(node.ctx, ast.Load)}


def names_bound(code: str, inside: bool = False) -> set[str]:
    """Return the names that code binds at its top level, or (`inside`) anywhere in it."""
    names: set[str] = set()
    tree = ast.parse(code)
    for node in ast.walk(tree) if inside else _top_level(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
    return names


def _top_level(tree: ast.AST) -> list[ast.AST]:
    """Return the nodes outside functions, classes and comprehensions."""
    found: list[ast.AST] = []
    for child in ast.iter_child_nodes(tree):
        found.append(child)
        if not isinstance(child, _CLOSED):
            found += _top_level(child)
    return found
