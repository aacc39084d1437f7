"""Douglas-Rachford splitting for quadratics: ill-conditioned features do not slow it down much.

Its variable Y is that of the normal map (P(Y) = Z, Y = Z - step * gradient at the solution), so
Newton's method can take over at any moment.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leml_solver.balls import Ball
from leml_solver.models import Quadratic, apply_blocks

Array = NDArray[np.float64]

# Over-relaxation, as in SCS and OSQP.
_RELAXATION = 1.6


def split(model: Quadratic, ball: Ball, Y: Array, step: float, n_steps: int) -> Array:
    """Return Y after `n_steps` of splitting between the ball and the quadratic."""
    inverse: Array = np.asarray(np.linalg.inv(np.eye(model.shape[0]) + step * model.A))
    for _ in range(n_steps):
        Z = ball.project(Y)
        reflected = 2 * Z - Y + step * model.B
        Y = Y + _RELAXATION * (apply_blocks(inverse, reflected) - Z)
    return Y
