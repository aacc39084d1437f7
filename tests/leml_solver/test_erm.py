"""The minimisers: two engines agree, hard cases certify, bad arguments are refused."""

import numpy as np
import pytest

from leml_solver import (
    LOSSES,
    FrobeniusBall,
    Labels,
    Problem,
    Squared,
    Status,
    TraceBall,
    certify,
    minimise,
)
from leml_solver._exact.cvxpy_oracle import minimise_by_cvxpy

BALLS = pytest.mark.parametrize("make", [TraceBall, FrobeniusBall])
SMOOTH = ["linear", "squared", "logistic", "squared_hinge"]


def drawn(name, kind, seed=0):
    """Draw one of the situations in which engines tend to differ, with a radius."""
    rng = np.random.default_rng(seed)
    n, d, n_labels = {"n < d": (4, 7, 5)}.get(kind, (15, 5, 6))
    X = rng.standard_normal((n, d))
    if kind == "rank-deficient":
        X = X[:, :2] @ rng.standard_normal((2, d))
    if kind == "ill-conditioned":
        X = X / np.arange(1, d + 1) ** 2
    size = n * n_labels if kind == "full" else n * n_labels // 3
    entries = np.arange(n * n_labels) if kind == "full" else rng.integers(0, n * n_labels, size)
    values = rng.standard_normal(size)
    values = np.sign(values) if LOSSES[name].binary else values
    weights = rng.integers(1, 4, size).astype(float) if kind == "repeated" else None
    rows, columns = np.divmod(entries, n_labels)
    labels = Labels.observed(rows, columns, values, (n, n_labels), weights)
    problem = Problem(LOSSES[name], X, labels)
    return problem, 1e3 if kind == "loose radius" else 1.5


KINDS = ["full", "repeated", "n < d", "rank-deficient", "ill-conditioned", "loose radius"]


@BALLS
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SMOOTH)
def test_our_engine_certifies(name, kind, make):
    problem, radius = drawn(name, kind)
    result = minimise(problem, make(radius), tol=1e-9)
    assert result.status is Status.SOLVED
    assert -1e-13 < result.certificate.relative_gap <= 1e-9
    assert result.certificate.infeasibility < 1e-13
    # The certificate is that of the point returned, from the problem alone.
    assert result.certificate == certify(problem, make(radius), result.Z)


# A linear objective always pushes to the boundary: no radius is loose for it.
PAIRS = [(n, k) for n in SMOOTH for k in KINDS if (n, k) != ("linear", "loose radius")]


@BALLS
@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_both_engines_agree_within_their_gaps(name, kind, make):
    problem, radius = drawn(name, kind)
    ball = make(radius)
    ours, oracle = minimise(problem, ball, tol=1e-9), minimise(problem, ball, engine="cvxpy")
    unit = problem.scale or abs(ours.certificate.lower_bound)
    # The oracle must have an answer for the comparison to mean anything. Inside the ball its gap
    # is the radius, 1e3, times the gradient it leaves, some 1e-5.
    assert oracle.certificate.relative_gap < (1e-3 if kind == "loose radius" else 1e-4)
    met = oracle.certificate.relative_gap <= 1e-6  # the tolerance; with some of them it is not
    assert oracle.status is (Status.SOLVED if met else Status.GAP_ABOVE_TOL)
    assert ours.certificate.lower_bound <= oracle.certificate.objective + 1e-13 * unit
    assert oracle.certificate.lower_bound <= ours.certificate.objective + 1e-13 * unit


@BALLS
@pytest.mark.parametrize("kind", ["full", "repeated", "n < d"])
@pytest.mark.parametrize("name", ["absolute", "hinge"])
def test_losses_with_a_kink_are_certified_by_the_duals_of_cvxpy(name, kind, make):
    problem, radius = drawn(name, kind)
    result = minimise(problem, make(radius), engine="cvxpy", tol=1e-5)
    assert result.status is Status.SOLVED
    # The subgradient at a kink is a poor dual candidate: the multipliers of cvxpy are needed.
    assert result.certificate.gap < certify(problem, make(radius), result.Z).gap


@pytest.mark.parametrize(("solver", "limit"), [("CLARABEL", "max_iter"), ("SCS", "max_iters")])
def test_each_cvxpy_solver_can_be_chosen_and_takes_its_options(solver, limit):
    problem, radius = drawn("squared", "full")
    found = minimise_by_cvxpy(problem, TraceBall(radius), solver=solver)
    assert found.solved
    few = minimise_by_cvxpy(problem, TraceBall(radius), solver=solver, **{limit: 4})
    assert few.iterations == 4 < found.iterations
    assert certify(problem, TraceBall(radius), found.Z).relative_gap < 1e-5


@BALLS
def test_separable_labels_and_a_large_radius(make):
    # The logistic minimum is near zero and its curvature vanishes on the way there.
    rng = np.random.default_rng(1)
    X = rng.standard_normal((8, 6))
    Y = np.sign(X @ rng.standard_normal((6, 4)))
    problem, ball = Problem.from_dense(LOSSES["logistic"], X, Y), make(300.0)
    result = minimise(problem, ball, tol=1e-8)
    assert result.status is Status.SOLVED
    assert result.certificate.objective < 1e-3 * problem.scale


