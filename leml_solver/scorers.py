"""Scorers for `GridSearchCV` and its like: the metrics of Section 5, missing labels allowed.

Each is a callable (estimator, X, Y) -> float, larger being better. It asks the estimator for
`decision_function` on blocks of rows, so that n x L scores are never held.

Paper: Section 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from argument_checks import one_of, positive_integer
from leml_solver.metrics import MultiLabelMetrics, evaluate_scores
from leml_solver.scoring import BlockScores

__all__ = ["MultiLabelScorer", "evaluate_estimator"]

METRICS = ("top_k", "auc", "hamming")


@dataclass(frozen=True, slots=True)
class MultiLabelScorer:
    """Score an estimator by one metric.

    Attributes
    ----------
    metric : str
        "top_k" (precision at `k`), "auc" (per row, averaged) or "hamming" (its negative).
    k : int
        Depth of top-K accuracy.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from leml_solver.estimators import LEMLClassifier
    >>> from leml_solver.scorers import MultiLabelScorer
    >>> search = GridSearchCV(
    ...     LEMLClassifier(), {"penalty": [0.1, 1, 10]}, scoring=MultiLabelScorer("top_k", 3)
    ... )
    """

    metric: str = "top_k"
    k: int = 1

    def __post_init__(self) -> None:
        one_of(self.metric, "metric", METRICS)
        positive_integer(self.k, "k")

    def __call__(self, estimator: Any, X: Any, Y: Any) -> float:
        """Return the metric on (X, Y), in which NaN is a missing label."""
        ks = (self.k,) if self.metric == "top_k" else ()
        metrics = evaluate_estimator(estimator, X, Y, ks=ks)
        values = {"auc": metrics.auc, "hamming": -metrics.hamming}
        return metrics.top_k[self.k] if self.metric == "top_k" else values[self.metric]


def evaluate_estimator(
    estimator: Any, X: Any, Y: Any, *, ks: tuple[int, ...] = (1, 3, 5), mask: Any = None
) -> MultiLabelMetrics:
    """Return the metrics of a fitted estimator with `decision_function`, block by block.

    Paper: Section 5.
    """
    if Y is None or getattr(Y, "ndim", 2) != 2:
        raise ValueError("`Y` must be a label matrix; for a vector of classes take accuracy.")
    shape = (X.shape[0], np.shape(Y)[1] if not hasattr(Y, "shape") else Y.shape[1])

    def block(start: int, stop: int) -> Any:
        return np.asarray(estimator.decision_function(_safe_indexing(X, slice(start, stop))))

    return evaluate_scores(Y, BlockScores(block, shape), ks=ks, mask=mask)
