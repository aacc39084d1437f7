r"""Better dual points for the certificate, and better factors, by splitting the convex problem.

Where the fit has not quite converged its own dual point can be far outside the feasible set: an
error of Z along a large singular value of X is cheap in the objective and dear in the gradient. The
alternating direction method of multipliers on losses(X Z) + penalty |V|_tr with Z = V meets X
in its Z-step, solved with one Cholesky factor of X^T X, and the trace norm in its V-step, a
soft-thresholding of singular values. Every Z gives a lower bound and every V a point, so the steps
can stop once the two say within which factor the gap is known.

Paper: Equation (2).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from leml_solver._factored.certificate import FactorCertificate, certify_factors, entries_dual
from leml_solver._factored.entry_sums import entries_of
from leml_solver._factored.tron import TronOptions, tron
from leml_solver._linalg.conjugate_gradient import Numbers
from leml_solver._linalg.factors import Groups, eigenvectors
from leml_solver._linalg.matrices import CountingMatrix, as_matrix
from leml_solver.losses import Squared
from leml_solver.problem import Problem

Array = NDArray[np.float64]

MAX_STEPS = 24
LARGEST_SIDE = 4096  # of X^T X: its factor takes seconds and 128 MB
LARGEST_ARRAY = 1 << 23  # entries of an array as large as X Z
_LOOK = 4  # steps between two looks at the objective of V
_KNOWN = 2.0  # stop where the reported gap is at most this many times the true one
_NEWTON = TronOptions(newton_steps=6, cg_steps=8)
_FREE_WORK = 1e9  # multiplications that take about a tenth of a second
_GENERAL_WORK = 60  # products in the Z-step of a loss that is not quadratic


@dataclass(frozen=True, slots=True, eq=False)
class ConvexPoint:
    """A (d, L) matrix with the intercept that goes with it, and its objective."""

    Z: Array
    offset: Array | None
    objective: float

    def factors(self, rank: int) -> tuple[Array, Array]:
        """Return balanced factors of the best approximation of this rank, zeros where none is."""
        U, sigma, Vt = scipy.linalg.svd(self.Z, full_matrices=False, check_finite=False)
        roots = np.sqrt(sigma[:rank])
        missing = ((0, 0), (0, rank - roots.size))
        return np.pad(U[:, :rank] * roots, missing), np.pad(Vt[:rank].T * roots, missing)


def affordable_steps(problem: Problem, rank: int, products: float) -> int:
    """Return how many steps take at most about as long as a fit of so many products with X."""
    n, L = problem.labels.shape
    d, nnz = problem.shape[0], problem.matrix.nnz
    quadratic = _is_quadratic(problem)
    rows = n * min(d, L) if quadratic else n * L
    if d > LARGEST_SIDE or max(rows, d * L) > LARGEST_ARRAY:
        return 0
    entries = 0 if quadratic else problem.labels.n_observed
    # A multiplication by an entry of a sparse X takes four times as long as one in BLAS.
    spent = (4.0 if quadratic else 2.0) * products * (nnz + entries) * rank + _FREE_WORK
    setup = nnz * (nnz / n) + d**3 / 6
    step = 2.0 * d * d * L + 3.0 * d * L * min(d, L)
    if not quadratic:
        step += _GENERAL_WORK * (nnz + n * L + d * d) * L
    # The steps of a general loss are Newton's: half as many do.
    most = MAX_STEPS if quadratic else MAX_STEPS // 2
    return int(np.clip((spent - setup) / step, 0, most))


class Splitting:
    """Z, V and the multiplier, with the best bound and the best point so far.

    The weight of |Z - V|^2 / 2 is penalty / |Z|_2: singular values then move by their own size.
    It begins at the point that was certified, which must not be zero; `best` is that point or the
    V of least objective.
    """

    def __init__(
        self, problem: Problem, start: ConvexPoint, certificate: FactorCertificate
    ) -> None:
        self.problem, self.start, self.certificate = problem, start, certificate
        self.penalty = certificate.penalty
        weight = self.penalty / float(np.linalg.norm(start.Z, 2))
        kind = _QuadraticLosses if _is_quadratic(problem) else _SmoothLosses
        self.losses: _QuadraticLosses | _SmoothLosses = kind(problem, start, weight)
        self.best, self.V = start, start.Z
        self.multiplier = -_clipped(self.losses.slope, self.penalty) / self.losses.weight
        self.bound, self.at = -np.inf, start

    def run(self, steps: int, tol: float | None = None) -> FactorCertificate:
        """Take steps, and return the certificate of the start with the best bound found.

        They end when the relative gap between the bound and `best` is at most `tol`, or, without
        it, when the gap reported for the start is at most twice the true one.
        """
        for step in range(1, steps + 1):
            self._step()
            if step % _LOOK == 0 and self._is_known(tol):
                break
        Z, identity = self.at.Z, np.eye(min(self.at.Z.shape))
        W, H = (Z, identity) if Z.shape[0] >= Z.shape[1] else (identity, Z.T)
        found = certify_factors(self.problem, W, H, self.at.offset, penalty=self.penalty)
        lower = max(self.certificate.lower_bound, found.lower_bound)
        failure = self.certificate.failure_probability + found.failure_probability
        return replace(self.certificate, lower_bound=lower, failure_probability=failure)

    def _step(self) -> None:
        """Take a Z-step, a V-step and a step of the multiplier; remember the Z of best bound."""
        self.losses.move(self.V - self.multiplier)
        Z = self.losses.Z
        bound = self.losses.bound(float(_spectrum(self.losses.slope)[0][-1]), self.penalty)
        if bound > self.bound:
            self.bound, self.at = bound, ConvexPoint(Z, self.losses.offset(Z), bound)
        moved = Z + self.multiplier
        # Soft-thresholding takes away from singular values what clipping leaves of them.
        self.multiplier = _clipped(moved, self.penalty / self.losses.weight)
        self.V = moved - self.multiplier

    def _is_known(self, tol: float | None) -> bool:
        """Whether the gap is known well enough; V is remembered if it is the best yet."""
        trace_norm = float(_spectrum(self.V)[0].sum())
        objective = self.losses.value(self.V) + self.penalty * trace_norm
        if objective < self.best.objective:
            self.best = ConvexPoint(self.V, self.losses.offset(self.V), objective)
        if tol is not None:
            return self.best.objective - self.bound <= tol * self.certificate.scale
        gap = self.start.objective - self.bound
        return gap <= _KNOWN * (self.start.objective - self.best.objective)


class _QuadraticLosses:
    """Squared loss and full labels: all that is needed is in X^T X and X^T Y, centred."""

    def __init__(self, problem: Problem, start: ConvexPoint, weight: float) -> None:
        X, Y = problem.features.astype(np.float64), problem.labels.complete
        self.means = None if start.offset is None else (_column_means(X), _column_means(Y))
        if self.means is not None and not sp.issparse(X):
            X = X - self.means[0]
        self.G, self.C, self.Z = _dense(X.T @ X), _dense(X.T @ Y), start.Z
        self.energy = float(np.square(Y.data if sp.issparse(Y) else Y).sum())
        self.columns = float(sum(problem.shape))
        smallest = _smallest_ridge(self.G)  # rounding is that before the means are taken off
        if self.means is not None:
            x, y = _column_means(X), self.means[1]
            self.G -= X.shape[0] * np.outer(x, x)
            self.C -= X.shape[0] * np.outer(x, y)
            self.energy -= X.shape[0] * float(y @ y)
        self.weight = max(weight, smallest)
        ridge = self.weight * np.eye(len(self.G))
        self.factor = scipy.linalg.cho_factor(self.G + ridge, check_finite=False)
        self.slope = self.G @ self.Z - self.C

    def bound(self, norm: float, penalty: float) -> float:
        """Return the lower bound of the best multiple of X Z - Y, rounding left aside."""
        against = self.energy - float(np.vdot(self.Z, self.C))
        floor = np.finfo(float).eps * max(self.energy, np.finfo(float).tiny)
        squares = max(against + float(np.vdot(self.Z, self.slope)), floor)
        t = min(penalty / norm if norm > 0 else np.inf, against / squares)
        return t * (against - 0.5 * t * squares)

    def value(self, Z: Array) -> float:
        """Return half the squared norm of Y - X Z."""
        return 0.5 * self.energy + float(np.vdot(Z, 0.5 * (self.G @ Z) - self.C))

    def offset(self, Z: Array) -> Array | None:
        """Return the best intercept of each label."""
        return None if self.means is None else self.means[1] - self.means[0] @ Z

    def move(self, target: Array) -> None:
        """Minimise the losses + weight |Z - target|^2 / 2."""
        right = self.C + self.weight * target
        self.Z = scipy.linalg.cho_solve(self.factor, right, check_finite=False)
        self.slope = self.weight * (target - self.Z)


@dataclass(frozen=True, slots=True, eq=False)
class _Scores:
    """Z, the intercept as its last row if there is one, and X Z."""

    Z: Array
    A: Array


class _SmoothLosses:
    """Any smooth loss, labels known in part or in full; the proximal step by Newton's method.

    It runs in the coordinates S = R Z, R^T R being the curvature of the loss times X^T X plus the
    weight, so that no second derivative is above one. An intercept is a column of ones without
    weight in X.
    """

    groups = Groups.COLUMNS

    def __init__(self, problem: Problem, start: ConvexPoint, weight: float) -> None:
        X, Z, self.n_features = problem.features.astype(np.float64), start.Z, problem.shape[0]
        self.intercept = start.offset is not None
        if start.offset is not None:
            X, Z = _with_ones(X), np.vstack([Z, start.offset])
        self.matrix = CountingMatrix(as_matrix(X))
        self.entries: Any = entries_of(problem.labels, problem.loss, np.float64)
        self.identity = np.eye(problem.n_labels)
        G = float(problem.loss.curvature or 0.0) * _dense(X.T @ X)
        self.weight = max(weight, _smallest_ridge(G))
        self.weights = np.full((len(G), 1), self.weight)
        self.weights[self.n_features :] = 0.0
        ridge = np.diag(np.maximum(self.weights[:, 0], _smallest_ridge(G)))
        self.R = scipy.linalg.cholesky(G + ridge, check_finite=False)
        self._go_to(_Scores(Z, self.matrix.times(Z)))

    def _go_to(self, point: _Scores) -> None:
        """Compute the dual point, of sum zero if there is an intercept, and the slope X^T D."""
        self.point, self.Z = point, point.Z[: self.n_features]
        none = np.zeros(len(self.identity)) if self.intercept else None
        self.dual = entries_dual(self.entries, point.A, self.identity, none)
        self.slope = self.matrix.adjoint(self.dual.rows(self.identity))[: self.n_features]

    @property
    def columns(self) -> float:
        """Columns that X was multiplied with, those of X^T X included."""
        return float(self.matrix.products + self.n_features)

    def bound(self, norm: float, penalty: float) -> float:
        """Return the lower bound of the largest feasible multiple of D up to D itself."""
        feasible = penalty / norm if norm > 0 else np.inf
        return self.dual.bound(min(feasible, self.dual.largest_scale(), 1.0))

    def value(self, Z: Array) -> float:
        """Return the sum of losses."""
        A = self.matrix.times(self._joined(Z))
        return float(self.entries.label_losses(A, self.identity, None).sum())

    def offset(self, Z: Array) -> Array | None:  # noqa: ARG002 - no closed form for another Z
        """Return the present intercept of each label."""
        return self.point.Z[-1] if self.intercept else None

    def move(self, target: Array) -> None:
        """Decrease the losses + weight |Z - target|^2 / 2 by a few Newton steps."""
        self.target = self._joined(target)
        self._go_to(tron(self, self.R @ self.point.Z, _NEWTON, self.point)[1])

    def _joined(self, Z: Array) -> Array:
        """Return Z with the present intercept as its last row, if there is one."""
        return np.vstack([Z, self.point.Z[self.n_features :]])

    def at(self, S: Array) -> _Scores:
        """Return Z = R^-1 S with X Z."""
        Z = scipy.linalg.solve_triangular(self.R, S, check_finite=False)
        return _Scores(Z, self.matrix.times(Z))

    def values(self, point: _Scores) -> Numbers:
        """Return the losses + weight |Z - target|^2 / 2 of each label."""
        losses = self.entries.label_losses(point.A, self.identity, None)
        away = self.weights * np.square(point.Z - self.target)
        return np.asarray(losses + 0.5 * away.sum(axis=0))[None, :]

    def gradient(self, point: _Scores) -> Array:
        """Return R^-T (X^T D + weight (Z - target))."""
        D = self.entries.slopes(point.A, self.identity, None)
        return self._adjoint(self.entries.rows(D, self.identity), point.Z - self.target)

    def hessian(self, point: _Scores) -> Callable[[Array], Array]:
        """Return the product with the second derivatives."""
        C = self.entries.curvatures(point.A, self.identity, None)

        def product(S: Array) -> Array:
            moved = self.at(S)
            return self._adjoint(self.entries.rows_product(C, moved.A, self.identity), moved.Z)

        return product

    def preconditioner(self, point: _Scores) -> None:
        """Return None: the coordinates are preconditioned already."""

    def _adjoint(self, D: Array, Z: Array) -> Array:
        """Return R^-T (X^T D + weight Z)."""
        bent = self.matrix.adjoint(D) + self.weights * Z
        return np.asarray(
            scipy.linalg.solve_triangular(self.R, bent, trans="T", check_finite=False)
        )


def _is_quadratic(problem: Problem) -> bool:
    return type(problem.loss) is Squared and problem.labels.is_full


def _dense(M: Any) -> Array:
    return np.asarray(M.toarray() if sp.issparse(M) else M, dtype=np.float64)


def _column_means(M: Any) -> Array:
    return np.asarray(M.mean(axis=0)).ravel()


def _with_ones(X: Any) -> Any:
    ones = np.ones((X.shape[0], 1))
    return sp.hstack([X, ones], format="csr") if sp.issparse(X) else np.hstack([X, ones])


def _smallest_ridge(G: Array) -> float:
    """Return what must be added to the diagonal of G for its Cholesky factor to exist."""
    return len(G) * float(np.finfo(np.float64).eps) * float(np.trace(G))


def _spectrum(B: Array) -> tuple[Array, Array]:
    """Return singular values, increasing, and singular vectors on the shorter side of B."""
    values, vectors = eigenvectors(B.T @ B if B.shape[1] <= B.shape[0] else B @ B.T)
    return np.sqrt(values), vectors


def _clipped(B: Array, largest: float) -> Array:
    """Return B with its singular values clipped."""
    sigma, vectors = _spectrum(B)
    kept = (vectors * (largest / np.maximum(sigma, largest))) @ vectors.T
    return np.asarray(B @ kept if B.shape[1] <= B.shape[0] else kept @ B)
