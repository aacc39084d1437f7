"""Alternating minimisation of the factored problem, from data to certified factors.

Paper: Equation (5).
"""

import json
import math
import os
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argument_checks import (
    finite_array,
    nonnegative,
    one_of,
    positive,
    positive_integer,
    probability,
    solver_seed,
)
from leml_solver._factored.algorithm_1 import GeneralLoss, GeneralOptions
from leml_solver._factored.algorithm_2 import FullSquared
from leml_solver._factored.certificate import FactorCertificate, certify_factors, trace_norm
from leml_solver._factored.checkpoint import Checkpoint, array_checksum, data_checksum
from leml_solver._factored.entry_sums import entries_of
from leml_solver._factored.plan import AUTHORS, FAST, PLAIN, Plan
from leml_solver._factored.rank_ascent import RankFound, RankSearch, search_rank
from leml_solver._factored.rank_bound import FullData
from leml_solver._factored.splitting import ConvexPoint, Splitting, affordable_steps
from leml_solver._linalg.factors import balancing, column_inner
from leml_solver._linalg.matrices import CountingMatrix, Factor, as_matrix
from leml_solver._linalg.threads import matmul, one_blas_thread
from leml_solver._progress import progress_bar
from leml_solver.losses import LOSSES, Loss, Squared
from leml_solver.problem import Problem, checked_features

Array = NDArray[np.float64]

METHODS = {"fast": FAST, "plain": PLAIN, "authors": AUTHORS}
ORDERS = ("HW", "WH")
STARTS = ("svd", "normal", "uniform")
_SHRINKINGS = 30
# Size of the factors, relative to those before the warm start, at which they count as zero.
_LOST_START = 1e-6
_WARM_ITERATIONS = 3
_USUAL_LENGTH = 100.0  # of rows of X per size of Y, or its reciprocal, at which the start is scaled
_NEGLIGIBLE = 1e-9  # share of the objective at the start that is as good as zero
_SMALL_GAP = 1e-6  # a relative gap that needs no better bound
_FEWEST_STEPS = 4  # fewer improve no bound
_REFINING_STEPS = 400
# Seconds per multiplication and per evaluation of a loss, on one core of a server of 2020.
_PER_PRODUCT, _PER_LOSS = 4e-10, 1e-8


class FitStatus(Enum):
    """How a fit ended; each value says what to do next.

    Examples
    --------
    >>> from leml_solver import FitStatus
    >>> FitStatus.STOPPED.value
    'The callback asked to stop: use the result.'
    """

    CONVERGED = (
        "The objective fell by less than `tol` of itself: use the result with its certificate."
    )
    MAX_ITER = (
        "The objective was still falling after `max_iter` iterations: use the result if early "
        "stopping is wanted, else raise `max_iter` or start from these factors."
    )
    STOPPED = "The callback asked to stop: use the result."
    PROVED = "The certified relative gap is within `refine`: use the result."
    BEST_OF_RANK = (
        "The certified gap to the best Z of the same rank is within `rank_search.tol`: use the "
        "result."
    )
    NOT_BEST_OF_RANK = (
        "A point of the same rank with a smaller objective was found, so this is not the best: "
        "allow `rank_search.restart`, or take the result if early stopping is wanted."
    )
    ROUNDING_LIMIT = (
        "Rounding keeps the objective from falling further: use the result, or pass float64 data "
        "if the certified gap is too large."
    )


