"""Bends of what the checks of `theorem_6` rely on."""

from bends import BOUNDS, other_labels, scaled_bound
from mutation import Mutation, returning, scaled

MUTATIONS = {
    "B22": [
        Mutation("c3 more", f"{BOUNDS}.paper_constant", scaled(1.0001)),
        Mutation("c3 less", f"{BOUNDS}.paper_constant", scaled(0.9999)),
        Mutation("n not asked", f"{BOUNDS}._enough_points", returning(())),
        Mutation("nothing asked", f"{BOUNDS}._paper_conditions", returning(())),
    ],
    "B23": [
        Mutation("spiked formula", "leml_theory.predictions.spectral_norm", scaled(1.2)),
        Mutation("no heavy label", ".heavy_label", lambda f: lambda size, share: f(size, 1 / size)),
    ],
    "B24": [Mutation("labels exchanged", ".slots", other_labels)],
    "B25": [
        Mutation("Bernstein", ".matrix_bernstein", scaled_bound(1.01)),
        Mutation("x not bounded", f"{BOUNDS}.bounded_features", returning(())),
        Mutation("Theorem 6 less", ".paper_route", scaled_bound(0.1)),
    ],
}
