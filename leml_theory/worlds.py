"""Worlds by name: the words that cells, tables and the command line use for laws and patterns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from argument_checks import one_of
from simulations import (
    FeatureLaw,
    HeavyTailed,
    IsotropicGaussian,
    LinearLabels,
    LogisticLabels,
    NonNegative,
    Observation,
    RademacherVectors,
    RankOne,
    UniformLabels,
    WeightedLabels,
    heavy_label,
    independent_coefficients,
    low_rank_coefficients,
    shared_coefficients,
    zipf,
)

LAWS: dict[str, Callable[[int], FeatureLaw]] = {
    "gaussian": IsotropicGaussian,
    "rademacher": RademacherVectors,
    "rank-one": RankOne,
    "raw-gaussian": lambda d: IsotropicGaussian(d, normalised=False),
    "non-negative": NonNegative,
    "heavy-tailed": HeavyTailed,
}

LABELS = ("rank-1", "rank-3", "independent", "shared", "logistic")


def feature_law(name: str, n_features: int) -> FeatureLaw:
    """Return the feature law called `name` in `n_features` dimensions."""
    return LAWS[one_of(name, "law", LAWS)](n_features)


def observation_of(skew: str, n_labels: int, labels_per_point: int = 1) -> Observation:
    """Return the pattern called `skew`: 'uniform', 'heavy:SHARE' or 'zipf:EXPONENT'."""
    kind, _, number = skew.partition(":")
    if kind == "uniform" and not number:
        return UniformLabels(n_labels, labels_per_point)
    try:
        value = float(number)
    except ValueError:
        kind = ""
    if kind == "heavy":
        return WeightedLabels(heavy_label(n_labels, value), labels_per_point)
    if kind == "zipf":
        return WeightedLabels(zipf(n_labels, value), labels_per_point)
    raise ValueError(
        f"`skew` must be 'uniform', 'heavy:SHARE' or 'zipf:EXPONENT' such as 'zipf:1.5', "
        f"got {skew!r}."
    )


def label_model(
    name: str, n_features: int, n_labels: int, rng: np.random.Generator
) -> LinearLabels | LogisticLabels:
    """Draw the coefficients of the label model called `name` and return the model."""
    one_of(name, "labels", LABELS)
    if name == "shared":
        return LinearLabels(shared_coefficients(n_features, n_labels, rng))
    if name == "independent":
        return LinearLabels(independent_coefficients(n_features, n_labels, rng))
    if name == "logistic":
        return LogisticLabels(low_rank_coefficients(n_features, n_labels, 1, rng))
    rank = min(int(name.removeprefix("rank-")), n_features, n_labels)
    return LinearLabels(low_rank_coefficients(n_features, n_labels, rank, rng))
