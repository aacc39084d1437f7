"""The results frame: one row per cell and quantity, with every bound and its validity."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from leml_solver import LOSSES
from leml_theory.bounds import (
    BALLS,
    BoundValue,
    RiskSetting,
    Setting,
    expectation_bound,
    failures_to_json,
    tabled_bounds,
)
from leml_theory.runs.cells import Cell
from leml_theory.sweep.experiments import Planned
from leml_theory.sweep.rates import LEVEL, exceedance_test, exceeds, family_t
from leml_theory.worlds import LAWS, feature_law, label_bound, observation_of

Row = dict[str, Any]

_FIRST = [
    "experiment", "series", "quantity", "ball", "law", "labels", "loss", "n", "d", "L", "s", "skew",
    "P", "radius", "radius_factor", "draws", "value", "stderr", "certificate_gap", "predicted",
    "signal", "delta", "high_probability",
    "high_probability_name", "exceedances",
]  # fmt: skip
_SCALES_WITH_RADIUS = ("value", "stderr", "predicted", "radius", "high_probability")


def columns() -> list[str]:
    """Return the columns of the frame; every bound has one for its value and one for its validity.

    `refused` tells the failed assumptions in words, `failures` holds them as JSON
    (`failures_from_json` reads them back).
    """
    bounds = (column for name in tabled_bounds() for column in (name, f"{name}_valid"))
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
    bounds = _bounds(row)
    for name, bound in bounds.items():
        row[name] = bound.value if math.isfinite(bound.value) else math.nan
        row[f"{name}_valid"] = bound.valid
    row["refused"] = "; ".join(
        f"{name} {failure.sentence}" for name, bound in bounds.items() for failure in bound.failures
    )
    row["failures"] = failures_to_json({name: bound.failures for name, bound in bounds.items()})
    return row


def _bounds(row: Row) -> dict[str, BoundValue]:
    """Evaluate every bound on the row's quantity; none for rows that no bound speaks of."""
    ball = "trace" if row["ball"] == "leml" else row["ball"]  # LEML's Z lies in the trace ball
    if ball not in BALLS or row["law"] not in LAWS:
        return {}
    setting = Setting.of(
        feature_law(row["law"], row["d"]),
        observation_of(row["skew"], row["L"], row["s"]),
        row["n"],
        radius=row["radius"],
        ball=ball,
    )
    averages = {name: bound(setting) for name, bound in tabled_bounds().items()}
    if row["quantity"] == "rademacher average":
        return averages
    risk = _risk_setting(row, setting)
    return {
        name: BoundValue(name, risky.value, risky.failures)
        for name, average in averages.items()
        for risky in [expectation_bound(setting, risk, average)]
    }


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
    return [name for name in tabled_bounds() if name in frame]


def comparisons(frame: pd.DataFrame) -> int:
    """Return how many bounds a measurement is held against: on means, and on single draws."""
    means = sum(int(_valid(frame, name).sum()) for name in bounds_in(frame))
    return means + int(frame["exceedances"].notna().sum())


def _valid(frame: pd.DataFrame, name: str) -> pd.Series:
    """Return where the bound is valid; rows that no bound speaks of have none."""
    return frame[f"{name}_valid"].eq(True)


def violations(frame: pd.DataFrame, level: float = LEVEL) -> list[Row]:
    """Return every valid bound that the measurements contradict, at a family-wise `level`.

    A bound on an expectation is violated where the mean minus z standard errors is above it, z
    being Student's quantile for the number of comparisons in the frame; a 1 - delta bound where
    the binomial law makes so many draws above it that unlikely.
    """
    total = comparisons(frame)
    if total == 0:
        return []
    found = [
        _violation(row, name, row[name])
        for name in bounds_in(frame)
        for _, row in frame[_valid(frame, name)].iterrows()
        if exceeds(
            row["value"], row["stderr"], row[name], family_t(total, int(row["draws"]), level)
        )
    ]
    for _, row in frame[frame["exceedances"].notna()].iterrows():
        count, draws = int(row["exceedances"]), int(row["draws"])
        if exceedance_test(count, draws, row["delta"], n_tests=total, level=level).violated:
            found.append(_violation(row, "high_probability", row["high_probability"]))
    return found


def _violation(row: pd.Series, name: str, value: float) -> Row:
    """Return where and by what a bound is violated."""
    place = {key: row[key] for key in _FIRST if pd.notna(row[key])}
    return {**place, "bound": name, "bound_value": value}
