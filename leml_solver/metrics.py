"""Metrics of Section 5 (top-K accuracy, Hamming loss, AUC) and others in use, block by block.

Paper: Section 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from argument_checks import finite_array, nonnegative, positive_integer, real
from argument_checks.wrong_types import errors_name_arguments
from leml_solver._estimation.blocks import (
    BlockScores,
    Scores,
    TrueLabels,
    as_scores,
    checked_block,
    insert,
    row_blocks,
    threaded,
    top_k,
)
from leml_solver.losses import Loss, as_loss

__all__ = [
    "BlockScores",
    "MultiLabelMetrics",
    "RowMetrics",
    "Scores",
    "TrueLabels",
    "average_auc",
    "evaluate_rows",
    "evaluate_scores",
    "hamming_loss",
    "label_auc",
    "label_propensities",
    "loss_threshold",
    "row_blocks",
    "top_k",
    "top_k_accuracy",
]

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class MultiLabelMetrics:
    """The metrics of one set of scores; a metric that no row or label defines is NaN.

    Attributes
    ----------
    top_k : dict of int to float
        Top-K accuracy (precision at K), averaged over rows with an observed entry.
    recall, ndcg : dict of int to float
        Recall at K and normalised discounted cumulative gain at K, averaged over rows with an
        observed positive.
    hamming : float
        Share of observed entries on the wrong side of the threshold.
    auc : float
        Area under the ROC curve of a row's labels, averaged over rows.
    micro_f1, macro_f1 : float
        F1 of the labels above the threshold: of all entries together, and averaged over labels.
    scored_precision, scored_ndcg : dict of int to float
        Precision and nDCG at K weighted by inverse propensities; empty without propensities.
    n_rows, n_positive_rows, n_auc_rows : int
        Rows with an observed entry, with a positive one, and with a positive and a negative one.
    n_observed : int
        Observed test entries.
    """

    top_k: dict[int, float]
    recall: dict[int, float]
    ndcg: dict[int, float]
    hamming: float
    auc: float
    micro_f1: float
    macro_f1: float
    scored_precision: dict[int, float]
    scored_ndcg: dict[int, float]
    n_rows: int
    n_positive_rows: int
    n_auc_rows: int
    n_observed: int


@dataclass(frozen=True, slots=True, eq=False)
class RowMetrics:
    """The metrics of each row, for paired comparisons of two sets of scores.

    Attributes
    ----------
    top_k : dict of int to (n,) array
        Share of positives among the K best-scored observed labels; 0 where none is observed.
    auc : (n,) array
        NaN where a row has no positive or no negative observed label.
    observed, errors : (n,) int arrays
        Observed entries, and those on the wrong side of the threshold.
    """

    top_k: dict[int, Array]
    auc: Array
    observed: Array
    errors: Array


def loss_threshold(loss: str | Loss) -> float:
    """Return the score at which a loss is indifferent between the labels 0 and 1.

    It is 0 for the losses that turn labels into signs (logistic, hinges) and 0.5 for the others.

    Paper: Section 5.
    """
    return 0.0 if as_loss(loss).binary else 0.5


def evaluate_scores(
    Y: Any,
    scores: Array | Scores,
    *,
    ks: Sequence[int] | None = None,
    threshold: float = 0.0,
    mask: Any = None,
    propensities: Array | None = None,
) -> MultiLabelMetrics:
    r"""Return all metrics of Section 5, and those in wide use, in one pass over blocks of rows.

    In each row only observed labels are ranked. With :math:`\Omega_i` the observed labels of row i,

    * top-K accuracy is the share of positives among the K best-scored labels of
      :math:`\Omega_i` (among all of them where fewer than K are observed);
    * recall at K is the share of the row's positives among them; nDCG at K adds 1 / log2(r + 1) for
      a positive at rank r, and divides by the largest sum that is possible;
    * Hamming loss counts observed entries with :math:`(f_{il} > t) \ne (y_{il} > 0)`; F1 is
      2 TP / (2 TP + FP + FN) for the same predictions, 0 for a label without any of the three;
    * AUC is the share of pairs of a positive and a negative label in :math:`\Omega_i` in the right
      order, ties counting one half; rows without such a pair are left out;
    * with propensities p, a positive counts 1 / p instead of 1, and precision and nDCG at K are
      sums over rows divided by the sums of a perfect ranking.

    Equal scores are ranked by label number.

    Paper: Section 5.

    Parameters
    ----------
    Y : (n, L) array with NaN for missing, DataFrame, or sparse matrix
        True labels, 0/1 or -1/+1. A sparse matrix is full: an unstored entry is 0.
    scores : (n, L) array or Scores
        Scores, or an object that makes them block by block, such as `BlockScores`. Memory beyond
        the input is about 1.2 times a block of 32 MiB.
    ks : sequence of int, optional
        The K of the metrics at K; 1, 3 and 5, as far as there are labels, if not given.
    threshold : float
        Scores above it predict a positive label; see `loss_threshold`.
    mask : (n, L) boolean array or sparse matrix, optional
        Which entries of Y are observed.
    propensities : (L,) array, optional
        Probability that a true positive is recorded, of each label; see `label_propensities`.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import evaluate_scores
    >>> Y = np.array([[1, 0, 0], [0, 1, np.nan]])
    >>> scores = np.array([[0.8, 0.9, 0.1], [0.2, 0.7, 0.6]])
    >>> metrics = evaluate_scores(Y, scores, ks=(1,), threshold=0.5)
    >>> metrics.top_k[1], metrics.hamming, metrics.auc, metrics.micro_f1
    (0.5, 0.2, 0.75, 0.8)
    """
    blocks = _Blocks.of(Y, scores, ks, threshold, mask)
    weights = None
    if propensities is not None:
        weights = 1 / checked_propensities(propensities, blocks.scores.shape[1])
    discounts = 1 / np.log2(np.arange(2, blocks.depth + 2))
    sums: dict[str, Any] = {}
    for part in blocks:
        for name, value in _block_sums(part, discounts, weights).items():
            sums[name] = sums.get(name, 0) + value
    return _averages(sums, blocks.ks)


def evaluate_rows(
    Y: Any,
    scores: Array | Scores,
    *,
    ks: Sequence[int] | None = None,
    threshold: float = 0.0,
    mask: Any = None,
) -> RowMetrics:
    """Return the metrics of every row, of which `evaluate_scores` returns the averages.

    Parameters
    ----------
    Y, scores, ks, threshold, mask
        As in `evaluate_scores`.

    Paper: Section 5.
    """
    blocks = _Blocks.of(Y, scores, ks, threshold, mask)
    parts = [(part.precision, part.auc, part.counts) for part in blocks]
    precision, auc, counts = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    top_k = {k: precision[:, k - 1] for k in blocks.ks}
    return RowMetrics(top_k, auc, counts[:, 0], counts[:, 1])


def label_propensities(Y: Any, *, a: float = 0.55, b: float = 1.5) -> Array:
    r"""Return the estimated probability, of each label, that a true positive is recorded.

    It is :math:`1 / (1 + C (N_l + b)^{-a})` with :math:`N_l` the positives of label l among n rows
    and :math:`C = (\ln n - 1)(b + 1)^a` (Jain, Prabhu and Varma, KDD 2016). Their constants are
    a = 0.5, b = 0.4 for Wikipedia, 0.6 and 2.6 for Amazon, and those given here elsewhere.

    Parameters
    ----------
    Y : (n, L) array or sparse matrix of 0/1
        Labels of the training rows, at least 3.
    a, b : float
        The constants of the formula.

    Returns
    -------
    (L,) array

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver.metrics import label_propensities
    >>> label_propensities(np.array([[1, 0], [1, 0], [1, 1], [1, 0]])).round(3)
    array([0.8  , 0.721])
    """
    Y = TrueLabels.of(Y).Y
    if Y.shape[0] < 3:
        raise ValueError(f"`Y` must have at least 3 rows, got {Y.shape[0]}.")
    a, b = nonnegative(a, "a"), nonnegative(b, "b")
    positives = np.asarray((Y > 0).sum(axis=0), dtype=np.float64).ravel()
    scale = (np.log(Y.shape[0]) - 1) * (b + 1) ** a
    return np.asarray(1 / (1 + scale * (positives + b) ** -a))


def label_auc(Y: Any, scores: Array | Scores, *, mask: Any = None) -> Array:
    """Return the area under the ROC curve of each label over the rows; its mean is the macro-AUC.

    The scores are made twice, and besides a block of them those of all positives are kept.

    Parameters
    ----------
    Y, scores, mask
        As in `evaluate_scores`.

    Returns
    -------
    (L,) array
        NaN for labels without an observed positive or an observed negative.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver.metrics import label_auc
    >>> Y, scores = np.array([[1, 0], [0, 1], [0, 0]]), np.array([[3, 1], [5, 2], [1, 0]])
    >>> label_auc(Y, scores)
    array([0.5, 1. ])
    """
    blocks = _Blocks.of(Y, scores, (), 0.0, mask)
    labels, values = map(np.concatenate, zip(*blocks.positives(), strict=True))
    order = np.lexsort((values, labels))
    ends = np.searchsorted(labels[order], np.arange(blocks.scores.shape[1] + 1))
    ordered, negatives = np.zeros((2, blocks.scores.shape[1]))
    for made, known in blocks.pairs():
        _count_ordered(made, known, values[order], ends, ordered, negatives)
    pairs = np.diff(ends) * negatives
    areas: Array = np.divide(ordered, pairs, out=np.full(pairs.size, np.nan), where=pairs > 0)
    return areas


def top_k_accuracy(Y: Any, scores: Array | Scores, k: int, *, mask: Any = None) -> float:
    """Return top-K accuracy, which is precision at K; see `evaluate_scores`.

    Paper: Section 5.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import top_k_accuracy
    >>> Y, scores = np.array([[1, 0, 1], [0, 1, 0]]), np.array([[0.8, 0.1, 0.9], [0.2, 0.5, 0.6]])
    >>> top_k_accuracy(Y, scores, k=1), top_k_accuracy(Y, scores, k=2)
    (0.5, 0.75)
    """
    return evaluate_scores(Y, scores, ks=(k,), mask=mask).top_k[k]


def hamming_loss(
    Y: Any, scores: Array | Scores, *, threshold: float = 0.0, mask: Any = None
) -> float:
    """Return the share of observed entries on the wrong side of `threshold`.

    Paper: Section 5.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import hamming_loss
    >>> hamming_loss(np.array([[1, 0, 0, 0]]), np.array([[0.8, 0.9, 0.1, 0.2]]), threshold=0.5)
    0.25
    """
    return evaluate_scores(Y, scores, ks=(), threshold=threshold, mask=mask).hamming


def average_auc(Y: Any, scores: Array | Scores, *, mask: Any = None) -> float:
    """Return the area under the ROC curve of each row's labels, averaged; see `evaluate_scores`.

    Paper: Section 5.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import average_auc
    >>> average_auc(np.array([[1, 0, 0]]), np.array([[0.8, 0.9, 0.1]]))
    0.5
    """
    return evaluate_scores(Y, scores, ks=(), mask=mask).auc


@dataclass(frozen=True, slots=True, eq=False)
class _Blocks:
    """Scores and labels that belong together, and how they are compared."""

    scores: Scores
    labels: TrueLabels  # of the same shape
    ks: tuple[int, ...]  # the K of top-K accuracy
    threshold: float  # scores above it predict a positive label

    @classmethod
    def of(
        cls, Y: Any, scores: Array | Scores, ks: Sequence[int] | None, threshold: float, mask: Any
    ) -> _Blocks:
        """Check that everything fits together."""
        made = as_scores(scores)
        given = [k for k in (1, 3, 5) if k <= made.shape[1]] if ks is None else ks
        depths = _depths(given, made.shape[1])
        return cls(
            made, TrueLabels.of(Y, mask, shape=made.shape), depths, real(threshold, "threshold")
        )

    @property
    def depth(self) -> int:
        """The largest K."""
        return max(self.ks, default=0)

    def pairs(self) -> Iterator[tuple[Array, NDArray[np.int8]]]:
        """Yield the scores and the labels (-1 for missing) of a block of rows."""
        for ends in row_blocks(self.scores.shape):
            yield checked_block(self.scores, *ends), self.labels.block(*ends)

    def positives(self) -> Iterator[tuple[Array, Array]]:
        """Yield the labels and the scores of the positives of a block of rows."""
        for scores, labels in self.pairs():
            rows, columns = np.nonzero(labels == 1)
            yield columns, scores[rows, columns]

    def __iter__(self) -> Iterator[_Part]:
        """Yield what is measured of a block of rows."""
        for scores, labels in self.pairs():
            best = np.empty((scores.shape[0], self.depth), dtype=np.int64)
            counts = np.empty((scores.shape[0], 3), dtype=np.int64)
            auc = np.empty(scores.shape[0])
            _measure_rows(scores, labels, self.threshold, best, auc, counts)
            yield _Part(labels, scores > self.threshold, best, auc, counts)


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """What is measured of a block of rows."""

    labels: NDArray[np.int8]  # (rows, L): 1 for positive, 0 for negative, -1 for missing
    predicted: Array  # (rows, L)
    # (rows, depth): the best-scored observed labels, -1 where there are no more of them.
    best: Array
    auc: Array  # (rows,)
    counts: Array  # (rows, 3): observed, wrong and positive entries

    @property
    def hits(self) -> Array:
        """Whether the best labels are positive."""
        found = np.take_along_axis(self.labels, np.maximum(self.best, 0), axis=1) == 1
        return np.asarray(found & (self.best >= 0))

    @property
    def precision(self) -> Array:
        """Share of positives among the 1, 2, ... best-scored observed labels."""
        ranks = np.arange(1, self.best.shape[1] + 1)
        ranked = np.minimum(ranks, self.counts[:, :1])
        return np.asarray(self.hits.cumsum(axis=1) / np.maximum(1, ranked))


def _depths(ks: Sequence[int], n_labels: int) -> tuple[int, ...]:
    depths = tuple(positive_integer(k, "k") for k in ks)
    if depths and max(depths) > n_labels:
        raise ValueError(
            f"`k` must be at most the number of labels, {n_labels}, got {max(depths)}."
        )
    return depths


def _block_sums(part: _Part, discounts: Array, weights: Array | None) -> dict[str, Any]:
    """Return what the metrics are made of, summed over the rows of a block."""
    seen, ranked, some = part.counts[:, 0] > 0, ~np.isnan(part.auc), part.counts[:, 2] > 0
    hits, positives = part.hits[some], part.counts[some, 2:]
    ideal = np.arange(discounts.size) < positives
    gained, best = ((found * discounts).cumsum(axis=1) for found in (hits, ideal))
    positive = part.labels == 1
    sums = {
        "rows": seen.sum(),
        "positive_rows": some.sum(),
        "auc_rows": ranked.sum(),
        "observed": part.counts[:, 0].sum(),
        "errors": part.counts[:, 1].sum(),
        "precision": part.precision[seen].sum(axis=0),
        "recall": (hits.cumsum(axis=1) / positives).sum(axis=0),
        "ndcg": (gained / best).sum(axis=0),
        "auc": part.auc[ranked].sum(),
        "hits": (positive & part.predicted).sum(axis=0),
        "positives": positive.sum(axis=0),
        "predicted": (part.predicted & (part.labels >= 0)).sum(axis=0),
    }
    if weights is not None:  # gains of the ranking and of a perfect one
        perfect = np.zeros(part.best.shape)
        _largest_weights(part.labels, weights, perfect)
        gains, most = (part.hits * weights[part.best]).sum(axis=0), perfect.sum(axis=0)
        sums |= {"gains": gains.cumsum(), "ideal_gains": most.cumsum()}
        sums |= {"dcg": (gains * discounts).cumsum(), "ideal_dcg": (most * discounts).cumsum()}
    return sums


def _averages(sums: dict[str, Any], ks: Sequence[int]) -> MultiLabelMetrics:
    if not sums.get("observed"):
        raise ValueError("`Y` has no observed entry: there is nothing to score.")

    def at_k(total: str, count: str) -> dict[int, float]:
        if total not in sums:
            return {}
        counts = np.broadcast_to(sums[count], sums[total].shape)
        return {k: _ratio(sums[total][k - 1], counts[k - 1]) for k in ks}

    marked = sums["positives"] + sums["predicted"]
    f1 = np.divide(2 * sums["hits"], marked, out=np.zeros(marked.size), where=marked > 0)
    return MultiLabelMetrics(
        top_k=at_k("precision", "rows"),
        recall=at_k("recall", "positive_rows"),
        ndcg=at_k("ndcg", "positive_rows"),
        hamming=_ratio(sums["errors"], sums["observed"]),
        auc=_ratio(sums["auc"], sums["auc_rows"]),
        micro_f1=_ratio(2 * sums["hits"].sum(), marked.sum()),
        macro_f1=float(f1.mean()),
        scored_precision=at_k("gains", "ideal_gains"),
        scored_ndcg=at_k("dcg", "ideal_dcg"),
        n_rows=int(sums["rows"]),
        n_positive_rows=int(sums["positive_rows"]),
        n_auc_rows=int(sums["auc_rows"]),
        n_observed=int(sums["observed"]),
    )


def _ratio(total: float, count: float) -> float:
    """Return a mean, NaN of nothing."""
    return float(total) / float(count) if count else float("nan")


def checked_propensities(propensities: Any, n_labels: int) -> Array:
    """Return the probabilities that positives are recorded, one per label."""
    given = finite_array(propensities, "propensities", 1)
    if given.shape != (n_labels,) or not ((given >= 1e-50) & (given <= 1)).all():
        raise ValueError(
            f"`propensities` must be {n_labels} probabilities above 0, one per label, got "
            f"{given.shape} from {given.min(initial=1):g} to {given.max(initial=0):g}."
        )
    return given


@numba.njit(cache=True)
def _row_auc(scores: Array, labels: Array) -> float:
    """Return the share of (positive, negative) pairs in order; NaN where there is none."""
    positives = np.sort(scores[labels == 1])
    p = positives.size
    negatives, ordered = 0, 0.0
    lowest = positives[0] if p > 0 else np.inf
    for label in range(scores.size):
        if labels[label] == 0:
            negatives += 1
            if scores[label] < lowest:  # nearly all negatives, if the scores are any good
                ordered += p
            else:
                below = np.searchsorted(positives, scores[label])
                equal = np.searchsorted(positives, scores[label], side="right")
                ordered += (p - equal) + 0.5 * (equal - below)
    return ordered / (p * negatives) if p * negatives > 0 else np.nan


@numba.njit(cache=True)
def _row_best(scores: Array, labels: Array, where: Array) -> None:
    """Write the best-scored observed labels, and -1 where there are no more of them."""
    best, count, worst = np.empty(where.size), 0, -np.inf
    for label in range(scores.size):
        if labels[label] >= 0 and (count < where.size or scores[label] > worst):
            insert(best, where, count, scores[label], label)
            count = min(where.size, count + 1)
            worst = best[count - 1]
    where[count:] = -1


@threaded
def _measure_rows(
    scores: Array, labels: Array, threshold: float, best: Array, auc: Array, counts: Array
) -> None:
    """Write the best labels, AUC, and the observed, wrong and positive entries, row by row."""
    for i in numba.prange(scores.shape[0]):
        observed, errors, positives = 0, 0, 0
        for label in range(scores.shape[1]):
            seen = labels[i, label] >= 0
            observed += seen
            positives += labels[i, label] == 1
            errors += seen & ((scores[i, label] > threshold) != (labels[i, label] == 1))
        counts[i, 0], counts[i, 1], counts[i, 2] = observed, errors, positives
        if best.shape[1] > 0:
            _row_best(scores[i], labels[i], best[i])
        auc[i] = _row_auc(scores[i], labels[i])


@threaded
def _largest_weights(labels: Array, weights: Array, gains: Array) -> None:
    """Write the largest weights of each row's positives, best first, into zeros."""
    for i in numba.prange(labels.shape[0]):
        where = np.empty(gains.shape[1], dtype=np.int64)
        for label in range(labels.shape[1]):
            if labels[i, label] == 1:
                insert(gains[i], where, gains.shape[1], weights[label], label)


@numba.njit(cache=True)
def _count_ordered(
    scores: Array, labels: Array, values: Array, ends: Array, ordered: Array, negatives: Array
) -> None:
    """Add, label by label, the negatives and their pairs in order with sorted positive scores."""
    for i in range(scores.shape[0]):
        for label in range(scores.shape[1]):
            if labels[i, label] == 0:
                positives = values[ends[label] : ends[label + 1]]
                below = np.searchsorted(positives, scores[i, label])
                equal = np.searchsorted(positives, scores[i, label], side="right")
                negatives[label] += 1
                ordered[label] += (positives.size - equal) + 0.5 * (equal - below)


errors_name_arguments(globals())
