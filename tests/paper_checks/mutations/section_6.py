"""Bends of what the checks of `section_6` rely on."""

from mutation import Mutation, constant


def slow(fixed):
    """Let the excess risk fall as 1/sqrt(n)."""

    def bent(parameters, rng):
        rows = fixed(parameters, rng)
        return [{**row, "value": row["value"] * parameters["n"] ** 0.5} for row in rows]

    return bent


def fast(worst):
    """Let the worst excess risk be of order 1/n."""

    def bent(parameters, rng):
        rows = worst(parameters, rng)
        return [{**row, "value": row["value"] / parameters["n"] ** 0.5} for row in rows]

    return bent


MUTATIONS = {
    "T11": [
        Mutation("a slow rate at a fixed signal", ".fixed_planted", slow),
        Mutation("a fast rate at the worst signal", ".worst_planted", fast),
        Mutation("another constant", ".WORST_FROBENIUS", constant(0.4)),
    ]
}
