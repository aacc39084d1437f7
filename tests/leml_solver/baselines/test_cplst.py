"""CPLST against its optimisation problem, the closed form, and the figures of the paper."""

import math
from copy import copy

import numpy as np
import pytest
import scipy.sparse as sp

from leml_solver._factored.closed_forms import cplst
from leml_solver.baselines import CPLSTClassifier, regression
from leml_solver.model_selection import evaluate_estimator
from leml_solver.readers import read

# ratio k/L -> top-1, 3, 5 accuracy, Hamming loss, AUC as printed in Tables 6 to 10
BIBTEX = {
    0.2: (55.55, 31.99, 23.11, 0.0127, 0.8657),
    0.4: (58.73, 34.53, 24.96, 0.0126, 0.8802),
    0.6: (60.36, 36.01, 26.07, 0.0126, 0.8854),
    0.8: (62.31, 36.75, 26.47, 0.0125, 0.8882),
    1.0: (63.02, 36.91, 26.47, 0.0125, 0.8878),
}


def data(seed=0, n=40, d=6, L=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 1
    return X, (X @ rng.normal(size=(d, L)) + rng.normal(size=(n, L)) > 0.5).astype(float)


def objective(X, Y, H, *, ridge=0.0, intercept=True):
    """Return the least |XW + 1b - YH|^2 + ridge |W|^2 + |Y - YHH^T|^2 over W and b."""
    codes, lost = Y @ H, Y - Y @ H @ H.T
    if intercept:
        X, codes = X - X.mean(axis=0), codes - codes.mean(axis=0)
    W = np.linalg.solve(X.T @ X + ridge * np.eye(X.shape[1]), X.T @ codes)
    return np.square(codes - X @ W).sum() + ridge * np.square(W).sum() + np.square(lost).sum()


def reached(model, X, Y):
    """Return that objective at what the model has fitted."""
    Y = Y - model.label_means_
    codes = X @ model.W_ + model.code_intercept_
    error = np.square(codes - Y @ model.H_).sum() + np.square(Y - Y @ model.H_ @ model.H_.T).sum()
    return error + model.ridge * np.square(model.W_).sum()


@pytest.mark.parametrize("centre", [True, False])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("ridge", [0.0, 5.0])
def test_no_other_directions_are_better(centre, intercept, ridge):
    X, Y = data()
    model = CPLSTClassifier(2, centre=centre, fit_intercept=intercept, ridge=ridge).fit(X, Y)
    rest, least = Y - Y.mean(axis=0) * centre, reached(model, X, Y)
    options = {"ridge": ridge, "intercept": intercept}
    # the model's own W and b are the best for its H: the two differ by rounding
    assert least == pytest.approx(objective(X, rest, model.H_, **options), rel=1e-10)
    rng = np.random.default_rng(1)
    for size in (1.0, 0.1, 0.01):
        for _ in range(50):
            H = np.linalg.qr(model.H_ + size * rng.normal(size=(5, 2)))[0]
            assert objective(X, rest, H, **options) >= least - 1e-9


def test_two_labels_by_trying_all_angles():
    X, Y = data(2, L=2)
    least = reached(CPLSTClassifier(1).fit(X, Y), X, Y)
    angles = np.linspace(0, np.pi, 2001)
    tried = [objective(X, Y - Y.mean(axis=0), np.array([[np.cos(a)], [np.sin(a)]])) for a in angles]
    assert min(tried) >= least - 1e-9
    # quadratic about the best angle, at most 8e-4 away, with curvature at most 2 |Y|^2
    assert min(tried) <= least + 8e-4**2 * np.square(Y).sum()


def test_the_closed_form_is_the_case_without_intercept():
    X, Y = data(3)
    for centre in (True, False):
        expected = cplst(X, Y, 3, centre=centre)
        model = CPLSTClassifier(3, centre=centre, fit_intercept=False).fit(X, Y)
        assert np.allclose(model.decision_function(X) + 0.5, expected.scores(X), atol=1e-11)


def test_an_intercept_is_a_constant_feature():
    X, Y = data(4)
    ones = np.column_stack([X, np.ones(len(X))])
    expected = cplst(ones, Y, 2, centre=True).scores(ones)
    assert np.allclose(CPLSTClassifier(2).fit(X, Y).decision_function(X) + 0.5, expected)


@pytest.mark.parametrize("shape", [(60, 12), (12, 60)])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_gram_matrices_of_sparse_features_say_the_same(monkeypatch, shape, intercept, ridge):
    X, Y = data(5, *shape)
    X[np.abs(X) < 1] = 0
    X[:, 3] = X[:, 2]  # dependent columns: the least norm must be found
    model = CPLSTClassifier(3, fit_intercept=intercept, ridge=ridge)
    new = data(6, 20, shape[1])[0]
    expected = model.fit(X, Y).decision_function(new)
    monkeypatch.setattr(regression, "_SMALL", 0)
    monkeypatch.setattr(regression, "compress", None)  # not to be called any more
    found = model.fit(sp.csr_array(X), sp.csr_array(Y)).decision_function(new)
    # squared condition number, about 1e4, times rounding
    assert np.allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize("shape", [(60, 12), (12, 60)])
@pytest.mark.parametrize("constant", [1e3 / 3, 1e6 / 3, 1e9 / 3])
def test_a_large_constant_among_sparse_features_costs_no_digits(monkeypatch, shape, constant):
    X, Y = data(5, *shape)
    X[np.abs(X) < 1] = 0
    expected = CPLSTClassifier(3, ridge=0.1).fit(X, Y).decision_function(X)
    X = np.column_stack([X, np.full(len(X), constant)])
    monkeypatch.setattr(regression, "_SMALL", 0)
    model = CPLSTClassifier(3, ridge=0.1).fit(sp.csr_array(X), Y)
    # squared condition number, about 1e4, times rounding; its squares alone would be 1e17
    assert np.allclose(model.decision_function(X), expected, atol=1e-10)
    assert not model.W_[-1].any()
    Z, _ = regression.ridge_regression(sp.csr_array(X), Y, 0.1, intercept=True)
    assert not Z[-1].any()


@pytest.mark.parametrize("small", [0, 1 << 20])
def test_nothing_is_learnt_from_equal_points(monkeypatch, small):
    Y = data()[1]
    X = np.tile(np.linspace(0.1, 1, 7), (40, 1))
    monkeypatch.setattr(regression, "_SMALL", small)
    for rows in (X, sp.csr_array(X)):
        assert not CPLSTClassifier(3).fit(rows, Y).W_.any()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"rank": 0}, "`rank` must be at least 1"), ({"ridge": -1.0}, "`ridge` must not be negative")],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        CPLSTClassifier(**parameters).fit(*data())


def test_features_of_zeros_predict_the_means():
    Y = data()[1]
    scores = CPLSTClassifier(3).fit(np.zeros((40, 2)), Y).decision_function(np.zeros((1, 2)))
    assert np.allclose(scores + 0.5, Y.mean(axis=0), atol=1e-14)


def test_the_printed_figures_of_bibtex_digit_for_digit(data_file):
    train, test = read(data_file("bibtex")).split()
    full = CPLSTClassifier(159).fit(train.X, train.Y)
    for ratio, printed in BIBTEX.items():
        rank = math.ceil(ratio * 159)  # so the printed rows tell
        part = copy(full)  # directions are ordered: a smaller rank is a part
        part.W_, part.H_ = full.W_[:, :rank], full.H_[:, :rank]
        part.code_intercept_ = full.code_intercept_[:rank]
        metrics = evaluate_estimator(part, test.X, test.Y)
        found = [round(100 * metrics.top_k[k], 2) for k in (1, 3, 5)]
        assert (*found, round(metrics.hamming, 4), round(metrics.auc, 4)) == printed
