"""From the Rademacher average to risks: formulas, refusals, and frequencies of exceeding."""

import math
from dataclasses import replace

import numpy as np
import pytest

from leml_solver._exact.balls import FrobeniusBall, TraceBall
from leml_solver._exact.minimise import minimise
from leml_solver.losses import LOSSES
from leml_theory.bounds import (
    BoundValue,
    FailedAssumption,
    RiskSetting,
    Setting,
    best_bound,
    bousquet_excess,
    bousquet_linear_gap,
    complexity_bounds,
    data_dependent_gap,
    expectation_bound,
    gaussian_excess,
    gaussian_linear_gap,
    mcdiarmid_excess,
    mcdiarmid_gap,
    monte_carlo,
    paper_literal_excess,
)
from leml_theory.rademacher import (
    Estimate,
    conditional_rademacher_averages,
    rademacher_averages,
    spectral_norms,
)
from leml_theory.risk import cross_moments, minimum_risk, population_risk
from leml_theory.sweep.rates import exceeds, exceeds_too_often, family_z
from simulations.features import (
    AnisotropicGaussian,
    IsotropicGaussian,
    RademacherVectors,
    RareOutlier,
)
from simulations.labels import AllOnes, LogisticLabels, Planted
from simulations.observation import BernoulliEntries, UniformLabels, WeightedLabels, zipf
from simulations.scenario import Scenario

WITH_COMPLEXITY = [
    expectation_bound,
    mcdiarmid_gap,
    mcdiarmid_excess,
    paper_literal_excess,
    bousquet_excess,
    bousquet_linear_gap,
    gaussian_excess,
    data_dependent_gap,
]
BALLS = {"trace": TraceBall, "frobenius": FrobeniusBall}
# Binomial tests in this file, among which the family-wise level is shared.
N_TESTS = 40


def world(law=RademacherVectors, **options):
    return Setting.of(law(16), UniformLabels(8), 400, **options)


RISK = RiskSetting("linear", lipschitz=1.0, loss_range=2.0, delta=0.05)
AVERAGE = BoundValue("average", 0.1)
LUCK = FailedAssumption("needs luck", "none")


def sentences(bound):
    return [str(failure) for failure in bound.failures]


def test_formulas_by_hand():
    setting = Setting.of(RademacherVectors(4), UniformLabels(2, 2), 100, radius=3)
    risk = RiskSetting("linear", lipschitz=2.0, loss_range=5.0, delta=0.01, certificate_gap=0.7)
    t, t2 = math.log(100), math.log(200)
    expected = {
        expectation_bound: 0.4 + 0.7,
        mcdiarmid_gap: 0.4 + 5 * math.sqrt(t / 200),
        mcdiarmid_excess: 0.4 + 5 * math.sqrt(2 * t / 100) + 0.7,
        paper_literal_excess: 1.6 + 10 * math.sqrt(1.5 * t2 / 200) + 0.7,
        # sigma^2 = 4 * 4 * 9 * (1/4) * (1/2) = 18 and b = 4 * 2 * 3 = 24.
        bousquet_excess: 0.4 + math.sqrt(2 * t * (18 + 19.2) / 100) + 24 * t / 300 + 0.7,
        # sigma^2 = 4 * 9 / 8 = 4.5 and b = 12.
        bousquet_linear_gap: 0.4 + math.sqrt(2 * t * (4.5 + 9.6) / 100) + 12 * t / 300,
        data_dependent_gap: 0.4 + 15 * math.sqrt(t2 / 200),
    }
    for bound, value in expected.items():
        found = bound(setting, risk, AVERAGE)
        assert found.valid, found.failures
        assert found.value == pytest.approx(value, rel=1e-13)
    two = mcdiarmid_gap(setting, risk, AVERAGE, two_sided=True)
    assert two.value == pytest.approx(0.4 + 5 * math.sqrt(t2 / 200), rel=1e-13)
    symmetric = bousquet_linear_gap(setting, risk, AVERAGE, symmetric=True)
    value = 0.2 + math.sqrt(2 * t * (4.5 + 2 * 6 * 0.2) / 100) + 6 * t / 300
    assert symmetric.value == pytest.approx(value, rel=1e-13)


