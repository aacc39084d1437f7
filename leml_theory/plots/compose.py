"""From panels to a figure: axes, legends under their panels, a title above, a caption below."""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.transforms import ScaledTranslation

from leml_theory.plots.captions import caption
from leml_theory.plots.categories import draw_categories, draw_outlier
from leml_theory.plots.curves import draw_curves, draw_ratio, draw_slopes, is_text
from leml_theory.plots.hues import draw_heat, draw_hues, draw_map
from leml_theory.plots.panel import Panel, setting
from leml_theory.plots.style import PREDICTIONS, picture_style, write_beside
from leml_theory.plots.ticks import label_logs

Entries = dict[str, Any]

# All lengths in inches.  Fixed places rather than a layout engine: half the time, and panels that
# stay where they are when a legend grows.
_LEFT, _RIGHT, _TITLE, _MAIN, _GAP, _STRIP, _NAME = 0.82, 0.12, 0.5, 2.75, 0.12, 0.95, 0.52
_LINE = 0.158  # a line of small text
_CHARACTERS, _TITLE_CHARACTERS = 14.0, 9.5  # of small and of larger bold text that fit in an inch
_TICK_CHARACTERS = 12.0  # of the widest tick labels that fit in an inch
_LEAST_TURN = 25.0  # degrees
_ROOMY = 4.5  # inches of axes that need no smaller type
_MOST_PANELS = 12
_ALONE = 5.9  # width of the axes of a single panel, whose legend stands beside it


@dataclass(frozen=True, slots=True)
class Style:
    """The size of a picture: laid out in `width` inches, then scaled as a whole to `final`."""

    width: float = 10.0
    final: float = 10.0
    columns: int = 3
    title: bool = True
    caption: bool = True

    def beside(self, columns: int) -> bool:
        """Whether the legend stands beside its panel."""
        return columns == 1 and self.width >= 9

    def characters(self, columns: int) -> int:
        """Return how many characters fit into a line of a legend."""
        return int(_CHARACTERS * (3.1 if self.beside(columns) else self.width / columns))


# A column has its caption in the paper; a slide has a speaker.
STYLES = {
    "page": Style(),
    "column": Style(4.0, 3.25, 1, False),
    "slide": Style(10.0, 13.33, 3, True, False),
}

