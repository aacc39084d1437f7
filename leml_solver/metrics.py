"""Metrics of Section 5: top-K accuracy, Hamming loss and AUC of each row, block by block.

Paper: Section 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from argument_checks import one_of, positive_integer
from leml_solver._estimation.blocks import (
    BlockScores,
    Scores,
    TrueLabels,
    as_scores,
    insert,
    row_blocks,
    threaded,
    top_k,
)
from leml_solver.losses import LOSSES, Loss

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
    "loss_threshold",
    "row_blocks",
    "top_k",
    "top_k_accuracy",
]

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class MultiLabelMetrics:
    """The metrics of one set of scores.

    Attributes
    ----------
    top_k : dict of int to float
        Top-K accuracy (precision at K), averaged over rows with an observed entry.
    hamming : float
        Share of observed entries on the wrong side of the threshold.
    auc : float
        Area under the ROC curve of a row's labels, averaged over rows; NaN if nowhere defined.
    n_rows, n_auc_rows : int
        Rows with an observed entry, and rows with a positive and a negative one.
    n_observed : int
        Observed test entries.
    """

    top_k: dict[int, float]
    hamming: float
    auc: float
    n_rows: int
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
    if isinstance(loss, str):
        loss = LOSSES[one_of(loss, "loss", tuple(LOSSES))]
    return 0.0 if loss.binary else 0.5


def evaluate_scores(
    Y: Any,
    scores: Array | Scores,
    *,
    ks: Sequence[int] = (1, 3, 5),
    threshold: float = 0.0,
    mask: Any = None,
) -> MultiLabelMetrics:
    r"""Return all metrics of Section 5 in one pass over blocks of rows.

    In each row only observed labels are ranked. With :math:`\Omega_i` the observed labels of row i,

    * top-K accuracy is the share of positives among the K best-scored labels of
      :math:`\Omega_i` (among all of them where fewer than K are observed);
    * Hamming loss counts observed entries with :math:`(f_{il} > t) \ne (y_{il} > 0)`;
    * AUC is the share of pairs of a positive and a negative label in :math:`\Omega_i` in the right
      order, ties counting one half; rows without such a pair are left out.

    Equal scores are ranked by label number.

    Paper: Section 5.

    Parameters
    ----------
    Y : (n, L) array with NaN for missing, DataFrame, or sparse matrix
        True labels, 0/1 or -1/+1. A sparse matrix is full: an unstored entry is 0.
    scores : (n, L) array or Scores
        Scores, or an object that makes them block by block, such as `BlockScores`. Memory beyond
        the input is about 1.2 times a block of 32 MiB.
    ks : sequence of int
        The K of top-K accuracy.
    threshold : float
        Scores above it predict a positive label; see `loss_threshold`.
    mask : (n, L) boolean array or sparse matrix, optional
        Which entries of Y are observed.

    Returns
    -------
    MultiLabelMetrics

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import evaluate_scores
    >>> Y = np.array([[1, 0, 0], [0, 1, np.nan]])
    >>> scores = np.array([[0.8, 0.9, 0.1], [0.2, 0.7, 0.6]])
    >>> metrics = evaluate_scores(Y, scores, ks=(1,), threshold=0.5)
    >>> metrics.top_k[1], metrics.hamming, metrics.auc
    (0.5, 0.2, 0.75)
    """
    blocks = _Blocks.of(Y, scores, ks, threshold, mask)
    tally = _Tally(blocks.depth)
    for precision, auc, counts in blocks:
        tally.add(precision, auc, counts)
    return tally.metrics(blocks.ks)


def evaluate_rows(
    Y: Any,
    scores: Array | Scores,
    *,
    ks: Sequence[int] = (1, 3, 5),
    threshold: float = 0.0,
    mask: Any = None,
) -> RowMetrics:
    """Return the metrics of every row, of which `evaluate_scores` returns the averages.

    Parameters
    ----------
    Y, scores, ks, threshold, mask
        As in `evaluate_scores`.

    Returns
    -------
    RowMetrics

    Paper: Section 5.
    """
    blocks = _Blocks.of(Y, scores, ks, threshold, mask)
    precision, auc, counts = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    top_k = {k: precision[:, k - 1] for k in blocks.ks}
    return RowMetrics(top_k, auc, counts[:, 0], counts[:, 1])


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
    """Scores and labels that belong together, and how they are compared.

    Attributes
    ----------
    scores : Scores
    labels : TrueLabels
        Of the same shape.
    ks : tuple of int
        The K of top-K accuracy.
    threshold : float
        Scores above it predict a positive label.
    """

    scores: Scores
    labels: TrueLabels
    ks: tuple[int, ...]
    threshold: float

    @classmethod
    def of(
        cls, Y: Any, scores: Array | Scores, ks: Sequence[int], threshold: float, mask: Any
    ) -> _Blocks:
        """Check that everything fits together."""
        made = as_scores(scores)
        depths = _depths(ks, made.shape[1])
        return cls(made, TrueLabels.of(Y, mask, shape=made.shape), depths, float(threshold))

    @property
    def depth(self) -> int:
        """The largest K."""
        return max(self.ks, default=0)

    def __iter__(self) -> Iterator[tuple[Array, Array, Array]]:
        """Yield precisions at 1, 2, ..., AUC, and (observed, wrong) entries of a block of rows."""
        for ends in row_blocks(self.scores.shape):
            yield self._measured(self.scores.block(*ends), self.labels.block(*ends))

    def _measured(self, scores: Array, labels: NDArray[np.int8]) -> tuple[Array, Array, Array]:
        """Return precisions, AUC and counts of the rows of one block."""
        scores = np.ascontiguousarray(scores, dtype=np.float64)
        if np.isnan(scores).any():
            raise ValueError("`scores` must not contain NaN: such labels cannot be ranked.")
        precision, auc = np.empty((scores.shape[0], self.depth)), np.empty(scores.shape[0])
        counts = np.empty((scores.shape[0], 2), dtype=np.int64)
        _measure_rows(scores, labels, self.threshold, precision, auc, counts)
        return precision, auc, counts


def _depths(ks: Sequence[int], n_labels: int) -> tuple[int, ...]:
    """Return the K as whole numbers within the number of labels."""
    depths = tuple(positive_integer(k, "k") for k in ks)
    if depths and max(depths) > n_labels:
        raise ValueError(
            f"`k` must be at most the number of labels, {n_labels}, got {max(depths)}."
        )
    return depths


class _Tally:
    """Sums over the blocks seen so far."""

    def __init__(self, depth: int) -> None:
        self.precision = np.zeros(depth)
        self.auc = 0.0
        self.rows = self.auc_rows = self.observed = self.errors = 0

    def add(self, precision: Array, auc: Array, counts: Array) -> None:
        """Take in the rows of one block."""
        seen, ranked = counts[:, 0] > 0, ~np.isnan(auc)
        self.precision += precision[seen].sum(axis=0)
        self.auc += float(auc[ranked].sum())
        self.rows += int(seen.sum())
        self.auc_rows += int(ranked.sum())
        self.observed += int(counts[:, 0].sum())
        self.errors += int(counts[:, 1].sum())

    def metrics(self, ks: Sequence[int]) -> MultiLabelMetrics:
        """Return the averages."""
        if not self.observed:
            raise ValueError("`Y` has no observed entry: there is nothing to score.")
        return MultiLabelMetrics(
            top_k={k: float(self.precision[k - 1]) / self.rows for k in ks},
            hamming=self.errors / self.observed,
            auc=self.auc / self.auc_rows if self.auc_rows else float("nan"),
            n_rows=self.rows,
            n_auc_rows=self.auc_rows,
            n_observed=self.observed,
        )


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
def _row_hits(scores: Array, labels: Array, precision: Array) -> None:
    """Write the share of positives among the 1, 2, ... best-scored observed labels."""
    depth, count = precision.size, 0
    best, where = np.empty(depth), np.empty(depth, dtype=np.int64)
    worst = -np.inf
    for label in range(scores.size):
        if labels[label] >= 0 and (count < depth or scores[label] > worst):
            insert(best, where, count, scores[label], label)
            count = min(depth, count + 1)
            worst = best[count - 1]
    hits = 0
    for rank in range(depth):
        if rank < count:
            hits += labels[where[rank]] == 1
        precision[rank] = hits / max(1, min(rank + 1, count))


@threaded
def _measure_rows(
    scores: Array, labels: Array, threshold: float, precision: Array, auc: Array, counts: Array
) -> None:
    """Write precisions, AUC, and the numbers of observed and of wrong entries, row by row."""
    for i in numba.prange(scores.shape[0]):
        observed, errors = 0, 0
        for label in range(scores.shape[1]):
            seen = labels[i, label] >= 0
            observed += seen
            errors += seen & ((scores[i, label] > threshold) != (labels[i, label] == 1))
        counts[i, 0], counts[i, 1] = observed, errors
        if precision.shape[1] > 0:
            _row_hits(scores[i], labels[i], precision[i])
        auc[i] = _row_auc(scores[i], labels[i])
