"""What all methods that LEML is compared with share: data in, scores out."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from leml_solver._estimation.blocks import BlockScores
from leml_solver._estimation.scored import LabelClassifier, ScoredEstimator
from leml_solver._estimation.targets import class_targets
from leml_solver._linalg.threads import one_blas_thread
from leml_solver.labels import Labels

Array = NDArray[Any]


class Baseline(LabelClassifier, ScoredEstimator):
    """A multi-label classifier under the interface of `LEMLClassifier`.

    A subclass writes `_fit` and `_scores`. It sets the class attribute `takes_missing` if labels
    may be missing, and `_threshold` (of the class, or in `_fit`) if labels are predicted above a
    score other than 0.5, midway between 0 and 1.

    Attributes
    ----------
    classes_ : array
        The classes of a vector; the numbers of the labels, 0 to L - 1, for a label matrix.
    label_values_ : array
        The classes of a vector; the two values, 0 and 1 or -1 and 1, of a label matrix.
    threshold_ : float
        What is subtracted from the method's own scores, so that labels above 0 are predicted.
    unobserved_labels_ : int array
        Labels without any observed entry.
    label_names_ : pandas Index or None
        Columns of a DataFrame of labels; predictions are then DataFrames.
    n_labels_ : int
        L.
    """

    takes_missing: ClassVar[bool] = False
    _threshold: float = 0.5

    def fit(self, X: Any, y: Any, mask: Any = None) -> Self:
        """Fit to labels.

        Parameters
        ----------
        X : (n, d) array, DataFrame or sparse matrix
            Features; they become float64.
        y : (n, L) array, DataFrame or sparse matrix of 0/1, or (n,) classes
            NaN (pandas' NA, None) is a missing label, 0 never is. A sparse matrix is full.
        mask : (n, L) boolean array or sparse matrix, optional
            Which entries of y are observed; the only way to mark missing labels in a sparse matrix.
        """
        checked = self._checked(X, reset=True)
        self._fit_targets(checked, y, mask)
        self.threshold_ = float(self._threshold)
        return self

    def _fit_targets(self, X: Any, y: Any, mask: Any) -> None:
        """Check the labels, fit to the rows that have some, and keep how they were given."""
        targets = class_targets(y, mask)
        if not (self.takes_missing or targets.labels.is_full):
            raise ValueError(_missing_message(type(self).__name__, targets.labels))
        self._check_targets(X, targets)
        self.n_labels_ = targets.labels.shape[1]
        with one_blas_thread():
            self._fit(X if targets.rows is None else X[targets.rows], targets.labels)
        self._keep_targets(targets)

    def _fit(self, X: Any, labels: Labels) -> None:
        """Fit to float64 rows (array or CSR) and 0/1 labels, and set what `_scores` needs."""
        raise NotImplementedError

    def _scores(self, X: Any) -> Array:
        """Return the (m, L) scores of checked rows, before the threshold is subtracted."""
        raise NotImplementedError

    def _block_scores(self, X: Any) -> BlockScores:
        """Return the scores minus the threshold, to be made block by block."""

        def block(start: int, stop: int) -> Array:
            return np.asarray(self._scores(X[start:stop]) - self.threshold_)

        return BlockScores(block, (X.shape[0], self.n_labels_))


def with_constant(X: Any, wanted: bool) -> Any:
    """Return X (n, d), dense or CSR, with a last column of ones if that is wanted.

    It is for methods whose intercept is a weight like the others.
    """
    if not wanted:
        return X
    ones = np.ones((X.shape[0], 1))
    return sparse.hstack([X, ones], format="csr") if sparse.issparse(X) else np.hstack([X, ones])


def _missing_message(name: str, labels: Labels) -> str:
    n, n_labels = labels.shape
    return (
        f"{name} needs every label, got {n * n_labels - labels.n_observed} missing of "
        f"{n * n_labels}; fill them in, drop those rows, or use a method that allows missing "
        "labels, such as BinaryRelevanceClassifier or LEMLClassifier."
    )
