"""The scikit-learn regressor for several targets, of which some may be missing."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import RegressorMixin

from leml_solver.alternating import AlternatingOptions
from leml_solver.estimator_base import LowRankEstimator
from leml_solver.kernel import Kernel
from leml_solver.targets import number_targets

__all__ = ["LEMLRegressor"]


class LEMLRegressor(RegressorMixin, LowRankEstimator):  # type: ignore[misc]
    r"""Low-rank multi-output regression; targets may be missing.

    Minimises :math:`\frac12 \sum_{(i,l) \in \Omega} (y_{il} - x_i^T W h_l)^2 + \frac{\mu}{2}
    (\|W\|_F^2 + \|H\|_F^2)`: reduced-rank regression with a trace-norm penalty.

    Paper: Equation (5).

    Parameters
    ----------
    rank, penalty, fit_intercept, max_iter, tol, kernel, options, random_state, verbose
        As for `LEMLClassifier`.

    Attributes
    ----------
    W_, H_, intercept_, certificate_, status_, trace_, objective_, n_iter_, rank_
        As for `LEMLClassifier`.
    """

    def __init__(
        self,
        rank: int = 50,
        *,
        penalty: float = 1.0,
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
            Features.
        y : (n,) or (n, L) array, DataFrame or sparse matrix of numbers
            NaN is missing; a sparse matrix is full.
        mask : (n, L) boolean array or sparse matrix, optional
            Which entries of y are observed.

        Returns
        -------
        self
        """
        checked = self._checked(X, reset=True)
        targets = number_targets(y, mask)
        self._fit_targets(checked, targets, "squared")
        self.threshold_ = 0.0
        return self

    def predict(self, X: Any) -> Any:
        """Return X W H^T + intercept.

        Returns
        -------
        (n, L) array or DataFrame; (n,) array for a vector of targets
        """
        scores = self._all_scores(X)
        return scores.ravel() if self.target_kind_ == "vector" else self._framed(scores, X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R squared over the observed entries of each target, averaged over targets."""
        values = y.toarray() if sparse.issparse(y) else np.asarray(y, dtype=np.float64)
        if not np.isnan(values).any():
            return float(super().score(X, values, sample_weight))
        residual = np.square(values - np.asarray(self.predict(X)))
        spread = np.square(values - np.nanmean(values, axis=0))
        return float(np.mean(1 - np.nansum(residual, axis=0) / np.nansum(spread, axis=0)))
