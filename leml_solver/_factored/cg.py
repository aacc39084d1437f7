"""Conjugate gradients for the quadratic subproblems of alternating minimisation.

Paper: Algorithm 3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from leml_solver._linalg.factors import Groups, Numbers, add_scaled, ratio, scale_and_add
from leml_solver._linalg.matrices import Factor


@dataclass(frozen=True, slots=True)
class CGOptions:
    """When to stop and how to group.

    Attributes
    ----------
    steps : int
        Largest number of steps.
    tol : float
        A group stops when its residual has shrunk by this factor.
    groups : Groups
        `TOGETHER` is Algorithm 3 as printed; the others run one Algorithm 3 a column or row.
    """

    steps: int = 20
    tol: float = 1e-3
    groups: Groups = Groups.TOGETHER


def conjugate_gradient(
    product: Callable[[Factor], Factor],
    residual: Factor,
    options: CGOptions,
    preconditioner: Factor | None = None,
) -> Factor:
    """Return an approximate solution S of `product(S) = residual`, started from zero.

    Parameters
    ----------
    product : callable
        The symmetric positive definite operator, from factor to factor.
    residual : (r, k) array
        The right-hand side, minus the gradient in a Newton step; overwritten.
    options : CGOptions
        When to stop and how to group.
    preconditioner : (r, k) array, optional
        Reciprocals of the operator's diagonal, entry by entry.

    Paper: Algorithm 3.
    """
    inner = options.groups.inner
    solution = np.zeros_like(residual)
    scaled = residual if preconditioner is None else residual * preconditioner
    direction, energy = scaled.copy(), inner(residual, scaled)
    target = options.tol**2 * energy
    for step in range(options.steps):
        if not (energy > target).any():
            break
        image = product(direction)
        alpha = _running(energy, target) * ratio(energy, inner(direction, image))
        add_scaled(solution, alpha, direction)
        if step + 1 == options.steps:
            break
        add_scaled(residual, -alpha, image)
        scaled = residual if preconditioner is None else residual * preconditioner
        previous, energy = energy, inner(residual, scaled)
        scale_and_add(direction, ratio(energy, previous), scaled)
    return solution


def _running(energy: Numbers, target: Numbers) -> Numbers:
    """Return one for groups that have not converged and zero for the others."""
    return (energy > target).astype(np.float64)
