r"""Linear regression of many targets on one X with a single factorisation; sparse X stays sparse.

An unpenalised intercept is eliminated by centring. For a sparse X that is a correction of rank one
to the Gram matrix X^T X (X X^T if X has more columns than rows), which is the only dense matrix
made. Working with squares of singular values costs digits: the relative error is about the square
of the condition number times 1e-16, and singular values below 1e-5 of the largest cannot be told
from zero and count as zero. On bibtex the coefficients agree with those from a singular value
decomposition of X to 1e-12; to reproduce the printed figures of CPLST, predictions good to 1e-4 are
enough. Columns without a zero are centred explicitly, since their means may be large compared with
their spread; other columns cannot have such means. Dense X, and sparse X small enough to be dense,
are decomposed directly.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from leml_solver._estimation.blocks import dense
from leml_solver._factored.closed_forms import Compression, compress
from leml_solver._lazy import cached_property

Array = NDArray[np.float64]

_SMALL = 1 << 20  # entries of a sparse X that are decomposed densely: 8 MB
_DEPENDENT = 1e-10  # eigenvalues of a Gram matrix below this share of the largest count as zero


@dataclass(frozen=True, eq=False)
class Centred:
    """Features and targets, each minus its means or unchanged."""

    X: Any  # (n, d) array or CSR matrix
    Y: Any  # (n, m) array or CSR matrix
    # Whether means are subtracted.
    centre_features: bool
    centre_targets: bool

    @cached_property
    def X_means(self) -> Array:
        """What is subtracted from X, (d,)."""
        return column_means(self.X) if self.centre_features else np.zeros(self.X.shape[1])

    @cached_property
    def Y_means(self) -> Array:
        """What is subtracted from Y, (m,)."""
        return _means(self.Y) if self.centre_targets else np.zeros(self.Y.shape[1])

    def compression(self) -> Compression:
        """Return the targets in the column space of X."""
        if not sp.issparse(self.X) or np.prod(self.X.shape) <= _SMALL:
            return compress(dense(self.X) - self.X_means, self.targets())
        values, vectors = _range(self.gram())
        sigma = np.sqrt(values)
        if self._tall:  # X^T X = V diag(s^2) V^T
            return Compression(vectors, sigma, vectors.T @ self.cross() / sigma[:, None])
        # X X^T = U diag(s^2) U^T
        return Compression(self.adjoint(vectors) / sigma, sigma, vectors.T @ self.targets())

    def ridge(self, ridge: float) -> Array:
        r"""Return the Z that minimises :math:`\|Y - XZ\|_F^2 + ridge \|Z\|_F^2`."""
        gram = self.gram()
        if ridge <= _DEPENDENT * np.trace(gram):
            problem = self.compression()
            return problem.predictor(problem.M, ridge)
        gram[np.diag_indices_from(gram)] += ridge
        factor = scipy.linalg.cho_factor(gram, overwrite_a=True, check_finite=False)
        if self._tall:
            return np.asarray(scipy.linalg.cho_solve(factor, self.cross(), check_finite=False))
        return self.adjoint(scipy.linalg.cho_solve(factor, self.targets(), check_finite=False))

    @cached_property
    def _stored(self) -> tuple[Any, Array]:
        """Sparse features, full columns centred, and the means still to be subtracted."""
        if not self.centre_features:
            return self.X, self.X_means
        return with_full_columns_centred(self.X, self.X_means)

    @property
    def _tall(self) -> bool:
        return bool(self.X.shape[0] >= self.X.shape[1])

    def targets(self) -> Array:
        """Return the targets as a dense array."""
        return np.asarray(dense(self.Y) - self.Y_means)

    @cached_property
    def _rows(self) -> Array:
        """The centred features where they are dense: no digits of large means are lost."""
        return np.asarray(self.X - self.X_means)

    def cross(self) -> Array:
        """Return X^T Y, (d, m)."""
        if not sp.issparse(self.X):
            return np.asarray(self._rows.T @ self.targets())
        X, _ = self._stored
        cross = dense(X.T @ self.Y)
        if self.centre_features or self.centre_targets:  # centring one is enough
            cross = cross - X.shape[0] * np.outer(_means(X), _means(self.Y))
        return cross

    def adjoint(self, A: Array) -> Array:
        """Return X^T A for a dense A (n, m)."""
        if not sp.issparse(self.X):
            return np.asarray(self._rows.T @ A)
        X, means = self._stored
        return np.asarray(X.T @ A - np.outer(means, A.sum(axis=0)))

    def target_gram(self) -> Array:
        """Return Y^T Y, (m, m)."""
        n, means = self.Y.shape[0], self.Y_means
        return np.asarray(dense(self.Y.T @ self.Y) - n * np.outer(means, means))

    def gram(self) -> Array:
        """Return X^T X, or X X^T if X has more columns than rows."""
        if not sp.issparse(self.X):
            return np.asarray(
                self._rows.T @ self._rows if self._tall else self._rows @ self._rows.T
            )
        X, means = self._stored
        if self._tall:
            return np.asarray(dense(X.T @ X) - X.shape[0] * np.outer(means, means))
        gram, shift = dense(X @ X.T), np.asarray(X @ means)
        return np.asarray(gram - shift - shift[:, None] + means @ means)


def ridge_regression(X: Any, Y: Any, ridge: float, *, intercept: bool) -> tuple[Array, Array]:
    r"""Return the minimiser Z, b of :math:`\|Y - XZ - 1b^T\|_F^2 + ridge \|Z\|_F^2`.

    At ridge zero it is the minimiser of least norm; b is not penalised, and zero without an
    `intercept`.
    """
    data = Centred(X, Y, intercept, intercept)
    Z = data.ridge(ridge)
    return Z, np.asarray(data.Y_means - data.X_means @ Z)


def column_means(X: Any) -> Array:
    """Return the mean of each column; of a constant one its value, so that nothing is left."""
    low, high = (_vector(ends) for ends in (X.min(axis=0), X.max(axis=0)))
    return np.where(low == high, low, _vector(X.mean(axis=0)))


def with_full_columns_centred(X: Any, means: Array) -> tuple[Any, Array]:
    """Return CSR X minus the means of columns without a zero, and the other means.

    Only such columns can have a mean so large that squares minus its square are rounding: with one
    zero among n entries, the square of the mean is at most n times the variance.
    """
    full = np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]
    if not full.any():
        return X, means
    values = X.data - np.where(full, means, 0.0)[X.indices]
    shifted = type(X)((values, X.indices, X.indptr), shape=X.shape)
    return shifted, np.where(full, 0.0, means)


def _vector(row: Any) -> Array:
    return dense(row).ravel()


def _means(A: Any) -> Array:
    return np.asarray(A.mean(axis=0)).ravel()


def _range(gram: Array) -> tuple[Array, Array]:
    """Return the eigenvalues that are not zero, largest first, and their eigenvectors."""
    values, vectors = scipy.linalg.eigh(gram, driver="evd", check_finite=False)
    kept = int(np.count_nonzero(values > _DEPENDENT * max(values[-1], 0.0)))
    return values[::-1][:kept].copy(), vectors[:, ::-1][:, :kept].copy()
