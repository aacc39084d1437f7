"""Alternating minimisation of the factored problem, from data to certified factors.

Paper: Equation (5).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from argument_checks import nonnegative, one_of, positive, positive_integer
from leml_solver._factored.algorithm_1 import GeneralLoss, GeneralOptions
from leml_solver._factored.algorithm_2 import FullSquared
from leml_solver._factored.certificate import FactorCertificate, FactoredProblem, certify_factors
from leml_solver._factored.entry_sums import check_labels, entries_of
from leml_solver._factored.plan import FAST, PLAIN, Plan
from leml_solver._linalg import factors as algebra
from leml_solver._linalg.factors import column_inner
from leml_solver._linalg.matrices import Counted, Factor, as_matrix, checked_features
from leml_solver._linalg.threads import matmul, one_blas_thread
from leml_solver.labels import as_labels
from leml_solver.losses import LOSSES, Loss, Squared

Array = NDArray[np.float64]

METHODS = {"fast": FAST, "plain": PLAIN}
ORDERS = ("HW", "WH")
STARTS = ("svd", "normal", "uniform")
_SHRINKINGS = 30


class FitStatus(Enum):
    """How a fit ended; each value says what to do next."""

    CONVERGED = (
        "The objective fell by less than `tol` of itself: use the result with its certificate."
    )
    MAX_ITER = (
        "The objective was still falling after `max_iter` iterations: use the result if early "
        "stopping is wanted, else raise `max_iter` or start from these factors."
    )
    STOPPED = "The callback asked to stop: use the result."
    ROUNDING_LIMIT = (
        "Rounding keeps the objective from falling further: use the result, or pass float64 data "
        "if the certified gap is too large."
    )


@dataclass(frozen=True, slots=True)
class TracePoint:
    """Where a fit stands after an outer iteration.

    Attributes
    ----------
    iteration : int
        Number of outer iterations done; 0 is the start.
    objective : float
        Sum of losses + penalty (|W|^2 + |H|^2) / 2.
    seconds : float
        Wall time since the fit began.
    products : float
        Products with X or its transpose so far, k columns each.
    """

    iteration: int
    objective: float
    seconds: float
    products: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AlternatingOptions:
    """How to alternate, and when to stop.

    Attributes
    ----------
    max_iter : int
        Largest number of outer iterations.
    tol : float
        Stop when the objective falls by less than this share of itself; 0 runs all iterations.
    intercept : bool
        Fit an unpenalised intercept for each label.
    dtype : str or None
        "float32" or "float64"; None keeps float32 features in float32.
    method : str or Plan
        "fast", "plain" (Algorithms 1 to 3 as printed), or a `Plan` of your own.
    order : str
        "HW" updates H first, as the paper prints it; "WH" updates W first, as its program does.
    start : str or (W, H)
        "svd" (range of the gradient at zero), "normal", "uniform" in [0, 1), or two arrays.
    certify : bool
        Compute the certificate of the result; it costs a few outer iterations.
    progress : bool
        Show a progress bar on the standard error stream.
    callback : callable or None
        Called with a `TracePoint` after each outer iteration; returning True ends the fit.
    """

    max_iter: int = 20
    tol: float = 1e-4
    intercept: bool = False
    dtype: str | None = None
    method: str | Plan = "fast"
    order: str = "HW"
    start: str | tuple[Any, Any] = "svd"
    certify: bool = True
    progress: bool = False
    callback: Callable[[TracePoint], Any] | None = None

    def __post_init__(self) -> None:
        positive_integer(self.max_iter, "max_iter")
        nonnegative(self.tol, "tol")
        one_of(self.order, "order", ORDERS)
        one_of(self.dtype, "dtype", ("float32", "float64", None))
        if isinstance(self.method, str):
            one_of(self.method, "method", tuple(METHODS))
        if isinstance(self.start, str):
            one_of(self.start, "start", STARTS)

    @property
    def plan(self) -> Plan:
        """The improvements that `method` stands for."""
        return METHODS[self.method] if isinstance(self.method, str) else self.method


@dataclass(frozen=True, slots=True, eq=False)
class FactorResult:
    """Factors of Z = W H^T with what is proved about them.

    Attributes
    ----------
    W : (d, k) array
    H : (L, k) array
    intercept : (L,) array or None
    status : FitStatus
        How the fit ended and what to do next.
    certificate : FactorCertificate or None
        Computed at (W, H) from the problem alone; None if it was not asked for.
    trace : tuple of TracePoint
        One a outer iteration, the start first; the objective never increases along it.
    seconds : float
        Wall time, certificate included.
    """

    W: Factor
    H: Factor
    intercept: Array | None
    status: FitStatus
    certificate: FactorCertificate | None
    trace: tuple[TracePoint, ...] = field(repr=False)
    seconds: float

    @property
    def objective(self) -> float:
        """Sum of losses + penalty (|W|^2 + |H|^2) / 2 at the end."""
        return self.trace[-1].objective

    @property
    def iterations(self) -> int:
        """Number of outer iterations."""
        return self.trace[-1].iteration

    @property
    def products(self) -> float:
        """Number of products with X or its transpose, certificate not included."""
        return self.trace[-1].products

    def transform(self, X: Any) -> Factor:
        """Return X W, the points in the latent space."""
        return as_matrix(X, self.W.dtype).times(self.W)

    def scores(self, X: Any) -> Factor:
        """Return X W H^T plus the intercept, a dense (n, L) array."""
        scores = self.transform(X) @ self.H.T
        return scores if self.intercept is None else scores + self.intercept.astype(scores.dtype)


class _Iterate(Protocol):
    """The current factors and how to improve them."""

    W: Factor
    H: Factor

    def start(self, W: Factor, H: Factor) -> None: ...
    def pull(self, V: Factor) -> Factor: ...
    def push(self, U: Factor) -> Factor: ...
    def loss(self) -> float: ...
    def offset(self) -> Array | None: ...
    def update_W(self) -> None: ...
    def update_H(self) -> None: ...
    def snapshot(self) -> tuple[Any, ...]: ...
    def restore(self, saved: tuple[Any, ...]) -> None: ...


def fit_factors(
    X: Any,
    Y: Any,
    *,
    rank: int,
    penalty: float,
    loss: str | Loss = "squared",
    random_state: int | np.random.Generator = 0,
    options: AlternatingOptions | None = None,
) -> FactorResult:
    r"""Minimise the sum of losses plus penalty (|W|^2 + |H|^2) / 2 over W (d, k) and H (L, k).

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        Features, one point a row.
    Y : (n, L) sparse matrix, array or Labels
        A sparse matrix is fully known labels, NaN in an array is a missing label.
    rank : int
        k, the number of columns of the factors.
    penalty : float
        Weight of :math:`\|Z\|_{tr}` beside the sum of losses.
    loss : str or Loss
        A smooth loss or its name in `LOSSES`.
    random_state : int or Generator
        Where the random start comes from; the same number gives the same factors.
    options : AlternatingOptions, optional
        How to alternate and when to stop.

    Returns
    -------
    FactorResult

    Paper: Equation (5).
    """
    began = time.perf_counter()
    options = AlternatingOptions() if options is None else options
    problem = _problem(X, Y, penalty, loss, options)
    rank = positive_integer(rank, "rank")
    with one_blas_thread():
        return _fit(problem, rank, (options, random_state, began))


def _fit(
    problem: FactoredProblem, rank: int, how: tuple[AlternatingOptions, Any, float]
) -> FactorResult:
    """Alternate, then certify what came out."""
    options, random_state, began = how
    features = Counted(problem.X, rank)
    iterate = _iterate(features, problem, options)
    W, H = _start(iterate, features, rank, (options, problem, random_state))
    if options.start == "svd" and isinstance(iterate, GeneralLoss):
        W = _calmed(iterate, W, H)
    iterate.start(W, H)
    del W, H  # the iterate lets go of them after the first iteration
    trace, status = _alternate(iterate, features, problem.penalty, (options, began))
    if options.plan.balance:
        T, S = algebra.balancing(iterate.W, iterate.H)
        iterate.W, iterate.H = matmul(iterate.W, T), matmul(iterate.H, S)
    W, H, offset = iterate.W, iterate.H, iterate.offset()
    certificate = certify_factors(problem, W, H, offset) if options.certify else None
    return FactorResult(W, H, offset, status, certificate, trace, time.perf_counter() - began)


def _problem(
    X: Any, Y: Any, penalty: float, loss: str | Loss, options: AlternatingOptions
) -> FactoredProblem:
    """Check the data and put them into one representation."""
    if isinstance(loss, str):
        loss = LOSSES[one_of(loss, "loss", tuple(LOSSES))]
    if not loss.smooth or not loss.curvature:
        raise ValueError(f"`loss` must be smooth and curved, got {loss.name}; try 'squared_hinge'.")
    matrix, labels = checked_features(X, options.dtype), as_labels(Y)
    if matrix.shape[0] != labels.shape[0]:
        raise ValueError(
            "`X` and `Y` must have one row a point, "
            f"got {matrix.shape[0]} and {labels.shape[0]} rows."
        )
    check_labels(labels, loss)
    return FactoredProblem(matrix, labels, loss, positive(penalty, "penalty"), options.intercept)


def _iterate(features: Counted, problem: FactoredProblem, options: AlternatingOptions) -> _Iterate:
    """Choose Algorithm 2 for squared loss with full labels, Algorithm 1 otherwise."""
    dtype, quadratic = problem.X.dtype, isinstance(problem.loss, Squared)
    if quadratic and problem.labels.is_full:
        Y = as_matrix(problem.labels.complete, dtype)
        return FullSquared(features, Y, problem.penalty, options.plan, options.intercept)
    entries = entries_of(problem.labels, problem.loss, dtype)
    general = GeneralOptions(options.intercept, quadratic)
    return GeneralLoss(features, entries, problem.penalty, options.plan, general)


def _start(
    iterate: _Iterate,
    features: Counted,
    rank: int,
    how: tuple[AlternatingOptions, FactoredProblem, Any],
) -> tuple[Factor, Factor]:
    """Return the factors to start from."""
    options, problem, random_state = how
    shapes = ((problem.X.shape[1], rank), (problem.labels.shape[1], rank))
    dtype = problem.X.dtype
    if not isinstance(options.start, str):
        return _given_start(options.start, shapes, dtype)
    rng = np.random.default_rng(random_state)
    if options.start == "uniform":
        W, H = (rng.random(shape) for shape in shapes)
    else:
        W, H = (rng.standard_normal(shape) / np.sqrt(rank) for shape in shapes)
    W, H = W.astype(dtype), H.astype(dtype)
    return _gradient_start(iterate, features, W, H) if options.start == "svd" else (W, H)


def _given_start(
    start: tuple[Any, Any], shapes: tuple[tuple[int, int], tuple[int, int]], dtype: Any
) -> tuple[Factor, Factor]:
    """Check factors handed in as a start."""
    W, H = (np.array(factor, dtype=dtype, order="C") for factor in start)
    if (W.shape, H.shape) != shapes:
        raise ValueError(f"`start` must have shapes {shapes}, got {(W.shape, H.shape)}.")
    if not (W.any() or H.any()):
        raise ValueError(
            "`start` must not be zero: alternating minimisation never leaves W = H = 0."
        )
    return W, H


def _gradient_start(
    iterate: _Iterate, features: Counted, W: Factor, H: Factor
) -> tuple[Factor, Factor]:
    """Return factors that span (nearly) the leading singular vectors of the gradient at Z = 0."""
    sketch = iterate.push(features.times(W))
    rank = min(H.shape)
    H[:, :rank] = np.linalg.qr(sketch[:, :rank])[0]
    W = features.adjoint(iterate.pull(H))
    size = float(np.sqrt(column_inner(W, W).sum()))
    return (W * W.dtype.type(np.sqrt(H.shape[1]) / size) if size > 0 else W), H


def _calmed(iterate: GeneralLoss, W: Factor, H: Factor) -> Factor:
    """Return W scaled down until the start is no worse than Z = 0.

    The gradient says the direction, not the length: with unscaled features the scores of a start of
    any fixed length saturate a loss such as the logistic one, and no Newton step leaves from there.
    """
    iterate.start(np.zeros_like(W), H)
    at_zero = iterate.loss()
    for _ in range(_SHRINKINGS):
        iterate.start(W, H)
        if iterate.loss() <= at_zero:
            break
        W = W * W.dtype.type(0.25)
    return W


def _objective(iterate: _Iterate, penalty: float) -> float:
    """Return the sum of losses plus penalty (|W|^2 + |H|^2) / 2."""
    squares = sum(column_inner(F, F).sum() for F in (iterate.W, iterate.H))
    return float(iterate.loss() + 0.5 * penalty * squares)


def _alternate(
    iterate: _Iterate, features: Counted, penalty: float, how: tuple[AlternatingOptions, float]
) -> tuple[tuple[TracePoint, ...], FitStatus]:
    """Run outer iterations until one of the stopping rules holds."""
    options, began = how
    updates = {"H": iterate.update_H, "W": iterate.update_W}
    trace = [_trace_point(0, iterate, features, (penalty, began))]
    status = FitStatus.MAX_ITER
    with _progress_bar(options) as bar:
        for iteration in range(1, options.max_iter + 1):
            before = iterate.snapshot()
            for letter in options.order:
                updates[letter]()
            point = _trace_point(iteration, iterate, features, (penalty, began))
            if not point.objective <= trace[-1].objective:
                iterate.restore(before)
                status = FitStatus.ROUNDING_LIMIT
                break
            trace.append(point)
            bar.update()
            bar.set_postfix(objective=f"{point.objective:.6g}")
            if options.callback is not None and options.callback(point):
                status = FitStatus.STOPPED
                break
            if _converged(trace, options.tol):
                status = FitStatus.CONVERGED
                break
    return tuple(trace), status


def _converged(trace: list[TracePoint], tol: float) -> bool:
    """Whether the last iteration reduced the objective by at most a share `tol`."""
    before, after = trace[-2].objective, trace[-1].objective
    return tol > 0 and before - after <= tol * abs(before)


def _trace_point(
    iteration: int, iterate: _Iterate, features: Counted, how: tuple[float, float]
) -> TracePoint:
    """Evaluate the objective and read the clock."""
    penalty, began = how
    objective = _objective(iterate, penalty)
    return TracePoint(iteration, objective, time.perf_counter() - began, features.products)


def _progress_bar(options: AlternatingOptions) -> Any:
    """Return a progress bar over outer iterations, silent unless asked for."""
    from tqdm import tqdm

    return tqdm(total=options.max_iter, disable=not options.progress, unit="iteration")
