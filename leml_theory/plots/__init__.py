"""Pictures of a sweep: the results frame in, a figure out; nothing is measured here.

Each picture is one call::

    frame = pandas.read_csv("results/results.csv")
    figure = plot_experiment(frame, "X3")
    save_figure(figure, "results", "X3")
"""

from leml_theory.plots.pictures import (
    plot_experiment,
    plot_risk_against_labels,
    plot_risk_against_n,
    plot_series,
)
from leml_theory.plots.style import save_figure

__all__ = [
    "plot_experiment",
    "plot_risk_against_labels",
    "plot_risk_against_n",
    "plot_series",
    "save_figure",
]
