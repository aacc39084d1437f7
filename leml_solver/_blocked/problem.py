"""What a fit must know of data in blocks: shapes, sums of columns, and how to run a pass."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leml_solver._blocked import block as work
from leml_solver._blocked.passes import Passes
from leml_solver._linalg.matrices import Features
from leml_solver.labels import EntryList
from leml_solver.losses import Loss

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ColumnSquares:
    """All of X or Y that the updates ask for outside of passes."""

    shape: tuple[int, int]
    squares: Array
    dtype: np.dtype[Any]
    nnz: int = 0

    def column_squares(self) -> Array:
        """Return the squared norm of each column."""
        return self.squares


@dataclass(frozen=True, eq=False)
class LabelFacts:
    """Which labels are known."""

    shape: tuple[int, int]
    n_observed: int
    is_full: bool
    listed: EntryList | None = None
    missing: EntryList | None = None


@dataclass(frozen=True, eq=False)
class BlockedProblem:
    """A problem whose rows are in blocks; it has what a fit asks a `Problem` for."""

    loss: Loss
    passes: Passes
    n_rows: int
    matrix: ColumnSquares
    labels: LabelFacts
    feature_sums: Array
    label_sums: Array
    label_squares: ColumnSquares

    @classmethod
    def of(cls, passes: Passes, loss: Loss, dtype: str) -> BlockedProblem:
        """Run a first pass over the blocks."""
        squares, sums, label_sums, label_squares, sizes = passes.total(work.facts)
        n, nnz, n_observed = (int(size) for size in sizes[:3])
        shape, kind = (n, label_sums.size), np.dtype(dtype)
        X = ColumnSquares((n, squares.size), squares, kind, nnz)
        Y = ColumnSquares(shape, label_squares, kind)
        labels = LabelFacts(shape, n_observed, bool(sizes[3] == sizes[4]))
        return cls(loss, passes, n, X, labels, sums, label_sums, Y)

    @property
    def shape(self) -> tuple[int, int]:
        """(d, L), the shape of Z."""
        return self.matrix.shape[1], self.labels.shape[1]

    def astype(self, dtype: str | None) -> BlockedProblem:  # noqa: ARG002 - chosen with the blocks
        """Return the problem itself."""
        return self


class CountedPasses(Features):
    """Passes that count products with X; in the place of a `CountingMatrix`."""

    def __init__(self, problem: BlockedProblem, rank: int, *, intercept: bool) -> None:
        self.matrix, self.rank, self._passes = problem.matrix, rank, problem.passes
        self.send, self.in_turn = problem.passes.send, problem.passes.in_turn
        self.columns, self._counting = 0.0, Lock()
        if intercept:
            self.means = problem.feature_sums / problem.n_rows

    @property
    def products(self) -> float:
        """Number of products with X or X^T so far, k columns each."""
        return self.columns / self.rank

    def total(self, function: Any, *arguments: Any, columns: int = 0) -> Any:
        """Run a pass of `columns` products, each as wide as the widest array that is sent."""
        sent = [a for a in arguments if isinstance(a, work.Sent)]
        with self._counting:
            self.columns += columns * (sent[0].array.shape[1] if sent else 0)
        return self._passes.total(function, *arguments)
