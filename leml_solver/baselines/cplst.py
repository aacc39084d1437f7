"""Conditional principal label space transformation (Chen and Lin, 2012)."""

from __future__ import annotations

from leml_solver._factored.closed_forms import label_directions
from leml_solver.baselines._label_space import LabelSpaceClassifier
from leml_solver.baselines.base import Array
from leml_solver.baselines.regression import Centred


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
