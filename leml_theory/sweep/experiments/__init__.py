"""The experiments of the sweep, by id."""

from leml_theory.sweep.experiments.averages import X1, X2, X7, X14
from leml_theory.sweep.experiments.controls import X11
from leml_theory.sweep.experiments.design import CheckRow, Experiment, Fit, Planned, SlopeRow
from leml_theory.sweep.experiments.excess import X3, X4, X5, X6, X8
from leml_theory.sweep.experiments.fitted import X9, X10
from leml_theory.sweep.experiments.phases import X12, X13

EXPERIMENTS: dict[str, Experiment] = {
    experiment.id: experiment
    for experiment in (X1, X2, X3, X4, X5, X6, X7, X8, X9, X10, X11, X12, X13, X14)
}

__all__ = ["EXPERIMENTS", "CheckRow", "Experiment", "Fit", "Planned", "SlopeRow"]
