"""The objectives of separate labels, their quadratic models, and Newton systems side by side.

Labels share the products with X: one with 64 columns costs as much as five with one column each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leml_solver._linalg.factors import add_scaled, column_inner, ratio, scale_and_add
from leml_solver._linalg.matrices import Matrix
from leml_solver.baselines._label_losses import Signs, column_losses, derivatives

__all__ = ["ConjugateGradients", "Model", "SeparateLabels"]

Array = NDArray[np.float64]
Chosen = NDArray[np.bool_]

_CG_STEPS = 1000
_CROWDED = 0.75  # share of labels still open above which the others are not taken out


@dataclass(frozen=True, slots=True, eq=False)
class SeparateLabels:
    """The objectives of some labels.

    Attributes
    ----------
    features, squares : Matrix
        X (n, d), with a column of ones for an intercept, and its squares.
    penalties : (d,) array
        Zero for the intercept.
    loss : str
        "squared", "logistic" or "squared_hinge".
    signs : (n, p) int8 array
        Labels as signs, 0 for missing.
    """

    features: Matrix
    squares: Matrix
    penalties: Array
    loss: str
    signs: Signs

    def objectives(self, W: Array, f: Array) -> Array:
        """Return the objective of each label; f is X W."""
        losses = column_losses(self.loss, self.signs, f)
        return np.asarray(losses + 0.5 * (self.penalties @ np.square(W)))

    def part(self, labels: Chosen) -> SeparateLabels:
        """Return the objectives of some of the labels."""
        signs = np.ascontiguousarray(self.signs[:, labels])
        return SeparateLabels(self.features, self.squares, self.penalties, self.loss, signs)

    def model(self, W: Array, f: Array) -> Model:
        """Return the quadratic model of the objectives at W."""
        at = derivatives(self.loss, self.signs, f)
        weights = self.penalties[:, None]
        diagonal = self.squares.adjoint(at.curvatures) + weights
        gradient = self.features.adjoint(at.slopes) + weights * W
        return Model(self, gradient, at.curvatures, 1 / np.where(diagonal > 0, diagonal, 1))


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """Gradients (d, p), curvatures of the losses (n, p), reciprocals of the Hessian's diagonal."""

    problem: SeparateLabels
    gradient: Array
    curvatures: Array
    scale: Array

    def sizes(self) -> Array:
        """Return the size of each gradient in the norm of the preconditioner."""
        return np.sqrt(column_inner(self.gradient, self.scale * self.gradient))

    def product(self, S: Array) -> Array:
        """Return X^T (C * (X S)) + penalties S."""
        image = self.problem.features.times(S)
        image *= self.curvatures
        return np.asarray(
            self.problem.features.adjoint(image) + self.problem.penalties[:, None] * S
        )

    def part(self, labels: Chosen) -> Model:
        """Return the models of some of the labels; the problem, which is not asked, is left."""
        columns = (self.gradient, self.curvatures, self.scale)
        return Model(self.problem, *(np.ascontiguousarray(A[:, labels]) for A in columns))


class ConjugateGradients:
    """Solutions S of Hessian S = -gradient, those that are good enough being taken out."""

    def __init__(self, model: Model, accuracy: Array) -> None:
        self.model, self.solution = model, np.zeros_like(model.gradient)
        self.residual, self.S = -model.gradient, np.zeros_like(model.gradient)
        self.direction = model.scale * self.residual
        self.energy = column_inner(self.residual, self.direction)
        self.target = np.square(accuracy) * self.energy
        self.where = np.arange(accuracy.size)

    def solve(self) -> Array:
        """Return the solutions."""
        for _ in range(_CG_STEPS):
            open_ = self.energy > self.target
            if open_.mean() < _CROWDED:
                self._take_out(open_)
            if not self.where.size:
                break
            self._advance()
        self.solution[:, self.where] = self.S
        return self.solution

    def _take_out(self, open_: Chosen) -> None:
        """Write down what is there, and go on with the open ones."""
        self.solution[:, self.where] = self.S
        self.where, self.model = self.where[open_], self.model.part(open_)
        self.energy, self.target = self.energy[open_], self.target[open_]
        self.S, self.residual, self.direction = (
            np.ascontiguousarray(A[:, open_]) for A in (self.S, self.residual, self.direction)
        )

    def _advance(self) -> None:
        """Take one step in each column that is open."""
        image = self.model.product(self.direction)
        length = ratio(self.energy, column_inner(self.direction, image))
        length = np.where(self.energy > self.target, length, 0.0)[None, :]
        add_scaled(self.S, length, self.direction)
        add_scaled(self.residual, -length, image)
        scaled = self.model.scale * self.residual
        previous, self.energy = self.energy, column_inner(self.residual, scaled)
        scale_and_add(self.direction, ratio(self.energy, previous)[None, :], scaled)
