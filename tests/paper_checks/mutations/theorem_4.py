"""Bends of what the checks of `theorem_4` rely on."""

from bends import BOUNDS, scaled_bound
from mutation import Mutation, returning, scaled

from simulations import RademacherVectors

MUTATIONS = {
    "T4.1": [
        Mutation("printed more", ".paper_route_as_printed", scaled_bound(1.2)),
        Mutation("bound for raw x", ".paper_route", scaled_bound(0.005)),
        Mutation("scale not asked", f"{BOUNDS}._normalised", returning(())),
    ],
    "T4.2": [
        Mutation("bound doubled", ".paper_route", scaled_bound(2)),
        Mutation("d >= L not asked", f"{BOUNDS}._paper_conditions", returning(())),
        Mutation(
            "square law",
            "._rate",
            lambda f: lambda law, size, draws, rng: f(RademacherVectors(32), size, draws, rng),
        ),
    ],
    "T4.3": [
        Mutation("excess smaller", ".clipped_excess", scaled(0.9)),
        Mutation("claim larger", ".claimed_rate", scaled(4)),
        Mutation(
            "no growth with L",
            ".clipped_excess",
            lambda f: lambda n, size: f(n, size) / (size / 1024) ** 0.5,
        ),
    ],
    "T4.4": [
        Mutation("bound larger", ".paper_route", scaled_bound(1.1)),
        Mutation("n not asked", f"{BOUNDS}._enough_points", returning(())),
        Mutation("shorter x", "._norm", scaled(0.9)),
        Mutation("no fullest label", ".fullest_label", returning(4)),
        Mutation(
            "growth at n = L log L",
            ".scaled_average",
            lambda f: lambda size, n, draws, rng: f(size, n, draws, rng).scaled(1 + size / 1000),
        ),
        Mutation(
            "no growth at n = L",
            ".scaled_average",
            lambda f: lambda size, n, draws, rng: f(min(size, 32), min(n, 2048), draws, rng),
        ),
    ],
    "T4.5": [
        Mutation(
            "always symmetrised",
            ".required_proxy",
            lambda f: lambda values, v, *, symmetrised: f(values, v, symmetrised=True),
        ),
        Mutation(
            "never symmetrised",
            ".required_proxy",
            lambda f: lambda values, v, *, symmetrised: f(values, v, symmetrised=False),
        ),
        Mutation("centre not asked", f"{BOUNDS}._paper_conditions", returning(())),
    ],
    "T4.6": [
        Mutation("smaller proxy", ".required_proxy", scaled(0.99)),
        Mutation("another rate", ".claimed_rate", scaled(1.01)),
        Mutation("bound less", ".paper_route", scaled_bound(0.01)),
    ],
    "T4.7": [
        Mutation("Chevet less", ".chevet", scaled_bound(0.6)),
        Mutation("Chevet more", ".chevet", scaled_bound(2)),
        Mutation("smaller claim", ".claimed_rate", scaled(0.5)),
        Mutation("Theorem 3 more", ".theorem_3", scaled_bound(3)),
    ],
    "T4.8": [Mutation("signs for |g|", ".NonNegative", lambda _: RademacherVectors)],
}
