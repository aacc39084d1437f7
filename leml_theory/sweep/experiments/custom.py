"""A grid of the user's own: every combination of the given axes in one world."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

from argument_checks import one_of
from leml_theory.rademacher import check_draws
from leml_theory.sweep.experiments.design import Experiment, Fit, Planned
from leml_theory.worlds import feature_law, observation_of

GRID = "grid"  # what tables call a grid of the user's own
AXES = ("n", "d", "L", "s", "skew", "radius")
# world -> (label model, loss); the first two need no label model of their own
WORLDS = {
    "averages": ("all-ones", "linear"),
    "planted": ("worst planted", "linear"),
    "rank-1": ("rank-1", "squared"),
    "rank-3": ("rank-3", "squared"),
    "shared": ("shared", "squared"),
    "independent": ("independent", "squared"),
    "logistic": ("logistic", "logistic"),
}


@dataclass(frozen=True, slots=True)
class Grid:
    """The axes of a grid, each a list of values, and the world they are measured in.

    Parameters
    ----------
    axes : dict of str to list
        For each of n, d, L, s, skew, radius the values to combine.
    world : str
        One of `WORLDS`: what the labels are and which risk is measured beside the averages.
    law : str
        Feature law.
    draws : int
        Draws per cell.
    """

    axes: dict[str, list[Any]]
    world: str = "averages"
    law: str = "gaussian"
    draws: int = 50

    def __post_init__(self) -> None:
        one_of(self.world, "world", WORLDS)
        check_draws(self.draws)
        for skew, n_labels, s in product(*(self.axes[axis] for axis in ("skew", "L", "s"))):
            observation_of(skew, n_labels, s)  # says what is wrong before anything is measured
        several, random = self.axes["s"] != [1], "observed" in self.axes["skew"][0]
        if self.world == "planted" and (self.law != "rademacher" or several or random):
            raise ValueError(
                "The planted world needs --law rademacher and one label per point (--s 1), "
                f"got law {self.law!r}, s {self.axes['s']} and skew {self.axes['skew']}."
            )
        if self.world == "averages" and several and self.axes["skew"] != ["uniform"]:
            raise ValueError(
                "Several labels per point are averaged only with uniform labels, got skew "
                f"{self.axes['skew']}; choose another --world or --s 1."
            )
        laws = [feature_law(self.law, d) for d in self.axes["d"]]
        if self.world == "logistic" and any(law.kind != "gaussian" for law in laws):
            raise ValueError(
                "The logistic world needs a Gaussian law such as --law gaussian, where its least "
                f"risk is known, got law {self.law!r}."
            )
        if self.world == "averages" and several and any(law.mean_vector is None for law in laws):
            raise ValueError(
                "Several labels per point are averaged only with laws whose mean is known, got "
                f"law {self.law!r}; give it a `mean_vector`, or choose --s 1."
            )

    @property
    def main_axis(self) -> str:
        """The axis with the most values, along which slopes are fitted."""
        return max(AXES, key=lambda axis: (len(self.axes[axis]), -AXES.index(axis)))

    def experiment(self) -> Experiment:
        """Return the grid as an experiment that reports slopes and holds bounds against risks."""
        plan = self._plan()
        axis = self.main_axis
        if axis == "skew" and "observed" in self.axes["skew"][0]:
            axis = "observed"
        numeric = "P" if axis == "skew" else axis
        fits = [
            Fit(
                series,
                quantity,
                numeric,
                "reported",
                {"trace": float("nan"), "frobenius": float("nan")},
            )
            for series in dict.fromkeys(planned.series for planned in plan)
            for quantity in ("rademacher average", "supremum deviation", "excess risk")
            if len(self.axes[self.main_axis]) > 1
        ]
        title = f"{self.world}, {self.law} features, against {axis}"
        return Experiment(GRID, title, lambda _: plan, fits)

    def _plan(self) -> list[Planned]:
        """Return the planned cells of every combination."""
        plan = []
        for values in product(*(self.axes[axis] for axis in AXES)):
            place = dict(zip(AXES, values, strict=True))
            plan += self._cells(self._series(place), place)
        return plan

    def _series(self, place: dict[str, Any]) -> str:
        """Return the name of a series: the values of the other axes that vary."""
        others = [a for a in AXES if a != self.main_axis and len(self.axes[a]) > 1]
        name = ", ".join(f"{axis} = {place[axis]}" for axis in others) or self.world
        return name.replace("skew = observed:", "observed = ")

    def _cells(self, series: str, place: dict[str, Any]) -> list[Planned]:
        """Return the cells of one combination: the averages, and the risk of the world."""
        labels, loss = WORLDS[self.world]
        radius = place.pop("radius")
        common = {**place, "law": self.law, "draws": self.draws}
        if self.world == "averages" and self.axes["s"] != [1]:
            return [Planned(series, "slots", {**common, "labels": labels}, radius=radius)]
        average = {key: value for key, value in common.items() if key != "s"}
        cells = [Planned(series, "rademacher", average, radius=radius)]
        if self.world == "planted":
            cells.append(
                Planned(series, "worst planted", {**average, "signals": 20}, radius=radius)
            )
        elif self.world != "averages":
            risk = {**common, "labels": labels, "loss": loss, "radius": radius}
            cells[0] = Planned(series, "rademacher", average)
            cells.append(Planned(series, "erm", risk))
        return cells
