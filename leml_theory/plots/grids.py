"""The picture of a grid of your own: any axis across, any axis as colour, the rest in panels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from argument_checks import one_of
from leml_theory.plots.compose import Picture
from leml_theory.plots.hues import named, values_of
from leml_theory.plots.panel import LAW_NAMES, Panel, axis_name, regimes, varies
from leml_theory.plots.style import LOOKS
from leml_theory.plots.titles import signed
from leml_theory.sweep.experiments.custom import AXES, GRID
from leml_theory.sweep.experiments.design import AGREES
from leml_theory.sweep.frame import bounds_in
from leml_theory.sweep.rates import log_log_slope
from leml_theory.worlds import skew_column

_QUANTITIES = ("excess risk", "supremum deviation", "rademacher average", "generalisation gap")
_RATIO = "Frobenius over trace"


def grid_quantities(frame: pd.DataFrame) -> dict[str, str]:
    """Return the names of the pictures of a grid, the main one first, and what each shows."""
    there = set(frame.loc[frame["experiment"] == GRID, "quantity"])
    known = [quantity for quantity in _QUANTITIES if quantity in there]
    return {f"{GRID}_{q.replace(' ', '_')}" if i else GRID: q for i, q in enumerate(known)}


def grid_picture(
    frame: pd.DataFrame, quantity: str, *, x: str, y: str, hue: str, panel: str
) -> tuple[pd.DataFrame, Picture]:
    """Return the rows that show a quantity of a grid along its axes, and the picture of them."""
    chosen = quantity or next(iter(grid_quantities(frame).values()))
    rows = _tidy(frame[(frame["experiment"] == GRID) & (frame["quantity"] == chosen)])
    view = _View.of(rows, x=x, y=y, hue=hue, panel=panel)
    drawn = view.heated(rows) if view.y else rows
    drawn = drawn.assign(series=[view.facet(row) for _, row in drawn.iterrows()])
    drawn.attrs = {column: values_of(rows, column) for column in (view.x, view.y) if column}
    panels = tuple(view.panel(facet, chosen, new) for facet, new in view.ordered(drawn))
    beside = drawn["ball"].nunique() if "ball" in view.facets else len(panels)
    picture = Picture.of(
        view.topic(rows, chosen), panels, beside, "choose another --panel",
        shared_legend=True, shared_scales=True,
    )  # fmt: skip
    return drawn, picture


def _tidy(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with worlds under the names that options have, radii for the pooled fit too.

    Where every world has a loss of its own, its name gives the loss, which is then not an axis.
    """
    worlds = rows["labels"].replace("worst planted", "planted")
    if varies(rows, "loss") and rows.groupby("labels")["loss"].nunique().max() < 2:
        worlds = worlds + " (" + rows["loss"].str.replace("_", " ") + ")"
        rows = rows.assign(loss="several")
    if rows["radius_factor"].notna().any():
        factors = rows["radius_factor"].where(rows["ball"] != "pooled", rows["radius"])
        rows = rows.assign(radius_factor=factors)
    return rows.assign(labels=worlds, loss=rows["loss"].str.replace("_", " "))


def _column(rows: pd.DataFrame, axis: str) -> str:
    """Return the column that an axis is drawn from; patterns of one family are numbers."""
    if axis == "skew":
        return skew_column(map(str, rows["skew"])) or "skew"
    if axis == "radius" and rows["radius_factor"].notna().any():
        return "radius_factor"  # in units of the true Z's norm
    return {"world": "labels"}.get(axis, axis)


def _varying(rows: pd.DataFrame) -> list[str]:
    """Return the columns of the axes that vary by themselves."""
    columns = dict.fromkeys(_column(rows, axis) for axis in AXES)
    if rows["skew"].astype(str).str.startswith("observed").any():
        columns.pop("s")  # a random number of labels follows from the share observed
    return [column for column in columns if varies(rows, column)]


