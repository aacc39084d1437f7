"""Certificates: recomputed from outside, never above a better point, tight at known solutions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leml_solver import (
    LOSSES,
    FrobeniusBall,
    Labels,
    Problem,
    TraceBall,
    certify,
    dual_bound,
    minimise,
)
from leml_solver._exact.certificate import _conjugate_from_above, _dual_norm_from_above

BALLS = pytest.mark.parametrize("make", [TraceBall, FrobeniusBall])
EVERY = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())


def drawn(loss, seed, n=6, d=3, n_labels=4):
    """Draw a small problem with missing and repeated entries."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, n * n_labels))
    rows, columns = rng.integers(0, n, size), rng.integers(0, n_labels, size)
    values = rng.choice([-1.0, 1.0], size) * (1 if loss.binary else rng.uniform(0.1, 3, size))
    weights = rng.integers(1, 4, size).astype(float)
    labels = Labels.observed(rows, columns, values, (n, n_labels), weights)
    return Problem(loss, rng.standard_normal((n, d)), labels)


def recomputed(problem, ball, dual, scales):
    """Lower bound by plain loops over entries and scales, rounding ignored."""
    G = np.zeros(problem.shape)
    for i, label, w, u in zip(problem.rows, problem.columns, problem.weights, dual, strict=True):
        G[:, label] += w * u * problem.X[i]
    norm = np.linalg.norm(G, 2 if isinstance(ball, TraceBall) else "fro")
    return max(
        -np.sum(problem.weights * problem.loss.conjugate(problem.values, t * dual))
        - t * ball.radius * norm
        for t in scales
    )


@EVERY
@BALLS
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), radius=st.floats(0.01, 100))
def test_no_feasible_point_is_below_the_bound(loss, make, seed, radius):
    problem, ball = drawn(loss, seed), make(radius)
    rng = np.random.default_rng(seed + 1)
    Z = ball.project(radius * rng.standard_normal(problem.shape))
    certificate = certify(problem, ball, Z)
    others = [radius * t * rng.standard_normal(problem.shape) for t in (0.01, 0.1, 1, 10)]
    others.append(ball.linear_minimiser(problem.gradient(Z)))
    for other in others:
        # The objective of a feasible point is itself rounded: a few parts in 1e15.
        objective = problem.objective(ball.project(other))
        assert certificate.lower_bound <= objective + 1e-13 * (1 + abs(objective))


@EVERY
@BALLS
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), radius=st.floats(0.1, 10))
def test_any_dual_numbers_give_a_true_bound(loss, make, seed, radius):
    problem, ball = drawn(loss, seed), make(radius)
    dual = 3 * np.random.default_rng(seed).standard_normal(problem.rows.size)
    # Z = 0 and the best point along a descent direction are feasible.
    best = min(
        problem.objective(t * ball.linear_minimiser(problem.gradient(np.zeros(problem.shape))))
        for t in np.linspace(0, 1, 11)
    )
    assert dual_bound(problem, ball, dual) <= best + 1e-13 * (1 + abs(best))


@pytest.mark.parametrize("name", ["squared", "logistic", "squared_hinge"])
@BALLS
@pytest.mark.parametrize("seed", range(5))
def test_the_bound_is_that_of_a_search_over_scales(name, make, seed):
    problem, ball = drawn(LOSSES[name], seed), make(0.7)
    Z = ball.project(np.random.default_rng(seed).standard_normal(problem.shape))
    dual = problem.slopes(Z)
    low, high = problem.loss.dual_scales(problem.values, dual)
    scales = np.append(np.linspace(low, min(high, 2) * (1 - 1e-12), 4001), 1.0)
    outside = recomputed(problem, ball, dual, scales)
    found = certify(problem, ball, Z).lower_bound
    # The grid misses the peak by (5e-4)^2 of the scale; our two parabolas by more for logistic.
    assert found <= outside + 1e-5 * problem.scale
    assert found >= outside - 1e-3 * problem.scale


