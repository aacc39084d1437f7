"""Pictures of a sweep: the results frame in, a figure out; nothing is measured here.

Each picture is one call::

    frame = pandas.read_csv("results/results.csv")
    figure = plot_experiment(frame, "X3")
    save_figure(figure, "results", "X3")

To read in this order: `panel` (what a panel shows), `catalogue` (the panels of every experiment),
`validity` (where a bound may be drawn as one), `curves` and `categories` (the layers of a panel),
`hues` and `grids` (those of a grid of your own), `titles` and `captions` (what is said of them,
derived from what is judged and drawn), `compose` (from panels to a figure), `pictures` (the
calls above); `style` and `ticks` say how it looks, `diagnosis` draws a diagnosis.  Pictures know
the tables of `leml_theory.sweep`; nothing there but the command knows pictures.

The pictures load seaborn, so they are imported when first asked for; `describe_axes` does not.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from argument_checks.wrong_types import errors_name_arguments
from leml_theory.plots.description import describe_axes

if TYPE_CHECKING:
    from leml_theory.plots.grids import grid_quantities
    from leml_theory.plots.pictures import (
        plot_experiment,
        plot_grid,
        plot_risk_against_labels,
        plot_risk_against_n,
        plot_series,
    )
    from leml_theory.plots.style import save_figure

__all__ = [
    "describe_axes",
    "grid_quantities",
    "plot_experiment",
    "plot_grid",
    "plot_risk_against_labels",
    "plot_risk_against_n",
    "plot_series",
    "save_figure",
]


def __getattr__(name: str) -> Any:
    """Import a picture when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room = {"save_figure": "style", "grid_quantities": "grids"}.get(name, "pictures")
    made = {"__all__": [name], name: getattr(import_module(f"{__name__}.{room}"), name)}
    errors_name_arguments(made)
    return made[name]


errors_name_arguments(globals())
