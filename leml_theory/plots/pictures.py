"""The pictures, each drawn from the results frame by one call."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from argument_checks import one_of
from leml_theory.plots.catalogue import PICTURES, RISK_AGAINST_LABELS, RISK_AGAINST_N
from leml_theory.plots.compose import (
    STYLES,
    Picture,
    add_legend,
    draw_panel,
    draw_picture,
    shrink_texts,
)
from leml_theory.plots.grids import grid_picture
from leml_theory.plots.panel import AXIS_NAMES, Panel, regimes, varies
from leml_theory.plots.style import picture_style
from leml_theory.plots.titles import derived_title, judged
from leml_theory.plots.validity import above
from leml_theory.sweep.experiments import EXPERIMENTS
from leml_theory.sweep.experiments.custom import GRID
from leml_theory.sweep.frame import comparisons

_QUANTITIES = ("rademacher average", "supremum deviation", "excess risk", "generalisation gap")
_NEEDED = [
    "experiment", "series", "quantity", "ball", "law", "n", "d", "L", "s", "P", "radius",
    "radius_factor", "value", "stderr", "predicted", "prediction", "signal", "delta",
    "high_probability", "high_probability_name", "failures", "theorem_3", "theorem_3_valid",
    "minimax",
]  # fmt: skip


def plot_experiment(
    frame: pd.DataFrame,
    experiment: str,
    *,
    style: str = "page",
    title: bool = True,
    legend: bool = True,
) -> Figure:
    """Draw the picture of one experiment, with a panel for every series.

    Measured values with error bars stand beside the prediction, sharp or a limit, and the bounds; a
    bound is a plain line only where it is valid, and greyed and named where it is not.

    Parameters
    ----------
    frame : DataFrame
        The results frame, from `results_frame` or read from results.csv.
    experiment : str
        'X1' to 'X14', 'grid' for a grid from the command line, or an experiment of your own.
    style : {'page', 'column', 'slide'}
        Size of the picture: ten inches, one column of a paper (3.25 inches), or a slide.
    title, legend : bool
        Whether to write them, a title with its caption; a paper has a caption of its own.

    Returns
    -------
    Figure
        Of matplotlib, tied to no window; `save_figure` writes it.
    """
    one_of(experiment, "experiment", [*PICTURES, GRID, *EXPERIMENTS, *set(frame["experiment"])])
    check_frame(frame, [experiment])
    if experiment == GRID:
        return plot_grid(frame, style=style, title=title, legend=legend)
    return draw(frame, _picture(frame, experiment), style=style, title=title, legend=legend)


def plot_grid(
    frame: pd.DataFrame,
    *,
    quantity: str = "",
    x: str = "",
    y: str = "",
    hue: str = "",
    panel: str = "",
    style: str = "page",
    title: bool = True,
    legend: bool = True,
) -> Figure:
    """Draw one quantity of a grid of your own.

    Parameters
    ----------
    frame : DataFrame
        The results frame of a grid.
    quantity : str
        'excess risk', 'rademacher average', ...; by default the first of these that is there.
    x, hue, panel : str
        The axes of the grid (n, d, L, s, radius, rank, skew, law, world, loss, or ball, which is
        the method) for the horizontal axis, the colours and the panels.  Axes left over get panels
        too, so that nothing is averaged unseen.  All panels have the same scales; curves join
        numbers only, never categories.
    y : str
        A second axis: the picture is a heat map.
    style : {'page', 'column', 'slide'}
        Size of the picture.
    title, legend : bool
        Whether to write them; a paper has a caption of its own.
    """
    check_frame(frame, [GRID])
    rows, picture = grid_picture(frame, quantity, x=x, y=y, hue=hue, panel=panel)
    return draw(rows, picture, style=style, title=title, legend=legend)


def plot_risk_against_n(frame: pd.DataFrame, *, style: str = "page") -> Figure:
    """Draw measured risks of both minimisers against n beside the bounds.

    Parameters
    ----------
    frame : DataFrame
        A results frame with rows of X5 (excess risks) and X2 (averages).
    style : {'page', 'column', 'slide'}
        Size of the picture.

    Paper: Theorem 3, Theorem 4, Theorem 6 and Appendix C.
    """
    check_frame(frame, ["X2", "X5"])
    return draw(frame, RISK_AGAINST_N, style=style)


def plot_risk_against_labels(frame: pd.DataFrame, *, style: str = "page") -> Figure:
    """Draw the same against the number of labels, from the same rows as `plot_risk_against_n`.

    Paper: Theorem 3, Theorem 4, Theorem 6 and Appendix C.
    """
    check_frame(frame, ["X2", "X5"])
    return draw(frame, RISK_AGAINST_LABELS, style=style)


def plot_series(
    frame: pd.DataFrame,
    experiment: str,
    series: str,
    *,
    ax: Axes | None = None,
    title: bool = True,
    legend: bool = True,
) -> Axes:
    """Draw one series of an experiment on the given axes.

    Parameters
    ----------
    frame : DataFrame
        The results frame.
    experiment, series : str
        As in the columns of the frame.
    ax : Axes, optional
        Where to draw; by default on a new figure.  On narrow axes the type is smaller and the
        legend shorter, so that `tight_layout` leaves room for the curves.
    title, legend : bool
        Whether to write them.
    """
    check_frame(frame, [experiment])
    picture = _picture(frame, experiment)
    known = {name: panel for panel in picture.panels for name in panel.series}
    one_of(series, "series", list(known))
    panel = known[series]
    with picture_style():
        target = Figure().add_subplot() if ax is None else ax
        width = target.get_window_extent().width / target.figure.get_dpi()
        draw_panel(target, panel.rows(frame), panel, max(1, comparisons(frame)), width=width)
        if not title:
            target.set_title("", loc="left")
        if legend:
            add_legend(target, width)
        shrink_texts(target, width)
    return target


def check_frame(frame: pd.DataFrame, needed: list[str]) -> None:
    """Raise an error unless the frame is a results frame with rows of all that is needed."""
    missing = [name for name in _NEEDED if name not in frame.columns]
    if missing:
        raise ValueError(
            f"`frame` must be a results frame, but lacks the columns {', '.join(missing)}; read it "
            "from the results.csv of a sweep by this version, with pandas.read_csv."
        )
    there = list(dict.fromkeys(frame["experiment"]))
    missing = [name for name in needed if name not in there]
    if missing:
        options = "with grid options" if missing == [GRID] else f"--only {','.join(needed)}"
        raise ValueError(
            f"`frame` holds no rows of {' and '.join(missing)}, only of {', '.join(there) or 'no'} "
            f"experiment; run `python -m leml_theory.sweep` {options} first."
        )


def draw(
    frame: pd.DataFrame,
    picture: Picture,
    *,
    style: str = "page",
    title: bool = True,
    legend: bool = True,
) -> Figure:
    """Draw a picture under the title that follows from this run."""
    size = STYLES[one_of(style, "style", STYLES)]
    n_tests = max(1, comparisons(frame))
    ids = dict.fromkeys(panel.experiment for panel in picture.panels)
    topic = picture.topic or EXPERIMENTS[next(iter(ids))].title
    text = derived_title(topic, *judged(frame, ids), picture.told)
    if above(frame[frame["experiment"].isin(ids)], n_tests).any():
        text = f"A VALID BOUND IS EXCEEDED: {text}"
    shown = text if title and size.title else ""
    return draw_picture(frame, picture, shown, n_tests, size, legend=legend)


def _picture(frame: pd.DataFrame, experiment: str) -> Picture:
    """Return the picture of an experiment: one of ours, or a panel per series and quantity."""
    if experiment in PICTURES:
        return PICTURES[experiment]
    rows = frame[frame["experiment"] == experiment]
    panels = []
    for quantity in dict.fromkeys((*_QUANTITIES, *rows["quantity"])):
        marks: dict[str, Any] = {"marks": regimes} if quantity == "excess risk" else {}
        for name, part in rows[rows["quantity"] == quantity].groupby("series", sort=False):
            series = str(name)
            panels.append(Panel(experiment, (series,), _axis(part), series, quantity, **marks))
    known = EXPERIMENTS.get(experiment)
    topic = known.title if known else f"Your {experiment} beside the bounds"
    return Picture.of(topic, panels, len(panels), "draw them by `plot_series`")


def _axis(rows: pd.DataFrame) -> str:
    """Return the column along which a series varies; L stands for d when they grow together."""
    return next((name for name in AXIS_NAMES if name in rows and varies(rows, name)), "n")
