"""Bends of what the checks of `section_3` rely on."""

from bends import SPARSE, bent_slopes, negated, shifted
from mutation import Mutation, returning, scaled


def without_penalty(original):
    """Forget the penalty of a world."""
    return lambda *args, **kwargs: original(*args, **{**kwargs, "penalty": 0.0})


def wrong_balance(original):
    """Return factors of the same product that are not balanced."""
    return lambda W, H: tuple(2.0 ** (1 - 2 * i) * F for i, F in enumerate(original(W, H)))


def square_root_forgotten(original):
    """Use K where K^(1/2) belongs, and the other way round."""
    return lambda data, power, penalty=3.0: original(data, 1.5 - power, penalty)


def small_rank(original):
    """Fit with one column only."""
    return lambda data, rank, penalty: original(data, 1, penalty)


def kernel_penalty(original):
    """Penalise twice as much where the features are a Gram matrix."""
    return lambda data, rank, penalty: original(
        data, rank, penalty * (2 if data.X.shape[0] == data.X.shape[1] else 1)
    )


MUTATIONS = {
    "A1": [
        Mutation("not balanced", ".balancing", wrong_balance),
        Mutation("half forgotten", ".half_squares", scaled(2)),
        Mutation("half twice", ".half_squares", scaled(0.5)),
    ],
    "A2": [
        Mutation("one column", "._fit", small_rank),
        Mutation(
            "another threshold",
            ".soft_threshold",
            lambda original: lambda A, level: original(A, 1.1 * level),
        ),
        Mutation("factors not balanced", ".half_squares", scaled(1.001)),
    ],
    "A3": [
        Mutation("negative curvature", "leml_solver.losses.Logistic.second_derivative", negated),
        Mutation("penalty misread", "._lowest", shifted(-1.0)),
    ],
    "A4": [
        Mutation("slopes bent", f"{SPARSE}.slopes", bent_slopes),
        Mutation("no penalty", ".factor_world", without_penalty),
    ],
    "A19": [
        Mutation("powers exchanged", "._kernel_change", square_root_forgotten),
        Mutation("no change", "._kernel_change", returning(0.0)),
        Mutation("another penalty for kernels", "._fit", kernel_penalty),
    ],
}
