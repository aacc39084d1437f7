"""The compiled loops of the metrics: each row of scores against its true labels."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from leml_solver.scoring import insert, threaded

__all__ = ["judge"]

Array = NDArray[Any]


@numba.njit(cache=True)
def _row_auc(scores: Array, truth: Array) -> float:
    """Return the share of (positive, negative) pairs in order; NaN where there is none."""
    positives = np.sort(scores[truth == 1])
    p = positives.size
    negatives, ordered = 0, 0.0
    lowest = positives[0] if p > 0 else np.inf
    for label in range(scores.size):
        if truth[label] == 0:
            negatives += 1
            if scores[label] < lowest:  # nearly all negatives, if the scores are any good
                ordered += p
            else:
                below = np.searchsorted(positives, scores[label])
                equal = np.searchsorted(positives, scores[label], side="right")
                ordered += (p - equal) + 0.5 * (equal - below)
    return ordered / (p * negatives) if p * negatives > 0 else np.nan


@numba.njit(cache=True)
def _row_hits(scores: Array, truth: Array, precision: Array) -> None:
    """Write the share of positives among the 1, 2, ... best-scored observed labels."""
    depth, count = precision.size, 0
    best, where = np.empty(depth), np.empty(depth, dtype=np.int64)
    worst = -np.inf
    for label in range(scores.size):
        if truth[label] >= 0 and (count < depth or scores[label] > worst):
            insert(best, where, count, scores[label], label)
            count = min(depth, count + 1)
            worst = best[count - 1]
    hits = 0
    for rank in range(depth):
        if rank < count:
            hits += truth[where[rank]] == 1
        precision[rank] = hits / max(1, min(rank + 1, count))


def _judge_rows(
    scores: Array, truth: Array, threshold: float, precision: Array, auc: Array, counts: Array
) -> None:
    """Write precisions, AUC, and the numbers of observed and of wrong entries, row by row."""
    for i in numba.prange(scores.shape[0]):
        observed, errors = 0, 0
        for label in range(scores.shape[1]):
            seen = truth[i, label] >= 0
            observed += seen
            errors += seen & ((scores[i, label] > threshold) != (truth[i, label] == 1))
        counts[i, 0], counts[i, 1] = observed, errors
        if precision.shape[1] > 0:
            _row_hits(scores[i], truth[i], precision[i])
        auc[i] = _row_auc(scores[i], truth[i])


judge = threaded(_judge_rows)
