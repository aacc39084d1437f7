"""Splitting steps: bounds that are valid and nearly sharp, and points that are nearly optimal."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from leml_solver._factored.certificate import certify_factors
from leml_solver._factored.fit import AlternatingOptions, FitStatus, fit_factors, fit_problem
from leml_solver._factored.splitting import ConvexPoint, Splitting, affordable_steps
from leml_solver.losses import LOSSES
from leml_solver.problem import Problem

SMOOTH = ("squared", "logistic", "squared_hinge")


def _data(missing, seed=0, n=40, d=8, L=5):
    """Features of very different scales, on which alternation is slow."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.logspace(-1, 1.5, d)
    Y = (X @ rng.standard_normal((d, L)) + rng.standard_normal((n, L)) > 5).astype(float)
    Y[rng.random((n, L)) < missing] = np.nan
    return X, Y


def _objective(result, X, Y, name, penalty):
    """The objective from the scores alone."""
    known, loss = ~np.isnan(Y), LOSSES[name]
    values = loss.value(loss.encode(Y[known]), result.scores(X)[known]).sum()
    return values + penalty * np.linalg.svd(result.W @ result.H.T, compute_uv=False).sum()


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_gap_of_an_early_fit_is_within_three_times_the_truth(name, missing, intercept):
    X, Y = _data(missing)
    settings = {"rank": 5, "penalty": 1.5, "loss": name}
    early = AlternatingOptions(max_iter=3, tol=0.0, intercept=intercept)
    late = AlternatingOptions(max_iter=6, tol=0.0, intercept=intercept, refine=1e-5)
    best = fit_factors(X, Y, **settings, options=late)
    fit = fit_factors(X, Y, **settings, options=early)
    assert best.status is FitStatus.PROVED
    assert best.certificate.relative_gap <= 1e-5
    assert best.objective == pytest.approx(_objective(best, X, Y, name, 1.5), rel=1e-9)
    scale = fit.certificate.scale
    truth = fit.certificate.objective - best.certificate.objective
    assert fit.certificate.lower_bound <= best.certificate.objective + 1e-12 * scale
    # Splitting is not asked to look into gaps of 1e-6, and the truth is known to 1e-5.
    assert fit.certificate.gap <= 3 * truth + 3e-5 * scale
    # What the factors themselves give is worse: otherwise nothing was tried.
    own = certify_factors(Problem(name, X, Y), fit.W, fit.H, fit.intercept, penalty=1.5)
    assert own.gap > 1.5 * fit.certificate.gap


def test_the_minimum_of_a_problem_with_a_closed_form_is_reached():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((20, 6)))[0]
    Y = rng.standard_normal((20, 4))
    sigma = np.linalg.svd(Q.T @ Y, compute_uv=False)
    # With orthonormal features the minimiser soft-thresholds the singular values of X^T Y.
    kept = np.maximum(sigma - 0.7, 0)
    minimum = 0.5 * (Y**2).sum() - 0.5 * (sigma**2).sum() + 0.5 * ((sigma - kept) ** 2).sum()
    minimum += 0.7 * kept.sum()
    problem = Problem("squared", Q, Y)
    start = ConvexPoint(np.ones((6, 4)), None, math.inf)
    own = certify_factors(problem, np.ones((6, 1)), np.ones((4, 1)), penalty=0.7)
    splitting = Splitting(problem, start, own)
    made = splitting.run(400, 1e-12)
    assert splitting.best.objective == pytest.approx(minimum, rel=1e-10)
    assert made.lower_bound == pytest.approx(minimum, rel=1e-10)
    assert made.objective == own.objective


def test_factors_of_too_small_a_rank_stay_and_their_gap_is_the_price_of_the_rank():
    X, Y = _data(0.0)
    problem = Problem("squared", X, Y)
    full = fit_problem(problem, rank=5, penalty=0.1, options=AlternatingOptions(refine=1e-8))
    plain = fit_problem(problem, rank=1, penalty=0.1, options=AlternatingOptions(tol=1e-10))
    options = AlternatingOptions(tol=1e-10, refine=1e-8)
    asked = fit_problem(problem, rank=1, penalty=0.1, options=options)
    assert asked.objective <= plain.objective
    assert asked.status is not FitStatus.PROVED
    price = plain.certificate.objective - full.certificate.objective
    assert price <= plain.certificate.gap <= 2.1 * price  # it stops within twice the truth


def test_refining_never_raises_the_objective_and_counts_its_products():
    X, Y = _data(0.0)
    options = AlternatingOptions(max_iter=2, tol=0.0, refine=1e-6)
    result = fit_factors(sp.csr_matrix(X), sp.csr_matrix(Y), rank=5, penalty=1.0, options=options)
    objectives = [point.objective for point in result.trace]
    assert objectives == sorted(objectives, reverse=True)
    assert [point.iteration for point in result.trace] == list(range(len(objectives)))
    # X^T X and X^T Y are 8 + 5 columns, a product has 5.
    assert result.trace[-1].products - result.trace[-2].products == pytest.approx(13 / 5)


