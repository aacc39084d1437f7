r"""The best Z of rank at most k and the proof that it is: squared loss, every label known.

In the singular vectors of X = U s V^T the bound is concave in the dual matrix G, and its dual is
the convex problem :math:`\min_Z penalty |Z|_{tr} + q(s Z)`, q the convex envelope of the loss over
matrices of rank at most k. Alternating direction steps on the graph {(Z, s Z)} solve both: each
iterate gives a bound, and its Z a point from which alternating minimisation starts. Where the
envelope is exact, the two meet and the non-convex problem is solved.

Paper: Equation (5).
"""

from __future__ import annotations

import bisect
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from argument_checks import nonnegative, positive, truth_value
from leml_solver._factored.rank_bound import FullData, RankBound, cheapest_bound, rank_bound
from leml_solver._linalg.factors import balancing, gram, solve_ridge
from leml_solver._linalg.threads import matmul
from leml_solver._progress import progress_bar

Array = NDArray[np.float64]

_LARGEST_SIDE = 4096  # singular values of X, or labels, from which on one step takes seconds
_LARGEST_SIZE = 1 << 24  # entries of the dense arrays of the ascent
_LARGEST_WORK = 1e12  # multiply-adds of one pass over X made dense, a minute
_SMALL = 1 << 20  # entries of X up to which its decomposition costs less than a second
_LOOK = 20  # steps between two looks at the bound
_POLISHING, _LAST_POLISHING = 3, 30
_RELAXATION = 1.6
# Weights of the steps in M = s Z, where the loss has curvature 1, and in Z, relative to the penalty
# over its singular values: with these, a tenth of the steps that weights of 1 need.
_WEIGHT, _Z_WEIGHT = 0.1, 0.2
# After so many looks at which the gap shrank by less than a share no more is expected.
_STALL, _PROGRESS = 20, 1e-3
_REPAIRS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSearch:
    """How long to search for the proof that a fit is the best of its rank.

    Attributes
    ----------
    tol : float
        Stop when the gap is at most this share of the objective at Z = 0.
    max_steps : int
        Most steps of the ascent; 0 takes the cheapest bound, which needs none.
    seconds : float
        Most seconds of the ascent.
    restart : bool
        Where the search finds a better point of the same rank than the fit, continue from there and
        return it; otherwise the fit stays as it is, and its status and certificate say so.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import AlternatingOptions, RankSearch, fit_factors
    >>> options = AlternatingOptions(certify="rank", rank_search=RankSearch(tol=1e-6))
    >>> X, Y = np.diag([1.0, 3.0, 2.0]), np.diag([3.0, 2.0, 1.0])
    >>> fit = fit_factors(X, Y, rank=2, penalty=0.5, options=options)
    >>> fit.certificate.rank_relative_gap < 1e-6 < fit.certificate.relative_gap
    True
    """

    tol: float = 1e-6
    max_steps: int = 2000
    seconds: float = 50.0
    restart: bool = True

    def __post_init__(self) -> None:
        nonnegative(self.tol, "tol")
        nonnegative(self.max_steps, "max_steps")
        positive(self.seconds, "seconds")
        truth_value(self.restart, "restart")


@dataclass(frozen=True, eq=False)
class RankFound:
    """A bound, if there is one, and factors whose objective is smaller by `improvement`."""

    bound: RankBound | None
    W: Array
    H: Array
    improvement: float = 0.0


@dataclass(frozen=True, eq=False)
class Frame:
    """The problem in the singular vectors of X: Z there is V^T Z, and s a column."""

    V: Array
    s: Array
    T: Array
    energy: float

    @classmethod
    def of(cls, data: FullData) -> Frame:
        """Decompose X, leaving out what is zero up to rounding."""
        V, s = _right_vectors(data)
        right = np.zeros((len(V), data.Y.shape[1]))
        for X, Y in data.blocks():
            right += matmul(X.T, Y)
        return cls(V, s[:, None], matmul(V.T, right) / s[:, None], data.energy)

    def objective(self, W: Array, H: Array, penalty: float) -> float:
        """Return half of |Y - X W H^T|^2 plus penalty (|W|^2 + |H|^2) / 2."""
        A = self.s * W
        fitted = np.vdot(matmul(self.T.T, A), H) - 0.5 * np.vdot(gram(A), gram(H))
        return float(self.energy - fitted + 0.5 * penalty * (np.vdot(W, W) + np.vdot(H, H)))

    def alternated(self, W: Array, H: Array, penalty: float, steps: int) -> tuple[Array, Array]:
        """Return balanced factors after exact updates of H and W in turn."""
        for _ in range(steps):
            A = self.s * W
            H = solve_ridge(gram(A), penalty, matmul(self.T.T, A))
            H = self.balanced(W, H)[1]  # after which H^T H is diagonal
            curvature = np.square(self.s) * np.square(H).sum(axis=0)
            W = self.s * matmul(self.T, H) / (curvature + penalty)
        return self.balanced(W, H)

    @staticmethod
    def balanced(W: Array, H: Array) -> tuple[Array, Array]:
        """Return the factors of W H^T with the least penalty."""
        T, S = balancing(W, H)
        return matmul(W, T), matmul(H, S)


