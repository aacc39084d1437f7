"""Metrics of Section 5 against their definitions and scikit-learn, missing entries included."""

import tracemalloc
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import metrics as reference

from leml_solver._estimation import blocks
from leml_solver.losses import LOSSES
from leml_solver.metrics import (
    BlockScores,
    average_auc,
    evaluate_rows,
    evaluate_scores,
    hamming_loss,
    label_auc,
    label_propensities,
    loss_threshold,
    top_k,
    top_k_accuracy,
)
from leml_solver.readers import read

SUMS = 1e-12  # sums of at most 1e3 terms of order one in another order


def blocks_of(size):
    """Cut scores into blocks of so many bytes meanwhile."""
    return mock.patch.object(blocks, "BLOCK_BYTES", size)


def brute_force(Y, scores, k, threshold):
    """Return top-k accuracy, Hamming loss and AUC, by the definitions."""
    precision, wrong, areas = [], [], []
    for y, f in zip(Y, scores, strict=True):
        seen = np.flatnonzero(~np.isnan(y))
        if not seen.size:
            continue
        ranked = sorted(seen, key=lambda label: (-f[label], label))[:k]
        precision.append(np.mean(y[ranked] > 0))
        wrong.extend((f[seen] > threshold) != (y[seen] > 0))
        up, down = f[seen][y[seen] > 0], f[seen][y[seen] <= 0]
        pairs = [(a > b) + 0.5 * (a == b) for a in up for b in down]
        areas.extend([np.mean(pairs)] if pairs else [])
    return np.mean(precision), np.mean(wrong), np.mean(areas) if areas else np.nan


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    missing=st.sampled_from([0.0, 0.5, 0.9]),
    levels=st.integers(1, 20),
    signs=st.booleans(),
    block_bytes=st.sampled_from([1, 200, 10**6]),
)
def test_metrics_agree_with_their_definitions(seed, missing, levels, signs, block_bytes):
    rng = np.random.default_rng(seed)
    scores = rng.integers(-levels, levels, size=(12, 7)) / 2  # few levels: many ties
    labels = (rng.random(scores.shape) < 0.4) * (2.0 if signs else 1.0) - signs
    labels[rng.random(scores.shape) < missing] = np.nan
    labels[0, :2] = 1, -1 if signs else 0  # something is observed
    with blocks_of(block_bytes):
        ours = evaluate_scores(labels, scores, ks=(1, 3, 7), threshold=0.25)
    for k, value in ours.top_k.items():
        precision, wrong, area = brute_force(labels, scores, k, 0.25)
        assert value == pytest.approx(precision, abs=SUMS)
    assert ours.hamming == pytest.approx(wrong, abs=SUMS)
    assert ours.auc == pytest.approx(area, abs=SUMS, nan_ok=True)
    assert ours.n_observed == np.isfinite(labels).sum()


def test_full_labels_agree_with_scikit_learn():
    rng = np.random.default_rng(0)
    scores = np.round(rng.normal(size=(40, 9)), 1)
    Y = (rng.random(scores.shape) < 0.3).astype(int)
    Y[:, 0], Y[:, 1] = 1, 0  # each row has a pair
    for form in (Y, Y.astype(bool), sparse.csr_matrix(Y), sparse.coo_array(Y)):
        assert hamming_loss(form, scores, threshold=0.1) == pytest.approx(
            reference.hamming_loss(Y, scores > 0.1), abs=SUMS
        )
        # samples-averaged ROC AUC is the mean over rows
        assert average_auc(form, scores) == pytest.approx(
            reference.roc_auc_score(Y, scores, average="samples"), abs=SUMS
        )
    single = np.argmax(rng.random(scores.shape), axis=1)
    distinct = rng.normal(size=scores.shape)
    one_hot = np.eye(9)[single]
    for k in (1, 2, 5):  # scikit-learn counts a hit once per row: k times precision at k
        assert k * top_k_accuracy(one_hot, distinct, k) == pytest.approx(
            reference.top_k_accuracy_score(single, distinct, k=k, labels=np.arange(9)), abs=SUMS
        )


