"""Ticks of logarithmic axes in plain numbers.

Typesetting formulas is most of the time of drawing a small picture, and 0.002 is easier to read.
"""

import math

from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# Mantissas to label, the densest that leave no more ticks than wanted.
_MANTISSAS = ((1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8), (1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))

_CHARACTERS = 28  # of labels that fit beside each other on the narrowest axis


def number(value: float) -> str:
    """Return a number for a tick: 0.002, 500, 10⁶, 3·10⁻⁵."""
    if value == 0 or 1e-3 <= abs(value) < 1e4:
        return f"{value:.4g}"
    mantissa, power = f"{value:.2e}".split("e")
    exponent = str(int(power)).translate(_SUPERSCRIPTS)
    lead = "" if float(mantissa) == 1 else f"{float(mantissa):g}·"
    return f"{lead}10{exponent}"


def log_places(low: float, high: float, most: int) -> list[float]:
    """Return the places of at most `most` labelled ticks between two limits.

    Round numbers where at least two of them fit, else two places within the limits.
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    choices = [
        [m * 10.0**power for power in powers for m in mantissas if low <= m * 10.0**power <= high]
        for mantissas in _MANTISSAS
    ]
    decades = choices[-1]
    choices += [decades[::step] for step in range(2, len(decades))]
    between = [low ** (1 - share) * high**share for share in (0.2, 0.8)]
    return next((places for places in choices if 2 <= len(places) <= most), between)


def label_logs(ax: Axes, which: str) -> None:
    """Put plain ticks on a logarithmic axis, 'x' or 'y', within its present limits."""
    axis, limits = (ax.xaxis, ax.get_xlim()) if which == "x" else (ax.yaxis, ax.get_ylim())
    places = log_places(*limits, 5 if which == "x" else 6)
    axis.set_ticks(places, labels=[number(place) for place in places])
    axis.set_minor_locator(NullLocator())


def label_values(ax: Axes, values: list[float]) -> None:
    """Put ticks at the measured places of a logarithmic x axis, leaving out what would overlap."""
    if len(values) == 1:
        ax.set_xlim(values[0] / 2, values[0] * 2)
    low, high = ax.get_xlim()
    names = {value: f"{value:.2g}" if value < 1 else f"{value:g}" for value in values}
    least = 0.99 * math.log(high / low) / min(8, _CHARACTERS // max(map(len, names.values())))
    shown: list[float] = []
    for value in values:
        if not shown or math.log(value / shown[-1]) >= least:
            shown.append(value)
    ax.set_xticks(shown, [names[value] for value in shown])
    ax.xaxis.set_minor_locator(NullLocator())
