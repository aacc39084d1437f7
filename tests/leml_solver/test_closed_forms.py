"""The closed forms of Claims 1 and 2 against the theorem of Eckart and Young."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from leml_solver._factored.closed_forms import compress, cplst, low_rank_least_squares


def data(seed, n=20, d=6, n_labels=5):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.standard_normal((n, n_labels))


def least_error(X, Y, rank):
    """Least squared error by projecting the labels and dropping their small singular values."""
    fitted = X @ np.linalg.lstsq(X, Y, rcond=None)[0]
    dropped = np.linalg.svd(fitted, compute_uv=False)[rank:]
    return np.square(Y - fitted).sum() + np.square(dropped).sum()


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 12),
    d=st.integers(1, 12),
    n_labels=st.integers(1, 8),
    rank=st.integers(1, 9),
)
@settings(max_examples=60, deadline=None)
def test_least_error_of_all_matrices_of_that_rank(seed, n, d, n_labels, rank):
    X, Y = data(seed, n, d, n_labels)
    Z = low_rank_least_squares(X, Y, rank)
    error = np.square(Y - X @ Z).sum()
    # Rounding, amplified by the condition number of a square Gaussian X, which can reach 1e6.
    assert error == pytest.approx(least_error(X, Y, rank), abs=1e-7 * np.square(Y).sum())
    assert np.linalg.matrix_rank(Z, tol=1e-8 * max(np.linalg.norm(Z), 1e-300)) <= rank


@given(seed=st.integers(0, 10**6), rank=st.integers(1, 5))
@settings(max_examples=30, deadline=None)
def test_both_closed_forms_give_one_predictor(seed, rank):
    X, Y = data(seed)
    found = cplst(X, Y, rank)
    # Both use the same singular vectors: only rounding is between them.
    np.testing.assert_allclose(found.Z, low_rank_least_squares(X, Y, rank), atol=1e-11)
    np.testing.assert_allclose(found.H.T @ found.H, np.eye(rank), atol=1e-13)


def test_full_rank_is_ordinary_least_squares():
    X, Y = data(0)
    expected = np.linalg.lstsq(X, Y, rcond=None)[0]
    np.testing.assert_allclose(low_rank_least_squares(X, Y, 5), expected, atol=1e-12)


def test_a_ridge_is_that_of_the_normal_equations():
    X, Y = data(6)
    problem = compress(X, Y)
    expected = np.linalg.solve(X.T @ X + 3.0 * np.eye(6), X.T @ Y)
    np.testing.assert_allclose(problem.predictor(problem.M, 3.0), expected, atol=1e-12)  # rounding


def test_least_norm_where_features_repeat():
    X, Y = data(1)
    doubled = np.column_stack([X, X])
    Z = low_rank_least_squares(doubled, Y, 2)
    np.testing.assert_allclose(Z[:6], Z[6:], atol=1e-12)  # the least norm shares equally
    np.testing.assert_allclose(2 * Z[:6], low_rank_least_squares(X, Y, 2), atol=1e-12)


def test_features_of_zeros_predict_nothing():
    _, Y = data(2)
    assert not low_rank_least_squares(np.zeros((20, 6)), Y, 2).any()
    found = cplst(np.zeros((20, 6)), Y, 2)
    assert not found.Z.any()
    np.testing.assert_allclose(found.H.T @ found.H, np.eye(2), atol=1e-13)


def test_centring_is_fitting_centred_labels_and_adding_their_mean():
    X, Y = data(3)
    centred, means = cplst(X, Y + 4, 2, centre=True), (Y + 4).mean(axis=0)
    plain = cplst(X, Y + 4 - means, 2)
    np.testing.assert_allclose(centred.scores(X), plain.scores(X) + means, atol=1e-12)
    np.testing.assert_allclose(centred.label_means, means)
    assert not plain.label_means.any()


def test_sparse_data_are_welcome():
    X, Y = data(4)
    Y = np.where(Y > 1, 1.0, 0.0)
    Z = low_rank_least_squares(sp.csr_matrix(X), sp.csr_matrix(Y), 2)
    np.testing.assert_array_equal(Z, low_rank_least_squares(X, Y, 2))
    np.testing.assert_array_equal(cplst(X, sp.csc_matrix(Y), 2).H, cplst(X, Y, 2).H)


@pytest.mark.parametrize("solve", [low_rank_least_squares, cplst])
@pytest.mark.parametrize(
    ("X", "Y", "rank", "message"),
    [
        (np.ones((3, 2)), np.ones((4, 2)), 1, "one per point, got 3 and 4"),
        (np.ones((3, 2)), np.ones((3, 2)), 0, "`rank` must be at least 1"),
        (np.full((3, 2), np.nan), np.ones((3, 2)), 1, "`X`"),
        (np.ones((3, 2)), np.full((3, 2), np.inf), 1, "`Y`"),
        (np.ones((3, 2)), np.ones(3), 1, "`Y`"),
    ],
)
def test_what_cannot_be_used_is_said(solve, X, Y, rank, message):
    with pytest.raises(ValueError, match=message):
        solve(X, Y, rank)


def test_more_columns_than_labels_do_not_fit():
    with pytest.raises(ValueError, match="at most the number of labels, 5, got 6"):
        cplst(*data(5), 6)
