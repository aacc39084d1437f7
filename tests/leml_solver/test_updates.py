"""The parts of an outer iteration against numpy: preconditioners, trust regions, panels, starts."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from test_tron_cg import MAKERS, L, _data, _feature_problem, _label_problem, _spd, k

from leml_solver._factored import algorithm_1, entry_sums
from leml_solver._factored.algorithm_2 import _SquaredProblem
from leml_solver._factored.fit import AlternatingOptions, fit_factors
from leml_solver._factored.tron import _new_radius
from leml_solver._linalg import factors, threads
from leml_solver._linalg.conjugate_gradient import ConjugateGradient, Product, ratio
from leml_solver._linalg.matrices import Tiles
from leml_solver.algorithms import (
    FAST,
    PLAIN,
    CGOptions,
    CountingMatrix,
    FullSquared,
    GeneralLoss,
    GeneralOptions,
    Groups,
    LabelProblem,
    TronOptions,
    as_matrix,
    conjugate_gradient,
    entries_of,
    tron,
)
from leml_solver.labels import Labels, as_labels
from leml_solver.losses import LOSSES


def hessian_diagonal(problem, W):
    """The diagonal of the Hessian, one unit vector at a time."""
    product, diagonal = problem.hessian(problem.at(W)), np.empty_like(W)
    for place in np.ndindex(*W.shape):
        unit = np.zeros_like(W)
        unit[place] = 1
        diagonal[place] = product(unit)[place]
    return diagonal


@pytest.mark.parametrize("name", ["squared", "logistic", "squared_hinge"])
@pytest.mark.parametrize("missing", [True, False])
def test_the_preconditioner_of_the_label_problem_is_the_diagonal(name, missing):
    problem, H = _label_problem(name, missing)
    found = problem.preconditioner(problem.at(H))
    np.testing.assert_allclose(1 / found, hessian_diagonal(problem, H), rtol=1e-12)


def test_the_preconditioner_of_the_feature_problem_is_the_diagonal_of_a_constant_curvature():
    problem, W = _feature_problem("squared", False)
    found = problem.preconditioner(problem.at(W))
    np.testing.assert_allclose(1 / found, hessian_diagonal(problem, W), rtol=1e-12)


def test_the_preconditioner_of_the_feature_problem_averages_the_curvature():
    problem, W = _feature_problem("logistic", True)
    curved = problem.entries.curvatures(problem.at(W).A, problem.H, None)
    average = np.bincount(problem.entries.labels.entries.by_row.indices, curved, minlength=L) / 40
    squares = problem.features.matrix.column_squares()
    expected = np.outer(squares, average @ np.square(problem.H)) + 0.7
    found = problem.preconditioner(problem.at(W))
    np.testing.assert_allclose(1 / found, expected, rtol=1e-12)


@pytest.mark.parametrize("make", MAKERS)
def test_without_precondition_there_is_none(make):
    problem, W = make("squared", True)
    assert replace(problem, precondition=False).preconditioner(problem.at(W)) is None


def test_a_label_nobody_observed_has_a_finite_preconditioner():
    labels = Labels.observed([0, 1], [0, 0], [1.0, 0.0], (2, 2))
    entries = entries_of(labels, LOSSES["squared"], np.float64)
    problem = LabelProblem(entries, np.ones((2, 2)), np.array([0.5, 0.0]), True)
    found = problem.preconditioner(np.zeros((2, 2)))
    np.testing.assert_allclose(found, [[1 / 2.5, 1 / 2], [2, 1]])


def test_a_run_ends_at_its_tolerance():
    for seed in range(20):
        M, right = _spd(8, seed), np.random.default_rng(seed).standard_normal((8, 1))
        solution = conjugate_gradient(lambda S, M=M: M @ S, right.copy(), CGOptions(20, 1e-3))
        assert np.linalg.norm(M @ solution - right) <= 1e-3 * np.linalg.norm(right)


# Lin, Weng and Keerthi (2008), Section 2: accept above 1e-4, shrink below 0.25, grow above 0.75.
@pytest.mark.parametrize(
    ("quality", "length", "expected"),
    [
        (-1.0, 0.8, 0.25 * 0.8),
        (5e-5, 0.8, 0.25 * 0.8),
        (-1.0, 3.0, 0.25 * 2.0),
        (2e-4, 0.8, 0.5 * 2.0),
        (0.2, 0.8, 0.5 * 2.0),
        (0.3, 0.8, 2.0),
        (0.7, 2.0, 2.0),
        (0.8, 2.0, 8.0),
        (0.8, 0.1, 2.0),
        (0.8, 0.0, 2.0),
        (-1.0, 0.0, 2.0),
    ],
)
def test_the_trust_region_grows_and_shrinks_as_published(quality, length, expected):
    radius, length, quality = (np.array([[v]]) for v in (2.0, length, quality))
    assert _new_radius(radius, length, quality) == pytest.approx(expected)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("share", [1e-3, 0.3, 1e3])
def test_the_step_of_a_trust_region_stays_inside_and_predicts_its_model(make, scaled, share):
    problem, W = make("logistic", True)
    point = problem.at(W)
    gradient = problem.gradient(point)
    scale = problem.preconditioner(point) if scaled else None
    inner, product = problem.groups.inner, problem.hessian(point)
    newton = conjugate_gradient(product, -gradient, CGOptions(500, 1e-13, problem.groups))

    def norm(S):
        return np.sqrt(inner(S, S if scale is None else S / scale))

    radius = share * norm(newton)
    form = Product(product, problem.groups)
    run = ConjugateGradient(
        form, -gradient, problem.groups, tol=1e-12, preconditioner=scale, radius=radius
    ).run(500)
    S = run.solution
    np.testing.assert_allclose(run.length, norm(S), rtol=1e-9)  # kept up to date by recurrences
    model = -inner(gradient, S) - 0.5 * inner(S, product(S))
    np.testing.assert_allclose(run.decrease, model, rtol=1e-8)
    assert (run.decrease > 0).all()
    if share > 1:
        np.testing.assert_allclose(S, newton, atol=1e-8)
    else:
        np.testing.assert_allclose(run.length, radius, rtol=1e-9)
        assert not run.open.any()
    if share == 1e-3:  # so short that only the (scaled) gradient counts
        downhill = -gradient if scale is None else -scale * gradient
        cosine = inner(S, downhill) / np.sqrt(inner(S, S) * inner(downhill, downhill))
        assert (cosine > 0.99).all()


def test_groups_that_have_converged_stay_where_they_are():
    problem, H = _label_problem("logistic", True)
    options = TronOptions(newton_steps=60, cg_steps=60, tol=1e-9, cg_tol=1e-3)
    solution, _ = tron(problem, H, options)
    start = solution.copy()
    start[2] += 5.0
    moved, point = tron(problem, start, options)
    gradient = problem.gradient(point)
    assert np.abs(gradient[2]).max() < 1e-6
    np.testing.assert_allclose(moved, solution, atol=1e-6)


def test_nothing_is_spent_on_groups_that_have_converged():
    problem, H = _label_problem("squared", False)
    products, looks = [], []

    class Counting(LabelProblem):
        def hessian(self, H):
            product = super().hessian(H)
            return lambda S: products.append(1) or product(S)

        def values(self, H):
            looks.append(1)
            return super().values(H)

    counting = Counting(problem.entries, problem.A, problem.penalties, True)
    tron(counting, H, TronOptions(newton_steps=50, cg_steps=40, tol=1e-6, cg_tol=1e-8))
    # A quadratic in three unknowns per label: three products per Newton step, the region grows.
    assert 3 <= len(products) <= 15
    assert 2 <= len(looks) <= 6


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("plan", [FAST, replace(FAST, factorise=False), PLAIN])
def test_algorithm_2_keeps_the_product_x_w(plan, intercept):
    X, Y, W, H = _data(False, False)
    iterate = FullSquared(CountingMatrix(as_matrix(X)), as_matrix(Y), 0.7, plan, intercept)
    iterate.start(W, H)
    for _ in range(2):
        iterate.update_H()
        iterate.update_W()
        A = X @ iterate.W
        np.testing.assert_allclose(iterate.A, A - A.mean(axis=0) * intercept, atol=1e-11)
        offset = 0 if iterate.offset() is None else iterate.offset()
        direct = 0.5 * np.square(Y - A @ iterate.H.T - offset).sum()
        assert iterate.loss() == pytest.approx(direct, rel=1e-11)


def test_plain_conjugate_gradients_are_those_of_algorithm_3():
    """Two steps from the current W, no preconditioner, all columns together."""
    X, Y, W, H = _data(False, False)
    plan = replace(PLAIN, cg_steps=2, cg_tol=0.0)
    iterate = FullSquared(CountingMatrix(as_matrix(X)), as_matrix(Y), 0.7, plan, False)
    iterate.start(W, H)
    iterate.update_W()
    r = X.T @ (Y - X @ W @ H.T) @ H - 0.7 * W
    direction, expected = r, W
    for _ in range(2):
        image = X.T @ X @ direction @ (H.T @ H) + 0.7 * direction
        alpha = np.square(r).sum() / (direction * image).sum()
        expected, following = expected + alpha * direction, r - alpha * image
        direction = following + np.square(following).sum() / np.square(r).sum() * direction
        r = following
    np.testing.assert_allclose(iterate.W, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("rank", [20, 40])
@pytest.mark.parametrize("precondition", [True, False])
def test_columns_beyond_one_panel_are_solved_as_well(rank, precondition):
    rng = np.random.default_rng(2)
    X, Y = rng.standard_normal((60, 20)), rng.standard_normal((60, 50))
    W, H = rng.standard_normal((20, rank)), rng.standard_normal((50, rank))
    changes = {"balance": False, "factorise": False, "cg_steps": 300, "cg_tol": 1e-13}
    plan = replace(FAST, precondition=precondition, **changes)
    iterate = FullSquared(CountingMatrix(as_matrix(X)), as_matrix(Y), 0.7, plan, False)
    iterate.start(W, H)
    iterate.update_W()
    gradient = X.T @ (X @ iterate.W @ iterate.H.T - Y) @ iterate.H + 0.7 * iterate.W
    assert np.abs(gradient).max() < 1e-8  # 1e-13 of gradients of size 1e4 at the start


@pytest.mark.parametrize("missing", [True, False])
def test_the_first_gradient_of_algorithm_1_is_that_at_zero(missing):
    X, Y, W, H = _data(missing, True)
    entries = entries_of(as_labels(Y), LOSSES["logistic"], np.float64)
    iterate = GeneralLoss(CountingMatrix(as_matrix(X)), entries, 0.7, FAST, GeneralOptions())
    D = np.where(np.isnan(Y), 0.0, np.where(Y > 0, 0.5, -0.5))  # minus the slope of the loss
    np.testing.assert_allclose(iterate.feature_sketch(H), X.T @ D @ H, atol=1e-13)
    np.testing.assert_allclose(iterate.label_sketch(W), D.T @ X @ W, atol=1e-13)


def test_the_values_of_the_problem_of_algorithm_2_have_its_gradient_as_slope():
    X, Y, W, H = _data(False, False)
    iterate = FullSquared(CountingMatrix(as_matrix(X)), as_matrix(Y), 0.7, PLAIN, False)
    problem = _SquaredProblem(iterate, H.T @ H, Y @ H)
    S = np.random.default_rng(0).standard_normal(W.shape)
    ahead, behind = (problem.values(problem.at(W + sign * S)).item() for sign in (1, -1))
    slope = np.vdot(problem.gradient(problem.at(W)), S)
    assert (ahead - behind) / 2 == pytest.approx(slope, rel=1e-10)  # exact for a parabola


def test_products_are_counted_both_ways_in_shares_of_the_rank():
    X = CountingMatrix(as_matrix(np.ones((5, 4))), rank=2)
    X.times(np.ones((4, 2)))
    assert X.products == 1
    X.adjoint(np.ones((5, 3)))
    assert X.products == 2.5


def test_algorithm_1_turns_the_factors_before_it_solves_for_h():
    """Orthogonal columns of X W: then the diagonal of each label's Hessian says most of it."""
    X, Y, W, H = _data(True, True)
    entries = entries_of(as_labels(Y), LOSSES["logistic"], np.float64)
    features = CountingMatrix(as_matrix(X))
    iterate = GeneralLoss(features, entries, 0.7, FAST, GeneralOptions(True))
    iterate.start(W, H)
    iterate.update_H()
    G = iterate.A.T @ iterate.A
    np.testing.assert_allclose(G - np.diag(np.diag(G)), 0, atol=1e-11)
    np.testing.assert_allclose(iterate.A, X @ iterate.W, atol=1e-12)
    iterate.update_W()
    np.testing.assert_allclose(iterate.A, X @ iterate.W, atol=1e-12)


