"""What PLST and CPLST share: labels compressed by orthonormal directions, codes by regression."""

from __future__ import annotations

from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from argument_checks import nonnegative, positive_integer
from leml_solver.baselines.base import Array, Baseline
from leml_solver.baselines.regression import Centred
from leml_solver.labels import Labels


@dataclass(eq=False, repr=False)
class LabelSpaceClassifier(Baseline):
    """Regress codes H^T (y - label_means) on x and decode by H, whose columns are orthonormal.

    Scores are (x^T W + code_intercept) H^T + label_means. A subclass chooses H. The directions
    are ordered, so that the model of a smaller rank is a part of this one: see `truncated`.
    """

    rank: int = 50
    _: KW_ONLY
    centre: bool = True
    fit_intercept: bool = True
    ridge: float = 0.0

    def truncated(self, rank: int) -> Self:
        """Return the fitted model of a smaller rank, the same as fitting it again, at no cost.

        Parameters
        ----------
        rank : int
            At most `rank_`.

        Returns
        -------
        estimator of the same class
        """
        check_is_fitted(self)
        if positive_integer(rank, "rank") > self.rank_:
            raise ValueError(f"`rank` must be at most that fitted, {self.rank_}, got {rank}.")
        smaller = copy(self)
        smaller.rank = rank
        smaller._keep(self.W_[:, :rank], self.H_[:, :rank], self.code_intercept_[:rank])
        return smaller

    def _fit(self, X: Any, labels: Labels) -> None:
        """Check the parameters and fit to float64 rows and 0/1 labels."""
        rank, ridge = positive_integer(self.rank, "rank"), nonnegative(self.ridge, "ridge")
        data = Centred(X, labels.complete, bool(self.fit_intercept), bool(self.centre))
        problem, self.label_means_ = data.compression(), data.Y_means
        # What an intercept explains of labels that are not centred: their means.
        rest = label_means(labels) - data.Y_means if self.fit_intercept else 0 * data.Y_means
        fitted = np.vstack([problem.fitted(ridge), np.sqrt(X.shape[0]) * rest])
        H = self._directions(data, fitted, min(rank, labels.shape[1]))
        W = problem.predictor(problem.M @ H, ridge)
        self._keep(W, H, rest @ H - data.X_means @ W)

    def _directions(self, data: Centred, fitted: Array, rank: int) -> Array:
        """Return the (L, rank) orthonormal directions, most important first.

        Parameters
        ----------
        data : Centred
            Features and labels.
        fitted : (r, L) array
            What regression explains of the labels.
        rank : int
            k, at most L.
        """
        raise NotImplementedError

    def _keep(self, W: Array, H: Array, code_intercept: Array) -> None:
        """Store what was fitted."""
        self.W_, self.H_, self.code_intercept_ = W, H, code_intercept
        self.rank_ = H.shape[1]

    def _scores(self, X: Any) -> Array:
        """Return the (m, L) scores of checked rows."""
        codes = np.asarray(X @ self.W_) + self.code_intercept_
        return np.asarray(codes @ self.H_.T + self.label_means_)


def label_means(labels: Labels) -> Array:
    """Return the share of positives of each label, all of them known."""
    return np.asarray(labels.complete.mean(axis=0)).ravel()