@BALLS
@pytest.mark.parametrize("s", [None, 1])
@pytest.mark.parametrize("seed", range(3))
def test_ill_conditioned_features(make, s, seed):
    # A plain accelerated gradient needs thousands of steps here, and once lost to cvxpy.
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((50, 10)) / np.arange(1, 11)
    Y = X @ rng.standard_normal((10, 10)) + rng.standard_normal((50, 10))
    if s == 1:
        Y[np.arange(10) != rng.integers(0, 10, 50)[:, None]] = np.nan
    problem = Problem.from_dense(Squared(), X, Y)
    result = minimise(problem, make(10 * 10**0.5), tol=1e-9)
    assert result.status is Status.SOLVED
    assert result.iterations < 300


@pytest.mark.parametrize("name", ["logistic", "squared"])
def test_sizes_beyond_dense_newton_systems(name):
    # Too large for Gram matrices per label: conjugate gradients and the loops over entries.
    rng = np.random.default_rng(2)
    n, d, n_labels = 300, 120, 90
    X, rows, columns = rng.standard_normal((n, d)), np.arange(n), rng.integers(0, n_labels, n)
    values = np.sign(rng.standard_normal(n))
    problem = Problem(name, X, Labels.observed(rows, columns, values, (n, n_labels)))
    result = minimise(problem, TraceBall(5.0), tol=1e-7)
    assert result.status is Status.SOLVED


def test_loose_radius_gives_least_squares():
    rng = np.random.default_rng(3)
    X, Y = rng.standard_normal((20, 4)), rng.standard_normal((20, 3))
    result = minimise(Problem.from_dense(Squared(), X, Y), TraceBall(100.0), tol=1e-12)
    # Least squares with condition below 10; a gap of 1e-12 allows a distance of its root.
    np.testing.assert_allclose(result.Z, np.linalg.lstsq(X, Y, rcond=None)[0], atol=1e-5)


def test_the_linear_loss_has_a_closed_form():
    rng = np.random.default_rng(4)
    X, Y = rng.standard_normal((10, 3)), rng.standard_normal((10, 4))
    U, _, Vt = np.linalg.svd(X.T @ Y)
    result = minimise(Problem.from_dense(LOSSES["linear"], X, Y), TraceBall(2.0))
    # Singular vectors of a 3 x 4 matrix with separated singular values.
    np.testing.assert_allclose(result.Z, 2 * np.outer(U[:, 0], Vt[0]), atol=1e-12)


def test_listing_an_entry_twice_or_weighting_it_is_the_same():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((6, 3))
    rows, columns = np.divmod(np.arange(12), 2)
    values = rng.standard_normal(12)
    again = np.r_[:12, :5]
    repeated = Labels.observed(rows[again], columns[again], values[again], (6, 2))
    counted = Labels.observed(rows, columns, values, (6, 2), np.r_[np.full(5, 2), np.ones(7)])
    twice, weighted = Problem("squared", X, repeated), Problem("squared", X, counted)
    ball = TraceBall(0.5)
    one, other = (minimise(p, ball, tol=1e-10).certificate for p in (twice, weighted))
    assert abs(one.objective - other.objective) <= max(one.gap, other.gap) + 1e-14


def test_a_good_start_saves_work_and_a_bad_one_does_no_harm():
    problem, radius = drawn("squared", "ill-conditioned")
    ball = TraceBall(radius)
    cold = minimise(problem, ball, tol=1e-10)
    warm = minimise(problem, ball, tol=1e-10, start=cold.Z)
    far = minimise(problem, ball, tol=1e-10, start=1e6 * np.ones(problem.shape))
    assert warm.iterations <= cold.iterations
    assert far.status is Status.SOLVED


def test_too_few_iterations_are_reported_with_an_honest_gap():
    problem, radius = drawn("logistic", "ill-conditioned")
    result = minimise(problem, TraceBall(radius), tol=1e-13, max_iter=1)
    assert result.iterations <= 2  # one step of the warm-up, one look at where it led
    assert result.status is Status.GAP_ABOVE_TOL
    better = minimise(problem, TraceBall(radius), tol=1e-9)
    assert result.certificate.lower_bound <= better.certificate.objective


@pytest.mark.parametrize("name", ["absolute", "hinge"])
def test_our_engine_names_the_one_for_losses_with_a_kink(name):
    problem, radius = drawn(name, "full")
    with pytest.raises(ValueError, match=f"`engine` must be 'cvxpy' for the {name} loss"):
        minimise(problem, TraceBall(radius))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "gurobi"}, "`engine` must be one of 'certified', 'cvxpy', got 'gurobi'"),
        ({"tol": 0}, "`tol` must be positive, got 0"),
        ({"tol": -1e-6}, "`tol` must be positive"),
        ({"max_iter": 0}, "`max_iter` must be at least 1"),
        ({"start": np.zeros((2, 2))}, r"`start` must have shape \(5, 6\), got \(2, 2\)"),
        ({"start": np.full((5, 6), np.nan)}, "`start` must be finite"),
    ],
)
def test_bad_options_are_refused(options, message):
    problem, radius = drawn("squared", "full")
    with pytest.raises(ValueError, match=message):
        minimise(problem, TraceBall(radius), **options)
