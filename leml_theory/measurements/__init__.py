"""What a cell measures: for every kind, a pure function from parameters and randomness to rows.

Reading order: `records` (the row, and single draws against bounds), `averages`, `planted` (worlds
with closed forms), `minimisers` (fits on samples, exact and of rank k), `precision` (as many draws
as it takes).
"""

from collections.abc import Callable

import numpy as np

from argument_checks import one_of
from argument_checks.wrong_types import errors_name_arguments
from leml_theory.measurements.averages import rademacher, slots
from leml_theory.measurements.minimisers import erm, predicted_excess
from leml_theory.measurements.planted import clipped, fixed_planted, outlier, worst_planted
from leml_theory.measurements.precision import measure_precisely
from leml_theory.measurements.records import Parameters, Record, record
from leml_theory.runs.cells import Cell

__all__ = ["MEASUREMENTS", "Measurement", "Parameters", "Record", "measure", "record"]

Measurement = Callable[[Parameters, np.random.Generator], list[Record]]

MEASUREMENTS: dict[str, Measurement] = {
    "rademacher": rademacher,
    "slots": slots,
    "worst planted": worst_planted,
    "fixed planted": fixed_planted,
    "clipped": clipped,
    "outlier": outlier,
    "erm": erm,
    "predicted excess": predicted_excess,
}


def measure(cell: Cell) -> list[Record]:
    """Run the measurement that the cell names, with the cell's own randomness."""
    run = MEASUREMENTS[one_of(cell.kind, "kind", MEASUREMENTS)]
    if "precision" in cell.parameters:
        return measure_precisely(run, cell.parameters, cell.rng())
    return run(cell.parameters, cell.rng())


errors_name_arguments(globals())