def test_gaussian_forms_by_hand():
    setting = Setting.of(IsotropicGaussian(9), UniformLabels(2), 50, radius=2)
    risk = RiskSetting("linear", lipschitz=1.0, delta=0.1)
    cut = 1 + math.sqrt(2 * math.log(1000) / 9)
    t, size = math.log(20), 4
    inside = 0.2 + math.sqrt(2 * t * (size**2 / 18 + 4 * size * cut * 0.2) / 50)
    inside += 2 * size * cut * t / 150
    tail = 4 * (cut + 1 / (9 * (cut - 1))) * 0.1 / 100
    found = gaussian_excess(setting, risk, AVERAGE)
    assert found.value == pytest.approx(inside + tail, rel=1e-13)
    u = math.log(40)
    count = 25 + math.sqrt(50 * u) + u / 3
    linear = (
        2 / 50 * (math.sqrt(50 / 9) + math.sqrt(count) + math.sqrt(2 * count / 9 * math.log(20)))
    )
    assert gaussian_linear_gap(setting, risk, symmetric=True).value == pytest.approx(
        linear, rel=1e-13
    )


def test_truncation_terms_hold_for_the_tail_they_replace():
    """P(|x| > R_delta) <= delta/(2n), and E|x| 1{|x| > R_delta} is below the bound."""
    rng = np.random.default_rng(0)
    for law in (IsotropicGaussian(3), AnisotropicGaussian((1.0, 0.1, 0.1))):
        moments, share = law.moments, 0.01
        excursion = math.sqrt(2 * moments.top_eigenvalue * math.log(1 / share))
        cut = math.sqrt(moments.second_moment) + excursion
        norms = np.linalg.norm(law.sample(400_000, rng), axis=1)
        tail = Estimate.of(norms * (norms > cut))
        assert (norms > cut).mean() <= share
        bound = (cut + moments.top_eigenvalue / excursion) * share
        assert tail.value - 6 * tail.stderr <= bound


@pytest.mark.parametrize("bound", WITH_COMPLEXITY, ids=lambda bound: bound.__name__)
def test_what_every_bound_asks(bound):
    law = IsotropicGaussian if bound is gaussian_excess else RademacherVectors
    assert bound(world(law), RISK, AVERAGE).valid
    cases = {
        "needs a finite Lipschitz constant, here the linear loss has none on the ball and the "
        "support of x and y": (world(law), replace(RISK, lipschitz=math.inf), AVERAGE),
        "needs a radius fixed before the data, here it was chosen from the data": (
            world(law),
            replace(RISK, radius_fixed=False),
            AVERAGE,
        ),
        "chevet needs luck, here none": (world(law), RISK, BoundValue("chevet", 1.0, (LUCK,))),
    }
    for sentence, arguments in cases.items():
        assert sentences(bound(*arguments)) == [sentence]


@pytest.mark.parametrize(
    "bound", [mcdiarmid_gap, mcdiarmid_excess, paper_literal_excess, data_dependent_gap]
)
def test_mcdiarmid_needs_a_bounded_loss(bound):
    found = bound(world(), replace(RISK, loss_range=math.inf), AVERAGE)
    assert sentences(found) == [
        "needs a bounded loss, here the range of the linear loss is infinite"
    ]
    assert found.value == math.inf


def test_bousquet_needs_bounded_features_and_gaussian_forms_gaussian_ones():
    unbounded = "needs |x| <= R almost surely, here |x| is unbounded"
    for bound in (bousquet_excess, bousquet_linear_gap):
        assert sentences(bound(world(IsotropicGaussian), RISK, AVERAGE)) == [unbounded]
    other = "needs centred Gaussian features, here the law is 'rademacher'"
    assert sentences(gaussian_excess(world(), RISK, AVERAGE)) == [other]
    assert sentences(gaussian_linear_gap(world(), RISK, symmetric=True)) == [other]


