"""What one panel of a picture shows, and the rows of the results frame it is drawn from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leml_theory.sweep.frame import bounds_in

AXIS_NAMES = {
    "n": "number of points n",
    "L": "number of labels L",
    "d": "number of features d",
    "observed": "share of labels observed",
    "s": "labels seen per point s",
    "P": "probability P of the most frequent label",
    "radius_factor": "radius of the ball over the norm of Z*",
    "radius": "radius of the ball",
}
_OTHER_NAMES = {
    "rank": "rank k of LEML",
    "law": "law of the features",
    "labels": "label model",
    "loss": "loss",
    "skew": "pattern of labels seen",
    "ball": "method",
    "series": "",
    "predicted": "predicted excess risk (loss units)",
    "delta": "allowed probability of failure δ",
}
LAW_NAMES = {"gaussian": "Gaussian x", "rademacher": "Rademacher x", "rank-one": "rank-one x"}


def axis_name(column: str) -> str:
    """Return the name of a column as an axis has it."""
    return {**AXIS_NAMES, **_OTHER_NAMES}.get(column, column)


Curve = Callable[[pd.DataFrame], "pd.Series[float]"]


@dataclass(frozen=True, slots=True)
class Guide:
    """A thin labelled line that is neither measured nor a bound."""

    label: str
    curve: Curve
    ball: str = "trace"


def slope_guide(label: str, axis: str, slope: float, *, start: float = 0.0) -> Guide:
    """Return a guide of a given slope through the first measured trace point from `start` on."""

    def curve(rows: pd.DataFrame) -> pd.Series[float]:
        x = rows[axis].where(rows[axis] >= start)
        first = x.first_valid_index()
        if first is None:
            return x
        line: pd.Series[float] = rows["value"][first] * (x / x[first]) ** slope
        return line

    return Guide(label, curve)


def regimes(rows: pd.DataFrame) -> dict[str, float]:
    """Return the numbers of points at which the squared loss changes its regime.

    Below d + L nothing is learnt; near dL an unconstrained fit interpolates; beyond n_c a radius
    larger than the norm of Z* does not bind any more.  All three are values of n for the squared
    loss with one label per point: there are none on another axis, or for another loss.
    """
    if any(varies(rows, axis) for axis in ("d", "L", "s")) or not varies(rows, "n"):
        return {}
    if rows["loss"].iloc[0] == "linear" or rows["s"].iloc[0] != 1:
        return {}
    d, n_labels = float(rows["d"].iloc[0]), float(rows["L"].iloc[0])
    marks = {"d+L": d + n_labels, "dL": d * n_labels}
    factor = float(rows["radius_factor"].max())
    if factor > 1:
        marks["n_c"] = 0.72 * d**2 * n_labels / (factor - 1) ** 2
    return marks


def diagonal(rows: pd.DataFrame) -> dict[str, float]:
    """Return the place L = d, beyond which Theorem 4 says nothing."""
    for axis, other in (("L", "d"), ("d", "L")):
        if varies(rows, axis) and not varies(rows, other):
            return {"L = d": float(rows[other].iloc[0])}
    return {}


@dataclass(frozen=True, slots=True)
class Panel:
    """What one panel shows.

    Parameters
    ----------
    experiment, series, quantity : str, tuple of str, str
        Which rows of the frame.
    axis : str
        Column along the horizontal axis.
    title : str
        What is shown, claiming nothing.
    bounds : tuple of str, optional
        Bounds drawn as lines; by default Theorem 3 and the best of the trace ball's others.  Bounds
        of the user's own are drawn in any case.
    noted : tuple of str
        Bounds that would squeeze the data, mentioned in a line under the panel.
    guides, marks : tuple of Guide, callable
        Labelled guide lines, and vertical lines by name.
    strip : str
        What a lower strip shows: '' nothing, 'ratio' measured over bound, 'slopes' local slopes.
    times_root_n : bool
        Whether everything is multiplied by sqrt(n), for axes along which n changes too.
    fitted, fit_from : bool, float
        Whether the legend gives the fitted slope, and the value of the axis it is fitted from.
    kind : str
        'curves' along the axis, 'categories' beside each other, the 'outlier' of X11, or a 'map'
        in n and the axis, with the measured places of `also` on it.
    against, also : str
        For a map: which method the trace ball is compared with, and the second experiment.
    hue : str
        Column shown in colours; the second axis of a 'heat' map.
    new_row : bool
        Whether the panel begins a row of the picture even if the last one is not full.
    """

    experiment: str
    series: tuple[str, ...]
    axis: str
    title: str
    quantity: str = "excess risk"
    bounds: tuple[str, ...] | None = None
    noted: tuple[str, ...] = ("paper_route",)
    guides: tuple[Guide, ...] = ()
    marks: Callable[[pd.DataFrame], dict[str, float]] = lambda _: {}
    strip: str = ""
    times_root_n: bool = False
    fitted: bool = True
    fit_from: float = 0.0
    kind: str = "curves"
    against: str = ""
    also: str = ""
    hue: str = "ball"
    new_row: bool = False

    def rows(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of the panel, sorted along the axis, each point of a ball once."""
        keep = frame["experiment"].isin([self.experiment, self.also])
        rows = frame[keep & frame["series"].isin(self.series)]
        if self.kind == "map":
            return rows
        rows = rows[rows["quantity"] == self.quantity]
        rows = rows.drop_duplicates(["ball", self.axis, self.hue])
        if pd.api.types.is_numeric_dtype(rows[self.axis]):
            rows = rows.sort_values(self.axis, kind="stable")
        return _times_root_n(rows) if self.times_root_n else rows

    def x_label(self, rows: pd.DataFrame) -> str:
        """Return the name of the horizontal axis."""
        if self.kind == "map":
            return AXIS_NAMES["n"]
        if self.axis == "L" and varies(rows, "L") and (rows["L"] == rows["d"]).all():
            return "number of labels L (= features d)"
        return axis_name(self.axis)

    def y_label(self, rows: pd.DataFrame) -> str:
        """Return the name of the vertical axis with its unit."""
        if self.kind == "outlier":
            return "excess risk ÷ promised excess risk"
        if self.kind == "map":
            return "share of labels observed" if self.axis == "s" else AXIS_NAMES[self.axis]
        if self.kind == "heat":
            return axis_name(self.hue)
        name = "Rademacher average" if self.quantity.startswith("rade") else self.quantity
        units = ["" if name == "Rademacher average" else "loss units", _radius(rows)]
        unit = ", ".join(filter(None, units))
        factor = " \N{MULTIPLICATION SIGN} √n" if self.times_root_n else ""
        return f"{name}{factor} ({unit})" if unit else f"{name}{factor}"


