"""Binary relevance: one penalised linear model per label, each fitted on its own."""

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from argument_checks import one_of, positive, positive_integer
from leml_solver._linalg.matrices import as_matrix
from leml_solver.baselines._active_rows import RowSolver
from leml_solver.baselines._label_losses import CURVATURES, label_blocks
from leml_solver.baselines._label_newton import (
    LabelFits,
    NewtonOptions,
    SeparateLabels,
    fit_side_by_side,
)
from leml_solver.baselines.base import Array, Baseline, with_constant
from leml_solver.baselines.label_frequencies import label_counts
from leml_solver.baselines.regression import ridge_regression
from leml_solver.labels import Labels
from leml_solver.metrics import loss_threshold

# The best constant prediction (nearly, for the logistic loss) from positives and observations.
_CONSTANTS: dict[str, Callable[[Array, Array], Array]] = {
    "squared": lambda positives, observed: positives / np.maximum(observed, 1),
    "logistic": lambda positives, observed: np.log(
        (positives + 0.5) / (observed - positives + 0.5)
    ),
    "squared_hinge": lambda positives, observed: (
        (2 * positives - observed) / np.maximum(observed, 1)
    ),
}


@dataclass(eq=False, repr=False)
class BinaryRelevanceClassifier(Baseline):
    r"""One linear model per label, fitted to the rows where that label is known.

    Minimises :math:`\sum_{(i,l) \in \Omega} \ell(y_{il}, x_i^T z_l + b_l) + \frac{\mu}{2}
    \|Z\|_F^2`. A missing label is absent from the sum, as in the paper. The squared loss is
    :math:`(y - f)^2 / 2` on 0/1; the others are on signs.

    With the squared loss and every label known, one Cholesky factorisation of X^T X (of X X^T if
    that is smaller) serves all labels. Otherwise truncated Newton methods run side by side, one per
    label.

    Paper: Section 5.2.

    Parameters
    ----------
    loss : str
        "squared", "logistic" or "squared_hinge".
    penalty : float
        Weight of half the squared norm relative to the *sum* of losses; scikit-learn's 1 / C.
    fit_intercept : bool
        Fit an unpenalised intercept for each label.
    max_iter : int
        Newton steps.
    tol : float
        A label has converged when its gradient is this share of that at the best constant
        prediction, in the norm of the Hessian's diagonal.

    Attributes
    ----------
    Z_ : (d, L) array
    intercept_ : (L,) array
        Zeros without an intercept.
    objective_ : float
    n_iter_ : int
        Newton steps taken, the most of any label.
    gradient_norms_ : (L,) array
        What is left of each label's gradient; above `tol` where it has not converged.
    converged_ : bool
        Whether no label is above `tol`. If one is, `fit` warns.
    """

    takes_missing: ClassVar[bool] = True

    _: KW_ONLY
    loss: str = "squared"
    penalty: float = 1.0
    fit_intercept: bool = True
    max_iter: int = 100
    tol: float = 1e-4

    def _fit(self, X: Any, labels: Labels) -> None:
        self._threshold = loss_threshold(one_of(self.loss, "loss", tuple(_CONSTANTS)))
        positive(self.penalty, "penalty")
        options = NewtonOptions(
            positive_integer(self.max_iter, "max_iter"), positive(self.tol, "tol")
        )
        self._keep(self._fit_labels(X, labels, options))

    def _fit_labels(self, X: Any, labels: Labels, options: NewtonOptions) -> list[LabelFits]:
        joined = with_constant(X, bool(self.fit_intercept))
        squared = joined.power(2) if sparse.issparse(joined) else np.square(joined)
        features, squares = as_matrix(joined), as_matrix(squared)
        penalties = np.full(features.shape[1], float(self.penalty))
        start = np.zeros((features.shape[1], labels.shape[1]))
        if self.fit_intercept:
            penalties[-1], start[-1] = 0.0, _CONSTANTS[self.loss](*label_counts(labels))
        rows, guess, fits = self._row_solver(X), self._closed_form(X, labels), []
        for part, signs in label_blocks(labels):
            problem = SeparateLabels(features, squares, penalties, self.loss, signs)
            solved = None if guess is None else guess[:, part]
            fits.append(fit_side_by_side(problem, start[:, part], options, guess=solved, rows=rows))
        return fits

    def _row_solver(self, X: Any) -> RowSolver | None:
        if self.loss not in CURVATURES:
            return None
        return RowSolver(X, float(self.penalty), bool(self.fit_intercept), self.loss)

    def _closed_form(self, X: Any, labels: Labels) -> Array | None:
        """Return the solution for squared loss and full labels, the intercept as last row."""
        if self.loss != "squared" or not labels.is_full:
            return None
        intercept = bool(self.fit_intercept)
        Z, b = ridge_regression(X, labels.complete, self.penalty, intercept=intercept)
        return np.vstack([Z, b]) if intercept else Z

    def _keep(self, fits: list[LabelFits]) -> None:
        """Store what was fitted, and warn of labels that have not converged."""
        W = np.hstack([fit.W for fit in fits])
        self.Z_, self.intercept_ = W, np.zeros(W.shape[1])
        if self.fit_intercept:
            self.Z_, self.intercept_ = W[:-1].copy(), W[-1].copy()
        self.objective_ = float(sum(fit.objectives.sum() for fit in fits))
        self.n_iter_ = max(1, *(fit.steps for fit in fits))
        self.gradient_norms_ = np.concatenate([fit.gradients for fit in fits])
        late = int(np.count_nonzero(self.gradient_norms_ > self.tol))
        self.converged_ = late == 0
        if late:
            warnings.warn(
                f"Labels not converged in {self.n_iter_} Newton steps: {late}. What is left of "
                f"their gradients is up to {self.gradient_norms_.max():.1e}, above tol={self.tol}; "
                "raise max_iter, tol or penalty.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _scores(self, X: Any) -> Array:
        return np.asarray(X @ self.Z_) + self.intercept_
