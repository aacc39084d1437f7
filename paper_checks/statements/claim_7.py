"""Checks of Claim 7 and Lemma 2."""

import math

import numpy as np
from scipy.stats import chi2

from leml_solver import LOSSES, FrobeniusBall, TraceBall, minimise
from leml_theory import predictions as sharp
from leml_theory.arrays import Array
from leml_theory.rademacher import rademacher_averages
from leml_theory.risk import minimum_risk, population_risk
from paper_checks.checking import Effort, Findings, Kind, Statement, Sure, Verdict
from paper_checks.checking.fact import CONDITION, CONTROL, MEANT, REFUTES, REPAIRED, SUPPORTS
from paper_checks.printed import QUOTED
from paper_checks.worlds.exact_tails import squared_norm_chance
from paper_checks.worlds.small import signed_sums
from simulations import AllOnes, RademacherVectors, RankOne, Scenario, UniformLabels

LINEAR = LOSSES["linear"]
CLAIMED_CHANCE = QUOTED["chance"].numbers[0]


@Statement(
    id="C1",
    place="Claim 7",
    says="For some distribution and loss the trace minimiser's population risk exceeds its "
    "training loss by a constant times radius/sqrt(n), with constant probability.",
    kind=Kind.RATE,
    refuted_by="A gap other than |v|/n, or one that falls faster than 1/sqrt(n).",
)
def claim_7(effort: Effort) -> Findings:
    """Rank-one x, labels one, linear loss: the solver's minimiser, mean gap and its exact tail."""
    n, size = 4096, 64
    law, seen = RankOne(3), UniformLabels(size)
    world = Scenario(law, AllOnes(size), seen)
    problem = world.sample(n, effort.rng).problem("linear")
    ball = TraceBall(1.0)
    Z = minimise(problem, ball).Z
    risk = population_risk(world, LINEAR, Z).value
    v = law.direction @ problem.gradient(np.zeros((3, size)))
    gap = risk - problem.risk(Z)
    draws = effort.pick(300, 3000)
    average = rademacher_averages(law, seen, n, draws=draws, rng=effort.rng)["trace"]
    predicted = sharp.frobenius_norm(1.0, 1 / size, n) / n
    chance = squared_norm_chance(100, size)
    length = float(np.linalg.norm(v)) / n
    yield SUPPORTS.equal("gap of the solver's minimiser against |v|/n", gap, length, 1e-9)
    excess = risk - minimum_risk(world, LINEAR, ball).lower
    yield CONTROL.equal("its excess risk", excess, 0.0, 1e-12)
    yield SUPPORTS.mean_above("expected gap, times sqrt(n)", average.scaled(math.sqrt(n)), 0.9)
    yield CONTROL.mean_equal("expected gap", average, predicted, slack=1e-5)
    yield SUPPORTS.at_least("chance of a gap above sqrt(1/(2n)), n = 100", chance, CLAIMED_CHANCE)
    yield "A lower bound on the generalisation gap; the excess risk is zero there."


def printed_minimiser(mu: Array, v: Array) -> Array:
    """Return -mu v^T/|v|, as printed for radius one."""
    return -np.outer(mu, v) / float(np.linalg.norm(v))


@Statement(
    id="C2",
    place="Claim 7",
    says="The minimiser is -mu v^T/|v|.",
    kind=Kind.EQUALITY,
    refuted_by="Another minimiser at radius one.",
)
def closed_form_of_the_minimiser(effort: Effort) -> Findings:
    """Against the ball's linear minimiser, at radius 1 and 3."""
    law = RankOne(4)
    v = law.direction @ law.signed_sums(UniformLabels(6).counts(50, effort.rng), effort.rng)
    G = np.outer(law.direction, v)
    printed = printed_minimiser(law.direction, v)
    unit, triple = (TraceBall(r).linear_minimiser(G) for r in (1.0, 3.0))
    far, value = np.linalg.norm(triple - printed), -FrobeniusBall(1).dual_norm(G)
    yield SUPPORTS.equal("distance at radius 1", np.abs(unit - printed).max(), 0.0, 1e-12)
    apart = np.abs(triple - 3 * printed).max()
    yield SUPPORTS.equal("distance at radius 3, times 3", apart, 0, 1e-11)
    yield CONTROL.different("distance at radius 3, as printed", far, 0.0, 1.0)
    yield SUPPORTS.equal("value in the Frobenius ball", value, np.sum(G * printed), 1e-10)