def test_algorithm_1_balances_the_factors_before_it_solves_for_w():
    X, Y, W, H = _data(True, True)
    entries = entries_of(as_labels(Y), LOSSES["logistic"], np.float64)
    iterate = GeneralLoss(CountingMatrix(as_matrix(X)), entries, 0.7, FAST, GeneralOptions())
    iterate.start(100 * W, H / 100)
    iterate.update_W()
    # H S has the singular values of W H^T, up to the square root, in orthogonal columns.
    singular = np.linalg.svd(W @ H.T, compute_uv=False)[:k]
    np.testing.assert_allclose(iterate.H.T @ iterate.H, np.diag(singular), atol=1e-10)


@pytest.fixture(name="fit_with_steps")
def _fit_with_steps(monkeypatch):
    """A fit to partly observed labels, and the types in which its conjugate gradients ran."""
    X, Y, *_ = _data(True, False)

    def fit(single, scale=1.0, options=None):
        types = set()

        def spy(product, residual, *more):
            types.add(residual.dtype)
            return conjugate_gradient(product, residual, *more)

        monkeypatch.setattr(algorithm_1, "_MANY_ENTRIES", 1 if single else np.inf)
        monkeypatch.setattr(algorithm_1, "conjugate_gradient", spy)
        chosen = options or AlternatingOptions(max_iter=60, tol=0.0, certify=False)
        X_sparse = sp.csr_matrix(scale * X)
        return fit_factors(X_sparse, Y, rank=2, penalty=scale * 0.7, options=chosen), types

    return fit


