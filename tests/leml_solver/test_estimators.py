"""The scikit-learn face: its contract, missing labels, pandas, search, and what it hands back."""

import tracemalloc
import warnings

import numba
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from leml_solver._estimation.weights import EntryWeights
from leml_solver._factored.fit import AlternatingOptions, fit_factors
from leml_solver.estimators import LEMLClassifier, LEMLRegressor
from leml_solver.labels import Labels
from leml_solver.model_selection import EntrySplit, MultiLabelScorer, evaluate_estimator

LOSSES = ("squared", "logistic", "squared_hinge")
NO_CERTIFICATE = AlternatingOptions(certify=False)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Threads only get in each other's way on problems of this size."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)


# Weights and copies of a row lead along other paths of conjugate gradients, and for kernels to
# other coordinates: fits agree where they have converged (see below), not to 1e-7 at any `tol`.
PATHS_DIFFER = {
    f"check_sample_weight_equivalence_on_{kind}_data": "agrees at convergence only"
    for kind in ("dense", "sparse")
}


def expected_failures(estimator):
    return PATHS_DIFFER if getattr(estimator, "loss", "squared") == "logistic" else {}


@parametrize_with_checks(
    [LEMLClassifier(), LEMLClassifier(loss="logistic"), LEMLRegressor(fit_intercept=False)],
    expected_failed_checks=expected_failures,
)
@pytest.mark.filterwarnings("ignore")  # the checks provoke warnings of all kinds
def test_scikit_learns_contract(estimator, check):
    assert check is not None
    check(estimator)


@pytest.mark.filterwarnings("ignore")
def test_kernels_keep_scikit_learns_contract():
    """Not parametrised: a function in the test's name differs from one process to the next."""
    model = LEMLClassifier(kernel=linear_kernel, options=NO_CERTIFICATE)
    results = check_estimator(
        model, on_skip=None, on_fail=None, expected_failed_checks=PATHS_DIFFER
    )
    assert [r["check_name"] for r in results if r["status"] == "failed"] == []
    assert len(results) > 50


