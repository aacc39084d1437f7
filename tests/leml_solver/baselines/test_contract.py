"""What every baseline promises: scikit-learn's contract and the interface of LEMLClassifier."""

import inspect
import pickle

import numba
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from leml_solver import baselines
from leml_solver.metrics import average_auc
from leml_solver.model_selection import MultiLabelScorer, evaluate_estimator

CLASSES = [getattr(baselines, name) for name in baselines.__all__ if name != "Baseline"]
WITH_MISSING = [cls for cls in CLASSES if cls.takes_missing]
WITHOUT_MISSING = [cls for cls in CLASSES if not cls.takes_missing]
# A parameter of each to search over.
GRIDS = {
    "LabelFrequencyClassifier": {"smoothing": [0.0, 1.0]},
    "BinaryRelevanceClassifier": {"loss": ["squared", "logistic", "squared_hinge"]},
    "CompressedSensingClassifier": {"n_measurements": [3, 5]},
}


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Threads only get in each other's way on problems of this size."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)


def model(cls, **parameters):
    """Return an estimator with a seed if it takes one."""
    seed = {"random_state": 0} if "random_state" in inspect.signature(cls).parameters else {}
    return cls(**{**seed, **parameters})


def toy(seed=0, n=80, d=8, L=5, missing=0.0):
    """Return features and labels of a planted low-rank model, some labels missing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Z = rng.normal(size=(d, 2)) @ rng.normal(size=(2, L))
    Y = (X @ Z + 0.3 * rng.normal(size=(n, L)) > 0.5).astype(float)
    Y[rng.random(Y.shape) < missing] = np.nan
    return X, Y


ESTIMATORS = [model(cls) for cls in CLASSES]
ESTIMATORS += [
    baselines.BinaryRelevanceClassifier(loss="logistic"),
    baselines.BinaryRelevanceClassifier(loss="squared_hinge"),
    baselines.CPLSTClassifier(centre=False, fit_intercept=False),
]


@parametrize_with_checks(ESTIMATORS)
@pytest.mark.filterwarnings("ignore")  # the checks provoke warnings of all kinds
def test_scikit_learns_contract(estimator, check):
    assert check is not None
    check(estimator)


def test_each_is_listed_and_loaded_when_asked_for():
    assert len(CLASSES) >= 7
    assert all(issubclass(cls, baselines.Baseline) for cls in CLASSES)
    with pytest.raises(AttributeError, match="no attribute 'NoSuchClassifier'"):
        _ = baselines.NoSuchClassifier


@pytest.mark.parametrize("cls", CLASSES)
def test_predictions_are_scores_above_zero(cls):
    X, Y = toy()
    fitted = model(cls).fit(X, Y)
    scores = fitted.decision_function(X)
    assert scores.shape == Y.shape
    assert np.isfinite(scores).all()
    assert np.array_equal(fitted.predict(X), scores > 0)
    assert fitted.label_values_.tolist() == [0, 1]
    labels, best = fitted.predict_topk(X, 3, return_scores=True)
    assert np.array_equal(labels, np.argsort(-scores, axis=1, kind="stable")[:, :3])
    # blocks of other heights may be summed in another order
    assert np.allclose(best, np.take_along_axis(scores, labels, axis=1), atol=1e-10)


@pytest.mark.parametrize("cls", CLASSES)
def test_no_worse_than_label_frequencies(cls):
    X, Y = toy(n=200)
    floor = model(baselines.LabelFrequencyClassifier).fit(X, Y).decision_function(X)
    scores = model(cls).fit(X, Y).decision_function(X)
    better = cls is not baselines.LabelFrequencyClassifier
    # features say nearly everything about the labels: 0.05 is far below what is to be gained
    assert average_auc(Y, scores) >= average_auc(Y, floor) + 0.05 * better


def test_rows_without_a_label_do_not_count_in_the_score():
    X, Y = toy()
    fitted = baselines.CPLSTClassifier().fit(X, Y)
    some = np.where(np.arange(len(Y))[:, None] < 30, np.nan, Y)
    assert 0 < fitted.score(X[30:], Y[30:]) == fitted.score(X, some)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_entries_that_are_stored_in_parts_are_added_up_in_a_copy(estimator):
    X, Y = toy(n=40, d=60)
    X[np.abs(X) < 0.7] = 0
    if estimator.takes_missing:
        Y[::7, 0] = np.nan
    whole = sparse.csr_array(X)
    halves = sparse.csr_array(
        (np.repeat(whole.data / 2, 2), np.repeat(whole.indices, 2), 2 * whole.indptr), X.shape
    )
    expected, found = (clone(estimator).fit(rows, Y) for rows in (whole, halves))
    # halves add up exactly, and all the rest is the same
    assert np.array_equal(found.decision_function(halves), expected.decision_function(whole))
    assert halves.nnz == 2 * whole.nnz


@pytest.mark.parametrize("cls", CLASSES)
def test_sparse_and_dense_features_are_the_same(cls):
    X, Y = toy()
    X[np.abs(X) < 0.7] = 0
    dense, thin = model(cls).fit(X, Y), model(cls).fit(sparse.csr_array(X), Y)
    # the same numbers summed in another order, amplified by a conditioning of about ten, or
    # iterated to a tolerance of 1e-4 of the gradient
    expected = dense.decision_function(X)
    assert np.allclose(thin.decision_function(sparse.csc_matrix(X)), expected, atol=1e-3)


@pytest.mark.parametrize("cls", CLASSES)
def test_labels_come_back_as_they_were_given(cls):
    X, Y = toy()
    plain = model(cls).fit(X, Y)
    thin = model(cls).fit(X, sparse.csr_matrix(Y)).predict(X)
    assert sparse.issparse(thin)
    assert np.array_equal(thin.toarray(), plain.predict(X))
    frame = pd.DataFrame(Y, columns=list("abcde"))
    named = model(cls).fit(X, frame)
    assert list(named.predict(X).columns) == list("abcde")
    assert isinstance(named.decision_function(X), pd.DataFrame)
    signs = model(cls).fit(X, 2 * Y - 1)
    assert np.array_equal(signs.predict(X), 2 * plain.predict(X) - 1)
    assert plain.score(X, Y) == (plain.predict(X) == Y).all(axis=1).mean()


@pytest.mark.parametrize("cls", WITH_MISSING)
def test_missing_labels_are_not_zeros(cls):
    X, Y = toy(missing=0.4)
    observed = ~np.isnan(Y)
    known = model(cls).fit(X, Y).decision_function(X)
    zeros = model(cls).fit(X, np.nan_to_num(Y)).decision_function(X)
    assert not np.allclose(known, zeros)
    filled = np.where(observed, Y, 1.0)  # what stands at missing entries does not matter
    for form, mask in ((filled, observed), (sparse.csr_array(filled), sparse.csr_array(observed))):
        assert np.array_equal(model(cls).fit(X, form, mask=mask).decision_function(X), known)


@pytest.mark.parametrize("cls", WITH_MISSING)
def test_labels_never_observed_are_named(cls):
    X, Y = toy()
    Y[:, 3] = np.nan
    with pytest.warns(UserWarning, match=r"without an observed entry: 1 \(columns 3\)"):
        fitted = model(cls).fit(X, Y)
    assert fitted.unobserved_labels_.tolist() == [3]
    assert np.isfinite(fitted.decision_function(X)).all()


@pytest.mark.parametrize("cls", WITHOUT_MISSING)
def test_missing_labels_are_refused_where_every_label_is_needed(cls):
    X, Y = toy()
    Y[3, :2] = np.nan
    with pytest.raises(
        ValueError, match=rf"{cls.__name__} needs every label, got 2 missing of 400"
    ):
        model(cls).fit(X, Y)


@pytest.mark.parametrize("cls", CLASSES)
def test_bad_input(cls):
    X, Y = toy()
    with pytest.raises(NotFittedError):
        model(cls).predict(X)
    with pytest.raises(ValueError, match="80 and 79"):
        model(cls).fit(X, Y[:-1])
    with pytest.raises(ValueError, match="0/1 labels"):
        model(cls).fit(X, 3 * Y)
    with pytest.raises(ValueError, match="every label is missing"):
        model(cls).fit(X, np.full(Y.shape, np.nan))
    with pytest.raises(ValueError, match="NaN"):
        model(cls).fit(np.where(X > 1, np.nan, X), Y)
    with pytest.raises(ValueError, match="8 features"):
        model(cls).fit(X, Y).predict(X[:, :-1])


@pytest.mark.parametrize("cls", CLASSES)
def test_copies_and_pickles_give_the_same_scores(cls):
    X, Y = toy()
    fitted = model(cls).fit(X, Y)
    scores = fitted.decision_function(X)
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).decision_function(X), scores)
    assert np.array_equal(clone(fitted).fit(X, Y).decision_function(X), scores)


@pytest.mark.parametrize("cls", CLASSES)
def test_grid_search(cls):
    X, Y = toy()
    grid = GRIDS.get(cls.__name__, {"rank": [1, 3]})
    search = GridSearchCV(model(cls), grid, cv=KFold(3), scoring=MultiLabelScorer("auc"))
    search.fit(sparse.csr_array(X), Y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    metrics = evaluate_estimator(search, X, Y)
    assert 0 <= metrics.hamming <= 0.5


@pytest.mark.parametrize("cls", CLASSES)
def test_a_vector_of_classes(cls):
    rng = np.random.default_rng(0)
    codes = np.arange(90) % 3
    X = np.eye(3)[codes] + 0.2 * rng.normal(size=(90, 3))
    y = np.array(["red", "green", "blue"])[codes]
    fitted = model(cls).fit(X, y)
    assert fitted.classes_.tolist() == ["blue", "green", "red"]
    predicted = fitted.predict(X)
    assert np.array_equal(predicted, fitted.classes_[fitted.decision_function(X).argmax(axis=1)])
    # clusters five standard deviations apart; the floor names one class for all
    floor = cls is baselines.LabelFrequencyClassifier
    assert fitted.score(X, y) >= (1 / 3 if floor else 0.85)
    unlabelled = y.astype(object)
    unlabelled[::2] = None
    some, same = model(cls).fit(X, unlabelled), model(cls).fit(X[1::2], y[1::2])
    assert np.array_equal(some.decision_function(X), same.decision_function(X))
