"""The peers: the plain variant by scipy alone, and equations (8)-(9) as they are written."""

from __future__ import annotations

import time

import numba
import numpy as np
import scipy.linalg


def scipy_plain(X, Y, start, penalty, iterations):
    """Alternate as the paper prints it with scipy and numpy alone; return objective and seconds."""
    began = time.perf_counter()
    W, H = (factor.copy() for factor in start)
    XT, YT = X.T.tocsr(), Y.T.tocsr()
    for _ in range(iterations):
        A = X @ W
        M = A.T @ A + penalty * np.eye(W.shape[1], dtype=W.dtype)
        H = scipy.linalg.solve(M, (YT @ A).T, assume_a="pos").T
        W = _scipy_cg(X, XT, Y @ H, H.T @ H, penalty, W)
    A = X @ W
    fitted = np.vdot(A.astype(float), Y @ H)
    loss = 0.5 * (Y.data.astype(float) ** 2).sum() - fitted
    loss += 0.5 * np.vdot((A.T @ A).astype(float), H.T @ H)
    norms = sum(np.square(F, dtype=float).sum() for F in (W, H))
    return loss + 0.5 * penalty * norms, time.perf_counter() - began


def _scipy_cg(X, XT, right, M, penalty, W, steps=20, tol=1e-3):
    """Algorithm 3 with the products of Algorithm 2."""
    R = XT @ (right - (X @ W) @ M) - penalty * W
    P, energy = R.copy(), float(np.vdot(R, R))
    target = tol**2 * energy
    for _ in range(steps):
        if energy <= target:
            break
        Q = XT @ ((X @ P) @ M) + penalty * P
        alpha = energy / float(np.vdot(P, Q))
        W = W + np.float32(alpha) * P
        R = R - np.float32(alpha) * Q
        previous, energy = energy, float(np.vdot(R, R))
        P = R + np.float32(energy / previous) * P
    return W


@numba.njit(parallel=True, fastmath={"reassoc", "contract", "nsz"}, cache=True)
def _direct_products(X, W, H, pattern, out):
    """Write x_i^T W h_j at each entry, going through all of x_i and h_j each time."""
    indptr, indices, data = X
    rows, columns = pattern
    for i in numba.prange(rows.size - 1):
        for e in range(rows[i], rows[i + 1]):
            h, total = H[columns[e]], W.dtype.type(0)
            for p in range(indptr[i], indptr[i + 1]):
                w, part = W[indices[p]], W.dtype.type(0)
                for c in range(h.size):
                    part += w[c] * h[c]
                total += data[p] * part
            out[e] = total


@numba.njit(parallel=True, fastmath={"reassoc", "contract", "nsz"}, cache=True)
def _direct_sum(X, D, H, pattern, out):
    """Add D_ij x_i h_j^T over the entries, one copy of the (d, k) result per thread."""
    indptr, indices, data = X
    rows, columns = pattern
    n, blocks = rows.size - 1, out.shape[0]
    for b in numba.prange(blocks):
        target = out[b]
        target[:] = 0
        for i in range(b * n // blocks, (b + 1) * n // blocks):
            for e in range(rows[i], rows[i + 1]):
                h = H[columns[e]]
                for p in range(indptr[i], indptr[i + 1]):
                    scale, w = D[e] * data[p], target[indices[p]]
                    for c in range(h.size):
                        w[c] += scale * h[c]


class Direct:
    """Gradient (8) and Hessian products (9) of the W-problem as they are written."""

    def __init__(self, X, entries, H, penalty):
        self.X = (X.indptr, X.indices, X.data)
        self.entries, self.H, self.penalty = entries, H, penalty
        by_row = entries.labels.entries.by_row
        self.pattern = (by_row.indptr, by_row.indices)

    def _products(self, W):
        out = np.empty(self.pattern[1].size, dtype=W.dtype)
        _direct_products(self.X, W, self.H, self.pattern, out)
        return out

    def _sum(self, D, W):
        out = np.empty((numba.get_num_threads(), *W.shape), dtype=W.dtype)
        _direct_sum(self.X, D, self.H, self.pattern, out)
        return out.sum(axis=0) + W.dtype.type(self.penalty) * W

    def gradient(self, W):
        """Return (8)."""
        loss, y = self.entries.loss, self.entries.values
        return self._sum(loss.derivative(y, self._products(W)).astype(W.dtype), W)

    def curvature(self, W):
        """Return l'' at the entries."""
        loss, y = self.entries.loss, self.entries.values
        return loss.second_derivative(y, self._products(W)).astype(W.dtype)

    def hessian_product(self, C, S):
        """Return (9) times S."""
        return self._sum(C * self._products(S), S)
