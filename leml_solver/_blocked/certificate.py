"""The certificate of factors, rows in blocks.

Paper: Equation (2).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leml_solver._blocked import block as work
from leml_solver._blocked.block import Block, Sent, Sums
from leml_solver._blocked.problem import BlockedProblem
from leml_solver._factored.certificate import (
    DualPoint,
    FactorCertificate,
    Operator,
    SquaredDual,
    dual_sides,
    dual_with_sides,
    lower_bound,
    rounded_norm,
    trace_norm,
)
from leml_solver._linalg.factors import gram
from leml_solver._linalg.matrices import Factor
from leml_solver.losses import Squared

Array = NDArray[np.float64]


def certify_blocks(
    problem: BlockedProblem, W: Factor, H: Factor, offset: Array | None, penalty: float
) -> FactorCertificate:
    """Bound how far W H^T is from the minimum over all Z; see `certify_factors`."""
    W, H = W.astype(np.float64), H.astype(np.float64)
    squared = type(problem.loss) is Squared and problem.labels.is_full
    dual: Any = (_SquaredDual if squared else _GeneralDual)(problem, W, H, offset)
    operator = Operator(problem.shape, dual.times, dual.adjoint)
    norm = rounded_norm(operator, problem.matrix, dual.size(), np.random.default_rng(0))
    return FactorCertificate(
        objective=dual.losses + penalty * trace_norm(W, H),
        lower_bound=lower_bound(dual, norm.value, penalty),
        gradient_norm=norm.value,
        penalty=penalty,
        scale=dual.scale,
        failure_probability=norm.failure_probability,
    )


class _SquaredDual(SquaredDual):
    """The same, its products summed over the blocks."""

    def __init__(self, problem: BlockedProblem, W: Array, H: Array, offset: Array | None) -> None:
        self.passes, self.H, n = problem.passes, H, problem.n_rows
        self.means = None
        energy = float(problem.label_squares.squares.sum())
        self.scale = 0.5 * energy
        if offset is not None:
            self.means = problem.feature_sums / n, problem.label_sums / n
            energy -= n * float(np.square(self.means[1]).sum())
        self.W = self.passes.send(W)
        A_gram, cross = self.passes.total(work.squared_sums, self.W, self._mean(0, W))
        fitted = float(np.vdot(cross, H))
        self.squares = max(energy - 2 * fitted + float(np.vdot(A_gram, gram(H))), 0.0)
        self.against_labels = fitted - energy
        self.losses = 0.5 * self.squares

    def _mean(self, which: int, V: Array) -> Array | None:
        """Return the mean of the rows of X V or Y V if there is an intercept."""
        return None if self.means is None else self.means[which] @ V

    def times(self, V: Array) -> Array:
        """Return X^T D V."""
        mean, label_mean = self._mean(0, self.W.array), self._mean(1, V)
        sent, M = self.passes.send(V), self.H.T @ V
        return -self.passes.total(work.squared_residual, sent, label_mean, self.W, mean, M)[0]

    def adjoint(self, U: Array) -> Array:
        """Return D^T X U."""
        means = self._mean(0, U), self._mean(0, self.W.array)
        inside, cross = self.passes.total(_squared_adjoint, self.passes.send(U), self.W, *means)
        return np.asarray(self.H @ inside - cross)


def _squared_adjoint(block: Block, U: Sent, W: Sent, mean: Any, W_mean: Any) -> Sums:
    """Return A^T B and Y^T B for A = X W and B = X U, each less its mean."""
    B = block.X.times(U.array)
    if mean is not None:
        B -= mean
    return block.latent(W, W_mean).T @ B, block.labels_in(B.dtype).adjoint(B)


class _GeneralDual:
    """One dual variable for each known entry, each block holding those of its rows."""

    def __init__(self, problem: BlockedProblem, W: Array, H: Array, offset: Array | None) -> None:
        self.passes = passes = problem.passes
        at = passes.send(W), passes.send(H), offset
        losses, at_zero = passes.total(_dual_losses, *at)
        self.losses, self.scale = float(losses.sum()), float(at_zero.sum())
        sides = None if offset is None else passes.total(_dual_sides, *at)[0]
        self.at = (*at, sides)
        self.squares, self.scales = passes.total(_dual_size, *self.at)

    def times(self, V: Array) -> Array:
        """Return X^T D V."""
        return np.asarray(self.passes.total(_dual_times, self.passes.send(V), *self.at)[0])

    def adjoint(self, U: Array) -> Array:
        """Return D^T X U."""
        return np.asarray(self.passes.total(_dual_adjoint, self.passes.send(U), *self.at)[0])

    def largest_scale(self) -> float:
        """Return the largest t for which t D is in the domain of the conjugate."""
        return float(self.scales.min())

    def bound(self, t: float) -> float:
        """Return minus the sum of conjugates at t D."""
        return float(self.passes.total(_dual_bound, t, *self.at)[0].sum())

    def size(self) -> float:
        """Return an upper bound on the Frobenius norm of D."""
        return float(np.sqrt(self.squares.sum()))


def _dual(block: Block, W: Sent, H: Sent, offset: Array | None, sides: Array | None) -> DualPoint:
    def make() -> DualPoint:
        return dual_with_sides(block.exact_entries, block.latent(W), H.array, offset, sides)

    made: DualPoint = block.kept("dual", (W.token, H.token), make)
    return made


def _dual_losses(block: Block, W: Sent, H: Sent, offset: Array | None) -> Sums:
    """Return the loss of each label, and that at Z = 0."""
    entries, (n, L) = block.exact_entries, block.labels.shape
    at_zero = entries.label_losses(np.zeros((n, 1)), np.zeros((L, 1)), None)
    return entries.label_losses(block.latent(W), H.array, offset), at_zero


def _dual_sides(block: Block, W: Sent, H: Sent, offset: Array) -> Sums:
    """Return what an intercept must know of each label."""
    return (dual_sides(block.exact_entries, block.latent(W), H.array, offset),)


def _dual_size(block: Block, *at: Any) -> Sums:
    """Return the squared size, and the largest scale in the place of the block."""
    dual, scales = _dual(block, *at), np.zeros(block.count)
    scales[block.number] = dual.largest_scale()
    return np.array([dual.size() ** 2]), scales


def _dual_times(block: Block, V: Sent, *at: Any) -> Sums:
    """Return X^T D V."""
    return (block.X.adjoint(_dual(block, *at).rows(V.array)),)


def _dual_adjoint(block: Block, U: Sent, *at: Any) -> Sums:
    """Return D^T X U."""
    return (_dual(block, *at).columns(block.X.times(U.array)),)


def _dual_bound(block: Block, t: float, *at: Any) -> Sums:
    """Return minus the sum of conjugates at t D."""
    return (np.array([_dual(block, *at).bound(t)]),)
