"""Squared loss with fully known labels, rows in blocks.

X W is never kept as a whole: each pass computes it block by block from W.

Paper: Algorithm 2.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leml_solver._blocked import block as work
from leml_solver._blocked.problem import BlockedProblem, CountedPasses
from leml_solver._factored.algorithm_2 import FullSquared, Sums
from leml_solver._factored.plan import Plan
from leml_solver._linalg.conjugate_gradient import ConjugateGradient, Numbers
from leml_solver._linalg.factors import Groups, add_scaled, column_inner
from leml_solver._linalg.matrices import Factor
from leml_solver._linalg.threads import matmul

Array = NDArray[np.float64]

_PANEL_COLUMNS = 64  # as many as the compiled product takes at a time


class BlockedSquared(FullSquared):
    """The iterate (W, H) for squared loss and full labels, X and Y in blocks."""

    def __init__(
        self,
        problem: BlockedProblem,
        passes: CountedPasses,
        penalty: float,
        plan: Plan,
        *,
        intercept: bool,
    ) -> None:
        if not (plan.columnwise or plan.factorise):
            raise ValueError(
                "`method` must be 'fast', or a Plan with columnwise=True, for rows in blocks."
            )
        super().__init__(passes, problem.label_squares, penalty, plan, intercept)  # type: ignore[arg-type]
        self.passes, self.problem = passes, problem

    def start(self, W: Factor, H: Factor) -> None:
        """Begin at the factors given."""
        self.W, self.H, self._sums = W, H, None

    @property
    def _feature_means(self) -> Any:
        return self.passes.means

    @property
    def _label_means(self) -> Array:
        return self.problem.label_sums / self.problem.n_rows

    def _feature_gram(self) -> Array:
        means = self._feature_means if self.intercept else 0.0
        return np.asarray(self.passes.total(work.feature_gram, means)[0])

    def _label_mean(self, U: Factor) -> Array | None:
        """Return the mean of the rows of Y U if there is an intercept."""
        return self._label_means @ U.astype(np.float64) if self.intercept else None

    def label_sketch(self, W: Factor) -> Factor:
        """Return Y^T X W, centred for an intercept."""
        sent = self.passes.send(W)
        return np.asarray(self.passes.total(work.squared_sketch, sent, self.passes.mean(W))[0])

    def feature_sketch(self, H: Factor) -> Factor:
        """Return X^T Y H, centred for an intercept."""
        return self._residual_pass(self.passes.send(H), None, None)

    def _residual_pass(self, H: work.Sent, W: work.Sent | None, M: Any) -> Factor:
        """Return X^T (Y H - X W M)."""
        mean = None if W is None else self.passes.mean(W.array)
        label_mean = self._label_mean(H.array)
        found = self.passes.total(work.squared_residual, H, label_mean, W, mean, M, columns=1)
        return np.asarray(found[0])

    def _current_sums(self) -> Sums:
        """Return A^T A and Y^T A; blocks keep their A for the next W-update."""
        if self._sums is None:
            self.sent, self.turn = self.passes.send(self.W), np.eye(self.W.shape[1])
            found = self.passes.total(
                work.squared_sums, self.sent, self.passes.mean(self.W), columns=1
            )
            self._sums = Sums(*found)
        return self._sums

    def update_W(self) -> None:
        """Improve W."""
        self._current_sums()
        super().update_W()

    def _transform(self, T: Factor, S: Factor) -> None:
        """Replace (W, H) by (W T, H S); blocks turn the X W they have."""
        self.W, self.H, self.turn = matmul(self.W, T), matmul(self.H, S), T

    def _columnwise_W(self) -> None:
        """Run one conjugate gradient per column, a panel of columns at a time.

        It saves memory, and on a cluster one panel is on its way while another is computed.
        """
        starts = range(0, self.W.shape[1], _PANEL_COLUMNS)
        panels = [slice(first, first + _PANEL_COLUMNS) for first in starts]
        self.passes.in_turn(self._improve_panel, panels)

    def _improve_panel(self, part: slice) -> None:
        W, H = (np.ascontiguousarray(F[:, part]) for F in (self.W, self.H))
        curvature = column_inner(H, H)[None, :]
        turn = (self.turn[:, part] * curvature).astype(W.dtype)
        residual = self._residual_pass(self.passes.send(H), self.sent, turn)
        add_scaled(residual, np.array([[-self.penalty]]), W)
        ConjugateGradient(
            _PanelForm(self, curvature, self.plan.cg_steps),
            residual,
            Groups.COLUMNS,
            tol=self.plan.cg_tol,
            preconditioner=self.preconditioner(curvature) if self.plan.precondition else None,
            solution=W,
        ).run(self.plan.cg_steps)
        self.W[:, part] = W

    def curve(self, P: Factor, *, product: bool) -> Any:
        """Return the squared norms of the columns of X P, and X^T X P if asked for."""
        sent, mean = self.passes.send(P), self.passes.mean(P)
        return self.passes.total(work.squared_curve, sent, mean, product, columns=1 + product)


@dataclass
class _PanelForm:
    """The Hessian in some columns of W; one pass per direction, the last without X^T."""

    iterate: BlockedSquared
    curvature: Numbers
    steps: int

    def curvature_along(self, direction: Factor) -> Numbers:
        """Return curvature |X P|^2 + penalty |P|^2 of each column."""
        self.steps -= 1
        self.direction = direction
        squares, *self.image = self.iterate.curve(direction, product=self.steps > 0)
        size = column_inner(direction, direction)
        return np.asarray(self.curvature * squares + self.iterate.penalty * size)

    def advance(self, alpha: Numbers, residual: Factor | None) -> None:
        """Move the residual along."""
        if residual is not None:
            add_scaled(residual, -alpha * self.curvature, self.image[0])
            add_scaled(residual, -alpha * self.iterate.penalty, self.direction)
