"""How often a bound that holds with probability 1 - delta is exceeded."""

import numpy as np
from numpy.typing import NDArray

from leml_theory.bounds import RISK_BOUNDS, RiskSetting, Setting, best_bound, complexity_bounds
from leml_theory.measurements.records import Record


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
