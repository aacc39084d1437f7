"""What a user passes as y, as the solver takes it, with what gives answers the same form."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from argument_checks import not_huge, real_input, unmasked
from leml_solver.labels import Labels

Array = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """Labels to fit, and how they were given."""

    labels: Labels  # one column per label; 0/1 for classes
    n_rows: int  # rows of y
    # "binary" and "multiclass" for a vector of classes, "multilabel" for a matrix of them; "vector"
    # and "matrix" for numbers.
    kind: str
    # Sorted classes of a vector, the two values of a matrix's entries; None for numbers.
    known_values: Array | None = None
    rows: Array | None = None  # the rows that have a label, if a vector has missing ones
    sparse: bool = False  # whether the matrix was sparse, so that predictions are too
    names: Any = None  # columns of a DataFrame, which predictions keep
    weights: Array | None = None  # of the rows
    entries: Any = None  # how much the entries of a label matrix count, an `EntryWeights`


def class_targets(y: Any, mask: Any = None, missing: Any = None) -> Targets:
    """Return classes, (n,) of any kind or (n, L) of 0/1 or -1/+1, as 0/1 labels.

    NaN, None and pandas' NA are missing; in a sparse matrix an unstored entry is 0. `mask` marks
    the entries that are observed, or `missing` those that are not.
    """
    names = getattr(y, "columns", None)
    if sparse.issparse(y):
        return _label_matrix(sparse.csr_array(real_input(y, "y")), mask, missing, None)
    values = _array(y)
    if values.ndim == 2 and (values.shape[1] != 1 or _is_binary(values)):
        return _label_matrix(as_numbers(values), mask, missing, names)
    if mask is not None or missing is not None:
        raise ValueError(
            "`mask` and `missing` go with a label matrix; in a vector of classes write NaN."
        )
    return _class_vector(values.ravel() if values.ndim == 2 else values)


def number_targets(y: Any, mask: Any = None, missing: Any = None) -> Targets:
    """Return numbers to be predicted, NaN for missing; a sparse matrix is full unless masked."""
    names = getattr(y, "columns", None)
    if sparse.issparse(y):
        matrix = sparse.csr_array(real_input(y, "y")).astype(np.float64)
        _check_finite(matrix.data)
        return Targets(_labels(matrix, mask, missing), matrix.shape[0], "matrix", sparse=True)
    values = as_numbers(_array(y))
    _check_finite(values)
    kind = "vector" if values.ndim == 1 else "matrix"
    labels = _labels(np.atleast_2d(values.T).T, mask, missing)
    return Targets(labels, values.shape[0], kind, names=names)


def _array(y: Any) -> Array:
    """Return y as an array of one or two axes, pandas' own missing values as NaN or None."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    y = real_input(unmasked(y), "y", refused="cV")
    values = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    if values.ndim not in (1, 2):
        raise ValueError(f"`y` must have one or two axes, got shape {values.shape}.")
    return values


def known_classes(y: Any) -> tuple[Array, NDArray[np.bool_]]:
    """Return a vector of classes, and which of its rows have one."""
    values = _array(real_input(y, "y", refused="cV")).ravel()
    return values, ~_missing(values)


def dense_numbers(y: Any) -> Array:
    """Return numbers as an array, NaN for missing."""
    values = as_numbers(real_input(y, "y").toarray() if sparse.issparse(y) else _array(y))
    not_huge(values, "y")
    return values


def as_numbers(values: Array) -> Array:
    """Return values as float64, what is missing as NaN."""
    real_input(values, "y")
    if values.dtype.kind in "biuf":
        return np.asarray(values, dtype=np.float64)
    missing = _missing(values)
    try:
        return np.where(missing, np.nan, values).astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"`y` must hold numbers, NaN for missing, got {values.dtype} such as "
            f"{values[~missing].ravel()[:1].tolist()}; a vector of classes may hold anything."
        ) from None


