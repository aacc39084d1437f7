"""PLST: the best reconstruction of the labels, then regression of the codes."""

import numpy as np
import pytest
import scipy.sparse as sp

from leml_solver.baselines import CPLSTClassifier, PLSTClassifier


def data(seed=0, n=40, d=6, L=7):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X @ rng.normal(size=(d, L)) + rng.normal(size=(n, L)) > 0.5).astype(float)


@pytest.mark.parametrize("rank", [1, 3, 7])
def test_directions_reconstruct_the_labels_best(rank):
    X, Y = data()
    H = PLSTClassifier(rank).fit(X, sp.csr_array(Y)).H_
    centred = Y - Y.mean(axis=0)
    dropped = np.linalg.svd(centred, compute_uv=False)[rank:]
    # Eckart and Young: no projection of that rank leaves less; rounding of sums of 280 squares
    error = np.square(centred - centred @ H @ H.T).sum()
    assert error == pytest.approx(np.square(dropped).sum(), abs=1e-10)
    assert np.allclose(H.T @ H, np.eye(rank), atol=1e-12)


@pytest.mark.parametrize("ridge", [0.0, 2.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_codes_solve_the_normal_equations(ridge, intercept):
    X, Y = data(1)
    model = PLSTClassifier(3, ridge=ridge, fit_intercept=intercept).fit(X, Y)
    codes = (Y - Y.mean(axis=0)) @ model.H_
    residual = codes - X @ model.W_ - model.code_intercept_
    # zero up to the rounding of sums over 40 rows
    assert np.allclose(X.T @ residual, ridge * model.W_, atol=1e-10)
    assert np.allclose(residual.sum(axis=0), 0, atol=1e-10) or not intercept
    assert intercept or not model.code_intercept_.any()


def test_uncentred_labels_have_codes_with_means():
    X, Y = data(2)
    model = PLSTClassifier(7, centre=False).fit(X, Y)
    assert not model.label_means_.any()
    # all directions are kept: plain regression either way, the mean now in the codes
    expected = PLSTClassifier(7).fit(X, Y).decision_function(X)
    assert np.allclose(model.decision_function(X), expected, atol=1e-10)


def test_at_full_rank_it_is_plain_regression_like_cplst():
    X, Y = data(3)
    expected = CPLSTClassifier(7).fit(X, Y).decision_function(X)
    assert np.allclose(PLSTClassifier(99).fit(X, Y).decision_function(X), expected, atol=1e-10)


def test_cplst_predicts_what_is_trained_on_no_worse():
    X, Y = data(5)
    errors = []
    for cls in (CPLSTClassifier, PLSTClassifier):
        scores = cls(2).fit(X, Y).decision_function(X) + 0.5
        errors.append(np.square(Y - scores).sum())
    # CPLST has the least squared error of all predictors of that rank
    assert errors[0] < errors[1]
