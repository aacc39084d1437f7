"""Rademacher averages: the measured ones, and those given the data."""

import math
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import comb

from leml_theory.rademacher import (
    Estimate,
    Observed,
    conditional_rademacher_averages,
    rademacher_average,
    rademacher_averages,
    spectral_norms,
)
from simulations.features import (
    AnisotropicGaussian,
    HeavyTailed,
    IsotropicGaussian,
    NonNegative,
    RademacherVectors,
    RankOne,
    RareOutlier,
)
from simulations.labels import AllOnes
from simulations.observation import UniformLabels, WeightedLabels, zipf
from simulations.scenario import Scenario

LAWS = [
    IsotropicGaussian(5),
    IsotropicGaussian(5, normalised=False),
    AnisotropicGaussian((2.0, 1.0, 0.1)),
    RademacherVectors(5),
    RankOne(5),
    NonNegative(5),
    HeavyTailed(5, 9.0),
    RareOutlier(0.5, 3.0, 0.1),
]


def within(estimate, expected, z=6.0):
    """Return whether the estimate is within z = 6 standard errors (two in 1e9) of a number."""
    return abs(estimate.value - expected) <= z * estimate.stderr + 1e-12 * abs(expected)


@pytest.mark.parametrize("shape", [(3, 1, 1), (4, 7, 3), (4, 3, 7), (2, 60, 50), (2, 50, 200)])
def test_spectral_norms_are_the_largest_singular_values(shape):
    V = np.random.default_rng(0).normal(size=shape)
    expected = np.linalg.svd(V, compute_uv=False)[:, 0]
    np.testing.assert_allclose(spectral_norms(V), expected, rtol=1e-13)


def test_spectral_norm_of_zero_is_zero():
    assert spectral_norms(np.zeros((2, 3, 4))).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_second_moment_of_the_frobenius_norm_is_n_sigma(law):
    """Theorem 3 has Jensen's inequality for its only loss: E|V|_F^2 = n Sigma, for any labels."""
    rng, observation = np.random.default_rng(1), WeightedLabels(zipf(4, 1.0))
    squares = [np.sum(law.signed_sums(observation.counts(37, rng), rng) ** 2) for _ in range(3000)]
    assert within(Estimate.of(np.array(squares)), 37 * law.moments.second_moment)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_n_free_draws_agree_with_points(law):
    rng, observation, n = np.random.default_rng(2), WeightedLabels(zipf(3, 1.0)), 20
    direct = []
    for _ in range(2000):
        signed = law.sample(n, rng) * rng.choice([-1.0, 1.0], size=(n, 1))
        V = np.zeros((law.n_features, 3))
        np.add.at(V.T, rng.choice(3, size=n, p=observation.probabilities), signed)
        direct.append((np.linalg.norm(V, 2) / n, np.linalg.norm(V) / n))
    measured = rademacher_averages(law, observation, n, draws=2000, rng=rng)
    for values, ball in zip(np.array(direct).T, ("trace", "frobenius"), strict=True):
        other = Estimate.of(values)
        error = math.hypot(other.stderr, measured[ball].stderr)
        assert abs(other.value - measured[ball].value) < 6 * error