def test_a_mask_is_as_good_as_nan():
    rng = np.random.default_rng(1)
    scores, Y = rng.normal(size=(30, 8)), (rng.random((30, 8)) < 0.4).astype(float)
    mask = rng.random((30, 8)) < 0.5
    expected = evaluate_scores(np.where(mask, Y, np.nan), scores)
    assert evaluate_scores(Y, scores, mask=mask) == expected
    assert evaluate_scores(sparse.csr_array(Y), scores, mask=sparse.coo_matrix(mask)) == expected


def test_factor_scores_are_never_held_as_a_whole():
    rng = np.random.default_rng(2)
    n, d, L, k = 3000, 20, 500, 4
    X = sparse.random_array((n, d), density=0.3, rng=rng, format="csr")
    W, H, intercept = rng.normal(size=(d, k)), rng.normal(size=(L, k)), rng.normal(size=L)
    scores = BlockScores(lambda a, b: X[a:b] @ W @ H.T + intercept, (n, L))
    Y = sparse.random_array((n, L), density=0.01, rng=rng, format="csr").astype(bool)
    whole = evaluate_scores(Y, X @ W @ H.T + intercept)
    with blocks_of(2**19):
        evaluate_scores(Y, scores), top_k(scores, 5)  # compiled before memory is measured
        tracemalloc.start()
        blocked = evaluate_scores(Y, scores)
        labels, values = top_k(scores, 5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # a block of 0.5 MB, its labels and comparisons, and the answers; n x L scores take 12 MB
    assert peak < 6e6
    # blocks of other heights may round differently in BLAS, which moves no pair that is not tied
    assert blocked.auc == pytest.approx(whole.auc, abs=1e-9)
    assert blocked.top_k == pytest.approx(whole.top_k, abs=1e-9)
    order = np.argsort(-scores.block(0, n), axis=1, kind="stable")[:, :5]
    assert np.array_equal(labels, order)
    assert np.allclose(values, np.take_along_axis(scores.block(0, n), order, axis=1))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.sampled_from([1, 100, 10**6]))
def test_top_k_is_a_stable_sort(seed, k, block_bytes):
    values = np.random.default_rng(seed).integers(-2, 3, size=(9, 6)).astype(float)
    with blocks_of(block_bytes):
        labels, best = top_k(values, k)
    order = np.argsort(-values, axis=1, kind="stable")[:, :k]
    assert np.array_equal(labels, order)
    assert np.array_equal(best, np.take_along_axis(values, order, axis=1))


def test_large_blocks_run_on_threads_with_the_same_answer():
    values = np.random.default_rng(3).normal(size=(700, 600))  # above the size of one thread
    labels, _ = top_k(values, 3)
    assert np.array_equal(labels, np.argsort(-values, axis=1)[:, :3])
    Y = values + np.random.default_rng(4).normal(size=values.shape) > 1
    whole = evaluate_scores(Y, values)
    with blocks_of(2**16):
        pieces = evaluate_scores(Y, values)
    assert whole.hamming == pieces.hamming
    assert whole.auc == pytest.approx(pieces.auc, abs=SUMS)


@pytest.mark.parametrize(("name", "threshold"), [("squared", 0.5), ("logistic", 0.0)])
def test_the_threshold_is_that_of_the_loss(name, threshold):
    loss, score = LOSSES[name], np.array([loss_threshold(name)])
    assert score == threshold
    no, yes = (loss.encode(np.array([label])) for label in (0.0, 1.0))
    assert loss.value(no, score) == loss.value(yes, score)  # indifferent there
    assert loss_threshold(LOSSES["squared_hinge"]) == 0


