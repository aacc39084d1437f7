"""The floor: scores that ignore the features."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from argument_checks import nonnegative
from leml_solver.baselines.base import Array, Baseline
from leml_solver.labels import Labels


@dataclass(eq=False, repr=False)
class LabelFrequencyClassifier(Baseline):
    r"""Score every label by how often it is positive, whatever the features.

    The score is :math:`(p_l + s \bar p) / (n_l + s)`: of the :math:`n_l` observed entries of
    label l, :math:`p_l` are positive; :math:`\bar p` is the share of positives among all observed
    entries. A label never observed thus gets the average share. No method should do worse.

    Parameters
    ----------
    smoothing : float
        s, the number of observations that the average share counts for.

    Attributes
    ----------
    frequencies_ : (L,) array
        The scores, in [0, 1]; a label above one half is predicted.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver.baselines import LabelFrequencyClassifier
    >>> Y = np.array([[1, 0], [1, np.nan], [1, 0], [np.nan, 1]])
    >>> LabelFrequencyClassifier(smoothing=0).fit(np.eye(4), Y).frequencies_.round(2)
    array([1.  , 0.33])
    """

    takes_missing: ClassVar[bool] = True
    _: KW_ONLY
    smoothing: float = 1.0

    def _fit(self, X: Any, labels: Labels) -> None:  # noqa: ARG002
        smoothing = nonnegative(self.smoothing, "smoothing")
        positives, observed = label_counts(labels)
        average = positives.sum() / observed.sum()
        counted = observed + smoothing
        share = (positives + smoothing * average) / np.where(counted > 0, counted, 1)
        self.frequencies_ = np.where(counted > 0, share, average)

    def _scores(self, X: Any) -> Array:
        return np.broadcast_to(self.frequencies_, (X.shape[0], self.n_labels_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # by design
        return tags


def label_counts(labels: Labels) -> tuple[Array, Array]:
    """Return the number of positive and of observed entries of each label."""
    n_rows, n_labels = labels.shape
    if labels.entries is None:
        positives = np.asarray(labels.complete.sum(axis=0)).ravel()
        return positives, np.full(n_labels, float(n_rows))
    columns = labels.entries.by_row.indices
    positives = np.bincount(columns, labels.entries.values, minlength=n_labels)
    return positives, np.bincount(columns, minlength=n_labels).astype(np.float64)
