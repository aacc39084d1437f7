r"""Squared loss with fully known labels: the updates of W and H at a cost that depends on nnz(Y).

An unpenalised intercept is eliminated: it is optimal when the residuals of each label sum to zero,
which is the same problem with the columns of X W and Y centred, and X is never made dense for that.

Paper: Algorithm 2.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leml_solver._factored.algorithm_1 import FeaturePoint
from leml_solver._factored.cg import conjugate_gradient
from leml_solver._factored.plan import Plan
from leml_solver._factored.tron import tron
from leml_solver._lazy import cached_property
from leml_solver._linalg.compiled import WIDE_BYTES
from leml_solver._linalg.conjugate_gradient import ConjugateGradient, Numbers
from leml_solver._linalg.factors import (
    Groups,
    add_scaled,
    balancing,
    column_inner,
    eigenvectors,
    gram,
    solve_ridge,
)
from leml_solver._linalg.matrices import CountingMatrix, Factor, Matrix
from leml_solver._linalg.threads import matmul

Array = NDArray[np.float64]

# Below this d an eigendecomposition of X^T X (about 10 d^3 operations) costs less than one outer
# iteration of conjugate gradients on data that are not tiny; above, only a penalty path repays it.
FACTORISE_BELOW = 768


@dataclass(frozen=True, eq=False)
class Sums:
    """A^T A and Y^T A, from which the objective and the H-update follow."""

    gram: Array
    cross: Factor


@dataclass(frozen=True, eq=False)
class _Columns:
    """Some columns of W, of A = X W and of H, whose columns are orthogonal."""

    W: Factor
    A: Factor
    H: Factor


class FullSquared:
    """The iterate (W, H) for squared loss, full labels, and A = X W, centred for an intercept."""

    def __init__(
        self, features: CountingMatrix, Y: Matrix, penalty: float, plan: Plan, intercept: bool
    ) -> None:
        self.features, self.Y, self.penalty, self.plan = features, Y, penalty, plan
        self.intercept = intercept
        self._sums: Sums | None = None

    def start(self, W: Factor, H: Factor) -> None:
        """Begin at the factors given."""
        self.W, self.H, self._sums = W, H, None
        self.A = self.centred(self.features.times(W))

    def snapshot(self) -> tuple[Any, ...]:
        """Return the factors; updates replace them, they do not write into them."""
        return self.W, self.H, None

    def restore(self, saved: tuple[Any, ...]) -> None:
        """Go back to factors that `snapshot` returned; the intercept follows from them."""
        self.W, self.H, _ = saved

    def refresh(self) -> None:
        """Compute from the factors all that follows from them, as after `start`."""
        self.start(self.W, self.H)

    def label_sketch(self, W: Factor) -> Factor:
        """Return Y^T X W (Y centred for an intercept)."""
        return self.Y.adjoint(self.centred(self.features.times(W)))

    def feature_sketch(self, H: Factor) -> Factor:
        """Return X^T Y H (Y centred for an intercept)."""
        return self.features.adjoint(self.centred(self.Y.times(H)))

    @cached_property
    def _feature_means(self) -> Array:
        ones = np.ones((self.Y.shape[0], 1), dtype=self.features.matrix.dtype)
        return np.asarray(self.features.matrix.adjoint(ones)[:, 0], dtype=np.float64) / len(ones)

    @cached_property
    def _label_means(self) -> Array:
        ones = np.ones((self.Y.shape[0], 1), dtype=np.float64)
        return np.asarray(self.Y.adjoint(ones)[:, 0]) / len(ones)

    @cached_property
    def _label_energy(self) -> float:
        """Half the squared norm of the (centred) labels."""
        energy = float(self.Y.column_squares().sum())
        if self.intercept:
            energy -= self.Y.shape[0] * float(np.square(self._label_means).sum())
        return 0.5 * energy

    @cached_property
    def feature_squares(self) -> Array:
        """Diagonal of X^T X (of the centred X for an intercept)."""
        squares: Array = self.features.matrix.column_squares()
        if self.intercept:
            squares = squares - self.Y.shape[0] * np.square(self._feature_means)
        return np.maximum(squares, 0.0)

    @cached_property
    def _spectrum(self) -> tuple[Array, Factor]:
        """Eigenvalues and eigenvectors of X^T X (of the centred X for an intercept)."""
        values, vectors = eigenvectors(self._feature_gram())
        return values, vectors.astype(self.features.matrix.dtype)

    def _feature_gram(self) -> Array:
        return dense_gram(self.features.matrix, self._feature_means if self.intercept else 0.0)

    def centred(self, A: Factor) -> Factor:
        """Remove column means, in place, when there is an intercept to absorb them."""
        if self.intercept:
            A -= A.mean(axis=0, dtype=np.float64).astype(A.dtype)
        return A

    def _current_sums(self) -> Sums:
        if self._sums is None:
            self._sums = Sums(gram(self.A), self.Y.adjoint(self.A))
        return self._sums

    def loss(self) -> float:
        """Return half the squared norm of Y - X W H^T, intercept at its optimum."""
        sums = self._current_sums()
        fitted = column_inner(sums.cross, self.H).sum()
        return float(self._label_energy - fitted + 0.5 * np.vdot(sums.gram, gram(self.H)))

    def update_H(self) -> None:
        """Solve for H exactly: one k x k system shared by all labels."""
        sums = self._current_sums()
        self.H = solve_ridge(sums.gram, self.penalty, sums.cross)

    def update_W(self) -> None:
        """Improve W by conjugate gradients, or solve for it where X^T X is factorised."""
        self._sums = None
        separable = self.plan.columnwise or self._exact
        if separable:
            self._transform(*self._gauge())
        elif self.plan.balance:
            self._transform(*balancing(self.W, self.H))
        if self._exact:
            self._solve_W()
        elif separable:
            self._columnwise_W()
        elif self.plan.trust_region:
            self._trust_region_W()
        else:
            self._plain_W()

    @property
    def _exact(self) -> bool:
        return self.plan.factorise and self.features.matrix.shape[1] <= FACTORISE_BELOW

    def _gauge(self) -> tuple[Factor, Factor]:
        """Return the change of factors that makes H^T H diagonal."""
        if self.plan.balance:
            return balancing(self.W, self.H)
        V = eigenvectors(gram(self.H))[1].astype(self.W.dtype)
        return V, V

    def _transform(self, T: Factor, S: Factor) -> None:
        self.W, self.A, self.H = matmul(self.W, T), matmul(self.A, T), matmul(self.H, S)

    def _plain_W(self) -> None:
        """Algorithm 3 with the products of Algorithm 2."""
        M, penalty = gram(self.H).astype(self.W.dtype), self.W.dtype.type(self.penalty)

        def product(S: Factor) -> Factor:
            B = self.centred(self.features.times(S))
            return np.asarray(self.features.adjoint(matmul(B, M)) + penalty * S)

        residual = self._residual(M)
        preconditioner = None
        if self.plan.precondition:
            preconditioner = self.preconditioner(np.diag(M))
        step = conjugate_gradient(product, residual, self.plan.cg(Groups.TOGETHER), preconditioner)
        self.W = self.W + step
        self.A = self.centred(self.features.times(self.W))

    def _trust_region_W(self) -> None:
        """Improve W by a trust-region Newton method, as the authors' program does."""
        M, right = gram(self.H).astype(self.W.dtype), self.centred(self.Y.times(self.H))
        at = FeaturePoint(self.W, self.A)
        self.W, point = tron(_SquaredProblem(self, M, right), self.W, self.plan.tron(), at)
        self.A = point.A

    def _residual(self, M: Factor) -> Factor:
        """Return the negative gradient in W, X^T (Y H - A M) - penalty W."""
        right = self.centred(self.Y.times(self.H))
        right -= matmul(self.A, M)
        residual = self.features.adjoint(right)
        add_scaled(residual, np.array([[-self.penalty]]), self.W)
        return residual

    def preconditioner(self, curvature: Any) -> Factor:
        """Return reciprocals of the diagonal of the Hessian in W."""
        diagonal = np.outer(self.feature_squares, curvature) + self.penalty
        return np.divide(1, diagonal, out=diagonal).astype(self.W.dtype)

    def _solve_W(self) -> None:
        """Solve for W exactly in the eigenvectors of X^T X and of H^T H."""
        eigenvalues, V = self._spectrum
        curvature = column_inner(self.H, self.H)
        right = matmul(V.T, self.feature_sketch(self.H))
        right /= (np.outer(eigenvalues, curvature) + self.penalty).astype(right.dtype)
        self.W = matmul(V, right)
        self.refresh()

    def _columnwise_W(self) -> None:
        """Run one conjugate gradient per column, a panel of columns at a time to save memory."""
        width = WIDE_BYTES // self.W.itemsize
        for first in range(0, self.W.shape[1], width):
            part = slice(first, first + width)
            columns = _Columns(
                *(np.ascontiguousarray(F[:, part]) for F in (self.W, self.A, self.H))
            )
            self._improve(columns)
            self.W[:, part], self.A[:, part] = columns.W, columns.A

    def _improve(self, at: _Columns) -> None:
        """Improve some columns of W by conjugate gradients, in place; X W follows along."""
        curvature = column_inner(at.H, at.H)[None, :]
        form = _ColumnForm(self, at, curvature)
        ConjugateGradient(
            form,
            self._column_residual(at, curvature),
            Groups.COLUMNS,
            tol=self.plan.cg_tol,
            preconditioner=self.preconditioner(curvature) if self.plan.precondition else None,
            solution=at.W,
        ).run(self.plan.cg_steps)

    def _column_residual(self, at: _Columns, curvature: Numbers) -> Factor:
        """Return the negative gradient in some columns of W."""
        right = self.centred(self.Y.times(at.H))
        add_scaled(right, -curvature, at.A)
        residual = self.features.adjoint(right)
        add_scaled(residual, np.array([[-self.penalty]]), at.W)
        return residual

    def offset(self) -> Array | None:
        """Return the optimal intercept of each label, or None without intercept."""
        if not self.intercept:
            return None
        means = self._feature_means @ self.W.astype(np.float64)
        return np.asarray(self._label_means - self.H.astype(np.float64) @ means)


