"""Labels known but for a list of missing entries: the same answers as a list of the others."""

import numpy as np
import pytest
import scipy.sparse as sp

from leml_solver import AlternatingOptions, Labels, LEMLClassifier, LEMLRegressor, Problem
from leml_solver._factored.certificate import certify_factors
from leml_solver._factored.entry_sums import FullEntries, SquaredEntries, entries_of
from leml_solver._factored.fit import expected_seconds, fit_problem
from leml_solver._factored.plan import FAST
from leml_solver.losses import LOSSES

SMOOTH = ("squared", "logistic", "squared_hinge")


def _data(seed=0, n=60, d=7, L=9):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    Y = (X @ rng.standard_normal((d, L)) > 2.5).astype(float)
    return X, sp.csr_matrix(Y), sp.csr_matrix(rng.random((n, L)) < 0.15)


def _both(Y, missing):
    return Labels.with_missing(Y, missing), Labels.masked(Y, ~missing.toarray())


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("with_offset", [True, False])
def test_sums_agree_with_a_list_of_the_known_entries(name, with_offset):
    _, Y, missing = _data()
    rng = np.random.default_rng(1)
    A, B = rng.standard_normal((2, 60, 3))
    H, S = rng.standard_normal((2, 9, 3))
    offset = rng.standard_normal(9) if with_offset else None
    one, other = (entries_of(labels, LOSSES[name], np.float64) for labels in _both(Y, missing))
    assert isinstance(one, SquaredEntries if name == "squared" else FullEntries)
    pairs = []
    for entries in (one, other):
        D, C = (f(A, H, offset) for f in (entries.slopes, entries.curvatures))
        pairs.append(
            (
                entries.label_losses(A, H, offset),
                entries.rows(D, S),
                entries.columns(D, B),
                entries.columns(C, B),
                entries.rows_product(C, B, H),
                entries.columns_product(C, A, S),
            )
        )
    for left, right in zip(*pairs, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-10, atol=1e-10)  # rounding of sums


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("intercept", [True, False])
def test_fits_and_certificates_agree(name, intercept):
    X, Y, missing = _data()
    options = AlternatingOptions(intercept=intercept, max_iter=5, tol=0.0)
    one, other = (
        fit_problem(Problem(name, X, labels), rank=3, penalty=1.0, options=options)
        for labels in _both(Y, missing)
    )
    assert one.objective == pytest.approx(other.objective, rel=1e-9)
    np.testing.assert_allclose(one.scores(X), other.scores(X), atol=1e-6)
    # The same point, so that the bounds differ by rounding alone.
    bounds = [
        certify_factors(Problem(name, X, labels), one.W, one.H, one.intercept, penalty=1.0)
        for labels in _both(Y, missing)
    ]
    assert bounds[0].lower_bound == pytest.approx(bounds[1].lower_bound, rel=1e-7)
    assert bounds[0].objective == pytest.approx(bounds[1].objective, rel=1e-10)
    assert one.certificate.lower_bound <= other.certificate.objective


def test_one_per_cent_missing_of_a_large_matrix_is_never_a_list_of_the_rest():
    rng = np.random.default_rng(0)
    n, L = 20_000, 20_000
    X = sp.random(n, 50, 0.1, format="csr", random_state=0)
    Y = sp.csr_matrix((np.ones(n), (np.arange(n), rng.integers(0, L, n))), shape=(n, L))
    missing = sp.csr_matrix(
        (np.ones(4 * n, dtype=bool), (np.repeat(np.arange(n), 4), rng.integers(0, L, 4 * n))),
        shape=(n, L),
    )
    labels = Labels.with_missing(Y, missing)
    assert labels.n_observed == n * L - missing.nnz
    options = AlternatingOptions(max_iter=2, certify=False)
    result = fit_problem(Problem("squared", X, labels), rank=2, penalty=1.0, options=options)
    assert result.objective < 0.5 * Y.nnz
    with pytest.raises(ValueError, match="too many for a method that lists them"):
        _ = labels.entries


def test_the_expected_time_follows_what_is_worked_through(capsys):
    X, Y, missing = _data()
    hidden, listed = _both(Y, missing)
    times = {
        (name, kind): expected_seconds(Problem(name, X, labels), 3, FAST)
        for name in SMOOTH
        for kind, labels in (("full", Y), ("hidden", hidden), ("listed", listed))
    }
    # Squared loss: nothing per entry where all are known, the missing ones, or the known ones.
    assert times["squared", "full"] < times["squared", "hidden"] < times["squared", "listed"]
    assert times["logistic", "full"] > 2 * times["squared", "listed"]
    options = AlternatingOptions(max_iter=2, progress=True)
    fit_problem(Problem("logistic", X, Y), rank=3, penalty=1.0, options=options)
    assert "s each" in capsys.readouterr().err


def test_properties_and_rows_of_labels_with_missing_ones():
    _, Y, missing = _data()
    one, other = _both(Y, missing)
    assert not one.is_full
    assert one.n_observed == other.n_observed
    assert one.total_weight == other.total_weight
    np.testing.assert_array_equal(one.label_counts, other.label_counts)
    np.testing.assert_array_equal(one.observed_rows, other.observed_rows)
    np.testing.assert_array_equal(np.unique(one.known_values()), np.unique(other.known_values()))
    rows = np.arange(5, 40, 3)
    np.testing.assert_array_equal(one.take(rows).entries.values, other.take(rows).entries.values)
    np.testing.assert_array_equal(one.entries.by_row.indices, other.entries.by_row.indices)
    assert Labels.with_missing(Y, sp.csr_matrix(Y.shape, dtype=bool)).is_full


@pytest.mark.parametrize("Estimator", [LEMLClassifier, LEMLRegressor])
def test_estimators_take_a_mask_of_missing_entries(Estimator):
    X, Y, missing = _data()
    one, other = (Estimator(rank=3, random_state=0) for _ in range(2))
    one.fit(X, Y, missing=missing)
    other.fit(X, Y, mask=sp.csr_matrix(~missing.toarray()))
    np.testing.assert_allclose(one.W_ @ one.H_.T, other.W_ @ other.H_.T, atol=1e-6)
    with pytest.raises(ValueError, match="pass one of them"):
        one.fit(X, Y, mask=missing, missing=missing)
    with pytest.raises(ValueError, match="`missing` must be boolean, got float64"):
        one.fit(X, Y, missing=missing.astype(float))
    with pytest.raises(ValueError, match="`missing` must have the shape"):
        one.fit(X, Y, missing=missing[1:])
    with pytest.raises(ValueError, match="every label is missing"):
        one.fit(X, Y, missing=sp.csr_matrix(np.ones(Y.shape, dtype=bool)))


@pytest.mark.parametrize("Estimator", [LEMLClassifier, LEMLRegressor])
def test_nan_in_a_sparse_matrix_is_told_where_to_go(Estimator):
    Y = sp.csr_matrix([[1.0, 0.0], [np.nan, 1.0]])
    with pytest.raises(ValueError, match=r"`mask`"):
        Estimator().fit(np.eye(2), Y)
