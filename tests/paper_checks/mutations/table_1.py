"""Bends of what the checks of `table_1` rely on."""

import numpy as np
from bends import damped_slopes, negated
from mutation import Mutation, scaled

MUTATIONS = {
    "A11": [
        Mutation(
            "sign printed wrong",
            ".printed_squared",
            lambda _: lambda a, b: (a - b, np.ones_like(b)),
        ),
        Mutation("our slope damped", "leml_solver.losses.Squared.derivative", damped_slopes),
        Mutation("no half", ".squared_value", scaled(2)),
    ],
    "A12": [
        Mutation(
            "printed right",
            ".printed_logistic",
            lambda original: lambda a, b: (original(a, -b)[0], original(a, b)[1]),
        ),
        Mutation(
            "ours as printed",
            "leml_solver.losses.Logistic.derivative",
            lambda _: lambda self, y, f: -y / (1 + np.exp(-y * f)),
        ),
    ],
    "A13": [
        Mutation(
            "printed right",
            ".printed_logistic",
            lambda original: lambda a, b: (original(a, b)[0], -original(a, b)[1]),
        ),
        Mutation("ours as printed", "leml_solver.losses.Logistic.second_derivative", negated),
    ],
    "A14": [
        Mutation(
            "factor lost",
            ".printed_squared_hinge",
            lambda original: lambda a, b: (original(a, b)[0], original(a, b)[1] / 2),
        ),
        Mutation(
            "sign lost",
            ".printed_squared_hinge",
            lambda original: lambda a, b: (-original(a, b)[0], original(a, b)[1]),
        ),
        Mutation(
            "our curvature damped",
            "leml_solver.losses.SquaredHinge.second_derivative",
            damped_slopes,
        ),
    ],
    "A14.1": [
        Mutation(
            "no steps", ".generalised_newton", lambda _: lambda world, w, at_kink: (1 + at_kink) * w
        ),
        Mutation("our slope damped", "leml_solver.losses.SquaredHinge.derivative", damped_slopes),
        Mutation(
            "one Hessian for all",
            "._kinked_hessian",
            lambda original: lambda world, w, _: original(world, w, 2.0),
        ),
    ],
}
