"""Matrices as operators: products with tall dense factors, for sparse and dense X and Y alike."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from argument_checks import canonical
from leml_solver._lazy import cached_property
from leml_solver._linalg import compiled as kernels
from leml_solver._linalg.threads import (
    Rows,
    balanced_rows,
    even_rows,
    matmul,
    parallel_map,
    thread_count,
)

Factor = NDArray[Any]

# Rows of a 256-byte panel (4 MB) that the last-level cache serves well, also to several threads;
# and those (1 MB) that a second-level cache holds. These take 0.7 times as long where the entries
# of a column in a tile are many (200), 1.3 times where they are few (30), and 5 times at 4.
_CACHED_ROWS = 1 << 14
_NEAR_ROWS = 1 << 12
_LONG_RUN = 128  # entries of a column in a tile of the near rows
# A panel of this many rows (16 MB) is still served by the last-level cache: no copy of X is made.
_SHARED_ROWS = 1 << 16
_CHUNK = 1 << 20  # entries of a temporary array
_LARGEST_TILE = 1 << 16  # local indices are 16 bits
_ENTRIES_PER_POINTER = 32  # shorter runs spend their time on accumulators, not on entries


class Matrix(Protocol):
    """An (r, c) matrix that multiplies tall factors from the left, as itself or transposed."""

    @property
    def shape(self) -> tuple[int, int]:
        """(r, c)."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision in which the entries are stored."""

    @property
    def nnz(self) -> int:
        """Number of stored entries."""

    def times(self, B: Factor) -> Factor:
        """Return the product with B (c, k)."""

    def adjoint(self, A: Factor) -> Factor:
        """Return the product of the transpose with A (r, k)."""

    def column_squares(self) -> NDArray[np.float64]:
        """Return the squared norm of each column."""

    def rows(self, start: int, stop: int) -> Factor:
        """Return some rows as a dense array."""


def as_matrix(value: Any, dtype: Any = None) -> Matrix:
    """Return a sparse matrix or an array as an operator in precision `dtype` (float64 if None)."""
    if isinstance(value, TiledMatrix):  # of any precision: products run in that of the factor
        return value
    if sp.issparse(value):
        return SparseMatrix(_canonical(value, dtype))
    return DenseMatrix(np.ascontiguousarray(value, dtype=dtype or np.float64))


def _canonical(value: Any, dtype: Any) -> Any:
    """Return a CSR matrix without repeated entries, sharing memory where possible."""
    return canonical(value.tocsr().astype(dtype or np.float64, copy=False))


@dataclass(frozen=True, eq=False)
class DenseMatrix:
    """A dense array; products go to BLAS."""

    array: Factor

    @property
    def shape(self) -> tuple[int, int]:
        """(r, c)."""
        return self.array.shape[0], self.array.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the array."""
        return self.array.dtype

    @property
    def nnz(self) -> int:
        """Number of entries."""
        return self.array.size

    def times(self, B: Factor) -> Factor:
        """Return the product with B."""
        return matmul(self.array, B)

    def adjoint(self, A: Factor) -> Factor:
        """Return the product of the transpose with A."""
        return matmul(self.array.T, A)

    def column_squares(self) -> NDArray[np.float64]:
        """Return the squared norm of each column."""
        return np.asarray(np.einsum("ij,ij->j", self.array, self.array, dtype=np.float64))

    def rows(self, start: int, stop: int) -> Factor:
        """Return rows start to stop."""
        return self.array[start:stop]


@dataclass(frozen=True, eq=False)
class SparseMatrix:
    """A CSR matrix with the compiled products; X shares its memory, the transpose is a copy."""

    csr: Any

    @property
    def shape(self) -> tuple[int, int]:
        """(r, c)."""
        return int(self.csr.shape[0]), int(self.csr.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the entries."""
        dtype: np.dtype[Any] = self.csr.dtype
        return dtype

    @property
    def nnz(self) -> int:
        """Number of stored entries."""
        return int(self.csr.nnz)

    @cached_property
    def _tiles(self) -> Tiles:
        return Tiles.of(self.csr)

    @cached_property
    def _transposed(self) -> Tiles:
        return Tiles.of_transpose(self.csr)

    def times(self, B: Factor) -> Factor:
        """Return the product with B."""
        return self._tiles.times(B)

    def adjoint(self, A: Factor) -> Factor:
        """Return the product of the transpose with A."""
        return self._transposed.times(A)

    def column_squares(self) -> NDArray[np.float64]:
        """Return the squared norm of each column."""
        X, total = self.csr, np.zeros(self.shape[1])
        for start in range(0, X.nnz, _CHUNK):
            part = slice(start, start + _CHUNK)
            squares = np.square(X.data[part], dtype=np.float64)
            total += np.bincount(X.indices[part], squares, minlength=X.shape[1])
        return total

    def rows(self, start: int, stop: int) -> Factor:
        """Return rows start to stop as a dense array."""
        return np.asarray(self.csr[start:stop].toarray())


