"""When low rank helps: maps of the predicted excess of four methods, and points measured on them.

The true Z is nearly shared: nine tenths of its square in one common predictor, the rest of rank
two, so that every one of the methods has a region where it is at home.
"""

import pandas as pd

from leml_theory.sweep.experiments.averages import powers
from leml_theory.sweep.experiments.design import AGREES, Experiment, Outcome, Planned

LABEL_MAP, SHARE_MAP = "n and L", "n and share observed"
_WORLD = {"law": "gaussian", "skew": "uniform", "loss": "squared", "labels": "nearly shared"}
_WORLD_SIZES = {"d": 16, "radius": 1.0}
# What the prediction leaves out: its own three per cent, as in a contradiction.
_SLACK = 0.03


def _place(series: str, kind: str, n: int, n_labels: int, s: int, draws: int) -> Planned:
    place = {"n": n, "L": n_labels, "s": s, "draws": draws}
    return Planned(series, kind, {**_WORLD, **_WORLD_SIZES, **place})


def _x12(preset: str) -> list[Planned]:
    quick = preset == "quick"
    points = powers(7, 15, 2) if quick else powers(6, 17)
    labels, seen = (powers(0, 6, 2), (1, 2, 4, 8)) if quick else (powers(0, 7), (1, 2, 3, 4, 6, 8))
    draws, kind = 8 if quick else 32, "predicted excess"
    plan = [_place(LABEL_MAP, kind, n, n_labels, 1, draws) for n in points for n_labels in labels]
    return plan + [_place(SHARE_MAP, kind, n, 32, s, draws) for n in points for s in seen]


def advantages(rows: pd.DataFrame, rival: str) -> pd.DataFrame:
    """Return the places of a map with `advantage`, the rival's excess over the trace ball's.

    Its standard error is in `stderr`; places where one of the two is not known are left out.
    """
    keys = ["n", "L", "s"]
    wide = rows.pivot_table(index=keys, columns="ball", values=["value", "stderr"])
    if not {rival, "trace"} <= set(rows["ball"]):
        return pd.DataFrame(columns=[*keys, "advantage", "stderr"])
    ratio = wide["value"][rival] / wide["value"]["trace"]
    errors = [(wide["stderr"][ball] / wide["value"][ball]) ** 2 for ball in (rival, "trace")]
    found = pd.DataFrame({"advantage": ratio, "stderr": ratio * (errors[0] + errors[1]) ** 0.5})
    return found.dropna().reset_index()


def _map_checks(rows: pd.DataFrame) -> list[Outcome]:
    """Check that one label gives no advantage, and that more labels give more."""
    found = advantages(rows[rows["series"] == LABEL_MAP], "frobenius")
    one = found[found["L"] == 1]
    off = ((one["advantage"] - 1).abs() / one["stderr"]).max()
    last = found[found["n"] == found["n"].max()].sort_values("L")["advantage"]
    ends = f"{last.iloc[0]:.2f} to {last.iloc[-1]:.2f} at n = {found['n'].max()}"
    return [
        ("no predicted advantage over the Frobenius ball for one label", bool(off <= AGREES),
         f"{off:.1f} s.e. at most"),
        ("with many points it grows with L", bool(last.is_monotonic_increasing), ends),
    ]  # fmt: skip


X12 = Experiment("X12", "When low rank helps: predicted advantage", _x12, (), _map_checks)


def _x13(preset: str) -> list[Planned]:
    quick = preset == "quick"
    draws = 12 if quick else 24
    labels = ((512, 4), (2048, 16)) if quick else ((512, 4), (2048, 4), (2048, 16), (8192, 64))
    seen = ((512, 4),) if quick else ((512, 4), (512, 8), (2048, 2), (2048, 8))
    plan = [_place(LABEL_MAP, "erm", n, n_labels, 1, draws) for n, n_labels in labels]
    return plan + [_place(SHARE_MAP, "erm", n, 32, s, draws) for n, s in seen]


def _point_checks(rows: pd.DataFrame) -> list[Outcome]:
    """Check the measured excesses against the predicted ones."""
    known = rows[rows["predicted"].notna()]
    ratio = known["value"] / known["predicted"]
    error = (known["stderr"] ** 2 + known["predicted_stderr"].fillna(0.0) ** 2) ** 0.5 / known[
        "predicted"
    ]
    passed = ((ratio - 1).abs() <= AGREES * error + _SLACK).all()
    detail = f"{ratio.min():.3f} to {ratio.max():.3f} of the prediction, {len(known)} values"
    return [("measured excesses as predicted", bool(passed), detail)]


X13 = Experiment("X13", "When low rank helps: measured", _x13, (), _point_checks)
