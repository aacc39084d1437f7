"""Principal label space transformation (Tai and Lin, 2012)."""

from __future__ import annotations

import numpy as np

from leml_solver._linalg.factors import eigenvectors
from leml_solver.baselines._label_space import LabelSpaceClassifier
from leml_solver.baselines.base import Array
from leml_solver.baselines.regression import Centred


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