@dataclass(frozen=True, eq=False)
class Tiles:
    """A sparse matrix cut into column tiles, each stored by rows with indices local to the tile."""

    pointers: NDArray[Any]
    index: NDArray[Any]
    data: Factor
    tile: int
    n_columns: int

    @classmethod
    def of(cls, X: Any, width: int = _SHARED_ROWS) -> Tiles:
        """Cut a CSR matrix; one with no more columns than `width` is used as it is."""
        n_rows, n_columns = X.shape
        tile = _tile_width(n_columns, n_rows, X.nnz, width)
        if tile >= n_columns:
            return cls(X.indptr[None, :].astype(np.int64), X.indices, X.data, n_columns, n_columns)
        pointers = kernels.tile_pointers(X.indptr, X.indices, tile, -(-n_columns // tile))
        tiles = cls(pointers, *_empty_entries(X), tile, n_columns)
        kernels.fill_tiles(X.indptr, X.indices, X.data, tile, pointers, tiles.index, tiles.data)
        return tiles

    @classmethod
    def of_transpose(cls, X: Any) -> Tiles:
        """Cut the transpose of a CSR matrix."""
        n_rows, n_columns = X.shape
        near = X.nnz * _NEAR_ROWS >= _LONG_RUN * n_rows * n_columns
        tile = _tile_width(n_rows, n_columns, X.nnz, _NEAR_ROWS if near else _CACHED_ROWS)
        count = -(-n_rows // tile)
        pointers = kernels.transposed_tile_pointers(X.indptr, X.indices, X.shape, tile, count)
        tiles = cls(pointers, *_empty_entries(X), tile, n_rows)
        kernels.fill_transposed_tiles(
            X.indptr, X.indices, X.data, tile, pointers, tiles.index, tiles.data
        )
        return tiles

    def are_sound(self, n_rows: int) -> bool:
        """Whether pointers and indices from a file keep compiled loops within the arrays."""
        ends, index, size = self.pointers, self.index, self.data.size
        last = self.n_columns - (len(ends) - 1) * self.tile
        types = ends.dtype.kind + index.dtype.kind.replace("u", "i") + self.data.dtype.kind
        shapes = ends.shape, index.shape, self.data.shape
        tiles = -(-self.n_columns // self.tile)
        if types != "iif" or shapes != ((tiles, n_rows + 1), (size,), (size,)):
            return False
        if (ends[0, 0], ends[-1, -1]) != (0, size) or (np.diff(ends.ravel()) < 0).any():
            return False
        parts = ((0, ends[-1, 0], self.tile), (ends[-1, 0], size, last))
        inside = (index[i:j].min() >= 0 and index[i:j].max() < end for i, j, end in parts if i < j)
        return all(inside) and bool(np.isfinite(self.data).all())

    @cached_property
    def _row_ends(self) -> NDArray[Any]:
        """Number of entries before each row, all tiles together."""
        return np.asarray((self.pointers - self.pointers[:, :1]).sum(axis=0))

    def _shares(self, work: float) -> list[Rows]:
        """Cut the rows among the threads; for one thread, count and keep nothing."""
        n_rows = self.pointers.shape[1] - 1
        return [(0, n_rows)] if thread_count() == 1 else balanced_rows(self._row_ends, work)

    def times(self, B: Factor) -> Factor:
        """Return the product with B (n_columns, k)."""
        B = np.ascontiguousarray(B)
        out = np.empty((self.pointers.shape[1] - 1, B.shape[1]), dtype=B.dtype)
        width = _panel_width(B.dtype, B.shape[1])
        panel = _aligned_zeros((self.n_columns, width), B.dtype)
        multiply = partial(kernels.multiply, self.pointers, self.index, self.data, self.tile)
        shares = self._shares(float(self.data.size) * B.shape[1])
        for first in range(0, B.shape[1], width):
            self._pack(B, first, panel)
            parallel_map(partial(multiply, panel, out, first), shares)
        return out

    @staticmethod
    def _pack(B: Factor, first: int, panel: Factor) -> None:
        width = min(panel.shape[1], B.shape[1] - first)

        def copy(rows: Rows) -> None:
            panel[slice(*rows), :width] = B[slice(*rows), first : first + width]

        parallel_map(copy, even_rows(len(B), panel.size))


@dataclass(frozen=True, eq=False)
class TiledMatrix:
    """A sparse matrix that is only its tiles and those of its transpose, which may be on disk."""

    shape: tuple[int, int]
    tiles: Tiles
    transposed: Tiles

    @classmethod
    def of(cls, X: Any) -> TiledMatrix:
        """Cut a sparse matrix."""
        csr = _canonical(X, X.dtype)
        shape = int(csr.shape[0]), int(csr.shape[1])
        return cls(shape, Tiles.of(csr, _CACHED_ROWS), Tiles.of_transpose(csr))

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the entries."""
        return self.tiles.data.dtype

    def is_sound(self) -> bool:
        """Whether tiles from a file keep compiled loops within their arrays."""
        return all(map(Tiles.are_sound, (self.tiles, self.transposed), self.shape))

    @property
    def nnz(self) -> int:
        """Number of stored entries."""
        return self.tiles.data.size

    def times(self, B: Factor) -> Factor:
        """Return the product with B."""
        return self.tiles.times(B)

    def adjoint(self, A: Factor) -> Factor:
        """Return the product of the transpose with A."""
        return self.transposed.times(A)

    def column_squares(self) -> NDArray[np.float64]:
        """Return the squared norm of each column."""
        ends, data = self.transposed.pointers, self.transposed.data
        total = np.zeros(self.shape[1])
        for tile in ends:  # the entries of a tile are sorted by column
            squares = np.square(data[tile[0] : tile[-1]], dtype=np.float64)
            columns = np.repeat(np.arange(self.shape[1]), np.diff(tile))
            total += np.bincount(columns, squares, minlength=self.shape[1])
        return total

    def rows(self, start: int, stop: int) -> Factor:
        """Return rows start to stop as a dense array."""
        return np.asarray(self.csr(start, stop).toarray())

    def csr(self, start: int = 0, stop: int | None = None) -> Any:
        """Return rows start to stop as a CSR matrix."""
        stop, tiles, parts = self.shape[0] if stop is None else stop, self.tiles, []
        for number, pointers in enumerate(tiles.pointers):
            ends = pointers[start : stop + 1]
            span = slice(ends[0], ends[-1])
            width = min(tiles.tile, self.shape[1] - number * tiles.tile)
            arrays = (tiles.data[span], tiles.index[span].astype(np.int32), ends - ends[0])
            parts.append(sp.csr_matrix(arrays, shape=(stop - start, width)))
        return parts[0] if len(parts) == 1 else sp.hstack(parts, format="csr")


def _empty_entries(X: Any) -> tuple[NDArray[Any], Factor]:
    """Return uninitialised local indices and data for the entries of X."""
    return np.empty(X.nnz, dtype=np.uint16), np.empty(X.nnz, dtype=X.dtype)


def _tile_width(n_columns: int, n_rows: int, nnz: int, cached: int) -> int:
    """Return how many columns a tile has: as suits the cache, unless runs get too short."""
    if n_columns <= cached:
        return n_columns
    longest = n_columns * n_rows * _ENTRIES_PER_POINTER // max(nnz, 1)
    return int(min(max(cached, longest), _LARGEST_TILE))


def _panel_width(dtype: np.dtype[Any], k: int) -> int:
    wide, narrow = (size // dtype.itemsize for size in (kernels.WIDE_BYTES, kernels.NARROW_BYTES))
    # A wide panel costs at most four narrow ones; take it when it is at least half full.
    return wide if 2 * k > wide else narrow


def _aligned_zeros(shape: tuple[int, int], dtype: np.dtype[Any]) -> Factor:
    """Return zeros that start on a cache line, so that no vector straddles two."""
    size = shape[0] * shape[1] * dtype.itemsize
    raw = np.zeros(size + 64, dtype=np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(dtype).reshape(shape)


class Features:
    """The feature matrix X, or its rows in blocks, less its column means where they are given."""

    matrix: Any
    means: NDArray[np.float64] | None = None

    def mean(self, W: Factor) -> Any:
        """Return the mean of the rows of X W that is taken off, or None."""
        return None if self.means is None else self.means @ W

    def without_means(self, total: Factor, sums: Factor) -> Factor:
        """Return the adjoint product with D, from X^T D and the column sums of D."""
        if self.means is not None:
            total -= np.outer(self.means, sums).astype(total.dtype)
        return total

    def column_squares(self) -> NDArray[np.float64]:
        """Return the squared norm of each column."""
        squares: NDArray[np.float64] = self.matrix.column_squares()
        n, means = self.matrix.shape[0], self.means
        return squares if means is None else np.maximum(squares - n * np.square(means), 0.0)


class CountingMatrix(Features):
    """Features that count the products with them (a product has `rank` columns)."""

    def __init__(self, matrix: Matrix, rank: int = 1) -> None:
        self.matrix, self.rank = matrix, rank
        self.columns = 0.0

    def centre(self) -> None:
        """Take the column means off, in products, so that a sparse X stays sparse."""
        n = self.matrix.shape[0]
        self.means = self.matrix.adjoint(np.full((n, 1), 1 / n))[:, 0]

    @property
    def products(self) -> float:
        """Number of products so far; one with fewer columns than `rank` counts in proportion."""
        return self.columns / self.rank

    def times(self, B: Factor) -> Factor:
        """Return X B."""
        self.columns += B.shape[1]
        return less(self.matrix.times(B), self.mean(B))

    def adjoint(self, A: Factor) -> Factor:
        """Return X^T A."""
        self.columns += A.shape[1]
        return self.without_means(self.matrix.adjoint(A), A.sum(axis=0, dtype=np.float64))


def less(A: Factor, mean: NDArray[np.float64] | None) -> Factor:
    """Subtract a row vector, in place, if there is one."""
    if mean is not None:
        A -= mean.astype(A.dtype)
    return A
