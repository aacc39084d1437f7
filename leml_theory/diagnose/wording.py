"""A diagnosis in plain sentences with their numbers: in short, findings, details.

Throughout, +- is one standard error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from leml_theory.bounds import COMPLEXITY_BOUNDS
from leml_theory.diagnose.features import FeatureFacts
from leml_theory.diagnose.measured_wording import (
    measured_details,
    measured_findings,
    measured_summary,
)
from leml_theory.rademacher import Estimate

if TYPE_CHECKING:
    from leml_theory.diagnose.summary import Diagnosis

__all__ = ["details", "findings", "sentences", "summary"]

# A smaller factor would not be noticed in practice.
_NEARLY_ONE = 1.1


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
    return f"{text}. {measured_summary(found)}"


def findings(found: Diagnosis) -> tuple[str, ...]:
    """Return what a reader should know before any detail: at most ten sentences."""
    return (
        *_data(found),
        _geometry(found.raw),
        *_averages(found),
        *_bounds(found),
        _paper(found.raw),
        *measured_findings(found),
    )


def details(found: Diagnosis) -> tuple[str, ...]:
    """Return what stands behind the findings."""
    return (
        *_observation(found),
        *_moments(found),
        *_refused_bounds(found),
        *_proxy(found.raw),
        *measured_details(found),
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
        yield f"Left out: {found.unobserved} labels without any observed entry."


def _geometry(facts: FeatureFacts) -> str:
    sign = "No feature is negative, and the" if facts.nonnegative else "The"
    state = "are centred" if facts.moments.centred else "are not centred"
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
            " if the number of labels seen is independent of x and of which they are (for that "
            f"number varying they are up to {math.sqrt(numbers.spread):.3g} times as large)"
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


def _moments(found: Diagnosis) -> Iterator[str]:
    moments, averages = found.raw.moments, found.raw.averages
    yield (
        f"Sigma = {moments.second_moment:.4g}, sigma_1 = {moments.top_eigenvalue:.4g}, largest "
        f"|x| = {moments.radius:.4g}; the mean vector of a centred law would hold about "
        f"1/n = {1 / found.n:.2g} of Sigma."
    )
    yield (
        "Rademacher averages of the unit balls given these data: trace "
        f"{_with_error(averages['trace'])}, Frobenius {_with_error(averages['frobenius'])}."
    )
    if found.centred is not None:
        yield "The intercept b that replaces the mean adds |b|/sqrt(n) to either average."


def _refused_bounds(found: Diagnosis) -> Iterator[str]:
    for name, bound in found.raw.bounds.items():
        if not bound.valid:
            why = "; ".join(map(str, bound.failures))
            yield f"Does not apply: {_name(name)} ({bound.value:.4g}): {why}."


def _proxy(facts: FeatureFacts) -> Iterator[str]:
    moments = facts.moments
    yield (
        "The sub-Gaussian proxy of real features is unknown: it lies between sigma_1 = "
        f"{moments.top_eigenvalue:.4g} and the largest |x|^2 = {moments.radius**2:.4g}. Bounds and "
        "the points of Theorem 6 use the latter, which is certain; Theorem 4 without its constant "
        "uses the former, which is the most favourable."
    )
    yield (
        f"Gaussian features of these moments would promise a factor of "
        f"{facts.gaussian_advantage:.3g}."
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
