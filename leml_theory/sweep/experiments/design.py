"""What an experiment is: cells to measure, slopes to fit, checks to pass."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from leml_theory.sweep.rates import Slope, curve_slope, family_z, local_slopes, log_log_slope

# A slope within this many standard errors of its prediction agrees with it.  Beyond it, but within
# what one run in a hundred meets by chance among its slopes, it is called marginal.
AGREES = 3.0
_SLOPES_IN_A_RUN = 100
_CHANCE = family_z(2 * _SLOPES_IN_A_RUN, level=0.01)  # two sides; 3.9 standard errors
# What sharp formulas leave out at the smallest sizes of the grids (L = 2, or one point per label).
_SHARP_SLACK = 0.02


@dataclass(frozen=True, slots=True)
class Planned:
    """One cell of an experiment, and the series of points it belongs to.

    Examples
    --------
    >>> from leml_theory import Planned
    >>> parameters = {"law": "gaussian", "skew": "uniform", "n": 64, "d": 8, "L": 8, "draws": 50}
    >>> Planned("Gaussian features", "rademacher", parameters).radius
    1.0
    """

    series: str
    kind: str
    parameters: dict[str, Any]
    radius: float = 1.0
    """For the linear loss everything scales with the radius: the rows are multiplied by it."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A slope to be fitted, and the rule that judges it.

    Parameters
    ----------
    series, quantity : str
        Which rows.
    axis : str
        Column along which the slope is taken.
    rule : str
        'sharp': agrees with the slope of the sharp prediction on the same grid, and the values with
        the prediction itself.
        'slope': agrees with the slope of the prediction, whose level is a limit only.
        'approach': local slopes come closer to the asymptotic one along the grid.
        'reject': `asymptotic` is what the paper claims, and is rejected; the sharp one is not.
        'excluded': as 'reject', where the prediction is a limit and so no target for a slope.
        'steeper': steeper than the asymptotic one.
        'fast': a fast rate where it is not slower than the asymptotic one; never a failure.
        'reported': fitted and shown, compared with nothing.
    asymptotic : dict of str to float
        Expected slope for each ball in the limit; only these balls are fitted.
    times_root_n : bool
        Whether values are multiplied by sqrt(n) first, for grids along which n changes too.

    Examples
    --------
    >>> from leml_theory import Fit
    >>> rates = {"trace": -0.5, "frobenius": -0.5}
    >>> Fit("Gaussian features", "rademacher average", "n", "sharp", rates).times_root_n
    False
    """

    series: str
    quantity: str
    axis: str
    rule: str
    asymptotic: dict[str, float]
    times_root_n: bool = False


@dataclass(frozen=True, slots=True)
class SlopeRow:
    """A fitted slope beside what was expected of it."""

    experiment: str
    series: str
    quantity: str
    ball: str
    axis: str
    slope: float
    stderr: float
    asymptotic: float
    predicted: float
    rule: str
    verdict: str


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One thing an experiment checks besides slopes."""

    experiment: str
    name: str
    verdict: str
    detail: str


Outcome = tuple[str, bool, str]
Checks = Callable[[pd.DataFrame], list[Outcome]]


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment of the sweep.

    Parameters
    ----------
    id, title : str
        As in the tables and on the pictures.
    plan : callable
        From the preset's name to the planned cells.
    fits : sequence of Fit
        The slopes.
    checks : callable or None
        From the experiment's rows to (name, passed, detail).

    Examples
    --------
    >>> from leml_theory import Experiment, Planned
    >>> common = {"law": "gaussian", "skew": "uniform", "d": 8, "L": 8, "draws": 50}
    >>> cells = [Planned("Gaussian features", "rademacher", {**common, "n": n}) for n in (64, 256)]
    >>> mine = Experiment("MINE", "The averages against n", lambda preset: cells)
    >>> len(mine.plan("quick"))
    2
    """

    id: str
    title: str
    plan: Callable[[str], list[Planned]]
    fits: Sequence[Fit] = field(default=())
    checks: Checks | None = None

    def slopes(self, frame: pd.DataFrame) -> list[SlopeRow]:
        """Fit every slope on the experiment's rows of the results frame."""
        rows = frame[frame["experiment"] == self.id]
        return [
            _fit_row(self.id, fit, ball, chosen)
            for fit in self.fits
            for ball in fit.asymptotic
            if (chosen := _chosen(rows, fit, ball))[fit.axis].nunique() >= 2
        ]

    def check_rows(self, frame: pd.DataFrame) -> list[CheckRow]:
        """Run the other checks on the experiment's rows of the results frame."""
        rows = frame[frame["experiment"] == self.id]
        if rows.empty:
            return []
        outcomes = self._level(rows) + (self.checks(rows) if self.checks else [])
        return [
            CheckRow(self.id, name, "agrees" if passed else "fails", detail)
            for name, passed, detail in outcomes
        ]

    def _level(self, rows: pd.DataFrame) -> list[Outcome]:
        """Compare the values, not only their slopes, with the sharp predictions."""
        fits = [(fit, ball) for fit in self.fits if fit.rule == "sharp" for ball in fit.asymptotic]
        if not fits:
            return []
        points = pd.concat([_chosen(rows, fit, ball) for fit, ball in fits])
        ratio, error = points["value"] / points["predicted"], points["stderr"] / points["value"]
        passed = bool(((ratio - 1).abs() <= _CHANCE * error + _SHARP_SLACK).all())
        detail = f"{ratio.min():.3f} to {ratio.max():.3f} over {len(points)} values"
        return [("measured over sharp prediction", passed, detail)]


