r"""One penalised linear model per label: truncated Newton methods side by side.

For each label, :math:`\sum_{i \in \Omega_l} \ell(y_{il}, x_i^T w) + \frac12 \sum_f penalties_f
w_f^2`. Newton systems are solved by conjugate gradients, preconditioned by the diagonal, for all
labels at once, or exactly where few rows count; step lengths by a line search. A label is
dropped when it is done. Labels share the products with X: one with 64 columns costs as much as
five with one column each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leml_solver._linalg.conjugate_gradient import ConjugateGradient, Product, ratio
from leml_solver._linalg.factors import Groups, column_inner
from leml_solver._linalg.matrices import Matrix
from leml_solver.baselines._active_rows import RowSolver
from leml_solver.baselines._label_losses import Signs, column_losses, derivatives, line_derivatives

Array = NDArray[np.float64]
Chosen = NDArray[np.bool_]

_FIRST_ACCURACY = 0.3  # of the first Newton systems; it rises as the gradient falls
# Gradients below this share of the objective's root are rounding, whatever they began with.
_ROUNDING = 1e-8
_FLAT = 0.01  # share of the slope that a line search leaves
_TRIALS = 30
_NEAR = 0.5  # what is left of a gradient when the rows that count do not change much any more
_FEW_ROWS = 1000  # whose equations cost no more than conjugate gradients
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


@dataclass(frozen=True, slots=True)
class NewtonOptions:
    """The limit on Newton steps, and the factor by which a label's gradient must shrink."""

    max_iter: int
    tol: float


@dataclass(frozen=True, slots=True, eq=False)
class LabelFits:
    """The models of some labels."""

    W: Array  # (d, p)
    objectives: Array  # (p,)
    # (p,): sizes of the gradients relative to those at the start, in the norm of the Hessian's
    # diagonal.
    gradients: Array
    steps: int  # Newton steps taken, the most of any label


class _Newton:
    """The labels whose gradients are still too large, and what is known of the others."""

    def __init__(
        self, problem: SeparateLabels, W: Array, reference: Array, rows: RowSolver | None
    ) -> None:
        self.problem, self.reference, self.W, self.rows = problem, reference, W, rows
        self.f = problem.features.times(W)
        self.where, self.steps = np.arange(reference.size), 0
        self.found, self.left = np.empty_like(W), np.empty(reference.size)

    def run(self, options: NewtonOptions) -> None:
        """Step until every gradient has shrunk enough."""
        for _ in range(options.max_iter):
            model = self._still_open(options.tol)
            if not self.where.size:
                return
            self._step(model, options.tol)
        self._still_open(options.tol)
        self.found[:, self.where] = self.W

    def _still_open(self, tol: float) -> Model:
        """Record the labels that are done, and return the models of the others."""
        model = self.problem.model(self.W, self.f)
        self.left[self.where] = ratio(model.sizes(), self.reference)
        open_ = self.left[self.where] > tol
        if open_.all():
            return model
        self.found[:, self.where] = self.W
        self.where, self.reference = self.where[open_], self.reference[open_]
        self.W, self.f = (np.ascontiguousarray(A[:, open_]) for A in (self.W, self.f))
        self.problem = self.problem.part(open_)
        return model.part(open_)

    def _step(self, model: Model, tol: float) -> None:
        S = self._directions(model, tol)
        image = self.problem.features.times(S)
        length = self._lengths(S, image, column_inner(model.gradient, S))
        self.W = self.W + length * S
        self.f += length * image
        self.steps += 1

    def _directions(self, model: Model, tol: float) -> Array:
        few = self._few_rows(model)
        S, left = np.empty_like(self.W), self.left[self.where]
        if few.any() and self.rows is not None:
            active = model.curvatures[:, few] > 0
            S[:, few] = self.rows.minimisers(active, self.problem.signs[:, few]) - self.W[:, few]
        if not few.all():
            many = ~few
            accuracy = np.minimum(_FIRST_ACCURACY, np.sqrt(left[many]))
            if self.problem.loss == "squared":  # one step to the minimum, and a little for rounding
                accuracy = 0.5 * tol / left[many]
            S[:, many] = newton_directions(model.part(many), accuracy)
        return S

    def _few_rows(self, model: Model) -> Chosen:
        """Say for which labels the equations of the rows that count are the cheaper ones."""
        if self.rows is None:
            return np.zeros(self.where.size, dtype=bool)
        limit = min(_FEW_ROWS, model.gradient.shape[0])
        counts = np.count_nonzero(model.curvatures, axis=0)
        # As long as the rows that count still change, an exact solution is wasted.
        near = (self.left[self.where] < _NEAR) | (self.problem.loss == "squared")
        return np.asarray((counts > 0) & (counts <= limit) & near)

    def _lengths(self, S: Array, image: Array, falls: Array) -> Array:
        """Return where along S each objective is nearly flat, by Newton steps in a bracket.

        Where none is found, a point up to which the objective falls.
        """
        penalties = self.problem.penalties[:, None]
        bends = column_inner(S, penalties * S)
        slopes = column_inner(self.W, penalties * S)
        t, low, high = np.ones(falls.size), np.zeros(falls.size), np.full(falls.size, np.inf)
        for _ in range(_TRIALS):
            first, second = line_derivatives(
                self.problem.loss, self.problem.signs, self.f, image, t
            )
            first, second = first + slopes + t * bends, second + bends
            steep = np.abs(first) > _FLAT * np.abs(falls)
            if not steep.any():
                return t
            low, high = np.where(first < 0, t, low), np.where(first < 0, high, t)
            trial = t - ratio(first, second)
            middle = np.where(np.isfinite(high), 0.5 * (low + high), 2 * t)
            t = np.where(steep, np.where((trial > low) & (trial < high), trial, middle), t)
        return np.where(steep, low, t)


def fit_side_by_side(
    problem: SeparateLabels,
    start: Array,
    options: NewtonOptions,
    *,
    guess: Array | None = None,
    rows: RowSolver | None = None,
) -> LabelFits:
    """Minimise each label's objective.

    Gradients are compared with those at `start` (d, p), from where the search begins unless
    `guess`, a point that may be the solution already, is given. `rows` solves the same problem by
    the equations of the rows; not for the logistic loss.
    """
    f = problem.features.times(start)
    rounding = _ROUNDING * np.sqrt(problem.objectives(start, f))
    reference = np.maximum(problem.model(start, f).sizes(), rounding)
    begin = np.ascontiguousarray(start if guess is None else guess)
    search = _Newton(problem, begin, reference, rows)
    search.run(options)
    W = search.found
    objectives = problem.objectives(W, problem.features.times(W))
    return LabelFits(W, objectives, search.left, search.steps)
