"""Bends of what the checks of `lemma_1` rely on."""

import numpy as np
from mutation import Mutation, scaled


def divided_points(factor):
    """Return a replacement that asks for fewer points."""
    return lambda points: lambda *args: max(1, points(*args) // factor)


MUTATIONS = {
    "B11": [
        Mutation("conditional mean", "._conditional", scaled(1.01)),
        Mutation("norms", ".spectral_norms", scaled(0.01)),
    ],
    "B12": [
        Mutation("few points", ".paper_points", divided_points(20)),
        Mutation("half", ".probability_of_the_event", scaled(0.5)),
    ],
    "B13": [
        Mutation("half of 3/P", ".repaired_points", divided_points(2)),
        Mutation("twice 3/P", ".repaired_points", lambda f: lambda *a: 2 * f(*a)),
        Mutation(
            "P for p in the lemma",
            ".paper_points",
            lambda f: lambda law, delta: f(np.full(law.size, law.max()), delta),
        ),
        Mutation("lemma's n", ".paper_points", divided_points(60)),
    ],
    "B14": [
        Mutation("norms", ".spectral_norms", scaled(1.5)),
        Mutation("conditional mean", "._conditional", scaled(0.9)),
    ],
}
