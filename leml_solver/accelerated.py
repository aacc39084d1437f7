"""Accelerated projected gradient with restarts: slow near the end, but never wrong."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leml_solver.balls import Ball
from leml_solver.models import Model

Array = NDArray[np.float64]


def accelerate(model: Model, ball: Ball, Z: Array, step: float, n_steps: int) -> Array:
    """Return the point reached from Z after `n_steps` accelerated steps.

    Momentum is dropped whenever it points uphill (O'Donoghue and Candes' gradient test).
    """
    ahead, momentum = Z, 1.0
    for _ in range(n_steps):
        new = ball.project(ahead - step * model.evaluate(ahead)[1])
        if np.vdot(ahead - new, new - Z) > 0:
            momentum = 1.0
        grown = 0.5 + np.sqrt(0.25 + momentum**2)
        ahead = new + (momentum - 1) / grown * (new - Z)
        Z, momentum = new, grown
    return Z
