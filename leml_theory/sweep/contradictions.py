"""Measurements that contradict a sharp prediction: one of the two is wrong, so the run fails."""

from typing import Any

import numpy as np
import pandas as pd

from leml_theory.sweep.rates import LEVEL, family_t, looks

# A prediction is called sharp where it is within this share of the mean.
SHARP = 0.03


def sharp_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the results frame that have a sharp prediction."""
    return frame[frame["prediction"] == "sharp"]


def contradictions(frame: pd.DataFrame, level: float = LEVEL) -> list[dict[str, Any]]:
    """Return every row whose measured mean and sharp prediction exclude each other.

    They do where they differ by more than 3 % of the prediction and t standard errors, of the
    measurement and of the prediction's own Monte Carlo draws together, t being Student's quantile
    for a family-wise `level` over both sides of all sharp predictions.  Draws of a positive
    quantity that are all small by chance have a small standard error too: where the mean is the
    smaller one, its *relative* standard error is applied to the prediction.
    """
    rows = sharp_rows(frame)
    return [
        {str(name): value for name, value in row.items() if pd.notna(value)}
        for _, row in rows.iterrows()
        if contradicts(row, family_t(2 * len(rows) * looks(row), int(row["draws"]), level))
    ]


def contradicts(row: pd.Series, t: float) -> bool:
    """Return whether a row is more than 3 % and t standard errors away from its prediction.

    Equal draws have a standard error of zero and decide nothing.
    """
    value, predicted, stderr = row["value"], row["predicted"], row["stderr"]
    if stderr == 0:
        return False
    error = stderr * max(1.0, predicted / value) if value > 0 else stderr
    error = float(np.hypot(error, np.nan_to_num(row.get("predicted_stderr", 0.0))))
    return bool(abs(value - predicted) > SHARP * abs(predicted) + t * error)
