"""Choosing parameters by the metrics of Section 5, on held-out rows or on held-out entries of Y.

Paper: Section 5.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import PredefinedSplit
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from argument_checks import one_of, positive_integer, real_input, same_count, solver_seed, unmasked
from argument_checks.wrong_types import errors_name_arguments
from leml_solver._estimation.targets import as_numbers
from leml_solver.labels import truths
from leml_solver.metrics import BlockScores, MultiLabelMetrics, evaluate_scores, label_auc

__all__ = ["EntrySplit", "MultiLabelScorer", "estimator_scores", "evaluate_estimator"]

Array = NDArray[Any]
_AT_K = ("top_k", "recall", "ndcg")
_METRICS = (*_AT_K, "auc", "macro_auc", "hamming", "micro_f1", "macro_f1")


@dataclass(frozen=True, slots=True)
class EntrySplit:
    """Deal the observed entries of Y into parts at random; each part is held out once.

    Attributes
    ----------
    n_splits : int
        Number of parts, at least 2.
    random_state : int
        Which entries go where.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver.model_selection import EntrySplit
    >>> Y = np.array([[1, 0], [np.nan, 1]])
    >>> [int((~np.isnan(test)).sum()) for _, test in EntrySplit(3).split(Y)]
    [1, 1, 1]
    """

    n_splits: int = 5
    random_state: int = 0

    def __post_init__(self) -> None:
        if positive_integer(self.n_splits, "n_splits") < 2:
            raise ValueError("`n_splits` must be at least 2, got 1.")

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        """Return the number of parts; scikit-learn passes arguments that do not matter."""
        return self.n_splits

    def split(self, Y: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Array, Array]]:  # noqa: ARG002
        """Yield (Y to train on, Y to test on), each with NaN where the other is observed.

        Parameters
        ----------
        Y : (n, L) array or DataFrame
            NaN is missing.
        y, groups : None
            What scikit-learn's searches pass, which can hold out rows only and are told so.
        """
        if y is not None:
            raise ValueError(
                "`cv` must hold out rows here, and EntrySplit holds out entries: pass the copies "
                "and the splitter that EntrySplit(...).stacked(X, Y) returns, or search by "
                "LEMLClassifierCV(cv=EntrySplit(...))."
            )
        values = _dense(Y)
        fold = self._folds(~np.isnan(values))
        for part in range(self.n_splits):
            train, test = values.copy(), values.copy()
            train[fold == part] = np.nan
            test[fold != part] = np.nan
            yield train, test

    def split_mask(self, mask: Any) -> Iterator[tuple[Any, Any]]:
        """Yield (mask to train with, mask to test with) for a sparse Y; memory is that of the mask.

        Parameters
        ----------
        mask : (n, L) boolean sparse matrix
            Observed entries.
        """
        observed = sparse.coo_array(truths(mask, "mask", np.shape(mask)))
        fold = self._dealt(observed.data.size)
        for part in range(self.n_splits):
            yield _chosen(observed, fold != part), _chosen(observed, fold == part)

    def stacked(self, X: Any, Y: Any) -> tuple[Any, Array, PredefinedSplit]:
        """Return (X, Y, cv) for `GridSearchCV(..., cv=cv).fit(X, Y)` to hold out entries.

        The rows are repeated once per part, each copy with the labels of its part alone and NaN
        elsewhere: leaving out rows then leaves out entries, and the sum of losses over the copies
        is that over the original, so the refit on all copies is a fit to (X, Y). Training costs
        up to `n_splits` times the products with X; rows without a label in a part are dropped.
        """
        values = _dense(Y)
        same_count(_num_samples(X), len(values))
        fold = self._folds(~np.isnan(values))
        used = [np.flatnonzero((fold == part).any(axis=1)) for part in range(self.n_splits)]
        labels = [
            np.where(fold[rows] == part, values[rows], np.nan) for part, rows in enumerate(used)
        ]
        rows = np.concatenate(used)
        copies = _safe_indexing(real_input(X, "X"), rows)
        parts = np.repeat(np.arange(self.n_splits), [part.size for part in used])
        return copies, np.vstack(labels), PredefinedSplit(parts)

    def _dealt(self, count: int) -> Array:
        """Return the part of each of `count` entries; parts differ by at most one entry."""
        if count < self.n_splits:
            raise ValueError(f"`Y` must have {self.n_splits} observed entries, got {count}.")
        rng = np.random.default_rng(solver_seed(self.random_state))
        return rng.permutation(np.arange(count, dtype=np.int32) % self.n_splits)

    def _folds(self, observed: NDArray[np.bool_]) -> Array:
        """Return the part of each observed entry, and -1 elsewhere."""
        fold = np.full(observed.shape, -1, dtype=np.int32)
        fold[observed] = self._dealt(int(observed.sum()))
        return fold


@dataclass(frozen=True, slots=True)
class MultiLabelScorer:
    """Score an estimator by one metric.

    Attributes
    ----------
    metric : str
        "top_k" (precision), "recall" or "ndcg" at `k`; "auc" (per row, averaged), "macro_auc"
        (per label), "micro_f1", "macro_f1", or "hamming" (its negative).
    k : int
        Depth of the first three.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from leml_solver.estimators import LEMLClassifier
    >>> from leml_solver.model_selection import MultiLabelScorer
    >>> search = GridSearchCV(
    ...     LEMLClassifier(), {"penalty": [0.1, 1, 10]}, scoring=MultiLabelScorer("top_k", 3)
    ... )
    """

    metric: str = "top_k"
    k: int = 1

    def __post_init__(self) -> None:
        one_of(self.metric, "metric", _METRICS)
        positive_integer(self.k, "k")

    def __call__(self, estimator: Any, X: Any, Y: Any) -> float:
        """Return the metric on (X, Y), in which NaN is a missing label."""
        if self.metric == "macro_auc":
            areas = label_auc(Y, estimator_scores(estimator, X))
            known = areas[~np.isnan(areas)]
            return float(known.mean()) if known.size else float("nan")
        at_k = self.metric in _AT_K
        metrics = evaluate_estimator(estimator, X, Y, ks=(self.k,) if at_k else ())
        value = getattr(metrics, self.metric)
        value = value[self.k] if at_k else value
        return -float(value) if self.metric == "hamming" else float(value)


def estimator_scores(estimator: Any, X: Any) -> BlockScores:
    """Return the scores of a fitted estimator with `decision_function`, made block by block.

    With `top_k`, the best labels of each row from a pipeline or any other estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from leml_solver import LEMLClassifier
    >>> from leml_solver.metrics import top_k
    >>> from leml_solver.model_selection import estimator_scores
    >>> X, Y = np.eye(4), np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0]])
    >>> model = make_pipeline(StandardScaler(), LEMLClassifier(2, random_state=0)).fit(X, Y)
    >>> top_k(estimator_scores(model, X), 1)[0].ravel()
    array([0, 0, 1, 1])
    """
    rows = real_input(X, "X")

    def block(start: int, stop: int) -> Any:
        return np.asarray(estimator.decision_function(_safe_indexing(rows, slice(start, stop))))

    if not hasattr(estimator, "decision_function"):
        raise TypeError(f"`estimator` needs a decision_function, got {type(estimator).__name__}.")
    if (first := block(0, 1)).ndim != 2:
        raise ValueError("`estimator` must give a score for each label, got one of two classes.")
    return BlockScores(block, (_num_samples(X), first.shape[1]))


def evaluate_estimator(
    estimator: Any, X: Any, Y: Any, *, ks: tuple[int, ...] | None = None, mask: Any = None
) -> MultiLabelMetrics:
    """Return the metrics of a fitted estimator with `decision_function`, block by block.

    Paper: Section 5.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import LEMLClassifier, evaluate_estimator
    >>> X, Y = np.eye(4), np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> model = LEMLClassifier(rank=2, penalty=0.01, random_state=0).fit(X, Y)
    >>> evaluate_estimator(model, X, Y, ks=(1,)).top_k
    {1: 1.0}
    """
    if Y is None or getattr(Y, "ndim", 2) != 2:
        raise ValueError("`Y` must be a label matrix; for a vector of classes take accuracy.")
    return evaluate_scores(Y, estimator_scores(estimator, X), ks=ks, mask=mask)


def _dense(Y: Any) -> Array:
    if sparse.issparse(Y):
        raise ValueError(
            "`Y` must be dense: held-out entries are marked with NaN. Write Y.toarray(), or split "
            "the mask of a sparse Y with `split_mask`."
        )
    values = as_numbers(np.asarray(real_input(unmasked(Y), "Y")))
    if values.ndim != 2:
        raise ValueError(f"`Y` must be a label matrix, got shape {values.shape}.")
    return values


def _chosen(observed: Any, keep: Array) -> Any:
    rows, columns = (axis[keep] for axis in observed.coords)
    return sparse.csr_array((np.ones(rows.size, dtype=bool), (rows, columns)), observed.shape)


errors_name_arguments(globals())
