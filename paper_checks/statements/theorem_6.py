"""Checks of Theorem 6 and of what is said after it."""

import math

from leml_theory import predictions as sharp
from leml_theory.bounds import Setting, matrix_bernstein, paper_route, theorem_3
from leml_theory.bounds import complexity as bounds
from leml_theory.measurements.averages import slots
from leml_theory.rademacher import Estimate, rademacher_average
from paper_checks.checking import Effort, Findings, Kind, Statement, Sure, Verdict, valid_value
from paper_checks.checking.fact import CONDITION, CONTROL, REFUTES, REPAIRED, SLACK, SUPPORTS
from simulations import (
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


@Statement(
    id="B22",
    place="Theorem 6",
    says="R_n <= c3 radius sqrt(P d (eta^2 + sigma_1)/(n Sigma)) for any law of the labels.",
    kind=Kind.UPPER_BOUND,
    verdict=Verdict.HIDDEN,
    refuted_by="A smaller size at which it beats Theorem 3, or an average above it.",
    correct="Needs L = O(d) (d >= L in Appendix B.4), n > log(L Sigma/(P d (eta^2 + sigma_1)))/(2 "
    "p^2) with p the smallest probability, E x = 0 and x normalised; c3 = 91.2 or more, so that it "
    "beats Theorem 3 from d = L = 16,628 on only.",
    why="The proof assumes d >= L, a condition on n and E x = 0, and its constant is 91 or more.",
    example="n = 1, d = L = 20,000, signs/sqrt(d): R_1 = 1, against 91.2 sqrt(2/20,000) = 0.912.",
    sure=Sure.EXACT,
    matters=2,
    where="Appendix B.4, line 24 of the formulas",
)
def theorem_6(effort: Effort) -> Findings:
    """The bound with its constants beside Theorem 3 and the measured average, and its validity."""
    size, draws = 32, effort.pick(40, 200)
    skewed = WeightedLabels(zipf(size, 1.0))
    law = RademacherVectors(size)
    n = 10**6
    valid = paper_route(Setting.of(law, skewed, n))
    average = rademacher_average(law, skewed, n, draws=draws, rng=effort.rng)
    signs, rare = RademacherVectors(128), WeightedLabels(zipf(100, 2.0))
    few, many = (paper_route(Setting.of(signs, rare, m)).valid for m in (10**8, 10**10))
    wide = paper_route(Setting.of(law, UniformLabels(33), n))
    constant = bounds.paper_constant(16_627)
    first = next(size for size in range(16_600, 16_700) if beats_theorem_3(size))
    one = paper_route(Setting.of(RademacherVectors(20_000), UniformLabels(20_000), 1))
    yield REFUTES.at_most("bound at n = 1, where R_n = 1", one.value, 0.95)
    yield REPAIRED.equal("smallest d = L at which it beats Theorem 3", first, 16_628, 0)
    yield CONTROL.equal("beats Theorem 3 at d = L = 10,000", beats_theorem_3(10_000), False, 0)
    yield CONTROL.equal("2 c3^2 there", 2 * constant**2, 16_627.52, 0.01, "printed digits")
    yield CONDITION.mean_at_most("average, Zipf labels", average, valid_value(valid))
    yield CONTROL.equal("valid for 100 Zipf-2 labels at n = 10^8", few, False, 0)
    yield CONTROL.equal("valid for them at n = 10^10", many, True, 0)
    yield CONTROL.equal("valid at d = 32, L = 33", wide.valid, False, 0)


@Statement(
    id="B23",
    place="Appendix B.4",
    says="If one label is observed with probability of order one, the trace ball has no benefit.",
    kind=Kind.RATE,
    refuted_by="An average well below Theorem 3 at P = 0.8.",
)
def one_label_too_often(effort: Effort) -> Findings:
    """Rademacher averages with one heavy label, beside the spiked-column formula."""
    size, n, draws = 48, 10**6, effort.pick(120, 600)
    law = RademacherVectors(size)
    shares = (1 / size, 0.4, 0.8)
    patterns: list[Observation] = [UniformLabels(size)]
    patterns += [WeightedLabels(heavy_label(size, share)) for share in shares[1:]]
    low, middle, high = (
        rademacher_average(law, seen, n, draws=draws, rng=effort.rng).scaled(math.sqrt(n))
        for seen in patterns
    )
    spiked = sharp.spectral_norm(size, patterns[2].probabilities / size)
    yield SUPPORTS.mean_below("P = 1/L, over Theorem 3", low, 0.35)
    yield SUPPORTS.mean_above("P = 0.8, over Theorem 3", high, 0.75)
    yield CONTROL.mean_equal("P = 0.8, against the spiked-column formula", high, spiked, slack=0.01)
    yield SUPPORTS.mean_above("P = 0.4 against P = 1/L", middle, 1.5 * low.value)


@Statement(
    id="B24",
    where="Appendix B.4, paragraph 24, sentence 1",
    says="That is akin to fully observed labels, where there is no benefit either.",
    kind=Kind.RATE,
    verdict=Verdict.HIDDEN,
    refuted_by="Fully observed independent labels without a benefit.",
    correct="Only for labels that are all equal; fully observed independent labels leave the "
    "benefit intact.",
    why="With all labels seen, V is of rank one only if the labels are all equal.",
    example="d = L = 2, all labels seen: y = (1, 1) always gives V = v (1, 1), both norms alike; "
    "independent signs give a V of rank two.",
    sure=Sure.MEASURED,
    matters=2,
)
def fully_observed_labels(effort: Effort) -> Findings:
    """All labels observed: deviations in both balls, labels all equal and independent."""
    cell = {"law": "rademacher", "d": 32, "L": 32, "s": 32, "n": 128}
    cell |= {"draws": effort.pick(30, 200)}
    same, apart = (
        {row["ball"]: row for row in slots({**cell, "labels": labels}, effort.rng)}
        for labels in ("all-ones", "signs")
    )
    trace = Estimate(apart["trace"]["value"], apart["trace"]["stderr"], 2)
    yield CONDITION.equal("equal labels, trace over Frobenius", _ratio(same), 1.0, 1e-9)
    half = 0.45 * apart["frobenius"]["value"]
    yield REFUTES.mean_below("independent labels, trace, Frobenius", trace, half)
    yield REFUTES.at_most("independent labels, trace over Frobenius", _ratio(apart), 0.45)


def _ratio(rows: dict[str, dict[str, float]]) -> float:
    return rows["trace"]["value"] / rows["frobenius"]["value"]


@Statement(
    id="B25",
    where="Section 4, paragraph 11, sentence 2",
    says="The proofs do not follow from techniques for matrix predictors or matrix completion.",
    verdict=Verdict.LOOSE,
    refuted_by="A size at which Theorem 6's value is smaller, or a condition that it lacks.",
    correct="Matrix Bernstein gives R_n <= radius (sqrt(2 max(sigma_1, P Sigma) log(d + L)/n) + R "
    "log(d + L)/(3n)) for |x| <= R: the rate up to a logarithm, with no d >= L, no condition on n "
    "and no E x = 0.",
    why="V is a sum of independent matrices x_i e_l^T, to which matrix Bernstein applies; it loses "
    "a logarithm and needs bounded x.",
    example="|x| = 1, isotropic, d = L: R_n <= radius (sqrt(2 log(2L)/(nL)) + log(2L)/(3n)).",
    sure=Sure.PROVED,
)
def known_inequalities(_: Effort) -> Findings:
    """Tropp's matrix Bernstein inequality beside Theorem 6: values and conditions."""
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
    valid = any(matrix_bernstein(setting).valid for setting in (unbounded, gaussian))
    yield SLACK.at_most("matrix Bernstein over Theorem 6, d = L up to 10^6", max(ratios), 0.1)
    name = "matrix Bernstein over sqrt(log(2L)/(nL)), L = 10^6"
    yield SUPPORTS.equal(name, logs[-1], math.sqrt(2), 1e-3)
    yield CONTROL.equal("the same, L = 8", logs[0], math.sqrt(2), 1e-3, "the linear term's share")
    yield SLACK.equal("valid for L > d and n < L", matrix_bernstein(wide).valid, True, 0)
    yield SLACK.equal("valid for x that is not centred", matrix_bernstein(shifted).valid, True, 0)
    yield SUPPORTS.equal("valid for unbounded x", valid, False, 0)
    yield (
        "Whether a proof 'follows' from another cannot be computed; that the rate does, up "
        "to a logarithm and with a smaller value for every L below e^8000, can."
    )
