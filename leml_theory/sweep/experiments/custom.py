"""A grid of the user's own: every combination of the given axes, planned as an experiment."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from argument_checks import one_of
from leml_solver.losses import LOSSES
from leml_theory.rademacher import check_draws
from leml_theory.sweep.experiments.design import Experiment, Fit, Planned
from leml_theory.worlds import (
    LABELS,
    LAWS,
    feature_law,
    label_model,
    observation_of,
    parametric_labels,
    skew_column,
)
from simulations import Scenario

GRID = "grid"  # what tables call a grid of the user's own
NUMERIC = ("n", "d", "L", "s", "radius", "rank")
AXES = (*NUMERIC, "skew", "law", "world", "loss")
SOLVERS = ("exact", "leml")
# world -> (label model, loss); the first two need no label model of their own
WORLDS = {
    "averages": ("all-ones", "linear"),
    "planted": ("worst planted", "linear"),
    "rank-1": ("rank-1", "squared"),
    "rank-3": ("rank-3", "squared"),
    "shared": ("shared", "squared"),
    "nearly-shared": ("nearly shared", "squared"),
    "independent": ("independent", "squared"),
    "logistic": ("logistic", "logistic"),
    "all-ones": ("all-ones", "linear"),
    "random-signs": ("random-signs", "logistic"),
}
DEFAULTS: dict[str, Any] = {
    "n": [256, 1024, 4096], "d": [32], "L": [32], "s": [1], "radius": [1.0], "rank": [],
    "skew": ["uniform"], "law": [], "world": ["averages"], "loss": [], "solver": ["exact"],
    "draws": 50, "precision": 0.0, "x": "", "y": "", "hue": "", "panel": "",
}  # fmt: skip
_FITTED = ("trace", "frobenius", "leml", "pooled")
_AVERAGED = ("n", "d", "L", "skew", "law")  # what the averages beside a risk depend on
# With more points a sample's excess is below the error of a least risk that is itself sampled.
_MOST_SAMPLED = 10_000

_MOST_PLACES = 100_000  # each is looked at before anything is measured, in 0.1 ms
_FIRST_BATCH = 20  # draws before the first look at a precision

Place = dict[str, Any]


def world_of(name: str) -> tuple[str, str]:
    """Return the label model and the loss of a world; 'rank-K' and 'planted:RHO' are worlds too."""
    if name in WORLDS:
        return WORLDS[name]
    if not parametric_labels(name):
        known = ", ".join([*WORLDS, "rank-K", "planted:CORRELATION"])
        raise ValueError(f"`world` must be one of {known}, got {name!r}.")
    return name, "squared" if name.startswith("rank-") else "linear"


@dataclass(frozen=True, slots=True)
class Grid:
    """The whole specification of a grid, as it is stored with the results.

    Parameters
    ----------
    spec : mapping
        For each of `AXES` the values to combine; `solver`, 'exact' and 'leml'; `draws` per cell, or
        with a `precision` the draws of its first batch; `x`, `y`, `hue` and `panel`, the axes of
        the picture.  What is left out is as in `DEFAULTS`.

    Examples
    --------
    >>> from leml_theory.sweep.experiments.custom import Grid
    >>> grid = Grid({"n": [64, 256], "L": [4, 8], "world": ["shared"]})
    >>> grid.main_axis, len(grid.experiment().plan("quick"))
    ('n', 8)
    """

    spec: Mapping[str, Any]

    def __post_init__(self) -> None:
        for name in self.spec:
            one_of(name, "grid", DEFAULTS)
        full = {**DEFAULTS, **self.spec}
        known = {"law": list(LAWS), "loss": list(LOSSES), "solver": list(SOLVERS)}
        for axis, names in known.items():
            for name in full[axis]:
                one_of(name, axis, names)
        if full["precision"]:
            full["draws"] = self.spec.get("draws", _FIRST_BATCH)
        if not full["law"]:
            planted = all(world.startswith("planted") for world in full["world"])
            full["law"] = ["rademacher" if planted else "gaussian"]
        if "leml" in full["solver"]:
            smallest = min(*full["d"], *full["L"])
            full["rank"] = full["rank"] or [min(4, smallest)]
            if max(full["rank"]) > smallest:
                raise ValueError(f"--rank must not exceed d or L, {smallest}, got {full['rank']}.")
        elif full["rank"]:
            raise ValueError("--rank is that of LEML; give --solver exact,leml as well.")
        if full["loss"] and {"averages", "planted"} & set(full["world"]):
            raise ValueError(
                "The worlds averages and planted have no loss to choose; leave out --loss, or give "
                "--world shared or another one with labels to learn."
            )
        object.__setattr__(self, "spec", full)
        check_draws(full["draws"])
        for axis in ("x", "y", "hue", "panel"):
            if full[axis] and full[axis] != "ball":
                one_of(full[axis], axis, AXES)
        if (count := math.prod(len(full[axis] or [1]) for axis in AXES)) > _MOST_PLACES:
            raise ValueError(f"A grid must have at most {_MOST_PLACES} combinations, got {count}.")
        for place in self.places():
            _check(place)

    @property
    def main_axis(self) -> str:
        """The axis `x`; by default the longest one that has numbers, along which slopes are."""
        lengths = {axis: len(self.spec[axis]) for axis in AXES}
        numeric = [a for a in (*NUMERIC, "skew") if lengths[a] > 1 and self.column(a)]
        choices = numeric or list(AXES)
        return self.spec["x"] or max(choices, key=lambda a: (lengths[a], -AXES.index(a)))

    def column(self, axis: str) -> str:
        """Return the column of numbers along an axis, '' for an axis of categories."""
        if axis == "skew":
            return skew_column(self.spec["skew"])
        return axis if axis in NUMERIC else ""

    def places(self) -> Iterator[Place]:
        """Yield every combination of the axes."""
        values = [self.spec[axis] or [None] for axis in AXES]
        for chosen in product(*values):
            place = dict(zip(AXES, chosen, strict=True))
            labels, loss = world_of(place["world"])
            yield {**place, "labels": labels, "loss": place["loss"] or loss}

    def experiment(self) -> Experiment:
        """Return the grid as an experiment that reports slopes and holds bounds against risks."""
        plan = self._plan()
        column = self.column(self.main_axis)
        factor = "radius_factor" if column == "radius" else column  # of the norm of the true Z
        title = f"{', '.join(self.spec['world'])} against {self.main_axis}"
        fits = [
            Fit(series, quantity, axis, "reported", dict.fromkeys(_FITTED, math.nan))
            for series in dict.fromkeys(planned.series for planned in plan)
            for quantity in ("rademacher average", "supremum deviation", "excess risk")
            for axis in [factor if quantity == "excess risk" else column]
            if column and len(self.spec[self.main_axis]) > 1
        ]
        return Experiment(GRID, title, lambda _: plan, fits)

    def _plan(self) -> list[Planned]:
        """Return the planned cells of every combination, each once in its series."""
        plan = [planned for place in self.places() for planned in self._cells(place)]
        return list({(p.series, p.kind, str(p.parameters), p.radius): p for p in plan}.values())

    def _series(self, place: Place, axes: tuple[str, ...] = AXES) -> str:
        """Return the name of a series: the values of the other axes that vary."""
        others = [a for a in axes if a != self.main_axis and len(self.spec[a]) > 1]
        name = ", ".join(f"{axis} = {place[axis]}" for axis in others)
        name = name or (place["world"] if len(self.spec["world"]) == 1 else GRID)
        return name.replace("skew = observed:", "observed = ")

    def _cells(self, place: Place) -> list[Planned]:
        """Return the cells of one combination: the averages, and the risk of the world."""
        effort = {"draws": self.spec["draws"]}
        if self.spec["precision"]:
            effort["precision"] = self.spec["precision"]
        average = {**{name: place[name] for name in _AVERAGED}, **effort}
        series, radius, world = self._series(place), place["radius"], place["world"]
        if world == "averages":
            if self.spec["s"] == [1]:
                return [Planned(series, "rademacher", average, radius=radius)]
            several = {**average, "s": place["s"], "labels": place["labels"]}
            return [Planned(series, "slots", several, radius=radius)]
        if world == "planted":
            worst = {**average, "signals": 20}
            kinds = {"rademacher": average, "worst planted": worst}
            return [Planned(series, kind, p, radius=radius) for kind, p in kinds.items()]
        names = ("s", "labels", "loss", "radius") + (("rank",) if place["rank"] else ())
        risk = {**average, **{name: place[name] for name in names}}
        if self.spec["solver"] == ["leml"]:
            risk["solver"] = "leml"
        beside = self._series(place, _AVERAGED)
        return [Planned(beside, "rademacher", average), Planned(series, "erm", risk)]


def _check(place: Place) -> None:
    """Say what is wrong with a combination before anything is measured."""
    if place["s"] > place["L"] and place["skew"] == "uniform":
        raise ValueError(
            f"--s {place['s']} asks for more labels per point than --L {place['L']} has; lower it, "
            "or let labels be seen more than once by --skew replaced."
        )
    seen = observation_of(place["skew"], place["L"], place["s"])
    law, world = feature_law(place["law"], place["d"]), place["world"]
    if world == "planted" and (law.kind != "rademacher" or not seen.fixed or place["s"] > 1):
        raise ValueError(
            "The planted world needs --law rademacher and one label per point (--s 1), "
            f"got law {place['law']!r}, s {place['s']} and skew {place['skew']!r}."
        )
    if world == "averages" and place["s"] > 1:
        if place["skew"] != "uniform":
            raise ValueError(
                "Several labels per point are averaged only with uniform labels, got skew "
                f"{place['skew']!r}; choose another --world or --s 1."
            )
        if law.mean_vector is None:
            raise ValueError(
                "Several labels per point are averaged only with laws whose mean is known, got "
                f"law {place['law']!r}; give it a `mean_vector`, or choose --s 1."
            )
    if world not in ("averages", "planted"):
        _check_risk(place)


def _check_risk(place: Place) -> None:
    """Raise unless the world, the loss and the law go together."""
    from leml_theory.risk import exact_risk  # loads the solvers, which `status` does not need

    loss = LOSSES[place["loss"]]
    law = feature_law(place["law"], place["d"])
    rng = np.random.default_rng(0)
    labels = label_model(place["labels"], place["d"], place["L"], rng)
    if loss.binary and not labels.binary:
        two = ", ".join(name for name in WORLDS if _is_binary(name))
        raise ValueError(
            f"The {loss.name} loss needs labels of two values, as in the worlds {two}; got "
            f"--world {place['world']}."
        )
    world = Scenario(law, labels, observation_of(place["skew"], place["L"], place["s"]))
    if place["n"] > _MOST_SAMPLED and exact_risk(world, loss) is None:
        raise ValueError(
            f"The least {loss.name} risk of --world {place['world']} with --law {place['law']} is "
            f"estimated from 100,000 points, too few for n = {place['n']}; take n of at most "
            f"{_MOST_SAMPLED}, or the linear or squared loss."
        )


def _is_binary(world: str) -> bool:
    """Return whether the labels of a world have two values."""
    labels = WORLDS[world][0]
    known = labels in LABELS and label_model(labels, 2, 2, np.random.default_rng(0)).binary
    return known and world != "averages"
