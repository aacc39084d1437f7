"""Running checks: each statement with its own randomness, its time and its failure, if any."""

import math
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from leml_solver import limit_threads
from paper_checks.checking.statement import CHECKS, CheckFunction, Effort, Outcome, Statement
from paper_checks.checking.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one statement in a run.

    Attributes
    ----------
    statement : Statement
    outcome : Outcome or None
        None if the check broke down.
    seconds : float
        Wall time.
    error : str
        Why the check broke down; empty otherwise.
    """

    statement: Statement
    outcome: Outcome | None
    seconds: float
    error: str = ""

    @property
    def as_recorded(self) -> bool:
        """Whether the facts establish the recorded verdict."""
        return self.verdict is self.statement.verdict

    @property
    def verdict(self) -> Verdict | None:
        """The verdict that the facts establish; None if one fails or the check broke down."""
        return self.outcome.verdict if self.outcome else None

    @property
    def objection(self) -> str:
        """Why the result is not as recorded: in words, empty where it is."""
        if self.as_recorded:
            return ""
        if self.outcome is None:
            return f"broke down: {self.error}"
        if self.verdict is None:
            return self.outcome.shown.name
        return f"the facts say {self.verdict.value!r}"

    def record(self) -> dict[str, Any]:
        """Return the result as JSON values; a number that is not finite becomes null."""
        shown = self.outcome.shown if self.outcome else None
        return {
            "id": self.statement.id,
            "place": self.statement.place,
            "kind": self.statement.kind.value,
            "verdict": self.statement.verdict.value,
            "derived": self.verdict.value if self.verdict else None,
            "as_recorded": self.as_recorded,
            "measured": _finite(shown.measured) if shown else None,
            "predicted": _finite(shown.predicted) if shown else None,
            "margin": _finite(shown.margin) if shown else None,
            "seconds": self.seconds,
        }


def _finite(value: float) -> float | None:
    """Return a float, None in place of what JSON has no word for."""
    return float(value) if math.isfinite(value) else None


def paper() -> dict[str, Statement]:
    """Return all statements by id; loading their checks takes seconds, so it waits until asked."""
    from paper_checks.statements import PAPER

    return PAPER


def select(pattern: str | None) -> list[Statement]:
    """Return the statements that one of the comma-separated patterns means.

    A pattern is what a shell understands (`*`, `?`, `[]`), in upper or lower case. It means ids; if
    there are no such ids, places or verdicts.
    """
    if pattern is None:
        return list(paper().values())
    parts = [part.strip().lower() for part in pattern.split(",") if part.strip()]
    wanted = {statement.id for part in parts for statement in _matching(part)}
    if not wanted:
        raise ValueError(
            f"no statement matches {pattern!r}; try an id ('T4.*'), a place ('Lemma 2') or a "
            "verdict ('misprint'), and see `python -m paper_checks list`."
        )
    return [statement for statement in paper().values() if statement.id in wanted]


def _matching(pattern: str) -> list[Statement]:
    """Return the statements whose id matches, or else those whose place or verdict does."""
    by_id = [s for s in paper().values() if fnmatchcase(s.id.lower(), pattern)]
    return by_id or [s for s in paper().values() if any(fnmatchcase(w, pattern) for w in _words(s))]


def _words(statement: Statement) -> tuple[str, ...]:
    """Return the place and the verdict in lower case."""
    verdict = statement.verdict
    return statement.place.lower(), verdict.value.lower(), verdict.name.lower()


def run(statements: Iterable[Statement], *, quick: bool, seed: int) -> Iterator[Result]:
    """Yield the result of each statement; a check's randomness depends on (seed, id) only."""
    for statement in statements:
        rng = np.random.default_rng([seed, zlib.crc32(statement.id.encode())])
        with one_thread():
            result = _timed(statement, CHECKS[statement.id], Effort(quick, rng))
        yield result


@contextmanager
def one_thread() -> Iterator[None]:
    """Run BLAS and the compiled loops on one thread.

    On matrices of these sizes a second thread costs more than it gives: on a busy machine the
    threads of a loop of microseconds wait for each other for milliseconds.
    """
    import numba  # noqa: F401 - the limit holds for what is loaded

    with limit_threads(1):
        yield


def _timed(statement: Statement, function: CheckFunction, effort: Effort) -> Result:
    """Run one check; whatever goes wrong in it is a result, not the end of the run."""
    began = time.perf_counter()
    try:
        outcome, error = function(effort), ""
    except Exception as problem:  # a check that breaks down must not hide the others
        outcome, error = None, f"{type(problem).__name__}: {problem}"
    return Result(statement, outcome, time.perf_counter() - began, error)
