"""The two balls of the paper's Section 4: their norms, projections and linear minimisers."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from argument_checks import moderate

Array = NDArray[np.float64]


class Ball(Protocol):
    """All (d, L) matrices Z with norm(Z) <= radius.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import Ball, FrobeniusBall, TraceBall
    >>> balls: list[Ball] = [TraceBall(radius=1.0), FrobeniusBall(radius=1.0)]
    >>> [round(ball.norm(np.eye(4)), 9) for ball in balls]
    [4.0, 2.0]
    >>> [round(ball.dual_norm(np.eye(4)), 9) for ball in balls]
    [1.0, 2.0]
    """

    @property
    def radius(self) -> float:
        """The largest norm allowed."""

    def norm(self, Z: Array) -> float:
        """Norm that the radius bounds."""

    def dual_norm(self, G: Array) -> float:
        """Maximum of <G, Z> over norm(Z) <= 1."""

    def project(self, Z: Array) -> Array:
        """Nearest point of the ball."""

    def linear_minimiser(self, G: Array) -> Array:
        """Point of the ball with the smallest <G, Z>."""


@dataclass(frozen=True, slots=True)
class TraceBall:
    """Matrices with trace norm (sum of singular values) at most `radius`.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import TraceBall
    >>> np.diag(TraceBall(radius=2.0).project(np.diag([3.0, 1.5]))).round(9)
    array([1.75, 0.25])
    """

    radius: float

    def __post_init__(self) -> None:
        moderate(self.radius, "radius")

    def norm(self, Z: Array) -> float:
        """Return the sum of singular values."""
        return float(np.linalg.svd(Z, compute_uv=False).sum())

    def dual_norm(self, G: Array) -> float:
        """Return the largest singular value, by a full SVD: Lanczos estimates it from below."""
        return float(np.linalg.svd(G, compute_uv=False)[0])

    def project(self, Z: Array) -> Array:
        """Return Z with its singular values projected onto the l1 ball."""
        U, sigma, Vt = np.linalg.svd(Z, full_matrices=False)
        kept = np.maximum(sigma - self.threshold(sigma), 0.0)
        # Far outside the ball the difference has lost digits: without this Z would be infeasible.
        kept *= self.radius / max(float(kept.sum()), self.radius)
        return np.asarray((U * kept) @ Vt)

    def threshold(self, sigma: Array) -> float:
        """Return by how much projection lowers singular values, which come from the largest."""
        return simplex_threshold(sigma, self.radius)

    def linear_minimiser(self, G: Array) -> Array:
        """Return -radius u v^T with u, v the leading singular vectors of G."""
        U, _, Vt = np.linalg.svd(G, full_matrices=False)
        return np.asarray(-self.radius * np.outer(U[:, 0], Vt[0]))


@dataclass(frozen=True, slots=True)
class FrobeniusBall:
    """Matrices with Frobenius norm at most `radius`.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import FrobeniusBall
    >>> FrobeniusBall(radius=1.0).project(np.array([[3.0, 0.0], [0.0, 4.0]]))
    array([[0.6, 0. ],
           [0. , 0.8]])
    """

    radius: float

    def __post_init__(self) -> None:
        moderate(self.radius, "radius")

    def norm(self, Z: Array) -> float:
        """Return the root of the sum of squares."""
        return float(np.linalg.norm(Z))

    def dual_norm(self, G: Array) -> float:
        """Return the Frobenius norm, which is its own dual."""
        return float(np.linalg.norm(G))

    def project(self, Z: Array) -> Array:
        """Return Z, scaled down if it lies outside."""
        return Z * (self.radius / max(float(np.linalg.norm(Z)), self.radius))

    def linear_minimiser(self, G: Array) -> Array:
        """Return -radius G / |G|."""
        return -self.radius * G / (self.norm(G) or 1.0)


def simplex_threshold(sigma: Array, radius: float) -> float:
    """Return nu >= 0 with sum max(sigma - nu, 0) = radius, or 0 if the sum is below already.

    `sigma` must be sorted from large to small and not negative.
    """
    total = sigma.cumsum()
    if total[-1] <= radius:
        return 0.0
    thresholds = (total - radius) / np.arange(1, sigma.size + 1)
    rank = int(np.count_nonzero(sigma > thresholds))
    return float(thresholds[rank - 1])
