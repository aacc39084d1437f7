"""Comparisons that checks make: what a fact is, what it bears on, and how it is written."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, SupportsFloat

if TYPE_CHECKING:
    from leml_theory.bounds import BoundValue
    from leml_theory.rademacher import Estimate

Real = SupportsFloat  # a number of Python, numpy or pandas

ROUNDING = "rounding of double precision"
EXACT = "a count is exact"
PRINTED = "printed decimals are compared as they stand"
# Standard errors allowed, or demanded: a normal mean is this far off once in 10^9 times.
SIGMAS = 6.0


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


class Bears(Enum):
    """What a fact says about its statement, if it holds; each bearing makes the facts that have it.

    `REFUTES.at_least("error", found, 0.5)` is a fact that refutes the statement if `found` is at
    least 0.5.
    """

    SUPPORTS = "the statement as printed is right here"
    REFUTES = "the statement as printed fails here"
    REPAIRED = "the corrected or sharper form is right"
    MEANT = "the paper itself uses the corrected form elsewhere"
    CONDITION = "under the condition that is not stated it is right"
    SLACK = "the statement is true with room to spare"
    ANSWERS = "this answers a question that the paper leaves open"
    GUESS = "this agrees with our guess at what was meant"
    CONTROL = "the means of the comparison are right, whatever the statement"

    def _fact(self, name: str, relation: str, *numbers: Real, reason: str) -> Fact:
        """Return the fact on a measured and a predicted number and the tolerance between them."""
        measured, predicted, tolerance = map(float, numbers)
        why = reason or (ROUNDING if tolerance else "exact")
        return Fact(name, measured, predicted, relation, tolerance, why, self)

    def equal(
        self, name: str, measured: Real, predicted: Real, tolerance: Real, reason: str = ""
    ) -> Fact:
        """Expect both sides to agree within the tolerance, which is for rounding by default."""
        return self._fact(name, "==", measured, predicted, tolerance, reason=reason)

    def at_most(
        self, name: str, measured: Real, bound: Real, tolerance: Real = 0, reason: str = ""
    ) -> Fact:
        """Expect the measured side not to exceed the bound."""
        return self._fact(name, "<=", measured, bound, tolerance, reason=reason)

    def at_least(
        self, name: str, measured: Real, bound: Real, tolerance: Real = 0, reason: str = ""
    ) -> Fact:
        """Expect the measured side not to fall below the bound."""
        return self._fact(name, ">=", measured, bound, tolerance, reason=reason)

    def different(
        self, name: str, measured: Real, claimed: Real, tolerance: Real, reason: str = ""
    ) -> Fact:
        """Expect the sides to be farther apart than the tolerance explains."""
        return self._fact(name, "!=", measured, claimed, tolerance, reason=reason)

    def count(self, name: str, measured: Real, predicted: Real) -> Fact:
        """Expect two counts to be the same."""
        return self.equal(name, measured, predicted, 0.0, EXACT)

    def cells(
        self, name: str, found: frozenset[str], recorded: frozenset[str]
    ) -> tuple[Fact, Fact]:
        """Expect as many cells as recorded, and, as a control, just these."""
        others = len(found ^ recorded)
        return (
            self.count(f"{name}: cells", len(found), len(recorded)),
            Bears.CONTROL.count(f"{name}: cells not as recorded", others, 0),
        )

    def mean_equal(self, name: str, mean: Estimate, predicted: Real, *, slack: float = 0.0) -> Fact:
        """Expect a mean as predicted; `slack` is what the prediction may leave out."""
        allowed = f" and {slack:.2g} for finite size" if slack else ""
        reason = f"{SIGMAS:g} standard errors{allowed}"
        return self.equal(name, mean.value, predicted, SIGMAS * mean.stderr + slack, reason)

    def mean_at_most(self, name: str, mean: Estimate, bound: float) -> Fact:
        """Expect a bound on an expectation to hold: the mean may be above it by its error only."""
        reason = f"{SIGMAS:g} standard errors and rounding allowed"
        return self.at_most(
            name, mean.value, bound, SIGMAS * mean.stderr + 1e-10 * abs(bound), reason
        )

    def mean_below(self, name: str, mean: Estimate, value: Real) -> Fact:
        """Expect a mean below a value beyond doubt."""
        reason = f"must be {SIGMAS:g} standard errors below"
        return self.at_most(name, mean.value, value, -SIGMAS * mean.stderr, reason)

    def mean_above(self, name: str, mean: Estimate, value: Real) -> Fact:
        """Expect a mean above a value beyond doubt."""
        reason = f"must be {SIGMAS:g} standard errors above"
        return self.at_least(name, mean.value, value, -SIGMAS * mean.stderr, reason)


SUPPORTS, REFUTES, REPAIRED, MEANT = Bears.SUPPORTS, Bears.REFUTES, Bears.REPAIRED, Bears.MEANT
CONDITION, SLACK, ANSWERS = Bears.CONDITION, Bears.SLACK, Bears.ANSWERS
GUESS, CONTROL = Bears.GUESS, Bears.CONTROL


def valid_value(bound: BoundValue) -> float:
    """Return the value of a bound that must be valid there, else NaN, which no fact survives."""
    return bound.value if bound.valid else math.nan
