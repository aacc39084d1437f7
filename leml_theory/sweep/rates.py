"""Slopes with standard errors, and the tests that say when a bound is violated."""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom, norm
from scipy.stats import t as student

from argument_checks import finite_array, nonnegative, open_probability, positive_integer
from leml_theory.arrays import Array

# Family-wise probability of crying wolf over one run.
LEVEL = 1e-6
# A mean that equals its bound exactly, as with one point of norm one, may be above it by rounding.
_ROUNDING = 1e-10


@dataclass(frozen=True, slots=True)
class Slope:
    """A slope in log-log scale, with its standard error from the errors of the values alone."""

    slope: float
    stderr: float

    def differs(self, target: float, z: float = 3.0) -> bool:
        """Return whether the slope is more than z standard errors away from `target`."""
        return abs(self.slope - target) > nonnegative(z, "z") * self.stderr


def log_log_slope(x: ArrayLike, value: ArrayLike, stderr: ArrayLike) -> Slope:
    r"""Fit log(value) = intercept + slope log(x), each point weighted by (value/stderr)^2.

    By the delta method log(value) has the standard error stderr/value.  The bias of the logarithm,
    -(stderr/value)^2/2, is left in: it is below a tenth of that error where stderr < value/5.

    Parameters
    ----------
    x, value, stderr : array-like, shape (k,)
        Positive numbers, k >= 2, with at least two different x.
    """
    xs, values, errors = _positive_vectors(x=x, value=value, stderr=stderr)
    if np.unique(xs).size < 2:
        raise ValueError(f"`x` must hold at least two different values, got {xs.tolist()}.")
    return _weighted_fit(np.log(xs), np.log(values), np.square(values / errors))


def curve_slope(x: ArrayLike, curve: ArrayLike, relative_errors: ArrayLike) -> float:
    """Return the slope of an explicit formula, fitted on the same grid with the same weights."""
    curves, relative = _positive_vectors(curve=curve, relative_errors=relative_errors)
    return log_log_slope(x, curves, curves * relative).slope


def local_slopes(x: ArrayLike, value: ArrayLike, stderr: ArrayLike) -> tuple[Slope, ...]:
    """Return the slope between each point and the next, in the order of x."""
    xs, values, errors = _positive_vectors(x=x, value=value, stderr=stderr)
    order = np.argsort(xs)
    pairs = (list(pair) for pair in pairwise(order))
    return tuple(log_log_slope(xs[pair], values[pair], errors[pair]) for pair in pairs)


def family_z(n_tests: int, level: float = LEVEL) -> float:
    """Return the z that a normal exceeds with probability level/n_tests (Bonferroni)."""
    share = open_probability(level, "level") / positive_integer(n_tests, "n_tests")
    return float(norm.isf(share))


def family_t(n_tests: int, draws: int, level: float = LEVEL) -> float:
    """Return what `family_z` is for a standard error that was estimated from few draws.

    Student's quantile: with two draws a standard error says next to nothing, and 24 of 300 true
    bounds would be called violated by the normal one.
    """
    share = open_probability(level, "level") / positive_integer(n_tests, "n_tests")
    if positive_integer(draws, "draws") < 2:
        return math.inf
    return float(student.isf(share, draws - 1))


def looks(row: Any) -> int:
    """Return how often a row could have stopped drawing: tests are divided among these looks."""
    number = row.get("looks")
    return 1 if number is None or math.isnan(number) else int(number)


def exceeds(
    mean: float, stderr: float, bound: float, z: float, *, deterministic: bool = False
) -> bool:
    """Return whether a mean violates a bound on an expectation: mean - z stderr > bound.

    Random draws that happen to be all equal have a standard error of zero, which is no evidence
    that the next one will be equal too: they violate nothing, `undecided` lists them.  A
    `deterministic` quantity is the same in every draw, and violates a bound that it is above.
    """
    if nonnegative(stderr, "stderr") == 0 or deterministic:
        return deterministic and _above(mean, bound)
    return _above(mean - nonnegative(z, "z") * stderr, bound)


def undecided(mean: float, stderr: float, bound: float, *, deterministic: bool = False) -> bool:
    """Return whether equal draws of a random quantity lie above a bound, which decides nothing."""
    return stderr == 0 and not deterministic and _above(mean, bound)


def _above(value: float, bound: float) -> bool:
    """Return whether a value is above a bound by more than rounding."""
    return value > bound + _ROUNDING * abs(bound)


def exceeds_too_often(
    exceedances: int, trials: int, delta: float, *, n_tests: int = 1, level: float = LEVEL
) -> bool:
    """Test by the binomial law whether a 1 - delta bound is exceeded too often.

    Parameters
    ----------
    exceedances, trials : int
        How often the bound was exceeded, in how many independent trials.
    delta : float
        Probability with which the bound may fail.
    n_tests : int
        Number of such tests in the run, among which `level` is shared.
    level : float
        Family-wise probability of a false alarm.
    """
    total = positive_integer(trials, "trials")
    if isinstance(exceedances, bool) or not 0 <= exceedances <= total:
        raise ValueError(f"`exceedances` must lie in [0, {total}], got {exceedances!r}.")
    p_value = float(binom.sf(exceedances - 1, total, open_probability(delta, "delta")))
    return p_value < open_probability(level, "level") / positive_integer(n_tests, "n_tests")


def _weighted_fit(x: Array, y: Array, weights: Array) -> Slope:
    """Fit y = intercept + slope x by weighted least squares."""
    center = np.average(x, weights=weights)
    information = float(np.sum(weights * np.square(x - center)))
    slope = float(np.sum(weights * (x - center) * y)) / information
    return Slope(slope, 1 / math.sqrt(information))


def _positive_vectors(**named: ArrayLike) -> list[Array]:
    """Return vectors of positive finite numbers, all of one size."""
    vectors = [finite_array(value, name, 1) for name, value in named.items()]
    for name, vector in zip(named, vectors, strict=True):
        if (vector <= 0).any():
            raise ValueError(
                f"`{name}` must be positive everywhere for a logarithmic fit, got {vector.min()!r}."
            )
    sizes = [vector.size for vector in vectors]
    if len(set(sizes)) > 1:
        raise ValueError(f"The vectors must have one size, got {sizes}.")
    return vectors
