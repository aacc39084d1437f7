"""Negative controls: worlds in which a bound does not apply, and is refused with its reason."""

from __future__ import annotations

from typing import Any

import pandas as pd

from leml_theory.sweep.experiments.design import AGREES, Experiment, Outcome, Planned

# series -> (bound that must be refused, words that its reason must hold)
REFUSALS = {
    "heavy tails": ("paper_route", "no proxy"),
    "non-centred": ("paper_route", "not centred"),
    "n < L": ("paper_route", "needs n >"),
    "raw N(0, I)": ("theorem_3_as_printed", "E|x|^2"),
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
    for series, (bound, words) in REFUSALS.items():
        row = rows[(rows["series"] == series) & (rows["ball"] == "trace")].iloc[0]
        reasons = [r for r in str(row["refused"]).split("; ") if r.startswith(f"{bound} ")]
        reason = next((r for r in reasons if words in r), "not refused for that reason")
        passed = bool(row[f"{bound}_valid"] == False) and words in reason  # noqa: E712
        checks.append((f"{series}: {bound} refused", passed, reason))
    outlier = rows[rows["series"] == "rare outlier"]
    for _, row in outlier.iterrows():
        agrees = abs(row["value"] - row["predicted"]) <= AGREES * row["stderr"]
        detail = f"excess {row['signal']:.1f} times the promise in {row['value']:.2%} of runs"
        passed = bool(agrees and row["signal"] > 1)
        checks.append(
            (f"Theorem 3 without a bounded loss, delta = {row['delta']:g}", passed, detail)
        )
    return checks


X11 = Experiment("X11", "Negative controls: bounds refused with their reasons", _x11, (), _refused)
