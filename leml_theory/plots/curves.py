"""The layers of a panel of curves: measured points, predictions, bounds, guides, lower strips."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.path import Path
from numpy.typing import NDArray

from command_line import counted
from leml_theory.arrays import Array
from leml_theory.bounds import BALLS, OFFSET, RISK_BOUNDS, shown_bounds, tabled_bounds
from leml_theory.bounds.bound import Line
from leml_theory.plots.panel import Panel, numbers
from leml_theory.plots.style import GREY, GUIDE, LOOKS, MINUS, PREDICTIONS, Look, write_beside
from leml_theory.plots.ticks import label_logs, label_values, number
from leml_theory.plots.titles import signed
from leml_theory.plots.validity import above, best_of_family, best_valid, drawn_bounds, short_reason
from leml_theory.sweep.frame import is_valid
from leml_theory.sweep.rates import curve_slope, local_slopes, log_log_slope

_GUIDE_LINES = ((0, (1, 1, 5, 1)), (0, (1, 1.5)))
ERRORS = 2.0  # error bars are this many standard errors
_LONE = 18.0  # points: the length of a line at a single place


def draw_curves(ax: Axes, rows: pd.DataFrame, panel: Panel, n_tests: int) -> None:
    """Draw bounds, guides and measured points along the panel's axis, both axes logarithmic."""
    ax.set(xscale="log", yscale="log")
    draw_bounds(ax, rows, panel)
    draw_guides(ax, rows, panel)
    draw_measured(ax, rows, panel)
    draw_violations(ax, rows, panel.axis, n_tests)
    treat_zeros(ax, rows)
    places = sorted(set(numbers(rows, panel.axis)))
    if panel.axis == "n" and len(places) > 1:
        label_logs(ax, "x")
    else:
        label_values(ax, places)


def treat_zeros(ax: Axes, rows: pd.DataFrame) -> None:
    """Name the points that a logarithmic axis cannot show; bars to zero run off its end."""
    if hidden := int((rows["value"] <= 0).sum()):
        text_entry(ax, f"{counted(hidden, 'point')} at or below zero, not shown on this axis")
    reach = rows[(rows["value"] > 0) & (ERRORS * rows["stderr"] > 0.8 * rows["value"])]
    if not reach.empty:
        ax.set_ylim(bottom=max(ax.get_ylim()[0], rows["value"][rows["value"] > 0].min() / 3))


def text_entry(ax: Axes, text: str) -> None:
    """Put a line of text into the legend of `ax`."""
    ax.add_line(Line2D([], [], linestyle="none", label=text))


def is_text(handle: object) -> bool:
    """Return whether a legend's handle is that of `text_entry`, a line that shows nothing."""
    return isinstance(handle, Line2D) and handle.get_linestyle() == "None" == handle.get_marker()


def draw_points(ax: Axes, x: Array, points: pd.DataFrame, label: str, **style: Any) -> None:
    """Draw measured points with error bars, which end above zero on a logarithmic axis."""
    value, bars = numbers(points, "value"), ERRORS * np.nan_to_num(numbers(points, "stderr"))
    style = {"linewidth": 1.0, "elinewidth": 1.2, "capsize": 2.5, "zorder": 4, **style}
    drawn = ax.errorbar(x, value, [np.minimum(bars, 0.999 * value), bars], label=label, **style)
    drawn.lines[0].set_gid("measured")


def draw_measured(ax: Axes, rows: pd.DataFrame, panel: Panel) -> None:
    """Draw the points of every ball with error bars, and its prediction where there is one.

    Points of a ball without a prediction are joined, to be followed by eye.
    """
    for ball, look in LOOKS.items():
        points = rows[(rows["ball"] == ball) & (rows["value"] > 0)]
        if points.empty:
            continue
        x, predicted = numbers(points, panel.axis), points["predicted"].notna().any()
        label = f"{look.name}{slope_text(points, panel) or f' {look.noun}, measured'}"
        line = "none" if predicted else look.line
        draw_points(ax, x, points, label, **look.marks(), linestyle=line)
        if predicted:
            draw_prediction(ax, x, points, look.colour)


def kind_of(points: pd.DataFrame) -> str:
    """Return 'sharp' where all predictions of a curve are, else 'limit'."""
    known = points["prediction"][points["predicted"].notna()]
    return "sharp" if known.eq("sharp").all() else "limit"