def test_linear_forms_need_the_linear_loss_and_the_gaussian_one_a_single_label():
    logistic = replace(RISK, loss="logistic")
    needed = "needs the linear loss, here logistic"
    assert sentences(bousquet_linear_gap(world(), logistic, AVERAGE)) == [needed]
    gaussian = world(IsotropicGaussian)
    assert gaussian_linear_gap(gaussian, RISK, symmetric=True).valid
    assert sentences(gaussian_linear_gap(gaussian, logistic, symmetric=True)) == [needed]
    several = Setting.of(IsotropicGaussian(16), UniformLabels(8, 3), 400)
    assert sentences(gaussian_linear_gap(several, RISK, symmetric=True)) == [
        "needs one label per point, here s = 3"
    ]


def test_the_gaussian_linear_gap_assumes_nothing_about_labels_that_it_is_not_told():
    # A setting does not hold the labels: y = sign(x_1) makes y x one-sided, not Gaussian.
    assert sentences(gaussian_linear_gap(world(IsotropicGaussian), RISK)) == [
        "needs y x to be Gaussian given the label, here it is not said to be (`symmetric`)"
    ]


@pytest.mark.parametrize("name", ["squared", "squared_hinge"])
def test_gaussian_features_leave_the_squared_losses_without_a_bound(name):
    setting = world(IsotropicGaussian)
    risk = RiskSetting.of(LOSSES[name], setting)
    assert risk.lipschitz == math.inf
    for bound in WITH_COMPLEXITY:
        found = bound(setting, risk, best_bound(complexity_bounds(setting)))
        assert not found.valid
        assert any("finite Lipschitz constant" in text for text in sentences(found))
    # On a bounded support it has one: |f| + |y| <= 2 + 1, and range 9/2.
    bounded = RiskSetting.of(LOSSES["squared"], world(radius=2.0))
    assert (bounded.lipschitz, bounded.loss_range) == (3.0, 4.5)


def test_logistic_and_gaussian_features():
    """Lipschitz but unbounded: no McDiarmid, but the expectation and the Gaussian form."""
    setting = world(IsotropicGaussian)
    risk = RiskSetting.of(LOSSES["logistic"], setting)
    assert risk.lipschitz == 1.0
    best = best_bound(complexity_bounds(setting))
    valid = {bound.__name__ for bound in WITH_COMPLEXITY if bound(setting, risk, best).valid}
    assert valid == {"expectation_bound", "gaussian_excess"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lipschitz": -1}, "`lipschitz` must not be negative"),
        ({"loss_range": math.nan}, "`loss_range` must be finite"),
        ({"delta": 1.0}, "`delta` must lie strictly between 0 and 1"),
        ({"certificate_gap": -1e-9}, "`certificate_gap` must not be negative"),
    ],
)
def test_bad_risk_settings(change, message):
    with pytest.raises(ValueError, match=message):
        replace(RISK, **change)


def test_random_numbers_of_labels_do_break_the_bound_for_one_number():
    """At rate q only nq points count: it takes the factor sqrt(E k^2)/s = 1/sqrt(q)."""
    rng, n, rate = np.random.default_rng(1), 10_000, 0.01
    scenario = Scenario(RademacherVectors(1), AllOnes(1), BernoulliEntries(1, rate))
    gaps = [abs(scenario.label_sums(n, rng)[0, 0]) / (n * rate) for _ in range(200)]
    setting = Setting.of(scenario.features, scenario.observation, n)
    bound = expectation_bound(setting, RISK, complexity_bounds(setting)["theorem_3"])
    assert bound.valid
    assert bound.value == pytest.approx(2 / math.sqrt(n * rate))
    assert 6 / math.sqrt(n) < np.mean(gaps) <= bound.value


# Frequencies -----------------------------------------------------------------------------------


def dual_norms(stack, ball):
    return spectral_norms(stack) if ball == "trace" else np.linalg.norm(stack, axis=(1, 2))


def too_often(values, bound, delta):
    return exceeds_too_often(int((values > bound).sum()), values.size, delta, n_tests=N_TESTS)


