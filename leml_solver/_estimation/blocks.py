"""Scores and true labels in blocks of rows: never all n x L of them at once."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numba
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from argument_checks import positive_integer, real_input, unmasked
from leml_solver._estimation.targets import as_numbers, boolean
from leml_solver._linalg.threads import one_blas_thread
from leml_solver.labels import Labels

Array = NDArray[Any]
# The threads of BLAS and of the compiled loops alternate once per block, so blocks are not
# small: 32 MiB was twice as fast as 8 MiB on two busy cores.
BLOCK_BYTES = 32 * 2**20
_THREADED = 2**18  # scores


class Scores(Protocol):
    """Scores of every label for every row, made block by block."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of labels."""

    def block(self, start: int, stop: int) -> Array:
        """Return the scores of rows start to stop - 1, one column per label."""


@dataclass(frozen=True, slots=True, eq=False)
class BlockScores:
    """Scores that a function gives for the rows start to stop - 1."""

    function: Callable[[int, int], Array]
    shape: tuple[int, int]

    def block(self, start: int, stop: int) -> Array:
        """Return what the function gives."""
        with one_blas_thread():
            return np.asarray(self.function(start, stop))


def as_scores(scores: Any) -> Scores:
    """Return scores that come block by block, from such scores or from a matrix."""
    if hasattr(scores, "block"):
        return scores  # type: ignore[no-any-return]
    values = np.asarray(real_input(scores, "scores"))
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        raise ValueError(
            "`scores` must be a matrix of numbers, one column per label, got shape "
            f"{values.shape} of {values.dtype}."
        )
    return BlockScores(lambda start, stop: values[start:stop], values.shape)


def checked_block(scores: Scores, start: int, stop: int) -> Array:
    """Return the scores of some rows, which must be numbers in the shape that was promised."""
    found = np.asarray(scores.block(start, stop))
    shape = (stop - start, scores.shape[1])
    if found.shape != shape or found.dtype.kind not in "biuf":
        raise ValueError(f"`scores` must be numbers, {shape}, got {found.dtype}, {found.shape}.")
    if np.isnan(found.min(initial=0)):
        raise ValueError("`scores` must not contain NaN: such labels cannot be ranked.")
    return np.ascontiguousarray(found, dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class TrueLabels:
    """Labels 0/1 or -1/+1 that scores are compared with; some may be missing.

    Attributes
    ----------
    Y : (n, L) float array with NaN for missing, or CSR matrix
    mask : (n, L) boolean array or CSR matrix, or None
        Which entries are observed, besides the NaN of Y.
    """

    Y: Any
    mask: Any = None

    @classmethod
    def of(cls, Y: Any, mask: Any = None, *, shape: tuple[int, int] | None = None) -> Self:
        """Check labels and mask, and return them ready to be cut into blocks."""
        labels, mask = _checked_labels(Y), None if mask is None else _checked_mask(mask)
        expected = tuple(labels.shape if shape is None else shape)
        for name, matrix in (("Y", labels), ("mask", mask)):
            if matrix is not None and tuple(matrix.shape) != expected:
                raise ValueError(
                    f"`{name}` must have one row per point and one column per label, {expected}, "
                    f"got {tuple(matrix.shape)}."
                )
        return cls(labels, mask)

    def block(self, start: int, stop: int) -> NDArray[np.int8]:
        """Return 1 for positive, 0 for negative and -1 for missing, rows start to stop - 1."""
        values = dense(self.Y[start:stop])
        found: NDArray[np.int8] = (values > 0).astype(np.int8)
        if values.dtype.kind == "f":
            found[np.isnan(values)] = -1
        if self.mask is not None:
            found[~dense(self.mask[start:stop])] = -1
        return found


def dense(matrix: Any) -> Array:
    """Return a matrix as an array."""
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix)


def _checked_labels(Y: Any) -> Any:
    """Return labels as CSR matrix or array with values 0/1 or -1/+1."""
    if sparse.issparse(Y):
        matrix = sparse.csr_array(real_input(Y, "Y"))
        _check_values(matrix.data)
        return matrix
    values = np.asarray(real_input(unmasked(Y), "Y"))
    if values.dtype.kind not in "biuf":
        values = as_numbers(values)
    if values.ndim != 2:
        raise ValueError(f"`Y` must be a matrix of labels, got shape {values.shape}.")
    _check_values(values)
    return values


