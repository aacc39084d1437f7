"""No bound on a Rademacher average is violated, over ten thousand random worlds."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from leml_theory.bounds import BoundValue, Setting, complexity_bounds
from leml_theory.rademacher import Estimate, rademacher_averages
from leml_theory.sweep.rates import exceeds, family_z
from simulations.features import (
    AnisotropicGaussian,
    FeatureLaw,
    HeavyTailed,
    IsotropicGaussian,
    NonNegative,
    RademacherVectors,
    RankOne,
    RareOutlier,
)
from simulations.observation import Observation, UniformLabels, WeightedLabels, heavy_label, zipf

BLOCKS, PER_BLOCK, LARGE = 8, 1500, 160
# At most 7 evaluations a setting; the family-wise error of 1e-6 is shared among all of them.
Z = family_z(7 * (BLOCKS * PER_BLOCK + LARGE))


@dataclass
class World:
    features: FeatureLaw
    observation: Observation
    n: int
    radius: float


def _log_uniform(low: float, high: float, rng: np.random.Generator) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _features(d: int, rng: np.random.Generator) -> FeatureLaw:
    spectrum = tuple(_log_uniform(0.1, 10, rng) * np.arange(1, d + 1) ** -rng.uniform(0, 3))
    laws = (
        IsotropicGaussian(d),
        IsotropicGaussian(d, normalised=False),
        AnisotropicGaussian(spectrum),
        RademacherVectors(d),
        RankOne(d),
        RareOutlier(rng.uniform(0.1, 1), rng.uniform(1, 30), _log_uniform(1e-3, 0.5, rng)),
        NonNegative(d),
        HeavyTailed(d, rng.uniform(2.1, 5)),
    )
    # The last two are simulated point by point, so they come less often and with fewer points.
    return laws[rng.choice(len(laws), p=(0.15, 0.15, 0.15, 0.2, 0.15, 0.1, 0.05, 0.05))]


def _observation(L: int, rng: np.random.Generator) -> Observation:
    kind = rng.integers(3)
    if kind == 0 or L == 1:
        return UniformLabels(L)
    law = zipf(L, rng.uniform(0, 3)) if kind == 1 else heavy_label(L, rng.uniform(0.01, 0.99))
    return WeightedLabels(law)


def random_world(rng: np.random.Generator, largest: int) -> World:
    d, L = (round(_log_uniform(1, largest, rng)) for _ in range(2))
    features = _features(d, rng)
    most = 30 if isinstance(features, NonNegative | HeavyTailed) else 1e9
    n = round(_log_uniform(1, most, rng))
    return World(features, _observation(L, rng), n, _log_uniform(0.01, 100, rng))


def evaluate(
    world: World, draws: int, rng: np.random.Generator
) -> list[tuple[Estimate, BoundValue]]:
    """Pair every valid bound with the measured average that it bounds."""
    measured = rademacher_averages(world.features, world.observation, world.n, draws=draws, rng=rng)
    pairs = []
    for ball, estimate in measured.items():
        setting = Setting.of(
            world.features, world.observation, world.n, radius=world.radius, ball=ball
        )
        valid = [bound for bound in complexity_bounds(setting).values() if bound.valid]
        pairs += [(estimate.scaled(world.radius), bound) for bound in valid]
    return pairs


def fuzz(seed: int, settings: int, largest: int, draws: int, bend: float = 1.0) -> tuple[int, list]:
    """Return the number of evaluations and the violations of bounds multiplied by `bend`."""
    rng = np.random.default_rng(seed)
    evaluations, violations = 0, []
    for _ in range(settings):
        world = random_world(rng, largest)
        for estimate, bound in evaluate(world, draws, rng):
            bent = replace(bound, value=bend * bound.value)
            evaluations += 1
            if exceeds(estimate.value, estimate.stderr, bent.value, Z):
                violations.append((world, estimate, bent))
    return evaluations, violations


@pytest.mark.parametrize("block", range(BLOCKS))
def test_no_bound_is_violated(block, record_property):
    evaluations, violations = fuzz(block, PER_BLOCK, largest=24, draws=60)
    record_property("evaluations", evaluations)
    assert violations == []
    # Theorem 3 alone is valid for both balls of every world.
    assert evaluations >= 2 * PER_BLOCK
    assert BLOCKS * PER_BLOCK >= 10_000


def test_no_bound_is_violated_in_larger_worlds(record_property):
    evaluations, violations = fuzz(99, LARGE, largest=192, draws=60)
    record_property("evaluations", evaluations)
    assert violations == []


def test_a_bent_bound_is_seen():
    """The machinery has teeth: half of each bound is violated, each that is tight by so much."""
    _, violations = fuzz(7, 300, largest=24, draws=40, bend=0.5)
    names = {bound.name for _, _, bound in violations}
    assert {"theorem_3", "chevet", "rademacher_chevet"} <= names
    # The paper's constant, 91 and more, hides a bending by less than that.
    _, violations = fuzz(7, 300, largest=24, draws=40, bend=0.005)
    assert "paper_route" in {bound.name for _, _, bound in violations}


def test_every_bound_is_tried():
    """Each bound is valid in a fair share of the random worlds, so that the fuzz says something."""
    rng = np.random.default_rng(5)
    counts: dict[str, int] = {}
    for _ in range(400):
        world = random_world(rng, 24)
        setting = Setting.of(world.features, world.observation, world.n)
        for name, bound in complexity_bounds(setting).items():
            counts[name] = counts.get(name, 0) + bound.valid
    assert counts["theorem_3"] == 400
    # Expected shares are at least 0.1 of 400; 15 is some four standard deviations below 40.
    assert min(counts.values()) >= 15, counts
