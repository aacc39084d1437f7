"""An empirical risk: a loss, the features X, and the observed labels with their weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argument_checks import finite_array, indices, moderate_array, positive, positive_integer
from leml_solver.losses import Loss

Array = NDArray[np.float64]
Index = NDArray[np.int64]

# Share of observed entries from which one dense product is cheaper than a loop over entries.
_DENSE_SHARE = 0.2


@dataclass(frozen=True, eq=False)
class Problem:
    """The weighted sum of losses over observed entries, as a function of Z (d, L).

    An entry may be listed more than once (sampling with replacement); an entry of weight zero is
    dropped. Entries are kept sorted by label, then by row.

    Parameters
    ----------
    loss : Loss
        One of `LOSSES.values()`.
    X : (n, d) array
        Features, one point a row.
    rows, columns : (m,) integer arrays
        Point and label of each observed entry.
    values : (m,) array
        The observed labels; {0, 1} is turned into {-1, +1} for a binary loss.
    weights : (m,) array or None
        How often each entry was observed; None means once.
    n_labels : int
        L, which may be larger than any observed column.
    labels_per_point : float or None
        s, by which (times n) the risk is normalised; None means total weight over n.
    """

    loss: Loss
    X: Array
    rows: Index
    columns: Index
    values: Array
    weights: Any
    n_labels: int
    labels_per_point: Any = None

    def __post_init__(self) -> None:
        if not hasattr(self.loss, "encode") or isinstance(self.loss, str):
            raise TypeError(f"`loss` must be a Loss such as LOSSES['squared'], got {self.loss!r}.")
        X = np.ascontiguousarray(moderate_array(self.X, "X", 2))
        n_labels = positive_integer(self.n_labels, "n_labels")
        values = moderate_array(self.values, "values", 1)
        rows = indices(self.rows, "rows", values.size, X.shape[0])
        columns = indices(self.columns, "columns", values.size, n_labels)
        weights = _weights(self.weights, values.size)
        order = np.lexsort((rows, columns))
        kept = order[weights[order] > 0]
        for name, array in (("rows", rows), ("columns", columns), ("weights", weights)):
            object.__setattr__(self, name, array[kept])
        per_point = (
            weights.sum() / X.shape[0] if self.labels_per_point is None else self.labels_per_point
        )
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "n_labels", n_labels)
        object.__setattr__(self, "values", self.loss.encode(values[kept]))
        object.__setattr__(self, "labels_per_point", positive(per_point, "labels_per_point"))

    @classmethod
    def from_dense(
        cls, loss: Loss, X: Any, Y: Any, *, labels_per_point: float | None = None
    ) -> Problem:
        """Build a problem from an (n, L) matrix of labels in which NaN means missing."""
        X = finite_array(X, "X", 2)
        Y = np.asarray(Y, dtype=np.float64)
        if Y.ndim != 2 or Y.shape[0] != X.shape[0]:
            raise ValueError(f"`Y` must have one row a point, ({X.shape[0]}, L), got {Y.shape}.")
        rows, columns = np.nonzero(~np.isnan(Y))
        if rows.size == 0:
            raise ValueError("`Y` must have an observed entry, got NaN everywhere.")
        return cls(loss, X, rows, columns, Y[rows, columns], None, Y.shape[1], labels_per_point)

    @property
    def shape(self) -> tuple[int, int]:
        """Return (d, L), the shape of Z."""
        return self.X.shape[1], self.n_labels

    @cached_property
    def is_full(self) -> bool:
        """Whether every entry is observed exactly once with weight one."""
        size = self.X.shape[0] * self.n_labels
        return self.rows.size == size and self.multiplicity == 1 and bool((self.weights == 1).all())

    @cached_property
    def multiplicity(self) -> int:
        """How often the most repeated entry is listed."""
        changes = np.flatnonzero(np.diff(self._flat, prepend=-1, append=-1))
        return int(np.diff(changes).max())

    @cached_property
    def largest_count(self) -> int:
        """Number of entries of the label observed most."""
        return int(np.bincount(self.columns).max())

    @cached_property
    def feature_norm(self) -> float:
        """Frobenius norm of X."""
        return float(np.linalg.norm(self.X))

    @cached_property
    def scale(self) -> float:
        """Objective at Z = 0, the unit of relative gaps."""
        return float(
            np.sum(self.weights * self.loss.value(self.values, np.zeros_like(self.values)))
        )

    @cached_property
    def _is_dense(self) -> bool:
        """Whether X Z is worth computing in full."""
        return bool(self.rows.size >= _DENSE_SHARE * self.X.shape[0] * self.n_labels)

    @cached_property
    def _flat(self) -> Index:
        """Position of each entry in an (L, n) array, so that sorted entries are read in order."""
        return np.asarray(self.columns * self.X.shape[0] + self.rows)

    @cached_property
    def labels(self) -> Array:
        """Labels as an (n, L) matrix; only when every entry is observed once."""
        return self.values.reshape(self.n_labels, -1).T

    def check_shape(self, Z: Any) -> Array:
        """Return Z as an array; it must be finite and of shape (d, L)."""
        array = finite_array(Z, "Z", 2)
        if array.shape != self.shape:
            raise ValueError(f"`Z` must have shape {self.shape}, got {array.shape}.")
        return array

    def predictions(self, Z: Array) -> Array:
        """Return x_i . z_l at each entry."""
        if self._is_dense:
            return np.asarray((Z.T @ self.X.T).ravel()[self._flat])
        from leml_solver._exact.entry_loops import predict  # numba takes half a second to import

        return np.asarray(predict(self.X, np.ascontiguousarray(Z.T), self.rows, self.columns))

    def adjoint(self, slopes: Array) -> Array:
        """Return X^T D (d, L), D holding `slopes` at the entries (summed where one is repeated)."""
        n, L = self.X.shape[0], self.n_labels
        if self._is_dense:
            D = np.bincount(self._flat, weights=slopes, minlength=n * L).reshape(L, n)
            return np.asarray((D @ self.X).T)
        from leml_solver._exact.entry_loops import spread

        return np.asarray(spread(self.X, slopes, self.rows, self.columns, L).T)

    def curve(self, E: Array, curvatures: Array) -> Array:
        """Return X^T (c * (X E)), the second derivative along E for curvatures c at the entries."""
        if self._is_dense:
            return self.adjoint(curvatures * self.predictions(E))
        from leml_solver._exact.entry_loops import curve

        E_rows = np.ascontiguousarray(E.T)
        return np.asarray(curve(self.X, E_rows, curvatures, self.rows, self.columns).T)

    def objective(self, Z: Array) -> float:
        """Return the weighted sum of losses."""
        Z = self.check_shape(Z)
        return float(np.sum(self.weights * self.loss.value(self.values, self.predictions(Z))))

    def risk(self, Z: Array) -> float:
        """Return the objective over n s, an average over observed labels."""
        return self.objective(Z) / float(self.X.shape[0] * self.labels_per_point)

    def slopes(self, Z: Array) -> Array:
        """Return the derivative of the loss at each entry, weights not included."""
        return self.loss.derivative(self.values, self.predictions(Z))

    def gradient(self, Z: Array) -> Array:
        """Return the (d, L) gradient of the objective, a subgradient for a loss with a kink."""
        return self.adjoint(self.weights * self.slopes(Z))


def _weights(value: Any, size: int) -> Array:
    """Return one weight a value, not negative and not all zero; None means ones."""
    if value is None:
        return np.ones(size)
    array = finite_array(value, "weights", 1)
    if array.shape != (size,):
        raise ValueError(f"`weights` must have one weight a value, ({size},), got {array.shape}.")
    if array.min() < 0:
        raise ValueError(f"`weights` must not be negative, got {array.min()!r}.")
    if array.max() == 0:
        raise ValueError(
            "`weights` must have a positive entry, got zeros only: nothing is observed."
        )
    return array
