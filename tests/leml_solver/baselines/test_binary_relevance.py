"""Binary relevance against normal equations, scikit-learn's solvers, and vanishing gradients."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from leml_solver.baselines import BinaryRelevanceClassifier, _label_losses, _label_newton
from leml_solver.baselines._label_losses import column_losses, derivatives, line_derivatives
from leml_solver.baselines.regression import ridge_regression
from leml_solver.losses import LOSSES

NAMES = ("squared", "logistic", "squared_hinge")
TIGHT = {"tol": 1e-9, "max_iter": 200}


def data(seed=0, n=80, d=7, L=6, missing=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(0.3, 3, d) + 0.5
    X[np.abs(X) < 0.4] = 0
    Y = (X @ rng.normal(size=(d, L)) / 3 + rng.normal(size=(n, L)) > 0.7).astype(float)
    Y[rng.random(Y.shape) < missing] = np.nan
    return X, Y


def gradient(model, X, Y, loss):
    """Return the gradient in (Z, b) at the model, missing labels left out, and the objective."""
    loss, known = LOSSES[loss], ~np.isnan(Y)
    labels = np.where(known, np.nan_to_num(Y), 0)
    labels = np.where(labels > 0, 1.0, -1.0) if loss.binary else labels
    f = X @ model.Z_ + model.intercept_
    slopes = loss.derivative(labels, f) * known
    objective = (loss.value(labels, f) * known).sum()
    objective += 0.5 * model.penalty * np.square(model.Z_).sum()
    return X.T @ slopes + model.penalty * model.Z_, slopes.sum(axis=0), objective


@pytest.mark.parametrize("loss", NAMES)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("missing", [0.0, 0.5])
@pytest.mark.parametrize("penalty", [0.1, 10.0])
def test_the_gradient_vanishes(loss, intercept, missing, penalty):
    X, Y = data(missing=missing)
    model = BinaryRelevanceClassifier(
        loss=loss, penalty=penalty, fit_intercept=intercept, **TIGHT
    ).fit(sp.csr_array(X), Y)
    in_Z, in_b, objective = gradient(model, X, Y, loss)
    # 1e-9 of gradients of about 100 at the start
    assert np.abs(in_Z).max() < 1e-6
    assert np.abs(in_b).max() < 1e-6 if intercept else not model.intercept_.any()
    assert model.objective_ == pytest.approx(objective, rel=1e-12)
    assert model.converged_
    assert model.gradient_norms_.max() <= 1e-9
    assert 1 <= model.n_iter_ <= 30


@pytest.mark.parametrize("shape", [(80, 7), (20, 50)])
@pytest.mark.parametrize("intercept", [True, False])
def test_squared_loss_is_ridge_regression(shape, intercept):
    X, Y = data(1, *shape)
    expected = Ridge(alpha=2.0, fit_intercept=intercept).fit(X, Y)
    for form in (X, sp.csr_array(X)):
        model = BinaryRelevanceClassifier(penalty=2.0, fit_intercept=intercept).fit(form, Y)
        # Cholesky of a matrix with condition number about 1e3
        assert np.allclose(model.Z_, expected.coef_.T, atol=1e-10)
        assert np.allclose(model.intercept_, expected.intercept_, atol=1e-10)
    assert model.n_iter_ == 1


def test_features_far_from_zero_lose_no_digits():
    X, Y = data(1)
    near, far = BinaryRelevanceClassifier().fit(X, Y), BinaryRelevanceClassifier().fit(X + 1e6, Y)
    # means of 1e6 leave ten digits of each feature
    assert np.allclose(far.Z_, near.Z_, atol=1e-7)
    assert far.converged_


@pytest.mark.parametrize("ridge", [0.0, 1e-9, 1.0])
@pytest.mark.parametrize("shape", [(30, 6), (6, 30)])
def test_regression_with_a_vanishing_ridge_has_least_norm(ridge, shape):
    X, Y = data(2, *shape)
    X[:, 2] = X[:, 1]
    Z, intercept = ridge_regression(sp.csr_array(X), Y, ridge, intercept=True)
    centred = X - X.mean(axis=0)
    rows = np.vstack([centred, np.sqrt(ridge) * np.eye(shape[1])])
    right = np.vstack([Y - Y.mean(axis=0), np.zeros((shape[1], Y.shape[1]))])
    expected = np.linalg.lstsq(rows, right, rcond=1e-10)[0]
    # a ridge of 1e-9 against singular values from 1 on moves the coefficients by about 1e-9
    assert np.allclose(Z, expected, atol=1e-7)
    assert np.allclose(intercept, Y.mean(axis=0) - X.mean(axis=0) @ Z, atol=1e-12)


@pytest.mark.parametrize("intercept", [True, False])
def test_logistic_loss_is_logistic_regression(intercept):
    X, Y = data(3)
    model = BinaryRelevanceClassifier(
        loss="logistic", penalty=2.0, fit_intercept=intercept, **TIGHT
    ).fit(X, Y)
    probabilities = model.predict_proba(X)
    for j in range(Y.shape[1]):
        other = LogisticRegression(
            C=0.5, fit_intercept=intercept, tol=1e-12, max_iter=10_000, solver="newton-cholesky"
        ).fit(X, Y[:, j])
        # both solve to a gradient of about 1e-8 against a curvature of at least the penalty
        assert np.allclose(model.Z_[:, j], other.coef_[0], atol=1e-7)
        assert model.intercept_[j] == pytest.approx(float(other.intercept_[0]), abs=1e-7)
        assert np.allclose(probabilities[:, j], other.predict_proba(X)[:, 1], atol=1e-7)
    assert not hasattr(BinaryRelevanceClassifier(), "predict_proba")


def test_squared_hinge_is_the_linear_svm():
    X, Y = data(4)
    model = BinaryRelevanceClassifier(
        loss="squared_hinge", penalty=2.0, fit_intercept=False, **TIGHT
    ).fit(X, Y)
    for j in range(Y.shape[1]):
        # its intercept would be penalised, so the comparison is without
        other = LinearSVC(C=0.5, fit_intercept=False, dual=False, tol=1e-12, max_iter=10_000).fit(
            X, Y[:, j]
        )
        assert np.allclose(model.Z_[:, j], other.coef_[0], atol=1e-6)


@pytest.mark.parametrize("loss", NAMES)
@pytest.mark.parametrize("intercept", [True, False])
def test_missing_labels_are_absent_from_the_loss(loss, intercept):
    X, Y = data(5, missing=0.6)
    settings = {"loss": loss, "penalty": 0.5, "fit_intercept": intercept, **TIGHT}
    model = BinaryRelevanceClassifier(**settings).fit(X, Y)
    for j in range(Y.shape[1]):
        rows = ~np.isnan(Y[:, j])
        alone = BinaryRelevanceClassifier(**settings).fit(X[rows], Y[rows, j : j + 1])
        # gradients of 1e-7 against a penalty of 0.5
        assert np.allclose(model.Z_[:, j], alone.Z_[:, 0], atol=1e-6)
        assert model.intercept_[j] == pytest.approx(alone.intercept_[0], abs=1e-6)


@pytest.mark.parametrize("loss", ["squared", "squared_hinge"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_equations_of_rows_and_conjugate_gradients_agree(monkeypatch, loss, form):
    X, Y = data(6, 60, 90, missing=0.5)  # fewer rows than features, so that the rows are taken
    settings = {"loss": loss, "penalty": 0.3, **TIGHT}
    exact = BinaryRelevanceClassifier(**settings).fit(form(X), Y)
    monkeypatch.setattr(_label_newton, "_FEW_ROWS", 0)
    iterated = BinaryRelevanceClassifier(**settings).fit(form(X), Y)
    assert np.allclose(exact.Z_, iterated.Z_, atol=1e-6)
    assert np.allclose(exact.intercept_, iterated.intercept_, atol=1e-6)


@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_labels_in_blocks_are_the_same_labels(monkeypatch, missing):
    X, Y = data(7, L=9, missing=missing)
    settings = {"loss": "logistic", **TIGHT}
    expected = BinaryRelevanceClassifier(**settings).fit(X, Y)
    monkeypatch.setattr(_label_losses, "_BLOCK_ENTRIES", 1)
    monkeypatch.setattr(_label_losses, "_FEWEST", 4)
    for labels in (Y, sp.csr_array(Y)) if not missing else (Y,):
        blocks = BinaryRelevanceClassifier(**settings).fit(X, labels)
        assert np.allclose(blocks.Z_, expected.Z_, atol=1e-7)
        assert blocks.gradient_norms_.shape == (9,)
        assert blocks.objective_ == pytest.approx(expected.objective_, rel=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_compiled_losses_are_the_losses_of_the_house(name):
    rng = np.random.default_rng(8)
    loss, f = LOSSES[name], 4 * rng.normal(size=(50, 4))
    f[0], f[1] = 900.0, -900.0  # where careless exponentials overflow
    signs = rng.choice(np.array([-1, 0, 1], dtype=np.int8), size=f.shape)
    known, labels = signs != 0, signs.astype(float) if loss.binary else (signs > 0).astype(float)
    found = derivatives(name, signs, f)
    for ours, theirs in (
        (found.slopes, loss.derivative),
        (found.curvatures, loss.second_derivative),
    ):
        # one exponential each
        assert np.allclose(ours, theirs(labels, f) * known, rtol=1e-12, atol=1e-300)
    values = (loss.value(labels, f) * known).sum(axis=0)
    assert np.allclose(column_losses(name, signs, f), values, rtol=1e-12)
    s, t = rng.normal(size=f.shape), rng.random(4)
    slope, curvature = line_derivatives(name, signs, f, s, t)
    at = f + t * s
    assert np.allclose(slope, (loss.derivative(labels, at) * known * s).sum(axis=0), rtol=1e-10)
    expected = (loss.second_derivative(labels, at) * known * s**2).sum(axis=0)
    assert np.allclose(curvature, expected, rtol=1e-10)


@pytest.mark.parametrize("loss", NAMES)
def test_labels_with_one_value_only(loss):
    X, Y = data(9)
    Y[:, 0], Y[:, 1] = 1, 0
    model = BinaryRelevanceClassifier(loss=loss).fit(X, Y)
    assert model.converged_
    assert model.predict(X)[:, :2].tolist() == [[1, 0]] * len(X)
    # nothing to tell apart, so no weights; the logistic loss comes near it only
    assert np.abs(model.Z_[:, :2]).max() < 1e-3


def test_a_label_never_observed_has_no_weights():
    X, Y = data(10, missing=0.2)
    Y[:, 2] = np.nan
    for loss in NAMES:
        with pytest.warns(UserWarning, match="without an observed entry"):
            model = BinaryRelevanceClassifier(loss=loss).fit(X, Y)
        assert not model.Z_[:, 2].any()
        assert model.converged_


def test_too_few_steps_are_said():
    X, Y = data(11)
    with pytest.warns(ConvergenceWarning, match=r"not converged in 1 Newton steps: 6"):
        model = BinaryRelevanceClassifier(loss="logistic", max_iter=1, tol=1e-6).fit(X, Y)
    assert not model.converged_
    assert (model.gradient_norms_ > 1e-6).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert BinaryRelevanceClassifier(loss="logistic").fit(X, Y).converged_


@pytest.mark.parametrize("loss", NAMES)
def test_separable_labels_and_a_small_penalty(loss):
    rng = np.random.default_rng(12)
    X = (rng.random((150, 200)) < 0.1).astype(float)
    Y = np.where(rng.random((150, 8)) < 0.5, np.nan, X[:, :8])
    model = BinaryRelevanceClassifier(loss=loss, penalty=1e-3).fit(sp.csr_array(X), Y)
    assert model.converged_
    seen = ~np.isnan(Y)
    # more features than rows: every label observed can be told apart
    assert np.array_equal(model.predict(X)[seen], Y[seen])


@pytest.mark.parametrize("loss", ["squared", "squared_hinge"])
@pytest.mark.parametrize("penalty", [1e-6, 1e-12])
@pytest.mark.parametrize("intercept", [True, False])
def test_equal_rows_and_a_penalty_of_nearly_nothing(loss, penalty, intercept):
    rng = np.random.default_rng(13)
    X = np.tile(100 * rng.normal(size=(30, 80)), (2, 1))
    Y = np.where(rng.random((60, 5)) < 0.3, np.nan, rng.random((60, 5)) < 0.4)
    model = BinaryRelevanceClassifier(loss=loss, penalty=penalty, fit_intercept=intercept)
    assert model.fit(X, Y).converged_
    # independent but for the pairs: the scores are the best for each pair, the means of its labels
    first, second = Y[:30], Y[30:]
    best = np.where(
        np.isnan(first), second, np.where(np.isnan(second), first, (first + second) / 2)
    )
    seen, scores = ~np.isnan(best), X[:30] @ model.Z_ + model.intercept_
    best = best if loss == "squared" else 2 * best - 1
    # at most the penalty times |w|^2, about 1e-4, is saved elsewhere
    error = (
        scores - best if loss == "squared" else np.minimum(0, np.sign(best) * scores - abs(best))
    )
    assert np.abs(error[seen]).max() < 1e-6


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "hinge"}, "`loss` must be one of 'squared', 'logistic', 'squared_hinge'"),
        ({"penalty": 0.0}, "`penalty` must be positive"),
        ({"max_iter": 0}, "`max_iter` must be at least 1"),
        ({"tol": -1.0}, "`tol` must be positive"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        BinaryRelevanceClassifier(**parameters).fit(*data())