def test_the_linear_loss_is_certified_exactly():
    problem, ball = drawn(LOSSES["linear"], 3), TraceBall(2.0)
    V = -problem.gradient(np.zeros(problem.shape))
    certificate = certify(problem, ball, ball.linear_minimiser(-V))
    # The minimum is -radius |V|_2; the allowance for rounding is some 1e-13 of it.
    assert certificate.lower_bound == pytest.approx(-2 * np.linalg.norm(V, 2), rel=1e-12)
    assert 0 <= certificate.gap < 1e-11 * abs(certificate.lower_bound)


def backwards(rank, radius, seed, shape=(6, 5)):
    """Build a squared-loss problem whose minimiser over the trace ball is known.

    With X invertible, Y = X Z* + X^-T mu (U V^T + N) makes -gradient(Z*) = mu (U V^T + N); with
    U, V the singular vectors of Z*, N orthogonal to them and |N|_2 < 1, that is mu times a
    subgradient of the trace norm: Z* is optimal.
    """
    rng = np.random.default_rng(seed)
    d, n_labels = shape
    U, _ = np.linalg.qr(rng.standard_normal((d, d)))
    V, _ = np.linalg.qr(rng.standard_normal((n_labels, n_labels)))
    sigma = rng.uniform(1, 2, rank)
    Z = (U[:, :rank] * (radius * sigma / sigma.sum())) @ V[:, :rank].T
    rest = min(d, n_labels) - rank
    N = (U[:, rank : rank + rest] * rng.uniform(0, 0.9, rest)) @ V[:, rank : rank + rest].T
    X = rng.standard_normal((d, d)) + 3 * np.eye(d)
    pull = 0.3 * (U[:, :rank] @ V[:, :rank].T + N)
    return Problem.from_dense(LOSSES["squared"], X, X @ Z + np.linalg.solve(X.T, pull)), Z


@pytest.mark.parametrize("rank", [1, 2, 5])
@pytest.mark.parametrize("seed", range(3))
def test_a_solution_known_in_advance_is_certified_and_found(rank, seed):
    problem, Z = backwards(rank, 4.0, seed)
    ball = TraceBall(4.0)
    # X has condition below 100: the construction is exact to some 1e-13 of the objective at zero.
    assert abs(certify(problem, ball, Z).relative_gap) < 1e-12
    found = minimise(problem, ball, tol=1e-11)
    # Strong convexity: |Z - Z*|^2 <= 2 gap / smallest eigenvalue of X^T X.
    smallest = np.linalg.svd(problem.X, compute_uv=False)[-1] ** 2
    distance = np.linalg.norm(found.Z - Z)
    assert distance**2 <= 2 * found.certificate.gap / smallest + 1e-20
    assert np.linalg.matrix_rank(found.Z, tol=1e-5) == rank


def test_infeasibility_is_relative_and_seen():
    problem, ball = drawn(LOSSES["squared"], 0), FrobeniusBall(2.0)
    Z = np.zeros(problem.shape)
    Z[0, 0] = 3.0
    assert certify(problem, ball, Z).infeasibility == pytest.approx(0.5, rel=1e-14)
    assert certify(problem, ball, Z / 3).infeasibility == 0


def test_a_wrong_dual_norm_would_be_noticed():
    # A spectral norm from below (Lanczos) would lift the bound above the minimum.
    problem, ball = drawn(LOSSES["linear"], 1), TraceBall(1.0)
    Z = ball.linear_minimiser(problem.gradient(np.zeros(problem.shape)))
    certificate = certify(problem, ball, Z)
    lowered = -0.999 * ball.dual_norm(problem.gradient(Z))
    assert certificate.lower_bound < certificate.objective + 1e-13 < lowered


@pytest.mark.parametrize("radius", [30.564, 33.579, 35.483, 37.097])
def test_logistic_bound_stays_below_the_minimum_where_almost_nothing_is_left(radius):
    """Fifty equal points: the minimum is 50 log(1 + e^-radius), known to many digits.

    A conjugate that lost the digits of small numbers once gave bounds up to 53 % above it.
    """
    problem = Problem.from_dense(LOSSES["logistic"], np.ones((50, 1)), np.ones((50, 1)))
    bound = certify(problem, TraceBall(radius), np.array([[radius]])).lower_bound
    assert bound <= 50 * math.log1p(math.exp(-radius)) * (1 + 1e-14)  # rounding of the formula


