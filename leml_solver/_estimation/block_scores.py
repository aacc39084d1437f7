"""Scores of all labels in blocks of rows: n x L numbers are looked at, never held."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numba
import numpy as np
from numpy.typing import NDArray

from argument_checks import positive_integer

__all__ = ["BLOCK_BYTES", "BlockScores", "DenseScores", "FactorScores", "Scores", "top_k"]

Array = NDArray[Any]
# The threads of BLAS and of the compiled loops change places once a block, so blocks are not small:
# 32 MiB was twice as fast as 8 MiB on two busy cores.
BLOCK_BYTES = 32 * 2**20
_THREADED = 2**18  # scores


class Scores(Protocol):
    """Scores of every label for every row, made block by block."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of labels."""

    def block(self, start: int, stop: int) -> Array:
        """Return the scores of rows start to stop - 1, one column a label."""


@dataclass(frozen=True, slots=True, eq=False)
class DenseScores:
    """Scores that are an array already."""

    values: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of labels."""
        return self.values.shape[0], self.values.shape[1]

    def block(self, start: int, stop: int) -> Array:
        """Return a slice of the array."""
        return self.values[start:stop]


@dataclass(frozen=True, slots=True, eq=False)
class FactorScores:
    """X W H^T + intercept, with X dense or sparse.

    Paper: Equation (5).
    """

    X: Any
    W: Array
    H: Array
    intercept: Array | float = 0.0

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of labels."""
        return self.X.shape[0], self.H.shape[0]

    def block(self, start: int, stop: int) -> Array:
        """Return (X W) H^T + intercept for a block of rows."""
        scores = np.asarray(self.X[start:stop] @ self.W) @ self.H.T
        scores += self.intercept
        return scores


@dataclass(frozen=True, slots=True, eq=False)
class BlockScores:
    """Scores that a function gives for the rows start to stop - 1."""

    function: Callable[[int, int], Array]
    shape: tuple[int, int]

    def block(self, start: int, stop: int) -> Array:
        """Return what the function gives."""
        return np.asarray(self.function(start, stop))


def row_blocks(shape: tuple[int, int], max_bytes: int = BLOCK_BYTES) -> Iterator[tuple[int, int]]:
    """Yield the ends of row blocks whose float64 scores fit into `max_bytes`."""
    n_rows, n_labels = shape
    step = max(1, max_bytes // (8 * max(1, n_labels)))
    for start in range(0, n_rows, step):
        yield start, min(start + step, n_rows)


def top_k(
    scores: Scores, k: int, *, max_bytes: int = BLOCK_BYTES
) -> tuple[NDArray[np.int64], Array]:
    """Return the k labels of largest score in each row, best first, and their scores.

    Of two labels with equal scores the one with the lower number comes first. Besides the two
    (n, k) answers only one block of scores is in memory.

    Parameters
    ----------
    scores : Scores
        Scores of n rows and L labels.
    k : int
        Number of labels to return for each row, at most L.
    max_bytes : int
        Size of a block of scores.

    Returns
    -------
    labels : (n, k) int array
    values : (n, k) array
    """
    k = positive_integer(k, "k")
    n_rows, n_labels = scores.shape
    if k > n_labels:
        raise ValueError(f"`k` must be at most the number of labels, {n_labels}, got {k}.")
    labels = np.empty((n_rows, k), dtype=np.int64)
    values = np.empty((n_rows, k))
    for start, stop in row_blocks(scores.shape, max_bytes):
        block = np.ascontiguousarray(scores.block(start, stop), dtype=np.float64)
        select_rows(block, labels[start:stop], values[start:stop])
    return labels, values


@numba.njit(cache=True)
def insert(best: Array, where: Array, count: int, value: float, label: int) -> None:
    """Put a score into a list sorted from the largest, after its equals, pushing the last out."""
    at = count
    while at > 0 and best[at - 1] < value:
        if at < best.size:
            best[at], where[at] = best[at - 1], where[at - 1]
        at -= 1
    if at < best.size:
        best[at], where[at] = value, label


def _select_rows(block: Array, labels: Array, values: Array) -> None:
    """Write the k best labels of each row and their scores."""
    k = values.shape[1]
    for i in numba.prange(block.shape[0]):
        for label in range(k):
            insert(values[i], labels[i], label, block[i, label], label)
        worst = values[i, k - 1]  # in a register: nearly every label is turned away by it
        for label in range(k, block.shape[1]):
            if block[i, label] > worst:
                insert(values[i], labels[i], k, block[i, label], label)
                worst = values[i, k - 1]


def threaded(function: Callable[..., None]) -> Callable[..., None]:
    """Compile a loop over the rows of its first argument twice; threads run where they pay."""
    alone, together = (
        numba.njit(cache=True)(function),
        numba.njit(cache=True, parallel=True)(function),
    )

    def run(block: Array, *rest: Any) -> None:
        # Waking threads costs up to milliseconds on a busy machine, a small block microseconds.
        (together if block.size > _THREADED else alone)(block, *rest)

    return run


select_rows = threaded(_select_rows)
