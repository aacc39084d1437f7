"""Bends of what the checks of `claim_7` rely on."""

from bends import shifted_risk
from mutation import Mutation, constant, returning, scaled

from simulations import RademacherVectors, RankOne

MUTATIONS = {
    "C1": [
        Mutation("predicted gap", "leml_theory.predictions.frobenius_norm", scaled(1.1)),
        Mutation("risk moved", ".population_risk", shifted_risk),
        Mutation("chance", ".squared_norm_chance", scaled(0.7)),
    ],
    "C2": [
        Mutation("sign", ".printed_minimiser", scaled(-1)),
        Mutation("radius included", ".printed_minimiser", scaled(3)),
    ],
    "C3": [
        Mutation("exact value", ".exact_variance", scaled(2)),
        Mutation("claim", ".claimed_variance", scaled(0.5)),
    ],
    "C3.1": [
        Mutation("variance of W", ".enumerated_variance", scaled(1.1)),
        Mutation("variance of Z", ".exact_variance", returning(1.0)),
    ],
    "C4": [
        Mutation("chance claimed", ".CLAIMED_CHANCE", constant(0.7)),
        Mutation("larger chance", ".squared_norm_chance", scaled(1.05)),
        Mutation("smaller chance", ".squared_norm_chance", scaled(0.98)),
        Mutation("Chebyshev", ".chebyshev_chance", scaled(1.01)),
        Mutation("Cantelli", ".cantelli_chance", scaled(1.01)),
    ],
    "C9": [
        Mutation("isotropic", ".RankOne", lambda _: RademacherVectors),
        Mutation("rank one", ".RademacherVectors", lambda _: RankOne),
    ],
}