@dataclass(frozen=True, eq=False)
class _SquaredProblem:
    """The W-problem in the products of Algorithm 2: M is H^T H, right is Y H."""

    iterate: FullSquared
    M: Factor
    right: Factor
    groups: Groups = Groups.TOGETHER

    def at(self, W: Factor) -> FeaturePoint:
        """Return W with X W."""
        return FeaturePoint(W, self.iterate.centred(self.iterate.features.times(W)))

    def values(self, point: FeaturePoint) -> Numbers:
        """Return the objective less what does not depend on W."""
        fitted = column_inner(point.A, 0.5 * matmul(point.A, self.M) - self.right).sum()
        size = column_inner(point.W, point.W).sum()
        return np.array([[fitted + 0.5 * self.iterate.penalty * size]])

    def gradient(self, point: FeaturePoint) -> Factor:
        """Return X^T (A M - Y H) + penalty W."""
        return self._adjoint(matmul(point.A, self.M) - self.right, point.W)

    def hessian(self, point: FeaturePoint) -> Callable[[Factor], Factor]:  # noqa: ARG002 - constant
        """Return the product S -> X^T X S M + penalty S."""
        return lambda S: self._adjoint(matmul(self.at(S).A, self.M), S)

    def preconditioner(self, point: FeaturePoint) -> Factor | None:  # noqa: ARG002 - constant
        """Return reciprocals of the Hessian's diagonal, or None for none."""
        if not self.iterate.plan.precondition:
            return None
        return self.iterate.preconditioner(np.diag(self.M))

    def _adjoint(self, image: Factor, W: Factor) -> Factor:
        """Return X^T image + penalty W."""
        total = self.iterate.features.adjoint(image)
        total += W.dtype.type(self.iterate.penalty) * W
        return total


