"""Contracts that every feature law keeps: moments against samples, sums against points."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulations import (
    AnisotropicGaussian,
    FeatureLaw,
    HeavyTailed,
    IsotropicGaussian,
    NonNegative,
    RademacherVectors,
    RankOne,
    RareOutlier,
)

LAWS = {
    "gaussian": IsotropicGaussian(5),
    "raw gaussian": IsotropicGaussian(5, normalised=False),
    "anisotropic": AnisotropicGaussian((1.0, 0.5, 0.1)),
    "rademacher": RademacherVectors(5),
    "rank one": RankOne(4),
    "non-negative": NonNegative(5),
    # five degrees of freedom: the sample covariance then has a standard error
    "heavy-tailed": HeavyTailed(5, degrees=5.0),
    "rare outlier": RareOutlier(0.5, 2.0, 0.1),
}
N_FREE = ["gaussian", "raw gaussian", "anisotropic", "rademacher", "rank one", "rare outlier"]
Z = 5.0  # about 60 comparisons: five standard errors cry wolf once in 30,000 runs


@pytest.fixture(params=LAWS)
def law(request):
    return LAWS[request.param]


def agrees(values, expected):
    """Compare a mean with its expectation by its own standard error."""
    error = values.std(ddof=1) / math.sqrt(values.size)
    return bool(abs(values.mean() - expected) <= Z * error + 1e-12)


def test_second_moment_is_exact(law):
    X = law.sample(40_000, np.random.default_rng(1))
    assert X.shape == (40_000, law.n_features)
    assert agrees(np.square(X).sum(axis=1), law.moments.second_moment)


def test_top_eigenvalue_is_exact(law):
    X = law.sample(40_000, np.random.default_rng(2))
    top = np.linalg.eigh(X.T @ X)[1][:, -1]
    fresh = law.sample(40_000, np.random.default_rng(3)) @ top
    squares = np.square(fresh)
    # The direction comes from other draws; being off by 1/sqrt(40,000) costs a share of 1/40,000.
    error = squares.std(ddof=1) / math.sqrt(squares.size)
    slack = law.moments.top_eigenvalue * 1e-3
    assert abs(squares.mean() - law.moments.top_eigenvalue) <= Z * error + slack


def test_centred_says_whether_the_mean_is_zero(law):
    X = law.sample(40_000, np.random.default_rng(4))
    errors = X.std(axis=0, ddof=1) / math.sqrt(len(X))
    assert bool((np.abs(X.mean(axis=0)) <= Z * errors + 1e-12).all()) is law.moments.centred


def test_radius_bounds_every_point(law):
    X = law.sample(20_000, np.random.default_rng(5))
    assert np.linalg.norm(X, axis=1).max() <= law.moments.radius * (1 + 1e-12)


@pytest.mark.parametrize("name", [name for name, law in LAWS.items() if law.moments.proxy])
def test_proxy_bounds_the_symmetrised_moment_generating_function(name):
    law = LAWS[name]
    rng = np.random.default_rng(6)
    X = law.sample(200_000, rng)
    for direction in (np.ones(law.n_features), np.eye(law.n_features)[0]):
        unit = direction / np.linalg.norm(direction)
        for t in (0.3, 1.0, 2.0):
            values = np.cosh(t * (X @ unit) / math.sqrt(law.moments.proxy))
            error = values.std(ddof=1) / math.sqrt(values.size)
            assert values.mean() - Z * error <= math.exp(t**2 / 2)


def test_proxy_is_at_least_the_variance(law):
    if law.moments.proxy is not None:
        assert law.moments.proxy >= law.moments.top_eigenvalue * (1 - 1e-12)


def test_heavy_tails_have_no_proxy_and_no_radius():
    assert HeavyTailed(3).moments.proxy is None
    assert math.isinf(HeavyTailed(3).moments.radius)


def test_symmetric_says_whether_odd_moments_vanish(law):
    x = law.sample(200_000, np.random.default_rng(7)) @ np.ones(law.n_features)
    skewed = np.tanh(x / math.sqrt(law.moments.second_moment))
    assert agrees(skewed, 0.0) is law.symmetric


def test_signed_sums_have_the_second_moment_of_independent_points(law):
    counts = np.array([0, 1, 40])
    rng = np.random.default_rng(8)
    V = np.array([law.signed_sums(counts, rng) for _ in range(4000)])
    assert V.shape[1:] == (law.n_features, 3)
    assert not V[:, :, 0].any()
    for column, count in ((1, 1), (2, 40)):
        squares = np.square(V[:, :, column]).sum(axis=1)
        assert agrees(squares, count * law.moments.second_moment)


@pytest.mark.parametrize("name", N_FREE)
def test_free_sums_have_the_law_of_simulated_ones(name):
    """The same spectral norms, in mean, as signs and points drawn one by one."""
    law = LAWS[name]
    rng = np.random.default_rng(9)
    counts = np.array([3, 5, 0, 2])

    def simulated():
        X = law.sample(10, rng) * rng.choice([-1.0, 1.0], size=10)[:, None]
        columns = np.repeat(np.arange(4), counts)
        return np.linalg.norm(X.T @ np.eye(4)[columns], 2)

    direct = np.array([simulated() for _ in range(3000)])
    free = np.array([np.linalg.norm(law.signed_sums(counts, rng), 2) for _ in range(3000)])
    error = math.hypot(direct.std(), free.std()) / math.sqrt(3000)
    assert abs(direct.mean() - free.mean()) <= Z * error


@pytest.mark.parametrize("name", N_FREE)
def test_free_sums_take_a_billion_points(name):
    V = LAWS[name].signed_sums(np.array([10**9, 10**18]), np.random.default_rng(10))
    assert np.isfinite(V).all()
    assert np.abs(V[:, 1]).max() > 1e7


def test_simulated_sums_do_not_depend_on_the_chunk(monkeypatch):
    """A chunk boundary once could have split a label's points; their number must not change."""
    law = NonNegative(2)
    counts = np.array([5, 0, 7, 1])
    rng = np.random.default_rng(11)
    monkeypatch.setattr("simulations.features._CHUNK", 3)
    squares = np.array([np.square(law.signed_sums(counts, rng)).sum(axis=0) for _ in range(4000)])
    for column, count in enumerate(counts):
        assert agrees(squares[:, column], float(count))


