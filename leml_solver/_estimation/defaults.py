r"""The penalty, the rank and the scale of rows that are set from the data, for users who give none.

The penalty pulls the best ridge regression towards zero as strongly as ridge regression itself
does. With the ridge weight :math:`\alpha` of least leave-one-out error and its coefficients Z,
the two pulls along Z are equal when :math:`\mu |Z|_{tr} = \alpha |Z|_F^2`. Rows are divided by
their norms if that lowers the leave-one-out error of ridge regression.
"""

from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import normalize

from argument_checks import finite_array
from leml_solver._estimation.blocks import dense
from leml_solver._linalg.factors import eigenvectors
from leml_solver._linalg.threads import one_blas_thread
from leml_solver.labels import Labels
from leml_solver.losses import LOSSES, Loss, as_loss

Array = NDArray[np.float64]
# The eigenvalues of the Gram matrix of so many rows take a fraction of a second.
_ROWS = 500
# The penalty sets to zero what the data do not support, and more columns cost time and memory.
_RANKS, _SIZE = (200, 500), 1 << 24
# Ridge weights relative to the largest eigenvalue, down to where rounding hides eigenvalues.
_WEIGHTS = 3.0 ** np.arange(-27, 5)
# Random combinations of labels that stand for them all in a sum of squared errors.
_COMBINATIONS = 32
_EPS = float(np.finfo(np.float64).eps)


def default_rank(width: int, labels: Labels) -> int:
    """Return min(columns of X, labels, 500): the penalty, not the rank, is to limit the model.

    Beyond 200 only as many as let W, H and X W hold at most 2^24 numbers.
    """
    n, n_labels = labels.shape
    fitting = _SIZE // (n + width + n_labels)
    return min(width, n_labels, int(np.clip(fitting, *_RANKS)))


@one_blas_thread()
def default_penalty(
    features: Callable[[Any], Any],
    labels: Labels,
    loss: str | Loss,
    *,
    intercept: bool,
    weights: Array | None = None,
    kernel: bool = False,
    unit_rows: tuple[bool, ...] = (False,),
) -> tuple[float, bool]:
    """Return the penalty that pulls as strongly as the best ridge, and whether rows get norm 1.

    A missing label counts as the mean of its label. A loss whose slope at zero differs by c
    between the labels 0 and 1 has c times the noise of the squared loss in its gradient, and gets
    c times the penalty. At most 500 rows are used, drawn by a fixed seed.

    `features` gives, from row numbers, the features of those rows, or with `kernel` the matrix of
    their kernels. Left out is a whole row, or one of as many as its positive weight says.
    `unit_rows` says whether rows may be taken as they are (False), divided by their norms (True),
    or both, of which the lower leave-one-out error decides.
    """
    known = labels.observed_rows
    if known.size > _ROWS:
        known = np.sort(np.random.default_rng(0).choice(known, _ROWS, replace=False))
    Y = _filled(labels.take(known), intercept)
    roots = np.ones(known.size) if weights is None else np.sqrt(weights[known])
    X, found = features(known), []
    for unit in unit_rows:
        spectrum = _spectrum(normalize(X) if unit else X, roots, intercept, kernel)
        ridge = _Ridge(*spectrum, _scaled(Y, roots), roots, intercept)
        found.append((*ridge.best(), unit, ridge))
    _, alpha, unit, ridge = min(found, key=itemgetter(0))
    kind = LOSSES.get(loss) if isinstance(loss, str) else as_loss(loss)
    return _slope_difference(kind) * ridge.pull(alpha), unit


