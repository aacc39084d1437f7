"""Short names for the comparisons that checks make."""

from __future__ import annotations

from typing import SupportsFloat

from paper_checks.registry import Fact

Number = SupportsFloat

ROUNDING = "rounding of double precision"


def equal(
    name: str, measured: Number, predicted: Number, tolerance: Number, reason: str = ROUNDING
) -> Fact:
    """Expect both sides to agree within the tolerance."""
    return Fact(name, float(measured), float(predicted), "==", float(tolerance), reason)


def at_most(
    name: str, measured: Number, bound: Number, tolerance: Number = 0.0, reason: str = "exact"
) -> Fact:
    """Expect the measured side not to exceed the bound."""
    return Fact(name, float(measured), float(bound), "<=", float(tolerance), reason)


def at_least(
    name: str, measured: Number, bound: Number, tolerance: Number = 0.0, reason: str = "exact"
) -> Fact:
    """Expect the measured side not to fall below the bound."""
    return Fact(name, float(measured), float(bound), ">=", float(tolerance), reason)


def different(
    name: str, measured: Number, claimed: Number, tolerance: Number, reason: str = ROUNDING
) -> Fact:
    """Expect the sides to be farther apart than the tolerance explains."""
    return Fact(name, float(measured), float(claimed), "!=", float(tolerance), reason)