def claimed_variance(n: int, n_labels: int, n_features: int = 1) -> float:
    """Return the paper's bound on E W^2."""
    return 2 * n**2 / (n_labels * n_features)


def exact_variance(n: int, n_labels: int, n_features: int = 1) -> float:
    """Return E W^2 exactly."""
    return 2 * n * (n - 1) / (n_labels * n_features)


def enumerated_variance(n: int, n_labels: int, n_features: int) -> float:
    """Return E (|V|_F^2 - n)^2 over all signs, points and labels."""
    V, chances, _ = signed_sums(RademacherVectors(n_features), UniformLabels(n_labels), n)
    return float(chances @ (np.square(V).sum(axis=(1, 2)) - n) ** 2)


@Statement(
    id="C3",
    place="Lemma 2",
    says="E W^2 <= 2 n^2/L.",
    kind=Kind.UPPER_BOUND,
    refuted_by="A second moment other than 2n(n-1)/L.",
)
def variance_in_lemma_2(effort: Effort) -> Findings:
    """All signs and labels listed: 2n(n-1)/L exactly."""
    n = effort.pick(4, 5)
    for m in (1, 2, 3):
        found, exact = enumerated_variance(n, m, 1), exact_variance(n, m)
        yield SUPPORTS.equal(f"E W^2, L = {m}", found, exact, 1e-10)
    yield SUPPORTS.at_most("E W^2 against 2n^2/L, L = 3", exact, claimed_variance(n, 3))


@Statement(
    id="C3.1",
    place="Lemma 2",
    says="The calculation estimates the variance of Z.",
    verdict=Verdict.MISPRINT,
    refuted_by="A minimiser Z with the variance of W.",
    correct="The variance of W.",
    why="The display computes E W^2; Z is the name of the predictor.",
    example="n = 1: W = 0 has variance 0, Z = -+mu e_l^T has variance 1.",
    sure=Sure.PROVED,
    where="Appendix C.1, paragraph 13, sentence 3",
)
def name_of_the_variance(effort: Effort) -> Findings:
    """The variances of both over all signs and labels."""
    n, n_labels = effort.pick(3, 5), 2
    V, chances, _ = signed_sums(RademacherVectors(1), UniformLabels(n_labels), n)
    Z = np.array([TraceBall(1.0).linear_minimiser(each) for each in V])
    # A sample whose signs cancel leaves any Z a minimiser; it has no direction to vary.
    Z[np.linalg.norm(V, axis=(1, 2)) == 0] = 0
    mean = np.tensordot(chances, Z, axes=1)
    spread = float(chances @ np.square(Z - mean).sum(axis=(1, 2)))
    yield REFUTES.different("variance of Z against E W^2", spread, exact_variance(n, n_labels), 1.0)
    found, exact = enumerated_variance(n, n_labels, 1), exact_variance(n, n_labels)
    yield MEANT.equal("variance of W", found, exact, 1e-10)


def chebyshev_chance(n_labels: float) -> float:
    """Return 1 - E W^2/(n/2)^2 with E W^2 = 2 n^2/L."""
    return 1 - 8 / n_labels


def cantelli_chance(n_labels: float) -> float:
    """Return the one-sided form, 1 - v/(v + (n/2)^2)."""
    return 1 - (2 / n_labels) / (2 / n_labels + 1 / 4)