def _chosen(rows: pd.DataFrame, fit: Fit, ball: str) -> pd.DataFrame:
    """Return the rows of one fit, sorted along its axis; a logarithm needs positive values."""
    keep = (rows["series"] == fit.series) & (rows["quantity"] == fit.quantity)
    keep &= (rows["value"] > 0) & (rows["stderr"] > 0)
    chosen = rows[keep & (rows["ball"] == ball)].sort_values(fit.axis)
    if fit.times_root_n:
        factor = np.sqrt(chosen["n"])
        scaled = {name: chosen[name] * factor for name in ("value", "stderr", "predicted")}
        chosen = chosen.assign(**scaled)
    return chosen


def _fit_row(experiment: str, fit: Fit, ball: str, rows: pd.DataFrame) -> SlopeRow:
    """Fit one slope and compare it with what its rule asks."""
    points = tuple(rows[name].to_numpy(float) for name in (fit.axis, "value", "stderr"))
    slope = log_log_slope(*points)
    predicted = float("nan")
    if np.isfinite(rows["predicted"]).all():
        predicted = curve_slope(points[0], rows["predicted"], points[2] / points[1])
    asymptotic = fit.asymptotic[ball]
    verdict = _verdict(fit.rule, slope, asymptotic, predicted, local_slopes(*points))
    place = (experiment, fit.series, fit.quantity, ball, fit.axis)
    return SlopeRow(*place, slope.slope, slope.stderr, asymptotic, predicted, fit.rule, verdict)


def _verdict(
    rule: str, slope: Slope, asymptotic: float, predicted: float, local: tuple[Slope, ...]
) -> str:
    """Return what the rule says of a slope."""
    if rule in ("sharp", "slope"):
        return _closeness(slope, predicted)
    if rule in ("reject", "excluded"):
        rejected = slope.differs(asymptotic, _CHANCE)
        agreement = _closeness(slope, predicted) if rule == "reject" else "agrees"
        return agreement if rejected else "fails"
    if rule == "approach":
        return _approach(local, asymptotic)
    if rule == "steeper":
        return "agrees" if slope.slope < asymptotic - AGREES * slope.stderr else "fails"
    if rule == "fast":
        return "fast rate" if slope.slope <= asymptotic + AGREES * slope.stderr else "slow window"
    return "reported"


def _closeness(slope: Slope, target: float) -> str:
    """Return 'agrees', 'marginal' or 'fails' by the distance in standard errors."""
    if np.isnan(target):
        return "fails"  # nothing to agree with
    if not slope.differs(target, AGREES):
        return "agrees"
    return "fails" if slope.differs(target, _CHANCE) else "marginal"


def _approach(local: tuple[Slope, ...], asymptotic: float) -> str:
    """Return whether the later half of the local slopes is closer to the limit than the first."""
    half = (len(local) + 1) // 2
    first, last = _mean(local[:half]), _mean(local[-half:])
    distance = abs(last.slope - asymptotic)
    near = distance <= AGREES * last.stderr
    return "approaches" if near or distance < abs(first.slope - asymptotic) else "fails"


def _mean(slopes: tuple[Slope, ...]) -> Slope:
    """Return the mean of neighbouring local slopes, whose errors at shared points cancel."""
    size = len(slopes)
    error = np.hypot(slopes[0].stderr, slopes[-1].stderr) / size
    return Slope(float(np.mean([one.slope for one in slopes])), float(error))


def tends_to_one(name: str, rows: pd.DataFrame, axis: str, limit: pd.Series) -> Outcome:
    """Check that value/limit is one at the end of the axis, or closer to one than at its start."""
    order = rows[axis].argsort()
    ratios = (rows["value"] / limit).iloc[order].to_list()
    last = rows.iloc[order.iloc[-1]]
    error = AGREES * float(last["stderr"] / last["value"])
    passed = abs(ratios[-1] - 1) <= max(error, abs(ratios[0] - 1))
    return name, bool(passed), ", ".join(f"{ratio:.2f}" for ratio in ratios)