@dataclass(frozen=True, slots=True)
class _View:
    """Which columns stand where."""

    x: str
    y: str
    hue: str
    facets: tuple[str, ...]
    numeric: bool

    @classmethod
    def of(cls, rows: pd.DataFrame, **asked: str) -> _View:
        """Choose what was not asked for: numbers across, balls in colours, the rest in panels."""
        for name, axis in asked.items():
            if axis:
                one_of(axis, name, [*AXES, "ball"])
        wanted = {name: _column(rows, axis) if axis else "" for name, axis in asked.items()}
        varying = _varying(rows)
        taken = [wanted[name] for name in ("y", "hue", "panel")]
        free = [column for column in varying if column not in taken]
        longest = max(free or varying or ["ball"], key=lambda c: _merit(rows, c))
        x = wanted["x"] if wanted["x"] in (*varying, "ball") else longest
        y = wanted["y"] if wanted["y"] in varying and wanted["y"] != x else ""
        hue = wanted["hue"] if wanted["hue"] in varying and wanted["hue"] != x else "ball"
        first = [wanted["panel"]] if wanted["panel"] in (*varying, "ball") else []
        rest = [c for c in varying if c not in (x, y, hue)]
        if (y or hue != "ball") and x != "ball":
            rest.append("ball")
        facets = tuple(c for c in dict.fromkeys([*first, *rest]) if c not in (x, y))
        return cls(x, y, "" if y else hue, facets, pd.api.types.is_numeric_dtype(rows[x]))

    def facet(self, row: pd.Series) -> str:
        """Return the panel that a row belongs to."""
        there = [column for column in self.facets if pd.notna(row[column])]
        return ", ".join(_facet(column, row[column]) for column in there)

    def ordered(self, rows: pd.DataFrame) -> Iterator[tuple[str, bool]]:
        """Yield the panels, the methods of one place beside each other, each place in a new row."""
        balls = list(dict.fromkeys(rows["ball"]))
        others = [c for c in self.facets if c != "ball"]
        places = rows[others].astype(str).agg(" ".join, axis=1) if others else rows["ball"] * 0
        order = rows.assign(_place=pd.factorize(places)[0], _ball=rows["ball"].map(balls.index))
        order = order.sort_values(["_place", "_ball"], kind="stable").drop_duplicates("series")
        new = ~order["_place"].duplicated() & ("ball" in self.facets)
        yield from zip(order["series"], new, strict=True)

    def panel(self, facet: str, quantity: str, new_row: bool) -> Panel:
        """Return what one panel shows."""
        plain = "curves" if self.numeric else "categories"
        kind = "heat" if self.y else plain if self.hue == "ball" else "hues"
        marks = regimes if quantity == "excess risk" and self.x == "n" else lambda _: {}
        return Panel(
            GRID, (facet,), self.x, facet or quantity.capitalize(), quantity, marks=marks,
            kind=kind, hue=self.y or self.hue, noted=(), fitted=self.numeric, new_row=new_row,
        )  # fmt: skip

    def heated(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of a heat map, with the ratio of the balls and the ends of the scales."""
        keys = [self.x, self.y, *(c for c in self.facets if c != "ball")]
        balls = rows.drop_duplicates([*keys, "ball"]).set_index(keys)
        of = {ball: balls.loc[balls["ball"] == ball] for ball in ("trace", "frobenius")}
        parts = [rows.drop_duplicates([*keys, "ball"])]
        if all(len(part) for part in of.values()):
            ratio = of["frobenius"]["value"] / of["trace"]["value"]
            unbounded = dict.fromkeys((f"{name}_valid" for name in bounds_in(rows)), False)
            ratios = of["trace"].assign(ball=_RATIO, value=ratio, **unbounded)
            parts.append(ratios.reset_index())
        for i, part in enumerate(parts):
            positive = part["value"][part["value"] > 0]
            parts[i] = part.assign(least=positive.min(), largest=positive.max())
        return pd.concat(parts, ignore_index=True)

    def topic(self, rows: pd.DataFrame, quantity: str) -> str:
        """Return the title: what is seen, what is constant, and what it comes to."""
        across = "by method" if self.x == "ball" else f"against {axis_name(self.x)}"
        by = f" and {axis_name(self.y)}" if self.y else ""
        by += f", by {axis_name(self.hue)}" if self.hue not in ("", "ball") else ""
        words = [
            f"{word}{rows[name].iloc[0]}"
            for name, word in {"labels": "world ", "loss": "loss "}.items()
            if not varies(rows, name) and quantity in ("excess risk", "generalisation gap")
            if rows[name].iloc[0] != "several"
        ]
        where = f" ({', '.join(words)})" if words else ""
        return f"{quantity.capitalize()} {across}{by}{where}\n{self._finding(rows)}".rstrip()

    def _finding(self, rows: pd.DataFrame) -> str:
        """Return in one sentence what the measured values come to, ball by ball."""
        if self.y:
            ratios = (r := self.heated(rows))["value"][r["ball"] == _RATIO]
            if ratios.empty:
                return ""
            return (
                f"Frobenius ball: {ratios.min():.3g} to {ratios.max():.3g} times the trace ball's"
            )
        found = [
            (LOOKS[str(ball)].name, self._say(part))
            for ball, part in rows.groupby("ball", sort=False)
        ]
        said = "; ".join(f"{name} {text}" for name, text in found if text)
        start = f"Slope in {self.x}: " if self.numeric and said else ""
        return f"{start}{said}" if start else f"{said[:1].upper()}{said[1:]}"

    def _say(self, rows: pd.DataFrame) -> str:
        """Return the range of slopes of one ball, or the categories at its ends."""
        rows = rows[(rows["value"] > 0) & (rows["stderr"] > 0)]
        if not self.numeric:
            return _ends(rows, self.x)
        others = [c for c in (*self.facets, self.hue) if c and c != "ball"]
        parts = [part for _, part in rows.groupby(others)] if others else [rows]
        parts = [part.drop_duplicates(self.x) for part in parts if varies(part, self.x)]
        slopes = [log_log_slope(p[self.x], p["value"], p["stderr"]).slope for p in parts]
        ends = dict.fromkeys(signed(end) for end in (min(slopes), max(slopes))) if slopes else {}
        return " to ".join(ends)


def _ends(rows: pd.DataFrame, column: str) -> str:
    """Return the categories of the smallest and largest values, if they differ by three errors."""
    logs, errors = np.log(rows["value"]), (rows["stderr"] / rows["value"]) ** 2
    by = rows[column]
    means = logs.groupby(by).mean()
    variances = errors.groupby(by).sum() / logs.groupby(by).count() ** 2
    if len(means) < 2:
        return ""
    low, high = means.idxmin(), means.idxmax()
    apart = means[high] - means[low] > AGREES * (variances[low] + variances[high]) ** 0.5
    return f"smallest for {low}, largest for {high}" if apart else "the same within its errors"


def _merit(rows: pd.DataFrame, column: str) -> tuple[bool, int, bool]:
    """Return how well an axis serves as x: three numbers make a curve, else the longest."""
    numeric, size = pd.api.types.is_numeric_dtype(rows[column]), rows[column].nunique()
    return numeric and size > 2, size, numeric


def _facet(column: str, value: object) -> str:
    """Return a value of a panel's axis in words."""
    if column == "ball":
        look = LOOKS.get(str(value))
        return f"{look.name} {look.noun}" if look else str(value)
    return LAW_NAMES.get(str(value), named(column, value))