@dataclass(frozen=True, slots=True)
class TracePoint:
    """Where a fit stands after an outer iteration."""

    iteration: int  # outer iterations done; 0 is the start
    objective: float  # sum of losses + penalty (|W|^2 + |H|^2) / 2
    seconds: float  # since the fit began
    products: float  # with X or its transpose, k columns each; a warm start is not counted


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
        "fast", "plain" (Algorithms 1 to 3 as printed), "authors" (as their program, which also
        has order "WH", start "uniform", a few iterations and a warm start on 0.01 of the rows), or
        a `Plan` of your own.
    order : str
        "HW" updates H first, as the paper prints it; "WH" updates W first, as its program does.
    start : str or (W, H)
        "svd" (range of the gradient at zero), "normal", "uniform" in [0, 1), or two arrays. "svd"
        replaces two arrays whose loss differs from that of Z = 0 by a share `tol` at most.
    warm_start_rows : float or None
        Run three outer iterations on this share of the rows first, drawn at random, and start from
        the factors they lead to; None starts at once.
    certify : bool or "rank"
        Compute the certificate of the result; it costs a few outer iterations, and at most about
        the time of the fit where a large gap asks for more work. "rank" also bounds
        the distance to the best Z of the same rank (squared loss, every label known), which by
        default continues the fit up to that point: see `rank_search`.
    rank_search : RankSearch
        How long to search for the best Z of the same rank, and whether to return it.
    refine : float or None
        A relative gap to reach after the alternation, by splitting steps on the convex problem
        whose cost no longer depends on n: for fits whose rank is that of the convex minimiser or
        more, which alternation approaches slowly; a few outer iterations before them, max_iter=3,
        are enough. They need X^T X (d at most 4096) and leave the factors as they are where the
        rank is too small for them. None skips them.
    progress : bool
        Show a progress bar on the standard error stream; it begins with `expected_seconds`.
    callback : callable or None
        Called with a `TracePoint` after each outer iteration; returning True ends the fit.
    checkpoint : path or None
        A file that holds the factors after each outer iteration. If it exists, the fit continues
        from there, bit for bit as if it had not been stopped; a file of another fit is refused. It
        costs one product with X in each iteration, and (d + L) k numbers on disk.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import AlternatingOptions, fit_factors
    >>> options = AlternatingOptions(max_iter=3, tol=0.0, certify=False)
    >>> fit_factors(np.eye(4), np.ones((4, 2)), rank=1, penalty=0.1, options=options).iterations
    3
    """

    max_iter: int = 20
    tol: float = 1e-4
    intercept: bool = False
    dtype: str | None = None
    method: str | Plan = "fast"
    order: str = "HW"
    start: str | tuple[Any, Any] = "svd"
    warm_start_rows: float | None = None
    certify: bool | str = True
    rank_search: RankSearch = field(default_factory=RankSearch)
    refine: float | None = None
    progress: bool = False
    callback: Callable[[TracePoint], Any] | None = None
    checkpoint: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        positive_integer(self.max_iter, "max_iter")
        nonnegative(self.tol, "tol")
        if self.refine is not None:
            positive(self.refine, "refine")
        one_of(self.order, "order", ORDERS)
        one_of(self.dtype, "dtype", ("float32", "float64", None))
        one_of(self.certify, "certify", (False, True, "rank"))
        if isinstance(self.method, str):
            one_of(self.method, "method", tuple(METHODS))
        if isinstance(self.start, str):
            one_of(self.start, "start", STARTS)
        if self.warm_start_rows is not None:
            probability(self.warm_start_rows, "warm_start_rows")

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
        One per outer iteration, the start first; the objective never increases along it.
    seconds : float
        Wall time, certificate included.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import fit_factors
    >>> result = fit_factors(np.eye(4), np.ones((4, 2)), rank=1, penalty=0.1)
    >>> result.scores(np.eye(4)).shape
    (4, 2)
    >>> result.certificate.relative_gap < 1e-6
    True
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

    @property
    def Z(self) -> Array:
        """The (d, L) predictor W H^T as a dense array."""
        return np.asarray(self.W.astype(np.float64) @ self.H.astype(np.float64).T)

    @property
    def trace_norm(self) -> float:
        """Trace norm of W H^T."""
        return trace_norm(self.W, self.H)

    @one_blas_thread()
    def transform(self, X: Any) -> Factor:
        """Return X W, the points in the latent space."""
        rows = checked_features(X, self.W.dtype)
        if rows.shape[1] != len(self.W):
            raise ValueError(
                f"`X` must have {len(self.W)} columns, as in the fit, got {rows.shape[1]}."
            )
        return as_matrix(rows, self.W.dtype).times(self.W)

    @one_blas_thread()
    def scores(self, X: Any) -> Factor:
        """Return X W H^T plus the intercept, a dense (n, L) array."""
        scores = matmul(self.transform(X), self.H.T)
        return scores if self.intercept is None else scores + self.intercept.astype(scores.dtype)


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
        Features, one row per point.
    Y : (n, L) sparse matrix, array or Labels
        A sparse matrix means fully known labels; NaN in an array is a missing label.
    rank : int
        k, the number of columns of the factors.
    penalty : float
        Weight of :math:`\|Z\|_{tr}` relative to the sum of losses.
    loss : str or Loss
        A smooth loss or its name in `LOSSES`.
    random_state : int or Generator
        Where the random start comes from; the same number gives the same factors.
    options : AlternatingOptions, optional
        How to alternate and when to stop.

    Paper: Equation (5).

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import fit_factors
    >>> Y = np.array([[1.0, 0.0], [1.0, np.nan], [0.0, 1.0], [np.nan, 1.0]])
    >>> result = fit_factors(np.eye(4), Y, rank=2, penalty=0.01)
    >>> (result.scores(np.eye(4)) > 0.5).astype(int)
    array([[1, 0],
           [1, 0],
           [0, 1],
           [0, 1]])
    """
    began = time.perf_counter()
    if isinstance(loss, str) and loss not in LOSSES:
        one_of(loss, "loss", [name for name, known in LOSSES.items() if _can_fit(known)])
    problem = Problem(loss, X, Y)  # type: ignore[arg-type]  # it takes names and arrays too
    return Fit(problem, rank, penalty, options, began).run(random_state)