@dataclass(frozen=True, eq=False)
class _Ridge:
    """Ridge regression of all labels in the left singular vectors of the features."""

    eigenvalues: Array  # (r,): squared singular values of the features, in increasing order
    vectors: Array  # (n, r): left singular vectors, of sum zero if there is an intercept
    Y: Any  # (n, L): labels, rows times the roots of their weights as those of the features
    roots: Array  # (n,): roots of the weights of rows
    intercept: bool  # whether each label has one

    def pull(self, alpha: float) -> float:
        """Return alpha |Z|_F^2 / |Z|_tr; 1 if Z is zero."""
        if not self.eigenvalues.size:
            return 1.0
        scale = np.sqrt(self.eigenvalues) / (self.eigenvalues + alpha)
        squares = np.linalg.eigvalsh(scale[:, None] * self._label_gram() * scale)
        # What rounding leaves of a zero eigenvalue would count by its square root.
        floor = len(squares) * _EPS * squares[-1]
        singular = np.sqrt(np.where(squares > floor, squares, 0.0))
        total = float(singular.sum())
        return float(alpha * np.square(singular).sum() / total) if total > 0 else 1.0

    def best(self) -> tuple[float, float]:
        """Return the least leave-one-out error and its alpha."""
        Y = self._combined()
        inside = self.vectors.T @ Y
        outside = Y - self.vectors @ inside
        squares = np.square(self.vectors)
        weights = np.square(self.roots)
        spent = squares.sum(axis=1) + (weights / weights.sum() if self.intercept else 0.0)
        copies = np.maximum(weights, 1.0)

        def error(alpha: float) -> float:
            left = alpha / (self.eigenvalues + alpha)
            residual = outside + self.vectors @ (left[:, None] * inside)
            leverage_left = np.maximum(1.0 - (spent - squares @ left) / copies, _EPS)
            return float(np.square(residual / leverage_left[:, None]).sum())

        size = float(self.eigenvalues[-1]) if self.eigenvalues.size else 1.0
        return min((error(size * weight), size * weight) for weight in _WEIGHTS.tolist())

    def _combined(self) -> Array:
        """Return the labels, or random combinations of many, less their means for an intercept."""
        Y = self.Y
        if Y.shape[1] > _COMBINATIONS:
            Y = Y @ np.random.default_rng(0).choice((-1.0, 1.0), (Y.shape[1], _COMBINATIONS))
        values = dense(Y).astype(np.float64)
        return _centred(values, self.roots) if self.intercept else values

    def _label_gram(self) -> Array:
        """Return U^T Y Y^T U for the singular vectors U; n x n numbers if there are many labels."""
        if self.Y.shape[1] <= len(self.vectors):
            inside = np.asarray(self.Y.T @ self.vectors)
            return np.asarray(inside.T @ inside)
        return np.asarray(self.vectors.T @ _gram(self.Y) @ self.vectors)


def _spectrum(X: Any, roots: Array, centre: bool, kernel: bool) -> tuple[Array, Array]:
    """Return the eigenvalues of X X^T, or of the kernel matrix X, and their eigenvectors.

    Rows of X, and rows and columns of kernels, are multiplied by `roots`.
    """
    n, d = X.shape
    if kernel or d >= n:
        K = finite_array(X, "kernel(A, B)", 2) if kernel else _gram(X)
        K = _scaled(_scaled(K, roots).T, roots)
        values, vectors = eigenvectors(_centred(_centred(K, roots).T, roots) if centre else K)
        kept = values > n * _EPS * values[-1]
        return values[kept], vectors[:, kept]
    rows = _scaled(dense(X).astype(np.float64), roots)
    rows = _centred(rows, roots) if centre else rows
    values, directions = eigenvectors(rows.T @ rows)
    kept = values > n * _EPS * values[-1]
    return values[kept], rows @ (directions[:, kept] / np.sqrt(values[kept]))


def _scaled(A: Any, roots: Array) -> Any:
    return A.multiply(roots[:, None]).tocsr() if sparse.issparse(A) else roots[:, None] * A


def _centred(A: Array, roots: Array) -> Array:
    """Return A less its projection on `roots`: its column means, if they are all one."""
    return np.asarray(A - np.outer(roots, roots @ A / (roots @ roots)))


def _filled(labels: Labels, intercept: bool) -> Any:
    """Return the label matrix, missing entries as the mean of their label.

    With an intercept, which accounts for constant labels, those and missing entries are 0.
    """
    if labels.entries is None:
        return _varying(labels.complete) if intercept else labels.complete
    found = labels.entries.by_row
    values = labels.entries.values
    if intercept:
        counts = np.bincount(found.indices, minlength=labels.shape[1])
        sums = np.bincount(found.indices, values, minlength=labels.shape[1])
        means = (sums / np.maximum(counts, 1))[found.indices]
        values = _unrounded(values - means, means, labels.shape[0])
    return sparse.csr_array((values, found.indices, found.indptr), shape=labels.shape)


def _varying(Y: Any) -> Any:
    """Return Y with zeros in the columns that are constant up to rounding."""
    lowest, highest = (dense(extreme(axis=0)).ravel() for extreme in (Y.min, Y.max))
    varies = _unrounded(highest - lowest, highest, Y.shape[0]) != 0
    return Y.multiply(varies).tocsr() if sparse.issparse(Y) else Y * varies


def _unrounded(differences: Array, values: Array, n: int) -> Array:
    """Return differences of values, 0 where n roundings of the values are as large."""
    return np.where(np.abs(differences) <= n * _EPS * np.abs(values), 0.0, differences)


def _gram(A: Any) -> Array:
    return dense(A @ A.T).astype(np.float64)


def _slope_difference(loss: Loss | None) -> float:
    """Return how much the slope at zero differs between the labels 0 and 1."""
    if loss is None:  # an unknown name, which the solver refuses with the list of the known ones
        return 1.0
    slopes = loss.derivative(loss.encode(np.array([0.0, 1.0])), np.zeros(2))
    return abs(float(slopes[1] - slopes[0]))
