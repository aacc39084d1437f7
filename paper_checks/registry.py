"""What a statement of the paper, a check of it and its outcome are; and the register of checks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np


class Kind(Enum):
    """What sort of claim a statement makes."""

    EQUALITY = "equality"
    UPPER_BOUND = "upper bound"
    RATE = "rate"
    COUNTEREXAMPLE = "counterexample"
    CONSISTENCY = "consistency"


class Verdict(Enum):
    """What became of a statement when it was tried."""

    HOLDS = "holds"
    HIDDEN = "holds under a hidden assumption"
    MISPRINT = "misprint"
    FALSE = "false as stated"
    LOOSE = "loose"


@dataclass(frozen=True, slots=True)
class Statement:
    """One checkable statement of the paper.

    Parameters
    ----------
    id : str
        Short name, such as 'A12'.
    place : str
        Where it stands, spelled in full: 'Lemma 2', 'Table 5', 'Section 3.1', 'Equation (5)'.
    statement : str
        What it says, in our own words.
    kind : Kind
        What sort of claim it makes.
    verdict : Verdict
        The recorded verdict, which the check must find again.
    how : str
        How it is checked.
    refuted_by : str
        What the check would have to see for the recorded verdict to be wrong.
    correct : str
        The correct form where the paper's is wrong or incomplete; empty when it simply holds.
    """

    id: str
    place: str
    statement: str
    kind: Kind
    verdict: Verdict
    how: str
    refuted_by: str
    correct: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """One comparison a check makes: measured beside predicted, with the room it has.

    Parameters
    ----------
    name : str
        What is compared.
    measured, predicted : float
        Both sides.
    relation : str
        '==' (within `tolerance`), '<=' or '>=' (measured against predicted, with `tolerance` as
        allowance for error), '!=' (farther apart than `tolerance`).
    tolerance : float
        Absolute; from rounding, a standard error or a certificate's gap.
    reason : str
        Why this tolerance.
    """

    name: str
    measured: float
    predicted: float
    relation: str
    tolerance: float
    reason: str

    @property
    def margin(self) -> float:
        """How far the comparison is from tipping over, not negative where it holds."""
        apart = self.measured - self.predicted
        if math.isnan(apart):
            return -math.inf
        margins = {
            "==": self.tolerance - abs(apart),
            "<=": self.tolerance - apart,
            ">=": self.tolerance + apart,
            "!=": abs(apart) - self.tolerance,
        }
        return margins[self.relation]

    @property
    def holds(self) -> bool:
        """Whether the comparison comes out as expected."""
        return self.margin >= 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a check found: the facts, the first of which is shown in the one-line summary."""

    facts: tuple[Fact, ...]
    note: str = ""

    @property
    def as_recorded(self) -> bool:
        """Whether every fact came out as the recorded verdict says."""
        return bool(self.facts) and all(fact.holds for fact in self.facts)

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


CheckFunction = Callable[[Effort], Outcome]
CHECKS: dict[str, CheckFunction] = {}


def check(statement_id: str) -> Callable[[CheckFunction], CheckFunction]:
    """Register the function that checks a statement."""

    def register(function: CheckFunction) -> CheckFunction:
        if statement_id in CHECKS:
            raise ValueError(f"Statement {statement_id!r} has two checks; merge them.")
        CHECKS[statement_id] = function
        return function

    return register
