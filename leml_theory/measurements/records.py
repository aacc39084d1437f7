"""The row that a measurement returns: what was measured, where, and how well."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leml_theory.worlds import observation_of

Parameters = Mapping[str, Any]
Record = dict[str, Any]


def record(
    quantity: str,
    ball: str,
    parameters: Parameters,
    draws: NDArray[np.float64],
    **more: Any,
) -> Record:
    """Return one row: the mean of `draws` with its standard error, and where it was measured.

    Parameters
    ----------
    quantity, ball : str
        What was measured, and for which ball.
    parameters : mapping
        The cell's parameters; law, n, d, L and so on are copied.
    draws : array
        Independent values of the quantity.
    **more
        Further columns, such as `predicted`, or other values for the copied ones.
    """
    return {
        "quantity": quantity,
        "ball": ball,
        **place(parameters),
        "draws": int(draws.size),
        "value": float(draws.mean()),
        "stderr": standard_error(draws),
        **more,
    }


def place(parameters: Parameters) -> Record:
    """Return the columns that say where a row was measured, with their defaults."""
    skew = parameters.get("skew", "uniform")
    n_labels = int(parameters["L"])
    return {
        "law": parameters.get("law", "rademacher"),
        "labels": parameters.get("labels", "all-ones"),
        "loss": parameters.get("loss", "linear"),
        "n": int(parameters["n"]),
        "d": int(parameters["d"]),
        "L": n_labels,
        "s": int(parameters.get("s", 1)),
        "skew": skew,
        "P": float(observation_of(skew, n_labels).probabilities.max()),
        "radius": float(parameters.get("radius", 1.0)),
    }


def standard_error(draws: NDArray[np.float64]) -> float:
    """Return the standard error of the mean; NaN for a single draw, which tells nothing of it."""
    if draws.size < 2:
        return math.nan
    return float(draws.std(ddof=1) / math.sqrt(draws.size))
