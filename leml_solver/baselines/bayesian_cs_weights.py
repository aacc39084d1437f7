"""Posterior of the regression of measurements on features: Gaussian, one covariance for all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class WeightPosterior:
    """q(W) = prod_c N(w_c, S) with S = (X^T X / noise + I / variance)^-1.

    One Cholesky factor of the smaller Gram matrix of X plus noise / variance on its diagonal serves
    all measurements and iterations.
    """

    X: Any
    factor: Any
    noise: float
    variance: float

    @classmethod
    def of(cls, X: Any, noise: float, variance: float) -> WeightPosterior:
        """Factorise for features X (n, d), dense or CSR."""
        gram = X.T @ X if X.shape[1] <= X.shape[0] else X @ X.T
        gram = gram.toarray() if sparse.issparse(gram) else np.asarray(gram)
        gram[np.diag_indices_from(gram)] += noise / variance
        return cls(X, linalg.cho_factor(gram, overwrite_a=True), noise, variance)

    @property
    def _primal(self) -> bool:
        """Whether the factor is that of X^T X."""
        return bool(self.X.shape[1] <= self.X.shape[0])

    def means(self, targets: Array) -> Array:
        """Return E[W] (d, k), the ridge regression of E[z] (n, k) on X."""
        if self._primal:
            return np.asarray(linalg.cho_solve(self.factor, np.asarray(self.X.T @ targets)))
        return np.asarray(self.X.T @ linalg.cho_solve(self.factor, targets))

    def fit_terms(self, W: Array, targets: Array) -> float:
        """Return E[log p(targets | W)] + E[log p(W)] plus the entropy of q(W).

        `targets` are taken as known; the bound has their variance taken off elsewhere. At
        W = means(targets) this is the log evidence log N(targets; 0, noise I + variance X X^T).
        """
        n, k = targets.shape
        misfit = np.sum(np.square(targets - self.X @ W)) / self.noise
        size = np.sum(np.square(W)) / self.variance
        diagonal = np.diag(self.factor[0])
        shrink = 2 * np.sum(np.log(diagonal)) - diagonal.size * np.log(self.noise / self.variance)
        constant = k * (shrink + n * np.log(2 * np.pi * self.noise))
        return -0.5 * float(misfit + size + constant)