@pytest.mark.parametrize("ball", ["trace", "frobenius"])
@pytest.mark.parametrize(
    "law", [RademacherVectors(8), IsotropicGaussian(8)], ids=["signs", "gauss"]
)
def test_gap_of_the_linear_loss(law, ball):
    """All labels one: the supremum of L - Lhat is radius |V| / n, here known exactly."""
    rng, n, delta, radius = np.random.default_rng(2), 200, 0.1, 2.0
    observation = WeightedLabels(zipf(8, 1.0))
    setting = Setting.of(law, observation, n, radius=radius, ball=ball)
    stack = np.array([law.signed_sums(observation.counts(n, rng), rng) for _ in range(3000)])
    gaps = radius * dual_norms(stack, ball) / n
    measured = rademacher_averages(law, observation, n, draws=3000, rng=rng)[ball]
    average = monte_carlo(measured, radius=radius, z=4)
    risk = RiskSetting.of(LOSSES["linear"], setting, delta=delta)
    bounds = [
        mcdiarmid_gap(setting, risk, average),
        bousquet_linear_gap(setting, risk, average, symmetric=True),
        gaussian_linear_gap(setting, risk, symmetric=True),  # all labels one: y x is x
    ]
    valid = [bound for bound in bounds if bound.valid]
    assert len(valid) == (2 if setting.law == "rademacher" else 1)
    assert not any(too_often(gaps, bound.value, delta) for bound in valid)
    # The mean alone is exceeded about half of the time, and that is seen.
    assert too_often(gaps, average.value, delta)


@pytest.mark.parametrize("ball", ["trace", "frobenius"])
@pytest.mark.parametrize("correlation", [0.05, 0.2])
def test_excess_of_the_linear_loss_in_a_planted_world(ball, correlation):
    rng, n, delta = np.random.default_rng(3), 300, 0.1
    scenario = Scenario(RademacherVectors(8), Planted(8, correlation), UniformLabels(8))
    setting = Setting.of(scenario.features, scenario.observation, n, ball=ball)
    excess = linear_excess(scenario, n, BALLS[ball](1.0), trials=1000, rng=rng)
    measured = rademacher_averages(scenario.features, scenario.observation, n, draws=2000, rng=rng)[
        ball
    ]
    average = monte_carlo(measured, z=4)
    risk = RiskSetting.of(LOSSES["linear"], setting, delta=delta)
    for bound in (mcdiarmid_excess, paper_literal_excess, bousquet_excess):
        found = bound(setting, risk, average)
        assert found.valid
        assert not too_often(excess, found.value, delta)
    mean, expected = Estimate.of(excess), expectation_bound(setting, risk, average)
    assert expected.valid
    assert not exceeds(mean.value, mean.stderr, expected.value, family_z(N_TESTS))
    # The excess is no trifle: it is within a factor of forty of its bound.
    assert mean.value > expected.value / 40


def linear_excess(scenario, n, ball, *, trials, rng):
    """Draw the excess risk of the exact minimiser: radius |M| - <M, Zhat>."""
    M = cross_moments(scenario)
    best = ball.radius * ball.dual_norm(M)
    fits = (ball.linear_minimiser(-scenario.label_sums(n, rng)) for _ in range(trials))
    return np.array([best - np.sum(M * Z) for Z in fits])


def test_excess_of_the_linear_loss_in_a_gaussian_world():
    rng, n, delta = np.random.default_rng(4), 100, 0.1
    labels = LogisticLabels(rng.normal(size=(6, 5)))
    scenario = Scenario(IsotropicGaussian(6), labels, UniformLabels(5))
    setting = Setting.of(scenario.features, scenario.observation, n)
    excess = linear_excess(scenario, n, TraceBall(1.0), trials=500, rng=rng)
    risk = RiskSetting.of(LOSSES["linear"], setting, delta=delta)
    best = best_bound(complexity_bounds(setting))
    found = gaussian_excess(setting, risk, best)
    assert found.valid
    assert not too_often(excess, found.value, delta)
    mean, expected = Estimate.of(excess), expectation_bound(setting, risk, best)
    assert not exceeds(mean.value, mean.stderr, expected.value, family_z(N_TESTS))