@Statement(
    id="C4",
    place="Lemma 2",
    says="|v|^2 >= n/2 with probability 3/4 at least; the lemma names no condition on L.",
    kind=Kind.UPPER_BOUND,
    verdict=Verdict.HIDDEN,
    refuted_by="A probability of 3/4 at L = 4, or below 3/4 at L = 6.",
    correct="L >= 32, which the proof assumes (L > 32 there), or 24 by Cantelli's inequality. By "
    "exact count it holds from L = 6 on for every n tried and fails at L = 5, n = 7 (0.723) and, "
    "for n large, at L <= 4.",
    why="Chebyshev's inequality gives 3/4 from L = 32 on, which only the proof assumes.",
    example="L = 1, n without end: |v|^2/n is the square of a standard normal, above 1/2 with "
    "probability 0.48.",
    sure=Sure.EXACT,
    where="Appendix C.1, paragraph 11, sentence 1",
)
def lemma_2(effort: Effort) -> Findings:
    """Exact probabilities, by convolution over labels, in place of simulation."""
    sizes = range(1, effort.pick(16, 41))
    at_200 = [squared_norm_chance(200, m) for m in (1, 2, 3, 4, 5)]
    enough = (6,) if effort.quick else (6, 7, 8, 12, 24)
    worst = {m: min(squared_norm_chance(n, m) for n in sizes) for m in (5, *enough)}
    yield REFUTES.at_most("chance at L = 4, n = 200", at_200[3], CLAIMED_CHANCE - 0.005)
    yield REFUTES.at_most("chance at L = 1, n = 200", at_200[0], 0.53)
    yield SUPPORTS.at_least("chance at L = 5, n = 200", at_200[4], CLAIMED_CHANCE)
    seven = squared_norm_chance(7, 5)
    yield REFUTES.at_most("chance at L = 5, n = 7", seven, CLAIMED_CHANCE - 0.02)
    least = min(worst[m] for m in enough)
    yield CONDITION.at_least("smallest chance over n, L >= 6", least, CLAIMED_CHANCE)
    yield REFUTES.at_most("chance at L = 5, smallest over n", worst[5], CLAIMED_CHANCE)
    yield CONDITION.equal("Chebyshev at L = 32", chebyshev_chance(32), CLAIMED_CHANCE, 1e-12)
    yield REPAIRED.equal("Cantelli at L = 24", cantelli_chance(24), CLAIMED_CHANCE, 1e-12)
    # Without end n: |v|^2/n is chi square over L.
    yield REFUTES.at_most("chance at L = 4, n without end", chi2.sf(2, 4), CLAIMED_CHANCE - 0.01)


@Statement(
    id="C9",
    place="Appendix C",
    says="For each of Theorems 3 and 4 there is a distribution whose deviation is as large as "
    "predicted, up to a constant.",
    kind=Kind.RATE,
    refuted_by="An average times sqrt(n), or for isotropic features sqrt(nL), that vanishes.",
)
def tightness_of_both_theorems(effort: Effort) -> Findings:
    """Rademacher averages of rank-one features, and of isotropic ones with d = L = 16 and 64."""
    n, draws = 10**6, effort.pick(100, 600)
    rank_one, small, large = (
        rademacher_averages(law, UniformLabels(size), n, draws=draws, rng=effort.rng)["trace"]
        for law, size in (
            (RankOne(4), 64),
            (RademacherVectors(16), 16),
            (RademacherVectors(64), 64),
        )
    )
    lower = sharp.chi_mean(64)  # |V| is at least the norm of one column, n/L points on average
    yield SUPPORTS.mean_above("rank one, times sqrt(n)", rank_one.scaled(math.sqrt(n)), 0.85)
    scaled = large.scaled(8e3)
    yield SUPPORTS.mean_above("isotropic, d = L = 64, times sqrt(nL)", scaled, 1.5 * lower)
    yield SUPPORTS.mean_below("isotropic, d = L = 64, times sqrt(nL)", large.scaled(8e3), 2.1)
    yield SUPPORTS.mean_above("isotropic, d = L = 16, times sqrt(nL)", small.scaled(4e3), 1.5)
    yield SUPPORTS.mean_below("isotropic, d = L = 16, times sqrt(nL)", small.scaled(4e3), 2.1)
    yield (
        "The appendix gives no lower bound for Theorem 4, C.2 being about the Frobenius "
        "ball; the rate is attained all the same, the constant c3 sqrt(2) = 129 is 67 times too "
        "large."
    )