def test_steps_in_single_precision_end_where_those_in_double_do(fit_with_steps):
    (single, types), (double, others) = fit_with_steps(True), fit_with_steps(False)
    assert (types, others) == ({np.dtype("f4")}, {np.dtype("f8")})
    traces = [np.array([p.objective for p in fit.trace]) for fit in (single, double)]
    # A step has an error of 1e-6 of its length, on the way; what is stationary does not change.
    both = min(map(len, traces))  # each ends where rounding lets it
    np.testing.assert_allclose(*(trace[:both] for trace in traces), rtol=1e-6)
    assert single.objective == pytest.approx(double.objective, rel=1e-11)
    assert single.W.dtype == np.float64


@pytest.mark.parametrize("scale", [1e-14, 1e14])
def test_numbers_that_single_precision_may_lose_stay_in_double(fit_with_steps, scale):
    (single, types), (double, _) = fit_with_steps(True, scale), fit_with_steps(False, scale)
    assert types == {np.dtype("f8")}
    np.testing.assert_array_equal(single.W, double.W)


def test_plain_steps_stay_in_double(fit_with_steps):
    options = AlternatingOptions(method="plain", max_iter=2, certify=False)
    assert fit_with_steps(True, options=options)[1] == {np.dtype("f8")}


def test_a_given_start_is_taken_as_it_is():
    X, Y, W, H = _data(True, True)
    W, H = 10 * W, 10 * H  # worse than Z = 0
    options = AlternatingOptions(start=(W, H), max_iter=1, certify=False)
    fit = fit_factors(X, Y, rank=k, penalty=0.7, loss="logistic", options=options)
    known = ~np.isnan(Y)
    losses = LOSSES["logistic"].value(2 * Y[known] - 1, (X @ W @ H.T)[known]).sum()
    squares = np.square(W).sum() + np.square(H).sum()
    assert fit.trace[0].objective == pytest.approx(losses + 0.35 * squares, rel=1e-12)


