"""Comparisons that checks make: what a fact is, and short names for those in use."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, SupportsFloat

if TYPE_CHECKING:
    from leml_theory.bounds import BoundValue
    from leml_theory.rademacher import Estimate

Number = SupportsFloat

ROUNDING = "rounding of double precision"
EXACT = "a count is exact"
PRINTED = "printed decimals are compared as they stand"
# Standard errors allowed, or demanded: a normal mean is this far off once in 10^9 times.
SIGMAS = 6.0


class Bears(Enum):
    """What a fact says about its statement, if it holds."""

    SUPPORTS = "the statement as printed is right here"
    REFUTES = "the statement as printed fails here"
    REPAIRED = "the corrected or sharper form is right"
    MEANT = "the paper itself uses the corrected form elsewhere"
    CONDITION = "under the condition that is not stated it is right"
    SLACK = "the statement is true with room to spare"
    ANSWERS = "this answers a question that the paper leaves open"
    GUESS = "this agrees with our guess at what was meant"
    CONTROL = "the means of the comparison are right, whatever the statement"


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
    bears : Bears
        What it says about the statement, if it holds.
    """

    name: str
    measured: float
    predicted: float
    relation: str
    tolerance: float
    reason: str
    bears: Bears

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


def equal(
    name: str,
    measured: Number,
    predicted: Number,
    tolerance: Number,
    reason: str = ROUNDING,
    *,
    bears: Bears,
) -> Fact:
    """Expect both sides to agree within the tolerance."""
    return Fact(name, float(measured), float(predicted), "==", float(tolerance), reason, bears)


def at_most(
    name: str,
    measured: Number,
    bound: Number,
    tolerance: Number = 0.0,
    reason: str = "exact",
    *,
    bears: Bears,
) -> Fact:
    """Expect the measured side not to exceed the bound."""
    return Fact(name, float(measured), float(bound), "<=", float(tolerance), reason, bears)


def at_least(
    name: str,
    measured: Number,
    bound: Number,
    tolerance: Number = 0.0,
    reason: str = "exact",
    *,
    bears: Bears,
) -> Fact:
    """Expect the measured side not to fall below the bound."""
    return Fact(name, float(measured), float(bound), ">=", float(tolerance), reason, bears)


def different(
    name: str,
    measured: Number,
    claimed: Number,
    tolerance: Number,
    reason: str = ROUNDING,
    *,
    bears: Bears,
) -> Fact:
    """Expect the sides to be farther apart than the tolerance explains."""
    return Fact(name, float(measured), float(claimed), "!=", float(tolerance), reason, bears)


def count(name: str, measured: float, predicted: float, *, bears: Bears) -> Fact:
    """Return the comparison of two counts."""
    return Fact(name, float(measured), float(predicted), "==", 0.0, EXACT, bears)


def cells(
    name: str,
    found: frozenset[str],
    recorded: frozenset[str],
    *,
    bears: Bears,
) -> tuple[Fact, Fact]:
    """Return the comparison of the cells found with those recorded, and a control: just these."""
    other = count(f"{name}: cells not as recorded", len(found ^ recorded), 0, bears=Bears.CONTROL)
    return count(f"{name}: cells", len(found), len(recorded), bears=bears), other


def mean_equal(
    name: str,
    mean: Estimate,
    predicted: float,
    *,
    slack: float = 0.0,
    bears: Bears,
) -> Fact:
    """Expect a mean as predicted; `slack` is what the prediction may leave out."""
    reason = f"{SIGMAS:g} standard errors" + (f" and {slack:.2g} for finite size" if slack else "")
    return Fact(
        name, mean.value, float(predicted), "==", SIGMAS * mean.stderr + slack, reason, bears
    )


def mean_at_most(name: str, mean: Estimate, bound: float, *, bears: Bears) -> Fact:
    """Expect a bound on an expectation to hold: the mean may be above it by its error only."""
    reason = f"{SIGMAS:g} standard errors and rounding allowed"
    tolerance = SIGMAS * mean.stderr + 1e-10 * abs(bound)
    return Fact(name, mean.value, float(bound), "<=", tolerance, reason, bears)


def mean_below(name: str, mean: Estimate, value: float, *, bears: Bears) -> Fact:
    """Expect a mean below a value beyond doubt."""
    reason = f"must be {SIGMAS:g} standard errors below"
    return Fact(name, mean.value, float(value), "<=", -SIGMAS * mean.stderr, reason, bears)


def mean_above(name: str, mean: Estimate, value: float, *, bears: Bears) -> Fact:
    """Expect a mean above a value beyond doubt."""
    reason = f"must be {SIGMAS:g} standard errors above"
    return Fact(name, mean.value, float(value), ">=", -SIGMAS * mean.stderr, reason, bears)


def valid_value(bound: BoundValue) -> float:
    """Return the value of a bound that must be valid there, else NaN, which no fact survives."""
    return bound.value if bound.valid else math.nan
