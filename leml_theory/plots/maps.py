"""Maps of where the trace ball helps: shades and contours predicted, points measured."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from leml_theory.plots.panel import Panel
from leml_theory.plots.ticks import label_values
from leml_theory.sweep.experiments.phases import advantages

_LEVELS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
_EVEN = "even: here the trace ball stops helping"
_REFUSED = "hatched: not predicted, a fit interpolates or points are too few"


def draw_map(ax: Axes, rows: pd.DataFrame, panel: Panel, _n_tests: int) -> None:
    """Draw the predicted advantage over one rival in n and L, or in n and s."""
    across = panel.axis
    predicted = rows[rows["quantity"] == "predicted excess"]
    table = advantages(predicted, panel.against).pivot_table(
        index=across, columns="n", values="advantage"
    )
    table = table.reindex(
        index=sorted(predicted[across].unique()), columns=sorted(predicted["n"].unique())
    )
    x, y = table.columns.to_numpy(float), table.index.to_numpy(float)
    shades = np.log2(np.ma.masked_invalid(table.to_numpy(float)))
    ax.set(xscale="log", yscale="log")
    ax.set_facecolor("white")
    ax.patch.set(hatch="////", edgecolor="0.6")
    ax.pcolormesh(x, y, shades, cmap="Greys", vmin=-1, vmax=5, shading="nearest", gid="map")
    if min(shades.shape) > 1:
        lines = ax.contour(x, y, shades, levels=np.log2(_LEVELS), colors="0.25", linewidths=0.8)
        ax.clabel(lines, fmt=lambda level: f"{2**level:g}\N{MULTIPLICATION SIGN}", fontsize=8)
        ax.contour(x, y, shades, levels=[0.0], colors="black", linewidths=2.4)
    _draw_points(ax, rows[rows["quantity"] == "excess risk"], panel)
    ax.add_line(Line2D([], [], color="black", lw=2.4, label=_EVEN, gid="even"))
    ax.add_line(Line2D([], [], color="0.6", marker="s", mfc="white", ls="none", label=_REFUSED))
    label_values(ax, list(x), 8)
    shares = rows["L"].iloc[0] if across == "s" else 1
    names = [f"{value / shares:.0%}" if across == "s" else f"{value:g}" for value in y]
    ax.set_yticks(y, names)
    ax.minorticks_off()
    ax.grid(visible=False)


def _draw_points(ax: Axes, rows: pd.DataFrame, panel: Panel) -> None:
    """Write the measured advantage at every measured place."""
    for _, place in advantages(rows, panel.against).iterrows():
        ax.annotate(
            f"{place['advantage']:.1f}",
            (place["n"], place[panel.axis]),
            ha="center",
            va="center",
            fontsize=8,
            bbox={"boxstyle": "circle,pad=0.25", "facecolor": "white", "edgecolor": "black"},
            gid="measured advantage",
        )