def test_the_certificate_leaves_the_factors_alone():
    X, Y = _data(0.0)
    one, other = (
        fit_factors(X, Y, rank=3, penalty=1.0, options=AlternatingOptions(certify=certify))
        for certify in (True, False)
    )
    np.testing.assert_array_equal(one.W, other.W)
    np.testing.assert_array_equal(one.H, other.H)


def test_steps_are_refused_where_the_gram_matrix_is_too_large():
    X = sp.random(50, 5000, 0.01, format="csr", random_state=0)
    assert affordable_steps(Problem("squared", X, np.ones((50, 2))), 2, math.inf) == 0


def test_steps_are_refused_where_the_factor_of_the_gram_matrix_costs_more_than_the_fit():
    """With d = 3000, d^3 / 6 is 4.5e9 multiplications, where a tenth of a second pays for 1e9."""
    X = sp.random(50, 3000, 0.001, format="csr", random_state=0)
    assert affordable_steps(Problem("squared", X, np.ones((50, 2))), 2, 1.0) == 0


def test_steps_are_taken_where_the_gram_matrix_of_a_sparse_x_is_cheap():
    """Ten entries per row: 100 multiplications each, of 1e5 in all."""
    X = sp.random(1000, 100, 0.1, format="csr", random_state=0)
    assert affordable_steps(Problem("squared", X, np.ones((1000, 2))), 2, 1.0) > 0


def test_as_many_steps_are_taken_as_asked_for(monkeypatch):
    X, Y = _data(0.0)
    fit = fit_factors(X, Y, rank=5, penalty=1.5, options=AlternatingOptions(max_iter=1))
    steps = []
    step = Splitting._step
    monkeypatch.setattr(Splitting, "_step", lambda self: steps.append(step(self)))
    start = ConvexPoint(fit.W @ fit.H.T, None, fit.certificate.objective)
    Splitting(Problem("squared", X, Y), start, fit.certificate).run(6, 0.0)
    assert len(steps) == 6


def test_float32_features_are_refined_in_double_precision():
    X, Y = _data(0.0)
    options = AlternatingOptions(max_iter=2, tol=0.0, refine=1e-4)
    result = fit_factors(X.astype(np.float32), Y, rank=5, penalty=1.0, options=options)
    assert result.W.dtype == np.float32
    assert result.status is FitStatus.PROVED


def _rows(path):
    stored = np.load(path)
    X, Y = (
        sp.csr_matrix(tuple(stored[f"{name}_{part}"] for part in ("data", "indices", "indptr")))
        for name in "XY"
    )
    X.resize(stored["X_shape"])
    Y.resize(stored["Y_shape"])
    rows = stored["train_idx"]
    return X[rows].astype(np.float64), Y[rows].astype(np.float64)


@pytest.mark.parametrize("intercept", [True, False])
def test_emotions_logistic_gap_is_within_three_times_the_truth(data_file, intercept):
    X, Y = _rows(data_file("emotions"))
    settings = {"rank": 6, "penalty": 1.0, "loss": "logistic"}
    fit = fit_factors(X, Y, **settings, options=AlternatingOptions(intercept=intercept))
    options = AlternatingOptions(intercept=intercept, refine=1e-5)
    best = fit_factors(X, Y, **settings, options=options)
    assert best.status is FitStatus.PROVED
    assert fit.certificate.gap <= 3 * (fit.certificate.objective - best.certificate.objective)


@pytest.mark.long
def test_bibtex_reaches_a_proved_gap_with_a_fifth_of_the_products(data_file):
    X, Y = _rows(data_file("bibtex"))
    settings = {"rank": 159, "penalty": 1.0}
    options = AlternatingOptions(max_iter=1, refine=1e-4)
    best = fit_factors(X, Y, **settings, options=options)
    assert best.status is FitStatus.PROVED
    fit = fit_factors(X, Y, **settings)
    # Alternation is still three times farther from the minimum after five times the products.
    assert fit.products > 5 * best.products
    assert fit.certificate.gap <= 3 * (fit.certificate.objective - best.certificate.objective)
    assert fit.certificate.lower_bound <= best.certificate.objective


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_large_means_of_features_do_not_stop_the_certificate(form):
    """With means of 1e9 deviations X^T X, centred, had negative eigenvalues: a LinAlgError."""
    X, Y = _data(0.0)
    settings = {"rank": 5, "penalty": 1.5, "options": AlternatingOptions(intercept=True)}
    plain, moved = (fit_factors(form(A), Y, **settings) for A in (X, X + 1e9))
    scale = plain.certificate.scale
    # No bound may pass the other objective, the minimum being that of both up to 1e-16 1e9.
    assert moved.certificate.lower_bound <= plain.certificate.objective + 1e-6 * scale
    assert moved.certificate.objective >= plain.certificate.lower_bound - 1e-6 * scale
    if form is np.asarray:
        assert moved.certificate.gap <= plain.certificate.gap + 1e-3 * scale
