r"""Semismooth Newton steps on the normal map of a ball-constrained smooth problem.

A minimiser is Z = P(Y) with Y = Z - step * gradient(Z), so the normal map
Phi(Y) = Y - P(Y) + step * gradient(P(Y)) vanishes. Where the derivative of P does, Newton's
equation is explicit; on the tangent space of the face it is (C + step * Hessian) T = -Phi,
symmetric and positive semidefinite.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leml_solver.faces import Face
from leml_solver.models import Hessian

Array = NDArray[np.float64]

# Keeps systems with an unobserved direction solvable; far below the curvature of any other.
_RIDGE = 1e-13
_ACCURACY = 1e-2
_MAX_PRODUCTS = 120


def newton_step(face: Face, hessian: Hessian, phi: Array, step: float) -> Array:
    """Return the change of Y that solves Newton's equation at the normal map's value `phi`."""
    right = -face.tangent(phi)
    T = face.solve(hessian, step, _RIDGE, right)
    if T is None:
        T = _conjugate_gradients(face, hessian, step, right)
    rest = -phi - step * hessian.apply(face.embed(T))
    return face.embed(T + face.bend(T)) + rest - face.embed(face.tangent(rest))


def _conjugate_gradients(face: Face, hessian: Hessian, step: float, right: Array) -> Array:
    """Return T with (C + step * Hessian) T = right up to `_ACCURACY`."""
    T, residual, direction = np.zeros_like(right), right, right
    energy = float(np.vdot(right, right))
    target = _ACCURACY**2 * energy
    for _ in range(_MAX_PRODUCTS):
        curved = face.tangent(hessian.apply(face.embed(direction)))
        image = face.bend(direction) + step * curved
        curvature = float(np.vdot(direction, image))
        if energy <= target or curvature <= 0:
            break
        length = energy / curvature
        T, residual = T + length * direction, residual - length * image
        energy, old = float(np.vdot(residual, residual)), energy
        direction = residual + (energy / old) * direction
    return T
