"""Population risks of a matrix, and their minimum over a ball."""

from leml_theory.risk.exact import ExactRisk, exact_risk
from leml_theory.risk.population import (
    Support,
    cross_moments,
    discrete_labels,
    gaussian_slope,
    gaussian_softplus,
    is_gaussian,
    label_moments,
    prediction_scales,
    second_moments,
    support,
)
from leml_theory.risk.risk import Bracket, RiskValue, minimum_risk, population_risk

__all__ = [
    "Bracket",
    "ExactRisk",
    "RiskValue",
    "Support",
    "cross_moments",
    "discrete_labels",
    "exact_risk",
    "gaussian_slope",
    "gaussian_softplus",
    "is_gaussian",
    "label_moments",
    "minimum_risk",
    "population_risk",
    "prediction_scales",
    "second_moments",
    "support",
]
