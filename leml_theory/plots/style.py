"""How pictures look: a marker and a line style for every ball and prediction; saving them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import seaborn
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leml_theory.bounds.bound import Line
from safe_files import written_aside

DPI = 150
GREY = "0.6"
GUIDE = "#7a3b69"
MINUS = "\N{MINUS SIGN}"  # not a hyphen

_SETTINGS: Any = {  # keys are literals to mypy, newer with every matplotlib
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "0.92",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "pdf.fonttype": 42,  # text stays text: publishers ask for it
    "svg.hashsalt": "leml-theory",  # the same picture gives the same bytes
}


@dataclass(frozen=True, slots=True)
class Look:
    """How the points and lines of one ball are drawn; told apart without colour.

    A small full circle lies inside a large open square, so that points that coincide are both seen.
    """

    name: str
    noun: str
    colour: str
    marker: str
    face: str
    size: float
    line: Line

    def marks(self, scale: float = 1.0) -> dict[str, Any]:
        """Return the arguments by which matplotlib draws the marker."""
        return {
            "color": self.colour,
            "marker": self.marker,
            "markerfacecolor": self.face,
            "markersize": scale * self.size,
        }


_BLUE, _ORANGE, _GREEN = seaborn.color_palette("colorblind", 3).as_hex()
LOOKS = {
    "trace": Look("trace", "ball", _BLUE, "o", _BLUE, 4.2, "-"),
    "frobenius": Look("Frobenius", "ball", _ORANGE, "s", "none", 7.2, (0, (5, 2))),
    "leml": Look("rank-k LEML", "fit", "0.25", "x", "0.25", 5.5, (0, (1, 1.5))),
    "pooled": Look("pooled", "oracle", _GREEN, "^", "#9ad3b3", 6.0, (0, (4, 1.5, 1, 1.5))),
}

# Thin lines in the colour of the ball; told apart by their pattern, in greyscale too.
PREDICTIONS: dict[str, dict[str, Any]] = {
    "sharp": {"linestyle": (0, (4, 2)), "linewidth": 0.9},
    "limit": {"linestyle": (0, (1, 3)), "linewidth": 1.7},
}


@contextmanager
def picture_style() -> Iterator[None]:
    """Draw in the house style whatever the user's settings are, and restore them afterwards.

    seaborn's ticks style on matplotlib's defaults, with our sizes on top.
    """
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        with seaborn.axes_style("ticks"), matplotlib.rc_context(_SETTINGS):
            yield
            interactive = matplotlib.is_interactive()
    # A notebook turns this on with its first figure; turned back, later figures would not be shown.
    matplotlib.interactive(interactive)


def write_beside(
    ax: Axes, text: str, place: tuple[float, float], points: tuple[float, float], **style: Any
) -> None:
    """Write a text so many points to the right of a place and above it."""
    ax.annotate(text, place, xytext=points, textcoords="offset points", **style)


def save_figure(figure: Figure, folder: str | Path, name: str) -> list[Path]:
    """Write a picture as PNG, SVG and PDF, the same bytes for the same picture.

    Parameters
    ----------
    figure : Figure
        As the functions of this package return it.
    folder : path
        Made where it does not exist.
    name : str
        File name without its ending.

    Returns
    -------
    list of Path
        The files written: `name`.png, `name`.svg and `name`.pdf.
    """
    if not name or Path(name).name != name:
        raise ValueError(f"`name` must be a file name without folders, got {name!r}.")
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    return [
        _write(figure, target / f"{name}.png", {"Software": None}),
        _write(figure, target / f"{name}.svg", {"Date": None}),
        _write(figure, target / f"{name}.pdf", {"CreationDate": None}),
    ]


def _write(figure: Figure, path: Path, metadata: dict[str, None]) -> Path:
    """Write one file; a killed run leaves no half picture."""
    with picture_style(), written_aside(path) as file:
        figure.savefig(file, format=path.suffix[1:], dpi=DPI, metadata=metadata)
    return path
