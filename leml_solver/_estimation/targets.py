"""What a user hands in as y, in the form that the solver takes and the answers go back to."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from leml_solver.labels import Labels

__all__ = ["Targets", "Truth", "class_targets", "number_targets", "solver_seed"]


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


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """Labels 0/1 or -1/+1, of which some may be missing.

    Attributes
    ----------
    Y : (n, L) float array with NaN for missing, or CSR matrix
    mask : (n, L) boolean array or CSR matrix, or None
        Which entries are observed, beside the NaN of Y.
    """

    Y: Any
    mask: Any = None

    @classmethod
    def of(cls, Y: Any, mask: Any = None, *, shape: tuple[int, int] | None = None) -> Truth:
        """Check labels and mask, and return them ready to be cut into blocks."""
        labels = _true_labels(Y)
        for name, matrix in (("Y", labels), ("mask", mask)):
            expected = shape if shape is not None else labels.shape
            if matrix is not None and tuple(matrix.shape) != tuple(expected):
                raise ValueError(
                    f"`{name}` must have one row a point and one column a label, "
                    f"{tuple(expected)}, got {tuple(matrix.shape)}."
                )
        return cls(labels, None if mask is None else _mask(mask))

    def block(self, start: int, stop: int) -> NDArray[np.int8]:
        """Return 1 for positive, 0 for negative and -1 for missing, rows start to stop - 1."""
        Y = self.Y[start:stop]
        values = Y.toarray() if sparse.issparse(Y) else Y
        known: NDArray[np.int8] = (values > 0).astype(np.int8)
        if values.dtype.kind == "f":
            known[np.isnan(values)] = -1
        if self.mask is not None:
            mask = self.mask[start:stop]
            known[~(mask.toarray() if sparse.issparse(mask) else mask)] = -1
        return known


def _true_labels(Y: Any) -> Any:
    """Return labels as CSR or float array with values 0/1 or -1/+1."""
    if sparse.issparse(Y):
        matrix = sparse.csr_array(Y)
        _check_values(matrix.data)
        return matrix
    values = Y.to_numpy(dtype=float, na_value=np.nan) if hasattr(Y, "to_numpy") else np.asarray(Y)
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        raise ValueError(
            f"`Y` must be a matrix of 0/1 labels (NaN for missing), got shape {values.shape} of "
            f"{values.dtype}."
        )
    _check_values(values)
    return values


def _check_values(values: NDArray[Any]) -> None:
    """Raise unless the values that are not NaN are within {0, 1} or {-1, +1}."""
    low, high = (values == -1).any(), (values == 0).any()
    strange = ~((values == 1) | (values == 0) | (values == -1) | (values != values))
    if strange.any() or (low and high):
        shown = values[strange][:3].tolist() if strange.any() else [-1, 0]
        raise ValueError(
            f"`Y` must hold labels in {{0, 1}} or in {{-1, +1}}, NaN for missing, got {shown}."
        )


def _mask(mask: Any) -> Any:
    """Return a mask as CSR or array of booleans."""
    if sparse.issparse(mask):
        return sparse.csr_array(mask).astype(bool)
    values = np.asarray(mask)
    if values.dtype.kind != "b":
        raise ValueError(f"`mask` must be boolean, got {values.dtype}; write mask.astype(bool).")
    return values


Array = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """Labels to fit, and how they were given.

    Attributes
    ----------
    labels : Labels
        One column a label; 0/1 for classes.
    n_rows : int
        Rows of y.
    kind : str
        "binary" and "multiclass" for a vector of classes, "multilabel" for a matrix of them;
        "vector" and "matrix" for numbers.
    classes : array
        Sorted classes; of a matrix, the two values of its entries.
    rows : array or None
        The rows that have a label at all, where a vector leaves some out.
    sparse : bool
        Whether the matrix was sparse, so that predictions are too.
    names : pandas Index or None
        Columns of a DataFrame, which predictions take over.
    """

    labels: Labels
    n_rows: int
    kind: str
    classes: Array
    rows: Array | None = None
    sparse: bool = False
    names: Any = None


def class_targets(y: Any, mask: Any = None) -> Targets:
    """Return classes as 0/1 labels.

    Parameters
    ----------
    y : (n,) classes, or (n, L) array, DataFrame or sparse matrix of 0/1 or -1/+1
        NaN, None and pandas' NA are missing; in a sparse matrix an unstored entry is 0.
    mask : (n, L) boolean array or sparse matrix, optional
        Entries that are observed.
    """
    names = getattr(y, "columns", None)
    if sparse.issparse(y):
        return _label_matrix(sparse.csr_array(y), mask, None)
    values = _array(y)
    if values.ndim == 2 and (values.shape[1] != 1 or _is_binary(values)):
        return _label_matrix(_numbers(values), mask, names)
    if mask is not None:
        raise ValueError("`mask` goes with a label matrix; in a vector of classes write NaN.")
    return _class_vector(values.ravel() if values.ndim == 2 else values)


def number_targets(y: Any, mask: Any = None) -> Targets:
    """Return numbers to be predicted, NaN for missing; a sparse matrix is full unless masked."""
    names = getattr(y, "columns", None)
    if sparse.issparse(y):
        matrix = sparse.csr_array(y).astype(np.float64)
        _check_finite(matrix.data)
        return Targets(_labels(matrix, mask), matrix.shape[0], "matrix", np.empty(0), sparse=True)
    values = _numbers(_array(y))
    _check_finite(values)
    kind = "vector" if values.ndim == 1 else "matrix"
    labels = _labels(np.atleast_2d(values.T).T, mask)
    return Targets(labels, values.shape[0], kind, np.empty(0), names=names)


def _array(y: Any) -> Array:
    """Return y as an array of one or two axes, pandas' own missing values as NaN or None."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    values = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    if values.ndim not in (1, 2):
        raise ValueError(f"`y` must have one or two axes, got shape {values.shape}.")
    return values


