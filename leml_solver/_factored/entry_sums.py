"""Sums over observed entries for any smooth loss: the label side of Algorithm 1.

`SparseEntries` keeps one number per entry; `FullEntries` works through blocks of rows with dense
products, so that a fully observed Y never becomes an n x L matrix of slopes.

Paper: Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leml_solver._lazy import cached_property
from leml_solver._linalg import compiled as kernels
from leml_solver._linalg.factors import gram, row_inner
from leml_solver._linalg.matrices import Factor, as_matrix
from leml_solver._linalg.threads import SHARED_LOOP, Rows, even_rows, matmul, parallel_map
from leml_solver.labels import Labels, Pattern
from leml_solver.losses import Logistic, Loss, Squared, SquaredHinge

_CHUNK = 1 << 15  # entries of a temporary array in a loss evaluation, small enough for the cache
_BLOCK = 1 << 18  # entries of a dense block of predictions, small enough to stay in cache

# Losses whose conjugate at 0 is 0: a missing entry adds nothing to a dual bound.
_ZERO_AT_BEST = (Logistic, SquaredHinge)


def entries_of(labels: Labels, loss: Loss, dtype: Any) -> Entries:
    """Return the entry sums for labels known in part, in full or but for some."""
    if labels.missing is not None and type(loss) is Squared:
        return SquaredEntries(labels, loss, dtype)
    if labels.is_full or (labels.missing is not None and type(loss) in _ZERO_AT_BEST):
        return FullEntries(labels, loss, dtype)
    return SparseEntries(labels, loss, dtype)


@dataclass(frozen=True, eq=False)
class _EntriesOf:
    """Loss sums over entries with predictions f_ij = a_i . h_j + offset_j.

    What `slopes` (D) and `curvatures` (C) return, the first and second derivatives of the loss at
    the entries, is opaque: it is only handed back to the other methods.
    """

    labels: Labels
    loss: Loss
    dtype: Any

    @property
    def shape(self) -> tuple[int, int]:
        """(n, L)."""
        return self.labels.shape

    @cached_property
    def _Y(self) -> Any:
        return as_matrix(self.labels.complete, self.dtype)

    def first_slopes(self: Any) -> Any:
        """Return the slopes at zero."""
        return self.slopes(*(np.zeros((size, 1), self.dtype) for size in self.shape), None)

    def rows_gradient(self: Any, A: Factor, H: Factor, offset: Factor | None) -> Factor:
        """Return D H, D the slopes."""
        found: Factor = self.rows(self.slopes(A, H, offset), H)
        return found

    def columns_gradient(self: Any, A: Factor, H: Factor) -> Factor:
        """Return D^T A, D the slopes without offset."""
        found: Factor = self.columns(self.slopes(A, H, None), A)
        return found


class SparseEntries(_EntriesOf):
    """Sums over a sparse set of observed entries, in O(|Omega| k)."""

    @cached_property
    def _entries(self) -> Any:
        return self.labels.entries

    @cached_property
    def values(self) -> Factor:
        """Labels as the loss needs them, sorted by row."""
        return self.loss.encode(self._entries.values).astype(self.dtype)

    @cached_property
    def weights(self) -> Factor | None:
        """Weights of the entries; None means one each."""
        weights = self._entries.weights
        return None if weights is None else weights.astype(self.dtype)

    def predictions(self, A: Factor, H: Factor, offset: Factor | None) -> Factor:
        """Return a_i . h_j + offset_j at each entry."""
        pattern: Pattern = self._entries.by_row
        A, H = _in_rows(A, A.dtype), _in_rows(H, A.dtype)
        out = np.empty(self.values.size, dtype=A.dtype)
        write = partial(kernels.entry_products, A, H, pattern.cuts(H), pattern.indices, out)
        parallel_map(write, pattern.shares(A.shape[1]))
        if offset is not None:
            out += offset.astype(out.dtype)[pattern.indices]
        return out

    def _apply(self, function: Callable[..., Any], predictions: Factor) -> Factor:
        """Return weight times function(y, f) at each entry, computed in chunks."""
        out = np.empty_like(predictions)

        def write(rows: Rows) -> None:
            for start in range(*rows, _CHUNK):
                part = slice(start, min(start + _CHUNK, rows[1]))
                out[part] = function(self.values[part], predictions[part])
                if self.weights is not None:
                    out[part] *= self.weights[part]

        parallel_map(write, even_rows(out.size, out.size))
        return out

    def label_losses(self, A: Factor, H: Factor, offset: Factor | None) -> NDArray[np.float64]:
        """Return the loss of each label."""
        losses = self._apply(self.loss.value, self.predictions(A, H, offset))
        totals = np.zeros(self.shape[1])
        kernels.group_sums(losses, self._entries.by_row.indices, totals)
        return totals

    def slopes(self, A: Factor, H: Factor, offset: Factor | None) -> Factor:
        """Return weight times derivative at each entry."""
        return self._apply(self.loss.derivative, self.predictions(A, H, offset))

    def curvatures(self, A: Factor, H: Factor, offset: Factor | None) -> Factor:
        """Return weight times second derivative at each entry."""
        if type(self.loss) is Squared:
            return self._ones if self.weights is None else self.weights
        return self._apply(self.loss.second_derivative, self.predictions(A, H, offset))

    @cached_property
    def _ones(self) -> Factor:
        """The curvatures of the squared loss."""
        return np.ones(self.values.size, dtype=self.dtype)

    def _by_label(self, D: Factor) -> Factor:
        """Return numbers at the entries in the order of the labels."""
        return D if D is self._ones else D[self._entries.label_order]

    def rows(self, D: Factor, H: Factor) -> Factor:
        """Return D H."""
        return _sums(self._entries.by_row, D, H, self.shape[0])

    def columns(self, D: Factor, A: Factor) -> Factor:
        """Return D^T A."""
        return _sums(self._entries.by_label, self._by_label(D), A, self.shape[1])

    def rows_gradient(self, A: Factor, H: Factor, offset: Factor | None) -> Factor:
        """Return D H, D the slopes; for the squared loss in one pass."""
        if type(self.loss) is not Squared:
            return super().rows_gradient(A, H, offset)
        C, shift = self.curvatures(A, H, offset), self._shift
        if offset is not None:
            shift = shift - C * offset.astype(C.dtype)[self._entries.by_row.indices]
        return _curvature(self._entries.by_row, C, A, H, shift)

    def columns_gradient(self, A: Factor, H: Factor) -> Factor:
        """Return D^T A, D the slopes without offset; for the squared loss in one pass."""
        if type(self.loss) is not Squared:
            return super().columns_gradient(A, H)
        C = self._by_label(self.curvatures(A, H, None))
        return _curvature(self._entries.by_label, C, H, A, self._label_shift)

    @cached_property
    def _shift(self) -> Factor:
        """The slopes of the squared loss at zero with opposite sign."""
        return self.values if self.weights is None else self.weights * self.values

    @cached_property
    def _label_shift(self) -> Factor:
        return self._by_label(self._shift)

    def rows_product(self, C: Factor, B: Factor, H: Factor) -> Factor:
        """Return (C * (B H^T)) H in one pass."""
        return _curvature(self._entries.by_row, C, B, H)

    def columns_product(self, C: Factor, A: Factor, S: Factor) -> Factor:
        """Return (C * (A S^T))^T A in one pass."""
        return _curvature(self._entries.by_label, self._by_label(C), S, A)


def _in_rows(factor: Factor, dtype: Any) -> Factor:
    """Return the factor as the loops read it: one row after another, in their precision."""
    return np.ascontiguousarray(factor, dtype=dtype)


def _sums(pattern: Pattern, D: Factor, H: Factor, n_rows: int) -> Factor:
    """Return sum_j D_ij h_j for each row of the pattern."""
    H = _in_rows(H, H.dtype)
    out = np.empty((n_rows, H.shape[1]), dtype=H.dtype)
    write = partial(kernels.entry_sums, D, H, pattern.cuts(H), pattern.indices, out)
    parallel_map(write, pattern.shares(H.shape[1]))
    return out


def _curvature(
    pattern: Pattern, C: Factor, B: Factor, H: Factor, shift: Factor | None = None
) -> Factor:
    """Return sum_j (C_ij (b_i . h_j) - shift_ij) h_j for each row of the pattern."""
    B, H = _in_rows(B, B.dtype), _in_rows(H, B.dtype)
    out = np.empty_like(B)
    write = partial(kernels.entry_curvature, C, shift, B, H, pattern.cuts(H), pattern.indices, out)
    parallel_map(write, pattern.shares(H.shape[1]))
    return out


@dataclass(frozen=True, eq=False)
class _Lazy:
    """Numbers function(y, a_i . h_j + offset_j) at all entries, evaluated when they are used."""

    function: Callable[..., Any]
    A: Factor
    H: Factor
    offset: Factor | None


class FullEntries(_EntriesOf):
    """Sums over all n x L entries by blocks of rows, in O(n L k) time and O(block) memory."""

    def blocks(self) -> list[slice]:
        """Return slices of rows whose dense block stays small."""
        size = max(1, _BLOCK // self.shape[1])
        ends = range(0, self.shape[0], size)
        return [slice(start, min(start + size, self.shape[0])) for start in ends]

    def _each(self, function: Callable[[slice], Any], k: int) -> list[Any]:
        """Return function(block) for each block, blocks shared among the threads."""
        work = float(self.shape[0]) * self.shape[1] * k
        return parallel_map(function, self.blocks(), worth=work >= SHARED_LOOP)

    def encoded(self, part: slice) -> Factor:
        """Return the labels of a block as the loss needs them."""
        Y: Factor = self._Y.rows(part.start, part.stop)
        # `loss.encode` looks for every distinct value; `Problem` has done that once.
        return np.where(Y > 0, Y.dtype.type(1), Y.dtype.type(-1)) if self.loss.binary else Y

    def numbers(self, D: _Lazy, part: slice) -> Factor:
        """Evaluate D on a block of rows."""
        predictions = D.A[part] @ D.H.T
        if D.offset is not None:
            predictions += D.offset
        numbers = np.asarray(D.function(self.encoded(part), predictions))
        if self.labels.missing_entries is not None:
            pattern = self.labels.missing_entries.by_row
            ends = pattern.indptr[part.start : part.stop + 1]
            rows = np.repeat(np.arange(ends.size - 1), np.diff(ends))
            numbers[rows, pattern.indices[ends[0] : ends[-1]]] = 0
        return numbers.astype(D.A.dtype, copy=False)

    def label_losses(self, A: Factor, H: Factor, offset: Factor | None) -> NDArray[np.float64]:
        """Return the loss of each label."""
        D = _Lazy(self.loss.value, A, H, offset)
        parts = self._each(
            lambda part: self.numbers(D, part).sum(axis=0, dtype=np.float64), A.shape[1]
        )
        return np.asarray(sum(parts))

    def slopes(self, A: Factor, H: Factor, offset: Factor | None) -> _Lazy:
        """Return the derivatives, to be evaluated block by block."""
        return _Lazy(self.loss.derivative, A, H, offset)

    def curvatures(self, A: Factor, H: Factor, offset: Factor | None) -> _Lazy:
        """Return the second derivatives, to be evaluated block by block."""
        return _Lazy(self.loss.second_derivative, A, H, offset)

    def rows(self, D: _Lazy, H: Factor) -> Factor:
        """Return D H."""
        return np.vstack(self._each(lambda part: self.numbers(D, part) @ H, H.shape[1]))

    def columns(self, D: _Lazy, A: Factor) -> Factor:
        """Return D^T A."""
        parts = self._each(lambda part: self.numbers(D, part).T @ A[part], A.shape[1])
        return np.asarray(sum(parts))

    def rows_product(self, C: _Lazy, B: Factor, H: Factor) -> Factor:
        """Return (C * (B H^T)) H."""

        def block(part: slice) -> Factor:
            return np.asarray((self.numbers(C, part) * (B[part] @ H.T)) @ H)

        return np.vstack(self._each(block, H.shape[1]))

    def columns_product(self, C: _Lazy, A: Factor, S: Factor) -> Factor:
        """Return (C * (A S^T))^T A."""

        def block(part: slice) -> Factor:
            return np.asarray((self.numbers(C, part) * (A[part] @ S.T)).T @ A[part])

        return np.asarray(sum(self._each(block, A.shape[1])))


@dataclass(frozen=True, eq=False)
class _LowRank:
    """A H^T, less the labels or not, less `missing` at the missing entries."""

    A: Factor
    H: Factor
    less_labels: bool
    missing: Factor


class SquaredEntries(_EntriesOf):
    """Squared loss over all entries but a list of missing ones: closed forms less what they add.

    The cost is O((nnz(Y) + missing entries) k + (n + L) k^2).
    """

    @cached_property
    def _missing(self) -> SparseEntries:
        return SparseEntries(Labels(self.shape, None, self.labels.missing), self.loss, self.dtype)

    def label_losses(self, A: Factor, H: Factor, offset: Factor | None) -> NDArray[np.float64]:
        """Return the loss of each label."""
        A, H = _joined(A, H, offset)
        bent = H.astype(np.float64) @ gram(A) - 2.0 * self._Y.adjoint(A)
        whole = 0.5 * (self._Y.column_squares() + row_inner(H, bent))
        return np.asarray(whole - self._missing.label_losses(A, H, None))

    def against_labels(self, D: _LowRank) -> float:
        """Return <D, Y>, Y being zero where it is missing."""
        fitted = row_inner(self._Y.adjoint(D.A), D.H).sum()
        return float(fitted - self._Y.column_squares().sum())

    def slopes(self, A: Factor, H: Factor, offset: Factor | None) -> _LowRank:
        """Return the derivatives."""
        A, H = _joined(A, H, offset)
        return _LowRank(A, H, True, self._missing.slopes(A, H, None))

    def curvatures(self, A: Factor, H: Factor, offset: Factor | None) -> _LowRank:
        """Return the second derivatives: one at each known entry."""
        rows, columns = (np.ones((size, 1), dtype=A.dtype) for size in self.shape)
        return _LowRank(rows, columns, False, self._missing.curvatures(A, H, offset))

    def rows(self, D: _LowRank, H: Factor) -> Factor:
        """Return D H."""
        sums = matmul(D.A, D.H.T @ H) - self._missing.rows(D.missing, H)
        return sums - self._Y.times(H) if D.less_labels else sums

    def columns(self, D: _LowRank, A: Factor) -> Factor:
        """Return D^T A."""
        sums = matmul(D.H, D.A.T @ A) - self._missing.columns(D.missing, A)
        return sums - self._Y.adjoint(A) if D.less_labels else sums

    def rows_product(self, C: _LowRank, B: Factor, H: Factor) -> Factor:
        """Return (C * (B H^T)) H."""
        whole = matmul(B, gram(H).astype(B.dtype))
        return whole - self._missing.rows_product(C.missing, B, H)

    def columns_product(self, C: _LowRank, A: Factor, S: Factor) -> Factor:
        """Return (C * (A S^T))^T A."""
        whole = matmul(S, gram(A).astype(S.dtype))
        return whole - self._missing.columns_product(C.missing, A, S)


Entries = SparseEntries | FullEntries | SquaredEntries


def _joined(A: Factor, H: Factor, offset: Factor | None) -> tuple[Factor, Factor]:
    """Return factors of A H^T + offset."""
    if offset is None:
        return A, H
    ones = np.ones((len(A), 1), dtype=A.dtype)
    return np.hstack([A, ones]), np.column_stack([H, offset.astype(H.dtype)])
