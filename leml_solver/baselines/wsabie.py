"""WSABIE: a low-rank ranking of labels, learnt by sampling violated pairs."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from argument_checks import nonnegative, one_of, positive, positive_integer, solver_seed
from leml_solver.baselines.base import Baseline, with_constant
from leml_solver.labels import Labels

Array = NDArray[Any]

_SCHEDULES = ("adagrad", "constant")
_THRESHOLD_SCORES = 2**20  # training scores that the threshold is taken from

_compiled = numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})


@dataclass(eq=False, repr=False)
class WSABIEClassifier(Baseline):
    r"""Rank labels by :math:`x^T W h_l`, trained by WSABIE (Weston, Bengio and Usunier, 2011).

    For each positive label p of a point, negative labels are drawn until one, n, has
    :math:`f_n > f_p - m`; if that took N draws from M negatives, the rank of p is estimated as
    :math:`r = \lfloor M / N \rfloor`, and one gradient step is made on
    :math:`(1 + 1/2 + \dots + 1/r) (m - f_p + f_n)`. Rows of W and of H that leave the ball of
    radius `max_norm` are put back onto it. Missing labels are not used.

    Paper: Section 5.

    Parameters
    ----------
    rank : int
        k, columns of W and H.
    learning_rate : float
        Step size; 0.1 suits "adagrad". A constant rate must be small where points are long: 0.001
        for bibtex, whose points have squared length 69.
    schedule : {"adagrad", "constant"}
        Whether the rate of a row of W or H is divided by the root of the sum, over its steps, of
        the mean squared entry of its gradient.
    max_norm : float
        Radius of the balls.
    margin : float
        m.
    epochs : int
        Passes over the positive labels.
    fit_intercept : bool
        Append a constant feature.
    random_state : int, RandomState, Generator or None
        Where the start, the order and the draws come from.

    Attributes
    ----------
    W_ : (d, k) or (d + 1, k) array
        The constant feature is the last row.
    H_ : (L, k) array
        (2, k) for one label: the second row stands for its absence.
    threshold_ : float
        As many training scores lie above it as there are positive labels.
    violations_ : list of float
        Share of positive labels that met a violator, by epoch.

    Notes
    -----
    Choices that the original leaves open: an epoch takes every positive label of every point once,
    in random order, in place of points with replacement and one label of each. Draws are uniform,
    with replacement, at most M. W and H start as independent N(0, 1/k) entries. AdaGrad is not in
    the original; with it the rate need not fit the scale of X, and the ranking is better on
    bibtex and delicious. A ranking has no threshold of its own; ours makes the number of
    predictions on (at most a million scores of) training data right, and no Hamming loss of the
    original corresponds to it. One label alone is ranked against its absence.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver.baselines import WSABIEClassifier
    >>> X, Y = np.repeat(np.eye(3), 5, axis=0), np.repeat(np.eye(3), 5, axis=0)
    >>> WSABIEClassifier(rank=2, epochs=50, random_state=0).fit(X, Y).predict_topk(np.eye(3), 1)
    array([[0],
           [1],
           [2]])
    """

    takes_missing: ClassVar[bool] = True

    rank: int = 50
    _: KW_ONLY
    learning_rate: float = 0.1
    schedule: str = "adagrad"
    max_norm: float = 3.0
    margin: float = 1.0
    epochs: int = 10
    fit_intercept: bool = True
    random_state: Any = None

    def _fit(self, X: Any, labels: Labels) -> None:
        rng = np.random.default_rng(solver_seed(self.random_state))
        points = sparse.csr_matrix(with_constant(X, self.fit_intercept))
        self._rank_labels(points, labels, rng)
        self._threshold = 0.0 if labels.shape[1] == 1 else self._cut(X, labels, rng)

    def _rank_labels(self, X: Any, labels: Labels, rng: np.random.Generator) -> None:
        k, n_labels = positive_integer(self.rank, "rank"), max(2, labels.shape[1])
        steps = self._steps(n_labels)
        adagrad = int(one_of(self.schedule, "schedule", _SCHEDULES) == "adagrad")
        rows = (X.shape[1], n_labels)
        factors = Factors(*(start(size, k, steps.max_norm, rng) for size in rows))
        past = Factors(*(np.zeros((size, adagrad)) for size in rows))
        points = Points(X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64))
        pairs, self.violations_ = Pairs.of(labels), []
        for _ in range(positive_integer(self.epochs, "epochs")):
            order = rng.permutation(pairs.labels.size)
            met = epoch(points, pairs, order, factors, past, steps, rng)
            self.violations_.append(met / max(1, pairs.labels.size))
        self.W_, self.H_ = factors

    def _steps(self, n_labels: int) -> Steps:
        return Steps(
            positive(self.learning_rate, "learning_rate"),
            nonnegative(self.margin, "margin"),
            positive(self.max_norm, "max_norm"),
            rank_weights(n_labels),
        )

    def _cut(self, X: Any, labels: Labels, rng: np.random.Generator) -> float:
        """Return the score above which there is the observed share of positives."""
        rows = rng.permutation(X.shape[0])[: max(1, _THRESHOLD_SCORES // labels.shape[1])]
        observed = labels.complete if labels.entries is None else labels.entries.values
        share = float(observed.sum()) / labels.n_observed
        return float(np.quantile(self._scores(X[np.sort(rows)]), 1 - share))

    def _scores(self, X: Any) -> Array:
        scores = np.asarray(with_constant(X, self.fit_intercept) @ self.W_) @ self.H_.T
        return scores[:, :1] - scores[:, 1:] if self.n_labels_ == 1 else scores


class Points(NamedTuple):
    """Sparse rows: CSR values, columns and row pointers."""

    values: Array
    columns: Array
    pointers: Array


class Point(NamedTuple):
    """One sparse row: values and columns."""

    values: Array
    columns: Array


class Violation(NamedTuple):
    """A positive label, a negative one that scores too high, and the weight of the step."""

    positive: int
    negative: int
    weight: float


class Factors(NamedTuple):
    """W (d, k) and H (L, k), or what belongs to each of their rows."""

    W: Array
    H: Array


class Steps(NamedTuple):
    """How steps are made: rate, margin, radius of the balls, and the weight of each rank from 0."""

    rate: float
    margin: float
    max_norm: float
    weights: Array


class Pairs(NamedTuple):
    """Positive entries, and where the negative labels of their rows are found."""

    # Label of each positive entry, row pointers, and the row of each.
    labels: Array
    pointers: Array
    rows: Array
    # Observed negatives; no pointers if every label that is not positive is negative.
    negative_labels: Array
    negative_pointers: Array

    @classmethod
    def of(cls, labels: Labels) -> Pairs:
        """Sort observed labels; a single label gets its absence as a second one."""
        n, n_labels = labels.shape
        rows, columns, values = _observed(labels)
        if n_labels == 1:
            rows, columns = np.repeat(rows, 2), np.tile([0, 1], rows.size)
            values = np.ravel(np.column_stack([values, 1 - values]))
        positive = values > 0
        nothing = np.empty(0, dtype=np.int64)
        negatives = (nothing, nothing)
        if not labels.is_full:
            negatives = _by_row(rows[~positive], columns[~positive], n)
        return cls(*_by_row(rows[positive], columns[positive], n), rows[positive], *negatives)


def _observed(labels: Labels) -> tuple[Array, Array, Array]:
    """Return row, label and value of each observed entry, of full labels only the positive ones."""
    if labels.entries is None:
        if labels.shape[1] == 1:
            column = np.ravel(sparse.csr_matrix(labels.complete).toarray())
            return np.arange(column.size), np.zeros(column.size, dtype=np.int64), column
        stored = sparse.csr_matrix(labels.complete).tocoo()
        return stored.row.astype(np.int64), stored.col.astype(np.int64), stored.data
    by_row = labels.entries.by_row
    rows = np.repeat(np.arange(labels.shape[0]), np.diff(by_row.indptr))
    return rows, by_row.indices.astype(np.int64), labels.entries.values


def _by_row(rows: Array, columns: Array, n: int) -> tuple[Array, Array]:
    return columns, np.searchsorted(rows, np.arange(n + 1)).astype(np.int64)


def start(size: int, k: int, radius: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return (size, k) independent N(0, 1/k) entries, rows within the ball."""
    rows = rng.standard_normal((size, k)) / np.sqrt(k)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows * np.minimum(1.0, radius / np.maximum(norms, np.finfo(float).tiny)))