class _ColumnForm:
    """The Hessian in some columns of W, H^T H diagonal: curvature X^T X + penalty.

    Its step length needs X P only, so the last step costs one product instead of two.
    """

    def __init__(self, iterate: FullSquared, at: _Columns, curvature: Numbers) -> None:
        self.iterate, self.at, self.curvature = iterate, at, curvature

    def curvature_along(self, direction: Factor) -> Numbers:
        """Return curvature |X P|^2 + penalty |P|^2 of each column."""
        self.direction = direction
        self.image = self.iterate.centred(self.iterate.features.times(direction))
        fitted, size = column_inner(self.image, self.image), column_inner(direction, direction)
        return self.curvature * fitted + self.iterate.penalty * size

    def advance(self, alpha: Numbers, residual: Factor | None) -> None:
        """Move A = X W along, and the residual."""
        add_scaled(self.at.A, alpha, self.image)
        if residual is not None:
            adjoint = self.iterate.features.adjoint(self.image)
            add_scaled(residual, -alpha * self.curvature, adjoint)
            add_scaled(residual, -alpha * self.iterate.penalty, self.direction)


def dense_gram(X: Matrix, means: Any) -> Array:
    """Return X^T X for X less its column means as a dense array in double precision."""
    block = max(1, (1 << 22) // X.shape[1])
    total = np.zeros((X.shape[1], X.shape[1]))
    for start in range(0, X.shape[0], block):
        rows = X.rows(start, min(start + block, X.shape[0])).astype(np.float64) - means
        total += rows.T @ rows
    return total
