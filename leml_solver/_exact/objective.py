"""The objective in the form that is cheapest to evaluate, in coordinates that span the rows of X.

A minimiser over either ball has its columns in the row space of X (projecting onto it keeps the
predictions and lowers both norms), so Z = Q M with orthonormal Q; both balls are the same for M.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from leml_solver._lazy import cached_property
from leml_solver.losses import Squared
from leml_solver.problem import Problem

Array = NDArray[np.float64]

# Largest memory, in numbers, spent on one Gram matrix per label.
_GRAM_NUMBERS = 20_000_000
# Total size of the Gram matrices up to which they are cheap for any number of entries.
_SMALL_BLOCKS = 1_000_000
# Smallest eigenvalue of X^T X, relative to the largest, at which its digits suffice.
_WELL_CONDITIONED = 1e-8


@dataclass(frozen=True, eq=False)
class Quadratic:
    """sum_l z_l . A_l z_l / 2 - <B, Z> + constant, one matrix A_l (d, d) per label or for all."""

    A: Array
    B: Array
    constant: float
    floor: float = 0.0  # below every value; minus infinity if none is known

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of Z."""
        return self.B.shape[0], self.B.shape[1]

    @cached_property
    def smoothness(self) -> float:
        """Largest eigenvalue of a block."""
        return float(np.linalg.eigvalsh(self.A).max())

    def apply(self, E: Array) -> Array:
        """Return A_l e_l, column by column."""
        return apply_blocks(self.A, E)

    def grams(self) -> Array:
        """Return the blocks, (L, d, d), or (1, d, d) when all labels share one."""
        return self.A

    def evaluate(self, Z: Array) -> tuple[float, Array]:
        """Return value and gradient."""
        image = self.apply(Z)
        value = float(np.vdot(Z, 0.5 * image - self.B)) + self.constant
        return value, image - self.B

    def hessian(self, Z: Array) -> Hessian:  # noqa: ARG002
        """Return the constant second derivative."""
        return self


@dataclass(frozen=True, eq=False)
class EntryHessian:
    """X^T (c * (X E)), c the weighted second derivative at each entry."""

    problem: Problem
    curvatures: Array

    def apply(self, E: Array) -> Array:
        """Return X^T (c * (X E))."""
        return self.problem.curve(E, self.curvatures)

    def grams(self) -> Array:
        """Return sum of c x x^T over the entries of each label."""
        return _label_grams(self.problem, self.curvatures)


