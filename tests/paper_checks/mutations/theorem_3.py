"""Bends of what the checks of `theorem_3` rely on."""

from dataclasses import replace

from bends import scaled_bound, shifted_risk, summed_over_labels
from mutation import Mutation, returning, scaled


def slow_decay(planted):
    """Let the excess of a fixed signal decay like 1/sqrt(n)."""

    def bent(parameters, rng):
        factor = parameters["n"] ** 0.5
        return [{**row, "value": row["value"] * factor} for row in planted(parameters, rng)]

    return bent


MUTATIONS = {
    "T3": [
        Mutation("arg inf a number", ".printed_infimum", returning(1.0)),
        Mutation("no bound left", ".mcdiarmid_excess", scaled_bound(1e-6)),
        Mutation("risk moved", ".population_risk", shifted_risk),
    ],
    "T3.1": [
        Mutation("Theorem 3 times 0.9", ".theorem_3", scaled_bound(0.9)),
        Mutation("Theorem 3 times 1.2", ".theorem_3", scaled_bound(1.2)),
        Mutation("larger excess", ".one_label_excess", scaled(8)),
        Mutation(
            "rate 1/n", ".one_label_excess", lambda f: lambda n, bias: f(n, bias) * (400 / n) ** 0.5
        ),
    ],
    "T3.2": [
        Mutation("printed times 8", ".theorem_3_as_printed", scaled_bound(8)),
        Mutation("Theorem 3 times 0.98", ".theorem_3", scaled_bound(0.98)),
        Mutation(
            "raw x normalised", ".IsotropicGaussian", lambda law: lambda d, normalised: law(d)
        ),
    ],
    "T3.3": [
        Mutation("larger promise", ".promised_deviation", scaled(10)),
        Mutation(
            "smaller outlier",
            ".rare_outlier",
            lambda f: lambda n, share: replace(f(n, share), outlier=f(n, share).outlier / 2),
        ),
        Mutation("rarer failure", ".turned_round", scaled(0.4)),
    ],
    "T3.4": [
        Mutation("summed over s", ".slots", summed_over_labels),
        Mutation("Bernoulli within", ".bernoulli_deviation", scaled(0.4)),
        Mutation("Bernoulli's own bound", ".theorem_3", scaled_bound(0.3)),
        Mutation(
            "points that count alike",
            "simulations.observation.LabelNumbers.counted",
            lambda f: lambda numbers, moments, **_: moments,
        ),
    ],
    "T3.5": [
        Mutation("Bousquet less", ".bousquet_excess", scaled_bound(0.1)),
        Mutation("failure rarer", ".turned_probability", scaled(0.4)),
        Mutation("McDiarmid less", ".mcdiarmid_excess", scaled_bound(0.2)),
        Mutation("Bousquet more", ".bousquet_excess", scaled_bound(10)),
        Mutation("range one", "leml_solver.losses.Linear.range_length", returning(1.0)),
    ],
    "T3.6": [
        Mutation("Theorem 3 doubled", ".theorem_3", scaled_bound(2)),
        Mutation("Theorem 3 times 0.9", ".theorem_3", scaled_bound(0.9)),
        Mutation("risk moved", ".population_risk", shifted_risk),
        Mutation("no fast rate", ".fixed_planted", slow_decay),
    ],
    "T3.7": [
        Mutation("smaller deviation", ".two_point_deviation", scaled(0.1)),
        Mutation("C = 1", "leml_solver.losses.Squared.lipschitz", returning(1.0)),
        Mutation("larger deviation", ".two_point_deviation", scaled(100)),
    ],
}