@pytest.mark.parametrize(
    ("Y", "scores", "arguments", "message"),
    [
        ([[1, 2]], [[0, 1]], {}, r"labels in \{0, 1\} or in \{-1, \+1\}.*got \[2\]"),
        ([[1, 0, -1]], [[0, 1, 2]], {}, "labels in"),
        ([[1, 0]], [[0, 1, 2]], {}, r"`Y` must have one row .*\(1, 3\), got \(1, 2\)"),
        ([[1, 0]], [[0, np.nan]], {}, "must not contain NaN"),
        ([[np.nan, np.nan]], [[0, 1]], {"ks": (1,)}, "no observed entry"),
        ([[1, 0]], [[0, 1]], {"ks": (3,)}, "at most the number of labels, 2, got 3"),
        ([[1, 0]], [0, 1], {}, "matrix of numbers"),
        ([[1, 0]], [[0, 1]], {"ks": (1,), "mask": np.ones((1, 2))}, "boolean"),
        ([["a", "b"]], [[0, 1]], {"ks": (1,)}, "must hold numbers"),
    ],
)
def test_bad_input_is_refused(Y, scores, arguments, message):
    with pytest.raises(ValueError, match=message):
        evaluate_scores(np.asarray(Y), np.asarray(scores), **{"ks": (), **arguments})


def test_top_k_refuses_more_than_there_are():
    with pytest.raises(ValueError, match="at most the number of labels, 2"):
        top_k(BlockScores(lambda a, b: np.zeros((b - a, 2)), (1, 2)), 3)


def test_the_papers_regression_row_on_bibtex(data_file):
    """Least squares with a constant: the CPLST row of the paper at k/L = 100 %, digit for digit."""
    data = read(data_file("bibtex"))
    train, test = (data.rows(data.splits[name]) for name in ("train_idx", "test_idx"))
    X = np.hstack([train.X.toarray(), np.ones((train.X.shape[0], 1))])
    gram = X.T @ X + 1e-4 * np.eye(X.shape[1])
    Z = np.linalg.solve(gram, X.T @ train.Y.toarray())
    result = evaluate_scores(test.Y, test.X @ Z[:-1] + Z[-1], threshold=0.5)
    # printed with two and four digits
    assert [round(100 * value, 2) for value in result.top_k.values()] == [63.02, 36.91, 26.47]
    assert round(result.auc, 4) == 0.8878
    assert round(result.hamming, 4) == 0.0125


def ranking_by_hand(Y, scores, k, weights):
    """Return recall, nDCG, weighted precision and weighted nDCG at k, by the definitions."""
    discount = 1 / np.log2(np.arange(2, k + 2))
    recall, ndcg, gains, ideals, dcg, ideal_dcg = [], [], 0.0, 0.0, 0.0, 0.0
    for y, f in zip(Y, scores, strict=True):
        seen = np.flatnonzero(~np.isnan(y))
        ranked = sorted(seen, key=lambda label: (-f[label], label))[:k]
        hits = np.array([y[label] > 0 for label in ranked], dtype=float)
        positives = [label for label in seen if y[label] > 0]
        gain = hits * weights[np.array(ranked, dtype=int)]
        ideal = np.sort(weights[np.array(positives, dtype=int)])[::-1][:k]
        gains, ideals = gains + gain.sum(), ideals + ideal.sum()
        dcg += gain @ discount[: gain.size]
        ideal_dcg += ideal @ discount[: ideal.size]
        if positives:
            recall.append(hits.sum() / len(positives))
            best = discount[: min(k, len(positives))].sum()
            ndcg.append(hits @ discount[: hits.size] / best)
    return np.mean(recall), np.mean(ndcg), gains / ideals, dcg / ideal_dcg


