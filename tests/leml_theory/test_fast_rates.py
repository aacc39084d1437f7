"""Fast rates of the squared loss: the offset bound on every sample, and what no method can beat."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.stats import binom

from leml_solver import LOSSES, Ball, FrobeniusBall, TraceBall, minimise
from leml_theory.bounds import (
    RiskSetting,
    Setting,
    minimax_excess,
    offset_excess,
    offset_supremum,
)
from leml_theory.bounds import offset as offset_module
from leml_theory.measurements.minimisers import erm
from leml_theory.rademacher import Estimate
from leml_theory.risk import minimum_risk, population_risk
from simulations import (
    AnisotropicGaussian,
    BernoulliEntries,
    HeavyTailed,
    IsotropicGaussian,
    LinearLabels,
    LogisticLabels,
    NonNegative,
    RademacherVectors,
    RandomSigns,
    RankOne,
    Scenario,
    UniformLabels,
    WeightedLabels,
    low_rank_coefficients,
    zipf,
)

SQUARED = LOSSES["squared"]
LONG, SAMPLE = 2500, 150
# Risks are differences of terms of the size of the risk at zero: relative to it, 1e-9 is rounding.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Case:
    """A world, a ball and a number of points."""

    world: Scenario
    ball: Ball
    n: int


def log_uniform(low, high, rng):
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def random_case(rng) -> Case:
    """Draw laws, labels true or not to the model, any pattern of labels, and either ball."""
    d, n_labels = (int(rng.integers(1, 7)) for _ in range(2))
    laws = (
        IsotropicGaussian(d),
        IsotropicGaussian(d, normalised=False),
        AnisotropicGaussian(tuple(log_uniform(0.1, 10, rng) for _ in range(d))),
        RademacherVectors(d),
        RankOne(d),
        NonNegative(d),
    )
    law = laws[rng.integers(len(laws))]
    Z = rng.normal(size=(d, n_labels)) * log_uniform(0.1, 10, rng)
    labels = [LinearLabels(Z, noise=log_uniform(0.01, 10, rng)), RandomSigns(n_labels)]
    if law.kind == "gaussian":
        labels.append(LogisticLabels(Z))
    patterns = (
        UniformLabels(n_labels, int(rng.integers(1, n_labels + 1))),
        WeightedLabels(zipf(n_labels, rng.uniform(0, 2)), int(rng.integers(1, 4))),
        BernoulliEntries(n_labels, rng.uniform(0.2, 1)),
    )
    world = Scenario(law, labels[rng.integers(len(labels))], patterns[rng.integers(3)])
    kind = (TraceBall, FrobeniusBall)[rng.integers(2)]
    ball = kind(kind(1.0).norm(Z) * log_uniform(0.1, 4, rng))
    return Case(world, ball, round(log_uniform(2, 2000, rng)))


def excess_and_bound(case: Case, rng) -> tuple[float, float, float]:
    """Return the excess risk of one minimiser, its bound on that sample, and the size of risks."""
    sample = case.world.sample(case.n, rng)
    if not sample.values.size:  # Bernoulli entries may all be unseen
        return 0.0, 0.0, 1.0
    problem = sample.problem("squared")
    # A coarse solution, so that the gap of its certificate matters.
    fit = minimise(problem, case.ball, tol=10.0 ** -rng.integers(2, 8))
    gap = max(fit.certificate.gap, 0.0) / (case.n * sample.labels_per_point)
    bound = offset_supremum(case.world, sample, case.ball, gap=gap)
    risk = population_risk(case.world, SQUARED, fit.Z).value
    least = minimum_risk(case.world, SQUARED, case.ball).lower
    return risk - least, bound, population_risk(case.world, SQUARED, 0 * fit.Z).value


def fuzz(seed: int, settings: int, bend: float = 1.0) -> tuple[list, list]:
    """Return the cases in which the bound, times `bend`, is violated, and the ratios."""
    rng = np.random.default_rng(seed)
    violations, ratios = [], []
    for _ in range(settings):
        case = random_case(rng)
        excess, bound, size = excess_and_bound(case, rng)
        ratios.append(bound / max(excess, 1e-12))
        if excess > bend * bound + ROUNDING * size:
            violations.append((case, excess, bound))
    return violations, ratios


def test_no_sample_violates_the_offset_bound():
    violations, ratios = fuzz(0, SAMPLE)
    assert violations == []
    # It is no empty promise: in a good part of the cases it is within a factor of three.
    assert np.mean(np.array(ratios) < 3) > 0.2


@pytest.mark.long
@pytest.mark.parametrize("block", range(5))
def test_no_sample_violates_the_offset_bound_in_many_worlds(block, record_property):
    violations, ratios = fuzz(100 + block, LONG // 5)
    record_property("evaluations", len(ratios))
    record_property("median of bound over excess", float(np.median(ratios)))
    assert violations == []
    assert LONG >= 2000


def test_two_thirds_of_the_offset_bound_is_violated():
    assert len(fuzz(0, SAMPLE, bend=0.66)[0]) >= 5


def gaussian_world(n_labels=4, d=4, seed=0, **options):
    Z = np.random.default_rng(seed).normal(size=(d, n_labels))
    return Scenario(IsotropicGaussian(d), LinearLabels(Z, **options), UniformLabels(n_labels))


def test_the_constant_of_the_offset_bound_tends_to_one():
    """In a ball that does not bind the excess of n points is d L / 2n; so is the bound, n large."""
    world, rng = gaussian_world(), np.random.default_rng(1)
    ball = FrobeniusBall(100.0)
    for n, largest in ((1000, 1.5), (100_000, 1.06)):
        pairs = []
        for _ in range(10):
            sample = world.sample(n, rng)
            Z = minimise(sample.problem("squared"), ball, tol=1e-9).Z
            excess = population_risk(world, SQUARED, Z).value - 0.5
            pairs.append((excess, offset_supremum(world, sample, ball)))
        excess, bound = np.mean(pairs, axis=0)
        assert excess <= bound <= largest * excess


def test_the_supremum_is_attained_by_the_best_point_of_a_search():
    """`_supremum` equals the value of the offset process at its maximiser, found another way."""
    rng = np.random.default_rng(2)
    world, ball, best = gaussian_world(), FrobeniusBall(100.0), gaussian_world().labels.Z
    sample = world.sample(400, rng)
    spectra = offset_module._spectra(world, sample, best)
    theta = spectra.multiplier
    # Without the ball the maximum is noise^2 theta^2 / (2 theta values - 1) / 2 by coordinate.
    free = np.sum((theta * spectra.noise) ** 2 / (2 * theta * spectra.values - 1)) / 2
    assert offset_module._supremum(spectra, ball, best, theta) == pytest.approx(free, rel=1e-4)
    # The process itself, from the entries: excess + theta(<Mhat, H> - |H|_n^2).
    problem = sample.problem("squared")
    for _ in range(20):
        H = rng.normal(size=best.shape) * log_uniform(0.01, 1, rng)
        excess = population_risk(world, SQUARED, best + H).value - 0.5
        h = np.einsum("ed,ed->e", sample.X[sample.rows], H.T[sample.columns])
        linear = -np.sum(problem.gradient(best) * H) / 400
        process = excess + theta * (linear - np.mean(h**2))
        assert process <= free * (1 + 1e-9)


def test_few_points_leave_the_largest_excess_of_the_ball():
    world, ball = gaussian_world(d=6), TraceBall(2.0)
    sample = world.sample(8, np.random.default_rng(3))  # fewer points at a label than features
    best = minimum_risk(world, SQUARED, ball).Z
    rng, worst = np.random.default_rng(4), 0.0
    for _ in range(200):
        u, v = rng.normal(size=6), rng.normal(size=4)
        Z = 2.0 * np.outer(u, v) / np.linalg.norm(u) / np.linalg.norm(v)
        risks = [population_risk(world, SQUARED, A).value for A in (Z, best)]
        worst = max(worst, risks[0] - risks[1])
    assert worst <= offset_supremum(world, sample, ball) < math.inf


def formula_6_or_7(n, d, n_labels, rank, least):
    """Return (6), or (7) with a `rank`, of docs/theory_fast_rates.md, noise 1, radius |Z*| = dL."""
    mean = n / n_labels
    enough = np.arange(round(mean))
    roots = np.sqrt(enough) - math.sqrt(d) - math.sqrt(least * mean)
    rare = binom.cdf(enough - 1, n, 1 / n_labels) + np.exp(-np.square(np.maximum(roots, 0)) / 2)
    rest = n_labels * rare.min() * 2  # half of p/d times (2 radius)^2 is 2
    if not rank:
        return d * n_labels / (2 * least**2 * n) + rest
    log = math.log(n_labels)
    omega = 1 / n_labels + math.sqrt(6 * log / (n * n_labels)) + 2 * log / n
    size = (1 + math.sqrt(d * omega)) ** 2 + omega
    return 4 * rank * n_labels * size / (least**2 * n) + rest


@pytest.mark.parametrize(("ball", "rank"), [(TraceBall, 1), (TraceBall, 0), (FrobeniusBall, 0)])
def test_the_formulas_for_gaussian_features_hold_and_are_not_idle(ball, rank):
    rng, n, size = np.random.default_rng(8), 6000, 4
    excesses = []
    for _ in range(20):
        Z = low_rank_coefficients(size, size, 1, rng)  # of both norms sqrt(d L) = 4
        world = Scenario(IsotropicGaussian(size), LinearLabels(Z), UniformLabels(size))
        fit = minimise(world.sample(n, rng).problem("squared"), ball(4.0), tol=1e-7)
        excesses.append(population_risk(world, SQUARED, fit.Z).value - 0.5)
    mean = Estimate.of(np.array(excesses))
    bound = min(formula_6_or_7(n, size, size, rank, c) for c in np.linspace(0.3, 1, 71))
    assert mean.value - 5 * mean.stderr <= bound
    assert bound <= (40 if rank else 10) * mean.value


def test_what_the_offset_bound_asks():
    risk = RiskSetting("squared", lipschitz=math.inf)
    assert offset_excess(risk, Estimate(1.0, 0.1, 10)).value == pytest.approx(1.3)
    assert offset_excess(risk, Estimate(1.0, 0.1, 10)).valid
    refused = {
        "needs the squared loss, here logistic": (replace(risk, loss="logistic"), 10),
        "needs a radius fixed before the data, here it was chosen from the data": (
            replace(risk, radius_fixed=False),
            10,
        ),
        "needs 10 draws, here 9": (risk, 9),
    }
    for sentence, (setting, draws) in refused.items():
        found = offset_excess(setting, Estimate(1.0, 0.1, draws))
        assert [str(failure) for failure in found.failures] == [sentence]


def test_the_offset_bound_names_the_moments_that_are_missing():
    world = Scenario(RademacherVectors(3), LogisticLabels(np.eye(3)), UniformLabels(3))
    with pytest.raises(
        ValueError, match=r"needs a world whose E xx\^T and E\[y x\] are known, got"
    ):
        offset_supremum(world, world.sample(9, np.random.default_rng(0)), TraceBall(1.0))


@pytest.mark.parametrize("radius", [0.5, 1.0])
def test_measured_excess_lies_between_the_lower_and_the_offset_bound(radius):
    """Samples of the bound are not those that are measured, so chance has its part: 5 s.e."""
    place = {"law": "gaussian", "s": 1, "skew": "uniform", "loss": "squared", "labels": "rank-1"}
    place |= {"n": 400, "d": 6, "L": 4, "radius": radius, "draws": 20}
    rows = erm(place, np.random.default_rng(9))
    for row in (row for row in rows if row["quantity"] == "excess risk"):
        offset = Estimate(row["offset_mean"], row["offset_stderr"], row["offset_draws"])
        bound = offset_excess(RiskSetting("squared", math.inf), offset)
        assert bound.valid
        assert row["value"] - 5 * row["stderr"] <= bound.value <= 6 * row["value"]
        if radius < 1:
            assert "minimax" not in row  # Z* is outside the ball
        else:
            assert row["minimax"] <= row["value"] + 5 * row["stderr"]
    assert not any("offset_mean" in row for row in rows if row["quantity"] != "excess risk")


def test_other_losses_and_unknown_moments_have_no_offset_bound():
    place = {"law": "gaussian", "s": 1, "skew": "uniform", "loss": "logistic", "radius": 1.0}
    place |= {"n": 40, "d": 2, "L": 2, "labels": "logistic", "draws": 2}
    heavy = place | {"law": "heavy-tailed", "loss": "squared", "labels": "logistic"}
    for parameters in (place, heavy):
        rows = erm(parameters, np.random.default_rng(10))
        assert not any({"offset_mean", "minimax"} & set(row) for row in rows)


# What no method can beat -----------------------------------------------------------------------


def bayes_excess(radius, n, draws, rng):
    """Measure half the mean squared error of the posterior mean, d = L = 1, in its cosine prior."""
    grid = np.linspace(-radius, radius, 2001)
    prior = np.cos(math.pi * grid / (2 * radius)) ** 2
    truth = rng.choice(grid, size=draws, p=prior / prior.sum())
    information = rng.chisquare(n, size=draws)
    seen = truth * information + rng.normal(size=draws) * np.sqrt(information)
    log_weights = np.outer(seen, grid) - np.outer(information, grid**2) / 2
    weights = prior * np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    error = (weights @ grid) / weights.sum(axis=1) - truth
    return Estimate.of(error**2 / 2)


@pytest.mark.parametrize(("radius", "n"), [(0.1, 20), (1.0, 20), (5.0, 20), (1.0, 200)])
def test_the_best_method_of_all_is_above_the_lower_bound(radius, n):
    """The posterior mean has the least mean error in its prior, on which the bound is built."""
    setting = Setting.of(IsotropicGaussian(1), UniformLabels(1), n, radius=radius)
    least = minimax_excess(setting, rank=1)
    found = bayes_excess(radius, n, 4000, np.random.default_rng(5))
    assert found.value + 4 * found.stderr >= least
    assert found.value <= 1.5 * least  # E xx^T is not constant, so not quite equal


@pytest.mark.parametrize("ball", ["trace", "frobenius"])
def test_the_cubes_of_the_lower_bound_lie_in_the_ball(ball):
    """The value is that of k rows or columns of independent entries, whose cube the ball holds."""
    rng = np.random.default_rng(6)
    for d, n_labels, rank in ((5, 3, 2), (3, 5, 3), (4, 4, 1)):
        law, radius = IsotropicGaussian(d), 2.0
        setting = Setting.of(law, UniformLabels(n_labels), 50, radius=radius, ball=ball)
        values = []
        for k in range(1, rank + 1):
            shape = (k, n_labels) if d <= n_labels else (d, k)
            power = 2 if ball == "trace" else 1
            half = radius / math.sqrt(k**power * max(d, n_labels))
            corners = half * rng.choice([-1.0, 1.0], size=(200, *shape))
            norms = [np.linalg.norm(Z, "nuc" if ball == "trace" else "fro") for Z in corners]
            assert max(norms) <= radius * (1 + 1e-12)
            information = 50 / (n_labels * d)
            each = 1 / (information + math.pi**2 / half**2)
            values.append(k * max(d, n_labels) * each / (2 * d * n_labels))
        assert minimax_excess(setting, rank) == pytest.approx(max(values), rel=1e-12)


def test_many_points_leave_the_parameters_over_2n():
    """n -> infinity: k max(d, L) free entries of k = rank rows cost 1/(2 n s) each."""
    setting = Setting.of(IsotropicGaussian(6), UniformLabels(4, 2), 10**9, radius=3.0)
    assert minimax_excess(setting, rank=9) == pytest.approx(4 * 6 / (4 * 10**9), rel=1e-4)
    assert minimax_excess(setting, rank=1, noise=2.0) == pytest.approx(4 * 6 / (4e9), rel=1e-4)


@pytest.mark.parametrize(
    ("law", "observation"),
    [
        (RademacherVectors(3), UniformLabels(2)),
        (AnisotropicGaussian((1.0, 2.0)), UniformLabels(2)),
        (IsotropicGaussian(3), WeightedLabels(zipf(2, 1.0))),
        (IsotropicGaussian(3), BernoulliEntries(2, 0.5)),
        (HeavyTailed(3), UniformLabels(2)),
    ],
)
def test_the_lower_bound_refuses_other_worlds(law, observation):
    with pytest.raises(ValueError, match="`setting` must have isotropic Gaussian features and"):
        minimax_excess(Setting.of(law, observation, 100), rank=1)
