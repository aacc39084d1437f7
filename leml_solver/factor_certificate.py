r"""How far factors are from the minimum over all Z, of any rank, of losses + penalty |Z|_tr.

For any dual D (one number an observed entry) with :math:`|X^T D|_2 \le` penalty, minus the sum of
conjugates is a lower bound on the minimum. D = loss'(Y, X Z) scaled into that set is tight exactly
when Z is optimal. An unpenalised intercept adds the constraint that each label's D sums to zero.

Paper: Equation (2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from leml_solver.dual_points import DualPoint, FullDual, SparseDual, SquaredDual
from leml_solver.entries import SparseEntries, entries_of
from leml_solver.labels import Labels
from leml_solver.losses import Loss, Squared
from leml_solver.matrices import Factor, Matrix, as_matrix
from leml_solver.spectral_norm import NormBound, Operator, norm_from_above

Array = NDArray[np.float64]

_EPS = float(np.finfo(np.float64).eps)
_SEARCH_STEPS = 20


@dataclass(frozen=True, eq=False)
class FactoredProblem:
    """Data, loss and penalty of the problem that the factors are to solve."""

    X: Matrix
    labels: Labels
    loss: Loss
    penalty: float
    intercept: bool = False


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
        Probability that `gradient_norm` is too small, and with it `lower_bound` too large; 0 when
        the norm is exact.
    """

    objective: float
    lower_bound: float
    gradient_norm: float
    penalty: float
    scale: float
    failure_probability: float

    @property
    def gap(self) -> float:
        """Objective minus lower bound."""
        return self.objective - self.lower_bound

    @property
    def relative_gap(self) -> float:
        """Gap over the objective at Z = 0."""
        return self.gap / self.scale if self.scale > 0 else self.gap


def certify_factors(
    problem: FactoredProblem,
    W: Factor,
    H: Factor,
    intercept: Array | None = None,
    *,
    rng: np.random.Generator | None = None,
) -> FactorCertificate:
    """Bound how far W H^T is from the minimum over all Z.

    Parameters
    ----------
    problem : FactoredProblem
        What the factors are to solve.
    W : (d, k) array
        Feature factor.
    H : (L, k) array
        Label factor.
    intercept : (L,) array, optional
        Intercept of each label; none means zero.
    rng : Generator, optional
        Start of the Lanczos bound for large problems; a fixed one if not given.

    Returns
    -------
    FactorCertificate

    Paper: Equation (2).
    """
    rng = np.random.default_rng(0) if rng is None else rng
    W, H = W.astype(np.float64), H.astype(np.float64)
    A = problem.X.times(W)
    dual, losses, scale = _dual_point(problem, A, H, intercept)
    norm = _gradient_norm(problem, dual, rng)
    return FactorCertificate(
        objective=losses + problem.penalty * trace_norm(W, H),
        lower_bound=_lower_bound(dual, norm.value, problem.penalty),
        gradient_norm=norm.value,
        penalty=problem.penalty,
        scale=scale,
        failure_probability=norm.failure_probability,
    )


def trace_norm(W: Array, H: Array) -> float:
    """Return |W H^T|_tr from the triangular factors of W and H."""
    R, S = (scipy.linalg.qr(F, mode="r", check_finite=False)[0][: F.shape[1]] for F in (W, H))
    return float(scipy.linalg.svdvals(R @ S.T, check_finite=False).sum())


def _dual_point(
    problem: FactoredProblem, A: Array, H: Array, offset: Array | None
) -> tuple[DualPoint, float, float]:
    """Return the dual candidate, the sum of losses, and the sum of losses at Z = 0."""
    labels, loss = problem.labels, problem.loss
    if labels.is_full and isinstance(loss, Squared):
        Y = as_matrix(labels.complete, np.float64)
        squared = SquaredDual(Y, A, H, problem.intercept)
        scale = 0.5 * float(Y.column_squares().sum())
        return squared, 0.5 * squared.squares, scale
    entries = entries_of(labels, loss, np.float64)
    losses = float(entries.label_losses(A, H, offset).sum())
    zero = np.zeros((labels.shape[0], 1)), np.zeros((labels.shape[1], 1))
    scale = float(entries.label_losses(*zero, None).sum())
    if isinstance(entries, SparseEntries):
        return (
            SparseDual(entries, entries.predictions(A, H, offset), problem.intercept),
            losses,
            scale,
        )
    D = entries.slopes(A, H, offset)
    return FullDual(entries, D, problem.intercept), losses, scale  # type: ignore[arg-type]


def _gradient_norm(
    problem: FactoredProblem, dual: DualPoint, rng: np.random.Generator
) -> NormBound:
    """Return an upper bound on |X^T D|_2, rounding of the products included."""
    X = problem.X
    operator = Operator(
        (X.shape[1], problem.labels.shape[1]),
        lambda V: X.adjoint(dual.rows(V)),
        lambda U: dual.columns(X.times(U)),
    )
    bound = norm_from_above(operator, rng)
    # A sum of n terms is off by at most n roundings of |X|_F |D|_F, spectral norms likewise.
    size = float(np.sqrt(X.column_squares().sum())) * dual.size()
    return NormBound(bound.value + X.shape[0] * _EPS * size, bound.failure_probability)


def _lower_bound(dual: DualPoint, norm: float, penalty: float) -> float:
    """Return the best lower bound over the multiples t D that are feasible; zero is always one."""
    high = dual.largest_scale()
    if norm > 0:
        high = min(high, penalty / norm)
    high = min(high, 2.0)  # a candidate that is good at all is best near t = 1
    # The bound is concave in t; at an optimum it still rises at t = 1, so the end is tried itself.
    candidates = [0.0, dual.bound(high)]
    found = minimize_scalar(
        lambda t: -dual.bound(t),
        bounds=(0.0, high),
        method="bounded",
        options={"maxiter": _SEARCH_STEPS},
    )
    return max(*candidates, -float(found.fun))