def rank_weights(n_labels: int) -> NDArray[np.float64]:
    """Return 1 + 1/2 + ... + 1/r for r = 0, ..., L."""
    return np.concatenate([[0.0], np.cumsum(1 / np.arange(1, n_labels + 1))])


@_compiled
def epoch(
    X: Points, pairs: Pairs, order: Array, factors: Factors, past: Factors, steps: Steps, rng: Any
) -> int:
    """Visit the positive entries in the given order; return how many met a violator.

    The factors are changed in place, and so is `past`, sums of squared gradients of their rows
    with 0 or 1 number for each.
    """
    W, H = factors.W, factors.H
    z, is_positive = np.empty(W.shape[1]), np.zeros(H.shape[0], dtype=np.bool_)
    updates, none = 0, pairs.negative_labels[:0]
    full = pairs.negative_pointers.size == 0
    for e in order:
        label, i = pairs.labels[e], pairs.rows[e]
        start, stop = X.pointers[i], X.pointers[i + 1]
        x = Point(X.values[start:stop], X.columns[start:stop])
        own = pairs.labels[pairs.pointers[i] : pairs.pointers[i + 1]]
        some = none
        if not full:
            ends = pairs.negative_pointers
            some = pairs.negative_labels[ends[i] : ends[i + 1]]
        count = H.shape[0] - own.size if full else some.size
        is_positive[own] = True
        embed(x, W, z)
        least = score(z, H[label]) - steps.margin
        found, rank = find_violator(z, H, least, some, is_positive, count, rng)
        is_positive[own] = False
        if found >= 0:
            pair = Violation(label, found, steps.weights[rank])
            step(x, z, pair, factors, past, steps.rate)
            project(H[label], steps.max_norm)
            project(H[found], steps.max_norm)
            for j in x.columns:
                project(W[j], steps.max_norm)
            updates += 1
    return updates


