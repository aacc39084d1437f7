"""Which labels are known and what they are: one representation for every way to pass them in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from argument_checks import (
    indices,
    moderate_array,
    number_array,
    one_weight_each,
    real_input,
    unmasked,
)
from leml_solver._lazy import cached_property
from leml_solver._linalg.threads import Rows, balanced_rows

Index = NDArray[Any]
Values = NDArray[Any]

# A full Y denser than this is kept dense: BLAS is faster there, and memory no larger.
_DENSE_SHARE = 0.3
# Known entries that are still listed for a method that needs each of them (some gigabytes).
_LONGEST_LIST = 1 << 27


# Rows of a factor that entries are matched with at a time (as many as have this size), unless a row
# has fewer entries than that among them: 8 MB are served by the cache to several threads.
_TILE_BYTES = 8 << 20
_TILE_ENTRIES = 16


@dataclass(frozen=True, eq=False)
class Pattern:
    """Positions of entries sorted by row, and in a row by column."""

    indptr: Index
    indices: Index
    _cuts: dict[int, Index] = field(default_factory=dict)

    def cuts(self, factor: Values) -> Index:
        """Return where the entries of each row reach each tile of a factor, (tiles + 1, r)."""
        most = self.indices.size // (_TILE_ENTRIES * self.indptr.size)
        tiles = max(1, min(-(-factor.nbytes // _TILE_BYTES), most))
        if tiles not in self._cuts:
            from leml_solver._linalg.compiled import run_cuts  # loads numba

            width = -(-len(factor) // tiles)
            self._cuts[tiles] = run_cuts(self.indptr, self.indices, width, tiles)
        return self._cuts[tiles]

    def shares(self, k: int) -> list[Rows]:
        """Return one block of rows per thread, balanced by entries, for factors of k columns."""
        return balanced_rows(self.indptr, float(self.indices.size) * k)


@dataclass(frozen=True, eq=False)
class ObservedEntries:
    """Entries sorted by row, with the order that sorts them by label.

    `weights` is None if they are all one.
    """

    by_row: Pattern
    by_label: Pattern
    label_order: Index
    values: Values
    weights: Values | None


class EntryList(NamedTuple):
    """Entries in the order of their list; `weights` is None if they are all one."""

    rows: Index
    columns: Index
    values: Values
    weights: Values | None


@dataclass(frozen=True, eq=False)
class Labels:
    """An (n, L) label matrix, fully known or known at some entries.

    Build it with `full`, `with_missing`, `masked` or `observed`. Exactly one of `complete` (a CSR
    matrix or an array; an entry not stored is 0) and `listed`, the known entries, is set. With
    `missing`, a list of entries, `complete` is known everywhere else.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import Labels
    >>> Labels.with_missing(np.array([[1.0, np.nan], [0.0, 1.0]])).n_observed
    3
    >>> Labels.observed(rows=[0, 1, 1], columns=[0, 0, 1], values=[1, 0, 1], shape=(2, 2)).is_full
    False
    """

    shape: tuple[int, int]
    complete: Any = None
    listed: EntryList | None = None
    missing: EntryList | None = None

    @classmethod
    def full(cls, Y: Any) -> Labels:
        """Labels of which every entry is known; what a sparse matrix does not store is 0."""
        if not sp.issparse(Y):
            Y = np.array(moderate_array(Y, "Y", 2), order="C")  # a copy: the caller may change Y
            share = np.count_nonzero(Y) / Y.size
            return cls(Y.shape, Y if share > _DENSE_SHARE else sp.csr_matrix(Y))
        Y = sp.csr_matrix(real_input(Y, "Y"), dtype=np.float64, copy=True)
        Y.eliminate_zeros()
        _check_size(Y.shape)
        if not np.isfinite(Y.data).all():
            raise ValueError(
                "a sparse `Y` must be finite; missing labels go into `mask` or `missing`, not NaN."
            )
        if Y.nnz:
            moderate_array(Y.data, "Y", 1)
        dense = Y.nnz > _DENSE_SHARE * Y.shape[0] * Y.shape[1]
        return cls((int(Y.shape[0]), int(Y.shape[1])), Y.toarray() if dense else Y)

    @classmethod
    def with_missing(cls, Y: Any, missing: Any = None) -> Labels:
        """Labels known but where an array is NaN or `missing` is true.

        Parameters
        ----------
        Y : (n, L) array or sparse matrix
            What a sparse matrix does not store is 0, and known unless `missing` says otherwise.
        missing : (n, L) boolean array or sparse matrix, optional
            The entries that are not known. With a sparse Y no list of the others is made.
        """
        Y = real_input(Y, "Y") if sp.issparse(Y) else np.array(number_array(unmasked(Y), "Y"))
        if Y.ndim != 2:
            raise ValueError(f"`Y` must have two axes, (n, L), got shape {Y.shape}.")
        hidden = None if missing is None else truths(missing, "missing", Y.shape)
        if sp.issparse(Y):
            return cls.full(Y) if hidden is None else cls._all_but(cls.full(Y), hidden)
        if hidden is not None:
            Y[hidden.toarray()] = np.nan
        known = ~np.isnan(Y)
        if known.all():
            return cls.full(Y)
        return cls.masked(Y, known)

    @classmethod
    def _all_but(cls, full: Labels, missing: Any) -> Labels:
        """Labels known at all entries but those of a sparse boolean matrix."""
        if missing.nnz == 0:
            return full
        if not sp.issparse(full.complete):
            return cls.masked(full.complete, ~missing.toarray())
        rows, columns = missing.nonzero()
        hidden = cls.observed(rows, columns, np.zeros(rows.size), full.shape).listed
        made = cls(full.shape, full.complete - full.complete.multiply(missing), None, hidden)
        made.complete.eliminate_zeros()
        if made.n_observed == 0:
            raise ValueError("`Y` must have an observed entry, got none: every label is missing.")
        return made

    def _missing_mask(self) -> Any:
        if self.missing is None:
            return sp.csr_matrix(self.shape, dtype=bool)
        ones = np.ones(self.missing.values.size, dtype=bool)
        return sp.csr_matrix((ones, (self.missing.rows, self.missing.columns)), shape=self.shape)

    @classmethod
    def masked(cls, Y: Any, mask: Any) -> Labels:
        """Labels known where `mask` is true (dense or sparse, like Y); zeros there are kept."""
        Y = sp.csr_matrix(real_input(Y, "Y")) if sp.issparse(Y) else number_array(unmasked(Y), "Y")
        known = sp.coo_matrix(truths(mask, "mask", Y.shape))
        values = Y[known.row, known.col]
        return cls.observed(known.row, known.col, np.asarray(values).ravel(), Y.shape)

    @classmethod
    def observed(
        cls, rows: Any, columns: Any, values: Any, shape: tuple[int, int], weights: Any = None
    ) -> Labels:
        """Labels known at entries (rows[e], columns[e]).

        Parameters
        ----------
        rows, columns : (m,) integer arrays
            Point and label of each entry; an entry may be listed more than once.
        values : (m,) array
            The labels at those entries.
        shape : (int, int)
            (n, L), which may be larger than any row and column listed.
        weights : (m,) array, optional
            How often each entry was observed, once if not given; entries of weight 0 are dropped.
        """
        shape = _listed_shape(shape)
        values = np.array(number_array(values, "values"))
        if values.size == 0:
            raise ValueError("`Y` must have an observed entry, got none: every label is missing.")
        values = moderate_array(values, "values", 1)
        rows = indices(rows, "rows", values.size, shape[0]).astype(np.int32)
        columns = indices(columns, "columns", values.size, shape[1]).astype(np.int32)
        counts = (
            None if weights is None else one_weight_each(weights, "weights", values.size, "value")
        )
        kept = slice(None) if counts is None else counts > 0
        counts = None if counts is None or (counts == 1).all() else counts[kept]
        listed = EntryList(rows[kept], columns[kept], values[kept], counts)
        return cls(shape, None, listed)

    @cached_property
    def known(self) -> EntryList | None:
        """The known entries, None if all are; long where few are missing, and made when needed."""
        if self.missing is None:
            return self.listed
        if self.n_observed > _LONGEST_LIST:
            raise ValueError(
                f"`Y` has {self.n_observed} known entries, too many for a method that lists them; "
                "the squared, logistic and squared hinge losses of `fit_factors` do not."
            )
        return Labels.masked(self.complete, ~self._missing_mask().toarray()).listed

    @cached_property
    def entries(self) -> ObservedEntries | None:
        """The known entries in the two orders that the factored solver reads them in."""
        return None if self.known is None else _in_both_orders(self.known, self.shape)

    @cached_property
    def missing_entries(self) -> ObservedEntries | None:
        """The missing entries of labels that list them, in both orders."""
        return None if self.missing is None else _in_both_orders(self.missing, self.shape)

    @property
    def is_full(self) -> bool:
        """Whether every entry is known."""
        return self.listed is None and self.missing is None

    @property
    def n_observed(self) -> int:
        """Number of known entries."""
        if self.listed is not None:
            return self.listed.values.size
        hidden = 0 if self.missing is None else self.missing.values.size
        return self.shape[0] * self.shape[1] - hidden

    @property
    def total_weight(self) -> float:
        """Sum of the weights of the known entries."""
        weights = None if self.listed is None else self.listed.weights
        return float(self.n_observed if weights is None else weights.sum())

    def known_matrices(self) -> tuple[Any, Any]:
        """Return the known values, and where they are, as sparse matrices; not for full labels."""
        assert self.entries is not None
        found = self.entries.by_row
        seen = np.ones(found.indices.size, dtype=bool)
        return tuple(
            sp.csr_array((data, found.indices, found.indptr), shape=self.shape)
            for data in (self.entries.values, seen)
        )

    @property
    def unobserved_labels(self) -> NDArray[np.int64]:
        """Labels without any known entry."""
        return np.flatnonzero(self.label_counts == 0)

    @property
    def label_counts(self) -> NDArray[np.int64]:
        """Number of known entries of each label, repeated ones counted each time."""
        if self.listed is not None:
            return np.bincount(self.listed.columns, minlength=self.shape[1])
        counts = np.full(self.shape[1], self.shape[0])
        if self.missing is not None:
            counts -= np.bincount(self.missing.columns, minlength=self.shape[1])
        return counts

    @property
    def observed_rows(self) -> NDArray[np.int64]:
        """Points with a known label."""
        if self.listed is not None:
            return np.flatnonzero(np.bincount(self.listed.rows))
        if self.missing is None:
            return np.arange(self.shape[0])
        hidden = np.bincount(self.missing.rows, minlength=self.shape[0])
        return np.flatnonzero(hidden < self.shape[1])

    def take(self, rows: Index) -> Labels:
        """Return the labels of some points, in increasing order."""
        shape = (rows.size, self.shape[1])
        if self.listed is None:
            return Labels._all_but(Labels(shape, self.complete[rows]), self._missing_mask()[rows])
        found, chosen = self.listed, np.isin(self.listed.rows, rows)
        return Labels.observed(
            np.searchsorted(rows, found.rows[chosen]),
            found.columns[chosen],
            found.values[chosen],
            shape,
            None if found.weights is None else found.weights[chosen],
        )

    def known_values(self) -> Values:
        """Return the values that occur, some of them repeated."""
        if self.listed is not None:
            return self.listed.values
        stored = self.complete.data if sp.issparse(self.complete) else self.complete
        return np.append(stored, np.zeros(1 if stored.size < self.n_observed else 0))


def _in_both_orders(listed: EntryList, shape: tuple[int, int]) -> ObservedEntries:
    """Return entries sorted by row, with the order that sorts them by label."""
    rows, columns, values, weights = listed
    order = np.argsort(rows * np.int64(shape[1]) + columns, kind="stable")
    ends = np.cumsum(np.bincount(rows, minlength=shape[0]))
    by_row = Pattern(np.append(0, ends), columns[order])
    places = (np.arange(order.size), by_row.indices, by_row.indptr)
    turned = sp.csr_matrix(places, shape=shape).tocsc()
    by_label = Pattern(turned.indptr.astype(np.int64), turned.indices)
    weights = None if weights is None else weights[order]
    return ObservedEntries(by_row, by_label, turned.data, values[order], weights)


def as_labels(Y: Any) -> Labels:
    """Return Labels unchanged, a sparse matrix as full labels, an array with NaN as missing."""
    if isinstance(Y, Labels):
        return Y
    return Labels.full(Y) if sp.issparse(Y) else Labels.with_missing(Y)


def truths(value: Any, name: str, shape: tuple[int, int]) -> Any:
    """Return a matrix of booleans, or of numbers that are true unless zero, as a CSR matrix."""
    value = real_input(value, name)
    checked: Any = value if sp.issparse(value) else np.asarray(value)
    if checked.shape != shape:
        raise ValueError(f"`{name}` must have the shape of `Y`, {shape}, got {checked.shape}.")
    made = sp.csr_matrix(checked, copy=True) if checked.dtype.kind in "biuf" else None
    if made is None or np.isnan(made.data).any():
        raise TypeError(f"`{name}` must be boolean, got {checked.dtype}; write astype(bool).")
    made = made.astype(bool)
    made.eliminate_zeros()
    return made


def _listed_shape(shape: Any) -> tuple[int, int]:
    """Return (n, L), of which rows and columns of entries are listed in 32 bits."""
    if len(shape) != 2 or not all(isinstance(side, int | np.integer) for side in shape):
        raise TypeError(f"`shape` must be two whole numbers, (n, L), got {shape!r}.")
    _check_size(shape, "shape")
    return int(shape[0]), int(shape[1])


def _check_size(shape: tuple[int, int], name: str = "Y") -> None:
    if min(shape) < 1:
        raise ValueError(f"`Y` must have rows and columns, got shape {shape}.")
    if max(shape) > np.iinfo(np.int32).max:
        raise ValueError(f"`{name}` must be below 2^31 rows and columns, got shape {shape}.")
