"""Population risks of a matrix, and their minimum over a ball."""

from argument_checks.wrong_types import errors_name_arguments
from leml_theory.risk.exact import ExactRisk, exact_risk
from leml_theory.risk.population import (
    cross_moments,
    gaussian_slope,
    gaussian_softplus,
    label_moments,
    prediction_scales,
    second_moments,
)
from leml_theory.risk.risk import Bracket, RiskValue, minimum_risk, population_risk

__all__ = [
    "Bracket",
    "ExactRisk",
    "RiskValue",
    "cross_moments",
    "exact_risk",
    "gaussian_slope",
    "gaussian_softplus",
    "label_moments",
    "minimum_risk",
    "population_risk",
    "prediction_scales",
    "second_moments",
]

errors_name_arguments(globals())
