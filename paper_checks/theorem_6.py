"""Checks of Theorem 6 and of what is said after it."""

from __future__ import annotations

import math

import numpy as np

from leml_theory import predictions as sharp
from leml_theory.bounds import Setting, matrix_bernstein, paper_route, theorem_3
from leml_theory.bounds import complexity as bounds
from leml_theory.measurements.averages import slots
from leml_theory.rademacher import Estimate, rademacher_average
from paper_checks.facts import at_most, equal
from paper_checks.measured_facts import (
    mean_above,
    mean_at_most,
    mean_below,
    mean_equal,
    valid_value,
)
from paper_checks.registry import Effort, Outcome, check
from simulations import (
    FeatureLaw,
    IsotropicGaussian,
    NonNegative,
    Observation,
    RademacherVectors,
    RareOutlier,
    UniformLabels,
    WeightedLabels,
    heavy_label,
    zipf,
)


def beats_theorem_3(size: int) -> bool:
    """Return whether the paper's bound is below Theorem 3's at d = L = size, x normalised."""
    setting = Setting.of(RademacherVectors(size), UniformLabels(size), 10**15)
    return paper_route(setting).value < theorem_3(setting).value


@check("B22")
def theorem_6(effort: Effort) -> Outcome:
    """With its constants Theorem 6 beats Theorem 3 from d = L = 16,628 on, and needs n large."""
    size, draws = 32, effort.pick(40, 200)
    skewed = WeightedLabels(zipf(size, 1.0))
    law = RademacherVectors(size)
    n = 10**6
    valid = paper_route(Setting.of(law, skewed, n))
    average = rademacher_average(law, skewed, n, draws=draws, rng=effort.rng)
    few, many = (_route_valid(zipf(100, 2.0), points) for points in (10**8, 10**10))
    wide = paper_route(Setting.of(law, UniformLabels(33), n))
    constant = bounds.paper_constant(16_627)
    first = next(size for size in range(16_600, 16_700) if beats_theorem_3(size))
    return Outcome(
        (
            equal("smallest d = L at which it beats Theorem 3", first, 16_628, 0),
            equal("beats Theorem 3 at d = L = 10,000", beats_theorem_3(10_000), False, 0),
            equal("2 c3^2 there", 2 * constant**2, 16_627.52, 0.01, "printed digits"),
            mean_at_most("average, Zipf labels", average, valid_value(valid)),
            equal("valid for 100 Zipf-2 labels at n = 10^8", few, False, 0),
            equal("valid for them at n = 10^10", many, True, 0),
            equal("valid at d = 32, L = 33", wide.valid, False, 0),
        )
    )


def _route_valid(label_law: tuple[float, ...], n: int) -> bool:
    return paper_route(Setting.of(RademacherVectors(128), WeightedLabels(label_law), n)).valid


@check("B23")
def one_label_too_often(effort: Effort) -> Outcome:
    """One label with share P: the average climbs from 2/sqrt(L) to sqrt(P), as the spike says."""
    size, n, draws = 48, 10**6, effort.pick(120, 600)
    law = RademacherVectors(size)
    shares = (1 / size, 0.4, 0.8)
    patterns: list[Observation] = [UniformLabels(size)]
    patterns += [WeightedLabels(heavy_label(size, share)) for share in shares[1:]]
    low, middle, high = (_in_root_n(law, seen, n, draws, effort.rng) for seen in patterns)
    spiked = sharp.spectral_norm(size, patterns[2].probabilities / size)
    return Outcome(
        (
            mean_below("P = 1/L, over Theorem 3", low, 0.35),
            mean_above("P = 0.8, over Theorem 3", high, 0.75),
            mean_equal("P = 0.8, against the spiked-column formula", high, spiked, slack=0.01),
            mean_above("P = 0.4 against P = 1/L", middle, 1.5 * low.value),
        )
    )


def _in_root_n(
    law: FeatureLaw, seen: Observation, n: int, draws: int, rng: np.random.Generator
) -> Estimate:
    average = rademacher_average(law, seen, n, draws=draws, rng=rng)
    return average.scaled(math.sqrt(n))


@check("B24")
def fully_observed_labels(effort: Effort) -> Outcome:
    """All labels seen: no benefit if they are all equal, the whole benefit if independent."""
    cell = {"law": "rademacher", "d": 32, "L": 32, "s": 32, "n": 128}
    cell |= {"draws": effort.pick(30, 200)}
    same, apart = (
        {row["ball"]: row for row in slots({**cell, "labels": labels}, effort.rng)}
        for labels in ("all-ones", "signs")
    )
    trace = Estimate(apart["trace"]["value"], apart["trace"]["stderr"], 2)
    return Outcome(
        (
            equal("equal labels, trace over Frobenius", _ratio(same), 1.0, 1e-9),
            mean_below(
                "independent labels, trace, Frobenius", trace, 0.45 * apart["frobenius"]["value"]
            ),
            at_most("independent labels, trace over Frobenius", _ratio(apart), 0.45),
        )
    )


def _ratio(rows: dict[str, dict[str, float]]) -> float:
    return rows["trace"]["value"] / rows["frobenius"]["value"]


@check("B25")
def known_inequalities(effort: Effort) -> Outcome:  # noqa: ARG001
    """Tropp's matrix Bernstein gives the rate up to sqrt(log(d + L)), with fewer conditions."""
    sizes = (8, 100, 10**4, 10**6)
    settings = [Setting.of(RademacherVectors(m), UniformLabels(m), 10**15) for m in sizes]
    ratios = [matrix_bernstein(s).value / paper_route(s).value for s in settings]
    logs = [
        matrix_bernstein(s).value * math.sqrt(s.n * m / math.log(2 * m))
        for s, m in zip(settings, sizes, strict=True)
    ]
    wide = Setting.of(RademacherVectors(8), UniformLabels(4096), 100)
    shifted = Setting.of(RareOutlier(1.0, 0.5, 0.1), UniformLabels(4096), 100)
    unbounded = Setting.of(NonNegative(8), UniformLabels(8), 100)
    gaussian = Setting.of(IsotropicGaussian(8), UniformLabels(8), 100)
    return Outcome(
        (
            at_most("matrix Bernstein over Theorem 6, d = L up to 10^6", max(ratios), 0.1),
            equal(
                "matrix Bernstein over sqrt(log(2L)/(nL)), L = 10^6", logs[-1], math.sqrt(2), 1e-3
            ),
            equal("the same, L = 8", logs[0], math.sqrt(2), 1e-3, "the linear term, at n = 10^15"),
            equal("valid for L > d and n < L", matrix_bernstein(wide).valid, True, 0),
            equal("valid for x that is not centred", matrix_bernstein(shifted).valid, True, 0),
            equal("valid for unbounded x", _any_valid(unbounded, gaussian), False, 0),
        ),
        "Whether a proof 'follows' from another cannot be computed; that the rate does, up to a "
        "logarithm and with a smaller value for every L below e^8000, can.",
    )


def _any_valid(*settings: Setting) -> bool:
    return any(matrix_bernstein(setting).valid for setting in settings)
