"""The results frame: one row per cell and quantity, with every bound and its validity.

The column `prediction` says of `predicted` whether it is 'sharp', within 3 % at this size, or a
'limit', approached as sizes grow; it is empty where nothing is predicted, and `unpredicted`
says why.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leml_solver import LOSSES
from leml_theory import predictions
from leml_theory.bounds import (
    BALLS,
    OFFSET,
    BoundValue,
    RiskSetting,
    Setting,
    expectation_bound,
    failures_to_json,
    shown_bounds,
    tabled_bounds,
)
from leml_theory.rademacher import Estimate
from leml_theory.runs.cells import Cell
from leml_theory.sweep.experiments import Planned
from leml_theory.sweep.rates import exceeds, exceeds_too_often, family_t, looks, undecided
from leml_theory.worlds import LAWS, feature_law, label_bound, observation_of

Row = dict[str, Any]

_FIRST = [
    "experiment", "series", "quantity", "ball", "law", "labels", "loss", "n", "d", "L", "s",
    "observed", "skew", "P", "radius", "radius_factor", "rank", "draws", "looks", "precision",
    "value", "stderr", "certificate_gap", "predicted", "predicted_stderr", "prediction",
    "unpredicted", "signal", "delta", "high_probability", "high_probability_name", "exceedances",
    "offset_stderr", "minimax",
]  # fmt: skip
# What the bounds are about; a measurement of your own may be about something else.
_BOUNDED = (
    "rademacher average", "supremum deviation", "excess risk", "generalisation gap",
    "predicted excess",
)  # fmt: skip
_SCALES_WITH_RADIUS = (
    "value", "stderr", "predicted", "predicted_stderr", "radius", "high_probability",
)  # fmt: skip


def columns() -> list[str]:
    """Return the columns of the frame; every bound has one for its value and one for its validity.

    `refused` gives the failed assumptions in words, `failures` holds them as JSON
    (`failures_from_json` reads them back).
    """
    bounds = (column for name in shown_bounds() for column in (name, f"{name}_valid"))
    return [*_FIRST, *bounds, "refused", "failures"]


def results_frame(
    plans: Mapping[str, Iterable[Planned]], seed: int, results: Mapping[str, list[Row]]
) -> pd.DataFrame:
    """Join the planned cells with their results and put the bounds beside them.

    Parameters
    ----------
    plans : mapping of experiment id to planned cells
        Cells without a result are left out.
    seed : int
        Seed of the run.
    results : mapping of cell key to rows
        As the store gives them.
    """
    rows = [
        _row(experiment, planned, result)
        for experiment, plan in plans.items()
        for planned in plan
        for result in results.get(Cell(planned.kind, planned.parameters, seed).key, [])
    ]
    return pd.DataFrame(rows, columns=columns())


def _row(experiment: str, planned: Planned, result: Row) -> Row:
    """Return one row of the frame."""
    row = {**result, "experiment": experiment, "series": planned.series}
    for name in _SCALES_WITH_RADIUS:
        if name in row:
            row[name] = row[name] * planned.radius
    row.setdefault("prediction", prediction_kind(row))
    if not row["prediction"]:
        row.setdefault("unpredicted", "no formula for this quantity of such labels is known")
    bounds = _bounds(row)
    for name, bound in bounds.items():
        row[name] = bound.value if math.isfinite(bound.value) else math.nan
        row[f"{name}_valid"] = bound.valid
    row["refused"] = "; ".join(
        f"{name} {failure.sentence}" for name, bound in bounds.items() for failure in bound.failures
    )
    row["failures"] = failures_to_json({name: bound.failures for name, bound in bounds.items()})
    return row


def prediction_kind(row: Row) -> str:
    """Return what a row's `predicted` is: 'sharp', 'limit', or '' where nothing is predicted."""
    if not math.isfinite(row.get("predicted", math.nan)):
        return ""
    if row["quantity"] in ("rademacher average", "supremum deviation"):
        return "sharp" if _average_is_sharp(row) else "limit"
    planted = row["labels"] in ("planted", "worst planted") and row["loss"] == "linear"
    limit = planted and row["ball"] == "trace" and min(row["d"], row["L"]) > 1
    return "limit" if limit else "sharp"


def _average_is_sharp(row: Row) -> bool:
    """Return whether the predicted average is sharp for as many labels as n points can show."""
    moments = feature_law(row["law"], row["d"]).moments
    seen = observation_of(row["skew"], row["L"])
    shares = np.sort(seen.probabilities)[::-1]
    # With random numbers of labels few points may carry most of the sum.
    points = math.ceil(row["n"] / seen.label_numbers.spread**2)
    # slots of one point point the same way
    same = row["quantity"] == "supremum deviation" and row["labels"] == "all-ones" and row["s"] > 1
    overlap = 1.0 if same else float(np.square(shares).sum())
    if row["ball"] == "frobenius" or moments.rank_one:
        rows = 1 if moments.rank_one else row["d"]
        return predictions.frobenius_norm_is_sharp(overlap / rows, points)
    shown = math.ceil(points * row["L"] / (points + row["L"]))
    variances = np.array([1.0, 0.1]) if same else shares[:shown]
    return 2 * points >= row["L"] and predictions.spectral_norm_is_sharp(row["d"], variances)


