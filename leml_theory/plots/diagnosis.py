"""A picture of a diagnosis: the advantage of the trace norm, promised and found."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leml_theory.diagnose import Diagnosis, FeatureFacts
from leml_theory.plots.style import GREY, LOOKS, Look, picture_style
from leml_theory.plots.ticks import label_logs

_LINES = (
    "measured, ± 1 std. error",
    "about at most, by the moments",
    "if x were Gaussian",
    "Theorem 4 without constant",
    "promised, by bounds that apply",
)


def diagnosis_figure(found: Diagnosis) -> Figure:
    """Draw the advantage, Frobenius over trace average, for features as they are and centred.

    Grey marks with crosses are formulas whose assumptions do not hold, which promise nothing.
    """
    with picture_style():
        figure = Figure(figsize=(7.5, 3.4), layout="constrained")
        ax = figure.subplots()
        _draw(ax, "features as they are", found.raw, LOOKS["trace"])
        if found.centred is not None:
            _draw(ax, "features centred", found.centred, LOOKS["frobenius"])
        ax.plot([], [], "x", color=GREY, label="assumptions fail: promises nothing")
        ax.axvline(1.0, color="black", linewidth=0.8)
        ax.set_xscale("log")
        label_logs(ax, "x")
        ax.set_yticks(range(len(_LINES)), _LINES)
        ax.invert_yaxis()
        ax.set_xlabel("Frobenius over trace Rademacher average (1 = no advantage)")
        gain = found.raw.advantage.value
        ax.set_title(f"The trace norm gains a factor of {gain:.2f}", loc="left")
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _draw(ax: Axes, name: str, facts: FeatureFacts, look: Look) -> None:
    """Draw the lines of one version of the features, in colour where they hold."""
    marks = {**look.marks(1.4), "linestyle": "none"}
    measured = facts.advantage
    ax.errorbar([measured.value], [0], xerr=[measured.stderr], label=name, **marks)
    ax.plot([facts.ceiling, facts.promised_advantage], [1, 4], **marks)
    gaussian = facts.bounds["chevet"].valid
    ax.plot([facts.gaussian_advantage] if gaussian else [], [2] if gaussian else [], **marks)
    failed = {3: facts.theorem_4_advantage} | ({} if gaussian else {2: facts.gaussian_advantage})
    grey = {**marks, "color": GREY, "markerfacecolor": "none"}
    ax.plot(list(failed.values()), list(failed), **grey)
    ax.plot(list(failed.values()), list(failed), "x", color=GREY, markersize=5)
