"""Dual candidates of the penalised problem: D = loss'(Y, X Z), repaired for an intercept.

Each candidate multiplies factors and bounds the minimum at t D; none ever holds an n x L matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from leml_solver.entries import FullEntries, SparseEntries
from leml_solver.losses import Loss
from leml_solver.matrices import Matrix
from leml_solver.small_algebra import gram

Array = NDArray[np.float64]


class DualPoint(Protocol):
    """A matrix D of dual variables, one an observed entry (weights included)."""

    def rows(self, V: Array) -> Array:
        """Return D V."""

    def columns(self, U: Array) -> Array:
        """Return D^T U."""

    def largest_scale(self) -> float:
        """Return the largest t for which t D is in the domain of the conjugate."""

    def bound(self, t: float) -> float:
        """Return minus the sum of conjugates at t D."""

    def size(self) -> float:
        """Return an upper bound on the Frobenius norm of D."""


class SquaredDual:
    """D = A H^T - Y for squared loss and full labels, columns centred for an intercept."""

    def __init__(self, Y: Matrix, A: Array, H: Array, intercept: bool) -> None:
        self.Y, self.A, self.H, self.intercept = Y, self._centre(A, intercept), H, intercept
        means = Y.adjoint(np.ones((Y.shape[0], 1)))[:, 0] / Y.shape[0]
        energy = float(Y.column_squares().sum())
        fitted = float(np.vdot(Y.adjoint(self.A), H))
        if intercept:
            energy -= Y.shape[0] * float(np.square(means).sum())
        self.squares = max(energy - 2 * fitted + float(np.vdot(gram(self.A), gram(H))), 0.0)
        self.against_labels = fitted - energy

    @staticmethod
    def _centre(A: Array, intercept: bool) -> Array:
        return A - A.mean(axis=0) if intercept else A

    def rows(self, V: Array) -> Array:
        """Return D V."""
        return self._centre(self.A @ (self.H.T @ V) - self.Y.times(V), self.intercept)

    def columns(self, U: Array) -> Array:
        """Return D^T U."""
        U = self._centre(U, self.intercept)
        return self.H @ (self.A.T @ U) - self.Y.adjoint(U)

    def largest_scale(self) -> float:
        """Return infinity: the conjugate is finite everywhere."""
        return np.inf

    def bound(self, t: float) -> float:
        """Return -t^2 |D|^2 / 2 - t <D, Y>."""
        return -t * (0.5 * t * self.squares + self.against_labels)

    def size(self) -> float:
        """Return the Frobenius norm of D."""
        return float(np.sqrt(self.squares))


class SparseDual:
    """One dual variable for each of a sparse set of observed entries."""

    def __init__(self, entries: SparseEntries, predictions: Array, intercept: bool) -> None:
        self.entries, self.loss = entries, entries.loss
        y = entries.values
        self.weights = np.ones_like(y) if entries.weights is None else entries.weights
        u = self.loss.clip_dual(y, self.loss.derivative(y, predictions))
        if intercept:
            labels, n_labels = entries.labels.entries.by_row.indices, entries.shape[1]  # type: ignore[union-attr]
            sums = _SideSums(n_labels)
            sums.add(labels, self.weights * u, y, self.weights)
            u = sums.repair(self.loss, u, y, labels)
        self.u = u

    def rows(self, V: Array) -> Array:
        """Return D V."""
        return self.entries.rows(self.weights * self.u, V)

    def columns(self, U: Array) -> Array:
        """Return D^T U."""
        return self.entries.columns(self.weights * self.u, U)

    def largest_scale(self) -> float:
        """Return the largest t for which t D is in the domain of the conjugate."""
        return self.loss.dual_scales(self.entries.values, self.u)[1]

    def bound(self, t: float) -> float:
        """Return minus the weighted sum of conjugates at t u."""
        y = self.entries.values
        scaled = self.loss.clip_dual(y, t * self.u)
        return -float(np.sum(self.weights * self.loss.conjugate(y, scaled)))

    def size(self) -> float:
        """Return the Frobenius norm of D, repeated entries added up in the worst way."""
        return float(np.abs(self.weights * self.u).sum())


class FullDual:
    """One dual variable for each of all n x L entries, evaluated in blocks of rows."""

    def __init__(self, entries: FullEntries, D: Any, intercept: bool) -> None:
        self.entries, self.loss, self.D = entries, entries.loss, D
        self.sums = _SideSums(entries.shape[1]) if intercept else None
        if self.sums is not None:
            for y, u, labels in self._raw_blocks():
                self.sums.add(labels, u.ravel(), y.ravel(), np.ones(y.size))

    def _raw_blocks(self) -> Any:
        for part in self.entries.blocks():
            y = self.entries.encoded(part)
            u = self.loss.clip_dual(y, self.entries.numbers(self.D, part))
            yield y, u, np.tile(np.arange(y.shape[1]), len(y))

    def _blocks(self) -> Any:
        for part, (y, u, labels) in zip(self.entries.blocks(), self._raw_blocks(), strict=True):
            if self.sums is not None:
                u = self.sums.repair(self.loss, u.ravel(), y.ravel(), labels).reshape(u.shape)
            yield part, y, u

    def rows(self, V: Array) -> Array:
        """Return D V."""
        return np.vstack([u @ V for _, _, u in self._blocks()])

    def columns(self, U: Array) -> Array:
        """Return D^T U."""
        out = np.zeros((self.entries.shape[1], U.shape[1]))
        for part, _, u in self._blocks():
            out += u.T @ U[part]
        return out

    def largest_scale(self) -> float:
        """Return the largest t for which t D is in the domain of the conjugate."""
        return min(self.loss.dual_scales(y, u)[1] for _, y, u in self._blocks())

    def bound(self, t: float) -> float:
        """Return minus the sum of conjugates at t D."""
        total = 0.0
        for _, y, u in self._blocks():
            total -= float(np.sum(self.loss.conjugate(y, self.loss.clip_dual(y, t * u))))
        return total

    def size(self) -> float:
        """Return the Frobenius norm of D."""
        return float(np.sqrt(sum(np.square(u).sum() for _, _, u in self._blocks())))


@dataclass
class _SideSums:
    """Sums of the dual variables of each label, by its sign, to make them add up to zero."""

    n_labels: int

    def __post_init__(self) -> None:
        self.up, self.down, self.total = (np.zeros(self.n_labels) for _ in range(3))

    def add(self, labels: Any, dual: Array, y: Array, weights: Array) -> None:
        """Count more entries."""
        size = self.n_labels
        self.up += np.bincount(labels, np.where(y > 0, dual, 0.0), minlength=size)
        self.down += np.bincount(labels, np.where(y > 0, 0.0, dual), minlength=size)
        self.total += np.bincount(labels, weights, minlength=size)

    def repair(self, loss: Loss, u: Array, y: Array, labels: Any) -> Array:
        """Return dual variables in the conjugate's domain that sum to zero for each label."""
        if not loss.binary:
            means = (self.up + self.down) / np.maximum(self.total, np.finfo(float).tiny)
            return np.asarray(u - means[labels])
        # Positive labels have slopes below zero, the others above: shrink the heavier side.
        lighter = np.minimum(np.abs(self.up), np.abs(self.down))
        shrink = [
            np.where(side == 0, 0.0, lighter / np.where(side == 0, 1.0, np.abs(side)))
            for side in (self.up, self.down)
        ]
        return np.asarray(u * np.where(y > 0, shrink[0][labels], shrink[1][labels]))
