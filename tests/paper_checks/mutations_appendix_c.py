"""Bent statements, quantities and bounds for Appendix C."""

from bends import scaled_bound, shifted_risk, theory
from mutation import Mutation, constant, returning, scaled

from simulations import RademacherVectors, RankOne

MUTATIONS = {
    "C1": [
        Mutation("predicted gap", "leml_theory.predictions.frobenius_norm", scaled(1.1)),
        Mutation("risk moved", theory("appendix_c", "population_risk"), shifted_risk),
        Mutation("chance", theory("appendix_c", "squared_norm_chance"), scaled(0.7)),
    ],
    "C2": [
        Mutation("sign", theory("appendix_c", "printed_minimiser"), scaled(-1)),
        Mutation("radius included", theory("appendix_c", "printed_minimiser"), scaled(3)),
    ],
    "C3": [
        Mutation("exact value", theory("appendix_c", "exact_variance"), scaled(2)),
        Mutation("claim", theory("appendix_c", "claimed_variance"), scaled(0.5)),
    ],
    "C3.1": [
        Mutation("variance of W", theory("appendix_c", "enumerated_variance"), scaled(1.1)),
        Mutation("variance of Z", theory("appendix_c", "exact_variance"), returning(1.0)),
    ],
    "C4": [
        Mutation("chance claimed", theory("appendix_c", "CLAIMED_CHANCE"), constant(0.7)),
        Mutation("larger chance", theory("appendix_c", "squared_norm_chance"), scaled(1.05)),
        Mutation("smaller chance", theory("appendix_c", "squared_norm_chance"), scaled(0.98)),
        Mutation("Chebyshev", theory("appendix_c", "chebyshev_chance"), scaled(1.01)),
        Mutation("Cantelli", theory("appendix_c", "cantelli_chance"), scaled(1.01)),
    ],
    "C5": [
        Mutation(
            "sum to n",
            theory("appendix_c", "printed_matrix"),
            lambda f: lambda X, columns, size, last: f(X, columns, size, X.shape[0]),
        ),
        Mutation(
            "sum to L",
            theory("appendix_c", "printed_matrix"),
            lambda f: lambda X, columns, size, last: f(X, columns, size, size),
        ),
    ],
    "C6": [
        Mutation("printed proxy", theory("appendix_c", "printed_proxy"), scaled(0.9)),
        Mutation("proxy asked for", theory("appendix_c", "required_proxy"), scaled(1.01)),
    ],
    "C7": [
        Mutation("larger chance", theory("appendix_c", "squared_norm_chance"), scaled(1.05)),
        Mutation("smaller chance", theory("appendix_c", "squared_norm_chance"), scaled(0.98)),
        Mutation("variance", theory("appendix_c", "exact_variance"), scaled(1.01)),
        Mutation("claim", theory("appendix_c", "claimed_variance"), scaled(0.5)),
    ],
    "C8": [
        Mutation("Bousquet more", theory("claim_8", "bousquet_linear_gap"), scaled_bound(3)),
        Mutation("Bousquet less", theory("claim_8", "bousquet_linear_gap"), scaled_bound(0.5)),
        Mutation("McDiarmid less", theory("claim_8", "mcdiarmid_gap"), scaled_bound(0.3)),
        Mutation(
            "symmetric law",
            theory("claim_8", "centred_deviation"),
            lambda f: lambda law, n: (f(law, n)[1],) * 2,
        ),
    ],
    "C9": [
        Mutation("isotropic", theory("appendix_c", "RankOne"), lambda _: RademacherVectors),
        Mutation("rank one", theory("appendix_c", "RademacherVectors"), lambda _: RankOne),
    ],
}