def test_rounding_is_allowed_for_in_exact_arithmetic():
    """Squared loss, one feature: the bound against the minimum in rational numbers."""
    rng = np.random.default_rng(21)
    for _ in range(200):
        x, y = rng.normal(size=(7, 1)), rng.normal(size=(7, 1)) * 10.0 ** rng.integers(-8, 8)
        radius = float(10.0 ** rng.uniform(-8, 8))
        problem = Problem.from_dense(LOSSES["squared"], x, y)
        X, Y = [Fraction(float(v)) for v in x[:, 0]], [Fraction(float(v)) for v in y[:, 0]]
        best = sum(a * b for a, b in zip(X, Y, strict=True)) / sum(a * a for a in X)
        best = max(min(best, Fraction(radius)), -Fraction(radius))
        least = sum((b - a * best) ** 2 for a, b in zip(X, Y, strict=True)) / 2
        certificate = certify(problem, TraceBall(radius), np.array([[float(best)]]))
        assert Fraction(certificate.lower_bound) <= least


@pytest.mark.parametrize("scale", [1e-163, 1e-60, 1e60, 1e200])
def test_scales_whose_squares_leave_the_float_range_are_refused(scale):
    with pytest.raises(ValueError, match="rescale"):
        Problem.from_dense(LOSSES["squared"], scale * np.eye(3), np.eye(3))
    with pytest.raises(ValueError, match="rescale"):
        TraceBall(scale)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda p: Problem(2, p.X, p.labels), TypeError, "LOSSES"),
        (lambda p: Problem("square", p.X, p.labels), ValueError, "one of 'linear', 'squared'"),
        (lambda p: p.objective(np.ones((2, 2))), ValueError, "shape"),
        (lambda p: certify(p, TraceBall(1.0), np.full(p.shape, np.nan)), ValueError, "`Z`"),
        (lambda p: dual_bound(p, TraceBall(1.0), np.array([1.0])), ValueError, "`dual`"),
        (lambda p: minimise(None, TraceBall(1.0)), TypeError, "Problem"),
        (lambda p: minimise(p, 1.0), TypeError, "TraceBall"),
    ],
)
def test_bad_arguments_are_named(call, error, message):
    problem = Problem.from_dense(LOSSES["squared"], np.ones((5, 3)), np.ones((5, 4)))
    with pytest.raises(error, match=message):
        call(problem)


def test_the_dual_norm_is_bounded_from_above_where_its_terms_cancel():
    """One feature, one label: the sum of x u in rational numbers, made nearly to cancel."""
    rng = np.random.default_rng(22)
    for _ in range(100):
        x, u = rng.normal(size=(50, 1)), rng.normal(size=50)
        u[-1] = -float(x[:-1, 0] @ u[:-1]) / x[-1, 0]
        problem = Problem.from_dense(LOSSES["squared"], x, np.ones((50, 1)))
        exact = sum(
            Fraction(float(a)) * Fraction(float(b)) for a, b in zip(x[:, 0], u, strict=True)
        )
        assert Fraction(_dual_norm_from_above(problem, TraceBall(1.0), u)) >= abs(exact)


def test_the_rounding_of_a_decomposition_is_allowed_for():
    """One point: X^T D is the product of two vectors, its norm known in rational numbers."""
    rng = np.random.default_rng(23)
    for _ in range(30):
        x, u = rng.normal(size=(1, 40)), rng.normal(size=40)
        problem = Problem.from_dense(LOSSES["squared"], x, np.ones((1, 40)))
        squares = [sum(Fraction(float(v)) ** 2 for v in numbers) for numbers in (x[0], u)]
        for ball in (TraceBall(1.0), FrobeniusBall(1.0)):
            bound = Fraction(_dual_norm_from_above(problem, ball, u))
            assert bound**2 >= squares[0] * squares[1]
            assert bound**2 <= squares[0] * squares[1] * Fraction(1 + 1e-12)


def test_the_sum_of_conjugates_is_bounded_from_above():
    problem = Problem("squared", np.eye(3), np.zeros((3, 2)))
    assert _conjugate_from_above(problem, np.ones(6)) > 3  # the sum of six halves, exactly