def _bounds(row: Row) -> dict[str, BoundValue]:
    """Evaluate every bound on the row's quantity; none for rows that no bound is about."""
    ball = "trace" if row["ball"] == "leml" else row["ball"]  # LEML's Z lies in the trace ball
    if row["quantity"] not in _BOUNDED or ball not in BALLS or row["law"] not in LAWS:
        return {}
    law, seen = feature_law(row["law"], row["d"]), observation_of(row["skew"], row["L"], row["s"])
    setting = Setting.of(law, seen, row["n"], radius=row["radius"], ball=ball)
    averages = {name: bound(setting) for name, bound in tabled_bounds().items()}
    if row["quantity"] == "rademacher average":
        return averages
    risk = _risk_setting(row, setting)
    risks = {
        name: BoundValue(name, risky.value, risky.failures)
        for name, average in averages.items()
        for risky in [expectation_bound(setting, risk, average)]
    }
    if "offset_mean" not in row:
        return risks
    offset = Estimate(row["offset_mean"], row["offset_stderr"], row["offset_draws"])
    return {**risks, OFFSET.name: OFFSET(risk, offset)}


def _risk_setting(row: Row, setting: Setting) -> RiskSetting:
    """Return the constants of the row's loss, with the certificate's gap."""
    gap = max(row.get("certificate_gap", 0.0), 0.0)
    if row["loss"] == "clipped linear":
        return RiskSetting("clipped linear", lipschitz=1.0, loss_range=2.0, certificate_gap=gap)
    loss = LOSSES[row["loss"]]
    largest = row.get("label_bound", label_bound(loss))
    return RiskSetting.of(loss, setting, label_bound=largest, certificate_gap=gap)


def bounds_in(frame: pd.DataFrame) -> list[str]:
    """Return the names of the bounds that the frame has a column for."""
    return [name for name in shown_bounds() if name in frame]


def comparisons(frame: pd.DataFrame) -> int:
    """Return how many bounds a measurement is compared with: on means, and on single draws."""
    means = sum(int(is_valid(frame, name).sum()) for name in bounds_in(frame))
    return means + int(frame["exceedances"].notna().sum())


def is_valid(rows: pd.DataFrame, bound: str) -> NDArray[np.bool_]:
    """Return where the bound is valid; a row that no bound is about counts as not valid."""
    told = [str(flag) == "True" for flag in rows[f"{bound}_valid"]]  # NaN and text after a CSV
    valid: NDArray[np.bool_] = np.array(told, bool) & np.isfinite(rows[bound].to_numpy(float))
    return valid


def violations(frame: pd.DataFrame) -> list[Row]:
    """Return every valid bound that the measurements contradict, at the family-wise `rates.LEVEL`.

    A bound on an expectation is violated where the mean minus z standard errors is above it, z
    being Student's quantile for the number of comparisons in the frame; a 1 - delta bound where,
    by the binomial law, so many draws above it are that unlikely.
    """
    total = comparisons(frame)
    found = [
        _violation(row, name, row[name])
        for name, row in _held(frame)
        if is_above(row, row[name], total)
    ]
    for _, row in frame[frame["exceedances"].notna()].iterrows():
        draws = int(row["exceedances"]), int(row["draws"]), row["delta"]
        if exceeds_too_often(*draws, n_tests=total * looks(row)):
            found.append(_violation(row, "high_probability", row["high_probability"]))
    return found


def is_above(row: pd.Series, bound: float, n_tests: int) -> bool:
    """Return whether a measured mean is above a bound on it by more than chance."""
    t = family_t(n_tests * looks(row), int(row["draws"]))
    error = float(np.nan_to_num(row["stderr"]))
    return exceeds(row["value"], error, bound, t, deterministic=is_deterministic(row))


def undecided_bounds(frame: pd.DataFrame) -> list[Row]:
    """Return every valid bound that equal draws of a random quantity lie above."""
    return [
        _violation(row, name, row[name])
        for name, row in _held(frame)
        if undecided(row["value"], row["stderr"], row[name], deterministic=is_deterministic(row))
    ]


def _held(frame: pd.DataFrame) -> Iterator[tuple[str, pd.Series]]:
    """Return every valid bound on a mean with the row it is compared with."""
    for name in bounds_in(frame):
        for _, row in frame[is_valid(frame, name)].iterrows():
            yield name, row


def is_deterministic(row: Row | pd.Series) -> bool:
    """Return whether a row's quantity is the same in every draw: one point of constant norm."""
    if row["quantity"] != "rademacher average" or row["n"] != 1 or "observed" in row["skew"]:
        return False
    moments = feature_law(row["law"], row["d"]).moments
    known = math.isfinite(moments.radius)
    return known and math.isclose(moments.radius**2, moments.second_moment)


def _violation(row: pd.Series, name: str, value: float) -> Row:
    """Return where and by what a bound is violated."""
    place = {key: row[key] for key in _FIRST if pd.notna(row[key])}
    return {**place, "bound": name, "bound_value": value}


# A prediction is called sharp where it is within this share of the mean.
SHARP = 0.03


def sharp_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the results frame that have a sharp prediction."""
    return frame[frame["prediction"] == "sharp"]


def contradictions(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return every row whose measured mean and sharp prediction exclude each other.

    They do where they differ by more than 3 % of the prediction and t standard errors, of the
    measurement and of the prediction's own Monte Carlo draws together, t being Student's quantile
    for the family-wise `rates.LEVEL` over both sides of all sharp predictions. Draws of a positive
    quantity that are all small by chance have a small standard error too: where the mean is the
    smaller one, its *relative* standard error is applied to the prediction.
    """
    rows = sharp_rows(frame)
    return [
        {str(name): value for name, value in row.items() if pd.notna(value)}
        for _, row in rows.iterrows()
        if contradicts(row, family_t(2 * len(rows) * looks(row), int(row["draws"])))
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