def test_one_dimension_in_closed_form():
    """d = L = 1: E|sum of n signs| = n C(n-1, floor((n-1)/2)) / 2^(n-1)."""
    n = 11
    exact = comb(n - 1, (n - 1) // 2, exact=True) / 2 ** (n - 1)
    found = rademacher_averages(
        RademacherVectors(1), UniformLabels(1), n, draws=20_000, rng=np.random.default_rng(3)
    )
    assert within(found["trace"], exact)
    assert found["trace"].value == pytest.approx(found["frobenius"].value, rel=1e-12)


def test_one_point_of_norm_one():
    found = rademacher_average(
        RademacherVectors(7), UniformLabels(3), 1, draws=5, rng=np.random.default_rng(4)
    )
    assert found.value == pytest.approx(1.0, rel=1e-12)
    assert found.stderr < 1e-12


def test_rank_one_features_make_the_balls_equal():
    found = rademacher_averages(
        RankOne(6), UniformLabels(9), 500, draws=50, rng=np.random.default_rng(5)
    )
    assert found["trace"].value == pytest.approx(found["frobenius"].value, rel=1e-12)


def test_a_billion_points_cost_no_more():
    """Gaussian V = G diag(sqrt n_l)/sqrt d: R sqrt(n) converges, and n = 1e9 is at its limit."""
    rng = np.random.default_rng(6)
    small, large = (
        rademacher_average(IsotropicGaussian(20), UniformLabels(20), n, draws=600, rng=rng)
        for n in (10**6, 10**9)
    )
    a, b = small.scaled(1e3), large.scaled(10**4.5)
    assert abs(a.value - b.value) < 6 * math.hypot(a.stderr, b.stderr)


def test_draws_are_reproducible_and_scale_with_the_radius():
    law, observation = RademacherVectors(40), UniformLabels(60)
    first, second = (
        rademacher_averages(law, observation, 100, draws=7, rng=np.random.default_rng(8))
        for _ in range(2)
    )
    assert first == second
    assert first["trace"].value < first["frobenius"].value
    for ball in ("trace", "frobenius"):
        scaled = rademacher_average(
            law, observation, 100, ball, radius=3.0, draws=7, rng=np.random.default_rng(8)
        )
        assert scaled == first[ball].scaled(3.0)


def test_batches_do_not_change_the_law(monkeypatch):
    monkeypatch.setattr("leml_theory.rademacher._BATCH", 60)
    found = rademacher_averages(
        RademacherVectors(5), UniformLabels(4), 50, draws=100, rng=np.random.default_rng(9)
    )
    assert found["trace"].draws == 100


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n": 0}, ValueError, "`n` must be at least 1, got 0"),
        ({"draws": 1}, ValueError, "`draws` must be at least 2 for a standard error, got 1"),
        ({"draws": 2.5}, TypeError, "`draws` must be a whole number, got 2.5"),
        ({"rng": 3}, TypeError, "`rng` must be a numpy Generator"),
        ({"ball": "nuclear"}, ValueError, "`ball` must be one of 'trace', 'frobenius'"),
        ({"radius": 0}, ValueError, "`radius` must be positive, got 0"),
    ],
)
def test_bad_input(options, error, message):
    arguments = {"n": 5, "draws": 4, "rng": np.random.default_rng(0), **options}
    with pytest.raises(error, match=message):
        rademacher_average(RankOne(2), UniformLabels(2), **arguments)


# Given the data --------------------------------------------------------------------------------


def small_data():
    """Four points with 2, 1, 0 and 2 observed labels, one of them seen twice."""
    X = np.random.default_rng(10).normal(size=(4, 3))
    rows, columns = np.array([3, 0, 1, 0, 3]), np.array([1, 0, 2, 2, 0])
    return Observed(X, rows, columns, np.array([1.0, 2.0, 1.0, 1.0, 1.0]), 3, 1.5)


def test_conditional_average_agrees_with_enumeration():
    """All signs and all slots, each slot with its probability."""
    data = small_data()
    slots = {
        0: [(0, 2 / 3, 3), (2, 1 / 3, 3)],
        1: [(2, 1.0, 1)],
        3: [(1, 0.5, 2), (0, 0.5, 2)],
    }
    exact = {"trace": 0.0, "frobenius": 0.0}
    for signs in product((-1, 1), repeat=3):
        for choice in product(*slots.values()):
            V, chance = np.zeros((3, 3)), 1 / 8
            for sign, point, (column, share, seen) in zip(signs, slots, choice, strict=True):
                V[:, column] += sign * seen / 1.5 * data.X[point]
                chance *= share
            exact["trace"] += chance * np.linalg.norm(V, 2) / 4
            exact["frobenius"] += chance * np.linalg.norm(V) / 4
    found = conditional_rademacher_averages(data, draws=4000, rng=np.random.default_rng(11))
    assert all(within(found[ball], exact[ball]) for ball in exact)


