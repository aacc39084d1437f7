"""scikit-learn's `random_state` as numpy's generators take it."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

__all__ = ["solver_seed"]


def solver_seed(random_state: Any) -> int | np.random.Generator:
    """Return what `numpy.random.default_rng` takes, from an int, RandomState, Generator or None."""
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(np.iinfo(np.int32).max))
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, bool) or not isinstance(random_state, numbers.Integral):
        raise TypeError(
            "`random_state` must be None, a whole number, a RandomState or a Generator, got "
            f"{random_state!r}."
        )
    if random_state < 0:
        raise ValueError(f"`random_state` must not be negative, got {random_state!r}.")
    return int(random_state)
