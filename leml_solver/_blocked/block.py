"""One block of rows and what passes over the data compute from it, on one thread each.

Each function takes a block and what is common to all blocks, and returns arrays that are added up
over the blocks. It depends on nothing else: a block that is loaded again gives the same bits.

Paper: Algorithm 1, Algorithm 2.
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leml_solver._factored.entry_sums import Entries, entries_of
from leml_solver._lazy import cached_property
from leml_solver._linalg.factors import column_inner, gram
from leml_solver._linalg.matrices import Factor, Matrix, as_matrix, less
from leml_solver.labels import EntryList, Labels
from leml_solver.losses import Loss

Array = NDArray[np.float64]
Sums = tuple[NDArray[Any], ...]


@dataclass(eq=False)
class Sent:
    """An array that all blocks see; equal tokens mean the same array."""

    token: int
    array: Any
    where: Any = None  # on a cluster, the array's future


@dataclass(eq=False)
class Block:
    """Rows of X and Y."""

    X: Matrix
    labels: Labels  # `complete` may be a `Matrix`
    loss: Loss
    dtype: str  # precision of the factors
    # Folder for what is as long as the block is; None keeps that in memory.
    scratch: Path | None
    files: tuple[Any, ...]  # the memory-mapped arrays, to be asked for ahead of use
    # Which of how many blocks it is.
    number: int
    count: int
    _kept: dict[str, tuple[Any, Any]] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.X.shape[0]

    def labels_in(self, dtype: Any) -> Matrix:
        """Return the labels, zero where they are missing, for products in some precision."""
        make = partial(as_matrix, self.labels.complete, dtype)
        made: Matrix = self.kept(f"labels {dtype}", None, make)
        return made

    @cached_property
    def entries(self) -> Entries:
        """Sums over the entries, in the precision of the factors."""
        return entries_of(self.labels, self.loss, np.dtype(self.dtype))

    @cached_property
    def exact_entries(self) -> Any:
        """Sums over the entries in double precision."""
        return entries_of(self.labels, self.loss, np.dtype(np.float64))

    def kept(self, name: str, key: Any, make: Callable[[], Any]) -> Any:
        """Return what `make` made for this key; of each name only the last is kept."""
        if name not in self._kept or self._kept[name][0] != key:
            self._kept.pop(name, None)  # first: there may be no room for two
            self._kept[name] = (key, make())
        return self._kept[name][1]

    def latent(self, W: Sent, mean: Array | None = None) -> Factor:
        """Return X W, less `mean`, which must follow from W."""
        return np.asarray(self.kept("latent", W.token, lambda: self._latent(W.array, mean)))

    def _latent(self, W: Factor, mean: Array | None) -> Factor:
        A = less(self.X.times(W), mean)
        if self.scratch is None:
            return A
        with tempfile.TemporaryFile(dir=self.scratch) as file:
            file.write(np.ascontiguousarray(A).data)  # through a map, a full disk ends the process
            file.flush()
            return np.memmap(file, A.dtype, "r+", shape=A.shape)

    def joined(self, W: Sent, mean: Array | None) -> Factor:
        """Return X W - mean with a column of ones for an intercept; X W without one."""
        A = self.latent(W, mean)
        return A if mean is None else np.hstack([A, np.ones((self.rows, 1), A.dtype)])

    def adjoint(self, D: Factor) -> Sums:
        """Return X^T D, and the column sums of D, by which X^T D changes if X is centred."""
        return self.X.adjoint(D), D.sum(axis=0, dtype=np.float64)


def labels_with_missing(labels: Labels) -> Labels:
    """Return full labels as labels of which none happens to be missing."""
    if not labels.is_full:
        return labels
    nothing = np.zeros(0, dtype=np.int32)
    none = EntryList(nothing, nothing, nothing.astype(np.float64), None)
    return Labels(labels.shape, labels.complete, None, none)


def facts(block: Block) -> Sums:
    """Return sums of columns and of their squares of X and Y, and numbers of rows and entries."""
    ones = np.ones((block.rows, 1))
    X, labels = block.X, block.labels
    sizes = np.array([block.rows, X.nnz, labels.n_observed, labels.is_full, 1], float)
    if labels.listed is not None:
        none = np.zeros(labels.shape[1])
        return X.column_squares(), X.adjoint(ones)[:, 0], none, none, sizes
    Y = block.labels_in(ones.dtype)
    sums, squares = Y.adjoint(ones)[:, 0], Y.column_squares()
    return X.column_squares(), X.adjoint(ones)[:, 0], sums, squares, sizes


def feature_gram(block: Block, means: Any) -> Sums:
    """Return X^T X for X less its column means, dense."""
    from leml_solver._factored.algorithm_2 import dense_gram

    return (dense_gram(block.X, means),)


# Squared loss, labels fully known; means are those of all rows, None without an intercept.


def squared_sums(block: Block, W: Sent, mean: Array | None) -> Sums:
    """Return A^T A and Y^T A for A = X W - mean."""
    A = block.latent(W, mean)
    return gram(A), block.labels_in(A.dtype).adjoint(A)


def squared_sketch(block: Block, V: Sent, mean: Array | None) -> Sums:
    """Return Y^T (X V - mean), without keeping anything."""
    A = less(block.X.times(V.array), mean)
    return (block.labels_in(A.dtype).adjoint(A),)


def squared_residual(
    block: Block, H: Sent, label_mean: Array | None, W: Sent | None, mean: Array | None, M: Any
) -> Sums:
    """Return X^T (Y H - label_mean - (X W - mean) M); without W the last term is left out."""
    right = less(block.labels_in(H.array.dtype).times(H.array), label_mean)
    if W is not None:
        right -= block.latent(W, mean) @ M
    return (block.X.adjoint(right),)


def squared_curve(block: Block, P: Sent, mean: Array | None, product: bool) -> Sums:
    """Return the squared norms of the columns of B = X P - mean, and X^T B if asked for."""
    B = less(block.X.times(P.array), mean)
    squares = column_inner(B, B)
    return (squares, block.X.adjoint(B)) if product else (squares,)


# Any smooth loss, any labels known; `mean` is that of the rows of X W, None without an intercept.


def _curvatures(block: Block, W: Sent, mean: Any, H: Sent, offset: Any) -> Any:
    """Return the curvatures at X W H^T + offset."""
    make = block.entries.curvatures
    key = (W.token, H.token)
    return block.kept("curvatures", key, lambda: make(block.latent(W, mean), H.array, offset))


def latent_gram(block: Block, W: Sent, mean: Any) -> Sums:
    """Return A^T A for A = X W - mean."""
    return (gram(block.latent(W, mean)),)


def losses(block: Block, W: Sent, mean: Any, H: Sent, offset: Any) -> Sums:
    """Return the loss of each label."""
    return (block.entries.label_losses(block.latent(W, mean), H.array, offset),)


def feature_gradient(block: Block, W: Sent, mean: Any, H: Sent, offset: Any) -> Sums:
    """Return X^T D H, D the slopes, and the column sums of D H."""
    return block.adjoint(block.entries.rows_gradient(block.latent(W, mean), H.array, offset))


def feature_curve(
    block: Block, W: Sent, mean: Any, H: Sent, offset: Any, S: Sent, S_mean: Any
) -> Sums:
    """Return X^T (C * (X S - S_mean) H^T) H, C the curvatures, and the sums of its rows."""
    C = _curvatures(block, W, mean, H, offset)
    image = less(block.X.times(S.array), S_mean)
    return block.adjoint(block.entries.rows_product(C, image, H.array))


def label_weights(block: Block, W: Sent, mean: Any, H: Sent, offset: Any) -> Sums:
    """Return the sum of the curvatures of each label."""
    C = _curvatures(block, W, mean, H, offset)
    return (block.entries.columns(C, np.ones((block.rows, 1), block.dtype))[:, 0],)


def joined_losses(block: Block, W: Sent, mean: Any, H: Sent) -> Sums:
    """Return the loss of each label, the intercept being the last column of H."""
    return (block.entries.label_losses(block.joined(W, mean), H.array, None),)


def label_gradient(block: Block, W: Sent, mean: Any, H: Sent) -> Sums:
    """Return D^T A, D the slopes."""
    return (block.entries.columns_gradient(block.joined(W, mean), H.array),)


def _label_curvatures(block: Block, W: Sent, H: Sent, A: Factor) -> Any:
    """Return the curvatures at A H^T."""
    key = (W.token, H.token)
    return block.kept("curvatures", key, lambda: block.entries.curvatures(A, H.array, None))


def label_curve(block: Block, W: Sent, mean: Any, H: Sent, S: Sent) -> Sums:
    """Return (C * (A S^T))^T A, C the curvatures."""
    A = block.joined(W, mean)
    C = _label_curvatures(block, W, H, A)
    return (block.entries.columns_product(C, A, S.array),)


def label_diagonal(block: Block, W: Sent, mean: Any, H: Sent) -> Sums:
    """Return the diagonal of the Hessian in each row of H, without the penalty."""
    A = block.joined(W, mean)
    C = _label_curvatures(block, W, H, A)
    return (block.entries.columns(C, np.square(A)),)


def first_label_sketch(block: Block, V: Sent, mean: Any) -> Sums:
    """Return -D^T (X V - mean), D the slopes at zero."""
    A = less(block.X.times(V.array), mean)
    return (-block.entries.columns(block.entries.first_slopes(), A),)


def first_feature_sketch(block: Block, H: Sent) -> Sums:
    """Return -X^T D H, D the slopes at zero, and the column sums of -D H."""
    return block.adjoint(-block.entries.rows(block.entries.first_slopes(), H.array))
