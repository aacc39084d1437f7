"""Any smooth loss, labels known in part or in full, rows in blocks.

Paper: Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leml_solver._blocked import block as work
from leml_solver._blocked.problem import BlockedProblem, CountedPasses
from leml_solver._factored.algorithm_1 import GeneralLoss, GeneralOptions
from leml_solver._factored.plan import Plan
from leml_solver._linalg.conjugate_gradient import Numbers
from leml_solver._linalg.factors import Groups, balancing, column_inner, eigenvectors
from leml_solver._linalg.matrices import Factor
from leml_solver._linalg.threads import matmul

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _FeatureProblem:
    """The W-problem: H fixed.

    Paper: Equation (7).
    """

    iterate: BlockedGeneral
    H: work.Sent
    offset: Factor | None
    groups: Groups = Groups.TOGETHER

    def at(self, W: Factor) -> work.Sent:
        """Send W to the blocks."""
        return self.iterate.passes.send(W)

    def _total(self, function: Any, W: work.Sent, *more: Any, columns: int) -> work.Sums:
        passes = self.iterate.passes
        at = W, passes.mean(W.array), self.H, self.offset
        found: work.Sums = passes.total(function, *at, *more, columns=columns)
        return found

    def _adjoint(self, function: Any, W: work.Sent, *more: Any, columns: int) -> Factor:
        return self.iterate.passes.without_means(*self._total(function, W, *more, columns=columns))

    def values(self, W: work.Sent) -> Numbers:
        """Return the objective, the penalty of H left out."""
        loss = self._total(work.losses, W, columns=1)[0].sum()
        return np.array(
            [[loss + 0.5 * self.iterate.penalty * column_inner(W.array, W.array).sum()]]
        )

    def gradient(self, W: work.Sent) -> Factor:
        """Return X^T D H + penalty W."""
        total = self._adjoint(work.feature_gradient, W, columns=1)
        total += W.array.dtype.type(self.iterate.penalty) * W.array
        return total

    def hessian(self, W: work.Sent) -> Callable[[Factor], Factor]:
        """Return the product S -> X^T (C * (X S H^T)) H + penalty S."""

        def product(S: Factor) -> Factor:
            direction = self.iterate.passes.send(S), self.iterate.passes.mean(S)
            total = self._adjoint(work.feature_curve, W, *direction, columns=2)
            total += S.dtype.type(self.iterate.penalty) * S
            return total

        return product

    def preconditioner(self, W: work.Sent) -> Factor | None:
        """Return reciprocals of the Hessian's diagonal, curvature averaged over the points."""
        if not self.iterate.plan.precondition:
            return None
        n = self.iterate.problem.n_rows
        weights = self._total(work.label_weights, W, columns=0)[0].astype(np.float64) / n
        curvature = weights @ np.square(self.H.array, dtype=np.float64)
        diagonal = np.outer(self.iterate.feature_squares, curvature) + self.iterate.penalty
        return np.asarray((1 / diagonal).astype(W.array.dtype))


@dataclass(frozen=True, eq=False)
class _LabelProblem:
    """The H-problem, W fixed: one independent problem per label; an intercept is a column of H.

    Paper: Equation (6).
    """

    iterate: BlockedGeneral
    W: work.Sent
    penalties: Array
    groups: Groups = Groups.ROWS

    def at(self, H: Factor) -> work.Sent:
        """Send H to the blocks."""
        return self.iterate.passes.send(H)

    def _total(self, function: Any, H: work.Sent, *more: Any) -> Any:
        mean = self.iterate.passes.mean(self.W.array)
        return self.iterate.passes.total(function, self.W, mean, H, *more)[0]

    def values(self, H: work.Sent) -> Numbers:
        """Return the objective of each label."""
        penalty = 0.5 * (np.square(H.array, dtype=np.float64) @ self.penalties)
        return np.asarray(self._total(work.joined_losses, H) + penalty)[:, None]

    def gradient(self, H: work.Sent) -> Factor:
        """Return D^T A + H diag(penalties)."""
        penalties = self.penalties.astype(H.array.dtype)
        return np.asarray(self._total(work.label_gradient, H) + H.array * penalties)

    def hessian(self, H: work.Sent) -> Callable[[Factor], Factor]:
        """Return the product S -> (C * (A S^T))^T A + S diag(penalties)."""
        penalties, send = self.penalties.astype(H.array.dtype), self.iterate.passes.send
        return lambda S: self._total(work.label_curve, H, send(S)) + S * penalties

    def preconditioner(self, H: work.Sent) -> Factor | None:
        """Return reciprocals of the Hessian's diagonal."""
        if not self.iterate.plan.precondition:
            return None
        diagonal = self._total(work.label_diagonal, H) + self.penalties.astype(H.array.dtype)
        return np.asarray(1 / np.where(diagonal > 0, diagonal, 1))


class BlockedGeneral(GeneralLoss):
    """The iterate (W, H) for any smooth loss, X and Y in blocks."""

    def __init__(
        self,
        problem: BlockedProblem,
        passes: CountedPasses,
        penalty: float,
        plan: Plan,
        options: GeneralOptions,
    ) -> None:
        super().__init__(passes, None, penalty, plan, options)  # type: ignore[arg-type]
        self.passes, self.problem = passes, problem

    def start(self, W: Factor, H: Factor) -> None:
        """Begin at the factors given, intercept zero."""
        self.W, self.H, self.sent = W, H, self.passes.send(W)
        if self.options.intercept:
            self.b = np.zeros(len(H), dtype=H.dtype)

    def refresh(self) -> None:
        """Nothing is kept that the factors do not determine."""
        self.sent = self.passes.send(self.W)

    def label_sketch(self, W: Factor) -> Factor:
        """Return D^T X W, D the slopes at zero with opposite sign."""
        at = self.passes.send(W), self.passes.mean(W)
        return np.asarray(self.passes.total(work.first_label_sketch, *at, columns=1)[0])

    def feature_sketch(self, H: Factor) -> Factor:
        """Return X^T D H."""
        sent = self.passes.send(H)
        found = self.passes.total(work.first_feature_sketch, sent, columns=1)
        return self.passes.without_means(*found)

    def loss(self) -> float:
        """Return the sum of losses."""
        at = self.sent, self.passes.mean(self.W), self.passes.send(self.H), self.b
        return float(self.passes.total(work.losses, *at, columns=1)[0].sum())

    def update_H(self) -> None:
        """Improve each row of H, and the intercept with it."""
        if self.plan.precondition:
            (M,) = self.passes.total(work.latent_gram, self.sent, self.passes.mean(self.W))
            V = eigenvectors(M)[1].astype(self.W.dtype)
            self._transform(V, V)
        penalties = np.full(self.W.shape[1], self.penalty)
        start = self.H
        if self.b is not None:
            penalties, start = np.append(penalties, 0.0), np.column_stack([self.H, self.b])
        problem = _LabelProblem(self, self.sent, penalties)
        H, _ = self._minimise(problem, start, self.passes.send(start))
        if self.b is not None:
            self.b = np.ascontiguousarray(H[:, -1])
            H = np.ascontiguousarray(H[:, :-1])
        self.H = H

    def update_W(self) -> None:
        """Improve W."""
        if self.plan.balance:
            self._transform(*balancing(self.W, self.H))
        problem = _FeatureProblem(self, self.passes.send(self.H), self.b)
        self.W, self.sent = self._minimise(problem, self.W, self.sent)

    def _transform(self, T: Factor, S: Factor) -> None:
        self.W, self.H = matmul(self.W, T), matmul(self.H, S)
        self.sent = self.passes.send(self.W)
