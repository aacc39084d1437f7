r"""The closed forms of the squared loss without penalty: the best Z of a given rank, and CPLST.

Both start from a singular value decomposition of X with its zero singular values left out, so that
they exist for every X; where X lacks full column rank they give the minimiser of least norm.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from argument_checks import finite_array, positive_integer, same_count

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Compression:
    """The problem seen through the column space of X.

    Attributes
    ----------
    V : (d, r) array
        Right singular vectors of X, r its rank.
    singular_values : (r,) array
        The positive singular values of X.
    M : (r, L) array
        U^T Y, the labels in the column space of X.
    """

    V: Array
    singular_values: Array
    M: Array

    def predictor(self, M: Array, ridge: float = 0.0) -> Array:
        r"""Return the minimiser of :math:`\|U^T X Z - M\|_F^2 + ridge \|Z\|_F^2`, of least norm."""
        sigma = self.singular_values
        return np.asarray(self.V @ (M / (sigma + ridge / sigma)[:, None]))

    def fitted(self, ridge: float = 0.0) -> Array:
        """Return the (r, L) matrix whose squares are what regression with a ridge explains of Y."""
        return np.asarray(self.M / np.sqrt(1 + ridge / np.square(self.singular_values))[:, None])


@dataclass(frozen=True, slots=True, eq=False)
class CPLST:
    """Predictions X W H^T + label_means, H with orthonormal columns.

    Attributes
    ----------
    W : (d, k) array
    H : (L, k) array
    label_means : (L,) array
        Zero unless the labels were centred.
    """

    W: Array
    H: Array
    label_means: Array

    @property
    def Z(self) -> Array:
        """W H^T."""
        return np.asarray(self.W @ self.H.T)

    def scores(self, X: Any) -> Array:
        """Return X W H^T + label_means, (n, L)."""
        return np.asarray(np.asarray(X @ self.W) @ self.H.T + self.label_means)


def low_rank_least_squares(X: Any, Y: Any, rank: int) -> Array:
    r"""Return the (d, L) matrix Z of rank at most k with the least :math:`\|Y - XZ\|_F`.

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        Features, one row per point.
    Y : (n, L) array or sparse matrix
        Labels, all of them known.
    rank : int
        k.

    Returns
    -------
    (d, L) array
        The minimiser, the one of least norm where X lacks full column rank.

    Notes
    -----
    With :math:`X = U \Sigma V^T` and :math:`M = U^T Y` it is :math:`V \Sigma^{-1} M_k`, where
    :math:`M_k` keeps the k largest singular values of M.

    Paper: Claim 1.
    """
    rank = positive_integer(rank, "rank")
    problem = compress(X, Y)
    left, sigma, right = _svd(problem.M)
    return problem.predictor((left[:, :rank] * sigma[:rank]) @ right[:rank])


def cplst(X: Any, Y: Any, rank: int, *, centre: bool = False) -> CPLST:
    r"""Return the conditional principal label space transformation of Chen and Lin (2012).

    Parameters
    ----------
    X, Y
        As in `low_rank_least_squares`.
    rank : int
        k, at most L.
    centre : bool
        Subtract each label's mean first and add it to the predictions, as the original does.

    Returns
    -------
    CPLST
        Minimiser of :math:`\|XW - YH\|_F^2 + \|Y - YHH^T\|_F^2` with :math:`H^T H = I`.

    Paper: Claim 2.
    """
    rank = positive_integer(rank, "rank")
    X, Y = _pair(X, Y)
    if rank > Y.shape[1]:
        raise ValueError(
            f"`rank` must be at most the number of labels, {Y.shape[1]}, got {rank}: no more "
            "orthonormal columns fit."
        )
    means = Y.mean(axis=0) if centre else np.zeros(Y.shape[1])
    problem = compress(X, Y - means)
    H = label_directions(problem.M, rank)
    return CPLST(problem.predictor(problem.M @ H), H, means)


def label_directions(M: Array, rank: int) -> Array:
    """Return the (L, k) orthonormal columns that keep most of the rows of M (r, L), k <= L."""
    # All L right singular vectors: M may have fewer rows than `rank`.
    _, _, right = _svd(M, full=rank > min(M.shape))
    return np.ascontiguousarray(right[:rank].T)


def compress(X: Any, Y: Any) -> Compression:
    """Return the labels in the column space of X, with what a predictor is recovered from."""
    X, Y = _pair(X, Y)
    U, sigma, Vt = _svd(X)
    kept = int(np.count_nonzero(sigma > max(X.shape) * np.finfo(float).eps * sigma[0]))
    return Compression(Vt[:kept].T, sigma[:kept], U[:, :kept].T @ Y)


def _svd(A: Array, *, full: bool = False) -> tuple[Array, Array, Array]:
    """Return a singular value decomposition; the slower driver where the fast one gives up."""
    if min(A.shape) == 0:
        rows = A.shape[1] if full else 0
        return np.zeros((len(A), 0)), np.zeros(0), np.eye(A.shape[1])[:rows]
    try:
        U, sigma, Vt = scipy.linalg.svd(A, full_matrices=full, check_finite=False)
    except np.linalg.LinAlgError:
        U, sigma, Vt = scipy.linalg.svd(A, full_matrices=full, lapack_driver="gesvd")
    return U, sigma, Vt


def _pair(X: Any, Y: Any) -> tuple[Array, Array]:
    """Return X and Y as finite dense arrays with the same rows."""
    X, Y = (
        finite_array(value.toarray() if sp.issparse(value) else value, name, 2)
        for value, name in ((X, "X"), (Y, "Y"))
    )
    same_count(X.shape[0], Y.shape[0])
    return X, Y