def toy(seed=0, n=60, d=8, L=5, missing=0.0):
    """Return features and labels of a planted low-rank model, some labels missing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Z = rng.normal(size=(d, 2)) @ rng.normal(size=(2, L))
    Y = (X @ Z + rng.normal(size=(n, L)) > 0).astype(float)
    Y[rng.random(Y.shape) < missing] = np.nan
    return X, Y


def classifier(**parameters):
    return LEMLClassifier(**{"rank": 3, "penalty": 1.0, "random_state": 0, **parameters})


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", [True, False])
def test_predictions_are_scores_above_zero(loss, intercept):
    X, Y = toy(missing=0.3)
    model = classifier(loss=loss, fit_intercept=intercept).fit(X, Y)
    scores = model.decision_function(X)
    assert np.array_equal(model.predict(X), scores > 0)
    assert model.classes_.tolist() == [0, 1, 2, 3, 4]
    assert model.label_values_.tolist() == [0, 1]
    threshold = 0.5 if loss == "squared" else 0
    # float64 products in another order
    assert np.allclose(scores, X @ model.W_ @ model.H_.T + model.intercept_ - threshold, atol=1e-10)
    assert np.allclose(model.transform(X), X @ model.W_, atol=1e-10)
    assert (model.W_.shape, model.H_.shape, model.intercept_.shape) == ((8, 3), (5, 3), (5,))
    assert intercept or not model.intercept_.any()
    assert model.certificate_.gap >= 0
    assert model.status_.value.endswith(".") or model.status_.value


def test_factors_are_those_of_the_solver():
    X, Y = toy(missing=0.3)
    options = AlternatingOptions(max_iter=4, tol=1e-4, certify=False)
    result = fit_factors(X, Y, rank=3, penalty=2.0, random_state=7, options=options)
    model = classifier(
        penalty=2.0, max_iter=4, fit_intercept=False, options=NO_CERTIFICATE, random_state=7
    ).fit(X, Y)
    assert np.array_equal(model.W_, result.W)
    assert np.array_equal(model.H_, result.H)
    assert model.certificate_ is None
    assert model.n_iter_ == result.iterations
    assert [p.objective for p in model.trace_] == [p.objective for p in result.trace]


def test_missing_is_not_zero():
    X, Y = toy(missing=0.4)
    known = classifier().fit(X, Y)
    zeros = classifier().fit(X, np.nan_to_num(Y))
    assert not np.allclose(known.W_ @ known.H_.T, zeros.W_ @ zeros.H_.T)
    observed = ~np.isnan(Y)
    filled = np.where(observed, Y, 1.0)  # what stands at missing entries does not matter
    for form, mask in (
        (filled, observed),
        (sparse.csr_array(filled), observed),
        (sparse.csr_matrix(np.nan_to_num(Y)), sparse.csr_array(observed)),
    ):
        masked = classifier().fit(X, form, mask=mask)
        assert np.array_equal(masked.decision_function(X), known.decision_function(X))


def test_a_sparse_matrix_is_full_and_predictions_are_sparse():
    X, Y = toy()
    dense = classifier().fit(X, Y)
    model = classifier().fit(sparse.csr_matrix(X), sparse.csr_matrix(Y))
    predicted = model.predict(sparse.csr_matrix(X))
    assert sparse.issparse(predicted)
    assert np.array_equal(predicted.toarray(), dense.predict(X))
    assert model.score(X, sparse.csr_matrix(Y)) == accuracy_score(Y, dense.predict(X))


def test_pandas_in_and_out():
    X, Y = toy(missing=0.3)
    rows = [f"row {i}" for i in range(len(X))]
    features = pd.DataFrame(X, index=rows, columns=[f"x{j}" for j in range(X.shape[1])])
    labels = pd.DataFrame(Y, index=rows, columns=list("abcde"))
    nullable = labels.convert_dtypes()  # integers with NA
    assert nullable.isna().any(axis=None)
    plain = classifier().fit(X, Y)
    for frame in (labels, nullable, nullable.astype(object)):
        model = classifier(loss="squared").fit(features, frame)
        predicted = model.predict(features)
        assert list(predicted.columns) == list("abcde")
        assert list(predicted.index) == rows
        assert np.array_equal(predicted.to_numpy(), plain.predict(X))
        assert isinstance(model.decision_function(features), pd.DataFrame)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(features.rename(columns={"x0": "other"}))
    latent = model.set_output(transform="pandas").transform(features)
    assert list(latent.columns) == ["lemlclassifier0", "lemlclassifier1", "lemlclassifier2"]


def test_signs_are_labels_too():
    X, Y = toy(missing=0.2)
    zero_one, signs = classifier().fit(X, Y), classifier().fit(X, 2 * Y - 1)
    assert signs.label_values_.tolist() == [-1, 1]
    assert np.array_equal(signs.predict(X), 2 * zero_one.predict(X) - 1)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_vector_of_classes(loss):
    rng = np.random.default_rng(0)
    codes = np.arange(90) % 3
    X = np.eye(3)[codes] + 0.2 * rng.normal(size=(90, 3))
    y = np.array(["red", "green", "blue"])[codes]
    model = classifier(loss=loss).fit(X, y)
    assert model.classes_.tolist() == ["blue", "green", "red"]
    # clusters five standard deviations apart
    assert model.score(X, y) > 0.95
    assert np.array_equal(
        model.predict(X), model.classes_[model.decision_function(X).argmax(axis=1)]
    )
    unlabelled = y.astype(object)
    unlabelled[::2] = None
    some = classifier(loss=loss).fit(X, unlabelled)
    same = classifier(loss=loss).fit(X[1::2], y[1::2])
    assert np.array_equal(some.decision_function(X), same.decision_function(X))
    for numbers, kind in ((codes, "i"), (codes == 1, "b")):  # None makes objects of them
        partly = classifier(loss=loss).fit(X, np.where(np.arange(90) % 2, numbers, None))
        assert partly.classes_.dtype.kind == kind
        assert np.array_equal(partly.classes_, np.unique(numbers))
    two = classifier(loss=loss).fit(X, codes == 1)
    assert two.decision_function(X).shape == (90,)
    assert np.array_equal(two.predict(X), two.decision_function(X) > 0)


def test_probabilities_come_with_the_logistic_loss():
    X, Y = toy(missing=0.3)
    model = classifier(loss="logistic").fit(X, Y)
    expected = 1 / (1 + np.exp(-model.decision_function(X)))
    assert np.allclose(model.predict_proba(X), expected, atol=1e-12)  # one rounding each
    classes = classifier(loss="logistic").fit(X, np.arange(len(X)) % 3).predict_proba(X)
    assert classes.shape == (60, 3)
    assert np.allclose(classes.sum(axis=1), 1)
    assert not hasattr(classifier(), "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba"):
        classifier().fit(X, Y).predict_proba(X)


def test_top_k_holds_a_block_only():
    rng = np.random.default_rng(0)
    X, Y = toy(n=50, d=4, L=2000)
    model = classifier(rank=2, max_iter=1, options=NO_CERTIFICATE).fit(X, Y)
    many = rng.normal(size=(10_000, 4))
    labels, scores = model.predict_topk(many[:20], 3, return_scores=True)
    full = model.decision_function(many[:20])
    assert np.array_equal(labels, np.argsort(-full, axis=1, kind="stable")[:, :3])
    # BLAS may sum blocks of other heights in another order
    assert np.allclose(scores, np.take_along_axis(full, labels, axis=1), atol=1e-10)
    tracemalloc.start()
    assert model.predict_topk(many, 3).shape == (10_000, 3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 80e6  # two blocks of 32 MiB; n x L scores would take 160 MB


def test_kernels():
    X, Y = toy(missing=0.3)
    linear = classifier(max_iter=200, tol=1e-10, rank=5).fit(X, Y)
    same = classifier(max_iter=200, tol=1e-10, rank=5, kernel=linear_kernel).fit(X, Y)
    given = classifier(max_iter=200, tol=1e-10, rank=5, kernel="precomputed").fit(X @ X.T, Y)
    new = np.random.default_rng(1).normal(size=(7, 8))
    # one convex problem (rank = L) in three guises, each solved to 1e-10 of its objective: scores
    # then agree to about the square root of that
    for scores in (same.decision_function(new), given.decision_function(new @ X.T)):
        assert np.allclose(scores, linear.decision_function(new), atol=1e-3)
    assert same.W_.shape == (60, 5)
    assert np.allclose(same.transform(new), linear_kernel(new, X) @ same.W_)
    assert GridSearchCV(given, {"penalty": [1.0]}, cv=KFold(3)).fit(X @ X.T, Y).best_score_ > 0
    circle = np.linalg.norm(X[:, :2], axis=1) > 1.2
    curved = classifier(kernel=rbf_kernel, penalty=0.1).fit(X[:, :2], circle)
    # no line tells the inside of a circle from its outside
    assert curved.score(X[:, :2], circle) > 0.9


def test_a_kernel_matrix_with_rows_without_class():
    X = toy()[0]
    y = np.where(np.arange(60) % 4 == 0, np.nan, X[:, 0] > 0)
    model = classifier(kernel="precomputed").fit(X @ X.T, y)
    assert not model.W_[::4].any()
    other = classifier(kernel=linear_kernel).fit(X, y)
    assert np.allclose(model.decision_function(X @ X.T), other.decision_function(X), atol=1e-8)


def test_labels_never_observed_are_named():
    X, Y = toy()
    Y[:, 3] = np.nan
    with pytest.warns(UserWarning, match=r"without an observed entry: 1 \(columns 3\)"):
        model = classifier().fit(X, Y)
    assert model.unobserved_labels_.tolist() == [3]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda Y: np.full_like(Y, np.nan), "observed entry"),
        (lambda Y: np.full(len(Y), np.nan), "observed entry"),
        (lambda Y: np.where(Y > 0, np.inf, Y), "infinity"),
        (lambda Y: 3 * Y, r"0/1 labels.*got \[3.0"),
        (lambda Y: Y[:-1], "60 and 59"),
        (lambda Y: sparse.csr_matrix(np.where(Y > 0, np.nan, Y)), "mask"),
        (lambda Y: Y[:, :, None], "one or two axes"),
        (lambda Y: np.array([["a", "b"]] * len(Y)), "must hold numbers"),
        (lambda Y: ["one"] * len(Y), "at least two classes"),
        (lambda Y: np.array(["one", 2] * (len(Y) // 2), object), "one kind, got int and str"),
        (lambda Y: None, "requires y"),
    ],
)
def test_bad_labels(change, message):
    X, Y = toy()
    with pytest.raises(ValueError, match=message):
        classifier().fit(X, change(Y))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rank": 0}, "`rank` must be at least 1"),
        ({"penalty": -1.0}, "`penalty` must be positive"),
        ({"loss": "hinge"}, "smooth"),
        ({"loss": "none"}, "`loss` must be one of"),
        ({"max_iter": 0}, "`max_iter` must be at least 1"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        classifier(**parameters).fit(*toy())


def test_masks_are_checked():
    X, Y = toy()
    with pytest.raises(ValueError, match="`mask` must be boolean"):
        classifier().fit(X, Y, mask=np.ones(Y.shape))
    with pytest.raises(ValueError, match="vector of classes"):
        classifier().fit(X, Y[:, 0], mask=np.ones(len(Y), bool))
    with pytest.raises(NotFittedError):
        classifier().predict(X)


def test_the_same_seed_gives_the_same_model():
    X, Y = toy(missing=0.3)
    first, second = (classifier(random_state=3).fit(X, Y) for _ in range(2))
    assert np.array_equal(first.W_, second.W_)
    states = (np.random.RandomState(1), np.random.default_rng(1), None)
    assert all(classifier(random_state=state).fit(X, Y).W_.shape == (8, 3) for state in states)


def test_regression_with_missing_targets():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6))
    Z = rng.normal(size=(6, 2)) @ rng.normal(size=(2, 4))
    Y = X @ Z + 1.0
    holes = Y.copy()
    holes[rng.random(Y.shape) < 0.3] = np.nan
    model = LEMLRegressor(2, penalty=1e-3, max_iter=200, tol=1e-10, random_state=0).fit(X, holes)
    # without noise the planted Z is found up to the penalty, 1e-3 against sums over 56 rows
    assert np.allclose(model.predict(X), Y, atol=1e-2)
    assert np.allclose(model.intercept_, 1.0, atol=1e-2)
    assert model.score(X, holes) > 0.999
    assert model.score(X, Y) > 0.999
    one = LEMLRegressor(penalty=1e-3, random_state=0).fit(X, Y[:, 0])
    assert one.predict(X).shape == (80,)


def test_grid_search_with_missing_labels():
    X, Y = toy(n=90, missing=0.3)
    grid = {"penalty": [0.1, 1e4], "max_iter": [2, 10]}
    for scoring in (None, MultiLabelScorer("top_k", 2), MultiLabelScorer("auc")):
        search = GridSearchCV(
            classifier(options=NO_CERTIFICATE), grid, cv=KFold(3), scoring=scoring
        )
        search.fit(X, Y)
        assert search.best_params_["penalty"] == 0.1 or scoring is not None
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    masked = GridSearchCV(classifier(options=NO_CERTIFICATE), {"penalty": [1.0]}, cv=KFold(3))
    masked.fit(X, sparse.csr_matrix(np.nan_to_num(Y)), mask=sparse.csr_matrix(~np.isnan(Y)))
    assert masked.best_estimator_.W_.shape == (8, 3)
    model = make_pipeline(StandardScaler(), classifier())
    piped = cross_val_score(model, X, Y, cv=KFold(3), scoring=MultiLabelScorer("hamming"))
    assert ((piped > -0.5) & (piped < 0)).all()


def test_a_whole_number_for_cv_and_missing_labels_go_together():
    X, Y = toy(missing=0.3)
    rows = cross_val_score(classifier(), X, Y, cv=KFold(3))
    masked = np.ma.array(np.nan_to_num(Y), mask=np.isnan(Y))
    for labels in (Y.astype(object), masked):
        assert np.array_equal(cross_val_score(classifier(), X, labels, cv=3), rows)
        search = GridSearchCV(classifier(), {"rank": [1, 2]}, cv=3).fit(X, labels)
        assert search.best_estimator_.rank_ in (1, 2)


@pytest.mark.parametrize("method", ["decision_function", "predict_proba", "predict_log_proba"])
def test_cross_val_predict_gives_one_column_per_label(method):
    X, Y = toy()
    model = classifier(loss="logistic")
    scores = cross_val_predict(model, X, Y, cv=KFold(2), method=method)
    half = KFold(2).split(X)
    for train, test in half:
        expected = getattr(model.fit(X[train], Y[train]), method)(X[test])
        assert np.array_equal(scores[test], expected)


@pytest.mark.parametrize(("loss", "missing"), [("squared", 0.0), ("logistic", 0.3)])
def test_a_warm_start_next_to_zero_is_not_used(loss, missing):
    """Alternating minimisation hardly leaves zero: the fit ended there as converged."""
    X, Y = toy(missing=missing)
    model = classifier(loss=loss, warm_start=True, penalty=1e4).fit(X, Y)
    assert 0 < np.abs(model.coef_).max() < 1e-6
    again = model.set_params(penalty=1.0).fit(X, Y).coef_
    assert np.array_equal(again, classifier(loss=loss, penalty=1.0).fit(X, Y).coef_)


def test_coefficients_are_those_of_a_linear_model():
    X, Y = toy()
    model = LEMLRegressor(rank=2, random_state=0).fit(X, Y)
    # float64 products in another order
    assert np.allclose(model.predict(X), X @ model.coef_.T + model.intercept_, atol=1e-10)
    with pytest.raises(AttributeError, match="linear model"):
        classifier(kernel="precomputed").fit(X @ X.T, Y).coef_  # noqa: B018


def test_messages_name_what_is_wrong():
    X, Y = toy()
    with pytest.raises(ValueError, match=r"got \[nan\]"):
        classifier().fit(X[:2], sparse.csr_matrix([[1.0, np.nan], [0.0, 1.0]]))
    with pytest.raises(ValueError, match="MultiLabelBinarizer"):
        classifier().fit(X[:2], [[1, 2], [3]])
    with pytest.raises(TypeError, match="`options` must be None or AlternatingOptions"):
        classifier(options={"method": "plain"}).fit(X, Y)
    with pytest.raises(ValueError, match="one of 'squared', 'logistic', 'squared_hinge', got"):
        classifier(loss="huge").fit(X, Y)
    with pytest.raises(ValueError, match="`kernel` must be one of 'precomputed', got 'rbf'"):
        classifier(kernel="rbf", penalty="auto").fit(X, Y)


def test_scorers_are_the_metrics():
    X, Y = toy(missing=0.3)
    model = classifier().fit(X, Y)
    metrics = evaluate_estimator(model, X, Y, ks=(1, 2))
    assert MultiLabelScorer("top_k", 2)(model, X, Y) == metrics.top_k[2]
    assert MultiLabelScorer("auc")(model, pd.DataFrame(X).to_numpy(), Y) == metrics.auc
    assert MultiLabelScorer("hamming")(model, X, Y) == -metrics.hamming
    assert MultiLabelScorer("ndcg", 2)(model, X, Y) == metrics.ndcg[2]
    assert MultiLabelScorer("macro_f1")(model, X, Y) == metrics.macro_f1
    right, seen = (model.predict(X) == Y) | np.isnan(Y), ~np.isnan(Y).all(axis=1)
    assert model.score(X, Y) == right[seen].all(axis=1).mean()
    with pytest.raises(ValueError, match="`metric` must be one of"):
        MultiLabelScorer("f1")
    with pytest.raises(ValueError, match="label matrix"):
        MultiLabelScorer()(model, X, Y[:, 0])
    with pytest.raises(TypeError, match="`estimator` needs a decision_function, got LEMLReg"):
        MultiLabelScorer()(LEMLRegressor().fit(X, Y), X, Y)
    with pytest.raises(ValueError, match="`estimator` must give a score for each label"):
        MultiLabelScorer()(classifier().fit(X, X[:, 0] > 0), X, Y)


def test_entries_are_dealt_once():
    Y = toy(missing=0.3)[1]
    parts = list(EntrySplit(4, random_state=1).split(Y))
    held = np.stack([~np.isnan(test) for _, test in parts])
    assert np.array_equal(held.sum(axis=0), ~np.isnan(Y))
    sizes = held.sum(axis=(1, 2))
    assert sizes.max() - sizes.min() <= 1
    for train, test in parts:
        assert np.array_equal(np.fmax(train, test), Y, equal_nan=True)
        assert not (~np.isnan(train) & ~np.isnan(test)).any()
    mask = sparse.csr_array(~np.isnan(Y))
    for (train, test), (train_mask, test_mask) in zip(
        parts, EntrySplit(4, random_state=1).split_mask(mask), strict=True
    ):
        assert np.array_equal(train_mask.toarray(), ~np.isnan(train))
        assert np.array_equal(test_mask.toarray(), ~np.isnan(test))


def test_stacked_entries_make_the_same_problem():
    X, Y = toy(missing=0.3)
    stacked, labels, cv = EntrySplit(3).stacked(X, Y)
    assert cv.get_n_splits() == 3
    settings = {"max_iter": 300, "tol": 1e-12, "options": NO_CERTIFICATE, "rank": 5, "penalty": 1}
    once, copies = classifier(**settings).fit(X, Y), classifier(**settings).fit(stacked, labels)
    # both minimise the same convex-in-Z objective (rank = L) to 1e-12 of itself
    assert once.objective_ == pytest.approx(copies.objective_, rel=1e-6)
    search = GridSearchCV(
        classifier(options=NO_CERTIFICATE),
        {"penalty": [0.3, 3]},
        cv=cv,
        scoring=MultiLabelScorer("hamming"),
    ).fit(sparse.csr_matrix(stacked), labels)
    fold_train, fold_test = next(EntrySplit(3).split(Y))
    direct = classifier(penalty=3, options=NO_CERTIFICATE, max_iter=20).fit(X, fold_train)
    expected = -evaluate_estimator(direct, X, fold_test, ks=()).hamming
    # the copies of the rows start the same alternation elsewhere in rounding only
    found = search.cv_results_["split0_test_score"][1]
    assert found == pytest.approx(expected, abs=0.05)


def test_entry_split_refuses():
    with pytest.raises(ValueError, match="at least 2"):
        EntrySplit(1)
    with pytest.raises(ValueError, match="split_mask"):
        next(EntrySplit(2).split(sparse.csr_matrix(np.eye(3))))
    with pytest.raises(ValueError, match="2 observed entries, got 1"):
        next(EntrySplit(2).split([[1, np.nan]]))


def test_importing_the_solver_leaves_scikit_learn_alone():
    import subprocess
    import sys

    modules = "sys, leml_solver, leml_solver.metrics, leml_solver.readers"
    code = f"import {modules}; print('sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert LEMLClassifier().get_params()["rank"] == "auto"


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["dense", "sparse", "missing", "kernel"])
def test_weights_are_copies_of_rows(loss, kind):
    X, Y = toy(missing=0.3 if kind == "missing" else 0.0)
    weights = np.random.default_rng(1).integers(0, 4, len(X))
    X = sparse.csr_matrix(X) if kind == "sparse" else X
    settings = {"penalty": 5.0, "unit_rows": False, "max_iter": 400, "tol": 0.0}
    settings |= {"kernel": linear_kernel if kind == "kernel" else None, "options": NO_CERTIFICATE}
    copies = np.repeat(np.arange(X.shape[0]), weights)
    weighted, copied = (LEMLClassifier(loss=loss, random_state=0, **settings) for _ in range(2))
    weighted.fit(X, Y, sample_weight=weights)
    copied.fit(X[copies], Y[copies])
    # An objective within a share of 1e-8 leaves scores free by about the root of that.
    assert weighted.objective_ == pytest.approx(copied.objective_, rel=1e-8)
    difference = weighted.decision_function(X) - copied.decision_function(X)
    assert np.abs(difference).max() < 1e-3
    assert np.abs(weighted.decision_function(X) - fitted(X, Y, **settings, loss=loss)).max() > 1e-2


def fitted(X, Y, **settings):
    return LEMLClassifier(random_state=0, **settings).fit(X, Y).decision_function(X)


def test_the_penalty_of_weighted_rows_is_that_of_their_copies():
    X, Y = toy(n=80)
    weights = np.random.default_rng(2).integers(1, 4, len(X))
    for intercept in (False, True):
        model = LEMLClassifier(fit_intercept=intercept, random_state=0)
        weighted = model.fit(X, Y, sample_weight=weights).penalty_
        copied = model.fit(np.repeat(X, weights, axis=0), np.repeat(Y, weights, axis=0)).penalty_
        assert weighted == pytest.approx(copied, rel=1e-9)  # rounding
        assert weighted != pytest.approx(model.fit(X, Y).penalty_, rel=1e-3)


def test_the_certificate_of_weighted_rows_counts_the_weights():
    X, Y = toy()
    weights = np.random.default_rng(3).uniform(0.1, 3.0, len(X))
    model = LEMLClassifier(2, penalty=2.0, unit_rows=False, random_state=0)
    model.fit(X, Y, sample_weight=weights)
    residual = Y - 0.5 - model.decision_function(X)
    losses = 0.5 * float(weights @ np.square(residual).sum(axis=1))
    penalty = 2.0 * np.linalg.norm(model.coef_, "nuc")
    assert model.certificate_.objective == pytest.approx(losses + penalty, rel=1e-12)
    assert model.certificate_.scale == pytest.approx(0.5 * float(weights @ Y.sum(axis=1)))


@pytest.mark.parametrize("as_type", [np.asarray, sparse.csr_matrix])
def test_balanced_classes_find_rare_positives(as_type):
    X, Y = toy(n=200)
    Y[:, 0] = X[:, 0] + np.random.default_rng(0).normal(size=200) > 2.2
    Y[:, 1] = 0.0  # of one class only: nothing to balance, and no reason to stop
    plain, balanced = (
        LEMLClassifier(penalty=1.0, class_weight=w, random_state=0).fit(X, as_type(Y)).predict(X)
        for w in (None, "balanced")
    )
    assert plain[:, [0]].sum() < 0.5 * Y[:, 0].sum() < balanced[:, [0]].sum()
    by_hand = Y[:, 0].size / (2 * np.array([(Y[:, 0] == 0).sum(), (Y[:, 0] == 1).sum()]))
    one = LEMLClassifier(penalty=1.0, random_state=0, class_weight=dict(enumerate(by_hand)))
    assert (one.fit(X, Y[:, [0]]).predict(X) == balanced[:, [0]]).all()


def test_labels_of_one_class_have_nothing_to_balance():
    labels = Labels.full(np.array([[1.0, 1.0], [0.0, 1.0], [0.0, 1.0]]))
    made = EntryWeights("balanced", None, "reweighted").applied(labels, np.arange(2), "logistic")
    weights = sparse.csr_array((made.listed.weights, (made.listed.rows, made.listed.columns)))
    np.testing.assert_allclose(weights.toarray(), [[1.5, 1], [0.75, 1], [0.75, 1]], rtol=1e-15)


def test_propensities_of_listed_labels_count_positives_only():
    Y, weights = np.eye(6, 3), EntryWeights(None, "jain", "reweighted")
    rows, columns = np.nonzero(np.ones((6, 3)))
    listed = Labels.observed(rows, columns, Y.ravel(), (6, 3))
    full, some = (weights._propensities(labels) for labels in (Labels.full(Y), listed))
    np.testing.assert_array_equal(some, full)


@pytest.mark.parametrize(("Y", "stored"), [(np.eye(60, 5), True), (1 - np.eye(60, 5), False)])
def test_unbiased_labels_stay_dense_or_sparse(Y, stored):
    p, given = np.array([1.0, 0.8, 0.5, 0.5, 0.1]), Labels.full(Y)
    assert sparse.issparse(given.complete) == stored
    labels = EntryWeights(None, p, "unbiased").applied(given, np.arange(2), "squared")
    assert sparse.issparse(labels.complete) == stored
    np.testing.assert_allclose(labels.complete @ np.diag(p), Y, rtol=1e-15)


def test_propensities_make_recorded_positives_count_more():
    X, Y = toy(n=400, L=3)
    Y = 1.0 * (X[:, :3] > 0)
    kept = np.random.default_rng(0).random(Y.shape) < np.array([1.0, 0.5, 0.25])
    recorded, p = Y * kept, [1.0, 0.5, 0.25]
    settings = {"penalty": 0.1, "unit_rows": False, "random_state": 0, "max_iter": 50}
    full = LEMLClassifier(**settings).fit(X, Y)
    unbiased = LEMLClassifier(propensities=p, propensity_loss="unbiased", **settings)
    unbiased.fit(X, recorded)
    biased = LEMLClassifier(**settings).fit(X, recorded)
    # The unbiased estimate has the mean of the fit to all positives; 400 rows leave noise.
    assert (
        np.abs(unbiased.coef_ - full.coef_).max() < 0.12 < np.abs(biased.coef_ - full.coef_).max()
    )
    by_target = LEMLRegressor(penalty=0.1, random_state=0, max_iter=50).fit(
        X, recorded / np.array(p)
    )
    np.testing.assert_allclose(unbiased.coef_, by_target.coef_, atol=1e-10)  # the same problem
    reweighted = LEMLClassifier(loss="logistic", propensities=p, **settings).fit(X, recorded)
    means = reweighted.predict(X).mean(axis=0) - biased.predict(X).mean(axis=0)
    assert means[2] > 0.1
    with pytest.raises(ValueError, match="not convex or has no minimum"):
        LEMLClassifier(loss="logistic", propensities=p, propensity_loss="unbiased").fit(X, Y)
    with pytest.raises(ValueError, match="3 probabilities above 0"):
        LEMLClassifier(propensities=[0.5, 0.0, 1.0]).fit(X, Y)
    assert LEMLClassifier(propensities="jain", **settings).fit(X, recorded).rank_ == 3


@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_threshold_that_predicts_as_many_labels_as_there_are(missing, loss):
    X, Y = toy(n=150, L=8, missing=missing)
    Y[Y == 1] = np.random.default_rng(0).random(int((Y == 1).sum())) < 0.4
    usual, chosen = (
        LEMLClassifier(loss=loss, penalty=3.0, threshold=t, random_state=0).fit(X, Y)
        for t in (None, "cardinality")
    )
    known, positives = ~np.isnan(Y), int(np.nansum(Y))
    assert chosen.predict(X)[known].sum() == positives != usual.predict(X)[known].sum()
    fixed = LEMLClassifier(loss=loss, penalty=3.0, threshold=0.25, random_state=0).fit(X, Y)
    difference = usual.decision_function(X) - fixed.decision_function(X)
    np.testing.assert_allclose(difference, 0.25 - usual.threshold_, atol=1e-12)
    for number in (0.0, -0.25):  # a score may be negative
        model = LEMLClassifier(loss=loss, penalty=3.0, threshold=number, random_state=0).fit(X, Y)
        assert model.threshold_ == number
    with pytest.raises(ValueError, match="`threshold` must be finite"):
        LEMLClassifier(threshold=np.inf).fit(X, Y)


def test_warm_starts_go_on_where_the_last_fit_ended():
    X, Y = toy()
    model = LEMLClassifier(2, penalty=1.0, max_iter=3, tol=0.0, warm_start=True, random_state=0)
    first = model.fit(X, Y).objective_
    again = model.fit(X, Y)
    assert again.trace_[0].objective == pytest.approx(first, rel=1e-9)
    assert again.objective_ < first


def test_warm_starts_need_factors_that_fit():
    X, Y = toy()
    model = LEMLClassifier(3, penalty=1.0, unit_rows=False, warm_start=True, random_state=0)
    best = model.fit(X, Y).W_ @ model.H_.T
    U, sigma, Vt = np.linalg.svd(best)
    Z = (U[:, :2] * sigma[:2]) @ Vt[:2]  # the best approximation of rank 2
    residual = Y - X @ Z
    squares = np.square(residual - residual.mean(axis=0)).sum()
    smaller = model.set_params(rank=2).fit(X, Y)
    begun = 0.5 * squares + sigma[:2].sum()
    assert smaller.trace_[0].objective == pytest.approx(begun, rel=1e-9)  # factors are balanced
    for features, labels, rank in ((X, Y, 4), (X[:, :4], Y, 2), (X, Y[:, :3], 2)):  # afresh
        fresh = clone(model).set_params(rank=rank).fit(features, labels)
        again = model.set_params(rank=rank).fit(features, labels)
        np.testing.assert_array_equal(again.W_, fresh.W_)
        model.set_params(rank=2).fit(X, Y)


def test_a_fit_that_needs_more_iterations_warns_unless_few_were_asked_for():
    X, Y = toy()
    settings = {"penalty": 0.01, "options": AlternatingOptions(certify=False, method="plain")}
    with pytest.warns(ConvergenceWarning, match="still falling after 20 iterations"):
        LEMLClassifier(max_iter=20, tol=1e-12, random_state=0, **settings).fit(X, Y)
    for early in ({"max_iter": 5, "tol": 1e-12}, {"max_iter": 20, "tol": 0.0}):
        LEMLClassifier(random_state=0, **early, **settings).fit(X, Y)  # warnings are errors


def test_weighted_scores_of_labels_of_which_some_are_missing():
    X, Y = toy(missing=0.2)
    model, weights = classifier().fit(X, Y), np.random.default_rng(1).integers(0, 4, len(X))
    repeated = np.repeat(np.arange(len(X)), weights)
    expected = pytest.approx(model.score(X[repeated], Y[repeated]))
    assert model.score(X, Y, sample_weight=weights) == expected
    full = toy()[1]
    theirs = accuracy_score(full, model.predict(X), sample_weight=weights)
    assert model.score(X, full, sample_weight=weights) == pytest.approx(theirs)
    with pytest.raises(ValueError, match=r"`sample_weight` must have one weight per row"):
        model.score(X, Y, sample_weight=weights[1:])


@pytest.mark.parametrize("weights", [{3: 10.0}, {-1: 1.0, 1: 2.0}, {"yes": 2.0}])
def test_weights_of_values_that_labels_do_not_have_are_refused(weights):
    """They changed nothing: weights of labels, by their numbers, were taken for those of values."""
    with pytest.raises(ValueError, match=r"`class_weight` must have as keys .* \[0, 1\]"):
        classifier(class_weight=weights).fit(*toy())


def test_searches_of_rows_say_how_to_hold_out_entries():
    X, Y = toy(missing=0.2)
    for search in (
        lambda: GridSearchCV(classifier(), {"penalty": [1.0]}, cv=EntrySplit(3)).fit(X, Y),
        lambda: cross_val_score(classifier(), X, Y, cv=EntrySplit(3)),
    ):
        with pytest.raises(ValueError, match=r"EntrySplit\(\.\.\.\)\.stacked\(X, Y\)"):
            search()
    assert EntrySplit(3).get_n_splits(X, Y) == 3


def test_the_scorer_of_macro_auc():
    X, Y = toy(missing=0.2)
    model = classifier().fit(X, Y)
    areas = [
        roc_auc_score(y[~np.isnan(y)], z[~np.isnan(y)])
        for y, z in zip(Y.T, model.decision_function(X).T, strict=True)
    ]
    assert MultiLabelScorer("macro_auc")(model, X, Y) == pytest.approx(np.mean(areas))
    assert np.isnan(MultiLabelScorer("macro_auc")(model, X, np.ones_like(Y)))


@pytest.mark.parametrize("size", [1e-20, 1e20])
def test_single_precision_has_limits_of_its_own(size):
    """Squares of such features overflow or vanish: the fit was useless and said CONVERGED."""
    X, Y = toy()
    with pytest.raises(ValueError, match=r"1e-15 and 1e15, got .*; rescale it or pass"):
        classifier().fit((X * size).astype(np.float32), Y)
    assert classifier(penalty="auto").fit(X * size, Y).score(X * size, Y) > 0.3


@pytest.mark.parametrize("size", [1e-12, 1e12])
@pytest.mark.parametrize(
    ("loss", "missing"), [("squared", 0.0), ("squared", 0.3), ("logistic", 0.0), ("logistic", 0.3)]
)
def test_predictions_do_not_depend_on_the_scale_of_features(loss, missing, size):
    """At 1e-8 fits ended where they began, CONVERGED; logistic ones did so at 1e20."""
    X, Y = toy(missing=missing)
    made = {"loss": loss, "penalty": "auto", "unit_rows": False, "tol": 1e-8}
    usual, other = (classifier(**made).fit(X * scale, Y) for scale in (1.0, size))
    # Two fits to the same minimum that stop when an iteration gains 1e-8 of the objective.
    assert other.objective_ == pytest.approx(usual.objective_, rel=1e-6)
    scores = usual.decision_function(X)
    np.testing.assert_allclose(other.decision_function(X * size), scores, atol=0.01)


def test_class_weights_of_a_vector_are_a_dict_of_numbers():
    X, y = toy()[0], np.arange(len(toy()[0])) % 3
    for weights in ([1, 2], 5, {0: "a"}, {0: {1: 2}}):
        with pytest.raises(TypeError, match="`class_weight` must be"):
            classifier(class_weight=weights).fit(X, y)
    for weights in ({0: 10**400}, {0: -1.0}, {0: np.nan}):
        with pytest.raises(ValueError, match="`class_weight` must"):
            classifier(class_weight=weights).fit(X, y)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_accuracy_leaves_out_rows_without_a_class(missing):
    """`fit` takes them; pandas' NA and None ended in errors from inside scikit-learn."""
    X, names = toy()[0], np.where(toy()[0][:, 0] > 0, "b", "a").astype(object)
    some = names.copy()
    some[::3] = missing
    model = classifier().fit(X, some)
    known = np.arange(len(X)) % 3 > 0
    assert model.score(X, some) == model.score(X[known], names[known])
    weights = np.arange(1.0, len(X) + 1)
    expected = model.score(X[known], names[known], weights[known])
    assert model.score(X, some, weights) == expected
    assert np.isnan(model.score(X[:1], some[:1]))
    with pytest.raises(ValueError, match="same number of rows"):
        model.score(X, some[1:])


def test_a_kernel_of_another_shape_when_it_predicts_is_named():
    X, Y = toy(n=20)
    model = classifier(rank=2, kernel=lambda A, B: A @ B.T if len(A) == 20 else A).fit(X, Y)
    with pytest.raises(ValueError, match=r"`kernel` must give 20 columns, got shape \(3, "):
        model.predict(X[:3])


def test_kernels_that_are_sparse_are_refused():
    X, Y = toy()
    with pytest.raises(TypeError, match=r"`kernel\(A, B\)` must be an array"):
        classifier(penalty="auto", kernel=lambda A, B: A @ B.T).fit(sparse.csr_array(X), Y)
