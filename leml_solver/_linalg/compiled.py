"""The compiled loops of Algorithms 1 and 2: sparse times dense, and sums over observed entries.

Sparse times dense works on panels of columns whose accumulators stay in vector registers, and
reads the sparse matrix in tiles so narrow that the rows of the panel it touches stay in cache. Sums
run in the precision of the dense factor. Each loop runs over `rows` = (start, stop) without the
interpreter's lock, so that threads can share the rows.

Paper: Algorithm 1.
"""

import os
from typing import Any

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped,unused-ignore]
from numba.core import cgutils, types
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import intrinsic

# Sums may be reordered and contracted, so that they vectorise; NaN and infinity keep their meaning.
_FASTMATH = {"reassoc", "contract", "nsz"}
if hasattr(os, "register_at_fork"):  # else a child forked while a thread compiles cannot compile
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )

_compiled = numba.njit(cache=True, nogil=True, fastmath=_FASTMATH)

WIDE_BYTES = 256  # eight 32-byte registers: enough to hide the latency of a fused multiply-add
NARROW_BYTES = 64
_LINE_BYTES = 64
_VECTOR_BYTES = 64  # two registers: their sums do not wait for each other
_NEAR_ROWS = 2048  # rows of a wide panel that a 512 KB second-level cache holds
_AHEAD = 16  # entries between the prefetch of a row of a larger panel and its use


def _emit_prefetch(builder: Any, address: Any, size: int) -> None:
    """Prefetch so many bytes, line by line; an address outside of all arrays does no harm."""
    flag, offset, byte = ir.IntType(32), ir.IntType(64), ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
    ask = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
    how = [ir.Constant(flag, value) for value in (0, 3, 1)]  # to read, keep close, data
    start = builder.bitcast(address, byte)
    for line in range(0, size, _LINE_BYTES):
        builder.call(ask, [builder.gep(start, [ir.Constant(offset, line)]), *how])


