"""Bends of what the checks of `claim_8` rely on."""

from bends import scaled_bound
from mutation import Mutation, scaled

MUTATIONS = {
    "C5": [
        Mutation(
            "sum to n",
            ".printed_matrix",
            lambda f: lambda X, columns, size, last: f(X, columns, size, X.shape[0]),
        ),
        Mutation(
            "sum to L",
            ".printed_matrix",
            lambda f: lambda X, columns, size, last: f(X, columns, size, size),
        ),
    ],
    "C6": [
        Mutation("printed proxy", ".printed_proxy", scaled(0.9)),
        Mutation("proxy asked for", ".required_proxy", scaled(1.01)),
    ],
    "C7": [
        Mutation("larger chance", ".squared_norm_chance", scaled(1.05)),
        Mutation("smaller chance", ".squared_norm_chance", scaled(0.98)),
        Mutation("variance", ".exact_variance", scaled(1.01)),
        Mutation("claim", ".claimed_variance", scaled(0.5)),
    ],
    "C8": [
        Mutation("Bousquet more", ".bousquet_linear_gap", scaled_bound(3)),
        Mutation("Bousquet less", ".bousquet_linear_gap", scaled_bound(0.5)),
        Mutation("McDiarmid less", ".mcdiarmid_gap", scaled_bound(0.3)),
        Mutation("norms apart", "._norm_ratio", scaled(0.5)),
        Mutation(
            "symmetric law", ".centred_deviation", lambda f: lambda law, n: (f(law, n)[1],) * 2
        ),
    ],
}
