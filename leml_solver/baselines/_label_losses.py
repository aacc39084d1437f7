"""Labels in blocks of columns, as signs of one byte, and their losses with derivatives, compiled.

A sign of 0 is a missing label: such an entry adds nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from leml_solver._linalg.threads import Rows, even_rows, parallel_map
from leml_solver.labels import Labels

Array = NDArray[np.float64]
Signs = NDArray[np.int8]

_BLOCK_ENTRIES = 1 << 21  # 16 MB of predictions
_FEWEST = 32  # labels of a block, the width of the compiled products
_SQUARED, _LOGISTIC, _SQUARED_HINGE = 0, 1, 2
LOSS_NUMBERS = {"squared": _SQUARED, "logistic": _LOGISTIC, "squared_hinge": _SQUARED_HINGE}
# Second derivatives of the losses that are quadratic where they are not zero.
CURVATURES = {"squared": 1.0, "squared_hinge": 2.0}

_compiled = numba.njit(cache=True, nogil=True)


def label_blocks(labels: Labels) -> Iterator[tuple[slice, Signs]]:
    """Yield the labels of each block and their signs (n, p), 0 where they are missing."""
    n, n_labels = labels.shape
    width = max(_FEWEST, _BLOCK_ENTRIES // n)
    for start in range(0, n_labels, width):
        part = slice(start, min(start + width, n_labels))
        yield part, _full_signs(labels, part) if labels.is_full else _known_signs(labels, part)


def _full_signs(labels: Labels, part: slice) -> Signs:
    block = labels.complete[:, part]
    dense = block.toarray() if hasattr(block, "toarray") else block
    return np.where(dense > 0, 1, -1).astype(np.int8)


def _known_signs(labels: Labels, part: slice) -> Signs:
    entries: Any = labels.entries
    ends = entries.by_label.indptr[part.start : part.stop + 1]
    which = slice(ends[0], ends[-1])
    columns = np.repeat(np.arange(ends.size - 1), np.diff(ends))
    signs: Signs = np.zeros((labels.shape[0], ends.size - 1), dtype=np.int8)
    positive = entries.values[entries.label_order[which]] > 0
    signs[entries.by_label.indices[which], columns] = np.where(positive, 1, -1)
    return signs


@dataclass(frozen=True, slots=True, eq=False)
class Derivatives:
    """First and second derivatives of the loss at each entry, both (n, p)."""

    slopes: Array
    curvatures: Array


@_compiled
def _value(loss: int, sign: float, f: float) -> Any:
    """Return the loss of predicting f; the squared loss has labels 0 and 1."""
    if loss == _SQUARED:
        error = f - 0.5 * (1 + sign)
        return 0.5 * error * error
    margin = sign * f
    if loss == _LOGISTIC:
        return max(-margin, 0.0) + np.log1p(np.exp(-abs(margin)))
    return max(0.0, 1 - margin) ** 2


@_compiled
def _slope_and_curvature(loss: int, sign: float, f: float) -> Any:
    if loss == _SQUARED:
        return f - 0.5 * (1 + sign), 1.0
    margin = sign * f
    if loss == _LOGISTIC:
        small = np.exp(-abs(margin))
        far = 1 / (1 + small)
        return -sign * (far if margin < 0 else small * far), small * far * far
    short = max(0.0, 1 - margin)
    return -2 * sign * short, 2.0 if short > 0 else 0.0


@_compiled
def _add_losses(loss: int, signs: Signs, f: Array, out: Array, rows: Rows) -> None:
    for i in range(rows[0], rows[1]):
        for j in range(out.size):
            if signs[i, j] != 0:
                out[j] += _value(loss, float(signs[i, j]), f[i, j])


@_compiled
def _write_derivatives(
    loss: int, signs: Signs, f: Array, slopes: Array, curvatures: Array, rows: Rows
) -> None:
    for i in range(rows[0], rows[1]):
        for j in range(f.shape[1]):
            if signs[i, j] == 0:
                slopes[i, j], curvatures[i, j] = 0.0, 0.0
            else:
                slopes[i, j], curvatures[i, j] = _slope_and_curvature(
                    loss, float(signs[i, j]), f[i, j]
                )


@_compiled
def _add_line_derivatives(
    loss: int, signs: Signs, f: Array, s: Array, t: Array, out: Array, rows: Rows
) -> None:
    """Add the derivatives in t of the losses at f + t s, of some rows, to the columns' sums."""
    for i in range(rows[0], rows[1]):
        for j in range(t.size):
            if signs[i, j] != 0:
                slope, curvature = _slope_and_curvature(
                    loss, float(signs[i, j]), f[i, j] + t[j] * s[i, j]
                )
                out[0, j] += slope * s[i, j]
                out[1, j] += curvature * s[i, j] * s[i, j]


def column_losses(loss: str, signs: Signs, f: Array) -> Array:
    """Return the sum of the losses of each column, predictions f (n, p)."""

    def total(rows: Rows) -> Array:
        out = np.zeros(f.shape[1])
        _add_losses(LOSS_NUMBERS[loss], signs, f, out, rows)
        return out

    return np.asarray(sum(parallel_map(total, even_rows(len(f), f.size))))


def derivatives(loss: str, signs: Signs, f: Array) -> Derivatives:
    """Return the derivatives of the loss at each entry, zero where the label is missing."""
    found = Derivatives(np.empty_like(f), np.empty_like(f))
    number = LOSS_NUMBERS[loss]
    write = partial(_write_derivatives, number, signs, f, found.slopes, found.curvatures)
    parallel_map(write, even_rows(len(f), f.size))
    return found


def line_derivatives(loss: str, signs: Signs, f: Array, s: Array, t: Array) -> Array:
    """Return the (2, p) derivatives in t of each column's loss at f + t s."""

    def total(rows: Rows) -> Array:
        out = np.zeros((2, t.size))
        _add_line_derivatives(LOSS_NUMBERS[loss], signs, f, s, t, out, rows)
        return out

    return np.asarray(sum(parallel_map(total, even_rows(len(f), f.size))))
