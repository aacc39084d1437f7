r"""How far factors are from the minimum over all Z, of any rank, of losses + penalty |Z|_tr.

For any dual D (one number per observed entry) with :math:`|X^T D|_2 \le` penalty, minus the sum of
conjugates is a lower bound on the minimum. D = loss'(Y, X Z) scaled into that set is tight exactly
when Z is optimal. An unpenalised intercept adds the constraint that each label's D sums to zero.

Paper: Equation (2).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from leml_solver._factored.entry_sums import (
    Entries,
    FullEntries,
    SparseEntries,
    SquaredEntries,
    entries_of,
)
from leml_solver._linalg.factors import gram
from leml_solver._linalg.matrices import Factor, Matrix, as_matrix
from leml_solver.losses import Loss, Squared
from leml_solver.problem import Problem

Array = NDArray[np.float64]

EXACT_SIDE = 1536  # eigenvalues of a Gram matrix of this side take about a second
EXACT_SIZE = 1 << 24  # entries of the dense matrix that the exact norm needs
FAILURE_PROBABILITY = 1e-9
_BLOCK, _STEPS = 8, 32
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class NormBound:
    """An upper bound on a spectral norm and the probability that it fails (0 when exact)."""

    value: float
    failure_probability: float


@dataclass(frozen=True, slots=True)
class Operator:
    """A (d, L) matrix known by its products: times(V) (d, b) and adjoint(U) (L, b)."""

    shape: tuple[int, int]
    times: Callable[[Array], Array]
    adjoint: Callable[[Array], Array]

    def dense(self) -> Array:
        """Return the matrix, by products with the identity on its shorter side."""
        d, L = self.shape
        return self.times(np.eye(L)) if d >= L else self.adjoint(np.eye(d)).T


def norm_from_above(operator: Operator, rng: np.random.Generator) -> NormBound:
    """Return an upper bound on the spectral norm, rounding of the decomposition included."""
    d, L = operator.shape
    if min(d, L) <= EXACT_SIDE and d * L <= EXACT_SIZE:
        G = operator.dense()
        largest = scipy.linalg.eigvalsh(G @ G.T if d <= L else G.T @ G)[-1]
        squares = float(np.square(G).sum())
        # Product and eigenvalues are exact for a matrix within (d + L) roundings of |G|_F^2.
        return NormBound(math.sqrt(max(largest, 0.0) + 4 * (d + L) * _EPS * squares), 0.0)
    return _lanczos_bound(operator, rng)


def lanczos_excess(size: int, steps: int, block: int, probability: float) -> float:
    r"""Return e such that lambda_1 <= Ritz value / (1 - e) except with the given probability.

    From one random start q steps of Lanczos miss by a share e with probability at most
    :math:`1.648 \sqrt{n} e^{-\sqrt{e}(2q-1)}` (Kuczynski and Wozniakowski 1992, Theorem 4.2); a
    block of independent starts misses only when each of them does.
    """
    rate = math.log(1.648 * math.sqrt(size)) - math.log(probability) / block
    return (rate / (2 * steps - 1)) ** 2


def _lanczos_bound(operator: Operator, rng: np.random.Generator) -> NormBound:
    """Bound the norm by block Lanczos with full reorthogonalisation on the shorter side."""
    d, L = operator.shape
    if d >= L:
        square, size = (lambda V: operator.adjoint(operator.times(V))), L
    else:
        square, size = (lambda U: operator.times(operator.adjoint(U))), d
    steps = min(_STEPS, size // _BLOCK)  # more would exceed the dimension
    ritz = _largest_ritz_value(square, size, steps, rng)
    excess = lanczos_excess(size, steps, _BLOCK, FAILURE_PROBABILITY)
    return NormBound(math.sqrt(ritz / (1 - excess)), FAILURE_PROBABILITY)


def _largest_ritz_value(
    square: Callable[[Array], Array], size: int, steps: int, rng: np.random.Generator
) -> float:
    """Return the largest Ritz value of a symmetric operator on a block Krylov space."""
    basis = np.empty((size, 0))
    block = np.linalg.qr(rng.standard_normal((size, _BLOCK)))[0]
    projected = np.zeros((0, 0))
    for _ in range(steps):
        image = square(block)
        corner, edge = block.T @ image, basis.T @ image
        projected = np.block([[projected, edge], [edge.T, 0.5 * (corner + corner.T)]])
        basis = np.hstack([basis, block])
        for _ in range(2):  # twice is enough (Kahan)
            image = image - basis @ (basis.T @ image)
        block = np.linalg.qr(image)[0]
        block -= basis @ (basis.T @ block)
        block = np.linalg.qr(block)[0]
    return float(max(scipy.linalg.eigvalsh(projected)[-1], 0.0))


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


class SquaredDualWithMissing(SquaredDual):
    """The derivatives of the squared loss at all entries but a list of missing ones."""

    def __init__(
        self, entries: SquaredEntries, A: Array, H: Array, offset: Array | None, sides: Array | None
    ) -> None:
        if offset is not None and sides is not None:  # so that derivatives of a label sum to zero
            offset = offset - (sides[0] + sides[1]) / np.maximum(sides[2], 1)
        self.entries, self.D = entries, entries.slopes(A, H, offset)
        self.squares = max(2 * float(entries.label_losses(A, H, offset).sum()), 0.0)
        self.against_labels = entries.against_labels(self.D)

    def rows(self, V: Array) -> Array:
        """Return D V."""
        return self.entries.rows(self.D, V)

    def columns(self, U: Array) -> Array:
        """Return D^T U."""
        return self.entries.columns(self.D, U)


class SparseDual:
    """One dual variable for each of a sparse set of observed entries."""

    def __init__(self, entries: SparseEntries, predictions: Array, sides: Array | None) -> None:
        self.entries, self.loss = entries, entries.loss
        y = entries.values
        self.weights = np.ones_like(y) if entries.weights is None else entries.weights
        self.u = self.loss.clip_dual(y, self.loss.derivative(y, predictions))
        if sides is not None:
            self.u = _repaired(sides, self.loss, self.u, y, self._labels)

    @property
    def _labels(self) -> Any:
        return self.entries.labels.entries.by_row.indices  # type: ignore[union-attr]

    def sides(self) -> Array:
        """Return the sums that an intercept needs."""
        y, n_labels = self.entries.values, self.entries.shape[1]
        return _side_sums(n_labels, self._labels, self.weights * self.u, y, self.weights)

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

    def __init__(self, entries: FullEntries, D: Any, sides: Array | None) -> None:
        self.entries, self.loss, self.D, self._sides = entries, entries.loss, D, sides

    def sides(self) -> Array:
        """Return the sums that an intercept needs."""
        L = self.entries.shape[1]
        total = np.zeros((3, L))
        for y, u, labels in self._raw_blocks():
            total += _side_sums(L, labels, u.ravel(), y.ravel(), np.ones(y.size))
        return total

    def _raw_blocks(self) -> Any:
        for part in self.entries.blocks():
            y = self.entries.encoded(part)
            u = self.loss.clip_dual(y, self.entries.numbers(self.D, part))
            yield y, u, np.tile(np.arange(y.shape[1]), len(y))

    def _blocks(self) -> Any:
        for part, (y, u, labels) in zip(self.entries.blocks(), self._raw_blocks(), strict=True):
            if self._sides is not None:
                flat = _repaired(self._sides, self.loss, u.ravel(), y.ravel(), labels)
                u = flat.reshape(u.shape)
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


# A matrix D of dual variables, one per observed entry (weights included).
DualPoint = SquaredDual | SparseDual | FullDual


def _side_sums(n_labels: int, labels: Any, dual: Array, y: Array, weights: Array) -> Array:
    """Return for each label the sums of its dual variables by sign of y, and of its weights."""
    up, down = np.where(y > 0, dual, 0.0), np.where(y > 0, 0.0, dual)
    return np.array([np.bincount(labels, part, minlength=n_labels) for part in (up, down, weights)])


def _repaired(sides: Array, loss: Loss, u: Array, y: Array, labels: Any) -> Array:
    """Return dual variables in the conjugate's domain that sum to zero for each label."""
    up, down, total = sides
    if not loss.binary:
        means = (up + down) / np.maximum(total, np.finfo(float).tiny)
        return np.asarray(u - means[labels])
    # Positive labels have slopes below zero, the others above: shrink the heavier side.
    lighter = np.minimum(np.abs(up), np.abs(down))
    shrink = [
        np.where(side == 0, 0.0, lighter / np.where(side == 0, 1.0, np.abs(side)))
        for side in (up, down)
    ]
    return np.asarray(u * np.where(y > 0, shrink[0][labels], shrink[1][labels]))


