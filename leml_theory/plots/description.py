"""A figure in plain numbers: what is drawn on an Axes, for tests and graders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class LineDescription:
    """One curve or one cloud of points: its label and its coordinates.

    Attributes
    ----------
    label : str
        As in the legend; empty where matplotlib made one up.
    x, y : float array of shape (n_points,)
    mark : str
        What kind of mark it is on our own pictures, by which captions know it; else empty.
    style : str
        Dashes and marker, what tells curves apart without colours; empty for a cloud of points.
    """

    label: str
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    mark: str = ""
    style: str = ""


@dataclass(frozen=True)
class AxesDescription:
    """What one Axes shows.

    Attributes
    ----------
    title, x_label, y_label : str
    x_scale, y_scale : str
        "linear", "log", ...
    x_limits, y_limits : (float, float)
    lines : tuple of LineDescription
        Curves, in the order in which they were drawn; horizontal and vertical lines among them.
    points : tuple of LineDescription
        Clouds of points (``scatter``).
    legend : tuple of str
        The entries of the legend; empty without one.
    """

    title: str
    x_label: str
    y_label: str
    x_scale: str
    y_scale: str
    x_limits: tuple[float, float]
    y_limits: tuple[float, float]
    lines: tuple[LineDescription, ...] = ()
    points: tuple[LineDescription, ...] = ()
    legend: tuple[str, ...] = ()

    def line(self, word: str) -> LineDescription:
        """Return the first curve whose label contains `word`, whatever the case."""
        for line in self.lines:
            if word.lower() in line.label.lower():
                return line
        labels = ", ".join(repr(line.label) for line in self.lines) or "none at all"
        raise ValueError(f"no curve has {word!r} in its label; the curves are {labels}.")


def describe_axes(axes: Axes | AxesDescription) -> AxesDescription:
    """Return what is drawn on an Axes; a description is returned as it is.

    Parameters
    ----------
    axes : matplotlib Axes or AxesDescription
        What a plotting function returned.

    Examples
    --------
    >>> from leml_theory.plots import describe_axes
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> _ = ax.loglog([1, 10], [1.0, 0.1], label="measured")
    >>> describe_axes(ax).line("measured").y
    array([1. , 0.1])
    """
    if isinstance(axes, AxesDescription):
        return axes
    from matplotlib.axes import Axes

    if not isinstance(axes, Axes):
        raise TypeError(f"an Axes is needed (what plt.subplots returns), got {_kind(axes)}.")
    legend = axes.get_legend()
    return AxesDescription(
        title=axes.get_title(),
        x_label=axes.get_xlabel(),
        y_label=axes.get_ylabel(),
        x_scale=axes.get_xscale(),
        y_scale=axes.get_yscale(),
        x_limits=axes.get_xlim(),
        y_limits=axes.get_ylim(),
        lines=_lines(axes),
        points=_points(axes),
        legend=tuple(text.get_text() for text in legend.get_texts()) if legend else (),
    )


def _kind(value: object) -> str:
    name = type(value).__name__
    return f"a Figure: return one of its axes ({name})" if name == "Figure" else f"{name}"


def _label(label: object) -> str:
    """Return a label; matplotlib's own begin with an underscore."""
    text = str(label)
    return "" if text.startswith("_") else text


def _numbers(values: object) -> NDArray[np.float64]:
    return np.asarray(values, dtype=float).ravel()


def _lines(axes: Axes) -> tuple[LineDescription, ...]:
    # The label of `errorbar` is not that of its line: it belongs to the line and bars together.
    shared = {id(item[0]): item.get_label() for item in axes.containers if len(item) > 0}
    return tuple(
        LineDescription(
            _label(shared.get(id(line), line.get_label())),
            _numbers(line.get_xdata(orig=False)),
            _numbers(line.get_ydata(orig=False)),
            str(line.get_gid() or ""),
            f"{line.get_linestyle()} {line.get_marker()}",
        )
        for line in axes.get_lines()
    )


def _points(axes: Axes) -> tuple[LineDescription, ...]:
    from matplotlib.collections import PathCollection

    clouds = [item for item in axes.collections if isinstance(item, PathCollection)]
    offsets = [(cloud, np.ma.getdata(cloud.get_offsets())) for cloud in clouds]
    return tuple(
        LineDescription(_label(cloud.get_label()), _numbers(xy[:, 0]), _numbers(xy[:, 1]))
        for cloud, xy in offsets
    )
