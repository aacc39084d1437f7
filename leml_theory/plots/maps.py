"""Maps of where the trace ball helps: shades and contours predicted, points measured."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from leml_theory.arrays import Array
from leml_theory.bounds.bound import Line
from leml_theory.plots.panel import Panel
from leml_theory.plots.ticks import label_values
from leml_theory.sweep.experiments.phases import advantages

# advantage -> line of its contour and its name; told apart in greyscale too
_CONTOURS: dict[int, tuple[Line, float, str]] = {
    1: ("-", 2.4, "even: here the trace ball stops helping"),
    2: ((0, (6, 2)), 1.1, "twice as good"),
    4: ((0, (5, 1.5, 1, 1.5)), 1.1, "4 times"),
    8: ((0, (2, 1.5)), 1.1, "8 times"),
    16: ((0, (1, 2)), 1.1, "16 times"),
}
_REFUSED = "hatched: not predicted, a fit interpolates or points are too few"


def draw_map(ax: Axes, rows: pd.DataFrame, panel: Panel, _n_tests: int) -> None:
    """Draw the predicted advantage over one rival in n and L, or in n and s."""
    across = panel.axis
    table = _table(rows[rows["quantity"] == "predicted excess"], panel)
    x, y = table.columns.to_numpy(float), table.index.to_numpy(float)
    shades = np.log2(np.ma.masked_invalid(table.to_numpy(float)))
    ax.set(xscale="log", yscale="log")
    ax.set_facecolor("white")
    ax.patch.set(hatch="////", edgecolor="0.6")
    ax.pcolormesh(_edges(x), _edges(y), shades, cmap="Greys", vmin=-1, vmax=9, gid="map")
    for level, (line, width, name) in _CONTOURS.items():
        ax.plot([], [], color="0.1", linestyle=line, linewidth=width, label=name, gid="guide")
        if min(shades.shape) > 1 and shades.min() <= np.log2(level) <= shades.max():
            drawn = ax.contour(x, y, shades, levels=[np.log2(level)], colors="0.1")
            drawn.set(linestyle=line, linewidth=width)
    _draw_points(ax, rows[rows["quantity"] == "excess risk"], panel)
    ax.add_line(Line2D([], [], color="0.6", marker="s", mfc="white", ls="none", label=_REFUSED))
    label_values(ax, list(x))
    shares = rows["L"].iloc[0] if across == "s" else 1
    names = [f"{value / shares:.0%}" if across == "s" else f"{value:g}" for value in y]
    ax.set_yticks(y, names)
    ax.minorticks_off()
    ax.grid(visible=False)


def _table(rows: pd.DataFrame, panel: Panel) -> pd.DataFrame:
    """Return the predicted advantages, one column per n; NaN where one is not predicted."""
    found = advantages(rows, panel.against)
    table = found.pivot_table(index=panel.axis, columns="n", values="advantage")
    places = {name: sorted(rows[name].unique()) for name in (panel.axis, "n")}
    return table.reindex(index=places[panel.axis], columns=places["n"])


def _edges(places: Array) -> Array:
    """Return the borders between places, and beyond the outer ones, on a logarithmic axis."""
    logs = np.log(places)
    steps = np.diff(logs) if logs.size > 1 else np.ones(1)
    inner = logs[:-1] + steps / 2 if logs.size > 1 else logs[:0]
    ends = logs[:1] - steps[:1] / 2, inner, logs[-1:] + steps[-1:] / 2
    return np.asarray(np.exp(np.concatenate(ends)))


def _draw_points(ax: Axes, rows: pd.DataFrame, panel: Panel) -> None:
    """Write the measured advantage at every measured place."""
    circle = {"boxstyle": "circle,pad=0.25", "facecolor": "white", "edgecolor": "black"}
    style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8, "bbox": circle}
    for _, place in advantages(rows, panel.against).iterrows():
        text, where = f"{place['advantage']:.1f}", (place["n"], place[panel.axis])
        ax.annotate(text, where, gid="measured advantage", **style)
