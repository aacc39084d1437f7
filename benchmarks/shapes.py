"""Synthetic data of the shapes in Table 2 of the paper, with topics that make labels learnable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

_TOPICS = 100


@dataclass(frozen=True)
class Shape:
    """Sizes of a data set: averages of nonzeros and of labels per row, and the rank to fit."""

    n: int
    d: int
    L: int
    nonzeros: float
    labels: float
    rank: int

    def scaled(self, scale: float) -> Shape:
        """Return the shape with n, d and L multiplied, never below what the rows need."""
        return replace(
            self,
            n=max(200, round(self.n * scale)),
            d=max(round(2 * self.nonzeros), round(self.d * scale)),
            L=max(40, round(self.L * scale)),
            rank=max(8, round(self.rank * min(1.0, scale**0.5))),
        )


EURLEX = Shape(17_413, 5_000, 3_993, 237, 5.3, 250)
BIBTEX = Shape(4_880, 1_836, 159, 69, 2.4, 64)
WIKI_TENTH = Shape(88_180, 36_693, 21_370, 147, 7, 250)
WIKI = Shape(881_805, 366_932, 213_707, 147, 7, 250)


def zipf_draws(size: int, average: float) -> tuple[np.ndarray, int]:
    """Return cumulated Zipf probabilities and how many draws give `average` distinct values."""
    p = 1 / np.arange(1, size + 1)
    p /= p.sum()
    low, high = average, 40 * average
    while high - low > 0.5:
        middle = 0.5 * (low + high)
        distinct = -np.expm1(middle * np.log1p(-p)).sum()
        low, high = (middle, high) if distinct < average else (low, middle)
    return np.cumsum(p), max(1, round(high))


def _columns(size: int, average: float, topics: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw columns row by row: half from a common Zipf law, half from that of the row's topic."""
    cumulated, draws = zipf_draws(size, average)
    rank = np.searchsorted(cumulated, rng.random((topics.size, draws), dtype=np.float32))
    rank = np.minimum(rank, size - 1).astype(np.int64)
    shift = (topics * 7919)[:, None]
    own = rng.random((topics.size, draws), dtype=np.float32) < 0.5
    return np.where(own, (rank + shift) % size, rank).astype(np.int32)


def _sparse(
    columns: np.ndarray, size: int, rng: np.random.Generator, binary: bool
) -> sp.csr_matrix:
    """Return a CSR matrix with the distinct columns of each row."""
    columns.sort(axis=1)
    kept = np.ones(columns.shape, dtype=bool)
    kept[:, 1:] = columns[:, 1:] != columns[:, :-1]
    indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    data = np.ones(indptr[-1], dtype=np.float32)
    if not binary:
        data = np.abs(rng.standard_normal(indptr[-1], dtype=np.float32))
    if indptr[-1] < 2**31:
        indptr = indptr.astype(np.int32)
    return sp.csr_matrix((data, columns[kept], indptr), shape=(len(columns), size))


def full_data(
    shape: Shape, seed: int = 0, binary: bool = False
) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Return X in float32 and 0/1 labels Y, built in chunks of rows."""
    X, Y = (
        sp.vstack(blocks, format="csr") for blocks in zip(*chunks(shape, seed, binary), strict=True)
    )
    return X, Y


def chunks(
    shape: Shape, seed: int = 0, binary: bool = False
) -> Iterator[tuple[sp.csr_matrix, sp.csr_matrix]]:
    """Yield the rows of `full_data`, 50,000 at a time."""
    rng = np.random.default_rng(seed)
    for start in range(0, shape.n, 50_000):
        rows = min(50_000, shape.n - start)
        topics = rng.integers(_TOPICS, size=rows)
        X = _sparse(_columns(shape.d, shape.nonzeros, topics, rng), shape.d, rng, binary)
        Y = _sparse(_columns(shape.L, shape.labels, topics, rng), shape.L, rng, True)
        yield X, Y


def observed_entries(
    Y: sp.csr_matrix, share: float, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a random share of the entries of Y, zeros included: rows, columns, values."""
    rng = np.random.default_rng(seed)
    n, L = Y.shape
    per_row = max(1, round(share * L))
    columns = np.argpartition(rng.random((n, L), dtype=np.float32), per_row - 1)[:, :per_row]
    rows = np.repeat(np.arange(n), per_row)
    columns = columns.ravel()
    return rows, columns, np.asarray(Y.toarray()[rows, columns], dtype=np.float64)
