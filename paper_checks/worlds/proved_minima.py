"""How far alternating minimisation ends from what is proved about the minimum of Equation (5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leml_solver import minimise_rank
from paper_checks.worlds.factored import alternate, factored_objective
from paper_checks.worlds.instances import adversarial

PENALTY = 0.5
ITERATIONS = 300


@dataclass(frozen=True, slots=True)
class Proved:
    """Gaps to the proved bound, relative to the objective at Z = 0."""

    name: str
    alternating: float
    best: float


def proved_minima(rng: np.random.Generator) -> list[Proved]:
    """Return the gaps of alternating minimisation from a random start and of `minimise_rank`."""
    found = []
    for data in adversarial(rng):
        if data.Y.any():
            W = rng.standard_normal((data.X.shape[1], data.rank))
            end = factored_objective(alternate(data.X, data.Y, PENALTY, W, ITERATIONS))
            proof = minimise_rank(data.X, data.Y, data.rank, PENALTY).certificate
            gaps = np.array([end, proof.objective]) - (proof.rank_lower_bound or 0.0)
            found.append(Proved(data.name, *(gaps / proof.scale).tolist()))
    return found