class _RowLoop:
    """Emits loops over the columns of C-ordered rows: a vector at a time, then what is left."""

    def __init__(self, context: Any, builder: Any, array: Any, rows: Any) -> None:
        self.builder, self.scalar = builder, context.get_value_type(array.dtype)
        self.size = context.get_abi_sizeof(self.scalar)
        self.vector = ir.VectorType(self.scalar, _VECTOR_BYTES // self.size)
        self.starts = []
        for value, number, kind in rows:
            made = context.make_array(array)(context, builder, value)
            self.width = builder.extract_value(made.shape, 1)
            first = builder.mul(context.cast(builder, number, kind, types.intp), self.width)
            self.starts.append(builder.gep(made.data, [first]))

    def each(self, body: Any) -> None:
        """Emit body(pointers into the rows) for pointers to vectors, then to single numbers."""
        builder, integer = self.builder, self.width.type
        whole = builder.and_(self.width, ir.Constant(integer, -self.vector.count))
        spans = ((ir.Constant(integer, 0), whole, self.vector), (whole, self.width, self.scalar))
        for begin, end, kind in spans:
            step = ir.Constant(integer, getattr(kind, "count", 1))
            with cgutils.for_range_slice(builder, begin, end, step, integer) as (p, _):
                places = [builder.gep(start, [p]) for start in self.starts]
                body(*(builder.bitcast(place, kind.as_pointer()) for place in places))

    def load(self, pointer: Any) -> Any:
        """Return the vector or the number there."""
        return self.builder.load(pointer, align=self.size)

    def plus_product(self, total: Any, one: Any, other: Any) -> Any:
        """Return total + one * other, rounded once where the processor can."""
        product = self.builder.fmul(one, other, flags=("contract",))
        return self.builder.fadd(total, product, flags=("contract",))

    def folded(self, total: Any) -> Any:
        """Return the sum of the entries of a vector, by halves."""
        builder, index = self.builder, ir.IntType(32)
        while total.type.count > 1:
            half = total.type.count // 2
            masks = [list(range(start, start + half)) for start in (0, half)]
            parts = [
                builder.shuffle_vector(total, total, ir.Constant(ir.VectorType(index, half), mask))
                for mask in masks
            ]
            total = builder.fadd(*parts)
        return builder.extract_element(total, ir.Constant(index, 0))


def _alike(A: Any, H: Any) -> bool:
    """Whether the types are those of C-ordered arrays of the same precision."""
    return bool(A.dtype == H.dtype and A.layout == H.layout == "C")


@intrinsic
def _inner(_, A, i, H, j):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Return the inner product of row i of A and row j of H, of the same type and width."""

    def emit(context: Any, builder: Any, _: Any, args: Any) -> Any:
        loop = _RowLoop(context, builder, A, ((*args[:2], i), (*args[2:], j)))
        kinds = (loop.vector, loop.scalar)
        totals = {kind: cgutils.alloca_once(builder, kind) for kind in kinds}  # type: ignore[no-untyped-call]
        for kind, total in totals.items():
            builder.store(ir.Constant(kind, None), total)

        def add(first: Any, second: Any) -> None:
            total = totals[first.type.pointee]
            product = loop.load(first), loop.load(second)
            builder.store(loop.plus_product(builder.load(total), *product), total)

        loop.each(add)
        whole, rest = (builder.load(total) for total in totals.values())
        return builder.fadd(loop.folded(whole), rest)

    return (A.dtype(A, i, H, j), emit) if _alike(A, H) else None


@intrinsic
def _add_row(_, out, i, scale, H, j):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Add scale times row j of H to row i of out, of the same type and width."""

    def emit(context: Any, builder: Any, _: Any, args: Any) -> Any:
        loop = _RowLoop(context, builder, H, ((*args[:2], i), (*args[3:], j)))
        number = context.cast(builder, args[2], scale, H.dtype)
        factors = {loop.vector: _splat(builder, loop.vector, number), loop.scalar: number}

        def add(to: Any, of: Any) -> None:
            product = factors[to.type.pointee], loop.load(of)
            builder.store(loop.plus_product(loop.load(to), *product), to, align=loop.size)

        loop.each(add)
        return context.get_dummy_value()

    return (types.void(out, i, scale, H, j), emit) if _alike(out, H) else None


@intrinsic
def _prefetch(_, H, j):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Prefetch row j of H; of a long row only the start, as the processor foresees the rest."""

    def emit(context: Any, builder: Any, _: Any, args: Any) -> Any:
        loop = _RowLoop(context, builder, H, ((*args, j),))
        per_panel = ir.Constant(loop.width.type, WIDE_BYTES // loop.size)
        _emit_prefetch(builder, loop.starts[0], WIDE_BYTES)
        with builder.if_then(builder.icmp_signed("<", per_panel, loop.width)):
            _emit_prefetch(builder, builder.gep(loop.starts[0], [per_panel]), WIDE_BYTES)
        return context.get_dummy_value()

    return types.void(H, j), emit


def _splat(builder: Any, vector: Any, number: Any) -> Any:
    """Return the vector that repeats a number."""
    undefined, index = ir.Constant(vector, ir.Undefined), ir.IntType(32)
    lane = builder.insert_element(undefined, number, ir.Constant(index, 0))
    return builder.shuffle_vector(lane, lane, ir.Constant(ir.VectorType(index, vector.count), None))


class _GatherLoop:
    """Emits one loop: total += data[p] * panel[index[p]], the total one vector wide.

    With `n_entries` it prefetches rows of the panel, past the end of its span too: the next
    span follows.
    """

    def __init__(
        self, context: Any, builder: Any, panel: Any, panel_bytes: int, n_entries: Any = None
    ) -> None:
        self.builder, self.n_entries = builder, n_entries
        self.scalar = context.get_value_type(panel.dtype)
        self.size = context.get_abi_sizeof(self.scalar)
        self.width = panel_bytes // self.size
        self.vector = ir.VectorType(self.scalar, self.width)

    def vector_at(self, base: Any, offset: Any) -> Any:
        """Return a pointer to the vector that starts `offset` elements after `base`."""
        return self.builder.bitcast(self.builder.gep(base, [offset]), self.vector.as_pointer())

    def row_at(self, p: Any, panel: Any, index: Any) -> Any:
        """Return a pointer to panel[index[p]]."""
        builder = self.builder
        row = builder.load(builder.gep(index, [p]))
        if row.type.width < p.type.width:
            row = builder.zext(row, p.type)
        return self.vector_at(panel, builder.mul(row, ir.Constant(p.type, self.width)))

    def prefetch(self, p: Any, panel: Any, index: Any) -> None:
        """Prefetch the row of the panel that comes some entries after p, if there is one."""
        builder = self.builder
        later = builder.add(p, ir.Constant(p.type, _AHEAD))
        later = builder.select(builder.icmp_signed("<", later, self.n_entries), later, p)
        _emit_prefetch(builder, self.row_at(later, panel, index), self.width * self.size)

    def term(self, p: Any, panel: Any, index: Any, data: Any) -> Any:
        """Return data[p] * panel[index[p]]."""
        builder = self.builder
        values = builder.load(self.row_at(p, panel, index), align=self.size)
        factor = builder.load(builder.gep(data, [p]))
        if factor.type != self.scalar:
            convert = builder.fptrunc if factor.type == ir.DoubleType() else builder.fpext
            factor = convert(factor, self.scalar)
        return builder.fmul(_splat(builder, self.vector, factor), values, flags=("contract",))

    def emit(self, target: Any, low: Any, high: Any, panel: Any, index: Any, data: Any) -> None:
        """Add the terms from low to high to the vector at `target`."""
        builder, one = self.builder, ir.Constant(low.type, 1)
        total = cgutils.alloca_once(builder, self.vector)  # type: ignore[no-untyped-call]
        builder.store(builder.load(target, align=self.size), total)
        with cgutils.for_range_slice(builder, low, high, one, low.type) as (p, _):
            if self.n_entries is not None:
                self.prefetch(p, panel, index)
            term = self.term(p, panel, index, data)
            builder.store(builder.fadd(builder.load(total), term, flags=("contract",)), total)
        builder.store(builder.load(total), target, align=self.size)


@intrinsic
def _gather(_, dest, at, panel, index, data, span):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Add the rows of a panel that one sparse row selects to dest[at:]."""
    kinds = dest, panel, index, data

    def emit(context: Any, builder: Any, _: Any, args: Any) -> Any:
        values = (args[0], *args[2:5])
        out, rows, numbers, factors = (
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(kinds, values, strict=True)
        )

        def add(panel_bytes: int, n_entries: Any = None) -> None:
            loop = _GatherLoop(context, builder, panel, panel_bytes, n_entries)
            low, high = (builder.extract_value(args[5], end) for end in (0, 1))
            target = loop.vector_at(out.data, args[1])
            loop.emit(target, low, high, rows.data, numbers.data, factors.data)

        height, width = (builder.extract_value(rows.shape, axis) for axis in (0, 1))
        lanes = ir.Constant(width.type, WIDE_BYTES // panel.dtype.bitwidth * 8)
        with builder.if_else(builder.icmp_signed("==", width, lanes)) as (wide, narrow):
            with wide:
                near_rows = ir.Constant(height.type, _NEAR_ROWS)
                far = builder.icmp_signed(">", height, near_rows)
                with builder.if_else(far) as (far_rows, near):
                    with far_rows:
                        add(WIDE_BYTES, numbers.nitems)
                    with near:
                        add(WIDE_BYTES)
            with narrow:
                add(NARROW_BYTES)
        return context.get_dummy_value()

    return types.void(dest, at, panel, index, data, span), emit


@_compiled
def multiply(
    pointers: Any, index: Any, data: Any, tile: Any, panel: Any, out: Any, first: Any, rows: Any
) -> None:
    """Write a tiled matrix times one panel into the columns of out from `first` on."""
    flat, k, width = out.reshape(-1), out.shape[1], panel.shape[1]
    last = min(width, k - first)
    scratch = np.zeros(width, dtype=out.dtype)
    out[rows[0] : rows[1], first : first + last] = 0
    for t in range(pointers.shape[0]):
        part = panel[t * tile : (t + 1) * tile]
        for i in range(rows[0], rows[1]):
            span = (pointers[t, i], pointers[t, i + 1])
            if span[0] == span[1]:
                continue
            if last == width:
                _gather(flat, i * k + first, part, index, data, span)  # type: ignore[call-arg]
            else:
                scratch[:] = 0
                _gather(scratch, 0, part, index, data, span)  # type: ignore[call-arg]
                for c in range(last):
                    out[i, first + c] += scratch[c]


@numba.njit(cache=True)
def _added_up(counts: Any) -> Any:
    """Turn the number of entries before each place into where they begin, tile after tile."""
    for t in range(len(counts)):
        counts[t, 0] = counts[t - 1, -1] if t else 0
        for i in range(counts.shape[1] - 1):
            counts[t, i + 1] += counts[t, i]
    return counts


@numba.njit(cache=True)
def tile_pointers(indptr: Any, indices: Any, tile: Any, n_tiles: Any) -> Any:
    """Return where each row begins in each tile, (n_tiles, r + 1); tiles follow one another."""
    r = indptr.size - 1
    pointers = np.zeros((n_tiles, r + 1), dtype=np.int64)
    for i in range(r):
        for p in range(indptr[i], indptr[i + 1]):
            pointers[indices[p] // tile, i + 1] += 1
    return _added_up(pointers)


@numba.njit(cache=True)
def fill_tiles(
    indptr: Any, indices: Any, data: Any, tile: Any, pointers: Any, local: Any, values: Any
) -> None:
    """Copy a CSR matrix into the local indices and values of tiles."""
    for i in range(indptr.size - 1):
        written = np.zeros(pointers.shape[0], dtype=np.int64)
        for p in range(indptr[i], indptr[i + 1]):
            t = indices[p] // tile
            at = pointers[t, i] + written[t]
            local[at] = indices[p] - t * tile
            values[at] = data[p]
            written[t] += 1


@numba.njit(cache=True)
def fill_transposed_tiles(
    indptr: Any, indices: Any, data: Any, tile: Any, pointers: Any, local: Any, values: Any
) -> None:
    """Copy the transpose of a CSR matrix into the local indices and values of tiles."""
    written = pointers[:, :-1].copy()
    for i in range(indptr.size - 1):
        t = i // tile
        for p in range(indptr[i], indptr[i + 1]):
            at = written[t, indices[p]]
            local[at] = i - t * tile
            values[at] = data[p]
            written[t, indices[p]] = at + 1


@numba.njit(cache=True)
def transposed_tile_pointers(indptr: Any, indices: Any, shape: Any, tile: Any, n_tiles: Any) -> Any:
    """Return `tile_pointers` of the transpose, whose tiles run over the rows given here."""
    pointers = np.zeros((n_tiles, shape[1] + 1), dtype=np.int64)
    for i in range(shape[0]):
        for p in range(indptr[i], indptr[i + 1]):
            pointers[i // tile, indices[p] + 1] += 1
    return _added_up(pointers)


@numba.njit(cache=True)
def run_cuts(indptr: Any, indices: Any, width: Any, n_tiles: Any) -> Any:
    """Return where the sorted indices of each row reach each tile, (n_tiles + 1, r)."""
    r = indptr.size - 1
    cuts = np.empty((n_tiles + 1, r), dtype=np.int64)
    for i in range(r):
        e = indptr[i]
        for t in range(n_tiles):
            cuts[t, i] = e
            while e < indptr[i + 1] and indices[e] < (t + 1) * width:
                e += 1
        cuts[n_tiles, i] = indptr[i + 1]
    return cuts


# Below, `cuts` says which entries of each row point into each tile of H: a tile stays in cache.


@_compiled
def entry_products(A: Any, H: Any, cuts: Any, indices: Any, out: Any, rows: Any) -> None:
    """Write a_i . h_j at each entry."""
    for t in range(len(cuts) - 1):
        for i in range(rows[0], rows[1]):
            for e in range(cuts[t, i], cuts[t + 1, i]):
                if e + _AHEAD < indices.size:
                    _prefetch(H, indices[e + _AHEAD])  # type: ignore[call-arg]
                out[e] = _inner(A, i, H, indices[e])  # type: ignore[call-arg]


@_compiled
def entry_sums(D: Any, H: Any, cuts: Any, indices: Any, out: Any, rows: Any) -> None:
    """Write sum_j D_ij h_j for each row i."""
    out[rows[0] : rows[1]] = 0
    for t in range(len(cuts) - 1):
        for i in range(rows[0], rows[1]):
            for e in range(cuts[t, i], cuts[t + 1, i]):
                if e + _AHEAD < indices.size:
                    _prefetch(H, indices[e + _AHEAD])  # type: ignore[call-arg]
                _add_row(out, i, D[e], H, indices[e])  # type: ignore[call-arg]


@_compiled
def entry_curvature(
    C: Any, shift: Any, B: Any, H: Any, cuts: Any, indices: Any, out: Any, rows: Any
) -> None:
    """Write sum_j (C_ij (b_i . h_j) - shift_ij) h_j for each row i; a shift of None means zero."""
    out[rows[0] : rows[1]] = 0
    for t in range(len(cuts) - 1):
        for i in range(rows[0], rows[1]):
            for e in range(cuts[t, i], cuts[t + 1, i]):
                if e + _AHEAD < indices.size:
                    _prefetch(H, indices[e + _AHEAD])  # type: ignore[call-arg]
                scale = C[e] * _inner(B, i, H, indices[e])  # type: ignore[call-arg]
                if shift is not None:
                    scale -= shift[e]
                _add_row(out, i, scale, H, indices[e])


@_compiled
def group_sums(values: Any, groups: Any, out: Any) -> None:
    """Add each value to the sum of its group, in double precision."""
    for e in range(values.size):
        out[groups[e]] += values[e]


@_compiled
def column_inner(A: Any, B: Any, rows: Any) -> Any:
    """Return sum_i A_ic B_ic for each column c, in double precision."""
    total = np.zeros(A.shape[1])
    for i in range(rows[0], rows[1]):
        for c in range(A.shape[1]):
            total[c] += np.float64(A[i, c]) * np.float64(B[i, c])
    return total


@_compiled
def row_inner(A: Any, B: Any, out: Any, rows: Any) -> None:
    """Write sum_c A_ic B_ic for each row i, in double precision."""
    for i in range(rows[0], rows[1]):
        total = 0.0
        for c in range(A.shape[1]):
            total += np.float64(A[i, c]) * np.float64(B[i, c])
        out[i] = total


@_compiled
def add_scaled(target: Any, scale: Any, other: Any, rows: Any) -> None:
    """Add scale * other to target in place; scale is (1, 1), (1, k) or (r, 1)."""
    by_row, by_column = min(scale.shape[0] - 1, 1), min(scale.shape[1] - 1, 1)
    for i in range(rows[0], rows[1]):
        for c in range(target.shape[1]):
            target[i, c] += scale[i * by_row, c * by_column] * other[i, c]


@_compiled
def scale_and_add(target: Any, scale: Any, other: Any, rows: Any) -> None:
    """Replace target by scale * target + other in place; scale is (1, 1), (1, k) or (r, 1)."""
    by_row, by_column = min(scale.shape[0] - 1, 1), min(scale.shape[1] - 1, 1)
    for i in range(rows[0], rows[1]):
        for c in range(target.shape[1]):
            target[i, c] = scale[i * by_row, c * by_column] * target[i, c] + other[i, c]
