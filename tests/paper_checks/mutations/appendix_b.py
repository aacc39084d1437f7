"""Bends of what the checks of `appendix_b` rely on."""

import numpy as np
from bends import other_labels, scaled_bound, shifted_risk, summed_over_labels
from mutation import Mutation, constant, returning, scaled

from leml_solver import FrobeniusBall, TraceBall
from paper_checks.statements.appendix_b import generalisation_gap

MUTATIONS = {
    "B1": [
        Mutation("supremum doubled", ".supremum", scaled(2)),
        Mutation("range", "leml_solver.losses.Linear.range_length", returning(3.0)),
    ],
    "B2": [
        Mutation("gap for excess", ".excess_risk", lambda _: generalisation_gap),
        Mutation("sign of the gap", ".generalisation_gap", scaled(-1)),
    ],
    "B3": [
        Mutation(
            "uniform labels",
            ".expected_empirical_risk",
            lambda f: lambda world, Z, law: f(world, Z, np.full(5, 0.2)),
        ),
        Mutation("risk moved", ".population_risk", shifted_risk),
    ],
    "B4": [
        Mutation("factor 0.9", ".SYMMETRISATION", constant(0.9)),
        Mutation("printed 1.5", ".SYMMETRISATION_PRINTED", constant(1.5)),
        Mutation("deviation", ".expected_deviation", scaled(2.2)),
    ],
    "B5": [
        Mutation("losses more", ".loss_average", scaled(1.01)),
        Mutation("C halved", "leml_solver.losses.Logistic.lipschitz", scaled(0.5)),
    ],
    "B5.1": [
        Mutation("losses more", ".label_wise_losses", scaled(4)),
        Mutation("printed 1", ".SYMMETRISATION_PRINTED", constant(0.5)),
        Mutation("one loss", ".LABEL_LOSSES", constant(("logistic", "logistic"))),
        Mutation("deviation", ".class_deviation", scaled(5)),
    ],
    "B6": [
        Mutation("sum of squares", ".squared_perturbations", scaled(1.01)),
        Mutation("claim", ".claimed_squares", scaled(0.99)),
        Mutation("range", "leml_solver.losses.Linear.range_length", returning(1.0)),
    ],
    "B7": [
        Mutation("summed over s", ".slots", summed_over_labels),
        Mutation("labels exchanged", ".slots", other_labels),
    ],
    "B8": [
        Mutation("trace for Frobenius", ".FrobeniusBall", lambda _: TraceBall),
        Mutation("Frobenius for trace", ".TraceBall", lambda _: FrobeniusBall),
    ],
    "B9": [
        Mutation("Theorem 3 times 0.9", ".theorem_3", scaled_bound(0.9)),
        Mutation("spectral norms", ".spectral_norms", scaled(1.1)),
        Mutation(
            "sums without a point",
            ".signed_sums",
            lambda f: lambda law, seen, n: f(law, seen, n - 1),
        ),
    ],
    "B10": [
        Mutation("raw x normalised", ".IsotropicGaussian", lambda law: lambda d, normalised: law(d))
    ],
}
