"""Checks of arguments that all packages share: each returns the value or says what to do."""

import math
import numbers
from collections.abc import Collection
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

_Choice = TypeVar("_Choice")


def real(value: Any, name: str) -> float:
    """Return `value` as a float, which must be finite."""
    plain = type(value) is float  # the rest takes a microsecond, of 300 for a small problem
    if not plain and (isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real)):
        raise TypeError(f"`{name}` must be a real number, got {value!r} ({type(value).__name__}).")
    if isinstance(value, int) and abs(value) >> 1023:  # no float is as large
        value = math.inf
    if not math.isfinite(value):
        raise ValueError(f"`{name}` must be finite, got {value!r}.")
    return float(value)


def positive(value: Any, name: str) -> float:
    """Return `value` as a float, which must be finite and above zero."""
    number = real(value, name)
    if number <= 0:
        raise ValueError(f"`{name}` must be positive, got {value!r}.")
    return number


def nonnegative(value: Any, name: str) -> float:
    """Return `value` as a float, which must be finite and not below zero."""
    number = real(value, name)
    if number < 0:
        raise ValueError(f"`{name}` must not be negative, got {value!r}.")
    return number


def positive_integer(value: Any, name: str) -> int:
    """Return `value` as an int, which must be a whole number of at least one."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral):
        raise TypeError(f"`{name}` must be a whole number, got {value!r} ({type(value).__name__}).")
    if value < 1:
        raise ValueError(f"`{name}` must be at least 1, got {value!r}.")
    return int(value)


def truth_value(value: Any, name: str) -> bool:
    """Return `value`, which must be a bool: 0.0 is more likely a mistake than a False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"`{name}` must be True or False, got {value!r} ({type(value).__name__}).")
    return bool(value)


def probability(value: Any, name: str) -> float:
    """Return `value` as a float in (0, 1]."""
    number = real(value, name)
    if not 0 < number <= 1:
        raise ValueError(f"`{name}` must lie in (0, 1], got {value!r}.")
    return number


def open_probability(value: Any, name: str) -> float:
    """Return `value` as a float in (0, 1), both ends excluded."""
    number = real(value, name)
    if not 0 < number < 1:
        raise ValueError(f"`{name}` must lie strictly between 0 and 1, got {value!r}.")
    return number


def real_input(value: Any, name: str, refused: str = "cmMV") -> Any:
    """Return an array, or a sparse matrix as CSR, unless it would lose something on its way.

    Masks and imaginary parts would be dropped in silence, dates become numbers (`refused` are kinds
    of numpy's types), and loops over a sparse matrix do not look whether its indices lie within its
    shape.
    """
    if type(value) is np.ndarray and value.dtype.kind in "fiub":
        return value  # nothing to lose
    seen = _array_of(value, name)
    rows = value if isinstance(value, list | tuple) else (seen,)
    if any(np.ma.is_masked(row) for row in rows):
        raise ValueError(f"`{name}` must not have masked entries; fill them in, or leave them out.")
    for dtype in _types_within(seen):
        if (kind := getattr(dtype, "kind", "f")) in refused:
            said = "Complex data not supported: " if kind == "c" else ""
            raise ValueError(f"{said}`{name}` must hold real numbers, got {dtype}.")
    return _sound_csr(value, name) if sparse.issparse(value) else value


def _array_of(value: Any, name: str) -> Any:
    """Return an array or a table, and what numpy makes of others, masked if they are."""
    try:
        arrays = hasattr(value, "dtype") or hasattr(value, "dtypes")
        return value if arrays else np.asanyarray(value)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"`{name}` must be an array, or a list of rows of one length ({error}); lists of "
            "labels become a matrix by sklearn.preprocessing.MultiLabelBinarizer."
        ) from error


def _types_within(value: Any) -> list[Any]:
    """Return the types of numbers in an array or a table, those of its objects one by one."""
    single = getattr(value, "dtype", None)
    found = list(getattr(value, "dtypes", ())) if single is None else [single]
    if any(getattr(dtype, "kind", "f") == "O" for dtype in found):
        kinds = {type(item) for item in np.asarray(value).ravel()}  # numpy's become floats
        found += [np.dtype(kind) for kind in kinds if issubclass(kind, np.generic)]
    return found


