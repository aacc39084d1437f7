"""Captions: one sentence for every kind of mark that a picture has, and none for any other."""

from collections.abc import Iterable

from matplotlib.axes import Axes

from leml_theory.plots.description import describe_axes
from leml_theory.plots.style import MINUS

# By the mark that the drawing functions give their lines (matplotlib's gid).
SENTENCES = {
    "measured": "Points: measured, bars ± 2 standard errors.",
    "sharp": "Thin dashes in the colour of points, 'sharp': predicted for these very sizes, "
    "within 3\N{NO-BREAK SPACE}%; not a bound.",
    "limit": "Dots in the colour of points, 'limit': the value approached as sizes grow, so "
    "points may lie off it; not a bound.",
    "bound": "Heavy lines: bounds on the mean, where valid; on risks, twice those on averages.",
    "offset": "Dash-dotted lines in a ball's colour, 'offset bound': a bound on the mean excess of "
    "the squared loss, averaged over samples that are not measured.",
    "lower bound": "Black dots: every method has at least this mean excess for some Z* of the same "
    "rank in the trace ball (oracles that know more of Z* may have less).",
    "smallest": "Black dashes: the smallest bound that is valid there.",
    "bound by colour": "Heavy lines in colours of points: the smallest bound valid there.",
    "heat": "Numbers: measured means; darker is larger, on one logarithmic scale for all methods "
    "and on another one for their ratio. Hatched: not measured.",
    "not valid": "Grey dots with crosses: a bound outside its assumptions, which promises nothing.",
    "refused": "Grey crosses: bounds outside their assumptions, refused.",
    "on its bound": "Lower strip, line at 1: as large as the smallest valid bound.",
    "bound's rate": f"Lower strip, solid line: the rate of the bounds, {MINUS}1/2.",
    "fast rate": f"Lower strip, dashed line: the fast rate, {MINUS}1.",
    "L = d": "Vertical line: L = d, the last place to which Theorem 4 applies.",
    "d+L": "Vertical line d+L: with fewer points nothing is learnt.",
    "dL": "Vertical line dL: a fit whose radius does not bind interpolates there.",
    "n_c": f"Vertical line n_c = 0.72 d²L/(radius/|Z*| {MINUS} 1)²: beyond it the radius does not "
    "bind.",
}
# By a word in a legend or a title of a panel.
_WORDS = {
    ": slope": "The ± of slopes are 2 standard errors too.",
    "Chevet": "Chevet: a bound on the mean spectral norm of a random matrix by the sizes of its "
    "rows and columns, after Chevet's inequality for Gaussian ones.",
    "sub-Gaussian net": "Sub-Gaussian net: a bound by a net of directions, for any sub-Gaussian x.",
    "worst planted signal": "Worst planted signal: labels that follow one feature, as strongly as "
    "makes the excess of that ball largest.",
}


def caption(axes: Iterable[Axes]) -> str:
    """Return the sentences of all marks and words that the axes have."""
    drawn = [describe_axes(ax) for ax in axes]
    marks = {line.mark for one in drawn for line in one.lines}
    texts = " ".join(line.label for one in drawn for line in one.lines)
    texts += " ".join(ax.get_title(loc="left") for ax in axes).replace("\n", " ")
    words = [text for word, text in _WORDS.items() if word.lower() in texts.lower()]
    return " ".join([*(text for mark, text in SENTENCES.items() if mark in marks), *words])
