"""Bends of what the checks of `section_4` rely on."""

from bends import scaled_bound, shifted_risk
from mutation import Mutation, scaled

from leml_solver import FrobeniusBall, TraceBall
from leml_theory.bounds import risk as risk_bounds


def other_balls(erm):
    """Exchange the two balls."""
    names = {"trace": "frobenius", "frobenius": "trace", "pooled": "pooled"}

    def bent(parameters, rng):
        return [{**row, "ball": names[row["ball"]]} for row in erm(parameters, rng)]

    return bent


def unit_radius(averages):
    """Measure at radius one in place of sqrt(L)."""

    def bent(d, n_labels, n, draws, rng):
        found = averages(d, n_labels, n, draws, rng)
        return {ball: mean.scaled(n_labels**-0.5) for ball, mean in found.items()}

    return bent


MUTATIONS = {
    "T1": [
        Mutation("risk printed over s", ".printed_empirical_risk", scaled(0.1)),
        Mutation("risk not over s", ".normalised_empirical_risk", scaled(10)),
        Mutation("population risk moved", ".population_risk", shifted_risk),
    ],
    "T2": [
        Mutation("another ball", ".TraceBall", lambda _: FrobeniusBall),
        Mutation("radius forgotten", ".feasible", scaled(20)),
    ],
    "T5": [
        Mutation("risk moved", ".population_risk", shifted_risk),
        Mutation("worst excess", "leml_theory.predictions.worst_frobenius_excess", scaled(1.3)),
        Mutation("smaller gap", ".FrobeniusBall", lambda _: TraceBall),
    ],
    "T6": [
        Mutation("radius one", "._root_radius", unit_radius),
        Mutation(
            "McDiarmid for Bousquet", ".bousquet_excess", lambda _: risk_bounds.mcdiarmid_excess
        ),
    ],
    "T7": [
        Mutation("another norm", ".claimed_shared_norm", scaled(1.01)),
        Mutation("predictions doubled", ".prediction_scales", scaled(2)),
    ],
    "T8": [
        Mutation("bound quartered", ".mcdiarmid_excess", scaled_bound(0.25)),
        Mutation("literal halved", ".paper_literal_excess", scaled_bound(0.5)),
        Mutation("two deviations less", ".mcdiarmid_gap", scaled_bound(0.7)),
    ],
    "T9": [Mutation("balls exchanged", ".erm", other_balls)],
    "T10": [
        Mutation("one ball", ".TraceBall", lambda _: FrobeniusBall),
        Mutation(
            "always rank one",
            ".equal_singular_values",
            lambda f: lambda rank, size, rng: f(1, size, rng),
        ),
        Mutation("projection missed", ".share_lost", scaled(1.01)),
    ],
}
