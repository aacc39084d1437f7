"""The exact engine's search: how much work it does, when it stops, what it reports."""

from types import SimpleNamespace

import numpy as np
import pytest
from test_erm import BALLS, KINDS, drawn
from threadpoolctl import threadpool_info, threadpool_limits

from leml_solver import FrobeniusBall, Labels, Problem, Squared, Status, TraceBall, minimise
from leml_solver._exact.cvxpy_oracle import _answer
from leml_solver._exact.objective import Entries, Quadratic, reduce
from leml_solver._exact.search import Point, Search, search_minimum

WARM_UP, ROUND, LOOK = 10, 10, 1  # gradients of the warm-up, of a round of splitting, of a look


@BALLS
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("factor", [1, 5])
def test_a_quadratic_takes_one_round_of_splitting_and_a_few_newton_steps(make, kind, factor):
    problem, radius = drawn("squared", kind)
    result = minimise(problem, make(factor * radius), tol=1e-9)
    assert result.status is Status.SOLVED
    # A second round would cost ten more.
    assert result.iterations <= WARM_UP + LOOK + ROUND + LOOK + 8


@pytest.mark.parametrize(
    ("name", "kind", "ball", "most"),
    [
        ("logistic", "full", TraceBall(7.5), 50),
        ("logistic", "repeated", TraceBall(7.5), 70),
        ("logistic", "n < d", TraceBall(7.5), 500),
        ("logistic", "rank-deficient", TraceBall(7.5), 150),
        ("logistic", "loose radius", FrobeniusBall(50.0), 600),
        ("squared_hinge", "ill-conditioned", TraceBall(7.5), 150),
        ("squared_hinge", "rank-deficient", FrobeniusBall(1.5), 60),
    ],
)
def test_second_order_models_keep_the_work_small(name, kind, ball, most):
    """Limits are about twice what is needed; without balanced steps or good models it is more."""
    result = minimise(drawn(name, kind)[0], ball, tol=1e-9)
    assert result.status is Status.SOLVED
    assert result.iterations <= most


def large(name, scale=1.0):
    """A problem too large for second-order models."""
    rng = np.random.default_rng(2)
    rows, columns = np.arange(300), rng.integers(0, 90, 300)
    X, values = rng.standard_normal((300, 120)), np.sign(rng.standard_normal(300))
    return Problem(name, X, Labels.observed(rows, columns, scale * values, (300, 90)))


def test_a_large_problem_takes_one_round_of_gradients_and_a_few_newton_steps():
    result = minimise(large("logistic"), TraceBall(5.0), tol=1e-7)
    assert result.status is Status.SOLVED
    assert result.iterations <= 60
    # The first round has twenty gradients.
    assert result.iterations - len(result.trace) == WARM_UP + 20


def test_iterations_count_every_gradient():
    problem, radius = drawn("squared", "repeated")
    ball = TraceBall(radius)
    first = minimise(problem, ball, tol=1e-13, max_iter=WARM_UP)
    assert (first.iterations, len(first.trace)) == (WARM_UP + LOOK, 1)
    second = minimise(problem, ball, tol=1e-13, max_iter=WARM_UP + LOOK + 1)
    assert second.iterations - len(second.trace) == WARM_UP + ROUND


def test_the_solution_as_a_start_needs_the_warm_up_only():
    problem, radius = drawn("squared", "ill-conditioned")
    cold = minimise(problem, TraceBall(radius), tol=1e-10)
    warm = minimise(problem, TraceBall(radius), tol=1e-9, start=cold.Z)
    assert warm.iterations == WARM_UP + LOOK < cold.iterations


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_the_search_stops_as_soon_as_the_gap_is_small_enough(scale):
    """Half of tol times the objective at zero, whatever the unit of the labels."""
    problem, tol = large("squared", scale), 1e-3
    result = minimise(problem, TraceBall(5.0 * scale), tol=tol)
    assert result.trace[-1] <= 0.5 * tol * problem.scale < min(result.trace[:-1])


def test_the_default_tolerance_is_one_in_a_million():
    problem, radius = drawn("logistic", "repeated", 9)  # passes a gap between the two below
    ball = TraceBall(radius)
    results = [minimise(problem, ball, **how) for how in ({}, {"tol": 1e-6}, {"tol": 2e-6})]
    assert results[0].trace == results[1].trace != results[2].trace


