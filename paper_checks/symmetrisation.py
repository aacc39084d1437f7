"""Checks of Appendix B, step 2, by listing every sample of a small world."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from leml_solver import LOSSES
from paper_checks.facts import at_least, at_most, equal
from paper_checks.registry import Effort, Outcome, check
from paper_checks.small_worlds import (
    Atoms,
    atoms,
    class_average,
    class_predictions,
    expected_deviation,
)
from simulations import Planted, RademacherVectors, Scenario, UniformLabels

Array = NDArray[np.float64]

# Symmetrising the triples (x, y, l) at once; the paper does it twice and has 4.
SYMMETRISATION = 2.0
SYMMETRISATION_PRINTED = 4.0


def predictor_class(radius: float, rng: np.random.Generator) -> Array:
    """Draw 24 points on the sphere of radius `radius` in R^2, as a stack of 1 x 2 matrices."""
    angles = 2 * math.pi * (np.arange(24) + rng.random()) / 24
    return radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)[:, None, :]


def small_world() -> Scenario:
    """Return one feature, two labels, eight triples (x, y, l)."""
    return Scenario(RademacherVectors(1), Planted(2, 0.3), UniformLabels(2))


def loss_average(world: Atoms, name: str, Z: Array, n: int) -> float:
    """Return the exact Rademacher average of the losses of a class."""
    loss = LOSSES[name]
    return class_average(world, loss.value(loss.encode(world.y), class_predictions(world, Z)), n)


@check("B4")
def symmetrisation(effort: Effort) -> Outcome:
    """Over every sample of a small world E sup (L - Lhat) <= 2 Rad, where the paper has 4."""
    n, Z, facts = effort.pick(3, 4), predictor_class(1.5, effort.rng), []
    for name in ("absolute", "logistic", "hinge", "linear"):
        deviation = expected_deviation(small_world(), LOSSES[name], Z, n)
        average = loss_average(atoms(small_world()), name, Z, n)
        facts.append(
            at_most(f"E sup (L - Lhat), {name}", deviation, SYMMETRISATION * average, 1e-12)
        )
        facts.append(at_least(f"against half of it, {name}", deviation, average / 2))
        claimed = SYMMETRISATION_PRINTED * average
        facts.append(at_least(f"claimed over exact, {name}", claimed / deviation, 2.0))
    return Outcome(tuple(facts))


@check("B5")
def contraction(effort: Effort) -> Outcome:
    """Rad(losses) <= C Rad(predictions), one-sided; with equality for the linear loss."""
    n, Z = effort.pick(3, 4), predictor_class(1.5, effort.rng)
    world = atoms(small_world())
    predictions = class_average(world, class_predictions(world, Z), n)
    facts = [
        at_most(
            f"average of the losses, {name}",
            loss_average(world, name, Z, n),
            LOSSES[name].lipschitz(1.5, 1.0) * predictions,
            1e-12,
        )
        for name in ("absolute", "logistic", "hinge", "squared", "squared_hinge")
    ]
    linear = loss_average(world, "linear", Z, n)
    return Outcome((equal("average of the linear loss", linear, predictions, 1e-12), *facts))
