"""Bent statements, quantities and bounds for Appendix B."""

import numpy as np
from bends import (
    BOUNDS,
    divided_points,
    other_labels,
    scaled_bound,
    shifted_risk,
    summed_over_labels,
    theory,
)
from mutation import Mutation, constant, returning, scaled

from leml_solver import FrobeniusBall, TraceBall
from paper_checks import appendix_b

MUTATIONS = {
    "B1": [
        Mutation("supremum doubled", theory("appendix_b", "supremum"), scaled(2)),
        Mutation("range", "leml_solver.losses.Linear.range_length", returning(3.0)),
    ],
    "B2": [
        Mutation(
            "gap for excess",
            theory("appendix_b", "excess_risk"),
            lambda _: appendix_b.generalisation_gap,
        ),
        Mutation("sign of the gap", theory("appendix_b", "generalisation_gap"), scaled(-1)),
    ],
    "B3": [
        Mutation(
            "uniform labels",
            theory("appendix_b", "expected_empirical_risk"),
            lambda f: lambda world, Z, law: f(world, Z, np.full(5, 0.2)),
        ),
        Mutation("risk moved", theory("appendix_b", "population_risk"), shifted_risk),
    ],
    "B4": [
        Mutation("factor 0.9", theory("symmetrisation", "SYMMETRISATION"), constant(0.9)),
        Mutation("printed 1.5", theory("symmetrisation", "SYMMETRISATION_PRINTED"), constant(1.5)),
        Mutation("deviation", theory("symmetrisation", "expected_deviation"), scaled(2.2)),
    ],
    "B5": [
        Mutation("losses more", theory("symmetrisation", "loss_average"), scaled(1.01)),
        Mutation("C halved", "leml_solver.losses.Logistic.lipschitz", scaled(0.5)),
    ],
    "B6": [
        Mutation("sum of squares", theory("appendix_b", "squared_perturbations"), scaled(1.01)),
        Mutation("claim", theory("appendix_b", "claimed_squares"), scaled(0.99)),
        Mutation("range", "leml_solver.losses.Linear.range_length", returning(1.0)),
    ],
    "B7": [
        Mutation("summed over s", theory("appendix_b", "slots"), summed_over_labels),
        Mutation("labels exchanged", theory("appendix_b", "slots"), other_labels),
    ],
    "B8": [
        Mutation("trace for Frobenius", theory("appendix_b", "FrobeniusBall"), lambda _: TraceBall),
        Mutation("Frobenius for trace", theory("appendix_b", "TraceBall"), lambda _: FrobeniusBall),
    ],
    "B9": [
        Mutation("Theorem 3 times 0.9", theory("appendix_b", "theorem_3"), scaled_bound(0.9)),
        Mutation("spectral norms", theory("appendix_b", "spectral_norms"), scaled(1.1)),
        Mutation(
            "sums without a point",
            theory("appendix_b", "signed_sums"),
            lambda f: lambda law, seen, n: f(law, seen, n - 1),
        ),
    ],
    "B10": [
        Mutation(
            "raw x normalised",
            theory("appendix_b", "IsotropicGaussian"),
            lambda law: lambda d, normalised: law(d),
        ),
    ],
    "B11": [
        Mutation("conditional mean", theory("lemma_1", "_conditional"), scaled(1.01)),
        Mutation("norms", theory("lemma_1", "spectral_norms"), scaled(0.01)),
    ],
    "B12": [
        Mutation("few points", theory("lemma_1", "paper_points"), divided_points(20)),
        Mutation("half", theory("lemma_1", "probability_of_the_event"), scaled(0.5)),
    ],
    "B13": [
        Mutation("half of 3/P", theory("lemma_1", "repaired_points"), divided_points(2)),
        Mutation("twice 3/P", theory("lemma_1", "repaired_points"), lambda f: lambda *a: 2 * f(*a)),
        Mutation(
            "P for p in the lemma",
            theory("lemma_1", "paper_points"),
            lambda f: lambda law, delta: f(np.full(law.size, law.max()), delta),
        ),
        Mutation("lemma's n", theory("lemma_1", "paper_points"), divided_points(60)),
    ],
    "B14": [
        Mutation("norms", theory("lemma_1", "spectral_norms"), scaled(1.5)),
        Mutation("conditional mean", theory("lemma_1", "_conditional"), scaled(0.9)),
    ],
    "B15": [
        Mutation("smaller c", theory("spectral_norm", "column_scale"), scaled(0.99)),
        Mutation("larger c", theory("spectral_norm", "column_scale"), scaled(1.1)),
        Mutation("moment", theory("spectral_norm", "log_mgf"), scaled(1.01)),
    ],
    "B16": [
        Mutation(
            "twice the variance",
            theory("spectral_norm", "log_moment"),
            lambda f: lambda p: f(p) + 0.35 * p,
        ),
        Mutation("envelope", theory("spectral_norm", "moment_envelope"), scaled(1.05)),
    ],
    "B17": [
        Mutation("c1 doubled", f"{BOUNDS}.BERNSTEIN_CONSTANT", scaled(2)),
        Mutation("c2", f"{BOUNDS}.NET_CONSTANT", scaled(1.01)),
        Mutation("series", theory("spectral_norm", "moment_series"), scaled(10)),
        Mutation("derivation", theory("spectral_norm", "bernstein_from_moments"), scaled(1.1)),
    ],
    "B18": [
        Mutation("second moment", theory("spectral_norm", "squared_projection"), scaled(1.01)),
        Mutation("envelope", theory("spectral_norm", "moment_envelope"), scaled(1.2)),
    ],
    "B19": [
        Mutation(
            "volume", theory("spectral_norm", "net_bound"), lambda _: lambda d, r: (2 / r) ** d
        ),
        Mutation(
            "A v",
            theory("spectral_norm", "_sum_of_squares"),
            lambda f: lambda A, v: f(A.T, v),
        ),
        Mutation("norms", theory("spectral_norm", "spectral_norms"), scaled(1.5)),
    ],
    "B20": [
        Mutation("c2 less", f"{BOUNDS}.NET_CONSTANT", scaled(0.99)),
        Mutation("c2 more", f"{BOUNDS}.NET_CONSTANT", scaled(1.01)),
        Mutation("last step", theory("spectral_norm", "last_step"), scaled(1.01)),
        Mutation("bare last step", theory("spectral_norm", "bare_last_step"), scaled(1.01)),
    ],
    "B21": [
        Mutation("sign of c2", f"{BOUNDS}.NET_CONSTANT", scaled(-1)),
        Mutation("norms", theory("spectral_norm", "spectral_norms"), scaled(200)),
    ],
    "B22": [
        Mutation("c3 more", f"{BOUNDS}.paper_constant", scaled(1.0001)),
        Mutation("c3 less", f"{BOUNDS}.paper_constant", scaled(0.9999)),
        Mutation("n not asked", f"{BOUNDS}._enough_points", returning(())),
        Mutation("nothing asked", f"{BOUNDS}._paper_conditions", returning(())),
    ],
    "B23": [
        Mutation("spiked formula", "leml_theory.predictions.spectral_norm", scaled(1.2)),
        Mutation(
            "no heavy label",
            theory("theorem_6", "heavy_label"),
            lambda f: lambda size, share: f(size, 1 / size),
        ),
    ],
    "B24": [
        Mutation("labels exchanged", theory("theorem_6", "slots"), other_labels),
    ],
    "B25": [
        Mutation("Bernstein", theory("theorem_6", "matrix_bernstein"), scaled_bound(1.01)),
        Mutation("x not bounded", f"{BOUNDS}._bounded", returning(())),
        Mutation("Theorem 6 less", theory("theorem_6", "paper_route"), scaled_bound(0.1)),
    ],
}
