"""The compiled loop of WSABIE: one stochastic gradient step for each positive label seen.

The functions run on one thread without the interpreter's lock, and draw from the generator that is
handed in, so that a seed gives one answer.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_compiled = numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})


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
def embed(indices: Array, values: Array, W: Array, z: Array) -> None:
    """Write W^T x for the sparse point x."""
    z[:] = 0.0
    for e in range(indices.size):
        w, value = W[indices[e]], values[e]
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


@_compiled
def find_violator(
    z: Array, H: Array, least: float, negatives: tuple[Array, Array, int], rng: Any
) -> tuple[int, int]:
    """Draw negative labels until one scores above `least`, at most as often as there are any.

    Returns
    -------
    label : int
        The violator, -1 if none was met.
    rank : int
        Estimated number of violators: negatives over draws, rounded down.
    """
    candidates, is_positive, count = negatives
    for draws in range(1, count + 1):
        label = draw_negative(candidates, is_positive, rng)
        if score(z, H[label]) > least:
            return label, count // draws
    return -1, 0


@_compiled
def move(row: Array, direction: Array, scales: tuple[float, float, float], past: Array) -> None:
    """Add rate * scale * direction to a row, at a rate that past gradients of the row divide.

    scales = (rate, scale, |direction|^2). `past` holds the sum over steps of the mean squared
    entry of the gradient, or is empty for a fixed rate.
    """
    rate, scale, square = scales
    if past.size > 0:
        past[0] += scale * scale * square / row.size
        rate /= np.sqrt(past[0]) if past[0] > 0 else 1.0
    for c in range(row.size):
        row[c] += rate * scale * direction[c]


@_compiled
def step(
    point: tuple[Array, Array],
    z: Array,
    pair: tuple[int, int],
    factors: tuple[Array, Array],
    past: tuple[Array, Array],
    rates: tuple[float, float],
) -> None:
    """Move W and H down the gradient of weight * z . (h_n - h_p), with z = W^T x.

    pair = (p, n) and rates = (weight, learning rate); `past` has one row of 0 or 1 entries for each
    row of W and of H.
    """
    (indices, values), (W, H) = point, factors
    weight, rate = rates
    difference, square = H[pair[0]] - H[pair[1]], score(z, z)
    move(H[pair[0]], z, (rate, weight, square), past[1][pair[0]])
    move(H[pair[1]], z, (rate, -weight, square), past[1][pair[1]])
    square = score(difference, difference)
    for e in range(indices.size):
        scales = (rate, weight * values[e], square)
        move(W[indices[e]], difference, scales, past[0][indices[e]])


@_compiled
def epoch(
    X: tuple[Array, Array, Array],
    positives: tuple[Array, Array, Array],
    negatives: tuple[Array, Array],
    order: Array,
    factors: tuple[Array, Array],
    past: tuple[Array, Array],
    options: tuple[float, float, float, Array],
    rng: Any,
) -> int:
    """Visit the positive entries in the given order; return how many met a violator.

    Parameters
    ----------
    X : tuple
        CSR data, indices and row pointers.
    positives : tuple
        Labels and row pointers of the positive entries, and the row of each.
    negatives : tuple
        Labels and row pointers of the observed negatives; no pointers if all are observed.
    order : array
        Numbers of positive entries.
    factors : tuple
        W (d, k) and H (L, k), changed in place.
    past : tuple
        Sums of squared gradients of their rows, changed in place; see `step`.
    options : tuple
        Learning rate, margin, max_norm, and the weight of each rank from 0 on.
    rng : numpy Generator
        Where draws come from.
    """
    data, indices, pointers = X
    W, H = factors
    rate, margin, max_norm, weights = options
    z, is_positive = np.empty(W.shape[1]), np.zeros(H.shape[0], dtype=np.bool_)
    updates, none = 0, negatives[0][:0]
    for e in order:
        label, i = positives[0][e], positives[2][e]
        x = (indices[pointers[i] : pointers[i + 1]], data[pointers[i] : pointers[i + 1]])
        own = positives[0][positives[1][i] : positives[1][i + 1]]
        full = negatives[1].size == 0
        some = none if full else negatives[0][negatives[1][i] : negatives[1][i + 1]]
        count = H.shape[0] - own.size if full else some.size
        is_positive[own] = True
        embed(x[0], x[1], W, z)
        least = score(z, H[label]) - margin
        found, rank = find_violator(z, H, least, (some, is_positive, count), rng)
        is_positive[own] = False
        if found >= 0:
            step(x, z, (label, found), factors, past, (weights[rank], rate))
            project(H[label], max_norm)
            project(H[found], max_norm)
            for j in x[0]:
                project(W[j], max_norm)
            updates += 1
    return updates
