"""The findings about a data set in plain sentences, each with its numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from leml_theory.bounds import COMPLEXITY_BOUNDS
from leml_theory.diagnose.features import FeatureFacts
from leml_theory.diagnose.measured_wording import clear, measured_sentences, percent_lower
from leml_theory.rademacher import Estimate

if TYPE_CHECKING:
    from leml_theory.diagnose.summary import Diagnosis

__all__ = ["sentences"]

# A factor below this is nothing that a learner would notice.
_NEARLY_ONE = 1.1


def sentences(found: Diagnosis) -> tuple[str, ...]:
    """Return the findings in the order in which one would tell them."""
    return (
        *_data(found),
        *_observation(found),
        *_geometry(found.raw),
        *_averages(found),
        *_bounds(found),
        *_paper(found.raw),
        *measured_sentences(found),
        _summary(found),
    )


def _data(found: Diagnosis) -> Iterator[str]:
    labels = found.labels
    yield (
        f"The data have n = {found.n} points, d = {found.n_features} features and "
        f"L = {found.n_labels} labels, {labels.cardinality:.4g} of them positive at a point."
    )
    if found.unobserved:
        yield f"Left out: {found.unobserved} labels without any observed entry."


def _observation(found: Diagnosis) -> Iterator[str]:
    labels = found.labels
    low, high = labels.probability_range
    if labels.fixed:
        every = "all" if labels.labels_per_point == found.n_labels else "the same number of"
        yield f"Every point shows {every} labels, s = {labels.labels_per_point:g}."
    else:
        yield (
            f"Points show different numbers of labels, {labels.labels_per_point:.4g} on average; "
            "the bounds ask for one number s at all points and do not apply."
        )
    yield (
        "A Rademacher average sees one of a point's observed labels, drawn uniformly: the largest "
        f"probability of a label to be seen is P = {high:.4g}, the smallest p = {low:.4g} "
        f"(1/L = {1 / found.n_labels:.4g})."
    )
    if found.raw.label_share > high:
        yield (
            "Longer points show some labels more often: one has up to "
            f"{found.raw.label_share:.4g} of the squares in the sum, which the bounds take for P."
        )
    yield (
        "How often labels are positive does not enter P; the most frequent one is positive in "
        f"{labels.largest_frequency:.4g} of its observed entries, which would matter only if "
        "negative labels were never recorded."
    )


def _geometry(facts: FeatureFacts) -> Iterator[str]:
    moments, d = facts.moments, facts.setting.n_features
    yield (
        f"sigma_1/Sigma = {facts.top_share:.4g} (Sigma = mean |x|^2 = {moments.second_moment:.4g}, "
        f"sigma_1 = {moments.top_eigenvalue:.4g}, largest |x| = {moments.radius:.4g}): isotropic "
        f"features would have 1/d = {1 / d:.4g}, features on one line 1."
    )
    sign = "No feature is negative, and the" if facts.nonnegative else "The"
    state = "are centred" if moments.centred else "are not centred"
    yield (
        f"{sign} features {state}: their mean vector holds {facts.mean_share:.4g} of Sigma "
        f"(a centred law would show about 1/n = {1 / facts.setting.n:.2g})."
    )


def _averages(found: Diagnosis) -> Iterator[str]:
    raw, setting = found.raw, found.raw.setting
    trace, frobenius = raw.averages["trace"], raw.averages["frobenius"]
    isotropic = 1 / (math.sqrt(1 / setting.n_features) + math.sqrt(setting.max_probability))
    yield (
        "Rademacher averages of the unit balls given these data: trace "
        f"{_with_error(trace)}, Frobenius {_with_error(frobenius)}."
    )
    yield (
        f"So the trace norm gains {_factor(raw.advantage)} as the features are; the moments allow "
        f"about {raw.ceiling:.3g} at most, and isotropic features would gain about "
        f"{max(1, isotropic):.3g}."
    )
    if found.centred is None:
        yield "All points are equal: nothing is left after centring."
    else:
        yield (
            f"After centring it would gain {_factor(found.centred.advantage)} (about "
            f"{found.centred.ceiling:.3g} at most; sigma_1/Sigma is then "
            f"{found.centred.top_share:.4g}); the intercept b that takes the mean's place adds "
            "|b|/sqrt(n) to either average."
        )


def _bounds(found: Diagnosis) -> Iterator[str]:
    yield f"Bounds on the trace average that apply, smallest first: {_valid(found.raw)}."
    yield (
        "Against Theorem 3 for the Frobenius ball, a bound too, they promise "
        f"{_promise(found.raw.promised_advantage)}."
    )
    if found.centred is not None:
        yield (
            f"After centring there apply: {_valid(found.centred)}; they then promise "
            f"{_promise(found.centred.promised_advantage)}."
        )
    for name, bound in found.raw.bounds.items():
        if not bound.valid:
            why = "; ".join(map(str, bound.failures))
            yield f"Does not apply: {_name(name)} ({bound.value:.4g}): {why}."


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


def _paper(facts: FeatureFacts) -> Iterator[str]:
    moments, advantage = facts.moments, facts.theorem_4_advantage
    yield (
        "The sub-Gaussian proxy of real features is unknown: it lies between sigma_1 = "
        f"{moments.top_eigenvalue:.4g} and the largest |x|^2 = {moments.radius**2:.4g}, which is "
        "used above."
    )
    yield (
        "With the smallest of these and without its constant, Theorem 4 would promise "
        f"{_promise(advantage)} (sqrt(Sigma/(2 P d sigma_1)) = {advantage:.3g}), {_points(facts)}; "
        f"Gaussian features of these moments would promise {facts.gaussian_advantage:.3g}."
    )


def _points(facts: FeatureFacts) -> str:
    """Say from which n on the paper's proof works."""
    n, needed = facts.setting.n, facts.points_needed
    if needed == 0:
        return "for any n"
    return f"from n > {needed:.4g} on, for which {n} is {'' if n > needed else 'not '}enough"


def _summary(found: Diagnosis) -> str:
    """Put promise and measurement side by side."""
    promised = _promise(found.raw.promised_advantage)
    text = f"In short: promised {promised}, averages {_factor(found.raw.advantage)}"
    if found.centred is not None:
        text += f" ({found.centred.advantage.value:.3f} after centring)"
    if found.measured is None:
        return f"{text}."
    share = percent_lower(found.measured)
    if not clear(found.measured.risk_difference):
        return f"{text}; measured, no clear difference in test risk ({share:+.2g} %)."
    better = "lower" if share > 0 else "higher"
    return f"{text}; measured, a test risk {abs(share):.2g} % {better} with the trace norm."


def _factor(advantage: Estimate) -> str:
    """Return the advantage in words."""
    text = f"a factor of {advantage.value:.3f} +- {advantage.stderr:.1g}"
    return text if advantage.value > _NEARLY_ONE else f"nearly nothing, {text}"


def _with_error(estimate: Estimate) -> str:
    return f"{estimate.value:.4g} +- {estimate.stderr:.1g}"
