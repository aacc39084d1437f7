"""Negative controls: worlds in which a bound does not apply, and is refused with its reason."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from leml_theory.bounds import failures_from_json
from leml_theory.sweep.experiments.design import AGREES, Experiment, Outcome, Planned


@dataclass(frozen=True, slots=True)
class Refused:
    """A bound that a control refuses, and the assumption that fails there."""

    bound: str
    needs: str


REFUSALS = {
    "heavy tails": Refused("paper_route", "needs x, symmetrised, to be sub-Gaussian"),
    "non-centred": Refused("paper_route", "needs E x = 0, which its condition 3 forces"),
    "n < L": Refused("paper_route", "needs n > {}"),
    "raw N(0, I)": Refused("theorem_3_as_printed", "needs E|x|^2 <= 1"),
}


def _x11(preset: str) -> list[Planned]:
    draws = 40 if preset == "quick" else 400
    place = {"d": 64, "L": 64, "n": 4096, "skew": "uniform", "draws": draws}
    laws: dict[str, dict[str, Any]] = {
        "heavy tails": {"law": "heavy-tailed"},
        "non-centred": {"law": "non-negative"},
        "n < L": {"law": "gaussian", "n": 32},
        "raw N(0, I)": {"law": "raw-gaussian"},
    }
    plan = [Planned(name, "rademacher", {**place, **law}) for name, law in laws.items()]
    return plan + [
        Planned("rare outlier", "outlier", {"n": 10_000, "delta": delta, "draws": 40_000})
        for delta in (0.05, 0.01, 0.001)
    ]


def _refused(rows: pd.DataFrame) -> list[Outcome]:
    """Check that every control refuses its bound for its reason, and that the outlier breaks it."""
    checks = []
    for series, expected in REFUSALS.items():
        row = rows[(rows["series"] == series) & (rows["ball"] == "trace")].iloc[0]
        failures = failures_from_json(row["failures"], expected.bound)
        reasons = [str(f.taken_from(expected.bound)) for f in failures if f.needs == expected.needs]
        detail = reasons[0] if reasons else "not refused for that reason"
        valid = bool(row[f"{expected.bound}_valid"])
        checks.append((f"{series}: {expected.bound} refused", bool(reasons) and not valid, detail))
    outlier = rows[rows["series"] == "rare outlier"]
    for _, row in outlier.iterrows():
        agrees = abs(row["value"] - row["predicted"]) <= AGREES * row["stderr"]
        detail = f"excess {row['signal']:.1f} times the promise in {row['value']:.2%} of runs"
        name = f"Theorem 3 without a bounded loss, delta = {row['delta']:g}"
        checks.append((name, bool(agrees and row["signal"] > 1), detail))
    return checks


X11 = Experiment("X11", "Negative controls: worlds outside an assumption", _x11, (), _refused)
