"""Multi-label prediction by compressed sensing (Hsu, Kakade, Langford and Zhang, 2009)."""

import math
import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.decomposition import sparse_encode

from argument_checks import nonnegative, positive_integer, solver_seed
from leml_solver.baselines.base import Array, Baseline
from leml_solver.baselines.regression import ridge_regression
from leml_solver.labels import Labels


@dataclass(eq=False, repr=False)
class CompressedSensingClassifier(Baseline):
    r"""Regress random measurements A y of sparse labels on x, and recover y; no missing labels.

    Training: one linear regression per measurement. Prediction: the sparse y whose measurements A y
    are closest to those predicted, by orthogonal
    matching pursuit for each row.

    Choices that the original leaves open:

    * Columns of A are scaled to norm one in the recovery, so that none is preferred for its length.
    * Sparsity is the average number of labels of a training row, rounded up, unless it is given.
    * A recovered label's score is its coefficient; above 0.5, midway between 0 and 1, it is
      predicted.
    * A label that was not recovered scores by its correlation with the measurements' residual,
      :math:`a_l^T (z - A \hat y) / |a_l|^2`, the coefficient that it would have alone; in each row
      these are scaled down where needed to stay below 0.5 and below every positive coefficient
      recovered. So they rank the rest, and never outrank or join what was recovered.

    Paper: Section 5.

    Parameters
    ----------
    n_measurements : int
        m, the number of rows of A, whose entries are independent N(0, 1/m).
    sparsity : int, optional
        Labels that are recovered in a row; None for the average of the training rows.
    ridge : float
        Weight of the squared norm in the regressions, relative to the *sum* of squares.
    fit_intercept : bool
        Fit an unpenalised intercept for each measurement.
    random_state : int, RandomState, Generator or None
        Where A comes from.

    Attributes
    ----------
    measurement_matrix_ : (m, L) array
    W_ : (d, m) array
    measurement_intercept_ : (m,) array
    sparsity_ : int
    """

    n_measurements: int = 50
    _: KW_ONLY
    sparsity: int | None = None
    ridge: float = 1.0
    fit_intercept: bool = True
    random_state: Any = None

    def _fit(self, X: Any, labels: Labels) -> None:
        m, n_labels = positive_integer(self.n_measurements, "n_measurements"), labels.shape[1]
        rng = np.random.default_rng(solver_seed(self.random_state))
        A = rng.standard_normal((m, n_labels)) / np.sqrt(m)
        # More than m columns of A are dependent, so no more coefficients are determined.
        self.sparsity_ = min(self._wanted_sparsity(labels), m, n_labels)
        self.W_, self.measurement_intercept_ = ridge_regression(
            X,
            np.asarray(labels.complete @ A.T),
            nonnegative(self.ridge, "ridge"),
            intercept=bool(self.fit_intercept),
        )
        self.measurement_matrix_ = A

    def _wanted_sparsity(self, labels: Labels) -> int:
        if self.sparsity is not None:
            return positive_integer(self.sparsity, "sparsity")
        return max(1, math.ceil(float(labels.complete.sum()) / labels.shape[0]))

    def _scores(self, X: Any) -> Array:
        predicted = np.asarray(X @ self.W_) + self.measurement_intercept_
        norms = np.linalg.norm(self.measurement_matrix_, axis=0)
        atoms = np.ascontiguousarray((self.measurement_matrix_ / norms).T)
        recovered = self._recovered(predicted, atoms)
        rest = (predicted - recovered @ atoms) @ atoms.T
        return graded_scores(recovered / norms, rest / norms)

    def _recovered(self, predicted: Array, atoms: Array) -> Array:
        """Return sparse combinations of the atoms, unit vectors, close to what is predicted."""
        with warnings.catch_warnings():
            # The warning for rows whose measurements are explained before all labels are used.
            warnings.filterwarnings("ignore", "\\s*Orthogonal matching pursuit ended prematurely")
            found = sparse_encode(predicted, atoms, algorithm="omp", n_nonzero_coefs=self.sparsity_)
        return np.asarray(found)


def graded_scores(recovered: Array, rest: Array) -> Array:
    """Return recovered coefficients, and where they are zero `rest`, kept below the positive ones.

    In each row `rest`, what the other labels would have, is scaled so as to stay below one half
    and below every positive coefficient.
    """
    absent = recovered == 0
    ceiling = np.where(recovered > 0, recovered, 0.5).min(axis=1)
    largest = np.where(absent, rest, 0.0).max(axis=1, initial=0.0)
    with np.errstate(divide="ignore"):
        # A hair below the ceiling, so that equality does not depend on rounding.
        scale = np.minimum(1.0, 0.999 * np.minimum(ceiling, 0.5) / largest)
    return np.where(absent, rest * scale[:, None], recovered)