def draw_prediction(ax: Axes, x: Array, points: pd.DataFrame, colour: Any) -> None:
    """Draw the predictions of one ball, each part as the line of its kind, named once."""
    limit = points["prediction"].ne("sharp").to_numpy()
    padded = np.concatenate([[False], limit, [False]])
    beside = padded[:-2] | limit | padded[2:]  # a segment with one end a limit is one
    for kind, part in (("sharp", ~limit), ("limit", beside)):
        value = np.where(part, numbers(points, "predicted"), np.nan)
        if np.isfinite(value).any():
            named = any(line.get_gid() == kind for line in ax.lines)
            label = "_" if named else f"{kind} prediction"
            style = PREDICTIONS[kind] | lone_mark(value, **PREDICTIONS[kind])
            ax.plot(x, value, color=colour, zorder=3, gid=kind, label=label, **style)


def lone_mark(value: Array, linestyle: Line, linewidth: float) -> dict[str, Any]:
    """Return how a curve of a single point is drawn: a short piece of its line, as a marker."""
    if np.isfinite(value).sum() != 1:
        return {}
    dashes = (_LONE,) if isinstance(linestyle, str) else linestyle[1]
    ends = linewidth * np.cumsum([0, *np.tile(dashes, int(_LONE))])
    ends = np.append(ends[ends < _LONE], _LONE) - _LONE / 2
    moves = [Path.MOVETO, Path.LINETO] * (len(ends) // 2)
    piece = Path(np.column_stack([ends, 0 * ends])[: len(moves)], moves)
    return {"marker": piece, "markersize": _LONE, "mew": linewidth, "linestyle": "none"}


def slope_text(points: pd.DataFrame, panel: Panel) -> str:
    """Return the fitted slope of one ball, and the slope of its prediction on the same grid."""
    points = points[(points[panel.axis] >= panel.fit_from) & (points["stderr"] > 0)]
    if not panel.fitted or points[panel.axis].nunique() < 2:
        return ""
    x, value, error = (numbers(points, name) for name in (panel.axis, "value", "stderr"))
    slope = log_log_slope(x, value, error)
    since = f" for {panel.axis} ≥ {x.min():g}" if panel.fit_from else ""
    bar = ERRORS * slope.stderr
    text = f": slope {signed(slope.slope)} ± {bar:.{3 if bar >= 0.001 else 4}f}{since}"
    if points["predicted"].gt(0).all():
        expected = curve_slope(x, points["predicted"], error / value)
        text += f" ({kind_of(points)} {signed(expected)})"
    return text


def bound_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows whose bounds are drawn: the trace ball's, which has the most, if there."""
    trace = rows[rows["ball"] == "trace"]
    return rows[rows["ball"] == "frobenius"] if trace.empty else trace


def draw_bounds(ax: Axes, rows: pd.DataFrame, panel: Panel) -> None:
    """Draw bounds as lines where they are valid, greyed, dotted and named where they are not."""
    shown = bound_rows(rows)
    if shown.empty:
        return
    fast = _draw_offset(ax, rows, panel.axis)
    _draw_lower_bound(ax, shown, panel.axis)
    if not any(is_valid(shown, name).any() for name in tabled_bounds()):
        start = "Theorem 3 is not valid" if fast else "no valid bound"
        text_entry(ax, f"{start}: {short_reason(shown, 'theorem_3')}")
    else:
        for name in panel.bounds or ("theorem_3", best_of_family(shown)):
            _draw_bound(ax, shown, panel.axis, name)
        for name in panel.noted:
            text_entry(ax, _note(shown, panel.axis, name))
    for name in drawn_bounds(rows, "always"):
        _draw_bound(ax, _rows_of_own(rows, name), panel.axis, name)
    _draw_risk_bounds(ax, shown, panel.axis)


def _draw_offset(ax: Axes, rows: pd.DataFrame, axis: str) -> bool:
    """Draw the offset bound in each ball's colour; return whether it is valid anywhere."""
    own = {ball: rows[rows["ball"] == ball] for ball in BALLS}
    valid = [ball for ball in BALLS if is_valid(own[ball], OFFSET.name).any()]
    for ball in valid:
        _draw_bound(ax, own[ball], axis, OFFSET.name, LOOKS[ball])
    return bool(valid)


def _draw_lower_bound(ax: Axes, rows: pd.DataFrame, axis: str) -> None:
    """Draw the mean excess that no method can beat, where it is known."""
    value, name = numbers(rows, "minimax"), "no method can beat"
    if np.isfinite(value).any():
        style: dict[str, Any] = {"linestyle": (0, (1, 1)), "linewidth": 1.0}
        style |= lone_mark(value, **style)
        ax.plot(rows[axis], value, label=name, gid="lower bound", color="black", **style)


def _rows_of_own(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the rows of the ball that a bound of your own is about: trace, if possible."""
    frobenius = rows[rows["ball"] == "frobenius"]
    trace = bound_rows(rows)
    only = is_valid(frobenius, name).any() and not is_valid(trace, name).any()
    return frobenius if only else trace


def _draw_bound(
    ax: Axes, rows: pd.DataFrame, axis: str, name: str, ball: Look | None = None
) -> None:
    """Draw one bound, of one ball or of both: a line where valid, grey and dotted elsewhere."""
    bound, x, value = shown_bounds()[name], numbers(rows, axis), numbers(rows, name)
    valid = is_valid(rows, name)
    if valid.any():
        shown = np.where(valid, value, np.nan)
        colour = ball.colour if ball else bound.look.colour
        style: dict[str, Any] = {"linestyle": bound.look.line, "linewidth": 1.5}
        style |= lone_mark(shown, **style)
        label = f"{bound.label}, {ball.name}" if ball else bound.label
        ax.plot(x, shown, label=label, gid="offset" if ball else "bound", color=colour, **style)
    if not valid.all():
        reason = f"{bound.label}, not valid here: {short_reason(rows[~valid], name)}"
        hidden = np.where(valid, np.nan, value)
        ax.plot(x, hidden, ":x", color=GREY, lw=1.2, ms=4, label=reason, gid="not valid")


def _draw_risk_bounds(ax: Axes, rows: pd.DataFrame, axis: str) -> None:
    """Draw bounds of your own that hold with probability 1 - delta, where smallest."""
    for name, bound in RISK_BOUNDS.items():
        smallest = rows["high_probability_name"].eq(name)
        if bound.drawn == "always" and smallest.any():
            style: dict[str, Any] = {"color": bound.look.colour, "linestyle": bound.look.line}
            label = f"{bound.label}, with probability 1 {MINUS} δ"
            value = rows["high_probability"].where(smallest)
            ax.plot(rows[axis], value, lw=1.5, label=label, gid="bound", **style)


def _note(rows: pd.DataFrame, axis: str, name: str) -> str:
    """Return what is to be said of a bound that is off the scale."""
    valid, x = is_valid(rows, name), numbers(rows, axis)
    measured = rows["value"].where(rows["value"] > 0)
    ratios = numbers(rows, name) / measured.to_numpy(float)
    text = shown_bounds()[name].label
    if np.isfinite(ratios).any():
        low, high = np.nanmin(ratios), np.nanmax(ratios)
        ends = dict.fromkeys(f"{float(f'{ratio:.2g}'):g}" for ratio in (low, high))
        span = " to ".join(ends)
        text += f": {span} times the measured values, off the scale"
    if valid.all():
        return text
    reason = short_reason(rows[~valid], name)
    if not valid.any():
        return f"{text}; not valid here: {reason}"
    return f"{text}; not valid at {axis} = {_places(x, ~valid)}: {reason}"


def _places(x: Array, chosen: NDArray[np.bool_]) -> str:
    """Return the chosen places of an axis, as a range where they are neighbours."""
    found = np.flatnonzero(chosen)
    if found.size > 2 and found[-1] - found[0] == found.size - 1:
        return f"{number(x[found[0]])} to {number(x[found[-1]])}"
    return ", ".join(number(place) for place in x[found])


def draw_guides(ax: Axes, rows: pd.DataFrame, panel: Panel) -> None:
    """Draw labelled guides and the vertical lines of regimes, within the range of the data."""
    for guide, line in zip(panel.guides, _GUIDE_LINES, strict=False):
        own = rows[rows["ball"] == guide.ball]
        curve = guide.curve(own)
        x = own[panel.axis]
        ax.plot(x, curve, color=GUIDE, lw=1.0, ls=line, label=guide.label, zorder=2, gid="guide")
    low, high = rows[panel.axis].min(), rows[panel.axis].max()
    marks = [(p, name) for name, p in panel.marks(rows).items() if low <= p <= high]
    _draw_marks(ax, sorted(marks))


def _draw_marks(ax: Axes, marks: list[tuple[float, str]]) -> None:
    """Draw named vertical lines, each name on the side that is away from the nearest other line."""
    for i, (place, name) in enumerate(marks):
        left = i + 1 < len(marks) and (i == 0 or marks[i + 1][0] * marks[i - 1][0] < place**2)
        ax.axvline(place, color="0.45", linewidth=0.7, zorder=1, gid=name)
        side: dict[str, Any] = {"ha": "right" if left else "left", "color": "0.35"}
        within, points = ("data", "axes fraction"), (-2 if left else 2, 0)
        write_beside(ax, name, (place, 0.015), points, xycoords=within, fontsize=7.5, **side)


def draw_violations(ax: Axes, rows: pd.DataFrame, axis: str, n_tests: int) -> None:
    """Ring every point that is above a valid bound by more than chance."""
    found = rows[above(rows, n_tests)]
    if not found.empty:
        ring: dict[str, Any] = {"ls": "none", "marker": "o", "mfc": "none", "mec": "red"}
        ax.plot(found[axis], found["value"], ms=13, mew=2, label="ABOVE A VALID BOUND", **ring)


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
