"""The row that a measurement returns: what was measured, where, how well, and above what bound."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leml_theory.bounds import RISK_BOUNDS, RiskSetting, Setting, best_bound, complexity_bounds
from leml_theory.rademacher import Estimate
from leml_theory.worlds import observation_of

Parameters = Mapping[str, Any]
Record = dict[str, Any]


def record(
    quantity: str, ball: str, parameters: Parameters, estimate: Estimate, **more: Any
) -> Record:
    """Return one row: an estimate with its standard error, and where it was measured.

    Parameters
    ----------
    quantity, ball : str
        What was measured, and for which ball.
    parameters : mapping
        The cell's parameters; law, n, d, L and so on are copied.
    estimate : Estimate
        Mean, standard error and number of draws.
    **more
        Further columns, such as `predicted`, or other values for the copied ones.
    """
    return {
        "quantity": quantity,
        "ball": ball,
        **place(parameters),
        "draws": estimate.draws,
        "value": estimate.value,
        "stderr": estimate.stderr,
        **more,
    }


def place(parameters: Parameters) -> Record:
    """Return the columns that say where a row was measured, with their defaults."""
    skew, s = parameters.get("skew", "uniform"), int(parameters.get("s", 1))
    n_labels = int(parameters["L"])
    seen = observation_of(skew, n_labels, s)
    return {
        "law": parameters.get("law", "rademacher"),
        "labels": parameters.get("labels", "all-ones"),
        "loss": parameters.get("loss", "linear"),
        "n": int(parameters["n"]),
        "d": int(parameters["d"]),
        "L": n_labels,
        "s": seen.labels_per_point,
        **({"observed": seen.labels_per_point / n_labels} if "observed" in skew else {}),
        "skew": skew,
        "P": float(seen.probabilities.max()),
        "radius": float(parameters.get("radius", 1.0)),
        **({"rank": int(parameters["rank"])} if parameters.get("rank") else {}),
    }


def exceedances(setting: Setting, risk: RiskSetting, excess: NDArray[np.float64]) -> Record:
    """Count the draws of an excess risk above the smallest valid 1 - delta bound.

    Returns
    -------
    dict
        The columns `delta`, `high_probability` (the bound), its name, and `exceedances`; empty when
        no such bound is valid.
    """
    average = best_bound(complexity_bounds(setting))
    risks = {name: bound(setting, risk, average) for name, bound in RISK_BOUNDS.items()}
    bound = best_bound(risks)
    if not bound.valid:
        return {}
    above = int((excess > bound.value).sum())
    return {
        "delta": risk.delta,
        "high_probability": bound.value,
        "high_probability_name": bound.name,
        "exceedances": above,
    }