@BALLS
@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("label", [0.0, 1.0, 1e6])
def test_features_of_zeros_leave_nothing_to_find(make, full, label):
    Y = np.full((4, 3), label)
    if not full:
        Y[0, 0] = np.nan
    problem = Problem.from_dense(Squared(), np.zeros((4, 2)), Y)
    result = minimise(problem, make(1.0))
    assert result.status is Status.SOLVED
    assert not result.Z.any()
    assert result.certificate.objective == problem.scale


@BALLS
@pytest.mark.parametrize("shape", [(4, 7), (7, 4), (1, 3)])
def test_full_labels_with_fewer_and_with_more_points_than_features(make, shape):
    rng = np.random.default_rng(8)
    X, Y = rng.standard_normal(shape), rng.standard_normal((shape[0], 5))
    result = minimise(Problem.from_dense(Squared(), X, Y), make(1.5), tol=1e-11)
    assert result.status is Status.SOLVED
    # The minimiser lies in the row space of X.
    projected = np.linalg.pinv(X) @ X @ result.Z
    np.testing.assert_allclose(projected, result.Z, atol=1e-12)


def test_digits_of_weak_features_are_kept():
    """Singular values from 1 to 1e-6: their squares would have lost all but four digits."""
    rng = np.random.default_rng(9)
    sigma = np.array([1.0, 1e-2, 1e-4, 1e-6])
    U, V = (np.linalg.qr(rng.standard_normal((size, 4)))[0] for size in (12, 4))
    Z = V @ (rng.standard_normal((4, 3)) / sigma[:, None])
    X = (U * sigma) @ V.T
    problem = Problem.from_dense(Squared(), X, X @ Z)
    model, Q = reduce(problem)
    # The labels are met at Z. Singular values are off by 1e-16, a relative 1e-10 of the smallest.
    assert model.evaluate(Q.T @ Z)[0] == pytest.approx(0, abs=1e-8 * problem.scale)


