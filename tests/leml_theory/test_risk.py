"""Population risks against brute force, and brackets around their minima."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from leml_solver._exact.balls import FrobeniusBall, TraceBall
from leml_solver.losses import LOSSES
from leml_theory.rademacher import Estimate
from leml_theory.risk import (
    Bracket,
    cross_moments,
    gaussian_slope,
    gaussian_softplus,
    label_moments,
    minimum_risk,
    population_risk,
    second_moments,
)
from simulations.features import (
    AnisotropicGaussian,
    FeatureLaw,
    HeavyTailed,
    IsotropicGaussian,
    NonNegative,
    RademacherVectors,
    RankOne,
    RareOutlier,
)
from simulations.labels import AllOnes, LinearLabels, LogisticLabels, Planted, RandomSigns
from simulations.observation import UniformLabels, WeightedLabels, zipf
from simulations.scenario import Scenario

D, L = 4, 3
COEFFICIENTS = np.random.default_rng(0).normal(size=(D, L))
SKEWED = WeightedLabels(zipf(L, 1.0))
GAUSSIAN, SIGNS = AnisotropicGaussian((1.0, 0.5, 0.2, 0.1)), RademacherVectors(D)
LINEAR, LOGISTIC = LinearLabels(COEFFICIENTS, 0.7), LogisticLabels(COEFFICIENTS)
PLANTED = Planted(L, 0.6, head=True)

WORLDS = {
    "gaussian-linear": Scenario(GAUSSIAN, LINEAR, SKEWED),
    "gaussian-logistic": Scenario(GAUSSIAN, LOGISTIC, SKEWED),
    "gaussian-ones": Scenario(GAUSSIAN, AllOnes(L), SKEWED),
    "gaussian-signs": Scenario(GAUSSIAN, RandomSigns(L), SKEWED),
    "signs-linear": Scenario(SIGNS, LINEAR, SKEWED),
    "signs-logistic": Scenario(SIGNS, LOGISTIC, SKEWED),
    "signs-planted": Scenario(SIGNS, PLANTED, SKEWED),
    "rank-one-logistic": Scenario(RankOne(D), LOGISTIC, SKEWED),
    "non-negative-ones": Scenario(NonNegative(D), AllOnes(L), SKEWED),
    "non-negative-linear": Scenario(NonNegative(D), LINEAR, SKEWED),
    "heavy-linear": Scenario(HeavyTailed(D, 9.0), LINEAR, SKEWED),
    "outlier-ones": Scenario(RareOutlier(0.5, 2.0, 0.2), AllOnes(L), SKEWED),
}
EXACT = [(world, loss) for world in WORLDS for loss in ("linear", "squared")] + [
    ("gaussian-logistic", "logistic"),
    ("gaussian-ones", "logistic"),
    ("gaussian-signs", "logistic"),
    ("signs-logistic", "logistic"),
    ("signs-planted", "logistic"),
    ("signs-planted", "squared_hinge"),
    ("signs-planted", "absolute"),
    ("rank-one-logistic", "hinge"),
    ("outlier-ones", "logistic"),
]


def random_coefficients(scenario, rng):
    return rng.normal(size=(scenario.features.n_features, L))


def brute_force(scenario, loss, Z, rng, n=40_000):
    """Average the loss over points with one observed label, drawn as a learner would see them."""
    sample = scenario.sample(n, rng)
    predictions = np.sum(sample.X[sample.rows] * Z.T[sample.columns], axis=1)
    return Estimate.of(loss.value(loss.encode(sample.values), predictions))


@pytest.mark.parametrize(("world", "name"), EXACT)
def test_exact_risks_agree_with_brute_force(world, name):
    rng, scenario, loss = np.random.default_rng(1), WORLDS[world], LOSSES[name]
    for _ in range(2):
        Z = random_coefficients(scenario, rng)
        found = population_risk(scenario, loss, Z)
        assert found.stderr == 0
        measured = brute_force(scenario, loss, Z, rng)
        # Six standard errors: a false alarm once in 1e9 comparisons.
        assert abs(found.value - measured.value) < 6 * measured.stderr


def test_methods():
    Z = np.zeros((D, L))
    methods = {
        ("gaussian-linear", "squared"): "closed form",
        ("gaussian-logistic", "logistic"): "quadrature",
        ("signs-planted", "logistic"): "enumeration",
    }
    for (world, name), method in methods.items():
        assert population_risk(WORLDS[world], LOSSES[name], Z).method == method
    sampled = population_risk(
        WORLDS["gaussian-logistic"],
        LOSSES["hinge"],
        Z,
        draws=500,
        rng=np.random.default_rng(2),
    )
    # The hinge loss of predicting zero is one, whatever the label.
    assert (sampled.value, sampled.stderr) == (1.0, 0.0)
    assert sampled.method == "Monte Carlo, 500 draws"


def test_enumeration_agrees_with_closed_form():
    """Two routes to one number: enumerate the planted world, or use its moments."""
    rng, scenario = np.random.default_rng(3), WORLDS["signs-planted"]
    points, chances = SIGNS.support.points, SIGNS.support.probabilities
    assert chances.sum() == pytest.approx(1)
    np.testing.assert_allclose(points.T * chances @ points, second_moments(SIGNS), atol=1e-15)
    Z = random_coefficients(scenario, rng)
    by_hand = 0.0
    for x, chance in zip(points, chances, strict=True):
        for label, p in enumerate(SKEWED.probabilities):
            agree = PLANTED.agreement[label] if x[0] > 0 else 1 - PLANTED.agreement[label]
            f = x @ Z[:, label]
            by_hand += chance * p * (agree * (1 - f) ** 2 + (1 - agree) * (1 + f) ** 2) / 2
    assert population_risk(scenario, LOSSES["squared"], Z).value == pytest.approx(by_hand)


@pytest.mark.parametrize("scale", [0.0, 1e-3, 0.3, 1.0, 7.0, 50.0, 1000.0])
def test_quadrature(scale):
    def density(g):
        return math.exp(-g * g / 2) / math.sqrt(2 * math.pi)

    def slope(g):
        return 0.25 / math.cosh(min(scale * g / 2, 300)) ** 2

    # Breaks at the width of the kink; scipy promises 1e-12 on each piece.
    edges = sorted({0.0, min(1.0, 1 / max(scale, 1e-9)), min(12.0, 40 / max(scale, 1e-9)), 12.0})
    softplus = sum(
        quad(lambda g: (scale * g + 2 * math.log1p(math.exp(-scale * g))) * density(g), a, b)[0]
        for a, b in pairwise(edges)
    )
    slopes = sum(quad(lambda g: 2 * slope(g) * density(g), a, b)[0] for a, b in pairwise(edges))
    scales = np.array([scale])
    assert gaussian_softplus(scales)[0] == pytest.approx(softplus, rel=1e-8)
    assert gaussian_slope(scales)[0] == pytest.approx(slopes, rel=1e-7)
    if scale == 0:
        assert gaussian_softplus(scales)[0] == pytest.approx(math.log(2), rel=1e-14)
        assert gaussian_slope(scales)[0] == pytest.approx(0.25, rel=1e-14)


@pytest.mark.parametrize("world", WORLDS)
def test_moments_agree_with_samples(world):
    rng, scenario, n = np.random.default_rng(4), WORLDS[world], 40_000
    X = scenario.features.sample(n, rng)
    rows = np.repeat(np.arange(n), L)
    columns = np.tile(np.arange(L), n)
    Y = scenario.labels.draw(X, rows, columns, rng).reshape(n, L)
    # An average of n products is within 6 of its own standard errors, entry by entry.
    pairs = [(np.einsum("id,ie->ide", X, X), second_moments(scenario.features))]
    M, squares = cross_moments(scenario), label_moments(scenario)
    if M is not None:
        pairs.append((np.einsum("id,il->idl", X, Y), M / scenario.observation.probabilities))
    if squares is not None:
        pairs.append((Y**2, squares))
    for draws, exact in pairs:
        error = draws.std(axis=0) / math.sqrt(n)
        assert (np.abs(draws.mean(axis=0) - exact) <= 6 * error + 1e-12).all()


# Minima ----------------------------------------------------------------------------------------

BRACKETED = [
    ("gaussian-linear", "squared"),
    ("signs-linear", "squared"),
    ("non-negative-linear", "squared"),
    ("rank-one-logistic", "logistic"),
    ("gaussian-logistic", "squared"),
    ("gaussian-logistic", "logistic"),
    ("gaussian-logistic", "linear"),
    ("gaussian-ones", "logistic"),
    ("signs-logistic", "logistic"),
    ("signs-planted", "linear"),
    ("signs-planted", "squared_hinge"),
    ("outlier-ones", "squared"),
]


@pytest.mark.parametrize("region", [TraceBall, FrobeniusBall])
@pytest.mark.parametrize("radius", [0.3, 1.5, 50.0])
@pytest.mark.parametrize(("world", "name"), BRACKETED)
def test_brackets(world, name, radius, region):
    rng, scenario, loss, ball = (
        np.random.default_rng(5),
        WORLDS[world],
        LOSSES[name],
        region(radius),
    )
    bracket = minimum_risk(scenario, loss, ball)
    assert isinstance(bracket, Bracket)
    scale = population_risk(scenario, loss, np.zeros_like(bracket.Z)).value
    # Asked for 1e-9 of the risk at zero; the solver may stop at its rounding limit before.
    assert -1e-12 <= bracket.width <= 1e-7 * max(abs(scale), abs(bracket.upper))
    assert ball.norm(bracket.Z) <= radius * (1 + 1e-9)
    assert population_risk(scenario, loss, bracket.Z).value == pytest.approx(
        bracket.upper, rel=1e-9, abs=1e-12
    )
    for size in (0.01, 0.3, 3.0):
        for _ in range(15):
            step = size * rng.normal(size=bracket.Z.shape)
            other = ball.project(bracket.Z + step)
            value = population_risk(scenario, loss, other).value
            assert value >= bracket.lower - 1e-12 * max(1.0, abs(value))


@pytest.mark.parametrize("region", [TraceBall, FrobeniusBall])
def test_well_specified_minima(region):
    for world, name in (("gaussian-linear", "squared"), ("gaussian-logistic", "logistic")):
        scenario = WORLDS[world]
        ball = region(region(1.0).norm(COEFFICIENTS))
        bracket = minimum_risk(scenario, LOSSES[name], ball)
        np.testing.assert_allclose(bracket.Z, COEFFICIENTS, rtol=1e-6)
        truth = population_risk(scenario, LOSSES[name], COEFFICIENTS).value
        assert bracket.lower == pytest.approx(truth, rel=1e-9)
    noise = minimum_risk(WORLDS["gaussian-linear"], LOSSES["squared"], region(1e3))
    assert noise.upper == pytest.approx(0.7**2 / 2, rel=1e-12)


def test_linear_minimum_in_closed_form():
    """Planted: M = rho e_1 p^T / sqrt(d) on the head label only, so both dual norms agree."""
    expected = -2.0 * 0.6 * SKEWED.probabilities[0] / math.sqrt(D)
    for ball in (TraceBall(2.0), FrobeniusBall(2.0)):
        bracket = minimum_risk(WORLDS["signs-planted"], LOSSES["linear"], ball)
        assert bracket.lower == bracket.upper == pytest.approx(expected, rel=1e-14)


def test_isotropic_squared_minimum_is_a_projection():
    """Two routes: the projection, and the certified quadratic problem of a tiny anisotropy."""
    ball, tiny = TraceBall(1.0), tuple(np.full(D, 0.25) * (1 + 1e-9 * np.arange(D)))
    exact, solved = (
        minimum_risk(Scenario(law, LINEAR, UniformLabels(L)), LOSSES["squared"], ball)
        for law in (IsotropicGaussian(D), AnisotropicGaussian(tiny))
    )
    assert exact.method == "projection"
    assert solved.method == "certified quadratic problem"
    assert solved.upper == pytest.approx(exact.upper, rel=1e-7)
    np.testing.assert_allclose(exact.Z, ball.project(COEFFICIENTS))


@pytest.mark.parametrize("name", ["hinge", "absolute"])
def test_losses_with_a_kink_are_bracketed_by_enumeration(name):
    scenario = WORLDS["signs-planted"]
    bracket = minimum_risk(scenario, LOSSES[name], TraceBall(1.0), tol=1e-6)
    # An interior-point solver of cvxpy: its certificate is ours, its accuracy its own.
    assert 0 <= bracket.width + 1e-12 <= 1e-5
    assert bracket.upper < population_risk(scenario, LOSSES[name], np.zeros((D, L))).value


# Refusals --------------------------------------------------------------------------------------


def test_no_minimum_of_a_noisy_estimate():
    for world, name in (("gaussian-logistic", "hinge"), ("heavy-linear", "absolute")):
        with pytest.raises(ValueError, match="noisy estimate is no substitute; take Gaussian"):
            minimum_risk(WORLDS[world], LOSSES[name], TraceBall(1.0))


def test_monte_carlo_needs_a_generator():
    with pytest.raises(ValueError, match="`rng` must be given: the hinge risk of this world"):
        population_risk(WORLDS["gaussian-logistic"], LOSSES["hinge"], np.zeros((D, L)))


def test_wrong_shape_and_real_labels_with_a_binary_loss():
    with pytest.raises(ValueError, match=r"`Z` must have shape \(d, L\) = \(4, 3\), got \(3, 4\)"):
        population_risk(WORLDS["gaussian-linear"], LOSSES["squared"], np.zeros((3, 4)))
    with pytest.raises(ValueError, match="logistic loss needs labels of two values, got Linear"):
        population_risk(WORLDS["gaussian-linear"], LOSSES["logistic"], np.zeros((D, L)))
    with pytest.raises(ValueError, match="`tol` must be positive"):
        minimum_risk(WORLDS["gaussian-linear"], LOSSES["squared"], TraceBall(1.0), tol=0)


def test_an_unknown_law_is_not_taken_for_an_isotropic_one():
    class Unknown(FeatureLaw):
        n_features = 2
        moments = AnisotropicGaussian((1.0, 0.5)).moments

        def sample(self, n, rng):
            return AnisotropicGaussian((1.0, 0.5)).sample(n, rng)

    with pytest.raises(ValueError, match="E xx\\^T of Unknown is not known"):
        second_moments(Unknown())


def test_logistic_cross_moments_are_those_of_samples():
    """E[y x] of logistic labels, through the risk of the linear loss, against plain averages."""
    rng = np.random.default_rng(31)
    d, n_labels, n = 3, 2, 400_000
    Z_true, Z = rng.normal(size=(d, n_labels)) * 2, rng.normal(size=(d, n_labels))
    world = Scenario(IsotropicGaussian(d), LogisticLabels(Z_true), UniformLabels(n_labels))
    sample = world.sample(n, rng)
    scores = (sample.X @ Z)[sample.rows, sample.columns]
    losses = -sample.values * scores
    error = losses.std(ddof=1) / math.sqrt(n)
    found = population_risk(world, LOSSES["linear"], Z)
    assert found.stderr == 0
    assert abs(losses.mean() - found.value) <= 4 * error


def test_scores_too_large_for_the_quadrature_are_refused():
    """Beyond 1e4 the nodes resolve nothing: a risk of 3735 once was called exact."""
    world = Scenario(IsotropicGaussian(1), LogisticLabels(np.ones((1, 1))), UniformLabels(1))
    with pytest.raises(ValueError, match="scale Z"):
        population_risk(world, LOSSES["logistic"], np.array([[1e6]]))


def test_the_lower_end_of_a_bracket_is_below_a_finer_minimum():
    """Frank-Wolfe's gap must be taken off: a coarse bracket still holds a fine minimum."""
    rng = np.random.default_rng(32)
    world = Scenario(
        IsotropicGaussian(4), LogisticLabels(3 * rng.normal(size=(4, 3))), UniformLabels(3)
    )
    for ball in (TraceBall(2.0), FrobeniusBall(2.0)):
        coarse = minimum_risk(world, LOSSES["logistic"], ball, tol=1e-2)
        fine = minimum_risk(world, LOSSES["logistic"], ball, tol=1e-9)
        assert coarse.lower <= fine.upper
        assert fine.upper <= coarse.upper
        assert coarse.width > 10 * fine.width
