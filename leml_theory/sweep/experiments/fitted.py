"""Experiments with exact minimisers on samples: squared and logistic loss, the shared predictor."""

import pandas as pd

from leml_theory.sweep.experiments.averages import powers
from leml_theory.sweep.experiments.design import AGREES, Experiment, Fit, Outcome, Planned

EXCESS = "excess risk"
RANK = 4  # of LEML, where it stands beside the exact minimisers
FAST = {"trace": -0.5, "frobenius": -0.5, "leml": -0.5}


def _erm(series: str, place: dict[str, object], points: list[int]) -> list[Planned]:
    """Plan one series of fits with Gaussian features and one label per point."""
    common = {"law": "gaussian", "s": 1, "skew": "uniform", "loss": "squared", **place}
    return [Planned(series, "erm", {**common, "n": n}) for n in points]


def _x9(preset: str) -> list[Planned]:
    quick = preset == "quick"
    small: dict[str, object] = {"d": 16, "L": 16, "labels": "rank-1", "draws": 8 if quick else 24}
    points = powers(6, 14, 2) if quick else powers(6, 16, 2)
    plan = []
    exact = {**small, "radius": 1.0, "rank": RANK}
    plan += _erm("rank 1, radius 1|Z*|", exact, points)
    for factor in (2.0, 4.0):
        plan += _erm(f"rank 1, radius {factor:g}|Z*|", {**small, "radius": factor}, points)
    plan += _erm("rank 1, radius 0.5|Z*|", {**small, "radius": 0.5}, points)
    flat = {**small, "labels": "independent", "radius": 1.0}
    plan += _erm("full rank, radius |Z*|", flat, points)
    logistic = {**small, "labels": "logistic", "loss": "logistic", "radius": 1.0}
    plan += _erm("logistic, radius |Z*|", logistic, points)
    if not quick:
        large: dict[str, object] = {"d": 48, "L": 48, "labels": "rank-1", "draws": 8}
        grid = [96, 192, 384, 768, 1536, 3072, 6144, 24576, 98304]
        for factor in (1.0, 2.0, 4.0):
            plan += _erm(f"d = L = 48, radius {factor:g}|Z*|", {**large, "radius": factor}, grid)
    return plan


X9 = Experiment(
    "X9",
    "Squared and logistic loss: excess risk and its regimes",
    _x9,
    # the overall slope of every series: local slopes and regimes are on the picture
    tuple(
        Fit(name, EXCESS, "n", "fast", FAST)
        for name in dict.fromkeys(planned.series for planned in _x9("paper"))
    ),
)


def _x10(preset: str) -> list[Planned]:
    quick = preset == "quick"
    labels = (8, 32, 128) if quick else powers(3, 8)
    points = powers(9, 13, 2) if quick else powers(8, 15)
    place: dict[str, object] = {"d": 32, "labels": "shared", "radius": 1.0}
    place["draws"] = 12 if quick else 24
    plan = []
    for n_labels in labels:
        rank = {"rank": RANK} if n_labels == 32 else {}
        plan += _erm(f"L = {n_labels}", {**place, "L": n_labels, **rank}, points)
    return plan


def _ordering(rows: pd.DataFrame) -> list[Outcome]:
    """Check pooled < trace < Frobenius with three standard errors where there is enough to learn.

    Below n = 4 (d + L) no method has learnt much and the order says nothing.
    """
    excess = rows[rows["quantity"] == EXCESS]
    value = excess.pivot_table(index=["n", "L", "d"], columns="ball", values="value")
    error = excess.pivot_table(index=["n", "L", "d"], columns="ball", values="stderr")
    learnt = value.index.get_level_values("n") >= 4 * (
        value.index.get_level_values("L") + value.index.get_level_values("d")
    )
    checks = []
    for low, high in (("pooled", "trace"), ("trace", "frobenius")):
        distance = (value[high] - value[low]) / (error[high] ** 2 + error[low] ** 2) ** 0.5
        least = float(distance[learnt].min())
        detail = f"smallest distance {least:.1f} s.e. over {int(learnt.sum())} cells"
        checks.append((f"{low} below {high}", least >= AGREES, detail))
    return checks


X10 = Experiment(
    "X10",
    "One predictor shared by all labels, one label per point: who finds it",
    _x10,
    tuple(
        Fit(f"L = {n_labels}", EXCESS, "n", "fast", {"pooled": -0.5, **FAST})
        for n_labels in powers(3, 8)
    ),
    _ordering,
)
