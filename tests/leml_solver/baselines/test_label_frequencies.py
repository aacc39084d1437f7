"""The floor: label frequencies, smoothed, of the entries that are observed."""

import numpy as np
import pytest
import scipy.sparse as sp

from leml_solver.baselines import LabelFrequencyClassifier
from leml_solver.baselines.label_frequencies import label_counts
from leml_solver.labels import Labels


def test_smoothed_share_of_what_is_observed():
    rng = np.random.default_rng(0)
    Y = (rng.random((40, 6)) < 0.3).astype(float)
    Y[rng.random(Y.shape) < 0.5] = np.nan
    model = LabelFrequencyClassifier(smoothing=2.5).fit(np.ones((40, 1)), Y)
    seen = (~np.isnan(Y)).sum(axis=0)
    expected = (np.nansum(Y, axis=0) + 2.5 * np.nanmean(Y)) / (seen + 2.5)
    # one division each
    assert np.allclose(model.frequencies_, expected, rtol=1e-14)
    scores = model.decision_function(np.zeros((3, 1)))
    assert np.allclose(scores, expected - 0.5, rtol=1e-13)


def test_without_smoothing_it_is_the_mean():
    Y = np.array([[1.0, 0, 1], [1, 1, 0], [1, 0, 0]])
    for labels in (Y, sp.csr_matrix(Y)):
        model = LabelFrequencyClassifier(smoothing=0).fit(np.ones((3, 2)), labels)
        assert np.allclose(model.frequencies_, Y.mean(axis=0))
    assert LabelFrequencyClassifier().fit(np.ones((3, 2)), Y).predict([[5, 5]]).tolist() == [
        [1, 0, 0]
    ]


@pytest.mark.parametrize("smoothing", [0.0, 3.0])
def test_a_label_never_observed_has_the_average_share(smoothing):
    Y = np.array([[1.0, 0, np.nan], [1, 0, np.nan], [0, 0, np.nan], [np.nan, 1, np.nan]])
    with pytest.warns(UserWarning, match="without an observed entry"):
        model = LabelFrequencyClassifier(smoothing=smoothing).fit(np.ones((4, 1)), Y)
    assert model.frequencies_[2] == pytest.approx(3 / 7)


def test_counts_of_every_way_to_hand_labels_in():
    Y = np.array([[1.0, 0], [0, 1], [1, 1]])
    partly = Labels.masked(Y, np.array([[True, True], [True, False], [False, True]]))
    for labels, positives, observed in (
        (Labels.full(Y), [2, 2], [3, 3]),
        (Labels.full(sp.csr_matrix(Y)), [2, 2], [3, 3]),
        (partly, [1, 1], [2, 2]),
    ):
        found = label_counts(labels)
        assert (found[0].tolist(), found[1].tolist()) == (positives, observed)


def test_negative_smoothing_is_refused():
    with pytest.raises(ValueError, match="`smoothing` must not be negative"):
        LabelFrequencyClassifier(smoothing=-1).fit(np.ones((2, 1)), [[1, 0], [0, 1]])
