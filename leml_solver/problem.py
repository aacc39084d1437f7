"""An empirical risk: a loss, the features X, and the observed labels with their weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from argument_checks import finite_array, moderate_array, positive, real_input, same_count
from leml_solver._lazy import cached_property
from leml_solver.labels import EntryList, Labels, as_labels
from leml_solver.losses import Loss, as_loss

if TYPE_CHECKING:
    from leml_solver._linalg.matrices import Matrix

Array = NDArray[np.float64]
Index = NDArray[np.int64]

# Share of observed entries from which one dense product is cheaper than a loop over entries.
_DENSE_SHARE = 0.2


@dataclass(frozen=True, eq=False)
class Problem:
    """The weighted sum of losses over observed entries, as a function of Z (d, L).

    Both solvers take it: `minimise` over a ball, `fit_problem` with a penalty. What only one of
    them needs, such as the list of entries, is computed when it is first needed.

    Parameters
    ----------
    loss : Loss or str
        One of `LOSSES.values()`, or its name.
    features : (n, d) array or sparse matrix
        One row per point; float32 is kept, everything else becomes float64.
    labels : (n, L) array, sparse matrix or Labels
        NaN in an array is a missing label, a sparse matrix is fully known. `Labels.observed` lists
        entries, which may be repeated (sampling with replacement) and weighted. {0, 1} is turned
        into {-1, +1} for a binary loss.
    labels_per_point : float or None
        s, the risk being the objective over n s; None means the total weight over n.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import Problem
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> problem = Problem("squared", X, np.array([[1.0, np.nan], [0.0, 2.0]]))
    >>> problem.objective(np.zeros((2, 2)))
    2.5
    >>> problem.gradient(np.zeros((2, 2)))
    array([[-1.,  0.],
           [ 0., -2.]])
    """

    loss: Loss
    features: Any
    labels: Labels
    labels_per_point: Any = None

    def __post_init__(self) -> None:
        loss, labels = as_loss(self.loss), as_labels(self.labels)
        features = checked_features(self.features)
        same_count(features.shape[0], labels.shape[0])
        if loss.binary:
            loss.encode(labels.known_values())  # raises the loss's own error
        per_point = self.labels_per_point
        if per_point is None:
            per_point = labels.total_weight / labels.shape[0]
        object.__setattr__(self, "loss", loss)
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "labels_per_point", positive(per_point, "labels_per_point"))

    @classmethod
    def from_dense(
        cls, loss: Loss, X: Any, Y: Any, *, labels_per_point: float | None = None
    ) -> Problem:
        """Build a problem from an (n, L) matrix of labels in which NaN means missing."""
        return cls(loss, X, Labels.with_missing(Y), labels_per_point)

    def astype(self, dtype: str | None) -> Problem:
        """Return the problem with features in single or double precision; None changes nothing."""
        if dtype is None or self.features.dtype == dtype:
            return self
        return Problem(self.loss, self.features.astype(dtype), self.labels, self.labels_per_point)

    def take(self, rows: Index) -> Problem:
        """Return the problem of some points, in increasing order."""
        labels = self.labels.take(rows)
        return Problem(self.loss, self.features[rows], labels, self.labels_per_point)

    @cached_property
    def matrix(self) -> Matrix:
        """X as an operator on tall factors, in its own precision."""
        from leml_solver._linalg.matrices import as_matrix  # numba takes half a second to import

        return as_matrix(self.features, self.features.dtype)

    @cached_property
    def X(self) -> Array:
        """The features as a dense array in double precision."""
        dense = self.features.toarray() if sp.issparse(self.features) else self.features
        return np.ascontiguousarray(dense, dtype=np.float64)

    @cached_property
    def n_labels(self) -> int:
        """L."""
        return self.labels.shape[1]

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Return (d, L), the shape of Z."""
        return int(self.features.shape[1]), self.n_labels

    @cached_property
    def _entries(self) -> EntryList:
        return _sorted_by_label(self.labels)

    @cached_property
    def rows(self) -> Index:
        """Point of each entry; entries are sorted by label, then by point."""
        return self._entries.rows

    @cached_property
    def columns(self) -> Index:
        """Label of each entry."""
        return self._entries.columns

    @cached_property
    def values(self) -> Array:
        """Label value of each entry, as the loss needs it."""
        return self.loss.encode(self._entries.values)

    @cached_property
    def weights(self) -> Array:
        """Weight of each entry."""
        weights = self._entries.weights
        return np.ones(self.rows.size) if weights is None else weights

    @cached_property
    def is_full(self) -> bool:
        """Whether every entry is observed exactly once with weight one."""
        if self.labels.is_full:
            return True
        size = self.labels.shape[0] * self.n_labels
        return self.rows.size == size and self.multiplicity == 1 and bool((self.weights == 1).all())

    @cached_property
    def multiplicity(self) -> int:
        """How often the most repeated entry is listed."""
        changes = np.flatnonzero(np.diff(self._flat, prepend=-1, append=-1))
        return int(np.diff(changes).max())

    @cached_property
    def largest_count(self) -> int:
        """Number of entries of the most observed label."""
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
        return self.labels.n_observed >= _DENSE_SHARE * self.labels.shape[0] * self.n_labels

    @cached_property
    def _flat(self) -> Index:
        """Position of each entry in an (L, n) array, so that sorted entries are read in order."""
        return np.asarray(self.columns * self.labels.shape[0] + self.rows)

    @cached_property
    def label_matrix(self) -> Array:
        """Labels as an (n, L) matrix; only when every entry is observed once."""
        return self.values.reshape(self.n_labels, -1).T

    def check_shape(self, Z: Any, name: str = "Z") -> Array:
        """Return Z as an array; it must be finite and of shape (d, L)."""
        array = finite_array(Z, name, 2)
        if array.shape != self.shape:
            raise ValueError(f"`{name}` must have shape {self.shape}, got {array.shape}.")
        return array

    def predictions(self, Z: Array) -> Array:
        """Return x_i . z_l at each entry."""
        if self._is_dense:
            return np.asarray((Z.T @ self.X.T).ravel()[self._flat])
        from leml_solver._exact.entry_loops import predict  # numba takes half a second to import

        return np.asarray(predict(self.X, np.ascontiguousarray(Z.T), self.rows, self.columns))

    def adjoint(self, slopes: Array) -> Array:
        """Return X^T D (d, L), D holding `slopes` at the entries (summed where one is repeated)."""
        n, L = self.labels.shape
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
        return self.adjoint(self.weights * self.slopes(self.check_shape(Z)))


