"""The objectives of separate labels, their quadratic models, and Newton systems side by side.

Labels share the products with X: one with 64 columns costs as much as five with one column each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leml_solver._linalg.conjugate_gradient import ConjugateGradient, Product
from leml_solver._linalg.factors import Groups, column_inner
from leml_solver._linalg.matrices import Matrix
from leml_solver.baselines._label_losses import Signs, column_losses, derivatives

Array = NDArray[np.float64]
Chosen = NDArray[np.bool_]

_CG_STEPS = 1000
_CROWDED = 0.75  # share of labels still open above which the others are not taken out


@dataclass(frozen=True, slots=True, eq=False)
class SeparateLabels:
    """The objectives of some labels."""

    # X (n, d), with a column of ones for an intercept, and its squares.
    features: Matrix
    squares: Matrix
    penalties: Array  # (d,): zero for the intercept
    loss: str  # "squared", "logistic" or "squared_hinge"
    signs: Signs  # (n, p): labels as signs, 0 for missing

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
        """Return the models of some of the labels; the problem, which is not used, stays."""
        columns = (self.gradient, self.curvatures, self.scale)
        return Model(self.problem, *(np.ascontiguousarray(A[:, labels]) for A in columns))


def newton_directions(model: Model, accuracy: Array) -> Array:
    """Return S with Hessian S = -gradient, solved to the accuracy of each label.

    The labels that are good enough are taken out once there are many.
    """
    found, where = np.zeros_like(model.gradient), np.arange(accuracy.size)
    run = ConjugateGradient(
        Product(model.product, Groups.COLUMNS),
        -model.gradient,
        Groups.COLUMNS,
        tol=accuracy[None, :],
        preconditioner=model.scale,
    )
    for _ in range(_CG_STEPS):
        open_ = run.open[0]
        if open_.mean() < _CROWDED:
            found[:, where] = run.solution
            where, model = where[open_], model.part(open_)
            run = run.columns(open_, Product(model.product, Groups.COLUMNS))
        if not where.size:
            break
        run.step(last=False)
    found[:, where] = run.solution
    return found
