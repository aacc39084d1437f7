"""What was measured on a data set, in plain sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from leml_theory.diagnose.comparison import Comparison
from leml_theory.rademacher import Estimate

if TYPE_CHECKING:
    from leml_theory.diagnose.summary import Diagnosis

__all__ = ["clear", "measured_details", "measured_findings", "measured_summary", "percent_lower"]

_CLEAR = 2.0  # standard errors
_NOTHING = "Nothing was fitted, so there is no measured advantage."


def clear(difference: Estimate) -> bool:
    """Return whether a difference is more than two standard errors from 0."""
    return abs(difference.value) > _CLEAR * difference.stderr


def percent_lower(comparison: Comparison) -> float:
    """Return by how many per cent the trace norm's test risk is below the Frobenius norm's."""
    risk = comparison.frobenius.test_risk
    return 100 * comparison.risk_difference.value / risk if risk else 0.0


def measured_summary(found: Diagnosis) -> str:
    """Return who is better on held-out rows in test risk and in top-1, for both kinds of models."""
    if found.measured is None or found.measured_centred is None:
        return _NOTHING
    parts = [
        f"{which}, {_risk_words(made)}, and {_top_1_words(made)}"
        for which, made in (
            ("without intercept", found.measured),
            ("with an intercept", found.measured_centred),
        )
    ]
    return f"Measured on held-out rows {'; '.join(parts)}."


def _risk_words(made: Comparison) -> str:
    """Say whose test risk is lower."""
    share = percent_lower(made)
    if not clear(made.risk_difference):
        return f"there is no clear difference in test risk ({share:+.2g} %)"
    norm = "trace" if share > 0 else "Frobenius"
    return f"the test risk is {abs(share):.2g} % lower with the {norm} norm"


def _top_1_words(made: Comparison) -> str:
    """Say whose first label is right more often."""
    percents = f"{100 * made.trace.top_1:.2f} % against {100 * made.frobenius.top_1:.2f} %"
    if not clear(made.top_1_difference):
        return f"there is no clear difference in top-1 (trace {percents})"
    if made.top_1_difference.value > 0:
        return f"top-1 is better with the trace norm ({percents})"
    return f"top-1 is better with the Frobenius norm (trace {percents})"


def measured_findings(found: Diagnosis) -> Iterator[str]:
    """Yield who is better on held-out rows, without and with an intercept."""
    if found.measured is None or found.measured_centred is None:
        yield _NOTHING
        return
    for comparison in (found.measured, found.measured_centred):
        yield _comparison(comparison)


def measured_details(found: Diagnosis) -> Iterator[str]:
    """Yield the gaps, the norms of the models, and the bounds on the gaps."""
    if found.measured is None or found.measured_centred is None:
        return
    for made in (found.measured, found.measured_centred):
        yield (
            f"{_which(made)}, the generalisation gaps are {made.trace.gap:.6f} (trace) and "
            f"{made.frobenius.gap:.6f} (Frobenius)."
        )
    yield _radii(found.measured, found.scaled_averages)
    for ball, bound in found.gap_bounds.items():
        zero = found.measured.zero_risk
        share = bound.value / zero if zero else math.inf
        fate = "holds" if bound.valid else f"does not hold ({'; '.join(map(str, bound.failures))})"
        fate += " for points no longer than the longest here" if bound.valid else ""
        if bound.valid and not found.labels.fixed:
            fate += ", if the number of labels seen is independent of x and of which they are"
        news = "which is informative" if share < 1 else "which is not informative"
        yield (
            f"The bound on the gap of the {ball} model from the average given the data {fate}: "
            f"{bound.value:.4g}, {share:.3g} times the risk of predicting zero"
            f"{f', {news}' if bound.valid else ''}."
        )


def _radii(measured: Comparison, scaled: dict[str, float]) -> str:
    """Say what becomes of the advantage when each ball has the size of its model."""
    larger = "larger" if scaled["trace"] > scaled["frobenius"] else "smaller"
    return (
        "The advantage compares balls of one radius, but the models chosen without intercept have "
        f"trace norm {measured.trace.norm:.4g} and Frobenius norm {measured.frobenius.norm:.4g}: "
        f"norm times average is {scaled['trace']:.3g} against {scaled['frobenius']:.3g}, {larger} "
        "for the trace norm."
    )


def _which(comparison: Comparison) -> str:
    return "With an intercept" if comparison.intercept else "Without intercept"


def _comparison(comparison: Comparison) -> str:
    trace, frobenius = comparison.trace, comparison.frobenius
    text = (
        f"{_which(comparison)}, measured on held-out rows: risk {trace.test_risk:.6f} (trace) "
        f"against {frobenius.test_risk:.6f} (Frobenius), {_verdict(comparison.risk_difference)}, "
        f"that is {percent_lower(comparison):+.2g} %; top-1 {100 * trace.top_1:.2f} % against "
        f"{100 * frobenius.top_1:.2f} %, {_verdict(comparison.top_1_difference)}."
    )
    ends = [
        f"the {name} penalty {model.penalty:.4g}"
        for name, model in (("trace", trace), ("Frobenius", frobenius))
        if model.at_end
    ]
    if ends:
        are = "are" if len(ends) > 1 else "is"
        text += f" To be read with care: {' and '.join(ends)} {are} at an end of those tried."
    return text


def _verdict(difference: Estimate) -> str:
    """Return who is ahead by more than two standard errors, and by how much the trace norm is."""
    who = "trace better" if difference.value > 0 else "Frobenius better"
    if not clear(difference):
        who = "no clear difference"
    return f"{who} ({difference.value:+.2g} +- {difference.stderr:.1g})"
