"""Bends of what the checks of `section_3_costs` rely on."""

from bends import doubled_products, shifted
from mutation import Mutation, constant, returning, scaled

MUTATIONS = {
    "A8": [
        Mutation(
            "printed right",
            ".printed_average",
            lambda _: lambda X, i: float(X.sum() / len(X)),
        ),
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
            "twice the products", "leml_solver._linalg.matrices.Counted.adjoint", doubled_products
        ),
        Mutation("smaller constant", ".CONSTANT", constant(1.5)),
    ],
    "A16": [
        Mutation("cost with dk", ".printed_cost", shifted(60_000)),
        Mutation("products not counted", "._algorithm_2", returning((1.0, 1.0))),
    ],
}
