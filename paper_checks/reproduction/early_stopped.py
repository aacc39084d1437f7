"""LEML as the printed rows were made: few outer iterations from a uniform start, no intercept.

W before H, each by a trust-region Newton method that is cut short: what regularises is that few
steps are made, hardly the penalty.

Paper: Section 5.1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from leml_solver._linalg import factors as algebra
from leml_solver._linalg.conjugate_gradient import Numbers
from leml_solver._linalg.factors import column_inner
from leml_solver._linalg.matrices import Factor, Matrix
from leml_solver._linalg.threads import matmul
from leml_solver.algorithms import (
    Counted,
    FeatureProblem,
    Groups,
    LabelProblem,
    TronOptions,
    as_matrix,
    entries_of,
    tron,
)
from leml_solver.labels import Labels
from leml_solver.losses import LOSSES
from leml_solver.problem import Problem

__all__ = ["OUTER_ITERATIONS", "early_stopped_factors"]

OUTER_ITERATIONS = 5
_ACCEPTED_STEPS = 5
# Steps that are rejected shrink the trust region and are not counted; from a saturated start the
# logistic loss needs about ten of them.
_STEPS = TronOptions(newton_steps=60, cg_steps=20, tol=0.01, cg_tol=0.1)


@dataclass(frozen=True, eq=False)
class _Point:
    """W with A = X W."""

    W: Factor
    A: Factor


@dataclass(frozen=True, eq=False)
class _SquaredFeatures:
    """The W-problem of the squared loss with full labels, in the products of Algorithm 2.

    Paper: Algorithm 2.
    """

    features: Counted
    gram: Factor
    YH: Factor
    penalty: float
    groups: Groups = Groups.TOGETHER

    def at(self, W: Factor) -> _Point:
        """Return W with X W."""
        return _Point(W, self.features.times(W))

    def values(self, point: _Point) -> Numbers:
        """Return the objective less what does not depend on W."""
        fitted = column_inner(point.A, 0.5 * matmul(point.A, self.gram) - self.YH).sum()
        return np.array([[fitted + 0.5 * self.penalty * column_inner(point.W, point.W).sum()]])

    def gradient(self, point: _Point) -> Factor:
        """Return X^T (A H^T H - Y H) + penalty W."""
        return self._bent(matmul(point.A, self.gram) - self.YH, point.W)

    def hessian(self, point: _Point) -> Callable[[Factor], Factor]:  # noqa: ARG002 - it is constant
        """Return the product S -> X^T X S H^T H + penalty S."""
        return lambda S: self._bent(matmul(self.features.times(S), self.gram), S)

    def preconditioner(self, point: _Point) -> None:
        """Return None: there is none."""

    def _bent(self, image: Factor, W: Factor) -> Factor:
        bent = self.features.adjoint(image)
        bent += W.dtype.type(self.penalty) * W
        return bent


class _FewSteps:
    """A problem that claims to be solved, group by group, once enough steps were accepted."""

    def __init__(self, problem: Any) -> None:
        self._problem, self.groups = problem, problem.groups
        self.at, self.values, self.hessian = problem.at, problem.values, problem.hessian
        self.preconditioner = problem.preconditioner
        self._seen: Any = None
        self._accepted: Any = 0

    def gradient(self, point: Any) -> Factor:
        """Return the gradient, zero where no more steps are to be made."""
        here = getattr(point, "W", point)
        if self._seen is not None:
            self._accepted = self._accepted + (self.groups.inner(*[here - self._seen] * 2) > 0)
        self._seen = here
        gradient: Factor = self._problem.gradient(point)
        return np.where(self._accepted < _ACCEPTED_STEPS, gradient, gradient.dtype.type(0))


def _improved(problem: Any, start: Factor, point: Any) -> tuple[Factor, Any]:
    return tron(_FewSteps(problem), start, _STEPS, point)


def early_stopped_factors(
    X: Any,
    labels: Labels,
    *,
    loss: str,
    rank: int,
    penalty: float,
    rng: np.random.Generator,
    iterations: int = OUTER_ITERATIONS,
) -> tuple[Factor, Factor]:
    """Return W (d, k) and H (L, k) after a few outer iterations from entries uniform in [0, 1).

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        Features as they are.
    labels : Labels
        Known in full or in part.
    loss : str
        "squared", "logistic" or "squared_hinge".
    rank : int
        k.
    penalty : float
        Weight of (|W|^2 + |H|^2) / 2 beside the sum of losses, the squared one with its 1/2.
    rng : numpy.random.Generator
        Where the start comes from.
    iterations : int
        Updates of W and then of H.

    Paper: Section 5.1.
    """
    matrix = Problem(LOSSES[loss], X, labels).matrix
    W = rng.random((matrix.shape[1], rank)).astype(matrix.dtype)
    H = rng.random((labels.shape[1], rank)).astype(matrix.dtype)
    full = loss == "squared" and labels.is_full
    sides = _Squared(matrix, labels, penalty) if full else _General(matrix, labels, loss, penalty)
    A = matrix.times(W)
    for _ in range(iterations):
        W, A = sides.improve_W(W, A, H)
        H = sides.improve_H(A, H)
    return W, H


class _Squared:
    """Squared loss, full labels: H is found exactly."""

    def __init__(self, matrix: Matrix, labels: Labels, penalty: float) -> None:
        self.matrix, self.penalty = matrix, penalty
        self.Y = as_matrix(labels.complete, matrix.dtype)

    def improve_W(self, W: Factor, A: Factor, H: Factor) -> tuple[Factor, Factor]:
        """Return better W and its X W."""
        features = Counted(self.matrix, W.shape[1])
        gram = algebra.gram(H).astype(W.dtype)
        problem = _SquaredFeatures(features, gram, self.Y.times(H), self.penalty)
        W, point = _improved(problem, W, _Point(W, A))
        return W, point.A

    def improve_H(self, A: Factor, H: Factor) -> Factor:  # noqa: ARG002 - no start is needed
        """Return the best H."""
        return algebra.solve_ridge(algebra.gram(A), self.penalty, self.Y.adjoint(A))


class _General:
    """Any loss and labels: both sides by the trust-region method."""

    def __init__(self, matrix: Matrix, labels: Labels, loss: str, penalty: float) -> None:
        self.matrix, self.penalty = matrix, penalty
        self.entries = entries_of(labels, LOSSES[loss], matrix.dtype)

    def improve_W(self, W: Factor, A: Factor, H: Factor) -> tuple[Factor, Factor]:
        """Return better W and its X W."""
        features = Counted(self.matrix, W.shape[1])
        problem = FeatureProblem(features, self.entries, H, None, self.penalty, precondition=False)
        W, point = _improved(problem, W, _Point(W, A))
        return W, point.A

    def improve_H(self, A: Factor, H: Factor) -> Factor:
        """Return better H."""
        penalties = np.full(A.shape[1], self.penalty)
        problem = LabelProblem(self.entries, A, penalties, precondition=False)
        return _improved(problem, H, H)[0]