@pytest.mark.parametrize("signs", ["points", "entries"])
@pytest.mark.parametrize("labels_per_point", [1, 4])
def test_data_dependent_gap(signs, labels_per_point):
    rng, n, delta = np.random.default_rng(5), 60, 0.1
    scenario = Scenario(RademacherVectors(4), Planted(4, 0.3), UniformLabels(4, labels_per_point))
    setting = Setting.of(scenario.features, scenario.observation, n)
    risk = RiskSetting.of(LOSSES["linear"], setting, delta=delta)
    M, exceeded, bare = cross_moments(scenario), 0, 0
    for _ in range(150):
        sample = scenario.sample(n, rng)
        average = conditional_rademacher_averages(sample, signs=signs, draws=10, rng=rng)["trace"]
        found = data_dependent_gap(setting, risk, monte_carlo(average))
        problem = sample.problem("linear")
        deviation = M + problem.gradient(np.zeros((4, 4))) / (n * labels_per_point)
        gap = np.linalg.norm(deviation, 2)
        exceeded += gap > found.value
        bare += gap > average.value / 3
    assert found.valid
    assert not exceeds_too_often(exceeded, 150, delta, n_tests=N_TESTS)
    assert exceeds_too_often(bare, 150, delta, n_tests=N_TESTS)


def test_rare_outliers_break_the_form_that_takes_the_loss_to_be_bounded_by_one():
    """Theorem 3 does not say that its loss is bounded: one outlier in n turns the minimiser round.

    It comes with probability share, so that a bound for delta = share/4 that holds outside it only
    fails too often.  With the true range of the loss the bounds hold.
    """
    n, share, rng = 400, 0.02, np.random.default_rng(6)
    law = RareOutlier(0.9 / math.sqrt(n * share), math.sqrt(n / share), share / n)
    scenario = Scenario(law, AllOnes(1), UniformLabels(1))
    setting = Setting.of(law, scenario.observation, n)
    excess = linear_excess(scenario, n, TraceBall(1.0), trials=4000, rng=rng)
    risk = RiskSetting.of(LOSSES["linear"], setting, delta=share / 4)
    theorem = complexity_bounds(setting)["theorem_3"]
    for bound in (mcdiarmid_excess, bousquet_excess):
        found = bound(setting, risk, theorem)
        assert found.valid
        assert not too_often(excess, found.value, risk.delta)
    believed = mcdiarmid_excess(setting, replace(risk, loss_range=1.0), theorem)
    assert too_often(excess, believed.value, risk.delta)


@pytest.mark.parametrize("ball", ["trace", "frobenius"])
def test_expectation_bound_for_logistic_minimisers(ball):
    rng, n, radius = np.random.default_rng(7), 60, 3.0
    labels = LogisticLabels(rng.normal(size=(4, 3)))
    scenario = Scenario(IsotropicGaussian(4), labels, UniformLabels(3))
    setting = Setting.of(scenario.features, scenario.observation, n, radius=radius, ball=ball)
    loss, region = LOSSES["logistic"], BALLS[ball](radius)
    lowest = minimum_risk(scenario, loss, region)
    excesses, gaps = [], []
    for _ in range(40):
        sample = scenario.sample(n, rng)
        problem = sample.problem(loss)
        result = minimise(problem, region, tol=1e-6)
        excesses.append(population_risk(scenario, loss, result.Z).value - lowest.upper)
        gaps.append(result.certificate.gap / n)
    risk = RiskSetting.of(loss, setting, certificate_gap=float(np.mean(gaps)))
    bound = expectation_bound(setting, risk, best_bound(complexity_bounds(setting)))
    mean = Estimate.of(np.array(excesses))
    assert bound.valid
    assert mean.value > 0
    assert not exceeds(mean.value, mean.stderr, bound.value, family_z(N_TESTS))
