r"""Lower bounds on the objective over all Z of rank at most k: squared loss, every label known.

For any C (d, L) with :math:`|X^T (Y - X C)|_2 \le` penalty, no Z of rank at most k has

.. math:: \tfrac12 |Y - X Z|^2 + penalty |Z|_{tr} < \tfrac12 |Y|^2
          - \tfrac12 \sum_{i \le k} \sigma_i(X C)^2.

With an intercept, X and Y are centred. What is not exact in floating point is bounded from the side
that keeps the bound valid.

Paper: Equation (5).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from leml_solver._factored.certificate import NormBound, Operator, norm_from_above
from leml_solver._lazy import cached_property
from leml_solver._linalg.factors import gram
from leml_solver._linalg.matrices import Matrix, as_matrix
from leml_solver._linalg.threads import matmul
from leml_solver.losses import Squared
from leml_solver.problem import Problem

Array = NDArray[np.float64]

_EPS, _TINY = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny)
_BLOCK = 1 << 19  # entries of a block of rows that is made dense
_FEWEST_COLUMNS = 16  # of X or Y that are made dense at a time
_CANDIDATE_SIZE = 1 << 26  # entries of a d x d or d x L array
# Ridge in place of a pseudo-inverse, relative to (penalty / |Y|_F)^2: the candidate then uses up at
# most a twentieth of the penalty outside the rows of Z, which costs a square of that within.
_RIDGE = 1e-2


@dataclass(frozen=True, slots=True)
class RankBound:
    """A lower bound over rank at most k, valid if `norm` >= |X^T (Y - X C)|_2 is <= penalty."""

    value: float
    norm: float
    failure_probability: float


@dataclass(frozen=True, eq=False)
class FullData:
    """X and Y of the squared loss with every label known, centred if there is an intercept."""

    X: Matrix
    Y: Matrix
    intercept: bool

    @classmethod
    def of(cls, problem: Problem, intercept: bool) -> FullData:
        """Return the data of a problem; raise where no bound for the rank is known."""
        if not problem.labels.is_full or type(problem.loss) is not Squared:
            full = "" if problem.labels.is_full else ", labels missing or weighted one by one"
            raise ValueError(
                "`certify='rank'`, also of minimise_rank, needs the squared loss and every label, "
                f"got the loss {problem.loss.name}{full}: no bound for a rank is known there; take "
                "certify=True of fit_factors, which bounds the minimum over all ranks."
            )
        return cls(problem.matrix, as_matrix(problem.labels.complete, np.float64), intercept)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """n, d and L."""
        return (*self.X.shape, self.Y.shape[1])

    @cached_property
    def _means(self) -> tuple[Array, Array]:
        """Column means of X and Y, zero without intercept."""
        ones = np.full((self.X.shape[0], 1), 1.0 / self.X.shape[0] if self.intercept else 0.0)
        return self.X.adjoint(ones)[:, 0], self.Y.adjoint(ones)[:, 0]

    @cached_property
    def feature_size(self) -> float:
        """|X|_F before centring, which bounds it afterwards too."""
        return float(np.sqrt(self.X.column_squares().sum()))

    @cached_property
    def scale(self) -> float:
        """The objective at Z = 0 without intercept, half of |Y|^2."""
        return 0.5 * float(self.Y.column_squares().sum())

    @cached_property
    def energy(self) -> float:
        """Half of |Y|^2, centred, from below."""
        n, _, L = self.sizes
        centred = self.scale - 0.5 * n * float(np.square(self._means[1]).sum())
        return centred - 4 * (n + L) * _EPS * self.scale

    def blocks(self) -> Iterator[tuple[Array, Array]]:
        """Yield blocks of rows of X and Y as dense arrays."""
        n, d, L = self.sizes
        step = max(1, _BLOCK // (d + L))
        for start in range(0, n, step):
            rows = (start, min(start + step, n))
            X = self.X.rows(*rows).astype(np.float64)
            yield X - self._means[0], self.Y.rows(*rows) - self._means[1]

    def centred(self, A: Array) -> Array:
        """Return A less its column means if there is an intercept."""
        return A - A.mean(axis=0) if self.intercept else A

    def adjoint(self, A: Array) -> Array:
        """Return X^T A."""
        return self.X.adjoint(self.centred(A))

    def rounding(self) -> float:
        """Return the share by which sums over rows, features and labels may be off."""
        # Centring, a product, a product with its result, and eigenvalues: each at most one sum.
        return 4 * sum(self.sizes) * _EPS

    def product_size(self, C: Array) -> float:
        """Return the sum over j of |column j of X| |row j of C|, which bounds |(|X| |C|)|_F."""
        return float(np.sqrt(self.X.column_squares()) @ np.linalg.norm(C, axis=1))

    def gradient_allowance(self, C: Array) -> float:
        """Return how far a computed X^T (Y - X C) may be off in norm."""
        size = math.sqrt(2 * self.scale) + self.product_size(C)
        return self.rounding() * self.feature_size * size

    def sum_allowance(self, C: Array, fitted: float, rank: int) -> float:
        """Return how far a sum of `rank` eigenvalues of (X C)^T X C may be off, |X C|_F given."""
        # The k largest eigenvalues of a perturbation add up to at most sqrt(k) times its norm.
        return math.sqrt(rank) * self.rounding() * fitted * (fitted + self.product_size(C))


def rank_bound(data: FullData, C: Array, rank: int) -> RankBound:
    """Return the bound of C (d, L) over rank at most `rank`, by all singular values of X C."""
    _, d, L = data.sizes
    gradient, squares = np.zeros((d, L)), np.zeros((L, L))
    for X, Y in data.blocks():
        fitted = matmul(X, C)
        squares += gram(fitted)
        gradient += matmul(X.T, Y - fitted)
    size = float(np.sqrt(np.trace(squares)))
    largest = scipy.linalg.eigvalsh(squares, check_finite=False)[-rank:].sum()
    largest += data.sum_allowance(C, size, rank)
    norm = _dense_norm(gradient)
    return RankBound(
        data.energy - 0.5 * float(largest),
        norm.value + data.gradient_allowance(C),
        norm.failure_probability,
    )


def _dense_norm(G: Array) -> NormBound:
    """Return an upper bound on the spectral norm of an array."""
    operator = Operator((G.shape[0], G.shape[1]), lambda V: matmul(G, V), lambda U: matmul(G.T, U))
    return norm_from_above(operator, np.random.default_rng(0))


def cheapest_bound(data: FullData, W: Array, H: Array, penalty: float) -> RankBound | None:
    """Return the bound of the candidate that a fit W H^T suggests, or None if d L is too large.

    With V an orthonormal basis of the rows of Z and A the ridge regression of Y, it is
    C = t Z + A (I - t V V^T): the fit itself in the rows of Z, as far as the penalty allows, and
    the best that X can do for Y in the others. No n x L array is made.
    """
    _, d, L = data.sizes
    if d * max(d, L) > _CANDIDATE_SIZE:
        return None
    V = np.linalg.qr(H)[0]
    scale = max(2 * data.scale, 1e-100)  # all labels may be zero
    ridge = _RIDGE * penalty**2 / scale + data.rounding() * data.feature_size**2
    A, R = _ridge_regression(data, ridge + _TINY)
    Z_V, A_V = matmul(W, H.T @ V), matmul(A, V)
    inside = data.adjoint(data.Y.times(V) - data.X.times(Z_V))
    # X^T (Y - X A) is ridge A up to the backward error of the normal equations.
    size = _dense_norm(A)
    rest = ridge * size.value + data.gradient_allowance(A)
    length = _dense_norm(inside).value + data.gradient_allowance(Z_V)
    t = _share(length, rest, penalty)
    top = _pinched(data, A - matmul(A_V, V.T), R, t * Z_V + (1 - t) * A_V)
    return RankBound(
        data.energy - 0.5 * top.value,
        float(np.hypot(t * length + (1 - t) * rest, rest)),
        size.failure_probability + top.failure_probability,
    )


def _ridge_regression(data: FullData, ridge: float) -> tuple[Array, Array]:
    """Return the regression A (d, L) of Y on X with a ridge, and R with R^T R = X^T X + ridge."""
    squares, right = _adjoint_of(data, data.X), _adjoint_of(data, data.Y)
    squares[np.diag_indices_from(squares)] += ridge
    R = scipy.linalg.cholesky(squares, overwrite_a=True, check_finite=False)
    return scipy.linalg.cho_solve((R, False), right, overwrite_b=True, check_finite=False), R


def _adjoint_of(data: FullData, B: Matrix) -> Array:
    """Return X^T B, a few columns of B made dense at a time."""
    n, columns = B.shape
    out, step = np.empty((data.X.shape[1], columns)), max(_FEWEST_COLUMNS, _BLOCK // n)
    for start in range(0, columns, step):
        part = np.eye(columns, min(step, columns - start), -start)
        out[:, start : start + step] = data.adjoint(B.times(part))
    return out


def _share(length: float, rest: float, penalty: float) -> float:
    """Return the largest t in [0, 1] with |(t length + (1 - t) rest, rest)| <= penalty."""
    room = np.sqrt(max(penalty**2 - rest**2, 0.0)) * (1 - 4 * _EPS)
    return 1.0 if length <= room else max(float((room - rest) / (length - rest)), 0.0)


def _pinched(data: FullData, E: Array, R: Array, S: Array) -> NormBound:
    r"""Bound the sum of the k largest squares of X (E + S V^T), E V = 0, without its cross terms.

    With :math:`tau \ge |X E|_2` it is at most :math:`\sum_{i \le k} max(sigma_i(X S)^2, tau^2) +
    |S^T X^T X E|_{tr}`; |X E| is at most |R E|.
    """
    operator = Operator(
        (E.shape[0], E.shape[1]),
        lambda U: matmul(R, matmul(E, U)),
        lambda U: matmul(E.T, matmul(R.T, U)),
    )
    outside = norm_from_above(operator, np.random.default_rng(1))
    fitted = data.centred(data.X.times(S))
    inside = scipy.linalg.eigvalsh(gram(fitted), check_finite=False)
    cross = scipy.linalg.svdvals(matmul(E.T, data.adjoint(fitted)), check_finite=False)
    size = float(np.sqrt(max(inside.sum(), 0.0)))
    allowance = data.sum_allowance(S, size, S.shape[1])
    products = data.product_size(E)
    largest = np.maximum(inside, outside.value**2 + data.rounding() * products**2)
    allowance += math.sqrt(S.shape[1]) * data.rounding() * size * products
    return NormBound(float(largest.sum() + cross.sum()) + allowance, outside.failure_probability)
