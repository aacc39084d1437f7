"""The compiled loops over observed entries, for masks too sparse to compute all of X Z."""

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.int64]


def _predict(X: Array, Z_rows: Array, rows: Index, columns: Index) -> Array:
    """Return x_i . z_l at each entry (i, l); `Z_rows` holds z_l as row l."""
    predictions = np.empty(rows.size)
    for e in range(rows.size):
        total = 0.0
        x, z = X[rows[e]], Z_rows[columns[e]]
        for j in range(x.size):
            total += x[j] * z[j]
        predictions[e] = total
    return predictions


def _spread(X: Array, slopes: Array, rows: Index, columns: Index, n_labels: int) -> Array:
    """Return (X^T D)^T, the (L, d) sum over entries of slope times x_i in row l."""
    gradient = np.zeros((n_labels, X.shape[1]))
    for e in range(rows.size):
        x, target, slope = X[rows[e]], gradient[columns[e]], slopes[e]
        for j in range(x.size):
            target[j] += slope * x[j]
    return gradient


def _curve(X: Array, E_rows: Array, curvatures: Array, rows: Index, columns: Index) -> Array:
    """Return (X^T (c * (X E)))^T, reading each point once."""
    image = np.zeros_like(E_rows)
    for e in range(rows.size):
        x, direction, target = X[rows[e]], E_rows[columns[e]], image[columns[e]]
        total = 0.0
        for j in range(x.size):
            total += x[j] * direction[j]
        total *= curvatures[e]
        for j in range(x.size):
            target[j] += total * x[j]
    return image


# Sums may be reordered, so that they vectorise; infinities and NaN keep their meaning.
_compile = numba.njit(cache=True, fastmath={"reassoc", "contract"})
predict: Any = _compile(_predict)
spread: Any = _compile(_spread)
curve: Any = _compile(_curve)
