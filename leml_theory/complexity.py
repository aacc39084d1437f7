r"""Rademacher averages of the two balls, measured by Monte Carlo.

:math:`R_n = (\mathrm{radius}/n) E\|V\|` with :math:`V = \sum_i \varepsilon_i x_i e_{l_i}^T`: *one*
sign and *one* label slot a point, spectral norm for the trace ball, Frobenius norm for the
Frobenius ball.  The supremum over a ball is attained, so nothing is lost but the Monte Carlo error.

Paper: Theorem 3, Theorem 6.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from argument_checks import finite_array, generator, one_of, positive, positive_integer
from leml_theory.setting import BALLS
from simulations.features import FeatureLaw
from simulations.observation import Observation

__all__ = [
    "Estimate",
    "rademacher_average",
    "rademacher_averages",
    "spectral_norms",
]

Array = NDArray[np.float64]

# Numbers held at once: bounds the memory (32 MB), not the law.
_BATCH = 1 << 22
# From this size on, one top eigenvalue a matrix is cheaper than all of them in one batch.
_SUBSET_SIZE = 48


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over independent draws with its standard error; exact values have none."""

    value: float
    stderr: float
    draws: int

    @classmethod
    def of(cls, values: Array) -> Estimate:
        """Return mean and standard error of independent values."""
        checked = finite_array(values, "values", 1)
        if checked.size < 2:
            raise ValueError(f"`values` must hold at least 2 draws, got {checked.size}.")
        stderr = checked.std(ddof=1) / math.sqrt(checked.size)
        return cls(float(checked.mean()), float(stderr), checked.size)

    def scaled(self, factor: float) -> Estimate:
        """Return the estimate of `factor` times the quantity."""
        return Estimate(factor * self.value, abs(factor) * self.stderr, self.draws)


def spectral_norms(V: Array) -> Array:
    """Return the largest singular value of each matrix of a stack, shape (k, d, L) to (k,).

    Taken from the smaller Gram matrix, which gives the *largest* singular value to rounding.
    """
    stack = finite_array(V, "V", 3)
    tall = stack.shape[1] > stack.shape[2]
    other = stack.transpose(0, 2, 1)
    grams = other @ stack if tall else stack @ other
    size = grams.shape[1]
    if size < _SUBSET_SIZE:
        tops = np.linalg.eigvalsh(grams)[:, -1]
    else:
        tops = np.array([_top_eigenvalue(gram, size) for gram in grams])
    return np.asarray(np.sqrt(np.maximum(tops, 0.0)))


def _top_eigenvalue(gram: Array, size: int) -> float:
    """Return the largest eigenvalue of a symmetric matrix."""
    only = [size - 1, size - 1]
    return float(scipy.linalg.eigh(gram, eigvals_only=True, subset_by_index=only)[0])


def rademacher_averages(
    features: FeatureLaw,
    observation: Observation,
    n: int,
    *,
    draws: int,
    rng: np.random.Generator,
) -> dict[str, Estimate]:
    """Measure the Rademacher averages of both unit balls from the same draws.

    The cost does not depend on n for laws of x whose signed sums have a closed form.

    Parameters
    ----------
    features, observation : FeatureLaw, Observation
        Laws of x and of the observed label.
    n : int
        Number of points.
    draws : int
        Number of independent matrices V, at least 2.
    rng : Generator
        Source of randomness.

    Returns
    -------
    dict of str to Estimate
        Under "trace" and "frobenius".
    """
    size = features.n_features * observation.n_labels
    batch = max(1, _BATCH // size)
    stacks = (
        _signed_sums(features, observation, n, min(batch, draws - begin), generator(rng))
        for begin in range(0, check_draws(draws), batch)
    )
    return norm_averages(stacks, positive_integer(n, "n"))


def rademacher_average(
    features: FeatureLaw,
    observation: Observation,
    n: int,
    ball: str = "trace",
    *,
    radius: float = 1.0,
    draws: int,
    rng: np.random.Generator,
) -> Estimate:
    """Measure the Rademacher average of one ball of the given radius."""
    one_of(ball, "ball", BALLS)
    both = rademacher_averages(features, observation, n, draws=draws, rng=rng)
    return both[ball].scaled(positive(radius, "radius"))


def check_draws(draws: int) -> int:
    """Return `draws`, of which two make the smallest standard error."""
    if positive_integer(draws, "draws") < 2:
        raise ValueError(f"`draws` must be at least 2 for a standard error, got {draws}.")
    return draws


def _signed_sums(
    features: FeatureLaw,
    observation: Observation,
    n: int,
    draws: int,
    rng: np.random.Generator,
) -> Array:
    """Draw a stack of V: columns are independent given the counts, so one call draws them all."""
    counts = np.concatenate([observation.counts(n, rng) for _ in range(draws)])
    columns = features.signed_sums(counts, rng)
    return columns.reshape(features.n_features, draws, -1).transpose(1, 0, 2)


def norm_averages(stacks: Iterator[Array], n: int) -> dict[str, Estimate]:
    """Average both norms over the stacks and divide by n."""
    spectral, frobenius = [], []
    for stack in stacks:
        spectral.append(spectral_norms(stack))
        frobenius.append(np.sqrt(np.einsum("kdl,kdl->k", stack, stack)))
    return {
        "trace": Estimate.of(np.concatenate(spectral) / n),
        "frobenius": Estimate.of(np.concatenate(frobenius) / n),
    }
