"""Bends of what the checks of `section_3_costs` rely on."""

from dataclasses import replace

import numpy as np
from bends import doubled_products, shifted
from mutation import Mutation, constant, returning, scaled


def of_fewer_labels(operations):
    """Count the operations as if one label in twenty were seen and X empty."""

    def bent(world):
        seen = world.seen & (np.arange(world.seen.size).reshape(world.seen.shape) % 20 == 0)
        return operations(replace(world, X=0 * world.X, seen=seen))

    return bent


def filling_in(gradient):
    """Make the sparse labels dense on the way."""
    return lambda X, Y, W, H: gradient(X, Y.toarray(), W, H)


def forming_predictions(_):
    """Go through all predictions."""
    return lambda X, Y, W, H: X.T @ ((X @ W @ H.T) @ H)


MUTATIONS = {
    "A8": [
        Mutation(
            "printed right", ".printed_average", lambda _: lambda X, i: float(X.sum() / len(X))
        )
    ],
    "A9": [
        Mutation(
            "exact count",
            ".printed_design_nonzeros",
            lambda _: lambda nonzeros, counts, k: float(k * (nonzeros * counts).sum()),
        ),
        Mutation("rank forgotten", ".printed_design_nonzeros", scaled(1 / 3)),
    ],
    "A15": [
        Mutation(
            "twice the products",
            "leml_solver._linalg.matrices.CountingMatrix.adjoint",
            doubled_products,
        ),
        Mutation("smaller constant", ".CONSTANT", constant(1.5)),
    ],
    "A15.1": [
        Mutation("without L", ".printed_cost_with_labels", lambda _: lambda found, _: found.unit),
        Mutation(
            "twice the products",
            "leml_solver._linalg.matrices.CountingMatrix.adjoint",
            doubled_products,
        ),
    ],
    "A15.2": [
        Mutation("Algorithm 2 over all entries", ".step_operations", shifted(90_000)),
        Mutation("half of the labels seen", ".operations", of_fewer_labels),
    ],
    "A16.1": [
        Mutation("labels filled in", ".algorithm_2_gradient", filling_in),
        Mutation("predictions formed", ".algorithm_2_product", forming_predictions),
    ],
    "A21": [
        Mutation("step 2 counted as a product", ".most_gain", scaled(2)),
        Mutation("products cost nothing", ".most_gain", returning(1.0)),
    ],
    "A16": [
        Mutation("cost with dk", ".printed_cost", shifted(60_000)),
        Mutation("products not counted", "._algorithm_2", returning((1.0, 1.0))),
    ],
}
