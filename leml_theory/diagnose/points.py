"""Feature vectors of a real data set, as they are or minus their mean; sparse ones stay sparse."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh, svds

from leml_solver.baselines.regression import column_means, with_full_columns_centred
from leml_solver.problem import checked_features
from leml_theory.arrays import Array
from leml_theory.rademacher import spectral_norms

# Up to this side eigenvalues of a dense matrix are cheaper than a Lanczos iteration.
_DENSE_SIDE = 1024
_ROUNDING = 1e-24  # what may be left of |x|^2 where all x are equal up to rounding


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Rows x_i - shift.

    Attributes
    ----------
    X : (n, d) array or CSR array
        Features; in a centred CSR array only columns without zeros are centred in place.
    shift : (d,) array or None
        The mean that is subtracted from every row without storing the result; None for no shift.
    """

    X: Any
    shift: Array | None = None

    @classmethod
    def of(cls, X: Any, name: str = "X") -> Points:
        """Check features and return them as float64 numbers whose squares are safe."""
        rows = checked_features(X, np.float64, name)
        return cls(sparse.csr_array(rows) if sparse.issparse(rows) else rows)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers n and d."""
        return int(self.X.shape[0]), int(self.X.shape[1])

    @property
    def mean(self) -> Array:
        """Mean of the rows of X."""
        return np.asarray(self.X.mean(axis=0)).ravel()

    @property
    def nonnegative(self) -> bool:
        """Whether no feature of any row is below zero."""
        return self.shift is None and bool(self.X.min() >= 0)

    def centred(self) -> Points | None:
        """Return the rows minus their mean; None if they are all equal."""
        means = column_means(self.X)
        if sparse.issparse(self.X):
            made = Points(*with_full_columns_centred(self.X, means))
            return None if made.second_moment() <= 0 else made
        made = Points(self.X - means)
        return None if made.second_moment() <= _ROUNDING * self.second_moment() else made

    def times(self, factors: Array) -> Points | None:
        """Return the rows times a factor each; None where a shift makes them costly."""
        return Points(self.X * factors[:, None]) if self.shift is None else None

    def second_moment(self) -> float:
        """Return the mean of |x|^2."""
        total = _squares(self.X) / self.shape[0]
        return total if self.shift is None else total - float(self.shift @ self.shift)

    def squares(self) -> Array:
        """Return |x|^2 of each row."""
        squares = np.asarray((self.X * self.X).sum(axis=1)).ravel()
        if self.shift is not None:
            squares = squares - 2 * (self.X @ self.shift) + self.shift @ self.shift
        return np.asarray(np.maximum(squares, 0.0))

    def top_eigenvalue(self, rng: np.random.Generator) -> float:
        """Return the largest eigenvalue of the mean of x x^T, by Lanczos where d is large."""
        n, d = self.shape
        if d <= _DENSE_SIDE:
            second = _dense(self.X.T @ self.X) / n
            if self.shift is not None:
                second -= np.outer(self.shift, self.shift)
            only = [d - 1, d - 1]
            return float(scipy.linalg.eigh(second, eigvals_only=True, subset_by_index=only)[0])

        def second_moment_times(v: Array) -> Array:
            image = np.asarray(self.X.T @ (self.X @ v.ravel())) / n
            return image if self.shift is None else image - self.shift * (self.shift @ v.ravel())

        operator = LinearOperator((d, d), matvec=second_moment_times, dtype=np.float64)
        start = rng.standard_normal(d)
        return float(eigsh(operator, k=1, which="LA", v0=start, return_eigenvectors=False)[0])

    def signed_norms(self, S: Any, rng: np.random.Generator) -> tuple[float, float]:
        """Return spectral and Frobenius norm of V^T = S x for a sparse sign matrix S (L, n)."""
        V = S @ self.X
        sums = np.asarray(S.sum(axis=1)).ravel()
        if min(V.shape) <= _DENSE_SIDE:
            made = _dense(V) if self.shift is None else _dense(V) - np.outer(sums, self.shift)
            return float(spectral_norms(made[None])[0]), float(np.linalg.norm(made))
        shift = np.zeros(V.shape[1]) if self.shift is None else self.shift
        operator = LinearOperator(
            V.shape,
            matvec=lambda v: V @ v.ravel() - sums * (shift @ v.ravel()),
            rmatvec=lambda u: V.T @ u.ravel() - shift * (sums @ u.ravel()),
            dtype=np.float64,
        )
        start = rng.standard_normal(min(V.shape))
        top = svds(operator, k=1, v0=start, return_singular_vectors=False)[0]
        squares = _squares(V) - 2 * float(sums @ (V @ shift)) + float(sums @ sums * (shift @ shift))
        return float(top), math.sqrt(max(squares, 0.0))


def _squares(A: Any) -> float:
    """Return the sum of the squared entries."""
    values = A.data if sparse.issparse(A) else A
    return float(np.square(values).sum())


def _dense(A: Any) -> Array:
    """Return a matrix as an array."""
    return np.asarray(A.toarray() if sparse.issparse(A) else A)
