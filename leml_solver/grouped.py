"""Inner products of factors in groups: all entries together, or one group a column or a row.

A least-squares problem that separates by columns (or rows) is solved by as many conjugate gradient
runs side by side, each with its own step. Numbers of groups have shape (1, 1), (1, k) or (r, 1).
"""

from __future__ import annotations

from enum import Enum

import numpy as np
from numpy.typing import NDArray

from leml_solver import sparse_kernels as kernels
from leml_solver.matrices import Factor
from leml_solver.threads import even_rows, shared

Numbers = NDArray[np.float64]


class Groups(Enum):
    """How the entries of a factor are grouped into independent problems."""

    TOGETHER = "one problem"
    COLUMNS = "one problem a column"
    ROWS = "one problem a row"

    def inner(self, A: Factor, B: Factor) -> Numbers:
        """Return the inner product of each group, in double precision."""
        if self is Groups.ROWS:
            return row_inner(A, B)[:, None]
        columns = np.asarray(column_inner(A, B))[None, :]
        return columns if self is Groups.COLUMNS else columns.sum(keepdims=True)


def column_inner(A: Factor, B: Factor) -> Numbers:
    """Return the inner product of each column of A with that of B, in double precision."""
    parts = shared(lambda rows: kernels.column_inner(A, B, rows), even_rows(len(A), A.size))
    return np.asarray(sum(parts))


def row_inner(A: Factor, B: Factor) -> Numbers:
    """Return the inner product of each row of A with that of B, in double precision."""
    out = np.empty(len(A))
    shared(lambda rows: kernels.row_inner(A, B, out, rows), even_rows(len(A), A.size))
    return out


def add_scaled(target: Factor, scale: Numbers, other: Factor) -> None:
    """Add scale * other to target, in place."""
    scale = scale.astype(target.dtype)
    parts = even_rows(len(target), target.size)
    shared(lambda rows: kernels.add_scaled(target, scale, other, rows), parts)


def scale_and_add(target: Factor, scale: Numbers, other: Factor) -> None:
    """Replace target by scale * target + other, in place."""
    scale = scale.astype(target.dtype)
    parts = even_rows(len(target), target.size)
    shared(lambda rows: kernels.scale_and_add(target, scale, other, rows), parts)


def ratio(numerator: Numbers, denominator: Numbers) -> Numbers:
    """Return numerator / denominator, zero where the denominator is not positive."""
    positive = denominator > 0
    return np.where(positive, numerator / np.where(positive, denominator, 1.0), 0.0)