@pytest.mark.parametrize("name", ["squared", "logistic"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_reduced_model_is_the_objective(name, kind):
    problem, _ = drawn(name, kind)
    model, Q = reduce(problem)
    M = np.random.default_rng(11).standard_normal(model.shape)
    Z = M if Q is None else Q @ M
    value, gradient = model.evaluate(M)
    assert value == pytest.approx(problem.objective(Z), rel=1e-12)
    expected = problem.gradient(Z) if Q is None else Q.T @ problem.gradient(Z)
    np.testing.assert_allclose(gradient, expected, atol=1e-11)


class Valley:
    """f(0) = 0 with slope -1; f(1) as given; f lies below zero in between."""

    shape, smoothness, floor, has_small_blocks = (1, 1), 1.0, -np.inf, True

    def __init__(self, end):
        self.end = end

    def evaluate(self, Z):
        z = float(Z[0, 0])
        return (-z + (self.end + 1) * z**2), np.array([[-1 + 2 * (self.end + 1) * z]])

    def quadratic_at(self, Z, value, G, damping):
        """A model with its minimum at 1."""
        return Quadratic(np.eye(1)[None], np.ones((1, 1)), 0.0, floor=-np.inf)


@pytest.mark.parametrize(
    ("end", "reached"), [(-1.5e-4, 1.0), (-0.5e-4, 0.5), (0.5e-4, 0.5), (0.0, 0.5)]
)
def test_a_step_must_make_a_ten_thousandth_of_the_fall_it_promises(end, reached):
    search = Search(Valley(end), TraceBall(10.0), 1000)
    value, slope = Valley(end).evaluate(np.zeros((1, 1)))
    # An inner target of 0.05 gap: small enough to find the model's minimum.
    new = search._minimise_quadratic(search.model, Point(np.zeros((1, 1)), value, slope, 1e-12))
    assert new.Z[0, 0] == pytest.approx(reached, abs=1e-4)


@BALLS
def test_a_second_order_model_touches_the_objective(make):
    """Same value and gradient, and the curvature of the objective plus the damping."""
    problem, _ = drawn("logistic", "repeated")
    model, rng = Entries(problem), np.random.default_rng(10)
    Z, E = rng.standard_normal(model.shape), rng.standard_normal(model.shape)
    value, gradient = model.evaluate(Z)
    quadratic = model.quadratic_at(Z, value, gradient, 0.3)
    there, slope = quadratic.evaluate(Z)
    assert there == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(slope, gradient, atol=1e-12)
    curved = model.hessian(Z).apply(E) + 0.3 * E
    np.testing.assert_allclose(quadratic.apply(E), curved, atol=1e-12)


def test_the_engine_runs_on_one_blas_thread():
    seen = set()

    class Spy(TraceBall):
        def dual_norm(self, G):
            seen.update(i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas")
            return super().dual_norm(G)

    problem, radius = drawn("squared", "full")
    with threadpool_limits(2, user_api="blas"):
        minimise(problem, Spy(radius))
    assert seen == {1}


@pytest.mark.parametrize(
    ("make", "expected"), [(0, ["split"] * 3 + ["gradients"]), (1, ["model", "gradients"] * 2)]
)
def test_rounds_that_might_stall_take_turns_with_gradient_steps(make, expected):
    """Splitting stalls while its step is out of balance, a model where it is poor."""
    taken = []

    class Recording(Search):
        def _split(self, model, Y, point):
            taken.append("split")
            return super()._split(model, Y, point)

        def _accelerate(self, point):
            taken.append("gradients")
            return super()._accelerate(point)

        def _minimise_quadratic(self, model, point):
            taken.append("model")
            return point

    problem, radius = drawn("squared", "repeated")
    model = (reduce(problem)[0], Entries(problem))[make]
    search = Recording(model, TraceBall(radius), 10_000)
    point = search.at(np.zeros(model.shape))
    Y = point.Z
    for _ in range(8):
        Y, point = search.advance(Y, point)
    assert taken == 2 * expected


@pytest.mark.parametrize("Z", [None, np.full((5, 6), np.nan)])
def test_an_oracle_without_a_point_has_not_solved(Z):
    problem, radius = drawn("squared", "full")
    answer = _answer(problem, TraceBall(radius), SimpleNamespace(solver_stats=None), Z, [])
    assert not answer.solved
    assert not answer.Z.any()


@BALLS
def test_the_oracle_takes_a_single_feature(make):
    Y = np.array([[1.0, np.nan], [2.0, 3.0], [np.nan, 1.0]])
    problem = Problem.from_dense(Squared(), np.array([[1.0], [0.5], [2.0]]), Y)
    ours, oracle = (minimise(problem, make(1.0), engine=name) for name in ("certified", "cvxpy"))
    # Both gaps are below 1e-6 of the objective at zero.
    assert ours.certificate.objective == pytest.approx(oracle.certificate.objective, rel=1e-5)


class Plain:
    """f = level + fall z with slope -1 and curvature 1: a model whose Newton step is z + 1."""

    shape, smoothness, floor = (1, 1), 1.0, -np.inf

    def __init__(self, fall):
        self.fall = fall

    def evaluate(self, Z):
        return 1.0 + self.fall * float(Z[0, 0]), -np.ones((1, 1))

    def hessian(self, Z):
        return Quadratic(np.eye(1)[None], np.zeros((1, 1)), 0.0)


@pytest.mark.parametrize(("fall", "taken"), [(-1e-4, True), (-1e-8, False), (0.0, False)])
def test_a_newton_step_inside_the_ball_must_lower_the_value_or_cut_the_gap(fall, taken):
    search = Search(Plain(fall), TraceBall(100.0), 1000, step=1.0)
    point = search.at(np.zeros((1, 1)))
    moved = search._newton(point.Z, point)
    assert (moved is not None) == taken
    if moved is not None:
        assert moved[1].Z[0, 0] == pytest.approx(1.0, rel=1e-9)


def test_the_engine_may_take_twenty_thousand_gradients_by_default(monkeypatch):
    limits = []

    def spy(problem, ball, *, max_iter, **rest):
        limits.append(max_iter)
        return search_minimum(problem, ball, max_iter=max_iter, **rest)

    monkeypatch.setattr("leml_solver._exact.minimise.search_minimum", spy)
    problem, radius = drawn("squared", "full")
    minimise(problem, TraceBall(radius))
    minimise(problem, TraceBall(radius), max_iter=50)
    assert limits == [20_000, 50]


def test_a_linear_loss_takes_one_iteration():
    rng = np.random.default_rng(0)
    problem = Problem("linear", rng.normal(size=(8, 3)), rng.normal(size=(8, 2)))
    assert search_minimum(problem, TraceBall(1.0), tol=1e-6, max_iter=9, start=None).iterations == 1


def test_the_floor_is_the_sum_of_the_least_losses():
    class Lifted(Squared):
        def conjugate(self, y, u):
            return super().conjugate(y, u) - 2  # of a loss that is larger by two

    assert Entries(Problem(Lifted(), np.eye(3), np.ones((3, 2)))).floor == 12
