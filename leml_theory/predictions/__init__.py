"""Predictions: what a measurement should be, not only what bounds it.

`averages` predicts Rademacher averages and planted excesses; `excess` the minimisers of the squared
loss, by the auxiliary problem of `fitted`.
"""

from argument_checks.wrong_types import errors_name_arguments
from leml_theory.predictions.averages import (
    TRACY_WIDOM_MEAN,
    TRACY_WIDOM_VARIANCE,
    WORST_ANGLE,
    chi_mean,
    clipped_excess,
    frobenius_norm,
    frobenius_norm_is_sharp,
    planted_frobenius_excess,
    planted_trace_excess,
    spectral_norm,
    spectral_norm_is_sharp,
    worst_frobenius_excess,
    worst_trace_excess,
)
from leml_theory.predictions.excess import Predicted, predict, predict_world

__all__ = [
    "TRACY_WIDOM_MEAN",
    "TRACY_WIDOM_VARIANCE",
    "WORST_ANGLE",
    "Predicted",
    "chi_mean",
    "clipped_excess",
    "frobenius_norm",
    "frobenius_norm_is_sharp",
    "planted_frobenius_excess",
    "planted_trace_excess",
    "predict",
    "predict_world",
    "spectral_norm",
    "spectral_norm_is_sharp",
    "worst_frobenius_excess",
    "worst_trace_excess",
]

errors_name_arguments(globals())
