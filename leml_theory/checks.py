"""Checks that measure whether what one has written is what it says it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from argument_checks import positive_integer
from leml_theory.bounds import BALLS, Bound, BoundValue, Setting
from leml_theory.rademacher import rademacher_averages
from leml_theory.sweep.rates import LEVEL, exceeds, family_t
from leml_theory.worlds import LAWS
from simulations import (
    AnisotropicGaussian,
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

__all__ = ["RandomWorld", "check_bound", "random_world"]

_LARGEST = 24  # dimensions of random worlds
_TRIES = 100  # random worlds that are looked at for each one in which the bound is valid
_MOST_POINTS = 30  # of laws whose signed sums are simulated point by point


def check_bound(
    bound: Bound[[Setting]],
    *,
    settings: int = 60,
    draws: int = 100,
    level: float = LEVEL,
    rng: np.random.Generator | None = None,
) -> int:
    """Measure a bound against simulated Rademacher averages wherever it says that it is valid.

    Random worlds are drawn from the laws of the package and those registered by name, until the
    bound is valid in enough of them.

    Parameters
    ----------
    bound : Bound
        On the Rademacher average; it need not be registered.
    settings : int
        In how many settings it is measured.
    draws : int
        Draws of each average, at least 2.
    level : float
        Probability with which a true bound fails the check, all settings together.
    rng : Generator, optional
        Source of randomness; by default the same at every call.

    Returns
    -------
    int
        The number of settings in which the bound was valid and measured.

    Raises
    ------
    AssertionError
        If the bound is violated, with the setting, or is valid in no random world.
    """
    source = np.random.default_rng(0) if rng is None else rng
    wanted = positive_integer(settings, "settings")
    z = family_t(wanted, draws, level)
    measured = 0
    for world, setting, value in _valid_settings(bound, wanted, source):
        averages = rademacher_averages(
            world.features, world.observation, world.n, draws=draws, rng=source
        )
        average = averages[setting.ball].scaled(setting.radius)
        measured += 1
        if exceeds(average.value, average.stderr, value.value, z):
            raise AssertionError(
                f"The bound '{bound.name}' is {value.value:.4g}, but the Rademacher average of the "
                f"{setting.ball} ball is {average.value:.4g} with standard error "
                f"{average.stderr:.2g} over {draws} draws, at n = {world.n}, "
                f"radius = {world.radius:.4g}, {world.features!r} and {world.observation!r}."
            )
    if not measured:
        raise AssertionError(
            f"The bound '{bound.name}' is valid in none of {_TRIES * wanted} random worlds; "
            "register a law for which it is."
        )
    return measured


def _valid_settings(
    bound: Bound[[Setting]], wanted: int, rng: np.random.Generator
) -> Iterator[tuple[RandomWorld, Setting, BoundValue]]:
    """Yield random worlds in which the bound is valid, for one ball or the other."""
    found = 0
    for _ in range(_TRIES * wanted):
        world = random_world(rng, _LARGEST, registered=0.5)
        setting = world.setting(BALLS[rng.integers(len(BALLS))])
        value = bound(setting)
        if value.valid:
            found += 1
            yield world, setting, value
        if found == wanted:
            return


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
        Probability of a law that has a name in `leml_theory.worlds.LAWS`, one's own among them.
    """
    d, n_labels = (round(_log_uniform(1, largest, rng)) for _ in range(2))
    if registered and rng.random() < registered:
        features = list(LAWS.values())[rng.integers(len(LAWS))](d)
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
    """Draw uniform labels, Zipf's law or one heavy label."""
    kind = rng.integers(3)
    if kind == 0 or n_labels == 1:
        return UniformLabels(n_labels)
    if kind == 1:
        return WeightedLabels(zipf(n_labels, rng.uniform(0, 3)))
    return WeightedLabels(heavy_label(n_labels, rng.uniform(0.01, 0.99)))
