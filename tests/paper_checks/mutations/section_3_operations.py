"""Bends of what the checks of `section_3_operations` rely on."""

from dataclasses import replace

import numpy as np
from bends import SPARSE, bent_slopes, damped_slopes
from mutation import Mutation, scaled


def transposed_gradient(original):
    """Swap the roles of the entries' rows and of X's in the sum of Algorithm 1."""
    return lambda self, D, H: -original(self, D, H)


def row_major(original):
    """Stack rows where columns should be stacked."""
    return lambda A: A.ravel()


def swapped_kron(original):
    """Exchange the factors of the design."""

    class Bent:
        def __get__(self, world, owner):
            pairs = zip(*np.nonzero(world.seen), strict=True)
            return np.array([np.kron(world.X[i], world.H[j]) for i, j in pairs])

    return Bent()


MUTATIONS = {
    "A7": [
        Mutation(
            "another penalty",
            ".label_regression",
            lambda original: lambda A, y, penalty: original(A, y, 2 * penalty),
        ),
        Mutation("curvature bent", f"{SPARSE}.columns", transposed_gradient),
    ],
    "A7.1": [
        Mutation(
            "factors of the design exchanged",
            "paper_checks.worlds.factored.FactorWorld.design",
            swapped_kron,
        ),
        Mutation("rows stacked", ".vec", row_major),
    ],
    "A10": [
        Mutation("slopes damped", "leml_solver.losses.Logistic.derivative", damped_slopes),
        Mutation(
            "factors of the design exchanged",
            "paper_checks.worlds.factored.FactorWorld.gradient",
            scaled(-1),
        ),
    ],
    "A10.1": [
        Mutation(
            "curvature damped", "leml_solver.losses.Logistic.second_derivative", damped_slopes
        ),
        Mutation(
            "curvature of the hinge halved",
            "leml_solver.losses.SquaredHinge.second_derivative",
            damped_slopes,
        ),
    ],
    "A10.2": [Mutation("rows stacked", ".vec", row_major)],
    "A10.3": [
        Mutation("sign of D H", f"{SPARSE}.rows", transposed_gradient),
        Mutation("slopes bent", f"{SPARSE}.slopes", bent_slopes),
        Mutation(
            "factors of the design exchanged",
            "paper_checks.worlds.factored.FactorWorld.design",
            swapped_kron,
        ),
    ],
    "A10.4": [
        Mutation("curvatures bent", f"{SPARSE}.curvatures", bent_slopes),
        Mutation("rows stacked", ".vec", row_major),
    ],
    "A17": [
        Mutation(
            "penalty of the wrong sign",
            ".gradient_12",
            lambda original: lambda world: original(replace(world, penalty=-world.penalty)),
        ),
        Mutation(
            "labels transposed in order",
            ".gradient_12",
            lambda original: lambda world: original(replace(world, Y=world.Y[::-1])),
        ),
    ],
    "A17.1": [
        Mutation(
            "penalty lost",
            ".hessian_product_13",
            lambda original: lambda world, S: original(replace(world, penalty=0.0), S),
        ),
        Mutation("rows stacked", ".vec", row_major),
    ],
    "A17.2": [
        Mutation(
            "conjugate gradients cut short",
            "leml_solver._factored.algorithm_2.conjugate_gradient",
            lambda original: lambda p, r, o, c=None: original(p, r, replace(o, steps=2), c),
        ),
        Mutation("rows stacked", ".vec", row_major),
    ],
}