def _right_vectors(data: FullData) -> tuple[Array, Array]:
    """Return the right singular vectors and the singular values of X above rounding."""
    n, d, _ = data.sizes
    if n < d or n * d <= _SMALL:
        X = np.vstack([X for X, _ in data.blocks()])
        s, Vt = scipy.linalg.svd(X, full_matrices=False, check_finite=False)[1:]
        V, floor = Vt.T, max(n, d) * np.finfo(np.float64).eps
    else:
        squares = np.zeros((d, d))
        for X, _ in data.blocks():
            squares += gram(X)
        values, V = scipy.linalg.eigh(squares, driver="evd", check_finite=False)
        s, floor = np.sqrt(np.maximum(values, 0.0)), np.sqrt(d * np.finfo(np.float64).eps)
    kept = s > floor * s.max()
    return np.ascontiguousarray(V[:, kept]), s[kept]


def spectral_map(A: Array, factors: Callable[[Array], Array]) -> Array:
    """Return A with each singular value y multiplied by its factor."""
    if A.shape[0] < A.shape[1]:
        return spectral_map(A.T, factors).T
    squares, V = scipy.linalg.eigh(gram(A), driver="evd", check_finite=False)
    scale = factors(np.sqrt(np.maximum(squares, 0.0)))
    return matmul(A, (V * scale) @ V.T)


def largest_squares(A: Array, rank: int) -> float:
    """Return the sum of the `rank` largest squared singular values."""
    M = gram(A) if A.shape[0] >= A.shape[1] else gram(np.ascontiguousarray(A.T))
    return float(scipy.linalg.eigvalsh(M, check_finite=False)[-rank:].sum())


def shrinking(y: Array, threshold: float) -> Array:
    """Return the factors of soft-thresholding, the proximal map of the trace norm."""
    return 1 - threshold / np.maximum(y, threshold)


def largest_shrinking(y: Array, rank: int, step: float) -> Array:
    """Return the factors of the proximal map of step / 2 times the sum of the largest squares.

    They are 1 / (1 + step w) with weights w in [0, 1] that sum to `rank`, the largest y first and
    equal results where a weight is inside: w = clip((b y - 1) / step, 0, 1) for one number b.
    """
    if np.count_nonzero(y) <= rank:
        return np.full(y.shape, 1 / (1 + step))

    def weights(b: float) -> Array:
        return np.clip((b * y - 1) / step, 0.0, 1.0)

    inverse = 1 / y[y > 0]
    breaks = np.sort(np.concatenate([inverse, (1 + step) * inverse]))
    last = bisect.bisect_left(breaks, float(rank), key=lambda b: float(weights(b).sum()))
    last = min(max(last, 1), breaks.size - 1)
    low, high = (float(weights(b).sum()) for b in breaks[last - 1 : last + 1])
    share = 1.0 if high == low else (rank - low) / (high - low)
    b = breaks[last - 1] + share * (breaks[last] - breaks[last - 1])
    return np.asarray(1 / (1 + step * weights(b)))


