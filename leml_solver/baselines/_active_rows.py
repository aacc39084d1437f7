r"""Least squares on the rows that count, for labels where these are few.

The squared loss and the squared hinge are quadratic as long as the same rows A count: those that
are known, and have a margin below one. A Newton step then goes to the minimiser of
:math:`\frac{c}{2} \sum_{i \in A} (y_i - x_i^T w - b)^2 + \frac{\mu}{2} |w|^2`, which solves as many
equations as there are rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numba
import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from leml_solver._linalg.threads import parallel_map
from leml_solver.baselines._label_losses import CURVATURES, Signs

Array = NDArray[np.float64]
Apply = Callable[[Array], Array]

_STEEP = 1e10  # the trace of a system beyond which a Cholesky factor has few digits left


@dataclass(frozen=True, slots=True, eq=False)
class RowSolver:
    """Minimisers by the equations of the rows."""

    X: Any  # (n, d) array or CSR matrix: features without the constant
    penalty: float  # mu
    intercept: bool  # whether there is a b, which is not penalised
    loss: str  # "squared" or "squared_hinge"

    def minimisers(self, active: NDArray[np.bool_], signs: Signs) -> Array:
        """Return the (d, p) weights, with b as last row if there is one.

        `active` (n, p) marks the rows that count for each label, at least one.
        """
        found = parallel_map(
            lambda j: self._solve(active[:, j], signs[:, j]), range(signs.shape[1])
        )
        return np.column_stack(found)

    def _solve(self, active: NDArray[np.bool_], signs: Signs) -> Array:
        rows = np.flatnonzero(active)
        X, y = self.X[rows], signs[rows].astype(np.float64)
        if self.loss == "squared":
            y = 0.5 * (1 + y)
        weight = CURVATURES[self.loss] / self.penalty
        system = weight * _gram(X)
        inverse = _cholesky if np.trace(system) < _STEEP else _spectral
        apply, seen = inverse(system)
        b = 0.0
        if self.intercept:  # where the residual y - X w - b sums to zero
            both = apply(np.column_stack([y, np.ones(y.size)]))
            b = float(both[:, 0].sum() / both[:, 1].sum())
        w = weight * np.asarray(X.T @ seen(y - b))
        return np.append(w, b) if self.intercept else w


def _cholesky(system: Array) -> tuple[Apply, Apply]:
    """Return the product with (system + I)^-1, twice; the lower triangle is overwritten."""
    system[np.diag_indices_from(system)] += 1.0
    factor = scipy.linalg.cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
    apply = partial(scipy.linalg.cho_solve, factor, check_finite=False)
    return apply, apply


def _spectral(system: Array) -> tuple[Apply, Apply]:
    """Return the products with (system + I)^-1, and with the part of it that X^T does not annul.

    For a system so large that I is lost in its rounding.
    """
    values, U = scipy.linalg.eigh(system, lower=True, overwrite_a=True, check_finite=False)
    seen = values > values.size * np.finfo(float).eps * values[-1]
    shrink = 1 / (1 + np.where(seen, values, 0.0))
    parts = U.T * shrink[:, None], U.T * (seen * shrink)[:, None]
    return lambda v: U @ (parts[0] @ v), lambda v: U @ (parts[1] @ v)


def _gram(X: Any) -> Array:
    """Return the lower triangle of X X^T; scipy's sparse product takes four times as long."""
    if not sp.issparse(X):
        return np.asarray(X @ X.T)
    columns, gram = X.tocsc(), np.zeros((X.shape[0], X.shape[0]))
    _add_outer_products(columns.indptr, columns.indices, columns.data, gram)
    return gram


@numba.njit(cache=True, nogil=True)
def _add_outer_products(indptr: Any, indices: Any, data: Any, out: Array) -> None:
    """Add the lower triangles of the outer products of sparse columns, rows in rising order."""
    for j in range(indptr.size - 1):
        for p in range(indptr[j], indptr[j + 1]):
            row, value = out[indices[p]], data[p]
            for q in range(indptr[j], p + 1):
                row[np.uintp(indices[q])] += value * data[q]  # unsigned: no check for a sign
