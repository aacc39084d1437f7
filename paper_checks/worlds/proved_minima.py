"""How far alternating minimisation ends from what is proved about the minimum of Equation (5)."""

import numpy as np
from numpy.typing import NDArray

from leml_solver import minimise_rank
from paper_checks.worlds.factored import alternate, factored_objective
from paper_checks.worlds.instances import adversarial

PENALTY = 0.5
ITERATIONS = 300


def proved_bound(
    X: NDArray[np.float64], Y: NDArray[np.float64], rank: int, penalty: float
) -> float:
    """Return a lower bound on the minimum of (5)."""
    certificate = minimise_rank(X, Y, rank, penalty).certificate
    bound = None if certificate is None else certificate.rank_lower_bound
    return 0.0 if bound is None else bound


def proved_gaps(rng: np.random.Generator) -> dict[str, float]:
    """Return, by data set, (end of a random start - bound) over the objective at Z = 0."""
    gaps = {}
    for data in adversarial(rng):
        if data.Y.any():
            W = rng.standard_normal((data.X.shape[1], data.rank))
            end = factored_objective(alternate(data.X, data.Y, PENALTY, W, ITERATIONS))
            gap = end - proved_bound(data.X, data.Y, data.rank, PENALTY)
            gaps[data.name] = gap / (0.5 * float(np.square(data.Y).sum()))
    return gaps
