"""Panels of a grid whose colours tell an axis apart, and heat maps over two axes."""

from typing import Any

import numpy as np
import pandas as pd
import seaborn
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.lines import Line2D

from leml_theory.plots.categories import broken
from leml_theory.plots.curves import (
    draw_points,
    draw_prediction,
    draw_violations,
    slope_text,
    text_entry,
    treat_zeros,
)
from leml_theory.plots.panel import Panel, numbers
from leml_theory.plots.ticks import label_logs, label_values, number
from leml_theory.plots.validity import best_valid

_MARKERS = "os^DvPX*"
_SHORT = {"radius_factor": "radius", "labels": "world", "observed": "share observed"}


def values_of(rows: pd.DataFrame, column: str) -> list[Any]:
    """Return the values of an axis: numbers by size, categories in their order."""
    found = list(dict.fromkeys(rows[column].dropna()))
    return sorted(found) if pd.api.types.is_numeric_dtype(rows[column]) else found


def value_text(value: Any) -> str:
    """Return a value of an axis in words."""
    return value if isinstance(value, str) else number(float(value))


def named(column: str, value: Any) -> str:
    """Return an axis with its value in words; categories speak for themselves."""
    name = _SHORT.get(column, column)
    return value if isinstance(value, str) else f"{name} = {value_text(value)}"


def draw_hues(ax: Axes, rows: pd.DataFrame, panel: Panel, n_tests: int) -> None:
    """Draw one colour per value of the hue: points, predictions, and the smallest valid bound."""
    hues = values_of(rows, panel.hue)
    ordered = not isinstance(hues[0], str)
    name = "viridis_r" if ordered else "colorblind"
    colours = seaborn.color_palette(name, len(hues) + ordered)[ordered:]
    categories: list[str] = []
    if not pd.api.types.is_numeric_dtype(rows[panel.axis]):  # those of other panels too
        categories = list(map(str, rows.attrs.get(panel.axis) or values_of(rows, panel.axis)))
    ax.set(xscale="linear" if categories else "log", yscale="log")
    if not categories:
        # Set beforehand: for a single place matplotlib finds limits that rounding makes equal.
        found = rows.attrs.get(panel.axis) or values_of(rows, panel.axis)
        low, high = min(found), max(found)
        room = (high / low) ** 0.05 if high > low else 2.0
        ax.set_xlim(low / room, high * room)
    for i, (hue, colour) in enumerate(zip(hues, colours, strict=True)):
        points = rows[(rows[panel.hue] == hue) & (rows["value"] > 0)]
        dodge = 0.5 * ((i + 0.5) / len(hues) - 0.5)
        x = points[panel.axis].map(categories.index) + dodge if categories else points[panel.axis]
        label = f"{named(panel.hue, hue)}{'' if categories else slope_text(points, panel)}"
        points = points.assign(place=x.astype(float))
        _draw_hue(ax, points, colour, _MARKERS[i % len(_MARKERS)], label, joined=not categories)
        draw_violations(ax, points, "place", n_tests)
    treat_zeros(ax, rows)
    if unbounded := [named(panel.hue, hue) for hue in hues if not _bounded(rows, panel, hue)]:
        text_entry(ax, f"no valid bound: {', '.join(unbounded)}")
    if categories:
        ax.set_xticks(range(len(categories)), [broken(name) for name in categories])
        ax.set_xlim(-0.6, len(categories) - 0.4)
    elif panel.axis == "n":
        label_logs(ax, "x")
    else:
        label_values(ax, values_of(rows, panel.axis))


def _bounded(rows: pd.DataFrame, panel: Panel, hue: Any) -> bool:
    """Return whether a bound is valid at a point of this colour."""
    own = rows[rows[panel.hue] == hue]
    return own.empty or bool(np.isfinite(best_valid(own)).any())


def _draw_hue(
    ax: Axes, points: pd.DataFrame, colour: Any, marker: str, label: str, *, joined: bool
) -> None:
    """Draw the points of one colour; categories are never joined."""
    x, predicted = numbers(points, "place"), points["predicted"].notna().any()
    style = {"color": colour, "marker": marker, "markersize": 5, "linewidth": 0.8, "capsize": 2}
    dashes = "-" if joined and not predicted else "none"
    draw_points(ax, x, points, label, **style, linestyle=dashes)
    if predicted and joined:
        draw_prediction(ax, x, points, colour)
    best = best_valid(points) if len(points) else x
    if np.isfinite(best).any():
        seen = any(line.get_gid() == "bound by colour" for line in ax.lines)
        name = "_" if seen else "smallest valid bound, by colour"
        line = Line2D(x, best, color=colour, linewidth=1.4, label=name, gid="bound by colour")
        if not joined or len(x) == 1:
            line.set(marker="_", markersize=13, markeredgewidth=1.6, linestyle="none")
        ax.add_line(line)
        ax.autoscale_view()


def draw_heat(ax: Axes, rows: pd.DataFrame, panel: Panel, _n_tests: int) -> None:
    """Draw the measured means over two axes, the number in every field."""
    across, up = rows.attrs[panel.axis], rows.attrs[panel.hue]  # as in all other panels
    table = rows.pivot_table(index=panel.hue, columns=panel.axis, values="value", sort=False)
    table = table.reindex(index=up, columns=across)
    low, high = rows["least"].iloc[0], rows["largest"].iloc[0]
    ax.patch.set(hatch="////", edgecolor="0.6", facecolor="white")
    seaborn.heatmap(
        table.where(table > 0),
        norm=LogNorm(low, max(high, low * 1.001)),
        cmap=seaborn.light_palette("#3f8fd2", as_cmap=True),  # black letters are read on all of it
        cbar=False,
        linewidths=1,
        annot=True,
        fmt=".2g",
        annot_kws={"fontsize": 7.5 if max(table.shape) <= 8 else 5.5, "color": "black"},
        xticklabels=[broken(value_text(value)) for value in across],
        yticklabels=[value_text(value) for value in up],
        ax=ax,
    )
    ax.invert_yaxis()
    ax.tick_params(length=0)
    ax.tick_params("y", rotation=90 if isinstance(up[0], str) else 0)
    ax.add_line(Line2D([], [], linestyle="none", gid="heat"))  # by which the caption knows it
    ax.grid(visible=False)
