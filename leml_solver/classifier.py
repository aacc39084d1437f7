"""The scikit-learn classifier for label matrices and vectors of classes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from leml_solver.alternating import AlternatingOptions
from leml_solver.estimator_base import LowRankEstimator
from leml_solver.kernel import Kernel
from leml_solver.losses import Loss
from leml_solver.metrics import loss_threshold
from leml_solver.scoring import row_blocks, top_k
from leml_solver.targets import class_targets
from leml_solver.truth import Truth

__all__ = ["LEMLClassifier"]

Array = NDArray[Any]


def _has_probabilities(estimator: LEMLClassifier) -> bool:
    """Whether the loss has a probability to each score; says which loss has."""
    if getattr(estimator.loss, "name", estimator.loss) != "logistic":
        raise AttributeError(
            f"predict_proba needs loss='logistic', got {estimator.loss!r}: other losses do not "
            "estimate probabilities."
        )
    return True


class LEMLClassifier(ClassifierMixin, LowRankEstimator):  # type: ignore[misc]
    r"""Low-rank multi-label classifier; labels may be missing.

    Minimises :math:`\sum_{(i,l) \in \Omega} \ell(y_{il}, x_i^T W h_l) + \frac{\mu}{2}
    (\|W\|_F^2 + \|H\|_F^2)` over W (d, k) and H (L, k), which is penalty :math:`\mu` times the
    trace norm of Z = W H^T if k is large enough.

    A label matrix gives one score a label; a label is predicted where its score is above 0. A
    vector of classes is fitted one class against the rest; the class of largest score is predicted.

    Memory in `fit` beyond X and Y is a few copies of W, H and X W; `decision_function`, `predict`
    of a dense Y and `predict_proba` return n x L numbers and hold little more; `predict_topk`,
    `score`, and `predict` after a sparse Y hold one block of 32 MiB whatever n and L.

    Paper: Equation (5).

    Parameters
    ----------
    rank : int
        k; at most min(d, L) columns are used, as more would add nothing.
    penalty : float
        Weight of the trace norm beside the *sum* of losses.
    loss : str or Loss
        "squared", "logistic", "squared_hinge", or a smooth loss of your own.
    fit_intercept : bool
        Fit an unpenalised intercept for each label.
    max_iter : int
        Outer iterations; few of them act as early stopping, and validation may choose.
    tol : float
        Stop when the objective falls by less than this share of itself.
    kernel : callable or "precomputed", optional
        A function of two sets of points such as `sklearn.metrics.pairwise.rbf_kernel`; with
        "precomputed", X is the matrix of kernels with the training rows. The penalty is that of the
        functions, |K^(1/2) Z|_tr; W_ then has one row a training row. Memory is O(n^2).
    options : AlternatingOptions, optional
        Everything else about the solver; its max_iter, tol, intercept and progress are those above.
    random_state : int, RandomState, Generator or None
        Where the start comes from.
    verbose : bool
        Show a progress bar.

    Attributes
    ----------
    W_ : (d, rank_) array
    H_ : (L, rank_) array
    intercept_ : (L,) array
        Zeros without an intercept.
    threshold_ : float
        Value of x^T W h + intercept from which on a label is positive: 0.5 for the squared loss,
        whose labels are 0 and 1, and 0 for losses on signs. Scores have it taken off.
    classes_ : array
        The classes of a vector; ``array([0, 1])`` for a label matrix (-1 and 1 if it holds those).
    certificate_ : FactorCertificate or None
        How far the objective is from that of the best Z of any rank.
    status_ : FitStatus
        How the fit ended, and what to do next.
    trace_ : tuple of TracePoint
        Objective and time after each outer iteration.
    objective_, n_iter_, rank_ : float, int, int
    unobserved_labels_ : int array
        Labels without any observed entry.
    label_names_ : pandas Index or None
        Columns of a DataFrame of labels; predictions are DataFrames then.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    `GridSearchCV` with a number for `cv` looks at y, and NaN in it makes scikit-learn warn of a
    cast; pass ``cv=KFold(5)``, or use `EntrySplit` to hold out entries instead of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver.estimators import LEMLClassifier
    >>> X = np.eye(4)
    >>> Y = np.array([[1, 0], [1, np.nan], [0, 1], [np.nan, 1]])
    >>> LEMLClassifier(rank=2, penalty=0.01, random_state=0).fit(X, Y).predict(X[:3])
    array([[1, 0],
           [1, 0],
           [0, 1]])
    """

    def __init__(
        self,
        rank: int = 50,
        *,
        penalty: float = 1.0,
        loss: str | Loss = "squared",
        fit_intercept: bool = True,
        max_iter: int = 20,
        tol: float = 1e-4,
        kernel: Kernel | str | None = None,
        options: AlternatingOptions | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.rank = rank
        self.penalty = penalty
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.kernel = kernel
        self.options = options
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, mask: Any = None) -> Self:
        """Fit the factors.

        Parameters
        ----------
        X : (n, d) array, DataFrame or sparse matrix
            Features; float32 is kept, anything else becomes float64.
        y : (n, L) array, DataFrame or sparse matrix of 0/1, or (n,) classes
            NaN (pandas' NA, None) is a missing label, 0 never is. A sparse matrix is full.
        mask : (n, L) boolean array or sparse matrix, optional
            Which entries of y are observed: the way to missing labels in a sparse matrix.

        Returns
        -------
        self
        """
        checked = self._checked(X, reset=True)
        targets = class_targets(y, mask)
        self._fit_targets(checked, targets, self.loss)
        self.classes_, self.threshold_ = targets.classes, loss_threshold(self.loss)
        return self

    def decision_function(self, X: Any) -> Any:
        """Return the score of each label, above 0 where it is predicted.

        Returns
        -------
        (n, L) array or DataFrame
            (n,) for a vector of two classes, whose second one has scores above 0.
        """
        scores = self._all_scores(X)
        return scores.ravel() if self.target_kind_ == "binary" else self._framed(scores, X)

    def predict(self, X: Any) -> Any:
        """Return the labels with a score above 0, or the class of largest score.

        Returns
        -------
        (n, L) array, DataFrame or CSR matrix like the labels in `fit`; (n,) array for classes
        """
        check_is_fitted(self)
        if self.target_kind_ == "multiclass":
            return self.classes_[self.predict_topk(X, 1).ravel()]
        if self.sparse_output_:
            return self._sparse_predictions(X)
        predicted = self.classes_[(self._all_scores(X) > 0).astype(np.intp)]
        return predicted.ravel() if self.target_kind_ == "binary" else self._framed(predicted, X)

    def _sparse_predictions(self, X: Any) -> Any:
        """Return predictions as a CSR matrix, made block by block."""
        scores = self._block_scores(self._checked(X))
        parts = [sparse.csr_matrix(scores.block(*ends) > 0) for ends in row_blocks(scores.shape)]
        return sparse.vstack(parts, format="csr", dtype=self.classes_.dtype)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Return probabilities, for the logistic loss.

        Returns
        -------
        (n, L) array or DataFrame
            Probability of each label. For a vector of C classes, (n, C) rows that sum to one.
        """
        scores = self._all_scores(X)
        positive = expit(scores, out=scores)
        if self.target_kind_ == "multilabel":
            return self._framed(positive, X)
        if self.target_kind_ == "binary":
            return np.hstack([1 - positive, positive])
        total = positive.sum(axis=1, keepdims=True)
        total[total == 0] = 1
        return positive / total

    def predict_topk(self, X: Any, k: int = 5, *, return_scores: bool = False) -> Any:
        """Return the k labels of largest score in each row, best first, without n x L memory.

        Parameters
        ----------
        X : (n, d) array, DataFrame or sparse matrix
            Features.
        k : int
            At most L.
        return_scores : bool
            Return the scores as well.

        Returns
        -------
        labels : (n, k) int array
            Numbers of labels; of equal scores the lower number comes first.
        scores : (n, k) array
            Only if asked for.
        """
        check_is_fitted(self)
        labels, scores = top_k(self._block_scores(self._checked(X)), k)
        return (labels, scores) if return_scores else labels

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return accuracy: the share of rows whose observed labels are all predicted rightly.

        That is scikit-learn's convention, and strict; see `leml_solver.scorers` for others.
        """
        check_is_fitted(self)
        if self.target_kind_ != "multilabel" or sample_weight is not None:
            return float(super().score(X, y, sample_weight))
        scores = self._block_scores(self._checked(X))
        truth, right, counted = Truth.of(y, shape=scores.shape), 0, 0
        for ends in row_blocks(scores.shape):
            known = truth.block(*ends)
            wrong = (known >= 0) & ((scores.block(*ends) > 0) != (known == 1))
            seen = (known >= 0).any(axis=1)
            right += int((seen & ~wrong.any(axis=1)).sum())
            counted += int(seen.sum())
        return right / counted if counted else float("nan")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
