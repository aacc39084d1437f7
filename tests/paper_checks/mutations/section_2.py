"""Bends of what the checks of `section_2` rely on."""

from dataclasses import replace

import numpy as np
from bends import QUOTED, requoted, shifted
from mutation import Mutation, scaled


def of_rank_one(fit):
    """Fit with rank one whatever is asked for."""
    return lambda X, Y, _: fit(X, Y, 1)


MUTATIONS = {
    "F5": [
        Mutation("printed right", QUOTED, requoted("index of a label", 2, r"j^\text{th}")),
        Mutation("another formula", QUOTED, requoted("index of a label", 1, "_i^k = 1$")),
    ],
    "F6": [
        Mutation("penalised twice as much", ".penalised_predictor", scaled(1.05)),
        Mutation(
            "one predictor for both",
            ".minimise",
            lambda original: (
                lambda problem, ball, **k: original(problem, replace(ball, radius=2.0), **k)
            ),
        ),
    ],
    "F7": [
        Mutation("rows counted, not edges", ".largest_biclique", shifted(1)),
        Mutation("error doubled", ".weighted_rank_one", scaled(2)),
    ],
    "F14": [
        Mutation(
            "numbers as good as columns",
            ".class_by_number",
            lambda _: (
                lambda X, _: np.rint(np.arctan2(*X.T[::-1]) * 4 / (2 * np.pi)).astype(int) % 4
            ),
        ),
        Mutation("scores of rank one", ".low_rank_least_squares", of_rank_one),
    ],
    "F12": [
        Mutation("slope without half", "._directional", scaled(2)),
        Mutation(
            "penalty not halved",
            ".soft_threshold",
            lambda original: lambda A, level: original(A, 2 * level),
        ),
    ],
    "F13": [
        Mutation("closed form shrunk", ".low_rank_least_squares", scaled(0.5)),
        Mutation("penalty useless", ".penalised_predictor", scaled(3)),
    ],
}
