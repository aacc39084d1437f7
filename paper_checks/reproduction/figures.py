"""Analogues of Figures 1 and 2: the results table in, a figure out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from leml_theory.plots.style import picture_style
from paper_checks import printed
from paper_checks.reproduction.tables import METRIC_TITLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class _Look:
    """How a method is drawn; told apart by marker and line, not by colour alone."""

    name: str
    colour: str
    marker: str
    line: Any

    @property
    def marks(self) -> dict[str, Any]:
        """What ours and the paper's numbers have in common."""
        return {"color": self.colour, "marker": self.marker}

    @property
    def joined(self) -> dict[str, Any]:
        """How ours are joined by a line."""
        return {"linestyle": self.line, "linewidth": 1.3, "markersize": 4.5}


_LOOKS = {
    ("LEML", "selected"): _Look("LEML, selected", "#0173b2", "o", "-"),
    ("LEML", "early-stopped"): _Look("LEML, early-stopped", "#4aa3d8", "s", (0, (5, 2))),
    ("CPLST", "closed form"): _Look("CPLST", "#b35900", "^", (0, (4, 1.5, 1, 1.5))),
    ("BCS", "fixed"): _Look("BCS, prior fixed", "#02805c", "D", (0, (1, 1.5))),
    ("BCS", "selected"): _Look("BCS, prior chosen", "#57b894", "X", (0, (2, 1))),
    ("BR", "selected"): _Look("BR, penalty chosen", "0.15", "v", (0, (8, 2))),
    ("BR", "unit penalty"): _Look("BR, penalty 1", "0.5", "P", (0, (3, 1, 1, 1, 1, 1))),
}
# The paper's numbers: the same shape, open and larger.
_OPEN: dict[str, Any] = {"markerfacecolor": "none", "markersize": 9, "linestyle": "none"}


def plot_figure_1(frame: pd.DataFrame) -> Figure | None:
    """Draw squared-loss methods against k/L with all labels observed; None without such rows.

    Filled markers are ours with one standard error, open ones of the same shape are the paper's.
    """
    rows = _drawable(frame[frame["observed"] == 1])
    if rows.empty:
        return None
    datasets = list(dict.fromkeys(rows["dataset"]))
    metrics = [metric for metric in printed.METRICS if metric in set(rows["metric"])]
    with picture_style():
        figure, grid = _figure(len(datasets), len(metrics))
        for dataset, axes in zip(datasets, grid, strict=True):
            for metric, ax in zip(metrics, axes, strict=True):
                part = printed.only(rows, dataset=dataset, metric=metric)
                _draw(ax, part, "ratio")
                ax.set(title=f"{dataset}: {METRIC_TITLES[metric]}", xlabel="k / L")
        _finish(figure, grid, "All labels observed, squared loss")
    return figure


def plot_figure_2(frame: pd.DataFrame) -> Figure | None:
    """Draw squared-loss methods with missing labels; None without such rows.

    The left panel of each row is against the share observed at k/L = 40 %, the right one against
    k/L at 20 % observed. The paper's panel (a) needs data that are not at hand.
    """
    rows = _drawable(frame[frame["observed"] < 1])
    if rows.empty:
        return None
    metrics = [metric for metric in printed.METRICS if metric in set(rows["metric"])]
    rows = printed.only(rows, metric="top-3" if "top-3" in metrics else metrics[0])
    datasets = list(dict.fromkeys(rows["dataset"]))
    with picture_style():
        figure, grid = _figure(len(datasets), 2)
        for dataset, (left, right) in zip(datasets, grid, strict=True):
            part = printed.only(rows, dataset=dataset)
            title = METRIC_TITLES[part["metric"].iloc[0]]
            _draw(left, printed.only(part, ratio=0.4), "observed")
            left.set(title=f"{dataset}, k/L = 40 %: {title}", xlabel="share of labels observed")
            _draw(right, printed.only(part, observed=0.2), "ratio")
            right.set(title=f"{dataset}, 20 % observed: {title}", xlabel="k / L")
        _finish(figure, grid, "Missing labels, squared loss")
    return figure


def _drawable(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of methods that the figures show, each number once."""
    known = pd.MultiIndex.from_frame(frame[["method", "protocol"]]).isin(list(_LOOKS))
    rows = frame[known & (frame["loss"] == "squared")]
    # Tables 3 and 5 repeat numbers of the others.
    return rows.drop_duplicates([*printed.KEY, "metric", "protocol"], keep="last")


def _figure(rows: int, columns: int) -> tuple[Figure, Any]:
    """Return a figure with a grid of panels."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(0.6 + 3.1 * columns, 0.9 + 2.6 * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def _draw(ax: Axes, part: pd.DataFrame, axis: str) -> None:
    """Draw one panel: a line for each method, ours and the paper's."""
    from matplotlib.ticker import PercentFormatter

    for (method, protocol), look in _LOOKS.items():
        rows = printed.only(part, method=method, protocol=protocol).sort_values(axis)
        if rows.empty:
            continue
        x, errors = rows[axis], rows["stderr"].fillna(0.0)
        ax.errorbar(x, rows["ours"], yerr=errors, label=look.name, **look.marks, **look.joined)
        if protocol != "selected":  # one set of printed points per method is enough
            ax.plot(x, rows["paper"], **look.marks, **_OPEN)
    ax.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.set_xticks(sorted(part[axis].unique()))


def _finish(figure: Figure, grid: Any, title: str) -> None:
    """Add one legend for all panels, below them."""
    handles: dict[str, Any] = {}
    for ax in grid.ravel():
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    from matplotlib.lines import Line2D

    open_mark = Line2D([], [], color="0.3", marker="o", **_OPEN)
    handles["the paper's numbers (open, same shape)"] = open_mark
    columns = min(3, len(handles))
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=columns)
    figure.suptitle(title)
