"""Synthetic worlds: laws of features, models of labels, patterns of observation."""

from simulations.features import (
    AnisotropicGaussian,
    FeatureLaw,
    HeavyTailed,
    IsotropicGaussian,
    Moments,
    NonNegative,
    RademacherVectors,
    RankOne,
    RareOutlier,
)
from simulations.labels import (
    AllOnes,
    LabelModel,
    LinearLabels,
    LogisticLabels,
    Planted,
    RandomSigns,
    independent_coefficients,
    low_rank_coefficients,
    shared_coefficients,
)
from simulations.observation import (
    BernoulliEntries,
    Entries,
    Observation,
    UniformLabels,
    WeightedLabels,
    heavy_label,
    zipf,
)
from simulations.scenario import Sample, Scenario

__all__ = [
    "AllOnes",
    "AnisotropicGaussian",
    "BernoulliEntries",
    "Entries",
    "FeatureLaw",
    "HeavyTailed",
    "IsotropicGaussian",
    "LabelModel",
    "LinearLabels",
    "LogisticLabels",
    "Moments",
    "NonNegative",
    "Observation",
    "Planted",
    "RademacherVectors",
    "RandomSigns",
    "RankOne",
    "RareOutlier",
    "Sample",
    "Scenario",
    "UniformLabels",
    "WeightedLabels",
    "heavy_label",
    "independent_coefficients",
    "low_rank_coefficients",
    "shared_coefficients",
    "zipf",
]
