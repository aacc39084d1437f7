"""Both balls under one contract: norms, duality, projection, linear minimiser."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leml_solver import FrobeniusBall, TraceBall

BALLS = pytest.mark.parametrize("make", [TraceBall, FrobeniusBall])
SEEDS = st.integers(0, 2**32 - 1)
SHAPES = st.sampled_from([(1, 1), (1, 4), (4, 1), (3, 5), (5, 3)])


def drawn(seed, shape, scale=1.0):
    return scale * np.random.default_rng(seed).standard_normal(shape)


def test_norms_of_a_known_matrix():
    Z = np.diag([3.0, 4.0])
    # Exact up to the rounding of a 2 x 2 SVD.
    assert TraceBall(1.0).norm(Z) == pytest.approx(7, rel=1e-14)
    assert TraceBall(1.0).dual_norm(Z) == pytest.approx(4, rel=1e-14)
    assert FrobeniusBall(1.0).norm(Z) == pytest.approx(5, rel=1e-14)
    assert FrobeniusBall(1.0).dual_norm(Z) == pytest.approx(5, rel=1e-14)


@BALLS
@given(seed=SEEDS, shape=SHAPES, radius=st.floats(0.1, 10))
def test_the_linear_minimiser_attains_the_dual_norm(make, seed, shape, radius):
    ball, G = make(radius), drawn(seed, shape)
    Z = ball.linear_minimiser(G)
    # A handful of roundings of numbers of the size of radius times the dual norm.
    assert ball.norm(Z) <= radius * (1 + 1e-13)
    assert np.vdot(G, Z) == pytest.approx(-radius * ball.dual_norm(G), rel=1e-12)


@BALLS
@given(seed=SEEDS, shape=SHAPES)
def test_holder_inequality(make, seed, shape):
    ball, G, Z = make(1.0), drawn(seed, shape), drawn(seed + 1, shape)
    assert np.vdot(G, Z) <= ball.dual_norm(G) * ball.norm(Z) * (1 + 1e-12)


@BALLS
@given(seed=SEEDS, shape=SHAPES, radius=st.floats(0.1, 10), scale=st.floats(0.01, 100))
def test_projection_satisfies_its_variational_inequality(make, seed, shape, radius, scale):
    ball, Y = make(radius), drawn(seed, shape, scale)
    Z = ball.project(Y)
    # <Y - Z, A - Z> <= 0 for every A of the ball; the largest left side is at the minimiser of
    # <Z - Y, A>. Rounding is that of products of the size of |Y| times radius.
    worst = ball.linear_minimiser(Z - Y)
    rounding = 1e-12 * (1 + np.linalg.norm(Y)) * (1 + radius)
    assert np.vdot(Y - Z, worst - Z) <= rounding
    assert ball.norm(Z) <= radius * (1 + 1e-13)


@BALLS
@pytest.mark.parametrize("seed", range(4))
def test_projection_from_far_away_is_feasible(make, seed):
    # sigma - threshold loses ten digits here: without a repair half of the points are outside.
    ball = make(1e-3)
    Z = ball.project(drawn(seed, (3, 5), 1e7))
    assert ball.norm(Z) <= 1e-3 * (1 + 1e-14)


@BALLS
def test_projection_leaves_the_inside_alone(make):
    Z = drawn(0, (3, 4))
    ball = make(2 * TraceBall(1.0).norm(Z))
    # One SVD and one product of a matrix of size one.
    np.testing.assert_allclose(ball.project(Z), Z, atol=1e-14)


@BALLS
def test_zero_is_projected_and_minimised_without_nan(make):
    zero = np.zeros((2, 3))
    np.testing.assert_array_equal(make(1.0).project(zero), zero)
    assert np.isfinite(make(1.0).linear_minimiser(zero)).all()


@BALLS
@pytest.mark.parametrize("radius", [0, -0.5, np.nan, np.inf])
def test_a_radius_must_be_positive_and_finite(make, radius):
    with pytest.raises(ValueError, match="`radius` must be"):
        make(radius)
