"""A picture of a diagnosis: the advantage of the trace norm, promised and found."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leml_theory.diagnose import Diagnosis, FeatureFacts
from leml_theory.plots.style import GREY, LOOKS, Look, picture_style
from leml_theory.plots.ticks import label_logs


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of the picture; `holds` is False for a formula that is not valid on these data."""

    name: str
    value: float
    stderr: float = 0.0
    holds: bool = True


def diagnosis_figure(found: Diagnosis) -> Figure:
    """Return the picture as a figure of its own."""
    with picture_style():
        figure = Figure(figsize=(7.5, 3.4), layout="constrained")
        plot_advantage(found, ax=figure.subplots())
    return figure


def plot_advantage(found: Diagnosis, *, ax: Axes) -> Axes:
    """Draw the advantage, Frobenius over trace average, for features as they are and centred.

    Grey marks with crosses are formulas whose assumptions do not hold, which promise nothing.
    """
    _draw(ax, "features as they are", _lines(found.raw), LOOKS["trace"])
    if found.centred is not None:
        _draw(ax, "features centred", _lines(found.centred), LOOKS["frobenius"])
    ax.plot([], [], "x", color=GREY, label="assumptions fail: promises nothing")
    ax.axvline(1.0, color="black", linewidth=0.8)
    ax.set_xscale("log")
    label_logs(ax, "x")
    names = [line.name for line in _lines(found.raw)]
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set_xlabel("Frobenius over trace Rademacher average (1 = no advantage)")
    ax.set_title(f"The trace norm gains a factor of {found.raw.advantage.value:.2f}", loc="left")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def _lines(facts: FeatureFacts) -> tuple[_Line, ...]:
    """Return what is drawn for one version of the features."""
    gaussian = facts.bounds["chevet"].valid
    return (
        _Line("measured, ± 1 std. error", facts.advantage.value, facts.advantage.stderr),
        _Line("about at most, by the moments", facts.ceiling),
        _Line("if x were Gaussian", facts.gaussian_advantage, holds=gaussian),
        _Line("Theorem 4 without constant", facts.theorem_4_advantage, holds=False),
        _Line("promised, by bounds that apply", facts.promised_advantage),
    )


def _draw(ax: Axes, name: str, lines: tuple[_Line, ...], look: Look) -> None:
    """Draw the lines of one version, in colour where they hold."""
    for place, line in enumerate(lines):
        marks = {**look.marks(1.4), "linestyle": "none"}
        if not line.holds:
            ax.plot([line.value], [place], "x", color=GREY, markersize=5)
            marks |= {"color": GREY, "markerfacecolor": "none"}
        label = name if place == 0 else None
        ax.errorbar([line.value], [place], xerr=[line.stderr], label=label, **marks)
