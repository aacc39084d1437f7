"""Which labels are known and what they are: one representation of every way of handing them in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from argument_checks import finite_array, indices
from leml_solver._linalg.threads import Rows, balanced_rows

Index = NDArray[Any]
Values = NDArray[Any]

# A full Y denser than this is kept dense: BLAS is faster there, and memory no larger.
_DENSE_SHARE = 0.3


@dataclass(frozen=True, eq=False)
class Pattern:
    """Positions of entries sorted by row."""

    indptr: Index
    indices: Index

    def shares(self, k: int) -> list[Rows]:
        """Return one block of rows a thread, balanced by entries, for factors of k columns."""
        return balanced_rows(self.indptr, float(self.indices.size) * k)


@dataclass(frozen=True, eq=False)
class ObservedEntries:
    """Entries sorted by row, with the order that sorts them by label."""

    by_row: Pattern
    by_label: Pattern
    label_order: Index
    values: Values
    weights: Values | None


@dataclass(frozen=True, eq=False)
class Labels:
    """An (n, L) label matrix, fully known or known at some entries.

    Build it with `full`, `with_missing`, `masked` or `observed`. Exactly one of `complete` (a CSR
    matrix or an array; an entry not stored is 0) and `entries` is there.
    """

    shape: tuple[int, int]
    complete: Any = None
    entries: ObservedEntries | None = None

    @classmethod
    def full(cls, Y: Any) -> Labels:
        """Labels of which every entry is known; what a sparse matrix does not store is 0."""
        if not sp.issparse(Y):
            Y = finite_array(Y, "Y", 2)
            share = np.count_nonzero(Y) / Y.size
            return cls(Y.shape, Y if share > _DENSE_SHARE else sp.csr_matrix(Y))
        Y = sp.csr_matrix(Y, dtype=np.float64, copy=True)
        Y.sum_duplicates()
        Y.eliminate_zeros()
        if not np.isfinite(Y.data).all():
            raise ValueError(
                "`Y` must be finite, got NaN or infinity; use `masked` for missing labels."
            )
        _check_size(Y.shape)
        dense = Y.nnz > _DENSE_SHARE * Y.shape[0] * Y.shape[1]
        return cls((int(Y.shape[0]), int(Y.shape[1])), Y.toarray() if dense else Y)

    @classmethod
    def with_missing(cls, Y: Any) -> Labels:
        """Labels as an array in which NaN means missing."""
        Y = np.asarray(Y, dtype=np.float64)
        if Y.ndim != 2:
            raise ValueError(f"`Y` must have two axes, (n, L), got shape {Y.shape}.")
        known = ~np.isnan(Y)
        if known.all():
            return cls.full(Y)
        return cls.masked(Y, known)

    @classmethod
    def masked(cls, Y: Any, mask: Any) -> Labels:
        """Labels known where `mask` is true (dense or sparse, like Y); zeros there are kept."""
        if Y.shape != mask.shape:
            raise ValueError(f"`mask` must have the shape of `Y`, {Y.shape}, got {mask.shape}.")
        mask = sp.coo_matrix(mask)
        known = mask.data.astype(bool)
        rows, columns = mask.row[known], mask.col[known]
        values = sp.csr_matrix(Y)[rows, columns] if sp.issparse(Y) else np.asarray(Y)[rows, columns]
        return cls.observed(rows, columns, np.asarray(values).ravel(), Y.shape)

    @classmethod
    def observed(
        cls, rows: Any, columns: Any, values: Any, shape: tuple[int, int], weights: Any = None
    ) -> Labels:
        """Labels known at entries (rows[e], columns[e]); an entry may be listed more than once."""
        values = np.asarray(values, dtype=np.float64)
        if values.size == 0:
            raise ValueError("`Y` must have an observed entry, got none: every label is missing.")
        values = finite_array(values, "values", 1)
        rows = indices(rows, "rows", values.size, shape[0]).astype(np.int32)
        columns = indices(columns, "columns", values.size, shape[1]).astype(np.int32)
        order = np.lexsort((columns, rows))
        rows, columns = rows[order], columns[order]
        label_order = np.lexsort((rows, columns))
        entries = ObservedEntries(
            Pattern(_pointers(rows, shape[0]), columns),
            Pattern(_pointers(columns[label_order], shape[1]), rows[label_order]),
            label_order,
            values[order],
            None if weights is None else _weights(weights, values.size)[order],
        )
        return cls((int(shape[0]), int(shape[1])), None, entries)

    @property
    def is_full(self) -> bool:
        """Whether every entry is known."""
        return self.entries is None

    @property
    def n_observed(self) -> int:
        """Number of known entries."""
        return self.shape[0] * self.shape[1] if self.entries is None else self.entries.values.size

    @property
    def unobserved_labels(self) -> NDArray[np.int64]:
        """Labels without any known entry."""
        if self.entries is None:
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero(np.diff(self.entries.by_label.indptr) == 0)


def as_labels(Y: Any) -> Labels:
    """Return Labels unchanged, a sparse matrix as full labels, an array with NaN as missing."""
    if isinstance(Y, Labels):
        return Y
    return Labels.full(Y) if sp.issparse(Y) else Labels.with_missing(Y)


def _check_size(shape: tuple[int, int]) -> None:
    """Refuse a label matrix without rows or columns."""
    if min(shape) == 0:
        raise ValueError(f"`Y` must have rows and columns, got shape {shape}.")


def _pointers(sorted_rows: Index, n_rows: int) -> Index:
    """Return where each row begins among sorted row numbers."""
    return np.searchsorted(sorted_rows, np.arange(n_rows + 1)).astype(np.int64)


def _weights(value: Any, size: int) -> Values:
    """Return one non-negative weight a value."""
    array = finite_array(value, "weights", 1)
    if array.shape != (size,) or array.min() < 0:
        raise ValueError(
            f"`weights` must be ({size},) and not negative, got {array.shape} from {array.min()}."
        )
    return array