@_compiled
def find_violator(
    z: Array, H: Array, least: float, candidates: Array, is_positive: Array, count: int, rng: Any
) -> tuple[int, int]:
    """Draw negative labels until one scores above `least`, at most `count` times.

    Return the label, -1 if none was met, and its rank: negatives over draws, rounded down.
    """
    for draws in range(1, count + 1):
        label = draw_negative(candidates, is_positive, rng)
        if score(z, H[label]) > least:
            return label, count // draws
    return -1, 0


@_compiled
def step(x: Point, z: Array, pair: Violation, factors: Factors, past: Factors, rate: float) -> None:
    """Move W and H down the gradient of weight * z . (h_n - h_p), with z = W^T x.

    `past` has one row of 0 or 1 entries for each row of W and of H.
    """
    W, H, weight = factors.W, factors.H, pair.weight
    p, n = pair.positive, pair.negative
    difference, square = H[p] - H[n], score(z, z)
    move(H[p], z, rate, weight, square, past.H[p])
    move(H[n], z, rate, -weight, square, past.H[n])
    square = score(difference, difference)
    for e in range(x.columns.size):
        j = x.columns[e]
        move(W[j], difference, rate, weight * x.values[e], square, past.W[j])


@_compiled
def move(
    row: Array, direction: Array, rate: float, scale: float, square: float, past: Array
) -> None:
    """Add rate * scale * direction to a row, at a rate that past gradients of the row divide.

    `square` is |direction|^2. `past` holds the sum over steps of the mean squared entry of the
    gradient, or is empty for a fixed rate.
    """
    if past.size > 0:
        past[0] += scale * scale * square / row.size
        rate /= np.sqrt(past[0]) if past[0] > 0 else 1.0
    for c in range(row.size):
        row[c] += rate * scale * direction[c]


@_compiled
def score(z: Array, h: Array) -> float:
    """Return z . h."""
    total = 0.0
    for c in range(z.size):
        total += z[c] * h[c]
    return total


@_compiled
def project(row: Array, max_norm: float) -> None:
    """Shrink a row to the ball."""
    square = score(row, row)
    if square > max_norm * max_norm:
        factor = max_norm / np.sqrt(square)
        for c in range(row.size):
            row[c] *= factor


@_compiled
def embed(x: Point, W: Array, z: Array) -> None:
    """Write W^T x for the sparse point x."""
    z[:] = 0.0
    for e in range(x.columns.size):
        w, value = W[x.columns[e]], x.values[e]
        for c in range(z.size):
            z[c] += value * w[c]


@_compiled
def draw_negative(candidates: Array, is_positive: Array, rng: Any) -> int:
    """Return a random label that is not positive, from `candidates` or, if empty, from all."""
    if candidates.size > 0:
        return int(candidates[int(rng.random() * candidates.size)])
    while True:
        label = int(rng.random() * is_positive.size)
        if not is_positive[label]:
            return label
