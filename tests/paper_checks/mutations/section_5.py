"""Bends of what the checks of `section_5` rely on."""

import numpy as np
from mutation import Mutation, constant, returning, scaled

MUTATIONS = {
    "D26": [
        Mutation(
            "printed right",
            ".printed_hamming",
            lambda _: lambda scores, Y, _: float(np.mean((scores > 0.5) != Y)),
        ),
        Mutation("threshold at 0", ".hamming_loss", scaled(1.01)),
    ],
    "D26.1": [
        Mutation("rounded to -1 or +1", ".rounded", lambda _: np.sign),
        Mutation("a higher threshold is worse", "._logistic_losses", returning((0.2, 0.1, 0.1))),
        Mutation("no overfitting", "._logistic_losses", returning((0.1, 0.1, 0.2))),
        Mutation("threshold far above", ".ROUNDED", constant(1.5)),
    ],
    "D26.2": [
        Mutation("an area for every point", ".roc_area", returning(0.5)),
        Mutation("ties counted as errors", ".average_auc", scaled(0.99)),
    ],
}
