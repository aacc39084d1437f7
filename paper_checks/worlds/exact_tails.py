"""Exact probabilities of sign sums and label counts, in place of simulated ones."""

import math

import numpy as np
from scipy.signal import fftconvolve
from scipy.stats import binom, poisson

from leml_theory.arrays import Array


def sign_sum_mean(n: int) -> float:
    """Return E|S_n| for a sum of n fair signs."""
    heads = np.arange(n + 1)
    return float(binom.pmf(heads, n, 0.5) @ np.abs(2 * heads - n))


def turned_probability(n: int, bias: float) -> float:
    """Return the chance that n signs of mean `bias` have a sum below zero, ties counted half."""
    heads = (1 + bias) / 2
    tied = binom.pmf(n // 2, n, heads) if n % 2 == 0 else 0.0
    return float(binom.cdf(math.ceil(n / 2) - 1, n, heads) + tied / 2)


def largest_count_tails(sizes: Array, probabilities: Array) -> Array:
    """Bound, for each n, the chance of a count above 2Pn by the union of exact tails."""
    values, repeats = np.unique(probabilities, return_counts=True)
    limits = np.floor(2 * probabilities.max() * sizes + 1e-9)  # 2Pn may be a whole number
    return np.asarray(binom.sf(limits[:, None], sizes[:, None], values) @ repeats)


def largest_count_tail(n: int, probabilities: Array) -> float:
    """Return the bound of `largest_count_tails` for one n."""
    return float(largest_count_tails(np.array([float(n)]), probabilities)[0])


def largest_count_chance(n: int, probabilities: Array, limit: int) -> float:
    """Return the exact chance that no label is seen more than `limit` times in n points.

    Counts are independent Poisson variables given that their sum is n.
    """
    counts = np.arange(n + 1)
    total = np.zeros(n + 1)
    total[0] = 1.0
    for mean in n * probabilities:
        weights = np.where(counts <= limit, poisson.pmf(counts, mean), 0.0)
        total = np.convolve(total, weights)[: n + 1]
    return float(total[n] / poisson.pmf(n, n))


def _square_sums(n: int, n_features: int, size: int) -> Array:
    """Return, for each count k <= n, the law of the sum of d squared sign sums, below `size`."""
    table = np.zeros((n + 1, size))
    for k in range(n + 1):
        squares = np.square(2 * np.arange(k + 1) - k)
        kept = squares < size
        law = np.bincount(squares[kept], binom.pmf(np.flatnonzero(kept), k, 0.5), minlength=size)
        row = law
        for _ in range(n_features - 1):
            row = np.convolve(row, law)[:size]
        table[k] = row
    return table


def squared_norm_chance(n: int, n_labels: int, n_features: int = 1) -> float:
    """Return the exact chance that |V|_F^2 >= n/2, V of n Rademacher points with uniform labels.

    Given that they sum to n, the label counts are independent Poisson variables; the sum of squares
    is below n d/2 in the other case, so that its law is needed up to there only.
    """
    size = math.ceil(n * n_features / 2)
    weights = poisson.pmf(np.arange(n + 1), n / n_labels)
    power = weights[:, None] * _square_sums(n, n_features, size)
    total = np.zeros_like(power)
    total[0, 0] = 1.0
    left = n_labels
    while left:
        if left % 2:
            total = fftconvolve(total, power)[: n + 1, :size]
        power = fftconvolve(power, power)[: n + 1, :size] if left > 1 else power
        left //= 2
    return 1 - float(total[n].sum() / poisson.pmf(n, n))
