"""What the page is given: the results by columns, names of bounds and laws, the maps of X12."""

import json
import math
from collections.abc import Iterable
from typing import Any

import pandas as pd

from leml_solver.losses import LOSSES
from leml_theory.bounds import RISK_BOUNDS, shown_bounds
from leml_theory.sweep.experiments import EXPERIMENTS
from leml_theory.sweep.experiments.custom import WORLDS
from leml_theory.sweep.experiments.phases import LABEL_MAP, SHARE_MAP, advantages
from leml_theory.sweep.frame import bounds_in, is_valid
from leml_theory.worlds import LAWS, label_bound

LARGEST = 1_400_000  # bytes of results, so that the page stays under 2 MB
_WORDS = (
    "experiment", "series", "quantity", "ball", "law", "labels", "loss", "skew", "prediction",
    "high_probability_name",
)  # fmt: skip
_NUMBERS = (
    "n", "d", "L", "s", "observed", "P", "radius", "radius_factor", "draws", "value", "stderr",
    "predicted", "predicted_stderr", "delta", "high_probability", "exceedances", "minimax",
)  # fmt: skip
_DIGITS = 7
# Laws that bounds.js has formulas for; of others it is given the moments at these d and the run's.
_IN_SCRIPT = ("gaussian", "rademacher", "rank-one", "raw-gaussian", "non-negative", "heavy-tailed")
_TABLED_AT = tuple(2**k for k in range(11))
_MORE_LABELS = {
    "paper_literal_excess": "Theorem 3 as the paper proves it",
    "mcdiarmid_gap": "McDiarmid's inequality",
    "bousquet_linear_gap": "Bousquet's inequality",
    "gaussian_linear_gap": "Gaussian features (Appendix C)",
    "minimax": "no method can beat this",
}
_RIVALS = ("frobenius", "pooled", "separate")


def page_data(frame: pd.DataFrame, summary: dict[str, Any]) -> dict[str, Any]:
    """Return the data of the page as JSON values."""
    kept, left_out = _within(frame, LARGEST)
    titles = {name: EXPERIMENTS[name].title for name in EXPERIMENTS}
    present = list(dict.fromkeys(frame["experiment"]))
    return {
        "summary": {**summary, "titles": {name: titles.get(name, "") for name in present}},
        "rows": _columns(kept),
        "left_out": left_out,
        "bounds": _bounds(),
        "laws": list(LAWS),
        "tables": _tables(frame["d"].dropna().unique()),
        "losses": {name: label_bound(loss) for name, loss in LOSSES.items()},
        "worlds": {name: list(world) for name, world in WORLDS.items()},
        "maps": _maps(frame),
    }


def _within(frame: pd.DataFrame, size: int) -> tuple[pd.DataFrame, list[str]]:
    """Return the first series that fit into `size` bytes, and the names of the others."""
    total = len(json.dumps(_columns(frame)))
    most = len(frame) if total <= size else int(len(frame) * size / total)
    groups = frame.groupby(["experiment", "series"], sort=False).ngroup()
    ends = groups.value_counts(sort=False).sort_index().cumsum()
    fits = groups.map(ends <= most).astype(bool)
    left = frame[~fits].drop_duplicates(["experiment", "series"])
    return frame[fits], [f"{row['experiment']} {row['series']}" for _, row in left.iterrows()]


def _columns(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the columns that the page shows; words are coded, bounds kept where they are valid."""
    words = {name: _coded(frame[name]) for name in _WORDS if name in frame}
    numbers = {name: _rounded(frame[name]) for name in _NUMBERS if name in frame}
    bounds = {name: _rounded(frame[name].where(is_valid(frame, name))) for name in bounds_in(frame)}
    return {"size": len(frame), "words": words, "numbers": numbers, "bounds": bounds}


def _coded(column: pd.Series) -> dict[str, list[Any]]:
    """Return the distinct words of a column and, for each row, which of them it holds."""
    codes, names = pd.factorize(column.astype(object).where(column.notna(), "").astype(str))
    return {"names": [str(name) for name in names], "codes": codes.tolist()}


def _rounded(column: pd.Series) -> list[float | int | None]:
    """Return numbers to seven digits, None for those that are missing."""
    return [_number(value) for value in pd.to_numeric(column)]


def _number(value: float) -> float | int | None:
    if not math.isfinite(value):
        return None
    short = float(f"{value:.{_DIGITS}g}")
    return int(value) if float(value).is_integer() else short


def _bounds() -> list[dict[str, str]]:
    """Return name and label of every bound that the page may show."""
    known = {name: bound.label for name, bound in {**shown_bounds(), **RISK_BOUNDS}.items()}
    return [
        {"name": name, "label": label.removesuffix(", trace ball")}
        for name, label in {**_MORE_LABELS, **known}.items()
    ]


def _tables(sizes: Iterable[float]) -> dict[str, Any]:
    """Return the moments of laws that the script has no formula for, at some dimensions."""
    dimensions = sorted({*_TABLED_AT, *(int(d) for d in sizes)})
    return {name: _table(name, dimensions) for name in LAWS if name not in _IN_SCRIPT}


def _table(name: str, dimensions: list[int]) -> dict[str, Any]:
    """Return the moments of one law; dimensions that the law refuses are left out."""
    table: dict[str, Any] = {"kind": "other", "at": {}}
    for d in dimensions:
        try:
            law = LAWS[name](d)
            moments = law.moments
        except (ValueError, ArithmeticError):
            continue
        table["kind"] = law.kind
        table["at"][d] = [
            moments.second_moment, moments.top_eigenvalue, moments.proxy, moments.radius,
            moments.centred,
        ]  # fmt: skip
    return table


def _maps(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the maps of X12 with the points of X13: the advantage of the trace ball."""
    found = []
    for series, across in ((LABEL_MAP, "L"), (SHARE_MAP, "s")):
        rows = frame[frame["series"] == series]
        predicted = rows[rows["quantity"] == "predicted excess"]
        measured = rows[(rows["experiment"] == "X13") & (rows["quantity"] == "excess risk")]
        for rival in _RIVALS:
            cells = _advantages(predicted, rival, across)
            if cells:
                points = _advantages(measured, rival, across)
                sizes = sorted(predicted["n"].unique().tolist())
                others = sorted(predicted[across].unique().tolist())
                found.append({
                    "series": series, "across": across, "rival": rival, "n": sizes,
                    "other": others, "L": int(predicted["L"].iloc[0]), "cells": cells,
                    "points": points,
                })  # fmt: skip
    return found


def _advantages(rows: pd.DataFrame, rival: str, across: str) -> list[list[float | int | None]]:
    """Return (n, L or s, advantage, standard error) of every place where both are known."""
    if rows.empty:
        return []
    places = advantages(rows, rival)[["n", across, "advantage", "stderr"]]
    return [[_number(float(value)) for value in place] for place in places.itertuples(index=False)]
