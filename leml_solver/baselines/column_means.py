"""Means of columns, taken off without a loss of digits where sparse features stay sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

__all__ = ["column_means", "with_full_columns_centred"]

Array = NDArray[np.float64]


def column_means(X: Any) -> Array:
    """Return the mean of each column; of a constant one its value, so that nothing is left."""
    low, high = (_vector(ends) for ends in (X.min(axis=0), X.max(axis=0)))
    return np.where(low == high, low, _vector(X.mean(axis=0)))


def with_full_columns_centred(X: Any, means: Array) -> tuple[Any, Array]:
    """Return CSR X with the means of columns without a zero taken off, and the other means.

    Only such columns can have a mean so large that squares less its square are rounding: with one
    zero among n entries, the square of the mean is at most n times the variance.
    """
    full = np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]
    if not full.any():
        return X, means
    values = X.data - np.where(full, means, 0.0)[X.indices]
    shifted = type(X)((values, X.indices, X.indptr), shape=X.shape)
    return shifted, np.where(full, 0.0, means)


def _vector(row: Any) -> Array:
    """Return a row, sparse or not, as a vector."""
    return np.asarray(row.toarray() if sp.issparse(row) else row).ravel()