def _sound_csr(matrix: Any, name: str) -> Any:
    """Return a sparse matrix as CSR without repeated entries; the caller's own stays as it is."""
    if matrix.ndim != 2:
        raise ValueError(f"`{name}` must have two axes, got shape {matrix.shape}.")
    if matrix.dtype.kind == "O" or matrix.dtype == np.float16:
        raise ValueError(f"`{name}` has type {matrix.dtype}, which scipy has no loops for.")
    try:
        real_input(getattr(matrix, "data", 0), "data")
        made = _with_sound_parts(matrix).tocsr()
        made.check_format(full_check=True)
        return canonical(made)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"`{name}` is a damaged sparse matrix ({error}); build it again."
        ) from error


def _with_sound_parts(matrix: Any) -> Any:
    """Return a sparse matrix that can be converted: scipy's loops look at no length or index."""
    if matrix.format == "coo" and matrix.nnz:
        for axis, size in zip((matrix.row, matrix.col), matrix.shape, strict=True):
            indices(axis, "coordinates", matrix.nnz, size)
    elif matrix.format == "lil":
        lengths = [list(map(len, part)) for part in (matrix.rows, matrix.data)]
        if lengths[0] != lengths[1] or len(lengths[0]) != matrix.shape[0]:
            raise ValueError("there are not as many indices as values")
    elif matrix.format == "dia":
        return type(matrix)((matrix.data, matrix.offsets), shape=matrix.shape)
    elif matrix.format in ("csr", "csc", "bsr"):  # anew: what it says about its order may be old
        parts = matrix.data, matrix.indices, matrix.indptr
        matrix = type(matrix)(parts, shape=matrix.shape)
        ends = matrix.indptr  # scipy looks at none of them if the last is not positive
        if (ends[1:] < ends[:-1]).any():
            raise ValueError("its pointers must not decrease")
        matrix.check_format(full_check=True)
    return matrix


def canonical(matrix: Any) -> Any:
    """Return a CSR matrix without repeated entries, a copy if it had some."""
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def unmasked(value: Any) -> Any:
    """Return a masked array with NaN, or None if it is of objects, where it was masked."""
    if isinstance(value, list | tuple) and any(isinstance(x, np.ma.MaskedArray) for x in value):
        value = np.ma.array(value)
    if not isinstance(value, np.ma.MaskedArray):
        return value
    numeric = value.dtype.kind in "biuf"
    found = np.array(value.data, dtype=np.float64 if numeric else object)
    found[np.ma.getmaskarray(value)] = np.nan if numeric else None
    return found


def number_array(value: Any, name: str, dtype: Any = np.float64) -> NDArray[Any]:
    """Return `value` as a float array."""
    real_input(value, name)
    try:
        return np.asarray(value, dtype=dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"`{name}` must be an array of numbers, got {type(value)!r}.") from error


def finite_array(value: Any, name: str, ndim: int, dtype: Any = np.float64) -> NDArray[np.float64]:
    """Return `value` as a non-empty float array with `ndim` axes and without NaN or infinity."""
    array = number_array(value, name, dtype)
    if array.ndim != ndim:
        raise ValueError(f"`{name}` must have {ndim} axes, got shape {array.shape}.")
    if array.size == 0:
        raise ValueError(f"`{name}` must not be empty, got shape {array.shape}.")
    if not np.isfinite(array).all():
        bad = int(array.size - np.isfinite(array).sum())
        raise ValueError(f"`{name}` must be finite, got {bad} NaN or infinite entries; drop them.")
    return array


def moderate_array(
    value: Any, name: str, ndim: int, dtype: Any = np.float64
) -> NDArray[np.float64]:
    """Return a finite array, zero or with largest |value| in [1e-50, 1e50]: squares are safe.

    In single precision the limits are 1e-15 and 1e15.
    """
    array = finite_array(value, name, ndim, dtype)
    largest, power = float(max(array.max(), -array.min())), 15 if dtype == np.float32 else 50
    if largest and not 10.0**-power <= largest <= 10.0**power:
        raise ValueError(
            f"`{name}` must have its largest absolute value between 1e-{power} and 1e{power}, got "
            f"{largest!r}; rescale it{' or pass float64' * (power < 50)}."
        )
    return array


