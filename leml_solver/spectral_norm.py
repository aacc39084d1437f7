"""Upper bounds on the spectral norm of an operator: exact if small, else with a probability."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

Array = NDArray[np.float64]

EXACT_SIDE = 1536  # eigenvalues of a Gram matrix of this side take about a second
EXACT_SIZE = 1 << 24  # entries of the dense matrix that the exact norm needs
FAILURE_PROBABILITY = 1e-9
_BLOCK, _STEPS = 8, 32
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class NormBound:
    """An upper bound on a spectral norm and the probability that it fails (0 when exact)."""

    value: float
    failure_probability: float


@dataclass(frozen=True, slots=True)
class Operator:
    """A (d, L) matrix known by its products: times(V) (d, b) and adjoint(U) (L, b)."""

    shape: tuple[int, int]
    times: Callable[[Array], Array]
    adjoint: Callable[[Array], Array]

    def dense(self) -> Array:
        """Return the matrix, by products with the identity on its shorter side."""
        d, L = self.shape
        return self.times(np.eye(L)) if d >= L else self.adjoint(np.eye(d)).T


def norm_from_above(operator: Operator, rng: np.random.Generator) -> NormBound:
    """Return an upper bound on the spectral norm, rounding of the decomposition included."""
    d, L = operator.shape
    if min(d, L) <= EXACT_SIDE and d * L <= EXACT_SIZE:
        G = operator.dense()
        largest = scipy.linalg.eigvalsh(G @ G.T if d <= L else G.T @ G)[-1]
        squares = float(np.square(G).sum())
        # Product and eigenvalues are exact for a matrix within (d + L) roundings of |G|_F^2.
        return NormBound(math.sqrt(max(largest, 0.0) + 4 * (d + L) * _EPS * squares), 0.0)
    return _lanczos_bound(operator, rng)


def lanczos_excess(size: int, steps: int, block: int, probability: float) -> float:
    r"""Return e such that lambda_1 <= Ritz value / (1 - e) but with the probability given.

    From one random start q steps of Lanczos miss by a share e with probability at most
    :math:`1.648 \sqrt{n} e^{-\sqrt{e}(2q-1)}` (Kuczynski and Wozniakowski 1992, Theorem 4.2); a
    block of independent starts misses only when each of them does.
    """
    rate = math.log(1.648 * math.sqrt(size)) - math.log(probability) / block
    return (rate / (2 * steps - 1)) ** 2


def _lanczos_bound(operator: Operator, rng: np.random.Generator) -> NormBound:
    """Bound the norm by block Lanczos with full reorthogonalisation on the shorter side."""
    d, L = operator.shape
    if d >= L:
        square, size = (lambda V: operator.adjoint(operator.times(V))), L
    else:
        square, size = (lambda U: operator.times(operator.adjoint(U))), d
    steps = min(_STEPS, size // _BLOCK)  # more would exceed the space
    ritz = _largest_ritz_value(square, size, steps, rng)
    excess = lanczos_excess(size, steps, _BLOCK, FAILURE_PROBABILITY)
    return NormBound(math.sqrt(ritz / (1 - excess)), FAILURE_PROBABILITY)


def _largest_ritz_value(
    square: Callable[[Array], Array], size: int, steps: int, rng: np.random.Generator
) -> float:
    """Return the largest Ritz value of a symmetric operator on a block Krylov space."""
    basis = np.empty((size, 0))
    block = np.linalg.qr(rng.standard_normal((size, _BLOCK)))[0]
    projected = np.zeros((0, 0))
    for _ in range(steps):
        image = square(block)
        corner, edge = block.T @ image, basis.T @ image
        projected = np.block([[projected, edge], [edge.T, 0.5 * (corner + corner.T)]])
        basis = np.hstack([basis, block])
        for _ in range(2):  # twice is enough (Kahan)
            image = image - basis @ (basis.T @ image)
        block = np.linalg.qr(image)[0]
        block -= basis @ (basis.T @ block)
        block = np.linalg.qr(block)[0]
    return float(max(scipy.linalg.eigvalsh(projected)[-1], 0.0))
