"""Data sets in npz files: X and Y in CSR parts (``X_data``, ``X_indices``, ...) or dense."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from leml_solver._archives import MAX_BYTES, ArchiveError, open_members, read_arrays
from leml_solver.readers.dataset import LABEL_DTYPE, Dataset, check_width
from leml_solver.readers.lines import ReadError
from safe_files import memory_budget

Arrays = dict[str, NDArray[Any]]
_PARTS = ("data", "indices", "indptr", "shape")
_ENTRY_BYTES = 32  # of an entry while a dense matrix becomes sparse


def read_npz(path: str) -> Dataset:
    """Read a data set; every index in it is checked, nothing in it is executed.

    The archive holds ``X_data, X_indices, X_indptr, X_shape`` (CSR) or ``X`` (dense), the same for
    Y (labels 0/1; NaN in a dense Y is a missing label), and possibly ``NAME_idx`` row numbers and
    ``label_names``.
    """
    with _named_errors(path):
        arrays = read_arrays(path)
        X, Y = _matrix(arrays, "X"), _matrix(arrays, "Y")
        return _dataset(X, Y, arrays)


@contextmanager
def _named_errors(path: str) -> Iterator[None]:
    """Raise what is wrong with a file as errors that name it."""
    try:
        yield
    except OSError as error:
        raise ReadError(f"{path}: cannot be read ({error.strerror or error}).") from error
    except MemoryError as error:
        raise ReadError(f"{path}: there is not enough memory for its matrices.") from error
    except (ArchiveError, ValueError, TypeError, OverflowError, IndexError, KeyError) as error:
        raise ReadError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from error


def npz_blocks(path: str, rows_named: str | None, rows: int) -> Iterator[Dataset]:
    """Read the CSR parts of a file some rows at a time; of it only row ends are in memory.

    A dense X or Y is read as a whole. With `rows_named`, only rows with these numbers are given, in
    the order of the file.
    """
    small = tuple(f"{name}_{part}" for name in "XY" for part in ("data", "indices"))
    with _named_errors(path):
        arrays = read_arrays(path, without=small)
        if "X" in arrays or "Y" in arrays:
            whole = read_npz(path)
            yield whole.rows(_chosen(whole.splits, rows_named, whole.X.shape[0]))
            return
        with open_members(path, small) as members:
            yield from _streamed(arrays, members, rows_named, rows)


def _streamed(arrays: Arrays, members: Any, rows_named: str | None, rows: int) -> Iterator[Dataset]:
    """Yield the rows of two CSR matrices whose long parts are read piece by piece."""
    ends = {name: arrays[f"{name}_indptr"].astype(np.int64) for name in "XY"}
    n = ends["X"].size - 1
    kept = _chosen(_splits(arrays, n), rows_named, n)
    for start in range(0, n, rows):
        part, stop = dict(arrays), min(start + rows, n)
        for name in "XY":
            own = ends[name][start : stop + 1]
            if own.size != stop - start + 1 or np.any(np.diff(own) < 0):
                raise ValueError(f"{name}_indptr must be {n + 1} numbers that do not decrease.")
            for long in ("data", "indices"):
                part[f"{name}_{long}"] = members[f"{name}_{long}"](int(own[-1] - own[0]))
            part[f"{name}_indptr"] = own - own[0]
            part[f"{name}_shape"] = np.array([stop - start, arrays[f"{name}_shape"][1]])
        there = {key: value for key, value in part.items() if not key.endswith("_idx")}
        data = _dataset(_matrix(there, "X"), _matrix(there, "Y"), there)
        chosen = kept[(kept >= start) & (kept < stop)] - start
        if chosen.size:
            yield data.rows(chosen)


def _chosen(splits: Arrays, name: str | None, n: int) -> NDArray[np.int64]:
    if name is None:
        return np.arange(n)
    if name not in splits:
        raise ValueError(f"has no rows {name}; there are {', '.join(sorted(splits)) or 'none'}.")
    return np.unique(splits[name])


def _matrix(arrays: Arrays, name: str) -> Any:
    """Return a matrix given in CSR parts or dense."""
    if name in arrays:
        dense = arrays[name]
        if dense.ndim != 2 or dense.dtype.kind not in "biuf":
            raise ValueError(
                f"{name} must be a matrix of numbers, got {dense.dtype} {dense.shape}."
            )
        if surplus := [f"{name}_{part}" for part in _PARTS if f"{name}_{part}" in arrays]:
            raise ValueError(f"{name} is stored twice, as {name} and as {surplus[0]}.")
        if (asked := _ENTRY_BYTES * np.count_nonzero(dense)) > memory_budget(MAX_BYTES):
            raise ValueError(f"{name} would take {asked} bytes as CSR; cut it in parts.")
        return _native(dense)
    if absent := [f"{name}_{part}" for part in _PARTS if f"{name}_{part}" not in arrays]:
        raise ValueError(f"expected arrays {name}_data, _indices, _indptr, _shape; no {absent[0]}.")
    data, indices, indptr, shape = (_native(arrays[f"{name}_{part}"]) for part in _PARTS)
    if data.dtype.kind not in "biuf" or shape.shape != (2,) or shape.dtype.kind not in "iu":
        raise ValueError(f"{name}_data must be numbers and {name}_shape two whole numbers.")
    if any(part.dtype.kind not in "iu" or part.ndim != 1 for part in (indices, indptr)):
        raise ValueError(f"{name}_indices and {name}_indptr must be vectors of whole numbers.")
    n, width = (int(length) for length in shape)
    if indptr.size != n + 1 or np.any(indptr[1:] < indptr[:-1]):
        raise ValueError(f"{name}_indptr must be {n + 1} numbers that do not decrease.")
    if data.ndim != 1 or (indptr[0], indptr[-1], indices.size) != (0, data.size, data.size):
        raise ValueError(
            f"{name}_data and {name}_indices must be as long as {name}_indptr says, from "
            f"{indptr[0]} to {indptr[-1]}, got {data.size} and {indices.size}."
        )
    check_width(width, f"{name}_shape")
    matrix = sparse.csr_array((data, indices, indptr), shape=(n, width))
    matrix.check_format(full_check=True)
    matrix.sum_duplicates()
    return matrix


def _native(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array in this machine's byte order and in a precision that it computes in."""
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        return array.astype(np.float64)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _dataset(X: Any, Y: Any, arrays: Arrays) -> Dataset:
    """Return the data set of two matrices."""
    missing = None if sparse.issparse(Y) else np.isnan(Y)
    labels = sparse.csr_array(Y if missing is None else np.where(missing, 0, Y))
    labels.eliminate_zeros()
    if not np.isin(labels.data, (1,)).all():
        raise ValueError("Y must hold labels 0 and 1 (NaN for missing in a dense Y).")
    return Dataset(
        X,
        labels.astype(LABEL_DTYPE),
        missing if missing is not None and missing.any() else None,
        label_names=_names(arrays.get("label_names"), labels.shape[1]),
        splits=_splits(arrays, X.shape[0]),
    )


def _names(names: NDArray[Any] | None, count: int) -> tuple[str, ...]:
    if names is None:
        return ()
    if names.shape != (count,) or names.dtype.kind != "U":
        raise ValueError(f"label_names must be {count} strings, got {names.dtype} {names.shape}.")
    return tuple(str(name) for name in names)


def _splits(arrays: Arrays, n: int) -> dict[str, NDArray[np.int64]]:
    """Return the row numbers stored under names that end in ``_idx``."""
    found = {name: array for name, array in arrays.items() if name.endswith("_idx")}
    for name, index in found.items():
        if index.ndim != 1 or index.dtype.kind not in "iu":
            raise ValueError(f"{name} must be a vector of row numbers, got {index.dtype}.")
        if index.size and not 0 <= int(index.min()) <= int(index.max()) < n:
            raise ValueError(f"{name} must lie in [0, {n}).")
    return {name: index.astype(np.int64) for name, index in found.items()}