def fit_problem(
    problem: Problem,
    *,
    rank: int,
    penalty: float,
    random_state: int | np.random.Generator = 0,
    options: AlternatingOptions | None = None,
) -> FactorResult:
    """Minimise the objective of a problem plus penalty (|W|^2 + |H|^2) / 2 over W H^T = Z.

    Parameters
    ----------
    problem : Problem
        Features, labels and a smooth loss.
    rank, penalty, random_state, options
        As in `fit_factors`.

    Paper: Equation (5).

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import Problem, fit_problem
    >>> problem = Problem("logistic", np.eye(2), np.array([[1, 0], [0, 1]]))
    >>> result = fit_problem(problem, rank=2, penalty=0.1)
    >>> (result.scores(np.eye(2)) > 0).astype(int)
    array([[1, 0],
           [0, 1]])
    """
    return Fit(problem, rank, penalty, options, time.perf_counter()).run(random_state)


def _can_fit(loss: Loss) -> bool:
    """Whether Newton's method applies."""
    return loss.smooth and bool(loss.curvature)


def expected_seconds(problem: Problem, rank: int, plan: Plan) -> float:
    """Return about how long an outer iteration takes on one core, to within a factor of three.

    Full labels cost n L k in every pass unless the loss is squared: read this before such a fit.
    """
    labels, entries = problem.labels, float(problem.labels.n_observed)
    if type(problem.loss) is Squared:
        steps, per_entry = 1, _PER_PRODUCT * rank
        if labels.listed is None:
            entries = 0.0 if labels.missing is None else float(labels.missing.values.size)
    else:
        steps, per_entry = plan.newton_steps, _PER_LOSS + _PER_PRODUCT * rank
    passes = 2.0 * steps * (plan.cg_steps + 4)
    products = passes * problem.matrix.nnz * rank * _PER_PRODUCT
    return products + 2.0 * passes * entries * per_entry


def minimise_rank(
    X: Any,
    Y: Any,
    rank: int,
    penalty: float,
    *,
    intercept: bool = False,
    search: RankSearch | None = None,
    progress: bool = False,
) -> FactorResult:
    """Minimise half of |Y - X Z|_F^2 plus penalty |Z|_tr over the Z of at most a given rank.

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        Features, one row per point.
    Y : (n, L) array or sparse matrix
        Labels, all of them known.
    rank : int
        Largest rank of Z.
    penalty : float
        Weight of the trace norm.
    intercept : bool
        Fit an unpenalised intercept for each label; the rank binds Z only.
    search : RankSearch, optional
        When to stop; by default at a relative gap of 1e-9.
    progress : bool
        Show progress bars on the standard error stream.

    Returns
    -------
    FactorResult
        ``result.Z`` is the best point found; ``result.certificate.rank_gap`` bounds how far its
        objective is from the minimum. The bound is not tight for every problem, so look at it.

    Paper: Equation (5).

    Examples
    --------
    Alternating minimisation can stop at diag(0, 11/18), a local minimum of value 5.1667:

    >>> import numpy as np
    >>> from leml_solver import minimise_rank
    >>> found = minimise_rank(np.diag([1.0, 3.0]), np.diag([3.0, 13 / 6]), rank=1, penalty=1.0)
    >>> found.Z.round(6) + 0.0
    array([[2., 0.],
           [0., 0.]])
    >>> round(found.certificate.objective, 4), found.certificate.rank_gap < 1e-8
    (4.8472, True)
    """
    options = AlternatingOptions(
        intercept=intercept,
        dtype="float64",
        certify="rank",
        rank_search=RankSearch(tol=1e-9) if search is None else search,
        progress=progress,
    )
    return fit_factors(X, Y, rank=rank, penalty=penalty, options=options)