def test_the_trace_begins_at_zero_and_keeps_the_time():
    X, Y, *_ = _data(False, True)
    options = AlternatingOptions(max_iter=3, tol=0.0)
    fit = fit_factors(X, Y, rank=2, penalty=0.7, options=options)
    assert [point.iteration for point in fit.trace] == [0, 1, 2, 3]
    assert fit.iterations == 3
    times = [0, *(point.seconds for point in fit.trace), fit.seconds]
    assert times == sorted(times)
    np.testing.assert_array_equal(
        fit.W, fit_factors(X, Y, rank=2, penalty=0.7, random_state=0, options=options).W
    )


def test_the_start_from_the_gradient_has_factors_of_the_same_size():
    """|W|^2 = |H|^2 = k: with a huge penalty they are all of the objective."""
    X, Y, *_ = _data(False, True)
    options = AlternatingOptions(max_iter=1, certify=False)
    for rank, scale in ((1, 1.0), (3, 1.0), (L, 1.0), (3, 1e-6)):
        fit = fit_factors(X, scale * Y, rank=rank, penalty=1e9, options=options)
        assert fit.trace[0].objective == pytest.approx(1e9 * rank, rel=1e-5)


SCALES = [(1, 1), (1, 3), (2, 1), (5, 1)]


@pytest.mark.parametrize("shape", SCALES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scaled_sums_of_factors_agree_with_numpy(shape, dtype):
    rng = np.random.default_rng(0)
    rows = shape[0] if shape[0] > 1 else 5
    A, B = (rng.standard_normal((rows, 3)).astype(dtype) for _ in range(2))
    scale = rng.standard_normal(shape)
    tolerance = {"rtol": 0, "atol": 8 * np.finfo(dtype).eps}  # three operations of size one
    added, scaled = A.copy(), A.copy()
    factors.add_scaled(added, scale, B)
    factors.scale_and_add(scaled, scale, B)
    np.testing.assert_allclose(added, A + scale * B, **tolerance)
    np.testing.assert_allclose(scaled, scale * A + B, **tolerance)


def test_inner_products_and_ratios_agree_with_numpy():
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((5, 3)), rng.standard_normal((5, 3))
    np.testing.assert_allclose(Groups.ROWS.inner(A, B), (A * B).sum(axis=1)[:, None])
    np.testing.assert_allclose(Groups.COLUMNS.inner(A, B), (A * B).sum(axis=0)[None])
    np.testing.assert_allclose(Groups.TOGETHER.inner(A, B), [[(A * B).sum()]])
    found = ratio(np.array([6.0, 1.0, 2.0]), np.array([3.0, 0.0, -1.0]))
    np.testing.assert_array_equal(found, [2.0, 0.0, 0.0])


def test_threads_share_the_work_of_inner_products_and_sums(monkeypatch):
    """Thresholds of one: every loop is cut into three, and nothing changes."""
    for module in (threads, factors):
        monkeypatch.setattr(module, "SHARED_PRODUCT", 1.0)
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((500, 40)), rng.standard_normal((500, 40))
    monkeypatch.setattr(threads.even_rows, "__defaults__", (1.0,))
    with threads.limit_threads(3):
        added = A.copy()
        factors.add_scaled(added, np.array([[2.0]]), B)
        np.testing.assert_allclose(added, A + 2 * B, atol=1e-14)
        np.testing.assert_allclose(factors.gram(A), A.T @ A, atol=1e-11)
        np.testing.assert_allclose(factors.column_inner(A, B), (A * B).sum(axis=0), atol=1e-12)
        np.testing.assert_allclose(factors.row_inner(A, B), (A * B).sum(axis=1), atol=1e-12)
        np.testing.assert_allclose(threads.matmul(A, B.T), A @ B.T, atol=1e-12)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [(("1", "7"), 1), (("7", "1"), 1), (("0", ""), None), (("x", "-1"), None)],
)
def test_the_usual_variables_limit_the_threads(monkeypatch, texts, expected):
    for name, text in zip(("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), texts, strict=True):
        monkeypatch.setenv(name, text)
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    assert threads.available_threads.__wrapped__() == (expected or 3)


def test_tiles_of_a_very_sparse_matrix_keep_to_sixteen_bits():
    """So few entries that tiles would rather be wider than their indices allow."""
    rng = np.random.default_rng(0)
    places = (rng.integers(50, size=400), rng.integers(300_000, size=400))
    X = sp.csr_matrix((rng.standard_normal(400), places), shape=(50, 300_000))
    W = rng.standard_normal((300_000, 2))
    np.testing.assert_allclose(Tiles.of(X).times(W), X @ W, atol=1e-12)
    A = rng.standard_normal((300_000, 2))
    np.testing.assert_allclose(Tiles.of_transpose(X.T.tocsr()).times(A), X @ A, atol=1e-12)


@pytest.mark.parametrize("name", ["squared", "logistic"])
def test_blocks_of_rows_add_up(name, monkeypatch):
    X, Y, W, H = _data(False, LOSSES[name].binary)
    A, S = X @ W, np.random.default_rng(1).standard_normal((L, k))

    def sums():
        entries = entries_of(as_labels(Y), LOSSES[name], np.float64)
        D, C = entries.slopes(A, H, None), entries.curvatures(A, H, None)
        yield entries.label_losses(A, H, None)
        yield entries.rows(D, H)
        yield entries.columns(D, A)
        yield entries.rows_product(C, A, H)
        yield entries.columns_product(C, A, S)

    expected = list(sums())
    monkeypatch.setattr(entry_sums, "_BLOCK", 3 * L)  # three rows per block, the last one shorter
    for found, whole in zip(sums(), expected, strict=True):
        np.testing.assert_allclose(found, whole, atol=1e-12)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_the_factors_that_come_out_are_balanced(loss):
    """Whatever the number of iterations: then their penalty is the trace norm."""
    X, Y, *_ = _data(False, True)
    options = AlternatingOptions(max_iter=1, certify=False)
    fit = fit_factors(X, Y, rank=k, penalty=0.7, loss=loss, options=options)
    squares = np.square(fit.W).sum() + np.square(fit.H).sum()
    norm = np.linalg.svd(fit.W @ fit.H.T, compute_uv=False).sum()
    assert 0.5 * squares == pytest.approx(norm, rel=1e-8)
    np.testing.assert_allclose(fit.W.T @ fit.W, fit.H.T @ fit.H, atol=1e-8)
