"""Compressed sensing: exact recovery from exact measurements, and graded scores elsewhere."""

import numpy as np
import pytest
import scipy.sparse as sp

from leml_solver.baselines import CompressedSensingClassifier
from leml_solver.baselines.compressed_sensing import graded_scores


def sparse_labels(n=20, L=40, k=2, seed=0):
    """Return labels with exactly k positives per row."""
    rng = np.random.default_rng(seed)
    Y = np.zeros((n, L))
    for row in Y:
        row[rng.choice(L, k, replace=False)] = 1
    return Y


@pytest.mark.parametrize("labels", [np.asarray, sp.csr_array])
def test_sparse_labels_are_recovered_exactly_from_exact_measurements(labels):
    Y = sparse_labels()
    X = np.random.default_rng(1).normal(size=(20, 30))  # more features than rows: an exact fit
    model = CompressedSensingClassifier(25, ridge=0.0, random_state=0)
    model.fit(X, labels(Y))
    assert model.sparsity_ == 2
    predicted = np.asarray(X @ model.W_ + model.measurement_intercept_)
    # least squares with a conditioning of about ten
    assert np.allclose(predicted, Y @ model.measurement_matrix_.T, atol=1e-10)
    scores = model.decision_function(X) + 0.5
    assert np.allclose(scores[Y == 1], 1, atol=1e-8)
    # nothing is left for the others but rounding
    assert np.abs(scores[Y == 0]).max() < 1e-8


def test_measurements_are_regressed_with_a_ridge():
    rng = np.random.default_rng(2)
    X, Y = rng.normal(size=(50, 4)), sparse_labels(50)
    model = CompressedSensingClassifier(10, ridge=3.0, random_state=0).fit(X, Y)
    residual = Y @ model.measurement_matrix_.T - X @ model.W_ - model.measurement_intercept_
    # the normal equations, up to rounding
    assert np.allclose(X.T @ residual, 3.0 * model.W_, atol=1e-10)
    assert np.allclose(residual.sum(axis=0), 0, atol=1e-10)


def test_sparsity_is_the_average_rounded_up_and_within_reach():
    X, Y = np.eye(4), np.array([[1.0, 0, 0], [1, 1, 1], [1, 0, 0], [0, 0, 0]])
    assert CompressedSensingClassifier(5, random_state=0).fit(X, Y).sparsity_ == 2
    assert CompressedSensingClassifier(1, sparsity=3, random_state=0).fit(X, Y).sparsity_ == 1


def test_scores_of_the_rest_stay_below_and_keep_their_order():
    rng = np.random.default_rng(3)
    recovered = rng.normal(size=(200, 12)) * (rng.random((200, 12)) < 0.3)
    rest = rng.normal(size=(200, 12)) * 3
    scores = graded_scores(recovered, rest)
    for row, kept, other in zip(scores, recovered, rest, strict=True):
        absent = kept == 0
        assert np.array_equal(row[~absent], kept[~absent])
        assert (row[absent] < 0.5).all()
        if (kept > 0).any():
            assert row[absent].max() < kept[kept > 0].min()
        # scaled by one factor per row: order and signs are those of the correlations
        assert np.array_equal(np.argsort(row[absent]), np.argsort(other[absent]))
        assert np.array_equal(np.sign(row[absent]), np.sign(other[absent]))


def test_small_correlations_are_left_alone():
    scores = graded_scores(np.array([[0.9, 0.0, 0.0]]), np.array([[7.0, 0.1, -4.0]]))
    assert scores.tolist() == [[0.9, 0.1, -4.0]]
    nothing = graded_scores(np.zeros((1, 2)), np.array([[-1.0, -2.0]]))
    assert nothing.tolist() == [[-1.0, -2.0]]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_measurements": 0}, "`n_measurements` must be at least 1"),
        ({"sparsity": 0}, "`sparsity` must be at least 1"),
        ({"ridge": -1.0}, "`ridge` must not be negative"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        CompressedSensingClassifier(**parameters).fit(np.eye(20), sparse_labels())


def test_the_seed_decides():
    X, Y = np.eye(20), sparse_labels()
    first, same, other = (
        CompressedSensingClassifier(9, random_state=seed).fit(X, Y).measurement_matrix_
        for seed in (1, 1, 2)
    )
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)