@given(st.integers(min_value=1, max_value=30), st.integers(min_value=0, max_value=2**32 - 1))
@settings(max_examples=25)
def test_samples_depend_on_the_generator_alone(n, seed):
    for law in LAWS.values():
        first = law.sample(n, np.random.default_rng(seed))
        assert np.array_equal(first, law.sample(n, np.random.default_rng(seed)))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: IsotropicGaussian(0), ValueError, "at least 1"),
        (lambda: RademacherVectors(2.0), TypeError, "whole number"),
        (lambda: AnisotropicGaussian((1.0, -1.0)), ValueError, "positive everywhere"),
        (lambda: HeavyTailed(3, degrees=2.0), ValueError, "above 2"),
        (lambda: RareOutlier(1.0, 1.0, 1.0), ValueError, "strictly between"),
        (lambda: RankOne(2).sample(0, np.random.default_rng()), ValueError, "`n`"),
        (lambda: RankOne(2).sample(3, 0), TypeError, "default_rng"),
        (
            lambda: RankOne(2).signed_sums(np.array([-1]), np.random.default_rng()),
            ValueError,
            "negative",
        ),
        (
            lambda: RankOne(2).signed_sums(np.array([0.5]), np.random.default_rng()),
            ValueError,
            "whole numbers",
        ),
    ],
)
def test_bad_input_is_named(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_law_without_sums_of_its_own_has_those_of_all_laws():
    """A copy for each class, which names wrong arguments, would hide that they are simulated."""
    assert HeavyTailed.signed_sums is FeatureLaw.signed_sums
    assert IsotropicGaussian.signed_sums is not FeatureLaw.signed_sums