def _check_values(values: Array) -> None:
    """Raise unless the values that are not NaN are within {0, 1} or {-1, +1}."""
    both = (values == -1).any() and (values == 0).any()
    strange = ~((values == 1) | (values == 0) | (values == -1) | (values != values))
    if strange.any() or both:
        shown = values[strange][:3].tolist() if strange.any() else [-1, 0]
        raise ValueError(
            f"`Y` must hold labels in {{0, 1}} or in {{-1, +1}}, NaN for missing, got {shown}."
        )


def _checked_mask(mask: Any) -> Any:
    checked = boolean(mask, "mask")
    return sparse.csr_array(checked) if sparse.issparse(checked) else checked


def row_blocks(shape: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Yield the ends of row blocks whose float64 scores fit into `BLOCK_BYTES`."""
    n_rows, n_labels = shape
    step = max(1, BLOCK_BYTES // (8 * max(1, n_labels)))
    for start in range(0, n_rows, step):
        yield start, min(start + step, n_rows)


def top_k(scores: Array | Scores, k: int) -> tuple[NDArray[np.int64], Array]:
    """Return the k labels of largest score in each row, best first, and their scores.

    Of two labels with equal scores the one with the lower number comes first. Besides the two
    (n, k) answers only one block of scores is in memory.

    Parameters
    ----------
    scores : (n, L) array or Scores
        Scores of n rows and L labels.
    k : int
        Number of labels to return for each row, at most L.

    Returns
    -------
    labels : (n, k) int array
    values : (n, k) array
    """
    made, k = as_scores(scores), positive_integer(k, "k")
    n_rows, n_labels = made.shape
    if k > n_labels:
        raise ValueError(f"`k` must be at most the number of labels, {n_labels}, got {k}.")
    labels = np.empty((n_rows, k), dtype=np.int64)
    values = np.empty((n_rows, k))
    for start, stop in row_blocks(made.shape):
        _select_rows(checked_block(made, start, stop), labels[start:stop], values[start:stop])
    return labels, values


def threaded(function: Callable[..., None]) -> Callable[..., None]:
    """Compile a loop over the rows of its first argument twice; threads run where they pay off."""
    alone = numba.njit(cache=True)(function)
    together = numba.njit(cache=True, parallel=True)(function)

    def run(block: Array, *rest: Any) -> None:
        # Waking threads costs up to milliseconds on a busy machine, a small block microseconds.
        (together if block.size > _THREADED else alone)(block, *rest)

    return run


@numba.njit(cache=True)
def insert(best: Array, where: Array, count: int, value: float, label: int) -> None:
    """Put a score into a list sorted from the largest, after its equals, pushing the last out."""
    at = count
    while at > 0 and best[at - 1] < value:
        if at < best.size:
            best[at], where[at] = best[at - 1], where[at - 1]
        at -= 1
    if at < best.size:
        best[at], where[at] = value, label


@threaded
def _select_rows(block: Array, labels: Array, values: Array) -> None:
    """Write the k best labels of each row and their scores."""
    k = values.shape[1]
    for i in numba.prange(block.shape[0]):
        for label in range(k):
            insert(values[i], labels[i], label, block[i, label], label)
        worst = values[i, k - 1]  # in a register: it turns nearly every label away
        for label in range(k, block.shape[1]):
            if block[i, label] > worst:
                insert(values[i], labels[i], k, block[i, label], label)
                worst = values[i, k - 1]


def matching_threshold(scores: Scores, labels: Labels) -> float:
    """Return the threshold above which as many known entries lie as there are positives.

    It is halfway between the last score above and the first below; only one block of scores, and
    one score per positive, is in memory.
    """
    positives = int((labels.known_values() > 0).sum())
    known, most = None if labels.is_full else labels.known_matrices()[1], positives + 1
    kept = np.empty(0)
    for start, stop in row_blocks(scores.shape):
        block = scores.block(start, stop)
        values = block.ravel() if known is None else block[known[start:stop].toarray()]
        kept = np.concatenate([kept, values])
        if kept.size > most:
            kept = np.partition(kept, -most)[-most:]
    kept = np.sort(kept)
    if kept.size < most:  # every known entry is positive
        return float(np.nextafter(kept[0], -np.inf))
    return float(0.5 * (kept[0] + kept[1])) if positives else float(kept[0])
