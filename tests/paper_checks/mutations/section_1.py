"""Bends of what the checks of `section_1` rely on."""

from bends import QUOTED, doubled_products, requoted
from mutation import Mutation, returning, scaled

MUTATIONS = {
    "F1": [
        Mutation("three times the size", QUOTED, requoted("size of a full model", 2, "300")),
        Mutation("single precision", ".model_gigabytes", scaled(0.5)),
    ],
    "F2": [
        Mutation("gain d", ".predicted_gain", lambda _: lambda s, d: d),
        Mutation(
            "twice the products",
            "leml_solver._linalg.matrices.CountingMatrix.times",
            doubled_products,
        ),
    ],
    "F3": [
        Mutation(
            "half the risk",
            ".worst_planted",
            lambda original: (
                lambda *a: [{**row, "value": row["value"] / 2} for row in original(*a)]
            ),
        ),
        Mutation("no second term", ".theorem_4_terms", returning((1.0, 1.0))),
    ],
    "F4": [
        Mutation("threshold lowered", ".ORDERS_OF_MAGNITUDE", scaled(0.5)),
        Mutation(
            "hundredfold times",
            "paper_checks.printed.spread",
            lambda original: lambda *a: original(*a).assign(WSABIE=lambda t: 100 * t["WSABIE"]),
        ),
    ],
}
