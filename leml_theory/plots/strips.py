"""Lower strips of panels: measured over bound, and local slopes."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from leml_theory.plots.curves import ERRORS
from leml_theory.plots.panel import numbers
from leml_theory.plots.style import LOOKS
from leml_theory.plots.ticks import label_logs
from leml_theory.plots.validity import best_valid
from leml_theory.sweep.rates import local_slopes


def draw_ratio(ax: Axes, rows: pd.DataFrame, axis: str) -> None:
    """Draw measured over the smallest valid bound: level where the bound predicts the rate."""
    ax.axhline(1, color="black", linewidth=0.8, gid="on its bound")
    for ball, look in LOOKS.items():
        points = rows[rows["ball"] == ball]
        ratio: Any = points["value"] / best_valid(points) if len(points) else []
        ax.plot(points[axis], ratio, **look.marks(0.8), linestyle=look.line, linewidth=0.9)
    ax.set_yscale("log")
    ax.set_ylabel("measured ÷\nbest valid bound", fontsize=7.5)  # no longer than the strip is high
    low, high = ax.get_ylim()
    ax.set_ylim(min(low / 1.25, 0.4), max(high, 1.5))
    label_logs(ax, "y")


def draw_slopes(ax: Axes, rows: pd.DataFrame, axis: str) -> None:
    """Draw the slope between neighbouring points beside the bounds' rate and the fast one."""
    for level, name in ((-0.5, "bound's rate"), (-1.0, "fast rate")):
        line = "-" if level > -1 else "--"
        ax.axhline(level, color="0.3", linewidth=0.8, linestyle=line, gid=name)
    for ball, look in LOOKS.items():
        points = rows[(rows["ball"] == ball) & (rows["value"] > 0) & (rows["stderr"] > 0)]
        if points[axis].nunique() < 2:
            continue
        x, value, error = (numbers(points, name) for name in (axis, "value", "stderr"))
        slopes = local_slopes(x, value, error)
        middle, y = np.sqrt(x[1:] * x[:-1]), [slope.slope for slope in slopes]
        bars = [ERRORS * slope.stderr for slope in slopes]
        style = {**look.marks(0.8), "linestyle": look.line, "linewidth": 0.9, "elinewidth": 1}
        ax.errorbar(middle, y, yerr=bars, **style)
    ax.set(ylim=(-1.65, 0.45), ylabel="local slope", yticks=(-1.5, -1, -0.5, 0))