_SEARCH_STEPS = 20


@dataclass(frozen=True, slots=True)
class FactorCertificate:
    """Bounds, at the returned factors, on the distance to the minimum over all Z of any rank.

    Attributes
    ----------
    objective : float
        Sum of losses + penalty |W H^T|_tr, evaluated afresh in double precision.
    lower_bound : float
        No Z (with any intercept, if there is one) has a smaller value.
    gradient_norm : float
        Upper bound on |X^T D|_2; at a stationary point, optimal if it is at most `penalty`.
    penalty : float
        Weight of the trace norm.
    scale : float
        Objective at Z = 0 (intercept zero), the unit of the relative gap.
    failure_probability : float
        Probability that a norm was taken too small, and with it a lower bound too large; 0 when
        the norms are exact.
    rank_lower_bound : float or None
        No Z of the rank of the factors has a smaller value; None unless it was asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import FactorCertificate, fit_factors
    >>> found = fit_factors(np.eye(3), np.diag([4.0, 3.0, 2.0]), rank=3, penalty=1.0).certificate
    >>> isinstance(found, FactorCertificate), found.relative_gap < 1e-2
    (True, True)
    """

    objective: float
    lower_bound: float
    gradient_norm: float
    penalty: float
    scale: float
    failure_probability: float
    rank_lower_bound: float | None = None

    @property
    def gap(self) -> float:
        """Objective minus lower bound."""
        return self.objective - self.lower_bound

    @property
    def relative_gap(self) -> float:
        """Gap over the objective at Z = 0."""
        return self.gap / self.scale if self.scale > 0 else self.gap

    @property
    def rank_gap(self) -> float | None:
        """How far the objective can be from that of the best Z of the same rank."""
        return None if self.rank_lower_bound is None else self.objective - self.rank_lower_bound

    @property
    def rank_relative_gap(self) -> float | None:
        """The gap to the best Z of the same rank over the objective at Z = 0."""
        gap = self.rank_gap
        return gap if gap is None or self.scale <= 0 else gap / self.scale


