"""The outer loop: descent, convergence, determinism, the paper's own variant, bad input."""

import tracemalloc
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from leml_solver._factored.certificate import trace_norm
from leml_solver._factored.fit import (
    AlternatingOptions,
    FitStatus,
    TracePoint,
    _converged,
    fit_factors,
)
from leml_solver._factored.plan import FAST, PLAIN
from leml_solver._linalg.factors import balancing
from leml_solver.labels import Labels
from leml_solver.losses import LOSSES

SMOOTH = ("squared", "logistic", "squared_hinge")


def _data(seed=0, n=80, d=15, L=12, missing=0.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    Y = (X @ rng.standard_normal((d, 3)) @ rng.standard_normal((3, L)) > 1).astype(float)
    Y[rng.random((n, L)) < missing] = np.nan
    return X, Y


def _options(**changes):
    return AlternatingOptions(**{"max_iter": 15, "tol": 0.0, "certify": False, **changes})


def _objective(X, Y, loss, result, penalty):
    """The objective, written out densely and in another way."""
    y = np.where(np.isnan(Y), 0, Y)
    y = np.where(y > 0, 1.0, -1.0) if loss.binary else y
    losses = loss.value(y, result.scores(X).astype(float))
    norms = sum(np.square(F, dtype=float).sum() for F in (result.W, result.H))
    return losses[~np.isnan(Y)].sum() + 0.5 * penalty * norms


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("missing", [0.0, 0.5])
@pytest.mark.parametrize("method", ["fast", "plain", replace(FAST, factorise=False)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("intercept", [True, False])
def test_objective_never_increases_and_is_the_objective(name, missing, method, dtype, intercept):
    X, Y = _data(missing=missing)
    options = _options(method=method, dtype=dtype, intercept=intercept, start="normal")
    result = fit_factors(X, Y, rank=4, penalty=0.5, loss=name, options=options)
    objectives = [point.objective for point in result.trace]
    assert all(after <= before for before, after in pairwise(objectives))
    assert objectives[-1] < 0.8 * objectives[0]
    direct = _objective(X, Y, LOSSES[name], result, 0.5)
    # The result is balanced once more after the last iteration, which only lowers the penalty.
    rounding = 1e-4 if dtype == "float32" else 1e-10
    assert direct <= result.objective * (1 + rounding)
    if method == "plain":
        assert direct == pytest.approx(result.objective, rel=rounding)


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("form", ["sparse", "dense", "masked", "observed"])
def test_every_form_of_the_data_gives_the_same_fit(name, form):
    X, Y = _data(missing=0.4 if form in ("masked", "observed") else 0.0)
    mask = ~np.isnan(Y)
    rows, columns = np.nonzero(mask)
    labels = {
        "sparse": lambda: sp.csc_matrix(Y),
        "dense": lambda: Labels.full(Y),
        "masked": lambda: Labels.masked(np.nan_to_num(Y), mask),
        "observed": lambda: Labels.observed(rows, columns, Y[mask], Y.shape),
    }[form]()
    arguments = {"rank": 3, "penalty": 1.0, "loss": name, "options": _options(max_iter=5)}
    one = fit_factors(X, Y, **arguments)
    two = fit_factors(sp.csc_matrix(X), labels, **arguments)
    # The same operations by BLAS and by our loops, in another order.
    assert two.objective == pytest.approx(one.objective, rel=1e-7)


def test_the_same_random_state_gives_the_same_factors():
    X, Y = _data(missing=0.3)
    arguments = {"rank": 3, "penalty": 1.0, "loss": "logistic", "options": _options(max_iter=3)}
    one, two = (fit_factors(X, Y, random_state=5, **arguments) for _ in range(2))
    three = fit_factors(X, Y, random_state=np.random.default_rng(5), **arguments)
    other = fit_factors(X, Y, random_state=6, **arguments)
    np.testing.assert_array_equal(one.W, two.W)
    np.testing.assert_array_equal(one.H, three.H)
    assert not np.array_equal(one.W, other.W)


def test_plain_variant_is_alternating_minimisation_as_printed():
    # With exact inner solutions: H solves (6), then W solves (7) as one big regression.
    X, Y = _data(n=30, d=5, L=4)
    rng = np.random.default_rng(1)
    W, H = rng.random((5, 2)), rng.random((4, 2))
    plan = replace(PLAIN, cg_steps=400, cg_tol=1e-14)
    ours = fit_factors(
        X, Y, rank=2, penalty=0.3, options=_options(method=plan, start=(W, H), max_iter=2)
    )
    for _ in range(2):
        A = X @ W
        H = np.linalg.solve(A.T @ A + 0.3 * np.eye(2), A.T @ Y).T
        big = np.kron(X, H)  # row (i, j): x_i kron h_j, for W stored by rows
        w = np.linalg.solve(big.T @ big + 0.3 * np.eye(10), big.T @ Y.ravel())
        W = w.reshape(5, 2)
    np.testing.assert_allclose(ours.W, W, atol=1e-9)  # CG to 1e-14, condition number below 1e4
    np.testing.assert_allclose(ours.H, H, atol=1e-9)


def _slopes(X, Y, W, H):
    """Gradients in W and in H of the squared loss plus (|W|^2 + |H|^2) / 2."""
    D = X @ W @ H.T - Y
    return X.T @ D @ H + W, D.T @ X @ W + H


@pytest.mark.parametrize("order", ["HW", "WH"])
def test_order_and_uniform_start_are_those_of_the_authors_program(order):
    X, Y = _data()
    options = _options(order=order, start="uniform", method="plain", max_iter=1)
    result = fit_factors(X, Y, rank=2, penalty=1.0, random_state=3, options=options)
    rng = np.random.default_rng(3)
    W, H = rng.random((X.shape[1], 2)), rng.random((Y.shape[1], 2))
    given = fit_factors(X, Y, rank=2, penalty=1.0, options=replace(options, start=(W, H)))
    np.testing.assert_array_equal(result.W, given.W)
    # H is solved for exactly, from the first W in one order and from the last in the other.
    solved_for, other = (W, result.W) if order == "HW" else (result.W, W)
    assert np.abs(_slopes(X, Y, solved_for, result.H)[1]).max() < 1e-9
    assert np.abs(_slopes(X, Y, other, result.H)[1]).max() > 1
    # W is improved by conjugate gradients that reduce the residual a thousandfold.
    fixed = result.H if order == "HW" else H
    before, after = (np.linalg.norm(_slopes(X, Y, at, fixed)[0]) for at in (W, result.W))
    assert after <= 1.01e-3 * before  # the residual is that of the recurrence


AUTHORS = {"method": "authors", "order": "WH", "start": "uniform"}


@pytest.mark.parametrize("method", ["authors", "plain", "fast"])
def test_a_warm_start_on_rows_without_positives_does_not_end_at_zero(method):
    """Such rows draw the factors to zero, a point that alternating minimisation never leaves."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    Y = (X @ rng.normal(size=(6, 4)) > 1.5).astype(float)
    Y[:140] = 0
    options = _options(method=method, start="uniform", warm_start_rows=0.01, max_iter=20)
    for seed in range(8):
        result = fit_factors(X, Y, rank=2, penalty=1.0, random_state=seed, options=options)
        assert result.objective < 0.99 * 0.5 * np.square(Y).sum()  # below that of Z = 0


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_the_authors_program_lowers_the_objective_by_few_steps(name, missing):
    X, Y = _data(missing=missing)
    result = fit_factors(X, Y, rank=3, penalty=0.1, loss=name, options=_options(**AUTHORS))
    objectives = [point.objective for point in result.trace]
    assert all(after <= before for before, after in pairwise(objectives))
    # Start and end of fifteen iterations: a saturated start must not be where it ends.
    assert objectives[-1] < 0.2 * objectives[0]


@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_a_warm_start_on_all_rows_is_three_iterations_more(missing):
    X, Y = _data(missing=missing)
    arguments = {"rank": 3, "penalty": 0.5, "random_state": 7}
    long = fit_factors(X, Y, options=_options(**AUTHORS, max_iter=5), **arguments)
    options = _options(**AUTHORS, max_iter=2, warm_start_rows=1.0)
    warm = fit_factors(X, Y, options=options, **arguments)
    assert [p.iteration for p in warm.trace] == [0, 1, 2]
    # The same operations; X W is computed afresh in between.
    np.testing.assert_allclose(warm.W, long.W, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(warm.H, long.H, rtol=1e-6, atol=1e-9)


def test_a_warm_start_is_the_fit_of_some_rows_with_known_labels():
    X, Y = _data(missing=0.5)
    Y[::2] = np.nan
    arguments = {"rank": 3, "penalty": 0.5, "random_state": 7}
    options = _options(**AUTHORS, max_iter=1, warm_start_rows=0.1)
    warm = fit_factors(X, Y, options=options, **arguments)
    rng = np.random.default_rng(7)
    W, H = rng.random((15, 3)), rng.random((12, 3))
    rows = np.sort(rng.choice(np.arange(1, 80, 2), 4, replace=False))
    first = _options(method="authors", order="WH", start=(W, H), max_iter=3)
    part = fit_factors(X[rows], Y[rows], options=first, **arguments)
    second = replace(options, start=(part.W, part.H), warm_start_rows=None)
    np.testing.assert_array_equal(warm.W, fit_factors(X, Y, options=second, **arguments).W)


def test_a_warm_start_that_loses_all_but_a_millionth_of_the_factors_is_not_used():
    X, Y = _data()
    W, H = np.random.default_rng(0).random((15, 3)), np.random.default_rng(1).random((12, 3))
    options = _options(start=(1e9 * W, H), max_iter=1)
    warmed = replace(options, warm_start_rows=0.5)
    one, other = (
        fit_factors(X, Y, rank=3, penalty=0.5, options=each) for each in (options, warmed)
    )
    np.testing.assert_array_equal(one.W, other.W)


def test_fast_and_plain_find_the_same_minimum():
    X, Y = _data()
    fits = [
        fit_factors(X, Y, rank=8, penalty=2.0, options=_options(method=method, max_iter=400))
        for method in ("fast", "plain")
    ]
    # Both have converged to the global minimum (k is large enough), linearly.
    assert fits[0].objective == pytest.approx(fits[1].objective, rel=1e-6)


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_intercept_fits_a_constant_that_the_features_cannot(missing):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    offsets = np.array([5.0, -3.0, 0.0])
    Y = X @ rng.standard_normal((4, 3)) + offsets
    Y[rng.random(Y.shape) < missing] = np.nan
    options = _options(intercept=True, max_iter=60)
    result = fit_factors(X, Y, rank=3, penalty=1e-3, options=options)
    # The penalty shifts the fit by about penalty / n.
    np.testing.assert_allclose(result.intercept, offsets, atol=1e-3)
    observed = ~np.isnan(Y)
    assert np.abs((result.scores(X) - Y)[observed]).max() < 1e-2


def test_a_fit_whose_minimum_is_zero_ends():
    """The logistic loss of labels that are all 0 fell by the same factor 100 times."""
    X, Y = _data()
    options = _options(intercept=True, max_iter=60, tol=1e-4)
    result = fit_factors(X, np.zeros_like(Y), rank=2, penalty=1.0, loss="logistic", options=options)
    assert result.status is FitStatus.CONVERGED
    assert result.objective < 1e-9 * result.trace[0].objective


@pytest.mark.parametrize(("start", "ended"), [(1e6, True), (1.0, False)])
def test_what_is_negligible_beside_the_start_keeps_no_fit_going(start, ended):
    """An objective that halves counts as a fall to a share 1e-9 of the one at the start."""
    trace = [TracePoint(i, value, 0.0, 0.0) for i, value in enumerate((start, 2e-4, 1e-4))]
    assert _converged(trace, 0.2) is ended


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize(("name", "missing"), [(n, m) for n in SMOOTH for m in (0.0, 0.3)])
def test_with_an_intercept_the_means_of_features_do_not_matter(name, missing, form):
    """Means of three deviations once took more than 100 iterations in place of 3."""
    X, Y = _data(missing=missing)
    options = _options(intercept=True, max_iter=30, tol=1e-4)
    arguments = {"rank": 6, "penalty": 1.0, "loss": name, "options": options}
    plain, moved = (fit_factors(form(X + mean), Y, **arguments) for mean in (0.0, 100.0))
    # The scores lose two digits to the means, the objective twice as many.
    assert moved.objective == pytest.approx(plain.objective, rel=1e-9)
    assert moved.iterations == plain.iterations
    np.testing.assert_allclose(moved.scores(X + 100), plain.scores(X), atol=1e-6)


def test_intercept_of_full_squared_loss_is_optimal_at_the_end():
    X, Y = _data()
    X = X + 3  # not centred
    result = fit_factors(X, Y, rank=3, penalty=1.0, options=_options(intercept=True))
    residual_sums = (result.scores(X) - Y).sum(axis=0)
    np.testing.assert_allclose(residual_sums, 0, atol=1e-9)


@pytest.mark.parametrize("shapes", [(30, 20, 5), (4, 20, 6), (20, 3, 5)])
def test_balancing_keeps_the_product_and_reaches_the_trace_norm(shapes):
    rng = np.random.default_rng(0)
    W, H = (rng.standard_normal((size, shapes[2])) for size in shapes[:2])
    T, S = balancing(W, H)
    np.testing.assert_allclose(T @ S.T, np.eye(shapes[2]), atol=1e-6)
    W2, H2 = W @ T, H @ S
    np.testing.assert_allclose(W2 @ H2.T, W @ H.T, atol=1e-10 * np.abs(W @ H.T).max() * 100)
    penalty = 0.5 * (np.square(W2).sum() + np.square(H2).sum())
    norm = np.linalg.svd(W @ H.T, compute_uv=False).sum()
    assert trace_norm(W, H) == pytest.approx(norm, rel=1e-10)
    # Directions below rounding stay unbalanced at the square root of it.
    assert norm * (1 - 1e-10) <= penalty <= norm * (1 + 1e-5)


def test_a_label_factor_of_zeros_is_balanced_by_finite_matrices():
    T, S = balancing(np.ones((4, 2), np.float32), np.zeros((3, 2), np.float32))
    assert np.isfinite([*T, *S]).all()


def test_full_labels_cost_does_not_depend_on_n_times_L():
    # 40,000 x 30,000 labels: an n x L array of single bytes would be 1.2 GB.
    rng = np.random.default_rng(0)
    X = sp.random(40_000, 50, 0.02, format="csr", dtype=np.float32, random_state=0)
    rows = np.arange(40_000)
    Y = sp.csr_matrix((np.ones(40_000), (rows, rng.integers(30_000, size=40_000))))
    tracemalloc.start()
    result = fit_factors(X, Y, rank=2, penalty=1.0, options=_options(max_iter=2))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.H.shape == (Y.shape[1], 2)
    assert peak < 100e6  # some ten copies of X, Y, W and H, which take 3 MB together


def test_stopping_rules_and_callback():
    X, Y = _data()
    arguments = {"rank": 3, "penalty": 1.0}
    loose = fit_factors(X, Y, options=_options(tol=0.5), **arguments)
    assert loose.status is FitStatus.CONVERGED
    assert loose.iterations < 15
    strict = fit_factors(X, Y, options=_options(max_iter=2), **arguments)
    assert strict.status is FitStatus.MAX_ITER
    assert strict.iterations == 2
    seen: list[TracePoint] = []

    def stop(point):
        seen.append(point)
        return point.iteration == 3

    stopped = fit_factors(X, Y, options=_options(callback=stop), **arguments)
    assert stopped.status is FitStatus.STOPPED
    assert [point.iteration for point in seen] == [1, 2, 3]
    assert seen[-1] == stopped.trace[-1]
    assert stopped.products == seen[-1].products > 0


def test_progress_goes_to_the_error_stream(capsys):
    X, Y = _data()
    fit_factors(X, Y, rank=2, penalty=1.0, options=_options(progress=True, max_iter=2))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "objective" in captured.err
    assert "less than 0.01 s each" in captured.err  # it promised 'about 6e-08 s each'


def test_a_log_is_not_filled_with_every_state_of_the_bar(capsys):
    X, Y = _data()
    fit_factors(X, Y, rank=2, penalty=1.0, options=_options(progress=True, max_iter=50, tol=0.0))
    assert capsys.readouterr().err.count("s each") <= 3  # its start and its end


def test_rounding_ends_a_fit_that_cannot_fall_further():
    X, Y = _data(n=30, d=4, L=3)
    result = fit_factors(
        X, Y, rank=3, penalty=1.0, options=_options(max_iter=5000, dtype="float32")
    )
    objectives = [point.objective for point in result.trace]
    assert all(after <= before for before, after in pairwise(objectives))
    assert result.status is FitStatus.ROUNDING_LIMIT
    assert result.iterations < 5000


def test_a_rank_above_both_sides_works():
    X, Y = _data(n=20, d=3, L=2)
    result = fit_factors(X, Y, rank=6, penalty=0.5, options=_options())
    assert result.W.shape == (3, 6)
    assert np.isfinite(result.objective)


def test_float32_stays_float32_and_other_types_become_float64():
    X, Y = _data()
    for dtype, expected in ((np.float32, np.float32), (np.float64, np.float64), (int, np.float64)):
        result = fit_factors(X.astype(dtype), Y, rank=2, penalty=1.0, options=_options(max_iter=1))
        assert result.W.dtype == result.H.dtype == expected


def test_normal_starts_have_variance_one_over_the_rank():
    fit = fit_factors(np.eye(99), np.eye(99), rank=9, penalty=1e9, options=_options(start="normal"))
    # |W|^2 + |H|^2 has mean d + L; with 1782 squares 0.2 of it is six deviations.
    assert fit.trace[0].objective == pytest.approx(0.5e9 * (99 + 99), rel=0.2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rank": 0}, "rank"),
        ({"penalty": 0.0}, "`penalty` must be positive"),
        ({"loss": "nope"}, "one of 'squared', 'logistic', 'squared_hinge', got"),
        ({"loss": "hinge"}, "smooth"),
        ({"loss": "linear"}, "curved"),
        ({"X": np.ones((3, 2))}, "one per point, got 3 and 80"),
        ({"X": np.full((80, 2), np.nan)}, "must be finite"),
        ({"X": np.ones(3)}, "`X` must have 2 axes"),
        ({"loss": "logistic", "Y": np.full((80, 2), 2.0)}, "\\{0, 1\\}"),
        ({"loss": "logistic", "Y": sp.csr_matrix(np.full((80, 2), 0.5))}, "\\{0, 1\\}"),
        ({"Y": np.full((80, 2), np.nan)}, "observed entry"),
        ({"options": lambda: _options(start=(np.ones((2, 2)), np.ones((2, 2))))}, "shapes"),
        ({"options": lambda: _options(start=(np.zeros((15, 2)), np.zeros((12, 2))))}, "zero"),
        ({"options": lambda: _options(order="XY")}, "order"),
        ({"options": lambda: _options(method="magic")}, "method"),
        ({"options": lambda: _options(start="magic")}, "start"),
        ({"options": lambda: _options(dtype="float16")}, "dtype"),
        ({"options": lambda: _options(max_iter=0)}, "max_iter"),
        ({"options": lambda: _options(warm_start_rows=0)}, "`warm_start_rows` must lie in"),
        ({"options": lambda: _options(tol=-1.0)}, "tol"),
    ],
)
def test_bad_input_is_refused_with_a_reason(changes, message):
    X, Y = _data()
    arguments = {"X": X, "Y": Y, "rank": 2, "penalty": 1.0, "options": _options(), **changes}
    options = arguments["options"]

    def fit():
        arguments["options"] = options() if callable(options) else options
        return fit_factors(**arguments)

    with pytest.raises(ValueError, match=message):
        fit()


def test_bibtex_is_below_the_authors_objective(data_file):
    with np.load(data_file("bibtex")) as file:
        X, Y = (
            sp.csr_matrix((file[p + "_data"], file[p + "_indices"], file[p + "_indptr"]))
            for p in "XY"
        )
        rows = file["train_idx"]
    X, Y = X[rows].astype(np.float32), Y[rows].astype(float)
    # The authors' program reaches 6800.1 in its scaling, twice ours, in 5 outer iterations.
    result = fit_factors(X, Y, rank=64, penalty=0.05, options=_options(max_iter=5))
    assert result.objective <= 3400.06


def test_the_unit_of_the_targets_does_not_matter():
    """A start that is small for them hardly moved, and the fit ended there as converged."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 90))
    Y = X @ rng.standard_normal((90, 2)) @ rng.standard_normal((2, 5)) / 9
    small, large = (
        fit_factors(X, unit * Y, rank=5, penalty=unit * 20.0, options=_options(tol=1e-4))
        for unit in (1.0, 1e9)
    )
    # Both end about tol from the minimum, relative to their objectives.
    assert large.objective == pytest.approx(1e18 * small.objective, rel=1e-3)


def test_a_penalty_below_rounding_is_no_error():
    """Constant targets leave two columns that depend on each other."""
    rng = np.random.default_rng(0)
    X, Y = 1e4 * rng.standard_normal((90, 8)), np.ones((90, 5))
    result = fit_factors(X, Y, rank=5, penalty=1e-12, options=_options(intercept=True))
    assert result.scores(X) == pytest.approx(Y, rel=1e-9)  # rounding, and what it is magnified by


def test_unscaled_features_do_not_saturate_the_start():
    """Counts once left a logistic fit at 524, where Z = 0 has 146 and the minimum 37."""
    rng = np.random.default_rng(41)
    X = rng.poisson(10.0, size=(42, 20)).astype(float)
    Y = (rng.random((42, 5)) < 0.5).astype(float)
    result = fit_factors(X, Y, rank=5, penalty=1.0, loss="logistic", random_state=0)
    at_zero = Y.size * np.log(2)
    assert result.trace[0].objective <= 1.1 * at_zero  # the factors' own penalty comes on top
    assert result.objective < 0.8 * at_zero
