"""Panels without a curve: a few worlds beside each other, and the rare outlier."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from leml_theory.bounds import shown_bounds
from leml_theory.plots.curves import (
    ERRORS,
    draw_points,
    draw_prediction,
    draw_violations,
    text_entry,
    treat_zeros,
)
from leml_theory.plots.panel import Panel, numbers, varies
from leml_theory.plots.style import GREY, LOOKS, write_beside
from leml_theory.plots.ticks import label_logs, label_values
from leml_theory.plots.validity import best_valid, drawn_bounds, short_reason
from leml_theory.sweep.experiments.controls import REFUSALS
from leml_theory.sweep.frame import is_valid

_DODGE = {"trace": -0.13, "frobenius": 0.13, "pooled": 0.0, "leml": -0.28}


def draw_categories(ax: Axes, rows: pd.DataFrame, panel: Panel, n_tests: int) -> None:
    """Draw one column per world: measured, predicted, the smallest valid bound, refused bounds."""
    names = rows.attrs.get(panel.axis) or list(dict.fromkeys(rows[panel.axis]))
    place = rows[panel.axis].map(names.index)
    if panel.axis != "ball":
        place = place + rows["ball"].map(_DODGE)
    rows = rows.assign(place=place.astype(float))
    margin = 0.35 if len(names) == 1 else 0.6
    ax.set(yscale="log", xlim=(-margin, len(names) - 1 + margin))
    _draw_balls(ax, rows)
    x, best = numbers(rows, "place"), best_valid(rows)
    if np.isfinite(best).any():
        dash = Line2D(x, best, color="black", marker="_", linestyle="none")
        dash.set(markersize=15, markeredgewidth=1.8, label="smallest valid bound", gid="smallest")
        ax.add_line(dash)
    _draw_own(ax, rows)
    _draw_refused(ax, rows, names)
    draw_violations(ax, rows, "place", n_tests)
    treat_zeros(ax, rows)
    balls = {LOOKS[ball].name: _DODGE[ball] for ball in rows["ball"].unique()}
    ticks = balls if len(names) == 1 else _worlds(rows, names, panel.axis)
    texts = [name if "\n" in name else broken(name) for name in ticks]
    ax.set_xticks(list(ticks.values()), texts)
    ax.grid(visible=False, axis="x")


def broken(name: str) -> str:
    """Return a name of several words in two lines, so that names beside each other do not meet."""
    name = LOOKS[name].name if name in LOOKS else name
    ends = [i for i, character in enumerate(name) if character in "- _"]
    middle = min(ends, key=lambda i: abs(2 * i - len(name)), default=0)
    if len(name) <= 9 or not middle:
        return name
    return f"{name[: middle + 1].rstrip()}\n{name[middle + 1 :]}"


def _worlds(rows: pd.DataFrame, names: list[str], axis: str) -> dict[str, float]:
    """Return the place of every world under its name, with its n where that differs."""
    if not varies(rows, "n"):
        return {name: float(place) for place, name in enumerate(names)}
    points = [int(rows["n"][rows[axis] == name].iloc[0]) for name in names]
    return {
        f"{name}\nn = {n}": float(i) for i, (name, n) in enumerate(zip(names, points, strict=True))
    }


def _draw_balls(ax: Axes, rows: pd.DataFrame) -> None:
    """Draw the measured values of every ball, and a thin line where they are predicted."""
    for ball, look in LOOKS.items():
        points = rows[(rows["ball"] == ball) & (rows["value"] > 0)]
        if points.empty:
            continue
        x, label = numbers(points, "place"), f"{look.name} {look.noun}, measured"
        draw_points(ax, x, points, label, **look.marks(), linestyle="none")
        for middle, (_, point) in zip(x, points.iterrows(), strict=True):
            if np.isfinite(point["predicted"]):
                ends = np.array([middle - 0.16, middle + 0.16])
                draw_prediction(ax, ends, pd.DataFrame([point, point]), look.colour)


def _draw_own(ax: Axes, rows: pd.DataFrame) -> None:
    """Draw the bounds of the user's own as dashes where they are valid."""
    for name in drawn_bounds(rows, "always"):
        valid, bound = rows[is_valid(rows, name)], shown_bounds()[name]
        style: dict[str, Any] = {"marker": "_", "ms": 15, "ls": "none", "color": bound.look.colour}
        x, y = numbers(valid, "place"), numbers(valid, name)
        ax.plot(x, y, label=bound.label, gid="bound", **style)


def _draw_refused(ax: Axes, rows: pd.DataFrame, names: list[str]) -> None:
    """Draw the bound that each control refuses as a grey cross, and say why under the panel."""
    for series in names:
        if series not in REFUSALS:
            continue
        bound = REFUSALS[series].bound
        control = rows[(rows["series"] == series) & (rows["ball"] == "trace")]
        name = shown_bounds()[bound].label
        label = f"{series}: {name}, not valid here: {short_reason(control, bound)}"
        if not np.isfinite(control[bound]).any():
            text_entry(ax, f"{label}; it has no value")
            continue
        x, y = names.index(series), float(control[bound].iloc[0])
        ax.plot([x], [y], color=GREY, marker="x", markersize=9, label=label, ls=":", gid="refused")
        write_beside(ax, "refused", (x, y), (0, -14), ha="center", color="0.4", fontsize=7.5)


def draw_outlier(ax: Axes, rows: pd.DataFrame, panel: Panel, _z: float) -> None:
    """Draw how far above Theorem 3's promise one rare outlier lifts the excess, and how often."""
    ax.set(xscale="log", yscale="log")
    look = LOOKS["trace"]
    x, ratio = numbers(rows, panel.axis), numbers(rows, "signal")
    ax.axhline(1, color=GREY, linestyle=":", label=_PROMISE)
    ax.plot(x, ratio, color=look.colour, marker=look.marker, linestyle="none", label=_OUTLIER)
    for place, level, often, error in zip(x, ratio, rows["value"], rows["stderr"], strict=True):
        text = f"in {often:.2%} ± {ERRORS * error:.2%} of runs"
        write_beside(ax, text, (place, level), (7, 3), fontsize=8)
    ax.set(xlim=(x.min() / 2, x.max() * 25), ylim=(0.7, ratio.max() * 2))
    label_logs(ax, "y")
    label_values(ax, sorted(x))


_PROMISE = (
    "Theorem 3 with unit constants, not valid here: its proof needs a bounded loss; it would "
    "allow less than 1 except with probability δ"
)
_OUTLIER = "excess of the minimiser when the outlier is drawn, over Theorem 3's promise"