def not_huge(array: NDArray[Any], name: str) -> None:
    """Raise if a number is above 1e50 or below -1e50: products with it may overflow."""
    largest = float(max(np.nanmax(array, initial=0), -np.nanmin(array, initial=0)))
    if largest > 1e50:
        raise ValueError(f"`{name}` must lie between -1e50 and 1e50, got {largest:g}; rescale it.")


def moderate(value: Any, name: str) -> float:
    """Return `value` as a float between 1e-50 and 1e50, whose powers stay in the float range."""
    number = positive(value, name)
    if not 1e-50 <= number <= 1e50:
        raise ValueError(f"`{name}` must lie between 1e-50 and 1e50, got {value!r}; rescale it.")
    return number


def indices(value: Any, name: str, size: int, end: int) -> NDArray[np.int64]:
    """Return `size` whole numbers in [0, end)."""
    array = np.asarray(real_input(value, name))
    if array.shape != (size,):
        raise ValueError(f"`{name}` must have one index per value, ({size},), got {array.shape}.")
    if array.dtype.kind not in "iu":
        raise TypeError(f"`{name}` must be integers, got {array.dtype}.")
    if array.min() < 0 or array.max() >= end:
        raise ValueError(f"`{name}` must lie in [0, {end}), got {array.min()} to {array.max()}.")
    return array.astype(np.int64)


def one_weight_each(value: Any, name: str, size: int, item: str = "row") -> NDArray[np.float64]:
    """Return one weight per item, none of them negative and some positive."""
    array = moderate_array(value, name, 1)
    if array.shape != (size,):
        raise ValueError(f"`{name}` must have one weight per {item}, ({size},), got {array.shape}.")
    if array.min() < 0:
        raise ValueError(f"`{name}` must not be negative, got {float(array.min())!r}.")
    if array.max() == 0:
        raise ValueError(f"`{name}` must have a positive entry, got zeros only: nothing counts.")
    return array


def same_count(n_points: int, n_labelled: int, features: str = "X", labels: str = "Y") -> None:
    """Raise unless there are as many rows of labels as points."""
    if n_points != n_labelled:
        raise ValueError(
            f"`{features}` and `{labels}` must have the same number of rows, one per point, "
            f"got {n_points} and {n_labelled}."
        )


def distribution(value: Any, name: str) -> NDArray[np.float64]:
    """Return `value` as a vector of positive probabilities that sum to one."""
    array = finite_array(value, name, 1)
    if (array <= 0).any():
        raise ValueError(f"`{name}` must be positive everywhere, got {array.min()!r}.")
    # A sum of at most 1e6 rounded terms is off by less than 1e-9; a larger error is not rounding.
    if abs(array.sum() - 1) > 1e-9:
        raise ValueError(f"`{name}` must sum to 1, got {array.sum()!r}; divide it by its sum.")
    return np.asarray(array / array.sum())


def one_of(value: _Choice, name: str, choices: Collection[_Choice]) -> _Choice:
    """Return `value`, which must be among `choices`."""
    if value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"`{name}` must be one of {listed}, got {value!r}.")
    return value


def generator(rng: Any) -> np.random.Generator:
    """Return `rng`, which must be a numpy Generator; there is no global seed."""
    if not isinstance(rng, np.random.Generator):
        raise TypeError(
            f"`rng` must be a numpy Generator, got {type(rng).__name__}; "
            "make one with numpy.random.default_rng(seed)."
        )
    return rng


def solver_seed(random_state: Any) -> int | np.random.Generator:
    """Return what `numpy.random.default_rng` takes, from an int, RandomState, Generator or None."""
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(np.iinfo(np.int32).max))
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, bool) or not isinstance(random_state, numbers.Integral):
        raise TypeError(
            "`random_state` must be None, a whole number, a RandomState or a Generator, got "
            f"{random_state!r}."
        )
    if random_state < 0:
        raise ValueError(f"`random_state` must not be negative, got {random_state!r}.")
    return int(random_state)
