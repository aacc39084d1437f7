"""Grade one submission: the tests run here, the answers run in the student's process."""

import ast
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from .answers import AnswerError, Answers, GraderError
from .borrowed import borrowed
from .results import Outcome, Result, printable
from .sandbox import Limits
from .specification import Question, Specification, Test
from .submission import SubmissionError, read_submission


class Grader(AbstractContextManager["Grader"]):
    """The tests of an assignment against one notebook; `with` it, or close it."""

    def __init__(
        self, specification: Specification, submission: Path, limits: Limits | None = None
    ) -> None:
        self._specification, self._path = specification, submission
        self._outcomes: list[Outcome] = []
        self._problem = ""
        self._answers: Answers | None = None
        self._names: dict[str, Any] = {}
        exec(compile(specification.setup, "<setup>", "exec", dont_inherit=True), self._names)
        self._names["TERM"] = specification.term
        try:
            read = read_submission(submission)
        except SubmissionError as problem:
            self._problem = str(problem)
            return
        self._answers = Answers(read, modules_imported(specification.setup), limits or Limits())
        self._answers.remarks += borrowed(specification, read.cells)

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the student's process."""
        if self._answers is not None:
            self._answers.close()

    def run(self, question: Question, test: Test) -> Outcome:
        """Run one test and keep its outcome."""
        message = printable(self._problem or self._failure(question, test))
        points = 0.0 if message else test.points
        outcome = Outcome(question.name, test.name, test.hidden, points, test.points, message)
        self._outcomes.append(outcome)
        return outcome

    def _failure(self, question: Question, test: Test) -> str:
        assert self._answers is not None
        self._answers.forget()
        try:
            names = {name: self._answers.find(name) for name in question.asked(test)}
            code = compile(test.code, f"<{test.name}>", "exec", dont_inherit=True)
            exec(code, {**self._names, **names})
        except AssertionError as error:
            return str(error) or "The answer does not pass this test."
        except AnswerError as error:
            return str(error.args[0])
        except GraderError:
            raise
        except Exception as error:  # an answer of the wrong kind can break a test in any way
            said = f"The test could not use the answer ({type(error).__name__}: {error})."
            return self._answers.nothing or f"{said} {self._answers.last}".strip()
        return ""

    def result(self) -> Result:
        """Return the marks so far; stops the student's process."""
        self.close()
        remarks = () if self._answers is None else tuple(self._answers.remarks)
        output = "" if self._answers is None else self._answers.output
        problem = (self._problem,) if self._problem else ()
        return Result(
            self._path.name,
            self._specification.name,
            tuple(self._outcomes),
            tuple(map(printable, problem + remarks)),
            output,
        )


def modules_imported(code: str) -> tuple[str, ...]:
    """Return the modules that a piece of code imports, for the student's process to load."""
    names: dict[str, None] = {}
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= dict.fromkeys(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names[node.module] = None
    return tuple(names)


def grade(specification: Specification, submission: Path, limits: Limits | None = None) -> Result:
    """Return the marks and the feedback of one submission."""
    with Grader(specification, submission, limits) as grader:
        for question, test in specification.tests():
            grader.run(question, test)
        return grader.result()
