"""k x k algebra in double precision, and the Gram matrices it starts from."""

from enum import Enum
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from leml_solver._linalg import compiled as kernels
from leml_solver._linalg.conjugate_gradient import Numbers
from leml_solver._linalg.matrices import Factor
from leml_solver._linalg.threads import SHARED_PRODUCT, Rows, even_rows, matmul, parallel_map


def column_inner(A: Factor, B: Factor) -> Numbers:
    """Return the inner product of each column of A with that of B, in double precision."""
    parts = parallel_map(lambda rows: kernels.column_inner(A, B, rows), even_rows(len(A), A.size))
    return np.asarray(sum(parts))


def row_inner(A: Factor, B: Factor) -> Numbers:
    """Return the inner product of each row of A with that of B, in double precision."""
    out = np.empty(len(A))
    parallel_map(lambda rows: kernels.row_inner(A, B, out, rows), even_rows(len(A), A.size))
    return out


def add_scaled(target: Factor, scale: Numbers, other: Factor) -> None:
    """Add scale * other to target, in place."""
    scale = scale.astype(target.dtype)
    parts = even_rows(len(target), target.size)
    parallel_map(lambda rows: kernels.add_scaled(target, scale, other, rows), parts)


def scale_and_add(target: Factor, scale: Numbers, other: Factor) -> None:
    """Replace target by scale * target + other, in place."""
    scale = scale.astype(target.dtype)
    parts = even_rows(len(target), target.size)
    parallel_map(lambda rows: kernels.scale_and_add(target, scale, other, rows), parts)


class Groups(Enum):
    """How the entries of a factor are grouped into independent problems."""

    TOGETHER = "one problem"
    COLUMNS = "one problem per column"
    ROWS = "one problem per row"

    def inner(self, A: Factor, B: Factor) -> Numbers:
        """Return the inner product of each group, in double precision."""
        if self is Groups.ROWS:
            return row_inner(A, B)[:, None]
        columns = np.asarray(column_inner(A, B))[None, :]
        return columns if self is Groups.COLUMNS else columns.sum(keepdims=True)

    def add_scaled(self, target: Factor, scale: Numbers, other: Factor) -> None:
        """Add scale * other to target, in place."""
        add_scaled(target, scale, other)

    def scale_and_add(self, target: Factor, scale: Numbers, other: Factor) -> None:
        """Replace target by scale * target + other, in place."""
        scale_and_add(target, scale, other)


Square = NDArray[np.float64]

_GRAM_ROWS = 4096  # rows summed in the precision of the factor before double precision takes over


def gram(A: Factor) -> Square:
    """Return A^T A in double precision."""

    def partial(rows: Rows) -> Square:
        total = np.zeros((A.shape[1], A.shape[1]))
        for start in range(*rows, _GRAM_ROWS):
            part = A[start : min(start + _GRAM_ROWS, rows[1])]
            total += part.T @ part
        return total

    parts = even_rows(A.shape[0], float(A.size) * A.shape[1], SHARED_PRODUCT)
    return np.asarray(sum(parallel_map(partial, parts)))


def eigenvectors(M: Square) -> tuple[NDArray[np.float64], Square]:
    """Return eigenvalues, not below zero, and eigenvectors of a symmetric matrix."""
    values, vectors = scipy.linalg.eigh(M, driver="evd", check_finite=False)
    return np.maximum(values, 0.0), vectors


def solve_ridge(M: Square, penalty: Any, right: Factor) -> Factor:
    """Return right (M + penalty I)^-1 for a positive semidefinite M.

    A penalty that is lost in the rounding of a singular M counts as that rounding.
    """
    identity = np.eye(len(M))
    try:
        factor = scipy.linalg.cho_factor(M + penalty * identity, check_finite=False)
    except np.linalg.LinAlgError:
        rounding = len(M) * float(np.finfo(np.float64).eps) * float(np.trace(M))
        factor = scipy.linalg.cho_factor(M + rounding * identity, check_finite=False)
    inverse = scipy.linalg.cho_solve(factor, identity, check_finite=False)
    return matmul(right.astype(np.float64, copy=False), inverse).astype(right.dtype, copy=False)


def balancing(W: Factor, H: Factor) -> tuple[Factor, Factor]:
    r"""Return T, S with T S^T = I such that W T and H S have the same diagonal Gram matrix.

    Then :math:`(|W T|^2 + |H S|^2) / 2 = |W H^T|_{tr}`, the least value over all factorisations.
    Directions below the rounding of the factors are left unbalanced; W T (H S)^T = W H^T always.

    Paper: Equation (5).
    """
    precision, tiny = float(np.finfo(W.dtype).eps), float(np.finfo(np.float64).tiny)
    W_gram, H_gram = gram(W), gram(H)
    # k roundings of the Gram matrix add up: less would leave it indefinite where H lacks rank.
    ridge = max(len(H_gram) * precision * float(np.trace(H_gram)), tiny**0.25)
    L = scipy.linalg.cholesky(H_gram + ridge * np.eye(len(H_gram)), lower=True, check_finite=False)
    squares, U = scipy.linalg.eigh(L.T @ W_gram @ L, driver="evd", check_finite=False)
    floor = max(float(squares[-1]) * precision**2, tiny**0.25)
    roots = np.maximum(squares[::-1], floor) ** 0.25
    U = U[:, ::-1]
    S = scipy.linalg.solve_triangular(L, U * roots, lower=True, trans="T", check_finite=False)
    return (L @ U / roots).astype(W.dtype), S.astype(W.dtype)
