"""Bends of what the checks of `section_3_convergence` rely on."""

import numpy as np
from mutation import Mutation, constant, scaled


def fewer_iterations(original):
    """Stop alternating after two iterations."""
    return lambda X, Y, penalty, W, iterations: original(X, Y, penalty, W, 2)


def noisy_start(original):
    """Move every start away from saddles."""

    def bent(X, Y, penalty, W, iterations):
        rng = np.random.default_rng(0)
        return original(X, Y, penalty, W + 1e-3 * rng.standard_normal(W.shape), iterations)

    return bent


def larger_penalty(original):
    """Bound another problem."""
    return lambda X, Y, rank, penalty: original(X, Y, rank, 1.01 * penalty)


MUTATIONS = {
    "A5": [
        Mutation("two iterations", ".alternate", fewer_iterations),
        Mutation("starts moved off saddles", ".alternate", noisy_start),
        Mutation("higher saddle", ".saddle_height", scaled(1.1)),
        Mutation("other minimum", ".orthogonal_minimum", scaled(0.99)),
    ],
    "A6": [
        Mutation("orthogonal X", ".TWO_MINIMA", constant((np.eye(2), np.diag([3.0, 13 / 6]), 1.0))),
        Mutation(
            "no penalty",
            ".TWO_MINIMA",
            constant((np.diag([1.0, 3.0]), np.diag([3.0, 13 / 6]), 1e-9)),
        ),
        Mutation(
            "condition reversed",
            ".strict_minimum",
            lambda original: lambda a, b, r, mu: original(a, b, 1 / r, mu),
        ),
        Mutation("bound of a larger penalty", ".proved_bound", larger_penalty),
        Mutation(
            "bounds of a larger penalty",
            "paper_checks.worlds.factored.minimise_rank",
            larger_penalty,
        ),
        Mutation("three iterations", "paper_checks.worlds.factored.ITERATIONS", constant(3)),
    ],
}
