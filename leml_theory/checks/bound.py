"""Whether a bound holds wherever it claims to be valid, by simulated Rademacher averages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from inspect import signature

import numpy as np
from scipy.stats import t as student

from argument_checks import open_probability, positive_integer
from leml_theory.bounds import BALLS, Bound, BoundValue, Setting
from leml_theory.checks.finding import ROUNDING, Finding, plain, settle
from leml_theory.rademacher import rademacher_average
from leml_theory.sweep.rates import LEVEL
from leml_theory.worlds import LAWS
from simulations import (
    AnisotropicGaussian,
    BernoulliEntries,
    FeatureLaw,
    HeavyTailed,
    IsotropicGaussian,
    NonNegative,
    Observation,
    RademacherVectors,
    RankOne,
    RareOutlier,
    UniformLabels,
    WeightedLabels,
    heavy_label,
    zipf,
)

_LARGEST = 24  # dimensions of random worlds
_TRIES = 100  # random worlds tried for each one in which the bound is valid
_MOST_POINTS = 30  # of laws whose signed sums are simulated point by point


def check_bound(
    bound: Bound[[Setting]],
    *,
    settings: int = 60,
    draws: int = 100,
    level: float = LEVEL,
    rng: np.random.Generator | None = None,
) -> list[Finding]:
    """Compare a bound with simulated Rademacher averages wherever it claims to be valid.

    Random worlds are drawn from the laws of the package and those registered by name, until the
    bound is valid in enough of them.  An AssertionError names the settings in which it is violated.

    Parameters
    ----------
    bound : Bound
        On the Rademacher average; it need not be registered.
    settings : int
        Number of settings in which it is measured.
    draws : int
        Draws of each average, at least 2.
    level : float
        Probability, at most, that a true bound fails, all settings together.
    rng : Generator, optional
        Source of randomness; by default always the same.

    Returns
    -------
    list of Finding
        One for each setting in which the bound is valid.

    Examples
    --------
    >>> from leml_theory import check_bound
    >>> from leml_theory.bounds import COMPLEXITY_BOUNDS
    >>> len(check_bound(COMPLEXITY_BOUNDS["theorem_3"], settings=5, draws=20))
    5
    """
    if len(signature(bound.formula).parameters) != 1:
        raise TypeError(
            f"`bound` must be a bound on the Rademacher average, whose formula takes a Setting "
            f"alone; '{bound.name}' takes more. Bounds on risks are compared with draws in a sweep."
        )
    source = np.random.default_rng(0) if rng is None else rng
    wanted = positive_integer(settings, "settings")
    findings = [
        _finding(world, ball, bound, draws, source)
        for world, ball in _valid_worlds(bound, wanted, source)
    ]
    if not findings:
        tried = f"in none of {_TRIES * wanted} random worlds; register a law for which it is"
        findings = [plain("valid somewhere", False, tried)]
    return settle(f"The bound '{bound.name}'", findings, open_probability(level, "level"))


def _finding(
    world: RandomWorld, ball: str, bound: Bound[[Setting]], draws: int, rng: np.random.Generator
) -> Finding:
    """Test by Student's law whether a measured average is at most its bound."""
    features, seen, n = world.features, world.observation, world.n
    average = rademacher_average(features, seen, n, ball, radius=world.radius, draws=draws, rng=rng)
    value = bound(world.setting(ball)).value
    excess = average.value - value * (1 + ROUNDING)
    # Draws that are all equal are no evidence that the next one will be.
    p_value = float(student.sf(excess / average.stderr, draws - 1)) if average.stderr else 1.0
    claim = f"{ball} ball at n = {n}, radius {world.radius:.4g}, {features!r}, {seen!r}"
    measured = f"{average.value:.4g} +- {average.stderr:.2g} measured, at most {value:.4g} claimed"
    return Finding(claim, measured, p_value, 1)


def _valid_worlds(
    bound: Bound[[Setting]], wanted: int, rng: np.random.Generator
) -> Iterator[tuple[RandomWorld, str]]:
    """Yield random worlds with a ball for which the bound is valid there."""
    found = 0
    for _ in range(_TRIES * wanted):
        world, ball = random_world(rng, _LARGEST, registered=0.5), BALLS[rng.integers(len(BALLS))]
        if _tried(bound, world.setting(ball)).valid:
            found += 1
            yield world, ball
        if found == wanted:
            return


def _tried(bound: Bound[[Setting]], setting: Setting) -> BoundValue:
    """Return the bound's value; what its formula raises is a failure of the bound."""
    try:
        return bound(setting)
    except Exception as error:
        raise AssertionError(
            f"The bound '{bound.name}' raised {type(error).__name__}: {error}"
        ) from error


@dataclass(frozen=True)
class RandomWorld:
    """Laws of features and observed labels, a number of points and a radius."""

    features: FeatureLaw
    observation: Observation
    n: int
    radius: float

    def setting(self, ball: str) -> Setting:
        """Return what a bound on the average of `ball` may ask."""
        return Setting.of(self.features, self.observation, self.n, radius=self.radius, ball=ball)


def random_world(rng: np.random.Generator, largest: int, *, registered: float = 0.0) -> RandomWorld:
    """Draw a world with up to `largest` features and labels, sizes uniform on a logarithmic scale.

    Parameters
    ----------
    rng : Generator
        Source of randomness.
    largest : int
        Largest d and L.
    registered : float
        Probability of a law that has a name in `leml_theory.worlds.LAWS`, registered or not.
    """
    d, n_labels = (round(_log_uniform(1, largest, rng)) for _ in range(2))
    if registered and rng.random() < registered:
        name = list(LAWS)[rng.integers(len(LAWS))]
        features = LAWS[name](1 if name == "rare-outlier" else d)
    else:
        features = _random_law(d, rng)
    simulated = type(features).signed_sums is FeatureLaw.signed_sums
    n = round(_log_uniform(1, _MOST_POINTS if simulated else 1e9, rng))
    return RandomWorld(features, _random_labels(n_labels, rng), n, _log_uniform(0.01, 100, rng))


def _log_uniform(low: float, high: float, rng: np.random.Generator) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _random_law(d: int, rng: np.random.Generator) -> FeatureLaw:
    """Draw a law of the package, those that are simulated point by point less often."""
    spectrum = tuple(_log_uniform(0.1, 10, rng) * np.arange(1, d + 1) ** -rng.uniform(0, 3))
    laws: tuple[FeatureLaw, ...] = (
        IsotropicGaussian(d),
        IsotropicGaussian(d, normalised=False),
        AnisotropicGaussian(spectrum),
        RademacherVectors(d),
        RankOne(d),
        RareOutlier(rng.uniform(0.1, 1), rng.uniform(1, 30), _log_uniform(1e-3, 0.5, rng)),
        NonNegative(d),
        HeavyTailed(d, rng.uniform(2.1, 5)),
    )
    return laws[rng.choice(len(laws), p=(0.15, 0.15, 0.15, 0.2, 0.15, 0.1, 0.05, 0.05))]


def _random_labels(n_labels: int, rng: np.random.Generator) -> Observation:
    """Draw uniform labels, each seen with some probability or one; Zipf's law; one heavy label."""
    kind = rng.integers(4)
    if kind == 3:
        return BernoulliEntries(n_labels, _log_uniform(0.01, 1, rng))
    if kind == 0 or n_labels == 1:
        return UniformLabels(n_labels)
    if kind == 1:
        return WeightedLabels(zipf(n_labels, rng.uniform(0, 3)))
    return WeightedLabels(heavy_label(n_labels, rng.uniform(0.01, 0.99)))
