"""What PLST and CPLST share: labels compressed by orthonormal directions, codes by regression."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from argument_checks import nonnegative, positive_integer
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
        rest = label_means(labels) - data.Y_means if self.fit_intercept else 0 * data.Y_means
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


def label_means(labels: Labels) -> Array:
    """Return the share of positives of each label, all of them known."""
    return np.asarray(labels.complete.mean(axis=0)).ravel()
