"""Label space transformations: labels compressed by orthonormal directions, codes by regression.

Principal (Tai and Lin, 2012) and conditional principal ones (Chen and Lin, 2012).
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from argument_checks import nonnegative, positive_integer
from leml_solver._factored.closed_forms import label_directions
from leml_solver._linalg.factors import eigenvectors
from leml_solver.baselines.base import Array, Baseline
from leml_solver.baselines.regression import Centred
from leml_solver.labels import Labels


@dataclass(eq=False, repr=False)
class LabelSpaceClassifier(Baseline):
    """Regress codes H^T (y - label_means) on x and decode by H, whose columns are orthonormal.

    Scores are (x^T W + code_intercept) H^T + label_means. A subclass chooses H.
    """

    rank: int = 50
    _: KW_ONLY
    centre: bool = True
    fit_intercept: bool = True
    ridge: float = 0.0

    def _fit(self, X: Any, labels: Labels) -> None:
        rank, ridge = positive_integer(self.rank, "rank"), nonnegative(self.ridge, "ridge")
        data = Centred(X, labels.complete, bool(self.fit_intercept), bool(self.centre))
        problem, self.label_means_ = data.compression(), data.Y_means
        # What an intercept explains of labels that are not centred: their means.
        means = np.asarray(labels.complete.mean(axis=0)).ravel()
        rest = means - data.Y_means if self.fit_intercept else 0 * data.Y_means
        fitted = np.vstack([problem.fitted(ridge), np.sqrt(X.shape[0]) * rest])
        H = self._directions(data, fitted, min(rank, labels.shape[1]))
        W = problem.predictor(problem.M @ H, ridge)
        self.W_, self.H_, self.rank_ = W, H, H.shape[1]
        self.code_intercept_ = rest @ H - data.X_means @ W

    def _directions(self, data: Centred, fitted: Array, rank: int) -> Array:
        """Return the (L, rank) orthonormal directions, most important first.

        `fitted` (r, L) is what regression explains of the labels.
        """
        raise NotImplementedError

    def _scores(self, X: Any) -> Array:
        codes = np.asarray(X @ self.W_) + self.code_intercept_
        return np.asarray(codes @ self.H_.T + self.label_means_)


class CPLSTClassifier(LabelSpaceClassifier):
    r"""Compress labels to what the features can predict of them; every label must be known.

    Minimises :math:`\|XW + 1b^T - YH\|_F^2 + ridge \|W\|_F^2 + \|Y - YHH^T\|_F^2` over W, b and H
    with :math:`H^T H = I`, Y minus its means: H holds the leading eigenvectors of
    :math:`Y^T X (X^T X + ridge I)^{-1} X^T Y`. `leml_solver.algorithms.cplst` is the same
    without intercept and ridge.

    Choices that the original leaves open: at ridge zero the W of least norm is taken, and the
    intercept costs nothing. How X is decomposed, and with what accuracy, is described in
    `leml_solver.baselines.regression`.

    Paper: Claim 2.

    Parameters
    ----------
    rank : int
        k; at most L columns are used. At L the method is plain regression.
    centre : bool
        Subtract each label's mean first and add it to the scores, as the original does.
    fit_intercept : bool
        Fit an unpenalised intercept for each code.
    ridge : float
        Weight of |W|^2; the original has none.

    Attributes
    ----------
    W_ : (d, rank_) array
    H_ : (L, rank_) array
    code_intercept_ : (rank_,) array
        Zeros without an intercept.
    label_means_ : (L,) array
        Zeros unless labels were centred.
    rank_ : int
    """

    def _directions(self, data: Centred, fitted: Array, rank: int) -> Array:  # noqa: ARG002
        return label_directions(fitted, rank)


class PLSTClassifier(LabelSpaceClassifier):
    r"""Compress labels by their principal components; every label must be known.

    H minimises :math:`\|Y - YHH^T\|_F^2` with :math:`H^T H = I`, Y minus its means; then W and b
    minimise :math:`\|XW + 1b^T - YH\|_F^2 + ridge \|W\|_F^2`. Unlike CPLST, the directions do not
    look at the features. A label is predicted above the score 0.5, which is the original's
    rounding.

    The original leaves the regression open: here it is linear, as in its experiments.

    Paper: Section 5.

    Parameters
    ----------
    rank, centre, fit_intercept, ridge
        As for `CPLSTClassifier`.

    Attributes
    ----------
    W_, H_, code_intercept_, label_means_, rank_
        As for `CPLSTClassifier`.
    """

    def _directions(self, data: Centred, fitted: Array, rank: int) -> Array:  # noqa: ARG002
        _, vectors = eigenvectors(data.target_gram())  # smallest eigenvalue first
        return np.ascontiguousarray(vectors[:, ::-1][:, :rank])
