"""What estimators share: labels in, defaults that follow the data, scores out block by block."""

import numpy as np
import pytest
import scipy.sparse as sp

from leml_solver import Labels, LEMLClassifier
from leml_solver._estimation import blocks
from leml_solver._estimation.defaults import default_penalty, default_rank
from leml_solver._estimation.targets import class_targets


def test_blocks_of_rows_are_as_high_as_their_bytes_allow():
    n_labels = 1000
    ends = list(blocks.row_blocks((10_000, n_labels)))
    height = blocks.BLOCK_BYTES // (8 * n_labels)
    assert ends[0] == (0, height)
    assert ends[1] == (height, 2 * height)
    assert ends[-1][1] == 10_000


def test_where_every_label_is_positive_all_scores_are_above_the_threshold(monkeypatch):
    scores = np.array([[0.3, 0.1], [0.7, 0.2]])
    every = blocks.matching_threshold(blocks.as_scores(scores), Labels.full(np.ones((2, 2))))
    assert every < 0.1
    half = Labels.full(np.array([[1.0, 0.0], [1.0, 0.0]]))
    assert blocks.matching_threshold(blocks.as_scores(scores), half) == pytest.approx(0.25)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1)  # a row at a time
    some = Labels.with_missing(np.array([[1.0, np.nan], [0.0, 0.0]]))
    assert blocks.matching_threshold(blocks.as_scores(scores), some) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("values", "shown"),
    [(sp.csr_array([[2, 3, 4, 5]]), r"got \[2, 3, 4\]"), ([[-1, 0, 1, 1]], r"got \[-1, 0\]")],
)
def test_labels_that_are_none_are_shown(values, shown):
    with pytest.raises(ValueError, match=shown):
        blocks.TrueLabels.of(values)


@pytest.mark.parametrize(
    ("width", "shape", "rank"),
    [
        (50, (4, 9), 9),
        (3, (4, 9), 3),
        (5_000, (15_000, 4_000), 500),  # 200 cost points of top-1
        (5_000, (30_000, 10_000), 372),  # 2^24 numbers
        (50_000, (200_000, 20_000), 200),
    ],
)
def test_the_default_rank_is_the_smaller_side_of_z_or_by_size(width, shape, rank):
    assert default_rank(width, Labels.full(sp.csr_array(shape))) == rank


def test_one_feature_has_a_default_penalty():
    X, labels = np.arange(12.0)[:, None], Labels.full(np.eye(12, 3))
    penalty, unit = default_penalty(lambda rows: X[rows], labels, "squared", intercept=True)
    assert penalty > 0
    assert not unit


def test_an_unknown_loss_is_named_with_the_known_ones():
    with pytest.raises(ValueError, match=r"`loss` must be one of .*squared_hinge.*'cubic'"):
        LEMLClassifier(loss="cubic").fit(np.eye(4), np.eye(4)[:, :2])
    with pytest.raises(TypeError, match=r"`loss` must be a Loss .*, got 3\.5"):
        LEMLClassifier(loss=3.5).fit(np.eye(4), np.eye(4)[:, :2])


def test_scores_far_below_zero_have_no_probability():
    model = LEMLClassifier(rank=2, penalty=0.1, loss="logistic", random_state=0)
    model.fit(np.repeat(np.eye(3), 4, axis=0), np.repeat(["a", "b", "c"], 4))
    model.intercept_ = np.full(3, -1000.0)
    assert np.array_equal(model.predict_proba(np.eye(3)), np.zeros((3, 3)))


def test_the_labels_of_a_matrix_are_its_columns():
    Y = sp.csr_array(np.eye(6, 3, dtype=np.int64))
    model = LEMLClassifier(rank=1, penalty=0.1, random_state=0).fit(np.eye(6), Y)
    assert model.classes_.tolist() == [0, 1, 2]


def test_a_label_is_missing_if_the_mask_or_the_matrix_says_so():
    Y = np.array([[1.0, np.nan], [0.0, 1.0]])
    mask = np.array([[True, True], [False, True]])
    known = class_targets(Y, mask).labels.known_matrices()[1]
    assert np.array_equal(known.toarray(), [[True, False], [False, True]])
    other = class_targets(np.nan_to_num(Y), missing=~known.toarray()).labels.known_matrices()[1]
    assert np.array_equal(other.toarray(), known.toarray())


@pytest.mark.parametrize(
    ("column", "kind"),
    [([0, 1, 1], "multilabel"), ([5, 7, 7], "binary"), ([-1.0, 1.0, np.nan], "multilabel")],
)
def test_one_column_of_zeros_and_ones_or_of_signs_is_a_label(column, kind):
    assert class_targets(np.array(column)[:, None]).kind == kind


@pytest.mark.parametrize("form", ["dense", "sparse", "missing"])
def test_constant_labels_say_nothing_of_the_penalty(form):
    """Their means are rounded: what is left of 0.1 less its mean would count as a signal."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 60)), np.full((40, 70), 0.1)
    if form == "missing":
        Y[rng.random(Y.shape) < 0.2] = np.nan
    labels = Labels.full(sp.csr_array(Y)) if form == "sparse" else Labels.with_missing(Y)
    assert default_penalty(lambda rows: X[rows], labels, "squared", intercept=True) == (1.0, False)