@dataclass(frozen=True, eq=False)
class Entries:
    """The weighted sum of losses itself."""

    problem: Problem

    @cached_property
    def floor(self) -> float:
        """Sum of the least values of the losses, minus their conjugates at zero."""
        y, w = self.problem.values, self.problem.weights
        return -float(np.sum(w * self.problem.loss.conjugate(y, np.zeros_like(y))))

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of Z."""
        return self.problem.shape

    @cached_property
    def smoothness(self) -> float:
        """Largest eigenvalue of a label's Gram matrix times the loss's curvature.

        By power iteration on all labels at once, with a margin: a lower estimate a few percent
        off still gives a stable step.
        """
        hessian = EntryHessian(self.problem, self.problem.weights)
        E = np.ones(self.shape) + np.arange(self.shape[0])[:, None] / self.shape[0]
        for _ in range(15):
            E = hessian.apply(E / np.maximum(np.linalg.norm(E, axis=0), 1e-300))
        return 1.1 * float(np.linalg.norm(E, axis=0).max()) * (self.problem.loss.curvature or 1.0)

    def evaluate(self, Z: Array) -> tuple[float, Array]:
        """Return value and gradient."""
        problem = self.problem
        f, y, w = problem.predictions(Z), problem.values, problem.weights
        value = float(np.sum(w * problem.loss.value(y, f)))
        return value, problem.adjoint(w * problem.loss.derivative(y, f))

    def hessian(self, Z: Array) -> Hessian:
        """Return the second derivative at Z."""
        problem = self.problem
        second = problem.loss.second_derivative(problem.values, problem.predictions(Z))
        return EntryHessian(problem, problem.weights * second)

    @property
    def has_small_blocks(self) -> bool:
        """Whether second-order models, one Gram matrix per label, are affordable."""
        d, L = self.shape
        return L * d * d <= _SMALL_BLOCKS

    def quadratic_at(self, Z: Array, value: float, G: Array, damping: float) -> Quadratic:
        """Return the second-order model at Z plus damping |M - Z|^2 / 2 as a function of M."""
        A = self.hessian(Z).grams()
        A[:, np.arange(Z.shape[0]), np.arange(Z.shape[0])] += damping
        image = apply_blocks(A, Z)
        constant = value + float(np.vdot(Z, 0.5 * image - G))
        return Quadratic(A, image - G, constant, floor=-np.inf)


Model = Quadratic | Entries  # smooth convex functions of a (d, L) matrix
Hessian = Quadratic | EntryHessian  # their second derivatives at one point


def apply_blocks(blocks: Array, E: Array) -> Array:
    """Return block_l e_l, column by column; one block may serve all labels."""
    if blocks.shape[0] == 1:
        return np.asarray(blocks[0] @ E)
    return np.asarray(np.matmul(blocks, E.T[:, :, None])[:, :, 0].T)


def reduce(problem: Problem) -> tuple[Model, Array | None]:
    """Return the cheapest model of the objective and Q, with Z = Q M (None for the identity)."""
    if type(problem.loss) is Squared and problem.is_full:
        return _diagonal_quadratic(problem)
    basis = _row_basis(problem.X)
    inner = problem if basis is None else replace(problem, features=problem.X @ basis)
    d, L = inner.shape
    size = L * d * d
    gram_pays = size <= (_GRAM_NUMBERS if inner.rows.size > L * d / 2 else _SMALL_BLOCKS)
    if type(problem.loss) is Squared and gram_pays:
        A, B = _label_grams(inner, inner.weights), inner.adjoint(inner.weights * inner.values)
        return Quadratic(A, B, inner.scale), basis
    return Entries(inner), basis


def _row_basis(X: Array) -> Array | None:
    """Return an orthonormal basis (d, r) of the row space of X, or None when it is all of R^d."""
    n, d = X.shape
    if n >= d:
        values = np.linalg.eigvalsh(X.T @ X)
        if values[0] > _WELL_CONDITIONED * values[-1]:
            return None
    _, singular, Vt = np.linalg.svd(X, full_matrices=False)
    rank = _rank(singular, X)
    return None if rank == d else np.ascontiguousarray(Vt[:rank].T)


def _rank(singular: Array, X: Array) -> int:
    """Return the numerical rank, at least one."""
    return max(1, int(np.count_nonzero(singular > singular[0] * max(X.shape) * 2.3e-16)))


def _diagonal_quadratic(problem: Problem) -> tuple[Model, Array]:
    """Squared loss, all labels observed: one pass over the points, then nothing depends on n."""
    X, Y = problem.X, problem.label_matrix
    values, Q = np.linalg.eigh(X.T @ X) if X.shape[0] >= X.shape[1] else (np.zeros(1), X)
    if values[0] > _WELL_CONDITIONED * values[-1]:
        B = Q.T @ (X.T @ Y)
    else:
        P, singular, Vt = np.linalg.svd(X, full_matrices=False)
        rank = _rank(singular, X)
        values, Q = singular[:rank] ** 2, Vt[:rank].T
        B = singular[:rank, None] * (P[:, :rank].T @ Y)
    return Quadratic(np.diag(values)[None], B, problem.scale), Q


def _label_grams(problem: Problem, weights: Array) -> Array:
    """Return the (L, d, d) sums of weight times x x^T over the entries of each label."""
    d, L = problem.shape
    grams = np.zeros((L, d, d))
    ends = np.searchsorted(problem.columns, np.arange(L + 1)).tolist()
    for label, (start, stop) in enumerate(pairwise(ends)):
        rows = problem.X.take(problem.rows[start:stop], axis=0)
        np.matmul(rows.T, weights[start:stop, None] * rows, out=grams[label])
    return grams
