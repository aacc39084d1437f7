"""Panels whose colours show an axis, heat maps, and maps of where the trace ball helps."""

from typing import Any

import numpy as np
import pandas as pd
import seaborn
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.lines import Line2D

from leml_theory.arrays import Array
from leml_theory.bounds.bound import Line
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
from leml_theory.sweep.experiments.phases import advantages

_MARKERS = "os^DvPX*"
# advantage -> line of its contour and its name; told apart in greyscale too
_CONTOURS: dict[int, tuple[Line, float, str]] = {
    1: ("-", 2.4, "even: here the trace ball stops helping"),
    2: ((0, (6, 2)), 1.1, "twice as good"),
    4: ((0, (5, 1.5, 1, 1.5)), 1.1, "4 times"),
    8: ((0, (2, 1.5)), 1.1, "8 times"),
    16: ((0, (1, 2)), 1.1, "16 times"),
}
_REFUSED = "hatched: not predicted, a fit interpolates or points are too few"
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
        cmap=seaborn.light_palette("#3f8fd2", as_cmap=True),  # black text is legible on all of it
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
