"""Worlds small enough for every sample to be listed: expectations without Monte Carlo."""

from dataclasses import dataclass

import numpy as np

from leml_solver import Loss
from leml_theory.arrays import Array, Index
from leml_theory.risk import population_risk
from simulations import FeatureLaw, Observation, Scenario, Support


@dataclass(frozen=True, slots=True, eq=False)
class Atoms:
    """All values of one observed triple: x (k, d), y (k,), label (k,), probability (k,)."""

    x: Array
    y: Array
    label: Index
    probability: Array


def enumerated(features: FeatureLaw) -> Support:
    """Return all values of x with their probabilities."""
    values = features.support
    if values is None:
        raise ValueError(f"`features` must have finitely many values, got {features!r}.")
    return values


def atoms(scenario: Scenario) -> Atoms:
    """List the values of (x, y, l) of a world with finitely many of them."""
    values = enumerated(scenario.features)
    labels = scenario.labels.outcomes(values.points)
    if labels is None:
        raise ValueError(f"`scenario` must have discrete labels, got {scenario.labels!r}.")
    chances = values.probabilities[:, None] * scenario.observation.probabilities
    rows, columns = (np.tile(part.ravel(), len(labels)) for part in np.indices(chances.shape))
    probability = np.concatenate([(chances * given).ravel() for _, given in labels])
    y = np.repeat([value for value, _ in labels], chances.size)
    return Atoms(values.points[rows], y, columns, probability)


def samples(probability: Array, n: int) -> tuple[Index, Array]:
    """List all samples of n atoms, shape (k^n, n), with their probabilities."""
    indices = np.indices((probability.size,) * n).reshape(n, -1).T
    return indices, probability[indices].prod(axis=1)


def sign_patterns(n: int) -> Array:
    """List all sign vectors, shape (2^n, n)."""
    return np.asarray(2 * np.indices((2,) * n).reshape(n, -1).T - 1, dtype=np.float64)


def class_predictions(world: Atoms, Z: Array) -> Array:
    """Return the prediction of each predictor of a stack (c, d, L) at each atom, shape (c, k)."""
    return np.asarray(np.einsum("kd,cdk->ck", world.x, Z[:, :, world.label]))


def expected_deviation(scenario: Scenario, loss: Loss, Z: Array, n: int) -> float:
    """Return E max over the stack Z of L - Lhat, exactly."""
    world = atoms(scenario)
    values = loss.value(loss.encode(world.y), class_predictions(world, Z))
    risks = np.array([population_risk(scenario, loss, each).value for each in Z])
    indices, chances = samples(world.probability, n)
    empirical = values[:, indices].mean(axis=2)
    return float(chances @ (risks[:, None] - empirical).max(axis=0))


def class_average(world: Atoms, values: Array, n: int) -> float:
    """Return E max over the rows of `values` (c, k) of the signed mean over n atoms, exactly."""
    indices, chances = samples(world.probability, n)
    signs = sign_patterns(n)
    best = [(values[:, indices] @ sign).max(axis=0) for sign in signs]
    return float(chances @ np.mean(best, axis=0)) / n


def signed_sums(
    features: FeatureLaw, observation: Observation, n: int
) -> tuple[Array, Array, Index]:
    """List every V of n points, shape (m, d, L), its probability and its label counts (m, L)."""
    values = enumerated(features)
    points = np.concatenate([values.points, -values.points])
    halves = np.tile(values.probabilities / 2, 2)
    chances = np.outer(halves, observation.probabilities)
    rows, columns = (part.ravel() for part in np.indices(chances.shape))
    steps = np.zeros((rows.size, features.n_features, observation.n_labels))
    steps[np.arange(rows.size), :, columns] = points[rows]
    seen = np.eye(observation.n_labels, dtype=np.int64)[columns]
    indices, probability = samples(chances.ravel(), n)
    return steps[indices].sum(axis=1), probability, seen[indices].sum(axis=1)