_KINDS = {
    "curves": draw_curves, "categories": draw_categories, "outlier": draw_outlier, "map": draw_map,
    "hues": draw_hues, "heat": draw_heat,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Picture:
    """A topic, the panels that show it, and what else the reader should know.

    Parameters
    ----------
    panels : tuple of Panel
        In reading order.
    told : dict of (str, str) to str
        Experiments and series whose slopes the title gives, and the words before them.
    remark : str
        Added to the caption at the bottom.
    columns : int
        Panels beside each other, up to three.
    shared_legend : bool
        Whether entries that all panels have stand once, under the title.
    shared_scales : bool
        Whether all panels have the same limits, so that they can be compared by eye.
    topic : str
        What is shown, claiming nothing; `titles` adds what the run says. By default the title of
        the experiment.
    """

    panels: tuple[Panel, ...]
    told: dict[tuple[str, str], str] = field(default_factory=dict)
    remark: str = ""
    columns: int = 2
    shared_legend: bool = False
    shared_scales: bool = False
    topic: str = ""

    @classmethod
    def of(cls, topic: str, panels: Sequence[Panel], beside: int, advice: str, **more: Any) -> Self:
        """Return a picture of any number of panels, the first twelve of them, `beside` in a row."""
        left_out = len(panels) - _MOST_PANELS
        remark = f"{left_out} more panels are left out: {advice}." if left_out > 0 else ""
        columns = 2 if beside == 4 else min(beside, 3)
        more |= {"topic": topic, "remark": remark, "columns": columns}
        return cls(tuple(panels[:_MOST_PANELS]), **more)


@dataclass(slots=True)
class _Place:
    """One panel on its axes, with the legend that is still to be put under it."""

    main: Axes
    strip: Axes | None
    entries: Entries
    characters: int
    new_row: bool

    @property
    def wrapped(self) -> list[str]:
        return [textwrap.fill(label, self.characters) for label in self.entries]

    @property
    def title_height(self) -> float:
        return _TITLE + 0.16 * self.main.get_title(loc="left").count("\n")

    @property
    def height(self) -> float:
        """Of the axes; the fields of a heat map need little."""
        return min(_MAIN, 0.4 + 0.6 * len(self.main.get_yticks())) if self.heat else _MAIN

    @property
    def heat(self) -> bool:
        return any(line.get_gid() == "heat" for line in self.main.lines)

    @property
    def name_height(self) -> float:
        """Of the names under the axes, those of categories in lines or turned."""
        ticks = self.main.get_xticklabels() if self.main.get_xscale() == "linear" else []
        texts = [(math.radians(tick.get_rotation()), tick.get_text()) for tick in ticks]
        more = (math.sin(a) * len(t) / _CHARACTERS + _LINE * t.count("\n") for a, t in texts)
        return _NAME + max(more, default=0.0)

    @property
    def legend_height(self) -> float:
        return _LINE * sum(label.count("\n") + 1 for label in self.wrapped)


def draw_picture(
    frame: pd.DataFrame,
    picture: Picture,
    title: str,
    n_tests: int,
    style: Style = STYLES["page"],
    *,
    legend: bool = True,
) -> Figure:
    """Draw all panels of a picture that the frame has rows for; an empty title leaves texts out."""
    filled = [(panel, rows) for panel in picture.panels if len(rows := panel.rows(frame))]
    columns = min(picture.columns, len(filled), style.columns)
    with picture_style():
        figure = Figure(figsize=(style.width, style.width))
        places = [_draw_place(figure, *one, columns, n_tests, style) for one in filled]
        if picture.shared_scales:
            _share_scales([place.main for place in places], filled[0][0].kind)
        if not legend:
            for place in places:
                place.entries = {}
        shared = _take_shared(places) if picture.shared_legend and len(places) > 1 else {}
        told = f"{caption(figure.axes)} {picture.remark}".strip()
        footer = told if title and style.caption else ""
        _lay_out(figure, places, columns, (title, footer), shared, style)
        _scale(figure, style.final / style.width)
    return figure


def _share_scales(axes: list[Axes], kind: str) -> None:
    """Give all axes the limits that hold what each of them shows."""
    if kind == "heat":
        return
    for which in ("x", "y"):
        ends = [getattr(ax, f"get_{which}lim")() for ax in axes]
        limits = min(low for low, _ in ends), max(high for _, high in ends)
        for ax in axes:
            getattr(ax, f"set_{which}lim")(limits)
            if which == "y":
                label_logs(ax, "y")


def _scale(figure: Figure, factor: float) -> None:
    """Make a finished picture larger or smaller as a whole, texts and lines included."""
    if factor == 1:
        return
    figure.set_size_inches(*(factor * figure.get_size_inches()))
    for text in figure.findobj(Text):
        text.set_fontsize(factor * float(text.get_fontsize()))
    for line in figure.findobj(Line2D):
        line.set(
            linewidth=factor * line.get_linewidth(),
            markersize=factor * line.get_markersize(),
            markeredgewidth=factor * line.get_markeredgewidth(),
        )


def _draw_place(
    figure: Figure, panel: Panel, rows: pd.DataFrame, columns: int, n_tests: int, style: Style
) -> _Place:
    """Draw one panel and its strip on axes of their own."""
    main = figure.add_axes((0, 0, 1, 1), label=f"{panel.experiment} {panel.series[0]}")
    strip = figure.add_axes((0, 0, 1, 1), sharex=main, label="strip") if panel.strip else None
    wide = _ALONE if style.beside(columns) else style.width / columns
    draw_panel(main, rows, panel, n_tests, width=wide)
    if strip is not None:
        draw = draw_ratio if panel.strip == "ratio" else draw_slopes
        draw(strip, rows, panel.axis)
        strip.set_xlabel(main.get_xlabel())
        main.set_xlabel("")
        main.tick_params(labelbottom=False)
    return _Place(main, strip, _entries(main), style.characters(columns), panel.new_row)


def _entries(ax: Axes) -> Entries:
    """Return the legend of the axes, what is measured first, then what is predicted."""
    pairs = list(zip(*ax.get_legend_handles_labels(), strict=True))
    pairs.sort(key=lambda pair: _rank(pair[0]))
    return {label: handle for handle, label in pairs}


def _rank(handle: Any) -> int:
    """Return the place of an entry in the legend: measured, predicted, the rest."""
    if isinstance(handle, ErrorbarContainer):
        return 0
    return 1 if handle.get_gid() in PREDICTIONS else 2


def draw_panel(
    ax: Axes, rows: pd.DataFrame, panel: Panel, n_tests: int, *, width: float = _ALONE
) -> None:
    """Draw one panel without strip and legend."""
    _KINDS[panel.kind](ax, rows, panel, n_tests)
    ax.set(xlabel=panel.x_label(rows), ylabel=panel.y_label(rows))
    if panel.kind not in ("map", "heat"):
        label_logs(ax, "y")
    if panel.kind in ("categories", "hues", "heat") and ax.get_xscale() == "linear":
        _turn_names(ax, width - _LEFT - _RIGHT)
    characters = int(_TITLE_CHARACTERS * width)
    ax.set_title(_balanced(panel.title, characters), loc="left", pad=15, fontweight="bold")
    small: dict[str, Any] = {"xycoords": "axes fraction", "color": "0.35", "fontsize": 8}
    # The colours of a map have no axis that would say what they stand for.
    shown = f"{panel.quantity.capitalize()}: " if panel.kind == "heat" else ""
    write_beside(ax, shown + setting(rows, panel.axis), (0, 1), (0, 3), **small)


def _turn_names(ax: Axes, width: float) -> None:
    """Turn the names of categories that would meet, in one line each."""
    ticks = ax.get_xticklabels()
    longest, slot = max(len(x) for t in ticks for x in t.get_text().split("\n")), width / len(ticks)
    if longest + 1 > _TICK_CHARACTERS * slot:
        names = [tick.get_text().replace("-\n", "-").replace("\n", " ") for tick in ticks]
        room = _CHARACTERS * (_LEFT + slot / 2) / len(names[0])  # so that the first one is not cut
        turn = max(_LEAST_TURN, math.degrees(math.acos(min(1.0, room))))
        ax.set_xticks(ax.get_xticks(), names, rotation=turn, ha="right", rotation_mode="anchor")


def _balanced(text: str, characters: int) -> str:
    """Return text in as few lines as it needs, without a word or two alone in the last one."""
    wrapped = partial(textwrap.wrap, text, break_on_hyphens=False)
    lines = wrapped(characters)
    if len(lines) > 1 and len(lines[-1]) < characters / 3:
        narrower = (wrapped(width) for width in range(len(text) // len(lines), characters))
        lines = next((found for found in narrower if len(found) == len(lines)), lines)
    return "\n".join(lines)


def add_legend(ax: Axes, width: float) -> None:
    """Put a legend on given axes: inside where there is room, else a short one below."""
    entries = _entries(ax)
    if width >= _ROOMY:
        texts = [textwrap.fill(label, int(_CHARACTERS * width)) for label in entries]
        ax.legend(entries.values(), texts)
        return
    drawn = {label: handle for label, handle in entries.items() if not is_text(handle)}
    labels = [_shortened(label, int(0.8 * _CHARACTERS * width)) for label in drawn]
    below = ax.transAxes + ScaledTranslation(0, -0.36, ax.figure.dpi_scale_trans)
    ax.legend(
        drawn.values(), labels, loc="upper left", bbox_to_anchor=(-0.15, 0), bbox_transform=below,
        ncols=2, borderaxespad=0, handlelength=1.8, columnspacing=0.8, labelspacing=0.2,
    )  # fmt: skip


def _shortened(label: str, most: int) -> str:
    """Return a label without what stands in brackets, after a ± or after a comma, if too long."""
    for separator in (" (", " ±", ","):
        label = label if len(label) <= most else label.split(separator)[0]
    return label


def shrink_texts(ax: Axes, width: float) -> None:
    """Make the texts of narrow axes smaller, and break a label that is longer than its axis."""
    if width >= _ROOMY:
        return
    ax.set_ylabel(textwrap.fill(ax.get_ylabel(), 22))
    for text in ax.findobj(Text):
        text.set_fontsize(max(5.5, float(text.get_fontsize()) * width / _ROOMY))


def _take_shared(places: list[_Place]) -> Entries:
    """Take the legend entries that all panels have out of the panels' own legends."""
    first, *others = (place.entries for place in places)
    shared = {
        label: handle
        for label, handle in first.items()
        if all(label in other for other in others) and not is_text(handle)
    }
    for place in places:
        place.entries = {k: v for k, v in place.entries.items() if k not in shared}
    return shared


def _lay_out(
    figure: Figure,
    places: list[_Place],
    columns: int,
    texts: tuple[str, str],
    shared: Entries,
    style: Style,
) -> None:
    """Place title, panels, legends and caption from top to bottom, as high as they need."""
    width = style.width
    title = "\n".join(_balanced(line, int(9.2 * width)) for line in texts[0].split("\n"))
    footer = textwrap.fill(texts[1], int(15 * width))
    # entries of the shared legend beside each other: four, or as many as fit
    lines = math.ceil(len(shared) / max(1, round(0.4 * width)))
    head = 0.12 + (0.23 * (title.count("\n") + 1) if title else 0.0)
    head += 0.1 + 0.2 * lines if shared else 0.0
    foot = 0.16 + 0.15 * (footer.count("\n") + 1) if footer else 0.0
    bands = _bands(places, columns)
    heights = [_band_height(band, style.beside(columns)) for band in bands]
    total = head + sum(heights) + foot
    figure.set_size_inches(width, total)
    if title:
        figure.text(0.012, 1 - 0.1 / total, title, va="top", fontsize=12.5, fontweight="bold")
        figure.text(0.012, 0.08 / total, footer, va="bottom", fontsize=8, color="0.25")
    if shared:
        anchor = (0.012, 1 - (head - 0.1 - 0.2 * lines) / total)
        figure.legend(
            shared.values(), shared, loc="upper left", bbox_to_anchor=anchor,
            ncols=math.ceil(len(shared) / lines),
            borderaxespad=0, handlelength=3.0, columnspacing=1.5, fontsize=9,
        )  # fmt: skip
    top = total - head
    for band, height in zip(bands, heights, strict=True):
        for column, place in enumerate(band):
            below = top - max(place.title_height for place in band)
            _set_place(place, (column * width / columns, below), columns, total, style)
        top -= height


def _bands(places: list[_Place], columns: int) -> list[list[_Place]]:
    """Return the rows of panels."""
    bands: list[list[_Place]] = []
    for place in places:
        if not bands or place.new_row or len(bands[-1]) == columns:
            bands.append([])
        bands[-1].append(place)
    return bands


def _band_height(band: list[_Place], beside: bool) -> float:
    """Return the height of a row of panels with their legends."""
    strip = _GAP + _STRIP if any(place.strip for place in band) else 0.0
    axes = max(place.title_height for place in band) + max(place.height for place in band) + strip
    axes += max(place.name_height for place in band)
    legend = max(place.legend_height for place in band)
    return (max(axes, legend) if beside else axes + legend) + 0.15


def _set_place(
    place: _Place, corner: tuple[float, float], columns: int, total: float, style: Style
) -> None:
    """Move one panel to its place, its upper left corner in inches, and its legend under it."""
    (left, top), beside, width = corner, style.beside(columns), style.width
    wide = (_ALONE if beside else width / columns - _LEFT - _RIGHT) / width
    x, bottom = (left + _LEFT) / width, top - place.height
    place.main.set_position((x, bottom / total, wide, place.height / total))
    if place.strip is not None:
        bottom -= _GAP + _STRIP
        place.strip.set_position((x, bottom / total, wide, _STRIP / total))
    anchor = (_LEFT + _ALONE + 0.2, top) if beside else (left + 0.12, bottom - place.name_height)
    if place.entries:
        place.main.legend(
            place.entries.values(), place.wrapped, loc="upper left",
            bbox_to_anchor=(anchor[0] / width, anchor[1] / total),
            bbox_transform=place.main.figure.transFigure,
            borderaxespad=0, labelspacing=0.25, handlelength=2.6,
        )  # fmt: skip
