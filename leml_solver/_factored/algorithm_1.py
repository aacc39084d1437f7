"""Any smooth loss, labels known in part or in full: the updates of W and H by Newton methods.

Paper: Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leml_solver._factored.cg import conjugate_gradient
from leml_solver._factored.entry_sums import Entries, SparseEntries
from leml_solver._factored.plan import Plan
from leml_solver._factored.tron import Smooth, tron
from leml_solver._linalg.conjugate_gradient import Numbers
from leml_solver._linalg.factors import Groups, balancing, column_inner, eigenvectors, gram
from leml_solver._linalg.matrices import CountingMatrix, Factor, SparseMatrix
from leml_solver._linalg.threads import matmul

Array = NDArray[np.float64]

_MANY_ENTRIES = 1 << 20
_MODERATE = 1e9


@dataclass(frozen=True, eq=False)
class FeaturePoint:
    """W with A = X W."""

    W: Factor
    A: Factor


@dataclass(frozen=True, eq=False)
class FeatureProblem:
    """The W-problem: H fixed.

    Paper: Equation (7).
    """

    features: CountingMatrix
    entries: Entries
    H: Factor
    offset: Factor | None
    penalty: float
    precondition: bool
    groups: Groups = Groups.TOGETHER

    def at(self, W: Factor) -> FeaturePoint:
        """Return W with X W."""
        return FeaturePoint(W, self.features.times(W))

    def values(self, point: FeaturePoint) -> Numbers:
        """Return the objective, the penalty of H left out."""
        loss = self.entries.label_losses(point.A, self.H, self.offset).sum()
        penalty = 0.5 * self.penalty * column_inner(point.W, point.W).sum()
        return np.array([[loss + penalty]])

    def gradient(self, point: FeaturePoint) -> Factor:
        """Return X^T D H + penalty W."""
        rows = self.entries.rows_gradient(point.A, self.H, self.offset)
        gradient = self.features.adjoint(rows)
        gradient += point.W.dtype.type(self.penalty) * point.W
        return gradient

    def hessian(self, point: FeaturePoint) -> Callable[[Factor], Factor]:
        """Return the product S -> X^T (C * (X S H^T)) H + penalty S."""
        C: Any = self.entries.curvatures(point.A, self.H, self.offset)

        def product(S: Factor) -> Factor:
            image = self.features.times(S)
            total = self.features.adjoint(self.entries.rows_product(C, image, self.H))
            total += S.dtype.type(self.penalty) * S
            return total

        return product

    def preconditioner(self, point: FeaturePoint) -> Factor | None:
        """Return reciprocals of the Hessian's diagonal, curvature averaged over the points."""
        if not self.precondition:
            return None
        n = self.entries.shape[0]
        C: Any = self.entries.curvatures(point.A, self.H, self.offset)
        weights = self.entries.columns(C, np.ones((n, 1), dtype=point.A.dtype))[:, 0]
        curvature = (weights.astype(np.float64) / n) @ np.square(self.H, dtype=np.float64)
        diagonal = np.outer(self.features.column_squares(), curvature) + self.penalty
        return np.asarray((1 / diagonal).astype(point.W.dtype))


@dataclass(frozen=True, eq=False)
class LabelProblem:
    """The H-problem, A = X W fixed: one independent problem per label.

    `penalties` has one weight per column; an intercept is a column of ones in A with weight zero.

    Paper: Equation (6).
    """

    entries: Entries
    A: Factor
    penalties: Array
    precondition: bool
    groups: Groups = Groups.ROWS

    def at(self, H: Factor) -> Factor:
        """Return H: nothing else is worth keeping."""
        return H

    def values(self, H: Factor) -> Numbers:
        """Return the objective of each label."""
        penalty = 0.5 * (np.square(H, dtype=np.float64) @ self.penalties)
        return np.asarray(self.entries.label_losses(self.A, H, None) + penalty)[:, None]

    def gradient(self, H: Factor) -> Factor:
        """Return D^T A + H diag(penalties)."""
        columns = self.entries.columns_gradient(self.A, H)
        return np.asarray(columns + H * self.penalties.astype(H.dtype))

    def hessian(self, H: Factor) -> Callable[[Factor], Factor]:
        """Return the product S -> (C * (A S^T))^T A + S diag(penalties)."""
        A = self.A
        C: Any = self.entries.curvatures(A, H, None)

        def product(S: Factor) -> Factor:
            nonlocal A
            A = A.astype(S.dtype, copy=False)
            columns = self.entries.columns_product(C, A, S)
            return np.asarray(columns + S * self.penalties.astype(S.dtype))

        return product

    def preconditioner(self, H: Factor) -> Factor | None:
        """Return reciprocals of the Hessian's diagonal."""
        if not self.precondition:
            return None
        C: Any = self.entries.curvatures(self.A, H, None)
        diagonal = self.entries.columns(C, np.square(self.A))
        diagonal += self.penalties.astype(H.dtype)
        return np.asarray(1 / np.where(diagonal > 0, diagonal, 1))


