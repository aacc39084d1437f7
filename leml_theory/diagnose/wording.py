"""A diagnosis in plain sentences with their numbers: in short, findings, details.

Throughout, +- is one standard error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from leml_theory.bounds import COMPLEXITY_BOUNDS
from leml_theory.diagnose.comparison import Comparison
from leml_theory.diagnose.features import FeatureFacts
from leml_theory.rademacher import Estimate

if TYPE_CHECKING:
    from leml_theory.diagnose.summary import Diagnosis

# A smaller factor would not be noticed in practice.
_NEARLY_ONE = 1.1
_CLEAR = 2.0  # standard errors
_NOTHING = "Nothing was fitted, so there is no measured advantage."


def sentences(found: Diagnosis) -> tuple[str, ...]:
    """Return the diagnosis in sentences: in short, the findings, then the details."""
    return summary(found), *findings(found), *details(found)


def summary(found: Diagnosis) -> str:
    """Return promise, averages and measurement in short, both metrics, without and with intercept.

    Nothing that a finding says against the trace norm, or for it, is left out.
    """
    raw, centred = found.raw, found.centred
    promised, averages = _promise(raw.promised_advantage), _factor(raw.advantage)
    if centred is not None:
        promised += f" ({_promise(centred.promised_advantage)} after centring)"
        averages += f" ({_with_error(centred.advantage)} after centring)"
    text = (
        f"In short: the bounds that apply promise {promised} for the trace norm; the Rademacher "
        f"averages show {averages}"
    )
    return f"{text}. {_measured(found)}"


def findings(found: Diagnosis) -> tuple[str, ...]:
    """Return what a reader should know before any detail: at most ten sentences."""
    return (
        *_data(found),
        _geometry(found.raw),
        *_averages(found),
        *_bounds(found),
        _paper(found.raw),
        *_penalties_at_an_end(found),
    )


def details(found: Diagnosis) -> tuple[str, ...]:
    """Return what stands behind the findings, besides the numbers in the tables."""
    return (
        *_observation(found),
        *_refused_bounds(found),
        _proxy(found.raw),
        *_radii(found),
        *_gap_bounds(found),
    )


def _data(found: Diagnosis) -> Iterator[str]:
    labels = found.labels
    shown = f"{labels.labels_per_point:.4g}"
    if not labels.fixed:
        seen = f"points show different numbers of labels, {shown} on average"
    elif labels.labels_per_point == found.n_labels:
        seen = f"every point shows all labels, s = {shown}"
    else:
        seen = f"every point shows s = {shown} labels"
    yield (
        f"The data have n = {found.n} points, d = {found.n_features} features and "
        f"L = {found.n_labels} labels, {labels.cardinality:.4g} of them positive per point; {seen}."
    )
    if found.unobserved:
        yield f"Labels left out, without any observed entry: {found.unobserved}."


def _geometry(facts: FeatureFacts) -> str:
    sign = "No feature is negative, and the" if facts.nonnegative else "The"
    state = "may be centred" if facts.moments.centred else "are not centred"
    return (
        f"{sign} features {state}: their mean vector holds {facts.mean_share:.4g} of Sigma = mean "
        f"|x|^2. Their top direction holds sigma_1/Sigma = {facts.top_share:.4g}, where isotropic "
        f"features have 1/d = {1 / facts.setting.n_features:.4g} and features on one line have 1."
    )


def _averages(found: Diagnosis) -> Iterator[str]:
    raw, setting = found.raw, found.raw.setting
    isotropic = 1 / (math.sqrt(1 / setting.n_features) + math.sqrt(setting.max_probability))
    yield (
        f"In the Rademacher averages given these data the trace norm gains "
        f"{_factor(raw.advantage)}; the moments allow about {raw.ceiling:.3g} at most, and "
        f"isotropic features would gain about {max(1, isotropic):.3g}."
    )
    if found.centred is None:
        yield "All points are equal: nothing is left after centring."
    else:
        yield (
            f"After centring it would gain {_factor(found.centred.advantage)} (about "
            f"{found.centred.ceiling:.3g} at most; sigma_1/Sigma is then "
            f"{found.centred.top_share:.4g})."
        )


def _bounds(found: Diagnosis) -> Iterator[str]:
    numbers, condition = found.raw.setting.label_numbers, ""
    if numbers:
        condition = (
            " if the number of labels seen is independent of x and of which labels they are "
            "(because that number varies they are up to "
            f"{math.sqrt(numbers.spread):.3g} times as large)"
        )
    yield (
        f"Bounds on the trace average that apply{condition}, smallest first: {_valid(found.raw)}. "
        "Compared with Theorem 3 for the Frobenius ball, a bound too, they promise "
        f"{_promise(found.raw.promised_advantage)}."
    )
    if found.centred is not None:
        yield (
            f"After centring these apply: {_valid(found.centred)}. They promise "
            f"{_promise(found.centred.promised_advantage)}."
        )


def _paper(facts: FeatureFacts) -> str:
    n, needed, advantage = facts.setting.n, facts.points_needed, facts.theorem_4_advantage
    points = f"asks for more than {needed:.0f} points, and {n} are {'' if n > needed else 'not '}"
    asks = f"{points}enough" if needed else "holds for any number of points"
    return (
        f"Theorem 4 without its constant would promise {_promise(advantage)} "
        f"(sqrt(Sigma/(2 P d sigma_1)) = {advantage:.3g}); Theorem 6 {asks}."
    )


def _observation(found: Diagnosis) -> Iterator[str]:
    labels = found.labels
    low, high = labels.probability_range
    yield (
        "A Rademacher average sees one of a point's observed labels, drawn uniformly: the most "
        f"often observed label has probability P = {high:.4g}, the least often observed one "
        f"p = {low:.4g} (1/L = {1 / found.n_labels:.4g})."
    )
    if found.raw.label_share > high:
        yield (
            "Points with a large |x| show some labels more often: one label accounts for up to "
            f"{found.raw.label_share:.4g} of the sum of squares, which the bounds use as P."
        )
    yield (
        "How often labels are positive does not enter P; the most frequent one is positive in "
        f"{labels.largest_frequency:.4g} of its observed entries, which would matter only if "
        "negative labels were never recorded."
    )


def _refused_bounds(found: Diagnosis) -> Iterator[str]:
    for name, bound in found.raw.bounds.items():
        if not bound.valid:
            why = "; ".join(map(str, bound.failures))
            yield f"Does not apply: {_name(name)} ({bound.value:.4g}): {why}."


def _proxy(facts: FeatureFacts) -> str:
    moments = facts.moments
    return (
        "The sub-Gaussian proxy of real features is unknown: it lies between sigma_1 = "
        f"{moments.top_eigenvalue:.4g} and the largest |x|^2 = {moments.radius**2:.4g}. Bounds and "
        "the points of Theorem 6 use the latter, which is certain; Theorem 4 without its constant "
        "uses the former, which is the most favourable."
    )


def clear(difference: Estimate) -> bool:
    """Return whether a difference is more than two standard errors from 0."""
    return abs(difference.value) > _CLEAR * difference.stderr


def _measured(found: Diagnosis) -> str:
    """Return who is better on held-out rows in test risk and in top-1, for both kinds of models."""
    parts = [
        f"{which(made)}, {_risk_words(made)}, and {_top_1_words(made)}" for made in found.compared
    ]
    return f"Measured on held-out rows {'; '.join(parts)}." if parts else _NOTHING


def which(comparison: Comparison) -> str:
    """Return which kind of models was compared."""
    return "with an intercept" if comparison.intercept else "without intercept"


def _risk_words(made: Comparison) -> str:
    """Say whose test risk is lower."""
    risk = made.frobenius.test_risk
    percent = 100 * made.risk_difference.value / risk if risk else 0.0
    if not clear(made.risk_difference):
        return f"there is no clear difference in test risk ({percent:+.2g} %)"
    norm = "trace" if percent > 0 else "Frobenius"
    return f"the test risk is {abs(percent):.2g} % lower with the {norm} norm"


def _top_1_words(made: Comparison) -> str:
    """Say whose first label is right more often."""
    percents = f"trace {100 * made.trace.top_1:.2f} % against {100 * made.frobenius.top_1:.2f} %"
    if not clear(made.top_1_difference):
        return f"there is no clear difference in top-1 ({percents})"
    norm = "trace" if made.top_1_difference.value > 0 else "Frobenius"
    return f"top-1 is better with the {norm} norm ({percents})"


def _penalties_at_an_end(found: Diagnosis) -> Iterator[str]:
    for made in found.compared:
        models = {"trace": made.trace, "Frobenius": made.frobenius}
        ends = [f"{name} {model.penalty:.4g}" for name, model in models.items() if model.at_end]
        if ends:
            yield (
                f"What was measured {which(made)} is to be read with care: a penalty is at an end "
                f"of those tried ({', '.join(ends)})."
            )


def _radii(found: Diagnosis) -> Iterator[str]:
    """Say what becomes of the advantage when each ball has the size of its model."""
    scaled, made = found.scaled_averages, found.measured
    if made is not None:
        larger = "larger" if scaled["trace"] > scaled["frobenius"] else "smaller"
        yield (
            "The advantage compares balls of one radius, but the models chosen without intercept "
            f"have trace norm {made.trace.norm:.4g} and Frobenius norm {made.frobenius.norm:.4g}: "
            f"norm times average is {scaled['trace']:.3g} against {scaled['frobenius']:.3g}, "
            f"{larger} for the trace norm."
        )


def _gap_bounds(found: Diagnosis) -> Iterator[str]:
    for ball, bound in found.gap_bounds.items():
        zero = found.measured.zero_risk if found.measured else 0.0
        share = bound.value / zero if zero else math.inf
        if bound.valid:
            fate = "holds for points no longer than the longest here"
            if not found.labels.fixed:
                fate += ", if the number of labels seen is independent of x and of which labels"
                fate += " they are"
            news = f", which is {'' if share < 1 else 'not '}informative"
        else:
            fate, news = f"does not hold ({'; '.join(map(str, bound.failures))})", ""
        yield (
            f"The bound on the gap of the {ball} model from the average given the data {fate}: "
            f"{bound.value:.4g}, {share:.3g} times the risk of predicting zero{news}."
        )


def _valid(facts: FeatureFacts) -> str:
    """List the bounds that apply, the smallest first."""
    valid = sorted((b for b in facts.bounds.values() if b.valid), key=lambda bound: bound.value)
    return ", ".join(f"{_name(bound.name)} ({bound.value:.4g})" for bound in valid) or "none"


def _name(bound: str) -> str:
    """Return what a sentence calls a bound."""
    known = COMPLEXITY_BOUNDS[bound]
    return known.phrase or known.label


def _promise(advantage: float) -> str:
    """Return a promised advantage in words."""
    if advantage > _NEARLY_ONE:
        return f"a factor of {advantage:.3g}"
    return f"{'nearly ' if advantage > 1 else ''}no advantage"


def _factor(advantage: Estimate) -> str:
    """Return the advantage in words."""
    text = f"a factor of {_with_error(advantage)}"
    return text if advantage.value > _NEARLY_ONE else f"nearly nothing, {text}"


def _with_error(estimate: Estimate) -> str:
    return f"{estimate.value:.4g} +- {estimate.stderr:.1g}"