class Ascent:
    """Alternating direction steps from W H^T; the largest bound and the smallest objective."""

    def __init__(self, frame: Frame, W: Array, H: Array, penalty: float) -> None:
        self.frame, self.penalty, self.rank = frame, penalty, min(*W.shape, *H.shape)
        self.W, self.H, self.objective = W, H, frame.objective(W, H, penalty)
        self.bound, self.best_G, self.stalled = -math.inf, frame.T, 0
        self.Z = matmul(W, H.T)
        self.M = frame.s * self.Z
        self.G = frame.T - self.M
        size = float(np.linalg.norm(self.Z)) / math.sqrt(self.rank)
        self.weight = _Z_WEIGHT * penalty / size if size > 0 else float(frame.s.max()) ** 2
        self.Z_dual, self.M_dual = -frame.s * self.G / self.weight, self.G / _WEIGHT

    def step(self) -> None:
        """Take a proximal step in Z and in M = s Z, and go back to the graph."""
        threshold, frame = self.penalty / self.weight, self.frame
        shrunk = spectral_map(self.Z - self.Z_dual, lambda y: shrinking(y, threshold))
        V = self.M - self.M_dual
        F = spectral_map(_WEIGHT * V + frame.T, lambda y: largest_shrinking(y, self.rank, _WEIGHT))
        self.G = frame.T - F
        Z = self.Z + _RELAXATION * (shrunk - self.Z) + self.Z_dual
        M = self.M + _RELAXATION * (V + self.G / _WEIGHT - self.M) + self.M_dual
        curvature = _WEIGHT * np.square(frame.s)
        self.Z = (self.weight * Z + _WEIGHT * frame.s * M) / (self.weight + curvature)
        self.M = frame.s * self.Z
        self.Z_dual, self.M_dual = Z - self.Z, M - self.M

    @property
    def gap(self) -> float:
        """The smallest objective less the largest bound."""
        return self.objective - self.bound

    def look(self) -> None:
        """Compare the bound and the point of the iterate with the best so far."""
        before, norm = self.gap, math.sqrt(max(largest_squares(self.frame.s * self.G, 1), 0.0))
        G = self.G * min(1.0, self.penalty / norm) if norm > 0 else self.G
        bound = self.frame.energy - 0.5 * largest_squares(self.frame.T - G, self.rank)
        if bound > self.bound:
            self.bound, self.best_G = bound, G
        self.offer(*_leading(self.Z, self.rank), _POLISHING)
        self.stalled = 0 if self.gap < (1 - _PROGRESS) * before else self.stalled + 1

    def offer(self, W: Array, H: Array, steps: int) -> None:
        """Polish factors and keep them if they are the best."""
        W, H = self.frame.alternated(W, H, self.penalty, steps)
        objective = self.frame.objective(W, H, self.penalty)
        if objective < self.objective:
            self.W, self.H, self.objective = W, H, objective


def _leading(Z: Array, rank: int) -> tuple[Array, Array]:
    """Return factors of the best approximation of Z of a rank."""
    U, sigma, Vt = scipy.linalg.svd(Z, full_matrices=False, check_finite=False)
    root = np.sqrt(sigma[:rank])
    return U[:, :rank] * root, np.ascontiguousarray(Vt[:rank].T) * root


def search_rank(
    data: FullData, W: Array, H: Array, penalty: float, search: RankSearch, *, progress: bool
) -> RankFound:
    """Bound the objective over the rank of W H^T from below, and look for a better point."""
    W, H = W.astype(np.float64), H.astype(np.float64)
    began = time.monotonic()
    frame = Frame.of(data) if search.max_steps and _can_ascend(data) else None
    if frame is None or not frame.s.size:  # X may be zero once it is centred
        return RankFound(cheapest_bound(data, W, H, penalty), W, H)
    ascent = Ascent(frame, *frame.balanced(matmul(frame.V.T, W), H), penalty)
    start, enough = ascent.objective, 0.5 * search.tol * data.scale  # the rest is for rounding
    with progress_bar(int(search.max_steps), progress, "step") as bar:
        for step in range(1, int(search.max_steps) + 1):
            ascent.step()
            if bar is not None:
                bar.update()
            if step % _LOOK == 0 or step == search.max_steps:
                ascent.look()
                if bar is not None:
                    bar.set_postfix(gap=f"{ascent.gap:.2g}")
                late = time.monotonic() - began > search.seconds
                if ascent.gap <= enough or ascent.stalled >= _STALL or late:
                    break
    ascent.offer(ascent.W, ascent.H, _LAST_POLISHING)
    improvement = start - ascent.objective
    return RankFound(_proved(data, ascent), matmul(frame.V, ascent.W), ascent.H, improvement)


def _can_ascend(data: FullData) -> bool:
    n, d, L = data.sizes
    arrays = max(d * L, 0 if n >= d else n * d)
    work = float(n) * d * (d + L)
    return max(min(n, d), L) <= _LARGEST_SIDE and arrays <= _LARGEST_SIZE and work <= _LARGEST_WORK


def _proved(data: FullData, ascent: Ascent) -> RankBound | None:
    """Return the bound with rounding allowed for, or None if rounding leaves nothing of it."""
    frame, G = ascent.frame, ascent.best_G
    for _ in range(_REPAIRS):
        bound = rank_bound(data, matmul(frame.V, (frame.T - G) / frame.s), ascent.rank)
        excess = bound.norm / ascent.penalty - 1
        if excess <= 0:
            return bound
        G = G * max(0.5, 1 - 1.5 * excess)  # rounding does not shrink along with G
    return None
