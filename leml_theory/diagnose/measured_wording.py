"""What was measured on a data set, in plain sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from leml_theory.diagnose.comparison import Comparison, ModelFacts
from leml_theory.rademacher import Estimate

if TYPE_CHECKING:
    from leml_theory.diagnose.summary import Diagnosis

__all__ = ["clear", "measured_sentences", "percent_lower"]

_CLEAR = 2.0  # standard errors


def clear(difference: Estimate) -> bool:
    """Return whether a difference is more than two standard errors from 0."""
    return abs(difference.value) > _CLEAR * difference.stderr


def percent_lower(comparison: Comparison) -> float:
    """Return by how many per cent the trace norm's test risk is below the Frobenius norm's."""
    risk = comparison.frobenius.test_risk
    return 100 * comparison.risk_difference.value / risk if risk else 0.0


def measured_sentences(found: Diagnosis) -> Iterator[str]:
    """Yield who is better on held-out rows, the gaps, and the bounds on them."""
    if found.measured is None or found.measured_centred is None:
        yield "Nothing was fitted, so there is no measured advantage."
        return
    for comparison in (found.measured, found.measured_centred):
        yield from _comparison(comparison)
    yield _radii(found.measured, found.scaled_averages)
    for ball, bound in found.gap_bounds.items():
        zero = found.measured.zero_risk
        share = bound.value / zero if zero else math.inf
        fate = "holds" if bound.valid else f"does not hold ({'; '.join(map(str, bound.failures))})"
        fate += " for points no longer than the longest here" if bound.valid else ""
        news = "and is of use" if share < 1 else "and says nothing"
        yield (
            f"The bound on the {ball} model's gap from the average given the data {fate}: "
            f"{bound.value:.4g}, {share:.3g} times the risk of predicting zero"
            f"{f', {news}' if bound.valid else ''}."
        )


def _radii(measured: Comparison, scaled: dict[str, float]) -> str:
    """Say what becomes of the advantage when each ball is as large as its model asks."""
    larger = "larger" if scaled["trace"] > scaled["frobenius"] else "smaller"
    return (
        "The advantage is for balls of one radius, but the models chosen without intercept have "
        f"trace norm {measured.trace.norm:.4g} and Frobenius norm {measured.frobenius.norm:.4g}: "
        f"norm times average is {scaled['trace']:.3g} against {scaled['frobenius']:.3g}, {larger} "
        "for the trace norm."
    )


def _comparison(comparison: Comparison) -> Iterator[str]:
    trace, frobenius = comparison.trace, comparison.frobenius
    which = "With an intercept" if comparison.intercept else "Without intercept"
    yield (
        f"{which}, measured on held-out rows: risk {trace.test_risk:.6f} (trace) against "
        f"{frobenius.test_risk:.6f} (Frobenius), {_verdict(comparison.risk_difference)}, that is "
        f"{percent_lower(comparison):+.2g} %; top-1 {100 * trace.top_1:.2f} % against "
        f"{100 * frobenius.top_1:.2f} %, {_verdict(comparison.top_1_difference)}."
    )
    yield (
        f"{which}, the generalisation gaps are {trace.gap:.6f} (trace) and {frobenius.gap:.6f} "
        f"(Frobenius)."
    )
    for name, model in (("trace", trace), ("Frobenius", frobenius)):
        if model.at_end:
            yield _end_of_grid(name, model)


def _end_of_grid(name: str, model: ModelFacts) -> str:
    return f"The {name} penalty {model.penalty:.4g} is an end of those tried: read with care."


def _verdict(difference: Estimate) -> str:
    """Return who is ahead by more than two standard errors, and by how much the trace norm is."""
    who = "trace better" if difference.value > 0 else "Frobenius better"
    if not clear(difference):
        who = "no clear difference"
    return f"{who} ({difference.value:+.2g} +- {difference.stderr:.1g})"
