"""Synthetic worlds: laws of features, models of labels, patterns of observation."""

from argument_checks.wrong_types import errors_name_arguments
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
    Support,
)
from simulations.labels import (
    AllOnes,
    LabelModel,
    LinearLabels,
    LogisticLabels,
    Outcome,
    Planted,
    RandomSigns,
    independent_coefficients,
    low_rank_coefficients,
    shared_coefficients,
)
from simulations.observation import (
    BernoulliEntries,
    Entries,
    LabelNumbers,
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
    "LabelNumbers",
    "LinearLabels",
    "LogisticLabels",
    "Moments",
    "NonNegative",
    "Observation",
    "Outcome",
    "Planted",
    "RademacherVectors",
    "RandomSigns",
    "RankOne",
    "RareOutlier",
    "Sample",
    "Scenario",
    "Support",
    "UniformLabels",
    "WeightedLabels",
    "heavy_label",
    "independent_coefficients",
    "low_rank_coefficients",
    "shared_coefficients",
    "zipf",
]

errors_name_arguments(globals())