@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("block_bytes", [100, 10**6])
def test_ranking_metrics_agree_with_their_definitions(missing, block_bytes):
    rng = np.random.default_rng(5)
    Y = (rng.random((40, 9)) < 0.3).astype(float)
    Y[0, 0] = 1.0
    Y[rng.random(Y.shape) < missing] = np.nan
    scores = rng.integers(0, 6, size=Y.shape) / 2  # ties
    propensities = rng.uniform(0.1, 1.0, 9)
    with blocks_of(block_bytes):
        found = evaluate_scores(Y, scores, ks=(1, 4), propensities=propensities)
    for k in (1, 4):
        measured = (found.recall, found.ndcg, found.scored_precision, found.scored_ndcg)
        expected = ranking_by_hand(Y, scores, k, 1 / propensities)
        assert [metric[k] for metric in measured] == pytest.approx(expected, abs=SUMS)


def test_f1_and_label_auc_agree_with_scikit_learn():
    rng = np.random.default_rng(6)
    Y = (rng.random((50, 6)) < 0.3).astype(float)
    Y[:, 5] = 0.0  # a label without positives: F1 is 0, AUC undefined
    scores = rng.integers(-4, 4, size=Y.shape) / 2
    found = evaluate_scores(Y, scores, threshold=0.5)
    predicted = scores > 0.5
    for average in ("micro", "macro"):
        expected = reference.f1_score(Y, predicted, average=average, zero_division=0)
        assert getattr(found, f"{average}_f1") == pytest.approx(expected, abs=SUMS)
    with blocks_of(100):
        areas = label_auc(Y, scores)
    expected = [reference.roc_auc_score(Y[:, label], scores[:, label]) for label in range(5)]
    np.testing.assert_allclose(areas, [*expected, np.nan], atol=SUMS)


def test_missing_entries_count_for_no_f1_and_no_label_auc():
    rng = np.random.default_rng(7)
    Y = (rng.random((50, 6)) < 0.4).astype(float)
    scores, hidden = rng.standard_normal(Y.shape), rng.random(Y.shape) < 0.5
    partly = np.where(hidden, np.nan, Y)
    found = evaluate_scores(partly, scores)
    kept = [(Y[~hidden[:, j], j], scores[~hidden[:, j], j]) for j in range(6)]
    areas = [reference.roc_auc_score(y, f) for y, f in kept]
    np.testing.assert_allclose(label_auc(partly, scores), areas, atol=SUMS)
    np.testing.assert_array_equal(label_auc(Y, scores, mask=~hidden), label_auc(partly, scores))
    macro = np.mean([reference.f1_score(y, f > 0) for y, f in kept])
    assert found.macro_f1 == pytest.approx(macro, abs=SUMS)


def test_few_labels_and_wrong_propensities():
    Y, scores = np.array([[1, 0, 0]]), np.array([[0.2, 0.1, 0.0]])
    assert list(evaluate_scores(Y, scores).top_k) == [1, 3]  # 5 labels there are not
    with pytest.raises(ValueError, match="3 probabilities above 0, one per label"):
        evaluate_scores(Y, scores, propensities=np.array([0.5, 0.0, 1.0]))
    with pytest.raises(ValueError, match="at least 3 rows, got 1"):
        label_propensities(Y)


def test_fewer_labels_than_five_need_no_ks():
    Y, scores = np.eye(3), np.arange(9.0).reshape(3, 3)
    assert evaluate_rows(Y, scores).top_k.keys() == {1, 3}
    assert evaluate_scores(Y, scores).top_k.keys() == {1, 3}


def test_scores_are_numbers_in_the_shape_they_promise():
    """Of NaN the first were the best; missing rows were what memory held, missing columns zero."""
    Y = np.tile(np.eye(3), (2, 1))
    for block in (
        lambda i, j: np.full((j - i, 3), np.nan),
        lambda i, j: np.ones((j - i - 1, 3)),
        lambda i, j: np.ones((j - i, 2)),
        lambda i, j: np.ones((j - i, 3), complex),
        lambda _i, _j: None,
    ):
        made = BlockScores(block, (6, 3))
        for measure in (lambda: top_k(made, 1), lambda: evaluate_rows(Y, made)):  # noqa: B023
            with pytest.raises(ValueError, match="`scores` must"):
                measure()
    assert top_k(np.ones((1, 3), bool), 1)[0] == 0
