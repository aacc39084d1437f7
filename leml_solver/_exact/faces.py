r"""Where the projection P onto a ball is differentiable, and how it is curved there.

The derivative of P at Y is symmetric with eigenvalues theta in [0, 1]. A face holds P(Y), an
orthonormal frame of the tangent space (theta > 0) and C = (1 - theta) / theta on it. Inside the
ball theta = 1. On the Frobenius sphere theta = radius / |Y| across Y and 0 along it. On the trace
ball, with Y = U diag(sigma) V^T and P(Y) = U diag(s) V^T, s = (sigma - nu)_+ of rank k, the
coordinates T = U^T E V with row or column below k are tangent, and
(C T)_ij = a_ij T_ij + b_ij T_ji with a = nu / (s_i + s_j), b = -a inside the corner,
a = nu / s_i, b = -sigma_j / s_i for i < k <= j; the identity of the corner is not tangent.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv

from leml_solver._exact.balls import Ball, FrobeniusBall, simplex_threshold
from leml_solver._exact.objective import Hessian, apply_blocks

Array = NDArray[np.float64]

# Above these sizes conjugate gradients are cheaper than a factorisation.
_LARGEST_SYSTEM = 600
_LARGEST_BLOCKS = 1_000_000


@dataclass(frozen=True, eq=False)
class Round:
    """The inside of either ball, or the Frobenius sphere across `direction`."""

    Z: Array
    excess: float
    direction: Array | None

    def tangent(self, E: Array) -> Array:
        """Return E without its part along the direction."""
        if self.direction is None:
            return E
        return np.asarray(E - np.vdot(self.direction, E) * self.direction)

    def embed(self, T: Array) -> Array:
        """Return T."""
        return T

    def apply_curvature(self, T: Array) -> Array:
        """Return (|Y| / radius - 1) T."""
        return self.excess * T

    def solve(self, hessian: Hessian, step: float, ridge: float, right: Array) -> Array | None:
        """Return T with (C + step * Hessian) T = right, tangent; None if the system is too large.

        `ridge`, relative to the largest number of the system, keeps it from being singular.
        """
        d, L = right.shape
        if L * d * d > _LARGEST_BLOCKS:
            return None
        blocks = step * hessian.grams()
        ridge *= 1 + blocks.max()  # on the diagonal, for the blocks are semidefinite
        blocks[:, np.arange(d), np.arange(d)] += self.excess + ridge
        inverse: Array = np.asarray(np.linalg.inv(blocks))
        T = apply_blocks(inverse, right)
        if self.direction is None:
            return T
        return _without(T, apply_blocks(inverse, self.direction), self.direction)


@dataclass(frozen=True, eq=False)
class LowRank:
    """The matrices of one rank and trace norm near P(Y)."""

    Z: Array
    U: Array
    Vt: Array
    rank: int
    same: Array
    swapped: Array

    def tangent(self, E: Array) -> Array:
        """Return U^T E V on its first rows and columns, without the identity of the corner."""
        k, L = self.rank, E.shape[1]
        T = np.zeros(E.shape)  # in C order whatever that of E, for `diagonal` is a view
        T[:k] = (self.U[:, :k].T @ E) @ self.Vt.T
        T[k:, :k] = self.U[:, k:].T @ (E @ self.Vt[:k].T)
        diagonal = T.reshape(-1)[: k * L : L + 1]
        diagonal -= diagonal.sum() / k  # `mean` takes twice as long for so few
        return T

    def embed(self, T: Array) -> Array:
        """Return U T V^T."""
        k = self.rank
        upper = self.U[:, :k] @ (T[:k] @ self.Vt)
        return np.asarray(upper + (self.U[:, k:] @ T[k:, :k]) @ self.Vt[:k])

    def apply_curvature(self, T: Array) -> Array:
        """Return a * T + b * T^T."""
        m = min(T.shape)
        out = self.same * T
        out[:m, :m] += self.swapped * T[:m, :m].T
        return np.asarray(out)

    def solve(self, hessian: Hessian, step: float, ridge: float, right: Array) -> Array | None:
        """Solve by Cholesky factorisation of the system on the tangent coordinates."""
        (d, L), k = right.shape, self.rank
        size = k * (d + L - k)
        if size > _LARGEST_SYSTEM or L * d * d > _LARGEST_BLOCKS:
            return None
        index = self._coordinates()
        system = step * self._hessian_matrix(hessian.grams()) + self._curvature_matrix(index)
        system[np.arange(size), np.arange(size)] += ridge * (1 + np.abs(system).max())
        identity = np.zeros_like(right)
        identity[np.arange(k), np.arange(k)] = 1
        columns = np.stack([right.ravel()[index], identity.ravel()[index]], axis=1)
        _, solved, info = dposv(system, columns)
        if info != 0:
            return None
        T = np.zeros(d * L)
        T[index] = _without(solved[:, 0], solved[:, 1], columns[:, 1])
        return T.reshape(d, L)

    def _coordinates(self) -> NDArray[np.int64]:
        """Positions of the tangent coordinates: k rows, then the rest of the first k columns."""
        (d, L), k = self.Z.shape, self.rank
        every = np.arange(d * L).reshape(d, L)
        return np.concatenate([every[:k].ravel(), every[k:, :k].ravel()])

    def _curvature_matrix(self, index: NDArray[np.int64]) -> Array:
        (d, L), m = self.Z.shape, min(self.Z.shape)
        matrix = np.diag(self.same.ravel()[index])
        i, j = np.divmod(index, L)
        place = np.empty(d * L, dtype=np.int64)  # the tangent coordinates come in pairs
        place[index] = np.arange(index.size)
        inside = np.flatnonzero((i < m) & (j < m))
        partner = place[j[inside] * L + i[inside]]
        matrix[inside, partner] += self.swapped[i[inside], j[inside]]
        return matrix

    def _hessian_matrix(self, grams: Array) -> Array:
        (d, L), k = self.Z.shape, self.rank
        rotated = self.U.T @ grams @ self.U
        size = k * (d + L - k)
        matrix = np.empty((size, size))
        parts = ((slice(0, k), slice(0, L)), (slice(k, d), slice(0, k)))
        ends = (slice(0, k * L), slice(k * L, size))
        for (rows, columns), out in zip(parts, ends, strict=True):
            for (other_rows, other_columns), other in zip(parts, ends, strict=True):
                block = rotated[:, rows, other_rows]
                matrix[out, other] = self._mix(block, columns, other_columns)
        return matrix

    def _mix(self, block: Array, columns: slice, other_columns: slice) -> Array:
        """Return sum over labels of V_lj V_lj' times the label's block, as a matrix."""
        left, right = self.Vt[columns], self.Vt[other_columns]
        a, b = block.shape[1:]
        if block.shape[0] == 1:  # one block for all labels
            eye = left @ right.T
            mixed = block[0][:, None, :, None] * eye[None, :, None, :]
        else:
            pairs = (left[:, None, :] * right[None]).reshape(-1, left.shape[1])
            mixed = (pairs @ block.reshape(len(block), a * b)).reshape(len(left), len(right), a, b)
            mixed = mixed.transpose(2, 0, 3, 1)
        return np.asarray(mixed.reshape(a * len(left), b * len(right)))


Face = Round | LowRank


def face_of(ball: Ball, Y: Array) -> Face:
    """Return the face of the ball that Y projects onto."""
    if isinstance(ball, FrobeniusBall):
        norm = ball.norm(Y)
        if norm <= ball.radius:
            return Round(Y, 0.0, None)
        return Round(Y * (ball.radius / norm), norm / ball.radius - 1, Y / norm)
    U, sigma, Vt = np.linalg.svd(Y)
    nu = simplex_threshold(sigma, ball.radius)
    return Round(Y, 0.0, None) if nu == 0 else _low_rank_face(U, sigma, Vt, nu)


def _low_rank_face(U: Array, sigma: Array, Vt: Array, nu: float) -> LowRank:
    """Return the face of U (sigma - nu)_+ V^T."""
    k = int(np.count_nonzero(sigma > nu))
    s = sigma[:k] - nu
    same, swapped = np.zeros((U.shape[0], Vt.shape[0])), np.zeros((sigma.size, sigma.size))
    same[:k, :k] = nu / (s[:, None] + s)
    swapped[:k, :k] = -same[:k, :k]
    same[:k, k:], same[k:, :k] = (nu / s)[:, None], nu / s
    swapped[:k, k:] = -sigma[k:] / s[:, None]
    swapped[k:, :k] = swapped[:k, k:].T
    return LowRank((U[:, :k] * s) @ Vt[:k], U, Vt, k, same, swapped)


def _without(solution: Array, response: Array, direction: Array) -> Array:
    """Return the solution moved along `response` until it is orthogonal to `direction`."""
    share = np.vdot(direction, solution) / np.vdot(direction, response)
    return np.asarray(solution - share * response)
