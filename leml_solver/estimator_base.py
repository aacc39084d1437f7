"""What the two estimators share: checking X, fitting the factors, scores block by block."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from argument_checks import positive_integer
from leml_solver.alternating import AlternatingOptions, FactorResult, fit_factors
from leml_solver.kernel import fit_kernel_factors
from leml_solver.losses import Loss
from leml_solver.random_states import solver_seed
from leml_solver.scored_classifier import Scored, check_rows, warn_unobserved
from leml_solver.scoring import BlockScores
from leml_solver.targets import Targets

__all__ = ["LowRankEstimator"]

Array = NDArray[Any]


class LowRankEstimator(Scored, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Fit Z = W H^T by alternating minimisation; the parts that do not depend on the task.

    Paper: Equation (5).
    """

    # Parameters that the subclasses' constructors set.
    rank: int
    penalty: float
    fit_intercept: bool
    max_iter: int
    tol: float
    kernel: Any
    options: AlternatingOptions | None
    random_state: Any
    verbose: bool
    # What `fit` sets.
    W_: Array
    H_: Array
    intercept_: Array
    threshold_: float

    def transform(self, X: Any) -> Array:
        """Return X W, the points in the latent space; K(X, training rows) W with a kernel.

        Parameters
        ----------
        X : (n, d) array, DataFrame or sparse matrix
            Features.

        Returns
        -------
        (n, rank_) array
        """
        check_is_fitted(self)
        return self._latent(self._checked(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = isinstance(self.kernel, str)
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        if self.kernel is None:
            tags.transformer_tags.preserves_dtype += ["float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self.W_.shape[1])

    def _checked(self, X: Any, *, reset: bool = False) -> Any:
        """Return X as a float array or CSR matrix with as many columns as in `fit`."""
        # Kernel matrices of float32 points are not positive semidefinite to working accuracy.
        dtype = (np.float64, np.float32) if self.kernel is None else (np.float64,)
        return validate_data(self, X, accept_sparse="csr", dtype=dtype, reset=reset)

    def _fit_targets(self, X: Any, targets: Targets, loss: str | Loss) -> None:
        """Fit the factors to checked data and keep them."""
        check_rows(X, targets)
        self.unobserved_labels_ = warn_unobserved(targets.labels)
        arguments: dict[str, Any] = {
            "penalty": self.penalty,
            "loss": loss,
            "random_state": solver_seed(self.random_state),
            "options": self._solver_options(),
        }
        rank, L = positive_integer(self.rank, "rank"), targets.labels.shape[1]
        if self.kernel is None:
            X = X if targets.rows is None else X[targets.rows]
            result = fit_factors(X, targets.labels, rank=min(rank, X.shape[1], L), **arguments)
            self._keep(result, targets)
        else:
            self._fit_kernel(X, targets, {**arguments, "rank": min(rank, X.shape[0], L)})

    def _fit_kernel(self, X: Any, targets: Targets, arguments: dict[str, Any]) -> None:
        """Fit functions of the kernel with the training rows, of which those with labels count."""
        given = isinstance(self.kernel, str)
        used = slice(None) if targets.rows is None else targets.rows
        points = (X.toarray() if sparse.issparse(X) else X)[:, used][used] if given else X[used]
        made = fit_kernel_factors(points, targets.labels, kernel=self.kernel, **arguments)
        self._keep(made.fit, targets)
        self.W_ = np.zeros((X.shape[0], made.V.shape[1]))
        self.W_[used] = made.V
        self.X_fit_ = None if given else X

    def _solver_options(self) -> AlternatingOptions:
        """Return the solver's options with those that are parameters of the estimator."""
        return replace(
            self.options or AlternatingOptions(),
            max_iter=self.max_iter,
            tol=self.tol,
            intercept=bool(self.fit_intercept),
            progress=bool(self.verbose),
        )

    def _keep(self, result: FactorResult, targets: Targets) -> None:
        """Store what was fitted."""
        self.W_, self.H_ = result.W, result.H
        zeros = np.zeros(result.H.shape[0])
        self.intercept_ = zeros if result.intercept is None else result.intercept
        self.rank_ = result.W.shape[1]
        self.n_iter_ = max(1, result.iterations)
        self.objective_ = result.objective
        self.trace_, self.status_ = result.trace, result.status
        self.certificate_ = result.certificate
        self._keep_targets(targets)

    def _latent(self, X: Any) -> Array:
        """Return X W for checked X, with the kernel in place of X if there is one."""
        if getattr(self, "X_fit_", None) is not None:
            X = self.kernel(X, self.X_fit_)
        return np.asarray(X @ self.W_)

    def _block_scores(self, X: Any) -> BlockScores:
        """Return X W H^T + intercept - threshold, to be made block by block."""
        offset = self.intercept_ - self.threshold_

        def block(start: int, stop: int) -> Array:
            scores = self._latent(X[start:stop]) @ self.H_.T
            scores += offset
            return scores

        return BlockScores(block, (X.shape[0], self.H_.shape[0]))
