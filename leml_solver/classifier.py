"""The scikit-learn classifier for label matrices and vectors of classes."""

from __future__ import annotations

from typing import Any, Self

from leml_solver.alternating import AlternatingOptions
from leml_solver.estimator_base import LowRankEstimator
from leml_solver.kernel import Kernel
from leml_solver.losses import Loss
from leml_solver.metrics import loss_threshold
from leml_solver.scored_classifier import Probabilities
from leml_solver.targets import class_targets

__all__ = ["LEMLClassifier"]


class LEMLClassifier(Probabilities, LowRankEstimator):
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
        self._fit_targets(checked, class_targets(y, mask), self.loss)
        self.threshold_ = loss_threshold(self.loss)
        return self
