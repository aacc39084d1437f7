"""Experiments on excess risk with the linear loss: who attains the bounds, and fast rates."""

import math

import pandas as pd

from leml_theory.predictions import WORST_ANGLE
from leml_theory.sweep.experiments.averages import (
    SKEW_FITS,
    TRANSITION_FITS,
    powers,
    skew_plan,
    transition_plan,
)
from leml_theory.sweep.experiments.design import (
    AGREES,
    Experiment,
    Fit,
    Outcome,
    Planned,
    tends_to_one,
)

EXCESS = "excess risk"


def _worst(series: str, place: dict[str, int], *, radius: float = 1.0) -> Planned:
    """Plan a worst planted excess with uniform labels; `place` holds n, d, L, draws and signals."""
    return Planned(series, "worst planted", {**place, "skew": "uniform"}, radius=radius)


def _effort(preset: str) -> dict[str, int]:
    """Return how many draws and signals a worst planted excess takes."""
    return {"draws": 60, "signals": 12} if preset == "quick" else {"draws": 200, "signals": 40}


def _x3(preset: str) -> list[Planned]:
    quick = preset == "quick"
    plan = transition_plan(preset)
    labels = powers(4, 10, 2) if quick else powers(4, 14, 2)
    # Few draws, since thousands of labels average the noise away.
    place = {"n": 10**9, "d": 8, **_effort(preset), "draws": 20 if quick else 100}
    plan += [_worst("planted, d = 8", {**place, "L": n_labels}) for n_labels in labels]
    for n_labels in powers(4, 10, 2) if quick else powers(4, 14, 2):
        # the number of points that the paper's own proof asks for
        n = math.ceil(n_labels**2 * math.log(n_labels**2 / 2))
        place = {"n": n, "d": 1, "L": n_labels, "draws": 60 if quick else 200}
        plan.append(Planned("counterexample, d = 1", "clipped", place))
    return plan


def _saturation(rows: pd.DataFrame) -> list[Outcome]:
    """Check that the worst planted excess approaches its limit, which is flat for L >> d."""
    planted = rows[(rows["series"] == "planted, d = 8") & (rows["ball"] == "trace")]
    name = "worst planted excess over its limit tends to 1 with L"
    return [tends_to_one(name, planted, "L", planted["predicted"])]


X3 = Experiment(
    "X3",
    "Theorem 4 beyond L = d",
    _x3,
    (
        *TRANSITION_FITS,
        Fit("planted, d = 8", EXCESS, "L", "excluded", {"trace": -0.5}),
        Fit("counterexample, d = 1", EXCESS, "L", "reject", {"trace": 0.0}, times_root_n=True),
    ),
    _saturation,
)


def _x4(preset: str) -> list[Planned]:
    quick = preset == "quick"
    shares = (0.1, 0.4, 0.9) if quick else (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95)
    place = {"n": 262144, "d": 32, "L": 32, **_effort(preset)}
    return skew_plan(preset) + [
        Planned("planted on the head", "worst planted", {**place, "skew": f"heavy:{share}"})
        for share in shares
    ]


def _head_label(rows: pd.DataFrame) -> list[Outcome]:
    """Check that the planted trace excess comes closer to 0.3003 sqrt(P/n) as P grows."""
    head = rows[(rows["series"] == "planted on the head") & (rows["ball"] == "trace")]
    limit = WORST_ANGLE * (head["P"] / head["n"]) ** 0.5
    return [tends_to_one("excess over 0.3003 sqrt(P/n) tends to 1 with P", head, "P", limit)]


X4 = Experiment(
    "X4",
    "Theorem 6, one label seen too often",
    _x4,
    (*SKEW_FITS, Fit("planted on the head", EXCESS, "P", "reported", {"trace": 0.5})),
    _head_label,
)


def _diagonal(preset: str) -> list[int]:
    return powers(3, 6) if preset == "quick" else powers(3, 8)


def _x5(preset: str) -> list[Planned]:
    quick, effort = preset == "quick", _effort(preset)
    gap = {"law": "rademacher", "n": 16384, "d": 64, "L": 64, "skew": "uniform"}
    plan = [Planned("gap", "rademacher", {**gap, "draws": 200 if quick else 600})]
    points = powers(12, 18, 2) if quick else powers(12, 18)
    plan += [_worst("n", {"n": n, "d": 32, "L": 32, **effort}) for n in points]
    sizes = ({"n": 10**9, "d": size, "L": size} for size in _diagonal(preset))
    return plan + [_worst("L = d", {**place, **effort}) for place in sizes]


def _claim_8(rows: pd.DataFrame) -> list[Outcome]:
    """Check both gaps of Claim 8 against their sharp values."""
    checks = []
    for _, row in rows[rows["series"] == "gap"].iterrows():
        distance = abs(row["value"] - row["predicted"]) / row["stderr"]
        detail = f"{row['value']:.6f} against {row['predicted']:.6f}, {distance:.1f} s.e."
        checks.append((f"gap of the {row['ball']} ball", bool(distance <= AGREES), detail))
    return checks


X5 = Experiment(
    "X5",
    "Claim 8 for excess risk: worst planted signal, trace against Frobenius",
    _x5,
    (
        Fit("n", EXCESS, "n", "sharp", {"frobenius": -0.5}),
        Fit("n", EXCESS, "n", "slope", {"trace": -0.5}),
        Fit("L = d", EXCESS, "L", "sharp", {"frobenius": 0.0}),
        Fit("L = d", EXCESS, "L", "approach", {"trace": -0.5}),
    ),
    _claim_8,
)


def _x6(preset: str) -> list[Planned]:
    place = {"n": 10**9, **_effort(preset)}
    return [
        _worst("L = d", {**place, "d": size, "L": size}, radius=math.sqrt(size))
        for size in _diagonal(preset)
    ]


X6 = Experiment(
    "X6",
    "Excess of the worst planted signal, radius √L",
    _x6,
    (
        Fit("L = d", EXCESS, "L", "sharp", {"frobenius": 0.5}),
        Fit("L = d", EXCESS, "L", "approach", {"trace": 0.0}),
    ),
)


def _x8(preset: str) -> list[Planned]:
    quick = preset == "quick"
    place = {"d": 16, "L": 16, "rho": 0.5, "draws": 60 if quick else 400}
    points = powers(10, 18, 2) if quick else powers(10, 18)
    return [Planned("fixed signal", "fixed planted", {**place, "n": n}) for n in points]


X8 = Experiment(
    "X8",
    "Excess of a signal that does not shrink with n",
    _x8,
    (Fit("fixed signal", EXCESS, "n", "fast", {"trace": -0.5, "frobenius": -0.5}),),
)