def _numbers(values: Array) -> Array:
    """Return values as float64, what is missing as NaN."""
    if values.dtype.kind in "biuf":
        return values.astype(np.float64, copy=False)
    missing = _missing(values)
    try:
        return np.where(missing, np.nan, values).astype(np.float64)
    except (TypeError, ValueError):
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
    """Raise on infinity."""
    if np.isinf(values).any():
        raise ValueError("`y` must not contain infinity; NaN stands for a missing label.")


def _class_vector(values: Array) -> Targets:
    """Return a vector of classes as one column (two classes) or one column a class."""
    missing = _missing(values)
    rows = np.flatnonzero(~missing) if missing.any() else None
    known = values if rows is None else values[rows]
    if known.size == 0:
        raise ValueError("`y` must have an observed entry, got none: every class is missing.")
    from sklearn.utils.multiclass import check_classification_targets

    check_classification_targets(known)
    classes, codes = np.unique(known, return_inverse=True)
    if classes.size < 2:
        raise ValueError(f"`y` must have at least two classes, got one class: {classes[0]!r}.")
    if classes.size == 2:
        column = np.asarray(codes, dtype=np.float64).reshape(-1, 1)
        return Targets(Labels.full(column), values.size, "binary", classes, rows)
    shape = (codes.size, classes.size)
    hot = sparse.csr_array((np.ones(codes.size), codes.ravel(), np.arange(codes.size + 1)), shape)
    return Targets(Labels.full(hot), values.size, "multiclass", classes, rows)


def _label_matrix(Y: Any, mask: Any, names: Any) -> Targets:
    """Return a matrix of 0/1 or -1/+1 as labels."""
    is_sparse = sparse.issparse(Y)
    stored = Y.data if is_sparse else Y
    _check_finite(stored)
    signs = bool((stored == -1).any())
    allowed = (-1, 1) if signs else (0, 1)
    strange = ~(np.isin(stored, allowed) | np.isnan(stored))
    if strange.any() or (is_sparse and np.isnan(stored).any()) or (is_sparse and signs):
        raise ValueError(
            "`y` must be a matrix of 0/1 labels (a dense one may be -1/+1, and have NaN for "
            f"missing; a sparse one goes with `mask`), got {stored[strange][:3].tolist()}."
        )
    dtype = Y.dtype if Y.dtype.kind in "iu" else np.int64
    zeros = np.where(np.isnan(Y), np.nan, Y > 0) if signs else Y
    labels = _labels(zeros, mask)
    classes = np.array(allowed, dtype)
    return Targets(labels, Y.shape[0], "multilabel", classes, None, is_sparse, names)


def _labels(Y: Any, mask: Any) -> Labels:
    """Return values and mask as the solver's labels."""
    if mask is None:
        return Labels.full(Y) if sparse.issparse(Y) else Labels.with_missing(Y)
    observed: Any = mask if sparse.issparse(mask) else np.asarray(mask)
    if observed.dtype.kind != "b":
        raise ValueError(f"`mask` must be boolean, got {observed.dtype}; write mask.astype(bool).")
    if not sparse.issparse(Y) and np.isnan(Y).any():
        known = ~np.isnan(Y)
        observed = observed.multiply(known) if sparse.issparse(mask) else observed & known
    return Labels.masked(Y, observed)
