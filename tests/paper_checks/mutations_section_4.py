"""Bent statements, quantities and bounds for Section 4."""

from dataclasses import replace

from bends import (
    BOUNDS,
    other_balls,
    scaled_bound,
    shifted_risk,
    slow_decay,
    summed_over_labels,
    theory,
    unit_radius,
)
from mutation import Mutation, returning, scaled

from leml_solver import FrobeniusBall, TraceBall
from leml_theory.bounds import risk as risk_bounds
from simulations import RademacherVectors

MUTATIONS = {
    "T1": [
        Mutation("risk printed over s", theory("section_4", "printed_empirical_risk"), scaled(0.1)),
        Mutation("risk not over s", theory("section_4", "normalised_empirical_risk"), scaled(10)),
        Mutation("population risk moved", theory("section_4", "population_risk"), shifted_risk),
    ],
    "T2": [
        Mutation("another ball", theory("section_4", "TraceBall"), lambda _: FrobeniusBall),
        Mutation("radius forgotten", theory("section_4", "feasible"), scaled(20)),
    ],
    "T3": [
        Mutation("arg inf a number", theory("theorem_3", "printed_infimum"), returning(1.0)),
        Mutation("no bound left", theory("theorem_3", "mcdiarmid_excess"), scaled_bound(1e-6)),
        Mutation("risk moved", theory("theorem_3", "population_risk"), shifted_risk),
    ],
    "T3.1": [
        Mutation("Theorem 3 times 0.9", theory("theorem_3", "theorem_3"), scaled_bound(0.9)),
        Mutation("Theorem 3 times 1.2", theory("theorem_3", "theorem_3"), scaled_bound(1.2)),
        Mutation("larger excess", theory("theorem_3", "one_label_excess"), scaled(8)),
        Mutation(
            "rate 1/n",
            theory("theorem_3", "one_label_excess"),
            lambda f: lambda n, bias: f(n, bias) * (400 / n) ** 0.5,
        ),
    ],
    "T3.2": [
        Mutation("printed times 8", theory("theorem_3", "theorem_3_as_printed"), scaled_bound(8)),
        Mutation("Theorem 3 times 0.98", theory("theorem_3", "theorem_3"), scaled_bound(0.98)),
        Mutation(
            "raw x normalised",
            theory("theorem_3", "IsotropicGaussian"),
            lambda law: lambda d, normalised: law(d),
        ),
    ],
    "T3.3": [
        Mutation("larger promise", theory("theorem_3", "promised_deviation"), scaled(10)),
        Mutation(
            "smaller outlier",
            theory("theorem_3", "rare_outlier"),
            lambda f: lambda n, share: replace(f(n, share), outlier=f(n, share).outlier / 2),
        ),
        Mutation("rarer failure", theory("theorem_3", "turned_round"), scaled(0.4)),
    ],
    "T3.4": [
        Mutation("summed over s", theory("theorem_3", "slots"), summed_over_labels),
        Mutation("Bernoulli within", theory("theorem_3", "bernoulli_deviation"), scaled(0.4)),
        Mutation("random s taken", "leml_theory.bounds.risk._sampling", returning(())),
    ],
    "T3.5": [
        Mutation("Bousquet less", theory("loss_constants", "bousquet_excess"), scaled_bound(0.1)),
        Mutation("failure rarer", theory("loss_constants", "turned_probability"), scaled(0.4)),
        Mutation("McDiarmid less", theory("loss_constants", "mcdiarmid_excess"), scaled_bound(0.2)),
        Mutation("Bousquet more", theory("loss_constants", "bousquet_excess"), scaled_bound(10)),
        Mutation("range one", "leml_solver.losses.Linear.range_length", returning(1.0)),
    ],
    "T3.6": [
        Mutation("Theorem 3 doubled", theory("theorem_3", "theorem_3"), scaled_bound(2)),
        Mutation("Theorem 3 times 0.9", theory("theorem_3", "theorem_3"), scaled_bound(0.9)),
        Mutation("risk moved", theory("theorem_3", "population_risk"), shifted_risk),
        Mutation("no fast rate", theory("theorem_3", "fixed_planted"), slow_decay),
    ],
    "T3.7": [
        Mutation("smaller deviation", theory("loss_constants", "two_point_deviation"), scaled(0.1)),
        Mutation("C = 1", "leml_solver.losses.Squared.lipschitz", returning(1.0)),
        Mutation("larger deviation", theory("loss_constants", "two_point_deviation"), scaled(100)),
    ],
    "T4.1": [
        Mutation("printed more", theory("theorem_4", "paper_route_as_printed"), scaled_bound(1.2)),
        Mutation("bound for raw x", theory("theorem_4", "paper_route"), scaled_bound(0.005)),
        Mutation("scale not asked", f"{BOUNDS}._normalised", returning(())),
    ],
    "T4.2": [
        Mutation("bound doubled", theory("theorem_4", "paper_route"), scaled_bound(2)),
        Mutation("d >= L not asked", f"{BOUNDS}._paper_conditions", returning(())),
        Mutation(
            "square law",
            theory("theorem_4", "_rate"),
            lambda f: lambda law, size, draws, rng: f(RademacherVectors(32), size, draws, rng),
        ),
    ],
    "T4.3": [
        Mutation("excess smaller", theory("theorem_4", "clipped_excess"), scaled(0.9)),
        Mutation("claim larger", theory("theorem_4", "claimed_rate"), scaled(4)),
        Mutation(
            "no growth with L",
            theory("theorem_4", "clipped_excess"),
            lambda f: lambda n, size: f(n, size) / (size / 1024) ** 0.5,
        ),
    ],
    "T4.4": [
        Mutation("bound larger", theory("theorem_4", "paper_route"), scaled_bound(1.1)),
        Mutation("n not asked", f"{BOUNDS}._enough_points", returning(())),
        Mutation("shorter x", theory("theorem_4", "_norm"), scaled(0.9)),
    ],
    "T4.5": [
        Mutation(
            "always symmetrised",
            theory("theorem_4", "required_proxy"),
            lambda f: lambda values, v, *, symmetrised: f(values, v, symmetrised=True),
        ),
        Mutation(
            "never symmetrised",
            theory("theorem_4", "required_proxy"),
            lambda f: lambda values, v, *, symmetrised: f(values, v, symmetrised=False),
        ),
        Mutation("centre not asked", f"{BOUNDS}._paper_conditions", returning(())),
    ],
    "T4.6": [
        Mutation("smaller proxy", theory("theorem_4", "required_proxy"), scaled(0.99)),
        Mutation("another rate", theory("theorem_4", "claimed_rate"), scaled(1.01)),
    ],
    "T4.7": [
        Mutation("Chevet less", theory("theorem_4", "chevet"), scaled_bound(0.6)),
        Mutation("Chevet more", theory("theorem_4", "chevet"), scaled_bound(2)),
        Mutation("smaller claim", theory("theorem_4", "claimed_rate"), scaled(0.5)),
        Mutation("Theorem 3 more", theory("theorem_4", "theorem_3"), scaled_bound(3)),
    ],
    "T4.8": [
        Mutation("signs for |g|", theory("theorem_4", "NonNegative"), lambda _: RademacherVectors),
    ],
    "T5": [
        Mutation("risk moved", theory("section_4", "population_risk"), shifted_risk),
        Mutation("worst excess", "leml_theory.predictions.worst_frobenius_excess", scaled(1.3)),
        Mutation("smaller gap", theory("section_4", "FrobeniusBall"), lambda _: TraceBall),
    ],
    "T6": [
        Mutation(
            "radius one",
            theory("section_4", "_root_radius"),
            unit_radius,
        ),
        Mutation(
            "McDiarmid for Bousquet",
            theory("section_4", "bousquet_excess"),
            lambda _: risk_bounds.mcdiarmid_excess,
        ),
    ],
    "T7": [
        Mutation("another norm", theory("section_4", "claimed_shared_norm"), scaled(1.01)),
        Mutation("predictions doubled", theory("section_4", "prediction_scales"), scaled(2)),
    ],
    "T8": [
        Mutation("bound quartered", theory("section_4", "mcdiarmid_excess"), scaled_bound(0.25)),
        Mutation("literal halved", theory("section_4", "paper_literal_excess"), scaled_bound(0.5)),
        Mutation("two deviations less", theory("section_4", "mcdiarmid_gap"), scaled_bound(0.7)),
    ],
    "T9": [
        Mutation("balls exchanged", theory("section_4", "erm"), other_balls),
    ],
}