def _missing(values: Array) -> NDArray[np.bool_]:
    """Return where NaN, None or NA stand."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind != "O":
        return np.zeros(values.shape, dtype=bool)
    from pandas import isna

    return np.asarray(isna(values), dtype=bool)


def _is_binary(values: Array) -> bool:
    """Whether a single column is a label of 0/1 or -1/+1 rather than classes."""
    if values.dtype.kind not in "biuf":
        return False
    seen = set(np.unique(values[~_missing(values)]).tolist())
    return seen <= {0, 1} or seen <= {-1, 1}


def _check_finite(values: Array) -> None:
    if np.isinf(values).any():
        raise ValueError("`y` must not contain infinity; NaN stands for a missing label.")


def _class_vector(values: Array) -> Targets:
    """Return a vector of classes as one column (two classes) or one column per class."""
    missing = _missing(values)
    rows = np.flatnonzero(~missing) if missing.any() else None
    known = values if rows is None else values[rows]
    if rows is not None and all(isinstance(one, int | np.integer | np.bool_) for one in known):
        known = np.array(known.tolist())  # objects, because None or NA stood beside them
    if known.size == 0:
        raise ValueError("`y` must have an observed entry, got none: every class is missing.")
    from sklearn.utils.multiclass import check_classification_targets

    try:
        check_classification_targets(known)
        classes, codes = np.unique(known, return_inverse=True)
    except TypeError:
        kinds = " and ".join(sorted({type(value).__name__ for value in known}))
        raise ValueError(f"`y` must hold classes of one kind, got {kinds}.") from None
    if classes.size < 2:
        raise ValueError(f"`y` must have at least two classes, got one class: {classes[0]!r}.")
    if classes.size == 2:
        column = np.asarray(codes, dtype=np.float64).reshape(-1, 1)
        return Targets(Labels.full(column), values.size, "binary", classes, rows)
    shape = (codes.size, classes.size)
    hot = sparse.csr_array((np.ones(codes.size), codes.ravel(), np.arange(codes.size + 1)), shape)
    return Targets(Labels.full(hot), values.size, "multiclass", classes, rows)


def _label_matrix(Y: Any, mask: Any, missing: Any, names: Any) -> Targets:
    is_sparse = sparse.issparse(Y)
    stored = Y.data if is_sparse else Y
    _check_finite(stored)
    signs = not is_sparse and bool((stored == -1).any())
    allowed = (-1, 1) if signs else (0, 1)
    strange = ~np.isin(stored, allowed)
    if not is_sparse:
        strange &= ~np.isnan(stored)
    if strange.any():
        raise ValueError(
            "`y` must be a matrix of 0/1 labels (a dense one may be -1/+1, and have NaN for "
            f"missing; a sparse one goes with `mask`), got {stored[strange][:3].tolist()}."
        )
    dtype = Y.dtype if Y.dtype.kind in "iu" else np.int64
    zeros = np.where(np.isnan(Y), np.nan, Y > 0) if signs else Y
    labels = _labels(zeros, mask, missing)
    classes = np.array(allowed, dtype)
    return Targets(labels, Y.shape[0], "multilabel", classes, None, is_sparse, names)


def _labels(Y: Any, mask: Any, missing: Any) -> Labels:
    """Return values and mask, of observed or of missing entries, as the solver's labels."""
    if missing is not None:
        if mask is not None:
            raise ValueError("`mask` and `missing` give the same information; pass one of them.")
        return Labels.with_missing(Y, boolean(missing, "missing"))
    if mask is None:
        return Labels.full(Y) if sparse.issparse(Y) else Labels.with_missing(Y)
    observed = boolean(mask, "mask")
    if not sparse.issparse(Y) and np.isnan(Y).any():
        known = ~np.isnan(Y)
        observed = observed.multiply(known) if sparse.issparse(mask) else observed & known
    return Labels.masked(Y, observed)


def boolean(mask: Any, name: str) -> Any:
    """Return a mask, array or sparse matrix, which must be boolean."""
    mask = real_input(mask, name)
    checked: Any = mask if sparse.issparse(mask) else np.asarray(mask)
    if checked.dtype.kind != "b":
        raise ValueError(f"`{name}` must be boolean, got {checked.dtype}; write astype(bool).")
    return checked
