"""Population risks of a matrix, and their minimum over a ball."""

from argument_checks.wrong_types import errors_name_arguments
from leml_theory.risk.exact import Bracket, ExactRisk, exact_risk
from leml_theory.risk.population import (
    cross_moments,
    gaussian_slope,
    gaussian_softplus,
    label_moments,
    second_moments,
)
from leml_theory.risk.risk import RiskValue, minimum_risk, population_risk
from simulations.labels import prediction_scales

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
