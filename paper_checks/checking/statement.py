"""What a statement of the paper, the check of it and its outcome are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import wraps
from typing import Self

import numpy as np

from paper_checks.checking.fact import Fact
from paper_checks.checking.verdict import Verdict, verdict_of


class Kind(Enum):
    """What sort of claim a statement makes."""

    EQUALITY = "equality"
    UPPER_BOUND = "upper bound"
    RATE = "rate"
    COUNTEREXAMPLE = "counterexample"
    CONSISTENCY = "consistency"


class Sure(Enum):
    """How sure we are that a statement is not plainly right."""

    PROVED = "proved: the example can be followed by hand"
    EXACT = "computed exactly"
    MEASURED = "measured, beyond six standard errors"
    CONJECTURE = "a conjecture"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a check found: the facts, the first of which is shown in the one-line summary.

    Facts from which no verdict can follow are refused.
    """

    facts: tuple[Fact, ...]
    note: str = ""

    def __post_init__(self) -> None:
        """Refuse facts that establish nothing even if all of them hold."""
        verdict_of(self.facts)

    @classmethod
    def of(cls, findings: Findings) -> Self:
        """Return the outcome of a check that finds these facts and notes."""
        found = list(findings)
        notes = [item for item in found if isinstance(item, str)]
        return cls(tuple(item for item in found if isinstance(item, Fact)), " ".join(notes))

    @property
    def verdict(self) -> Verdict | None:
        """The verdict that the facts establish; None if one of them fails."""
        return verdict_of(self.facts) if all(fact.holds for fact in self.facts) else None

    @property
    def shown(self) -> Fact:
        """The fact to show: the first that fails, else the first."""
        return next((fact for fact in self.facts if not fact.holds), self.facts[0])


@dataclass(frozen=True, slots=True)
class Effort:
    """How much work a check may do, and its randomness."""

    quick: bool
    rng: np.random.Generator

    def pick(self, quick: int, full: int) -> int:
        """Return the size to work at."""
        return quick if self.quick else full


Findings = Iterator[Fact | str]
"""What a check yields: facts, and in plain text what there is to say besides."""
CheckFunction = Callable[[Effort], Outcome]
CHECKS: dict[str, CheckFunction] = {}
STATEMENTS: dict[str, Statement] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One checkable statement of the paper; the decorator of the function that checks it.

    Parameters
    ----------
    id : str
        Short name, such as 'A12'.
    place : str
        Where it stands, spelled in full: 'Lemma 2', 'Table 5', 'Section 3.1', 'Equation (5)'. May
        be left out if `where` begins with it.
    says : str
        What it says, in our own words.
    kind : Kind
        What sort of claim it makes; most say something that text and tables must agree with.
    refuted_by : str
        What the check would have to see for the recorded verdict to be wrong.
    how : str
        How it is checked; taken from the docstring of the check.
    verdict : Verdict
        The recorded verdict, which must be the one that the facts of the check establish.
    correct : str
        The correct form where the paper's is wrong or incomplete; empty when it simply holds, as
        is all that follows.
    why : str
        Why it fails, or has room to spare.
    example : str
        The smallest example, to be followed by hand.
    sure : Sure or None
        How sure we are.
    matters : int
        How much it matters: 3 for what changes a result or a program, 2 for a condition that a
        reader needs, 1 for the rest. Of no account when it simply holds.
    where : str
        The sentence in the paper: section, paragraph and sentence, or the formula's number.
    """

    id: str
    place: str = ""
    says: str
    kind: Kind = Kind.CONSISTENCY
    refuted_by: str
    how: str = ""
    verdict: Verdict = Verdict.HOLDS
    correct: str = ""
    why: str = ""
    example: str = ""
    sure: Sure | None = None
    matters: int = 1
    where: str = ""

    def __post_init__(self) -> None:
        """Take the place from `where` if it is not given."""
        begins = self.where.partition(",")[0].removeprefix("caption of ")
        object.__setattr__(self, "place", self.place or begins)

    def __call__(self, check: Callable[[Effort], Findings]) -> CheckFunction:
        """Record the statement together with the function that checks it."""
        if self.id in CHECKS:
            raise ValueError(f"Statement {self.id!r} is recorded twice; rename one.")

        @wraps(check)
        def checked(effort: Effort) -> Outcome:
            return Outcome.of(check(effort))

        STATEMENTS[self.id] = replace(self, how=" ".join((check.__doc__ or "").split()))
        CHECKS[self.id] = checked
        return checked