def _sorted_by_label(labels: Labels) -> EntryList:
    n, L = labels.shape
    if labels.known is None:
        Y = labels.complete.toarray() if sp.issparse(labels.complete) else labels.complete
        points, columns = np.tile(np.arange(n), L), np.repeat(np.arange(L), n)
        return EntryList(points, columns, Y.T.ravel(), None)
    found = labels.known
    keys = found.columns.astype(np.uint16) if L <= 1 << 16 else found.columns  # sorted faster
    order = np.lexsort((found.rows, keys))
    return EntryList(
        found.rows[order].astype(np.int64),
        found.columns[order].astype(np.int64),
        found.values[order],
        None if found.weights is None else found.weights[order],
    )


def checked_features(X: Any, dtype: Any = None, name: str = "X") -> Any:
    """Return X as an array or a CSR matrix, by default in float32 if X is, else in float64."""
    X = real_input(X, name)
    dtype = dtype or (np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64)
    if not sp.issparse(X):
        return np.require(moderate_array(X, name, 2, dtype), None, ["C", "A"])
    if min(X.shape) == 0:
        raise ValueError(f"`{name}` must not be empty, got shape {X.shape}.")
    if X.nnz:
        moderate_array(X.data, name, 1, dtype)
    return X.astype(dtype, copy=False)
