"""Observation patterns: marginals, weights, and the law of label counts."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulations import BernoulliEntries, UniformLabels, WeightedLabels, heavy_label, zipf

PATTERNS = {
    "one": UniformLabels(7),
    "three": UniformLabels(7, 3),
    "all": UniformLabels(7, 7),
    "repeated": UniformLabels(7, 3, replace=True),
    "zipf": WeightedLabels(zipf(7, 1.5), 2),
    "heavy": WeightedLabels(heavy_label(7, 0.6)),
    "bernoulli": BernoulliEntries(7, 0.4),
}


@pytest.fixture(params=PATTERNS)
def pattern(request):
    return PATTERNS[request.param]


def test_entries_are_distinct_and_in_range(pattern):
    rows, columns, weights = pattern.draw(200, np.random.default_rng(1))
    assert len(set(zip(rows.tolist(), columns.tolist(), strict=True))) == rows.size
    assert (rows >= 0).all()
    assert (rows < 200).all()
    assert (columns >= 0).all()
    assert (columns < 7).all()
    assert (weights >= 1).all()


@pytest.mark.parametrize("name", [name for name in PATTERNS if name != "bernoulli"])
def test_every_point_shows_s_labels_counted_with_weights(name):
    pattern = PATTERNS[name]
    rows, _, weights = pattern.draw(200, np.random.default_rng(2))
    assert (np.bincount(rows, weights, minlength=200) == pattern.labels_per_point).all()


def test_sampling_with_replacement_keeps_repeated_entries_as_weights():
    _, _, weights = PATTERNS["repeated"].draw(200, np.random.default_rng(3))
    assert weights.max() > 1


def test_labels_are_met_as_often_as_the_law_says(pattern):
    n = 20_000
    _, columns, weights = pattern.draw(n, np.random.default_rng(4))
    met = np.bincount(columns, weights, minlength=7)
    total = n * pattern.labels_per_point
    expected = total * pattern.probabilities
    # each slot is a Bernoulli variable and slots of a point do not correlate positively
    assert (np.abs(met - expected) <= 5 * np.sqrt(expected) + 5 * math.sqrt(total) * 0.02).all()


def test_counts_are_multinomial(pattern):
    rng = np.random.default_rng(5)
    counts = np.array([pattern.counts(50, rng) for _ in range(4000)])
    assert (counts.sum(axis=1) == 50).all()
    p = pattern.probabilities
    error = np.sqrt(50 * p * (1 - p) / 4000)
    assert (np.abs(counts.mean(axis=0) - 50 * p) <= 5 * error).all()
    # the variance of a multinomial count; its own relative error is about sqrt(2/4000)
    assert counts.var(axis=0) == pytest.approx(50 * p * (1 - p), rel=0.15)


def test_counts_take_a_billion_points(pattern):
    assert pattern.counts(10**9, np.random.default_rng(6)).sum() == 10**9


@given(st.integers(2, 40), st.floats(0, 4), st.floats(0.01, 0.99))
@settings(max_examples=50)
def test_label_laws_are_distributions(n_labels, exponent, share):
    for law in (zipf(n_labels, exponent), heavy_label(n_labels, share)):
        assert len(law) == n_labels
        assert math.fsum(law) == pytest.approx(1, abs=1e-12)  # rounding of at most 40 terms
        assert min(law) > 0
    assert heavy_label(n_labels, share)[0] == share
    assert zipf(n_labels, exponent)[0] == max(zipf(n_labels, exponent))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: UniformLabels(3, 4), "without replacement"),
        (lambda: UniformLabels(0), "at least 1"),
        (lambda: WeightedLabels((0.5, 0.6)), "sum to 1"),
        (lambda: BernoulliEntries(3, 0.0), r"\(0, 1\]"),
        (lambda: heavy_label(1, 0.5), "at least 2"),
        (lambda: heavy_label(3, 1.0), "strictly between"),
        (lambda: zipf(3, -1.0), "not be negative"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