class GeneralLoss:
    """The iterate (W, H) for any smooth loss, with A = X W and the intercept if there is one."""

    def __init__(
        self,
        features: CountingMatrix,
        entries: Entries,
        penalty: float,
        plan: Plan,
        options: GeneralOptions,
    ) -> None:
        self.features, self.entries, self.penalty, self.plan = features, entries, penalty, plan
        self.options = options
        self.b: Factor | None = None  # where X is centred

    def start(self, W: Factor, H: Factor) -> None:
        """Begin at the factors given, intercept zero."""
        self.W, self.H, self.A = W, H, self.features.times(W)
        if self.options.intercept:
            self.b = np.zeros(len(H), dtype=H.dtype)

    def snapshot(self) -> tuple[Any, ...]:
        """Return factors and intercept; updates replace them, they do not write into them."""
        return self.W, self.H, self.b

    def restore(self, saved: tuple[Any, ...]) -> None:
        """Go back to what `snapshot` returned."""
        self.W, self.H, self.b = saved

    def refresh(self) -> None:
        """Compute from the factors all that follows from them, as after `start`."""
        self.A = self.features.times(self.W)

    @property
    def feature_squares(self) -> Array:
        """Diagonal of X^T X (of the centred X for an intercept)."""
        return self.features.column_squares()

    def label_sketch(self, W: Factor) -> Factor:
        """Return D^T X W, D the derivatives of the loss at Z = 0 with opposite sign."""
        return -self.entries.columns(self.entries.first_slopes(), self.features.times(W))

    def feature_sketch(self, H: Factor) -> Factor:
        """Return X^T D H."""
        return -self.features.adjoint(self.entries.rows(self.entries.first_slopes(), H))

    def loss(self) -> float:
        """Return the sum of losses."""
        return float(self.entries.label_losses(self.A, self.H, self.b).sum())

    def offset(self) -> Array | None:
        """Return the intercept of each label, or None without intercept."""
        mean = self.features.mean(self.W)
        if self.b is None or mean is None:
            return None if self.b is None else self.b.astype(np.float64)
        return np.asarray(self.b.astype(np.float64) - self.H @ mean)

    def update_H(self) -> None:
        """Improve each row of H, and the intercept with it."""
        if self.plan.precondition:
            V = eigenvectors(gram(self.A))[1].astype(self.A.dtype)
            self._transform(V, V)  # so that the Hessian of each label is close to its diagonal
        penalties = np.full(self.A.shape[1], self.penalty)
        if self.b is None:
            self.H, _ = self._minimise(self._label_problem(self.A, penalties), self.H, self.H)
            return
        A = np.column_stack([self.A, np.ones(len(self.A), dtype=self.A.dtype)])
        joined = self._label_problem(A, np.append(penalties, 0.0))
        start = np.column_stack([self.H, self.b])
        H, _ = self._minimise(joined, start, start)
        self.H, self.b = np.ascontiguousarray(H[:, :-1]), np.ascontiguousarray(H[:, -1])

    def _label_problem(self, A: Factor, penalties: Array) -> LabelProblem:
        return LabelProblem(self.entries, A, penalties, self.plan.precondition)

    def update_W(self) -> None:
        """Improve W."""
        if self.plan.balance:
            self._transform(*balancing(self.W, self.H))
        problem = FeatureProblem(
            self.features, self.entries, self.H, self.b, self.penalty, self.plan.precondition
        )
        self.W, point = self._minimise(problem, self.W, FeaturePoint(self.W, self.A))
        self.A = point.A

    def _minimise(self, problem: Any, start: Factor, point: Any) -> tuple[Factor, Any]:
        """Minimise by conjugate gradients for a quadratic loss, else by a trust-region method."""
        if self.options.quadratic and not self.plan.trust_region:
            return _newton_step(problem, start, self.plan, point, self._single_steps)
        return tron(problem, start, self.plan.tron(), point)

    @property
    def _single_steps(self) -> bool:
        """Whether single precision in the conjugate gradients saves time that anyone notices."""
        many = isinstance(self.entries, SparseEntries) and self.entries.values.size >= _MANY_ENTRIES
        return many and isinstance(self.features.matrix, SparseMatrix)

    def _transform(self, T: Factor, S: Factor) -> None:
        """Replace (W, H) by (W T, H S), of the same product."""
        self.W, self.A, self.H = matmul(self.W, T), matmul(self.A, T), matmul(self.H, S)


@dataclass(frozen=True, slots=True)
class GeneralOptions:
    """Whether there is an intercept, and whether the loss is quadratic in the prediction."""

    intercept: bool = False
    quadratic: bool = False


def _newton_step(
    problem: Smooth, start: Factor, plan: Plan, point: Any, single: bool
) -> tuple[Factor, Any]:
    """Return a point after conjugate gradients, in single precision if asked for and possible.

    The gradient has the precision of the factors, so where the fit ends does not change.
    """
    residual, scale = -problem.gradient(point), problem.preconditioner(point)
    if single and scale is not None and all(map(_fits_single, (residual, scale))):
        residual, scale = residual.astype(np.float32), scale.astype(np.float32)
    step = conjugate_gradient(problem.hessian(point), residual, plan.cg(problem.groups), scale)
    moved = start + step
    return moved, problem.at(moved)


def _fits_single(factor: Factor) -> bool:
    """Whether products of a few such numbers neither overflow nor vanish in single precision."""
    return bool(1 / _MODERATE <= np.abs(factor).max() <= _MODERATE)
