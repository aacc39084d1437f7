"""Bends of what the checks of `appendix_b_4` rely on."""

from bends import BOUNDS
from mutation import Mutation, scaled

MUTATIONS = {
    "B15": [
        Mutation("smaller c", ".column_scale", scaled(0.99)),
        Mutation("larger c", ".column_scale", scaled(1.1)),
        Mutation("moment", ".log_mgf", scaled(1.01)),
    ],
    "B16": [
        Mutation("twice the variance", ".log_moment", lambda f: lambda p: f(p) + 0.35 * p),
        Mutation("envelope", ".moment_envelope", scaled(1.05)),
    ],
    "B17": [
        Mutation("c1 doubled", f"{BOUNDS}.BERNSTEIN_CONSTANT", scaled(2)),
        Mutation("c2", f"{BOUNDS}.NET_CONSTANT", scaled(1.01)),
        Mutation("series", ".moment_series", scaled(10)),
        Mutation("derivation", ".bernstein_from_moments", scaled(1.1)),
    ],
    "B18": [
        Mutation("second moment", ".squared_projection", scaled(1.01)),
        Mutation("envelope", ".moment_envelope", scaled(1.2)),
    ],
    "B19": [
        Mutation("volume", ".net_bound", lambda _: lambda d, r: (2 / r) ** d),
        Mutation("A v", "._sum_of_squares", lambda f: lambda A, v: f(A.T, v)),
        Mutation("norms", ".spectral_norms", scaled(1.5)),
    ],
    "B20": [
        Mutation("c2 less", f"{BOUNDS}.NET_CONSTANT", scaled(0.99)),
        Mutation("c2 more", f"{BOUNDS}.NET_CONSTANT", scaled(1.01)),
        Mutation("last step", ".last_step", scaled(1.01)),
        Mutation("bare last step", ".bare_last_step", scaled(1.01)),
    ],
    "B21": [
        Mutation("sign of c2", f"{BOUNDS}.NET_CONSTANT", scaled(-1)),
        Mutation("norms", ".spectral_norms", scaled(200)),
    ],
}