def certify_factors(
    problem: Problem, W: Factor, H: Factor, intercept: Array | None = None, *, penalty: float
) -> FactorCertificate:
    """Bound how far W H^T is from the minimum over all Z.

    Parameters
    ----------
    problem : Problem
        Data and loss.
    W : (d, k) array
        Feature factor.
    H : (L, k) array
        Label factor.
    intercept : (L,) array, optional
        Intercept of each label; without one the minimum is over predictors without intercept.
    penalty : float
        Weight of the trace norm relative to the sum of losses.

    Paper: Equation (2).
    """
    W, H = W.astype(np.float64), H.astype(np.float64)
    dual, losses, scale = _dual_point(problem, problem.matrix.times(W), H, intercept)
    X = problem.matrix
    operator = Operator(
        problem.shape, lambda V: X.adjoint(dual.rows(V)), lambda U: dual.columns(X.times(U))
    )
    norm = rounded_norm(operator, X, dual.size(), np.random.default_rng(0))
    return FactorCertificate(
        objective=losses + penalty * trace_norm(W, H),
        lower_bound=lower_bound(dual, norm.value, penalty),
        gradient_norm=norm.value,
        penalty=penalty,
        scale=scale,
        failure_probability=norm.failure_probability,
    )


def trace_norm(W: Array, H: Array) -> float:
    """Return |W H^T|_tr from the triangular factors of W and H."""
    R, S = (scipy.linalg.qr(F, mode="r", check_finite=False)[0][: F.shape[1]] for F in (W, H))
    return float(scipy.linalg.svdvals(R @ S.T, check_finite=False).sum())


