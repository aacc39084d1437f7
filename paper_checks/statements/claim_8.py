"""Checks of Claim 8 and Lemma 3."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from leml_solver import LOSSES, FrobeniusBall, TraceBall
from leml_theory.arrays import Array
from leml_theory.bounds import (
    BoundValue,
    RiskSetting,
    Setting,
    bousquet_linear_gap,
    mcdiarmid_gap,
    rademacher_chevet,
    theorem_3,
)
from paper_checks.checking import Effort, Findings, Kind, Statement, Sure, Verdict
from paper_checks.checking.fact import CONDITION, CONTROL, MEANT, REFUTES, REPAIRED, SLACK, SUPPORTS
from paper_checks.statements.claim_7 import (
    CLAIMED_CHANCE,
    chebyshev_chance,
    claimed_variance,
    enumerated_variance,
    exact_variance,
)
from paper_checks.statements.theorem_4 import required_proxy
from paper_checks.worlds.exact_tails import sign_sum_mean, squared_norm_chance
from paper_checks.worlds.small import enumerated
from simulations import AllOnes, RademacherVectors, RareOutlier, Scenario, UniformLabels

LINEAR = LOSSES["linear"]


def printed_matrix(X: Array, columns: NDArray[np.int64], n_labels: int, last: int) -> Array:
    """Return sum over i < last of x_i e_{l_i}^T; the paper prints last = L."""
    V = np.zeros((X.shape[1], n_labels))
    np.add.at(V.T, columns[:last], X[:last])
    return V


@Statement(
    id="C5",
    place="Claim 8",
    says="The columns of the matrix X are sums over i = 1 to L.",
    verdict=Verdict.MISPRINT,
    refuted_by="The sum to L giving the empirical risk.",
    correct="Sums over i = 1 to n. (X is also the data and, in Theorem 4, their covariance.)",
    why="The sum is over the training points, of which there are n.",
    example="n = 3, L = 1: three terms, as printed one.",
    sure=Sure.PROVED,
    where="Appendix C.2, line 12 of the formulas",
)
def range_of_the_sum(effort: Effort) -> Findings:
    """Both sums in -|X|_F/n, against the empirical risk of the minimiser."""
    n, n_labels = 60, 7
    world = Scenario(RademacherVectors(5), AllOnes(n_labels), UniformLabels(n_labels))
    sample = world.sample(n, effort.rng)
    problem, ball = sample.problem("linear"), FrobeniusBall(1.0)
    Z = ball.linear_minimiser(problem.gradient(np.zeros((5, n_labels))))
    whole, printed = (
        -ball.dual_norm(printed_matrix(sample.X, sample.columns, n_labels, last)) / n
        for last in (n, n_labels)
    )
    risk = problem.risk(Z)
    yield REFUTES.different("-|X|_F/n summed to L, against the risk", printed, risk, 0.01)
    yield MEANT.equal("-|X|_F/n summed to n, against the risk", whole, problem.risk(Z), 1e-12)


def printed_proxy(d: int) -> float:
    """Return the eta^2 that Appendix C.2 prints."""
    return 2 / d


@Statement(
    id="C6",
    place="Claim 8",
    says="Rademacher vectors over sqrt(d) are sub-Gaussian with eta^2 = 2/d.",
    kind=Kind.UPPER_BOUND,
    verdict=Verdict.LOOSE,
    refuted_by="An eta^2 asked for above 2/d, or the smallest one other than 1/d.",
    correct="eta^2 = 1/d, since cosh t <= exp(t^2/2), and no less: it is the variance.",
    why="cosh t <= exp(t^2/2), and the proof uses exp(t^2).",
    example="t = 1: cosh 1 = 1.543, exp(1/2) = 1.649, exp(1) = 2.718.",
    sure=Sure.PROVED,
    where="Appendix C.2, paragraph 7, sentence 2",
)
def proxy_of_rademacher_vectors(effort: Effort) -> Findings:
    """All 2^d vectors: the eta^2 asked for at many v."""
    d = 5
    values = enumerated(RademacherVectors(d))
    rays = effort.rng.normal(size=(effort.pick(20, 100), d))
    needed = [
        required_proxy(values, t * ray / np.linalg.norm(ray), symmetrised=False)
        for ray in rays
        for t in np.geomspace(1e-3, 30, 30)
    ]
    proxy = RademacherVectors(d).moments.proxy
    yield SUPPORTS.at_most("largest eta^2 asked for, against 2/d", max(needed), printed_proxy(d))
    yield REPAIRED.equal("the same against 1/d", max(needed), 1 / d, 1e-6, "next term, order |v|^2")
    ratio = printed_proxy(d) / (proxy or math.nan)
    yield SLACK.equal("printed over smallest proxy", ratio, 2.0, 1e-12)


@Statement(
    id="C7",
    place="Lemma 3",
    says="|X|_F^2 >= n/2 with probability 3/4 at least, for all d and L; E W^2 <= 2n^2/(Ld).",
    kind=Kind.UPPER_BOUND,
    verdict=Verdict.HIDDEN,
    refuted_by="A probability of 3/4 at d = L = 1 or 2, or below 3/4 at L d = 6.",
    correct="L d >= 32, which the proof assumes (L d > 32 there); by exact count it holds from L d "
    "= 6 on for every n tried, and fails at L d <= 5 for some n. The variance is 2n(n-1)/(Ld).",
    why="Chebyshev's inequality gives 3/4 from L d = 32 on, which only the proof assumes.",
    example="L = d = 1, n without end: |X|_F^2/n is the square of a standard normal, above 1/2 "
    "with probability 0.48.",
    sure=Sure.EXACT,
    where="Appendix C.2, paragraph 12, sentence 1",
)
def lemma_3(effort: Effort) -> Findings:
    """Exact probabilities by convolution; the variance by enumeration."""
    chances = {m: squared_norm_chance(200, m, m) for m in (1, 2, 4)}
    sizes = range(1, effort.pick(12, 40))
    six = min(squared_norm_chance(n, m, d) for m, d in _SIX for n in sizes)
    small = effort.pick(3, 4)
    variances = [enumerated_variance(small, m, d) / exact_variance(small, m, d) for m, d in _SHAPES]
    yield REFUTES.at_most("chance at L = d = 1", chances[1], 0.6)
    yield REFUTES.at_most("chance at L = d = 2", chances[2], CLAIMED_CHANCE - 0.005)
    yield SUPPORTS.at_least("chance at L = d = 4", chances[4], 0.94)
    yield REFUTES.at_most("chance at L = 1, d = 5, n = 9", squared_norm_chance(9, 1, 5), 0.748)
    yield CONDITION.at_least("chance at L d = 6, smallest over n", six, CLAIMED_CHANCE)
    yield CONDITION.at_least("Chebyshev's chance at L d = 32", chebyshev_chance(32), CLAIMED_CHANCE)
    yield CONTROL.equal("E W^2 over 2n(n-1)/(Ld), largest", max(variances), 1.0, 1e-10)
    yield CONTROL.equal("the same, smallest", min(variances), 1.0, 1e-10)
    exact, claimed = exact_variance(5, 2, 3), claimed_variance(5, 2, 3)
    yield SUPPORTS.at_most("E W^2 against 2n^2/(Ld)", exact, claimed)


_SHAPES = ((1, 1), (2, 2), (1, 3), (2, 1))
_SIX = ((1, 6), (2, 3), (3, 2), (6, 1))


def centred_deviation(law: RareOutlier, n: int) -> tuple[float, float]:
    """Return E|mean of x| and E|mean of eps x| exactly, x with two values."""
    rare = np.arange(n + 1)
    chances = binom.pmf(rare, n, law.probability)
    plain = np.abs((n - rare) * law.typical - rare * law.outlier)
    signed = [_signed_mean(n - int(k), int(k), law) for k in rare]
    return float(chances @ plain) / n, float(chances @ signed) / n


def _signed_mean(typical: int, rare: int, law: RareOutlier) -> float:
    a, b = (2 * np.arange(k + 1) - k for k in (typical, rare))
    weights = np.outer(*(binom.pmf(np.arange(k + 1), k, 0.5) for k in (typical, rare)))
    return float((weights * np.abs(law.typical * a[:, None] - law.outlier * b)).sum())


@Statement(
    id="C8",
    place="Claim 8",
    says="On the same distribution the trace minimiser's gap is O(radius/sqrt(nL)) + "
    "O(sqrt(log(1/delta)/n)), which separates it from the Frobenius one.",
    verdict=Verdict.HIDDEN,
    refuted_by="A second term below the Frobenius lower bound, or Bousquet's bound above it.",
    correct="Needs L = O(d) and n >= c L log L, and as stated separates nothing: the second term, "
    "with the range 2 radius of the loss, is above the Frobenius lower bound at every radius. "
    "Bousquet's inequality does separate: R_n + sqrt(2t(r^2 sigma_1 P + 2 r R R_n)/n) + r R "
    "t/(3n), y x being symmetric given the label; risk zero on the ball is not enough for the mean "
    "R_n, else it is 2 R_n.",
    why="The linear loss has range 2 radius on the ball, so that the second term of the trace "
    "bound is as large as the Frobenius lower bound.",
    example="Radius 1, delta = 1/4: the second term is 2 sqrt(log 4/(2n)) = 1.67/sqrt(n), the "
    "Frobenius lower bound 0.71/sqrt(n).",
    sure=Sure.PROVED,
    matters=3,
    where="Appendix C.2, line 2 of the formulas",
)
def claim_8(effort: Effort) -> Findings:
    """McDiarmid's and Bousquet's terms against the Frobenius lower bound; a law not symmetric."""
    n, delta, size = 10**10, 0.25, 1024
    setting = Setting.of(RademacherVectors(size), UniformLabels(size), n)
    risk = RiskSetting.of(LINEAR, setting, delta=delta)
    lower = math.sqrt(0.5 / n)
    average = rademacher_chevet(setting)
    stated = mcdiarmid_gap(setting, risk, average).value - 2 * average.value
    repaired = bousquet_linear_gap(setting, risk, average, symmetric=True)
    narrow = Setting.of(RademacherVectors(1), UniformLabels(size), n)
    one = bousquet_linear_gap(
        narrow, RiskSetting.of(LINEAR, narrow, delta=delta), theorem_3(narrow), symmetric=True
    )
    single = Setting.of(RademacherVectors(1), UniformLabels(1), 400)
    exact = BoundValue("exact", sign_sum_mean(400) / 400)
    plain_gap = bousquet_linear_gap(
        single, RiskSetting.of(LINEAR, single, delta=delta), exact, symmetric=True
    ).value
    V = RademacherVectors(1).signed_sums(np.full(8, 9), effort.rng)
    # E x = 0, so that every Z has risk zero, but x is not symmetric: the mean is not R_n.
    law = RareOutlier(0.01 / 0.99, 1.0, 0.01)
    plain, signed = centred_deviation(law, 20)
    point = RademacherVectors(8).signed_sums(np.eye(8, dtype=int)[0], effort.rng)
    yield REFUTES.at_least("McDiarmid's term over the Frobenius lower bound", stated / lower, 1.0)
    yield CONDITION.at_most("Bousquet's bound over it, d = L = 1024", repaired.value / lower, 0.2)
    yield REFUTES.at_least("Bousquet's bound over it, d = 1", one.value / lower, 1.0)
    yield REPAIRED.at_most("chance of a gap above it, d = L = 1", _tail(plain_gap, 400), delta)
    yield CONTROL.at_least("chance of a gap above 0.4 of it", _tail(0.4 * plain_gap, 400), delta)
    yield REFUTES.equal("trace over Frobenius norm, d = 1", _norm_ratio(V), 1.0, 1e-12)
    yield CONTROL.at_least("E sup over R_n, centred but not symmetric", plain / signed, 1.5)
    yield CONTROL.at_most("and never above two", plain / signed, 2.0)
    yield CONTROL.equal("E x there", law.mean, 0.0, 1e-15)
    yield REFUTES.equal("trace over Frobenius norm, n = 1", _norm_ratio(point), 1.0, 1e-12)


def _tail(gap: float, n: int) -> float:
    """Return the exact chance that |S_n|/n is above `gap`."""
    return float(2 * binom.sf(math.floor(n * (1 + gap) / 2), n, 0.5))


def _norm_ratio(V: Array) -> float:
    return TraceBall(1.0).dual_norm(V) / FrobeniusBall(1.0).dual_norm(V)
