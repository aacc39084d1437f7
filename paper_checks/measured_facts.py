"""Comparisons of measured means with their standard errors or beyond them, and valid bounds."""

from __future__ import annotations

import math

from leml_theory.bounds import BoundValue
from leml_theory.rademacher import Estimate
from paper_checks.registry import Fact

# Standard errors allowed, or demanded: a normal mean is this far off once in 10^9 times.
SIGMAS = 6.0


def mean_equal(name: str, mean: Estimate, predicted: float, *, slack: float = 0.0) -> Fact:
    """Expect a mean as predicted; `slack` is what the prediction may leave out."""
    reason = f"{SIGMAS:g} standard errors" + (f" and {slack:.2g} for finite size" if slack else "")
    return Fact(name, mean.value, float(predicted), "==", SIGMAS * mean.stderr + slack, reason)


def mean_at_most(name: str, mean: Estimate, bound: float) -> Fact:
    """Expect a bound on an expectation to hold: the mean may be above it by its error only."""
    reason = f"{SIGMAS:g} standard errors and rounding allowed"
    tolerance = SIGMAS * mean.stderr + 1e-10 * abs(bound)
    return Fact(name, mean.value, float(bound), "<=", tolerance, reason)


def mean_below(name: str, mean: Estimate, value: float) -> Fact:
    """Expect a mean below a value beyond doubt."""
    reason = f"must be {SIGMAS:g} standard errors below"
    return Fact(name, mean.value, float(value), "<=", -SIGMAS * mean.stderr, reason)


def mean_above(name: str, mean: Estimate, value: float) -> Fact:
    """Expect a mean above a value beyond doubt."""
    reason = f"must be {SIGMAS:g} standard errors above"
    return Fact(name, mean.value, float(value), ">=", -SIGMAS * mean.stderr, reason)


def valid_value(bound: BoundValue) -> float:
    """Return the value of a bound that must be valid there, else NaN, which no fact survives."""
    return bound.value if bound.valid else math.nan