def _dual_point(
    problem: Problem, A: Array, H: Array, offset: Array | None
) -> tuple[DualPoint, float, float]:
    """Return the dual candidate, the sum of losses, and the sum of losses at Z = 0."""
    labels, loss = problem.labels, problem.loss
    if labels.is_full and type(loss) is Squared:
        Y = as_matrix(labels.complete, np.float64)
        squared = SquaredDual(Y, A, H, offset is not None)
        return squared, 0.5 * squared.squares, 0.5 * float(Y.column_squares().sum())
    entries = entries_of(labels, loss, np.float64)
    losses = float(entries.label_losses(A, H, offset).sum())
    zero = np.zeros((labels.shape[0], 1)), np.zeros((labels.shape[1], 1))
    scale = float(entries.label_losses(*zero, None).sum())
    return entries_dual(entries, A, H, offset), losses, scale


def entries_dual(entries: Entries, A: Array, H: Array, offset: Array | None) -> DualPoint:
    """Return the derivatives at A H^T + offset as a dual point."""
    sides = None if offset is None else dual_sides(entries, A, H, offset)
    return dual_with_sides(entries, A, H, offset, sides)


def dual_with_sides(
    entries: Entries, A: Array, H: Array, offset: Array | None, sides: Array | None
) -> DualPoint:
    """Return the derivatives made to sum to zero for each label, whose `sides` are given."""
    if isinstance(entries, SquaredEntries):
        return SquaredDualWithMissing(entries, A, H, offset, sides)
    if isinstance(entries, SparseEntries):
        return SparseDual(entries, entries.predictions(A, H, offset), sides)
    return FullDual(entries, entries.slopes(A, H, offset), sides)


def dual_sides(entries: Entries, A: Array, H: Array, offset: Array) -> Array:
    """Return what an intercept must know of each label: sums by sign, and of weights, (3, L)."""
    dual = dual_with_sides(entries, A, H, offset, None)
    if isinstance(dual, SparseDual | FullDual):
        return dual.sides()
    sums = dual.columns(np.ones((len(A), 1)))[:, 0]
    return np.array([sums, np.zeros_like(sums), entries.labels.label_counts])


def rounded_norm(operator: Operator, X: Any, size: float, rng: np.random.Generator) -> NormBound:
    """Return an upper bound on the norm of X^T D, known by its products, |D|_F <= size."""
    bound = norm_from_above(operator, rng)
    # A sum of n terms is off by at most n roundings of |X|_F |D|_F, spectral norms likewise.
    size *= float(np.sqrt(X.column_squares().sum()))
    return NormBound(bound.value + X.shape[0] * _EPS * size, bound.failure_probability)


def lower_bound(dual: DualPoint, norm: float, penalty: float) -> float:
    """Return the best lower bound over the multiples t D that are feasible; zero always is."""
    high = dual.largest_scale()
    if norm > 0:
        high = min(high, penalty / norm)
    high = min(high, 2.0)  # a good candidate is best near t = 1
    # The bound is concave in t; at an optimum it still rises at t = 1, so the end is tried itself.
    candidates = [dual.bound(0.0), dual.bound(high)]
    found = minimize_scalar(
        lambda t: -dual.bound(t),
        bounds=(0.0, high),
        method="bounded",
        options={"maxiter": _SEARCH_STEPS},
    )
    return max(*candidates, -float(found.fun))