class Fit:
    """One fit: the problem, the options, and the factors that are being improved."""

    def __init__(
        self,
        problem: Problem,
        rank: int,
        penalty: float,
        options: AlternatingOptions | None,
        began: float,
    ) -> None:
        loss = problem.loss
        if not _can_fit(loss):
            raise ValueError(
                f"`loss` must be smooth and curved, got {loss.name}; try 'squared_hinge'."
            )
        self.options = AlternatingOptions() if options is None else options
        self.problem, self.began = problem.astype(self.options.dtype), began
        self.rank, self.penalty = positive_integer(rank, "rank"), positive(penalty, "penalty")
        self.features = CountingMatrix(self.problem.matrix, self.rank)
        if self.options.certify == "rank":
            self.data = FullData.of(self.problem, self.options.intercept)
        self.iterate = self._iterate()

    def _iterate(self) -> FullSquared | GeneralLoss:
        """Choose Algorithm 2 for squared loss with full labels, Algorithm 1 otherwise."""
        problem, options = self.problem, self.options
        dtype, quadratic = problem.matrix.dtype, type(problem.loss) is Squared
        if quadratic and problem.labels.is_full:
            Y = as_matrix(problem.labels.complete, dtype)
            return FullSquared(self.features, Y, self.penalty, options.plan, options.intercept)
        entries = entries_of(problem.labels, problem.loss, dtype)
        general = GeneralOptions(options.intercept, quadratic)
        if options.intercept:
            self.features.centre()
        return GeneralLoss(self.features, entries, self.penalty, options.plan, general)

    @one_blas_thread()
    def run(self, random_state: int | np.random.Generator) -> FactorResult:
        """Alternate, then certify the result."""
        self.checkpoint = self._checkpoint(random_state)
        trace = self._resumed()
        if trace is None:
            self._start(random_state)
            trace = [self._trace_point(0)]
        status = self._alternate(trace)
        iterate = self.iterate
        if self.options.plan.balance:
            T, S = balancing(iterate.W, iterate.H)
            iterate.W, iterate.H = matmul(iterate.W, T), matmul(iterate.H, S)
        found = self._search_rank(trace) if self.options.certify == "rank" else None
        ended = FactorResult(
            iterate.W, iterate.H, iterate.offset(), status, None, tuple(trace), self._seconds()
        )
        if self.options.certify or self.options.refine is not None:
            ended = self._certified(ended)
        if found is not None:
            ended = self._compared(ended, found)
        return replace(ended, seconds=self._seconds())

    def _certified(self, ended: FactorResult) -> FactorResult:
        """Certify the factors, try to close a gap that is not small, and refine if asked to."""
        own = self._certificate(ended.W, ended.H, ended.intercept)
        refine = self.options.refine
        products = self.features.products if refine is None else math.inf
        steps = affordable_steps(self.problem, self.rank, products)
        Z = ended.W.astype(np.float64) @ ended.H.T.astype(np.float64) if steps else np.zeros(1)
        if own.relative_gap <= (refine or _SMALL_GAP) or steps < _FEWEST_STEPS or not Z.any():
            return replace(ended, certificate=own)
        splitting = Splitting(self.problem, ConvexPoint(Z, ended.intercept, own.objective), own)
        made = splitting.run(steps if refine is None else _REFINING_STEPS, refine)
        ended = replace(ended, certificate=made)
        return ended if refine is None else self._refined(ended, made, splitting)

    def _certificate(self, W: Factor, H: Factor, offset: Array | None) -> FactorCertificate:
        return certify_factors(self.problem, W, H, offset, penalty=self.penalty)

    def _refined(
        self, ended: FactorResult, certificate: FactorCertificate, splitting: Splitting
    ) -> FactorResult:
        """Return the point that splitting found, cut to rank k, if its objective is lower."""
        dtype, offset = self.problem.matrix.dtype, splitting.best.offset
        W, H = (factor.astype(dtype) for factor in splitting.best.factors(self.rank))
        made = self._certificate(W, H, offset)
        products = self.features.products + splitting.losses.columns / self.rank
        if made.objective < certificate.objective:
            lower = max(made.lower_bound, certificate.lower_bound)
            failure = made.failure_probability + certificate.failure_probability
            certificate = replace(made, lower_bound=lower, failure_probability=failure)
            ended = replace(ended, W=W, H=H, intercept=offset, certificate=certificate)
        objective = min(ended.objective, certificate.objective)
        last = TracePoint(ended.iterations + 1, objective, self._seconds(), products)
        proved = certificate.relative_gap <= (self.options.refine or 0.0)
        status = FitStatus.PROVED if proved else ended.status
        return replace(ended, status=status, trace=(*ended.trace, last))

    def _search_rank(self, trace: list[TracePoint]) -> RankFound:
        """Look for the best Z of the same rank, and go there if asked to."""
        search, iterate = self.options.rank_search, self.iterate
        found = search_rank(
            self.data, iterate.W, iterate.H, self.penalty, search, progress=self.options.progress
        )
        if search.restart:
            self._restart(found, trace)
        return found

    def _compared(self, ended: FactorResult, found: RankFound) -> FactorResult:
        """Add to the certificate how far the factors are from the best Z of the same rank."""
        search, made = self.options.rank_search, ended.certificate
        if made is None:
            return ended
        bound = made.lower_bound - self.data.rounding() * self.data.scale
        probability = made.failure_probability
        if found.bound is not None and found.bound.value > bound:
            bound, probability = found.bound.value, probability + found.bound.failure_probability
        made = replace(made, rank_lower_bound=bound, failure_probability=probability)
        status = ended.status
        if made.objective - bound <= search.tol * made.scale:
            status = FitStatus.BEST_OF_RANK
        elif not search.restart and found.improvement > search.tol * made.scale:
            status = FitStatus.NOT_BEST_OF_RANK
        return replace(ended, certificate=made, status=status)

    def _restart(self, found: RankFound, trace: list[TracePoint]) -> None:
        """Continue at the point that a search found, if it is better."""
        before = self.iterate.snapshot()
        W, H = np.zeros_like(self.iterate.W), np.zeros_like(self.iterate.H)
        W[:, : found.W.shape[1]], H[:, : found.H.shape[1]] = found.W, found.H
        self.iterate.start(W, H)
        point = self._trace_point(trace[-1].iteration + 1)
        if point.objective < trace[-1].objective:
            trace.append(point)
        else:
            self.iterate.restore(before)

    def _start(self, random_state: int | np.random.Generator) -> None:
        rng, start = np.random.default_rng(solver_seed(random_state)), self.options.start
        if not isinstance(start, str):
            W, H = self._given_start(*start)
            start = "svd" if self._is_lost(W, H) else "given"
        if start != "given":
            W, H = self._random_start(rng)
        if start == "svd":
            W, H = self._gradient_start(W, H)
            if isinstance(self.iterate, GeneralLoss):
                W = _shrunk_start(self.iterate, W, H)
        if self.options.warm_start_rows is not None:
            W, H = self._warmed(W, H, self.options.warm_start_rows, rng)
        self.iterate.start(W, H)

    def _given_start(self, W: Any, H: Any) -> tuple[Factor, Factor]:
        dtype = self.problem.matrix.dtype
        W, H = (np.array(finite_array(A, "start", 2, dtype), order="C") for A in (W, H))
        d, L = self.problem.shape
        shapes = ((d, self.rank), (L, self.rank))
        if (W.shape, H.shape) != shapes:
            raise ValueError(f"`start` must have shapes {shapes}, got {(W.shape, H.shape)}.")
        if not (W.any() or H.any()):
            raise ValueError(
                "`start` must not be zero: alternating minimisation never leaves W = H = 0."
            )
        return W, H

    def _is_lost(self, W: Factor, H: Factor) -> bool:
        """Whether a fit that begins at these factors would end there, next to zero, at once."""
        at_zero = _loss_at_zero(self.iterate, W, H)
        self.iterate.start(W, H)
        return abs(self.iterate.loss() - at_zero) <= self.options.tol * at_zero

    def _random_start(self, rng: np.random.Generator) -> tuple[Factor, Factor]:
        """Return factors with entries uniform in [0, 1), or normal with variance 1 / k."""
        shapes = [(size, self.rank) for size in self.problem.shape]
        if self.options.start == "uniform":
            W, H = (rng.random(shape) for shape in shapes)
        else:
            W, H = (rng.standard_normal(shape) / np.sqrt(self.rank) for shape in shapes)
        dtype = self.problem.matrix.dtype
        return W.astype(dtype), H.astype(dtype)

    def _gradient_start(self, W: Factor, H: Factor) -> tuple[Factor, Factor]:
        """Return factors that span (nearly) the first singular vectors of the gradient at zero."""
        sketch = self.iterate.label_sketch(W)
        rank = min(H.shape)
        H[:, :rank] = np.linalg.qr(sketch[:, :rank])[0]
        W = self.iterate.feature_sketch(H)
        size = float(np.sqrt(column_inner(W, W).sum()))
        W = W * W.dtype.type(np.sqrt(H.shape[1]) / size) if size > 0 else W
        # Factors of size 1 suit features and labels of about size 1. Far from it they hardly move
        # at first, except where labels are small, as H follows them at once.
        n = self.problem.labels.shape[0]
        length = np.sqrt(self.iterate.feature_squares.sum() / n)
        length /= max(size / (n * length * np.sqrt(rank)), 1.0) if length > 0 else 1.0
        far = 0 < length < 1 / _USUAL_LENGTH or length > _USUAL_LENGTH
        scale = W.dtype.type(length**-0.5 if far else 1.0)
        return W * scale, H * scale

    def _warmed(
        self, W: Factor, H: Factor, share: float, rng: np.random.Generator
    ) -> tuple[Factor, Factor]:
        """Return the factors after a few outer iterations on a share of the rows."""
        known = self.problem.labels.observed_rows
        rows = rng.choice(known, math.ceil(share * known.size), replace=False)
        options = replace(
            self.options,
            max_iter=_WARM_ITERATIONS,
            tol=0.0,
            start=(W, H),
            warm_start_rows=None,
            certify=False,
            refine=None,
            progress=False,
            callback=None,
            checkpoint=None,
        )
        part = self.problem.take(np.sort(rows))
        made = Fit(part, self.rank, self.penalty, options, self.began).run(rng)
        # Rows without a positive label draw the factors to zero, which no iteration leaves.
        size = np.linalg.norm(made.W) * np.linalg.norm(made.H)
        lost = size <= _LOST_START * np.linalg.norm(W) * np.linalg.norm(H)
        return (W, H) if lost else (made.W, made.H)

    def _checkpoint(self, random_state: int | np.random.Generator) -> Checkpoint | None:
        """Return the file in which the fit keeps where it stands, if one was named."""
        options = self.options
        if options.checkpoint is None:
            return None
        start, seed = options.start, random_state
        if not isinstance(start, str):
            start = [array_checksum(factor) for factor in start]  # type: ignore[assignment]
        if isinstance(seed, np.random.Generator):
            seed = zlib.crc32(json.dumps(seed.bit_generator.state, default=repr).encode())
        identity = {
            "data": self._data_checksum(),
            "dtype": str(self.problem.matrix.dtype),
            "loss": f"{self.problem.loss.name}{getattr(self.problem.loss, '__dict__', '') or ''}",
            "rank": self.rank,
            "penalty": self.penalty,
            "method": repr(options.plan),
            "random_state": int(seed),
            "start": start,
            **{name: getattr(options, name) for name in ("intercept", "order", "warm_start_rows")},
        }
        return Checkpoint(options.checkpoint, identity, self.problem.shape)

    def _data_checksum(self) -> int:
        """Return a number that other features and labels do not have."""
        return data_checksum(self.problem)

    def _resumed(self) -> list[TracePoint] | None:
        """Go to where the checkpoint stands and return the trace up to there, if there is one."""
        saved = None if self.checkpoint is None else self.checkpoint.read()
        if saved is None:
            return None
        factors, points = saved
        self.iterate.restore(factors)
        self.iterate.refresh()
        trace = [TracePoint(*point) for point in points]
        self.began = time.perf_counter() - trace[-1].seconds
        self.features.columns = round(trace[-1].products * self.rank)
        return trace

    def _alternate(self, trace: list[TracePoint]) -> FitStatus:
        """Run outer iterations until one of the stopping rules holds; extend the trace."""
        if len(trace) > 1 and _converged(trace, self.options.tol):  # a fit that had ended
            return FitStatus.CONVERGED
        seconds = expected_seconds(self.problem, self.rank, self.options.plan)
        rounded = float(f"{seconds:.1g}")
        length = f"about {rounded:g}" if seconds >= 0.01 else "less than 0.01"
        shown, about = self.options.progress, f"{length} s each"
        with progress_bar(self.options.max_iter, shown, "iteration", about) as bar:
            if bar is not None:
                bar.update(trace[-1].iteration)
            for iteration in range(trace[-1].iteration + 1, self.options.max_iter + 1):
                before = self.iterate.snapshot()
                self._update()
                if self.checkpoint is not None:
                    self.iterate.refresh()  # as after a resumption: the bits must not differ
                point = self._trace_point(iteration)
                if not point.objective <= trace[-1].objective:
                    self.iterate.restore(before)
                    return FitStatus.ROUNDING_LIMIT
                trace.append(point)
                if self.checkpoint is not None:
                    self.checkpoint.write(self.iterate.snapshot(), trace)
                if bar is not None:
                    bar.set_postfix(objective=f"{point.objective:.6g}", refresh=False)
                    bar.update()
                if self.options.callback is not None and self.options.callback(point):
                    return FitStatus.STOPPED
                if _converged(trace, self.options.tol):
                    return FitStatus.CONVERGED
        return FitStatus.MAX_ITER

    def _update(self) -> None:
        updates = {"H": self.iterate.update_H, "W": self.iterate.update_W}
        for letter in self.options.order:
            updates[letter]()

    def _trace_point(self, iteration: int) -> TracePoint:
        """Evaluate the objective and read the clock."""
        squares = sum(column_inner(F, F).sum() for F in (self.iterate.W, self.iterate.H))
        objective = float(self.iterate.loss() + 0.5 * self.penalty * squares)
        return TracePoint(iteration, objective, self._seconds(), self.features.products)

    def _seconds(self) -> float:
        return time.perf_counter() - self.began