def _times_root_n(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with values and bounds multiplied by sqrt(n)."""
    factor = np.sqrt(rows["n"].astype(float))
    scaled = ("value", "stderr", "predicted", "high_probability", *bounds_in(rows))
    return rows.assign(**{name: rows[name] * factor for name in scaled})


def _radius(rows: pd.DataFrame) -> str:
    """Return the radius in words, nothing where it is the axis or differs."""
    factors = rows["radius_factor"].dropna().unique()
    if factors.size == 1:
        return f"radius {factors[0]:g}|Z*|".replace(" 1|", " |")
    radii = rows.loc[rows["ball"] != "pooled", "radius"]
    if factors.size > 1 or radii.empty:
        return ""
    if radii.unique().size == 1:
        return f"radius {radii.iloc[0]:g}"
    if np.allclose(radii**2, rows.loc[radii.index, "L"]):
        return "radius √L"
    return ""


def setting(rows: pd.DataFrame, axis: str) -> str:
    """Return in one line what is constant along a panel: the law and the sizes."""
    sizes = {name: rows[name].unique() for name in ("n", "d", "L") if name != axis}
    fixed = {name: int(found[0]) for name, found in sizes.items() if found.size == 1}
    if "d" in fixed and fixed.get("d") == fixed.get("L"):
        fixed = {"d = L": fixed["d"], **{k: v for k, v in fixed.items() if k == "n"}}
    ranks = set(rows.loc[rows["ball"] == "leml", "rank"]) if "rank" in rows else set()
    if len(ranks) == 1 and axis != "rank":
        fixed["k"] = int(ranks.pop())
    laws = rows["law"].unique()
    words = [LAW_NAMES.get(str(law), str(law)) for law in laws] if laws.size == 1 else []
    sizes_told = (f"{name} = {_count(value)}" for name, value in fixed.items())
    return ", ".join([*words, *sizes_told, *_seen(rows, axis)])


def _seen(rows: pd.DataFrame, axis: str) -> list[str]:
    """Return which labels are seen, where that is constant and not the default."""
    patterns, numbers_seen = rows["skew"].dropna().unique(), rows["s"].dropna().unique()
    name, _, share = str(patterns[0]).partition(":") if patterns.size == 1 else ("", "", "")
    if name == "observed":
        return [] if axis == "observed" else [f"{100 * float(share):.3g} % observed"]
    several = numbers_seen.size == 1 and numbers_seen[0] != 1 and axis != "s"
    told = [f"s = {numbers_seen[0]:g}"] if several else []
    return told + ([f"{name} {share}".strip()] if name not in ("", "uniform") else [])


def _count(value: int) -> str:
    """Return a count as a power of ten where it is one, else with its digits."""
    power = len(str(value)) - 1
    superscript = str(power).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{superscript}" if power > 3 and value == 10**power else f"{value}"


def varies(rows: pd.DataFrame, column: str) -> bool:
    """Return whether a column holds more than one value."""
    return bool(rows[column].dropna().unique().size > 1)


def numbers(rows: pd.DataFrame, column: str) -> NDArray[np.float64]:
    """Return a column as floats."""
    return rows[column].to_numpy(float)
