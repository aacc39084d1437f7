"""Conjugate gradients and the trust-region Newton method, on problems with known answers."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from leml_solver._factored.algorithm_1 import (
    FeatureProblem,
    GeneralLoss,
    GeneralOptions,
    LabelProblem,
)
from leml_solver._factored.algorithm_2 import FullSquared
from leml_solver._factored.cg import CGOptions, conjugate_gradient
from leml_solver._factored.entry_sums import entries_of
from leml_solver._factored.plan import AUTHORS, FAST, PLAIN
from leml_solver._factored.tron import TronOptions, tron
from leml_solver._linalg.conjugate_gradient import ConjugateGradient, Product, Whole
from leml_solver._linalg.factors import Groups
from leml_solver._linalg.matrices import CountingMatrix, as_matrix
from leml_solver.labels import as_labels
from leml_solver.losses import LOSSES

n, d, L, k = 40, 9, 7, 3


def _data(missing, binary, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    Y = rng.standard_normal((n, L))
    Y = (Y > 0).astype(float) if binary else Y
    if missing:
        Y[rng.random((n, L)) < 0.4] = np.nan
    W, H = rng.standard_normal((d, k)), rng.standard_normal((L, k))
    return X, Y, W, H


def _feature_problem(name, missing, seed=0):
    X, Y, W, H = _data(missing, LOSSES[name].binary, seed)
    entries = entries_of(as_labels(Y), LOSSES[name], np.float64)
    return FeatureProblem(CountingMatrix(as_matrix(X)), entries, H, None, 0.7, True), W


def _label_problem(name, missing):
    X, Y, W, H = _data(missing, LOSSES[name].binary)
    entries = entries_of(as_labels(Y), LOSSES[name], np.float64)
    return LabelProblem(entries, X @ W, np.full(k, 0.7), True), H


MAKERS = [_feature_problem, _label_problem]


def _spd(size, seed):
    M = np.random.default_rng(seed).standard_normal((size, 2 * size))
    return M @ M.T + np.eye(size)


def test_algorithm_3_solves_a_system_in_as_many_steps_as_unknowns():
    M, right = _spd(6, 0), np.random.default_rng(1).standard_normal((6, 1))
    options = CGOptions(steps=30, tol=1e-13)
    solution = conjugate_gradient(lambda S: M @ S, right.copy(), options)
    # The residual shrinks to 1e-13 of its size; the condition number (below 100) multiplies it.
    np.testing.assert_allclose(solution, np.linalg.solve(M, right), atol=1e-10)


def test_algorithm_3_as_printed_step_by_step():
    M, right = _spd(8, 2), np.random.default_rng(3).standard_normal((8, 1))
    w, r = np.zeros_like(right), right.copy()
    direction = r.copy()
    for steps in range(1, 5):
        alpha = (r * r).sum() / (direction * (M @ direction)).sum()
        w, following = w + alpha * direction, r - alpha * (M @ direction)
        direction = following + (following**2).sum() / (r**2).sum() * direction
        r = following
        ours = conjugate_gradient(lambda S: M @ S, right.copy(), CGOptions(steps, 0.0))
        np.testing.assert_allclose(ours, w, rtol=1e-12)  # the same operations in another order


@pytest.mark.parametrize("groups", [Groups.COLUMNS, Groups.ROWS])
def test_grouped_runs_are_separate_runs_side_by_side(groups):
    M, right = _spd(5, 4), np.random.default_rng(5).standard_normal((5, 4))
    scale = np.array([1.0, 10.0, 0.1, 3.0])
    product = {
        Groups.COLUMNS: lambda S: (M @ S) * scale,
        Groups.ROWS: lambda S: (S @ M) * scale[:, None],
    }[groups]
    start = right if groups is Groups.COLUMNS else np.ascontiguousarray(right.T)
    together = conjugate_gradient(product, start.copy(), CGOptions(3, 0.0, groups))
    for j in range(4):
        alone = conjugate_gradient(
            lambda S, j=j: (M @ S) * scale[j], right[:, [j]].copy(), CGOptions(3, 0.0)
        )[:, 0]
        ours = together[:, j] if groups is Groups.COLUMNS else together[j]
        np.testing.assert_allclose(ours, alone, rtol=1e-10)  # rounding only


def test_a_diagonal_preconditioner_solves_a_diagonal_system_at_once():
    diagonal = np.geomspace(1, 1e6, 12).reshape(4, 3)
    right = np.random.default_rng(0).standard_normal((4, 3))
    options = CGOptions(steps=1, tol=0.0)
    solution = conjugate_gradient(lambda S: diagonal * S, right.copy(), options, 1 / diagonal)
    np.testing.assert_allclose(solution, right / diagonal, rtol=1e-12)


def test_zero_residual_stays_at_zero():
    options = CGOptions(20, 1e-3, Groups.ROWS)
    solution = conjugate_gradient(lambda S: S, np.zeros((3, 2)), options)
    assert not solution.any()


@pytest.mark.parametrize("groups", Groups)
@pytest.mark.parametrize("preconditioned", [True, False])
@pytest.mark.parametrize("share", [0.0, 0.5, 2.0])
def test_a_trust_region_ends_a_run_on_its_boundary(groups, preconditioned, share):
    rng = np.random.default_rng(6)
    diagonal = np.geomspace(1, 50, 20).reshape(5, 4)
    right = rng.standard_normal((5, 4))
    scale = 1 / np.sqrt(diagonal) if preconditioned else np.ones((5, 4))
    solution = right / diagonal
    radius = share * np.sqrt(groups.inner(solution, solution / scale))
    run = ConjugateGradient(
        Product(lambda S: diagonal * S, groups),
        right.copy(),
        groups,
        tol=1e-12,
        preconditioner=scale if preconditioned else None,
        radius=radius,
    ).run(60)
    S = run.solution
    # Twenty steps of size one, a few roundings each.
    np.testing.assert_allclose(run.length, np.sqrt(groups.inner(S, S / scale)), atol=1e-12)
    fallen = groups.inner(S, right) - 0.5 * groups.inner(S, diagonal * S)
    np.testing.assert_allclose(run.decrease, fallen, atol=1e-12)
    expected = radius if share < 1 else radius / 2
    np.testing.assert_allclose(run.length, expected, atol=1e-10)
    if share > 1:
        np.testing.assert_allclose(S, solution, atol=1e-10)  # to 1e-12, condition number 50


def test_a_trust_region_around_a_start_is_refused():
    right = np.ones((3, 2))
    with pytest.raises(ValueError, match="`radius` must be None with a `solution`"):
        ConjugateGradient(
            Product(lambda S: S, Groups.TOGETHER),
            right.copy(),
            Groups.TOGETHER,
            tol=0.0,
            solution=right,
            radius=np.ones((1, 1)),
        )


def test_numpy_and_compiled_sums_run_the_same_conjugate_gradients():
    M, right = _spd(6, 0), np.random.default_rng(1).standard_normal((6, 3))
    plain, compiled = (
        ConjugateGradient(Product(lambda S: M @ S, space), right.copy(), space, tol=0.0).run(4)
        for space in (Whole(), Groups.TOGETHER)
    )
    np.testing.assert_allclose(plain.solution, compiled.solution, rtol=1e-10)  # rounding only


def test_a_run_goes_on_with_some_of_its_columns():
    M, right = _spd(7, 3), np.random.default_rng(2).standard_normal((7, 4))
    product = Product(lambda S: M @ S, Groups.COLUMNS)
    whole, chosen = (
        ConjugateGradient(product, right.copy(), Groups.COLUMNS, tol=0.0).run(0) for _ in range(2)
    )
    kept = np.array([True, False, True, False])
    for _ in range(3):
        whole.step(last=False)
    chosen.step(last=False)
    chosen = chosen.columns(kept, product)
    for _ in range(2):
        chosen.step(last=False)
    np.testing.assert_allclose(chosen.solution, whole.solution[:, kept], rtol=1e-12)  # rounding


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("name", ["squared", "logistic", "squared_hinge"])
def test_gradient_and_hessian_are_derivatives(make, missing, name):
    problem, W = make(name, missing)
    S = np.random.default_rng(9).standard_normal(W.shape)
    h = 1e-6
    point = problem.at(W)
    values = [problem.values(problem.at(W + t * S)).sum() for t in (h, -h)]
    slope = float((problem.gradient(point) * S).sum())
    # Central differences are off by h^2 and by rounding / h, relative to values of size 100.
    assert slope == pytest.approx((values[0] - values[1]) / (2 * h), rel=1e-5, abs=1e-5)
    gradients = [problem.gradient(problem.at(W + t * S)) for t in (h, -h)]
    difference = (gradients[0] - gradients[1]) / (2 * h)
    np.testing.assert_allclose(problem.hessian(point)(S), difference, rtol=1e-5, atol=1e-4)


def test_hessian_product_is_the_kronecker_formula():
    # Equation (11) against the explicit sum over (i, j) of l'' (h h^T) kron (x x^T).
    X, Y, W, H = _data(True, True)
    problem, _ = _feature_problem("logistic", True)
    S = np.random.default_rng(1).standard_normal((d, k))
    expected = 0.7 * S
    loss = LOSSES["logistic"]
    for i, j in np.argwhere(~np.isnan(Y)):
        y = np.array(2 * Y[i, j] - 1)
        curvature = loss.second_derivative(y, X[i] @ W @ H[j])
        expected = expected + curvature * np.outer(X[i], H[j]) * (X[i] @ S @ H[j])
    ours = problem.hessian(problem.at(W))(S)
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("precondition", [True, False])
@pytest.mark.parametrize("name", ["squared", "logistic", "squared_hinge"])
def test_tron_reaches_a_stationary_point_from_far_away(make, precondition, name):
    problem, W = make(name, True)
    problem = replace(problem, precondition=precondition)
    options = TronOptions(newton_steps=60, cg_steps=40, tol=1e-9, cg_tol=1e-2)
    solution, point = tron(problem, 30 * W, options)
    start = np.abs(problem.gradient(problem.at(30 * W))).max()
    assert np.abs(problem.gradient(point)).max() <= 1e-7 * start  # tol in another norm
    np.testing.assert_array_equal(solution, getattr(point, "W", point))


def test_a_gradient_that_need_not_shrink_takes_no_step():
    problem, W = _feature_problem("logistic", True)
    np.testing.assert_array_equal(tron(problem, 30 * W, TronOptions(tol=1.0))[0], 30 * W)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", ["logistic", "squared_hinge"])
def test_tron_never_increases_any_group(make, seed, name):
    problem, W = make(name, True)
    scale = 10.0 ** np.random.default_rng(seed).uniform(-2, 3)
    for steps in (1, 2, 4):
        moved, point = tron(problem, scale * W, TronOptions(newton_steps=steps, cg_steps=5))
        before, after = problem.values(problem.at(scale * W)), problem.values(point)
        assert (after <= before).all()
        assert moved.shape == W.shape


@pytest.mark.parametrize("make", MAKERS)
def test_no_more_steps_are_accepted_than_allowed(make):
    """Steps that are rejected shrink the region and are not counted."""
    problem, W = make("logistic", True)
    points = []

    class Watched:
        groups = problem.groups
        at, values, preconditioner = problem.at, problem.values, problem.preconditioner

        def gradient(self, point):
            points.append(getattr(point, "W", point))
            return problem.gradient(point)

        def hessian(self, point):
            return problem.hessian(point)

    options = TronOptions(newton_steps=60, cg_steps=20, tol=1e-9, accepted_steps=3)
    end, _ = tron(Watched(), 300 * W, options)
    moves = [problem.groups.inner(b - a, b - a) > 0 for a, b in pairwise([*points, end])]
    assert (sum(moves) == 3).all()
    free, _ = tron(problem, 300 * W, replace(options, accepted_steps=None))
    assert (problem.values(problem.at(free)) < problem.values(problem.at(end))).all()


@pytest.mark.parametrize("intercept", [True, False])
def test_algorithms_1_and_2_agree_on_full_labels(intercept):
    X, Y, W, H = _data(False, True)
    plan = replace(PLAIN, cg_steps=100, cg_tol=1e-12)
    features = CountingMatrix(as_matrix(X))
    one = GeneralLoss(
        features,
        entries_of(as_labels(Y), LOSSES["squared"], np.float64),
        0.7,
        plan,
        GeneralOptions(intercept, quadratic=True),
    )
    two = FullSquared(features, as_matrix(Y), 0.7, plan, intercept)
    for iterate in (one, two):
        iterate.start(W, H)
        iterate.update_H()
    # Both solve for H (and the intercept) to 1e-12, condition numbers below 1e3.
    np.testing.assert_allclose(one.H, two.H, atol=1e-8)
    assert one.loss() == pytest.approx(two.loss(), rel=1e-8)
    if not intercept:  # with one, Algorithm 2 eliminates it, Algorithm 1 keeps it fixed
        for iterate in (one, two):
            iterate.update_W()
        np.testing.assert_allclose(one.W, two.W, atol=1e-8)


@pytest.mark.parametrize("plan", [AUTHORS, replace(AUTHORS, precondition=True)])
def test_the_trust_region_step_is_the_same_by_algorithms_1_and_2(plan):
    X, Y, W, H = _data(False, True)
    plan = replace(plan, newton_steps=2, cg_steps=5)
    features = CountingMatrix(as_matrix(X))
    entries = entries_of(as_labels(Y), LOSSES["squared"], np.float64)
    one = GeneralLoss(features, entries, 0.7, plan, GeneralOptions(quadratic=True))
    two = FullSquared(features, as_matrix(Y), 0.7, plan, False)
    for iterate in (one, two):
        iterate.start(W, H)
        iterate.update_W()
    # Two ways to the same sums, through ten steps of conjugate gradients.
    np.testing.assert_allclose(one.W, two.W, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(two.A, X @ two.W, atol=1e-12)


@pytest.mark.parametrize("factorise", [True, False])
@pytest.mark.parametrize("intercept", [True, False])
def test_every_way_to_solve_for_w_gives_the_same_predictor(factorise, intercept):
    X, Y, W, H = _data(False, False)
    features, answers = CountingMatrix(as_matrix(X)), []
    plans = (
        replace(PLAIN, cg_steps=200, cg_tol=1e-13),
        replace(FAST, factorise=factorise, balance=False, cg_steps=200, cg_tol=1e-13),
    )
    for plan in plans:
        iterate = FullSquared(features, as_matrix(Y), 0.7, plan, intercept)
        iterate.start(W, H)
        iterate.update_W()
        answers.append(iterate.W @ iterate.H.T)
    np.testing.assert_allclose(*answers, atol=1e-9)  # both to 1e-13, condition number below 1e3


def test_the_last_conjugate_gradient_step_costs_one_product():
    X, Y, W, H = _data(False, False)
    features = CountingMatrix(as_matrix(X))
    iterate = FullSquared(features, as_matrix(Y), 0.7, replace(FAST, factorise=False), False)
    iterate.start(W, H)
    before = features.products
    iterate.update_W()
    assert features.products - before == 2 * FAST.cg_steps * k  # counted in columns here
    np.testing.assert_allclose(iterate.A, X @ iterate.W, atol=1e-12)  # A followed along
