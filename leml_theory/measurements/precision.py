"""Draws until a standard error is small enough, in batches that the cell's key fixes.

The first batch has `draws` draws, each further one as many as all before it.  A cell is looked at
after every batch and stops at the first look where all standard errors are within the precision, so
at most `LOOKS` times.  Stopping when an error looks small has a price, which
``tests/leml_theory/test_precision.py`` simulates: of intervals of two standard errors up to 0.7 %
fewer hold the mean than with a fixed number of draws, and means are too large by up to a sixth of
the precision where the first looks suffice.  Tests of bounds and predictions are
divided among the looks, which makes them valid whatever the rule of stopping is.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from leml_theory.measurements.records import Parameters, Record
from leml_theory.rademacher import Estimate

LOOKS = 10
_FREE = ("generalisation gap",)  # tends to zero faster than its standard error


def measure_precisely(
    run: Callable[[Parameters, np.random.Generator], list[Record]],
    parameters: dict[str, Any],
    rng: np.random.Generator,
) -> list[Record]:
    """Run a measurement in batches until it is as precise as `parameters` ask.

    Parameters
    ----------
    run : callable
        The measurement.
    parameters : dict
        With `precision`, a relative standard error, and `draws`, the size of the first batch.
    rng : Generator
        Every batch has a child of its own.
    """
    wanted, first = float(parameters["precision"]), int(parameters["draws"])
    batches: list[list[Record]] = []
    for look, child in enumerate(rng.spawn(LOOKS)):
        size = first * 2 ** max(0, look - 1)
        batches.append(run({**parameters, "draws": size}, child))
        found = [pooled(rows) for rows in zip(*batches, strict=True)]
        judged = [row for row in found if row["quantity"] not in _FREE]
        if all(row["stderr"] <= wanted * abs(row["value"]) for row in judged):
            break
    return [{**row, "looks": LOOKS, "precision": wanted} for row in found]


def pooled(rows: Sequence[Record]) -> Record:
    """Return one row from those of several batches; what is predicted is the first batch's."""
    first = dict(rows[0])
    first |= _estimate(rows, ("value", "stderr", "draws"))
    if "offset_mean" in first:
        first |= _estimate(rows, ("offset_mean", "offset_stderr", "offset_draws"))
    rules: dict[str, Callable[[list[float]], float]] = {
        "exceedances": sum, "high_probability": max, "certificate_gap": max, "minimax": min,
    }  # fmt: skip
    for name, rule in rules.items():
        if name in first:
            first[name] = rule([row[name] for row in rows if name in row])
    weights = [row["draws"] for row in rows]
    first["radius"] = float(np.average([row["radius"] for row in rows], weights=weights))
    return first


def _estimate(rows: Sequence[Record], names: tuple[str, str, str]) -> Record:
    """Pool means and standard errors to those of all draws together."""
    value, stderr, draws = (np.array([row[name] for row in rows], float) for name in names)
    total = draws.sum()
    mean = float(draws @ value / total)
    squares = draws * (draws - 1) * stderr**2 + draws * (value - mean) ** 2
    pooled_error = math.sqrt(float(squares.sum()) / (total - 1) / total)
    estimate = Estimate(mean, pooled_error, int(total))
    return dict(zip(names, (estimate.value, estimate.stderr, estimate.draws), strict=True))