def _shrunk_start(iterate: GeneralLoss, W: Factor, H: Factor) -> Factor:
    """Return W scaled down until the start is no worse than Z = 0.

    The gradient gives the direction, not the length: with unscaled features, the scores of a start
    of any fixed length saturate a loss such as the logistic one, and Newton steps cannot get away.
    """
    at_zero = _loss_at_zero(iterate, W, H)
    for _ in range(_SHRINKINGS):
        iterate.start(W, H)
        if iterate.loss() <= at_zero:
            break
        W = W * W.dtype.type(0.25)
    return W


def _loss_at_zero(iterate: FullSquared | GeneralLoss, W: Factor, H: Factor) -> float:
    """Return the loss at Z = 0; W and H say of which shape and type."""
    iterate.start(*(np.zeros((len(factor), 1), factor.dtype) for factor in (W, H)))
    return iterate.loss()


def _converged(trace: list[TracePoint], tol: float) -> bool:
    """Whether the last iteration reduced the objective by at most a share `tol`.

    A logistic loss of labels that are all the same has the minimum 0, and would fall for ever.
    """
    before, after = trace[-2].objective, trace[-1].objective
    size = max(abs(before), _NEGLIGIBLE * abs(trace[0].objective))
    return tol > 0 and before - after <= tol * size