def test_sparse_and_dense_features_give_the_same():
    data = small_data()
    for signs in ("points", "entries"):
        dense, sparse = (
            conditional_rademacher_averages(
                Observed(X, *(getattr(data, name) for name in list(data.__slots__)[1:])),
                signs=signs,
                draws=30,
                rng=np.random.default_rng(12),
            )
            for X in (data.X, sp.csr_matrix(data.X))
        )
        assert dense["trace"].value == pytest.approx(sparse["trace"].value, rel=1e-12)


@pytest.mark.parametrize("labels_per_point", [1, 3])
def test_mean_over_data_is_the_unconditional_average(labels_per_point):
    rng = np.random.default_rng(13)
    law, observation, n = RademacherVectors(4), UniformLabels(5, labels_per_point), 30
    scenario = Scenario(law, AllOnes(5), observation)
    values = [
        conditional_rademacher_averages(scenario.sample(n, rng), draws=2, rng=rng)["trace"].value
        for _ in range(800)
    ]
    expected = rademacher_average(law, observation, n, draws=20_000, rng=rng)
    found = Estimate.of(np.array(values))
    assert abs(found.value - expected.value) < 6 * math.hypot(found.stderr, expected.stderr)


def test_signs_an_entry_are_not_valid_with_the_plain_constant():
    """Identical labels, s = L = 64: the deviation is above twice the average with such signs.

    With all labels one and the linear loss of normalised risk the supremum of L - Lhat over the
    unit trace ball is |sum_i x_i 1^T|_2 / (n L) = |sum_i x_i| / (n sqrt L).
    """
    rng, d, L, n = np.random.default_rng(14), 64, 64, 512
    scenario = Scenario(RademacherVectors(d), AllOnes(L), UniformLabels(L, L))
    samples = [scenario.sample(n, rng) for _ in range(20)]
    deviation = np.mean([np.linalg.norm(s.X.sum(axis=0)) / (n * math.sqrt(L)) for s in samples])
    entries, points = (
        conditional_rademacher_averages(samples[0], signs=signs, draws=6, rng=rng)["trace"].value
        for signs in ("entries", "points")
    )
    plain = entries / math.sqrt(2 / L) / L
    # d = 64 signs a coordinate sum: the mean is known to a few per cent.
    assert deviation == pytest.approx(0.0055, rel=0.05)
    assert 2 * plain == pytest.approx(0.0028, rel=0.05)
    assert deviation > 1.5 * 2 * plain
    # Maurer's factor sqrt(2/s), and one sign per point, do bound it.
    assert deviation < 2 * entries
    assert deviation < 2 * points


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            {"rows": np.array([0, 9, 1, 0, 3])},
            ValueError,
            r"`rows` must lie in \[0, 4\), got 0 to 9",
        ),
        ({"columns": np.array([0, 1, 2, 0, -1])}, ValueError, r"`columns` must lie in \[0, 3\)"),
        ({"columns": np.ones(5)}, TypeError, "`columns` must be integers, got float64"),
        ({"weights": np.array([1, 0, 1, 1, 1.0])}, ValueError, "`weights` must be positive, got"),
        ({"weights": np.ones(3)}, ValueError, "`rows` must have one index per value"),
        ({"X": np.full((4, 3), np.nan)}, ValueError, "`X` must be finite"),
        ({"X": sp.csr_array(np.full((4, 3), np.inf))}, ValueError, "`X` must be finite"),
        ({"labels_per_point": 0}, ValueError, "`labels_per_point` must be positive"),
    ],
)
def test_bad_data(change, error, message):
    data = small_data()
    fields = {name: getattr(data, name) for name in data.__slots__}
    with pytest.raises(error, match=message):
        conditional_rademacher_averages(
            Observed(**{**fields, **change}), draws=2, rng=np.random.default_rng(0)
        )


def test_unknown_signs_are_refused():
    with pytest.raises(ValueError, match="`signs` must be one of 'points', 'entries', got 'both'"):
        conditional_rademacher_averages(
            small_data(), signs="both", draws=2, rng=np.random.default_rng(0)
        )
