"""The steps of the engine: accelerated gradient, splitting, and semismooth Newton."""

from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from leml_solver._exact.balls import Ball
from leml_solver._exact.faces import Face
from leml_solver._exact.objective import Hessian, Model, Quadratic, apply_blocks
from leml_solver._linalg.conjugate_gradient import ConjugateGradient, Product, Whole

Array = NDArray[np.float64]


def accelerated(descend: Callable[[Array], Array], Z: Array) -> Iterator[Array]:
    """Yield the points that accelerated descent reaches from Z, one after the other, without end.

    `descend` returns where a step of (proximal or projected) gradient descent leads. Momentum is
    dropped whenever it points uphill (O'Donoghue and Candes' gradient test).
    """
    ahead, momentum = Z, 1.0
    while True:
        new = descend(ahead)
        if np.vdot(ahead - new, new - Z) > 0:
            momentum = 1.0
        grown = 0.5 + np.sqrt(0.25 + momentum**2)
        ahead = new + (momentum - 1) / grown * (new - Z)
        Z, momentum = new, grown
        yield Z


def accelerate(model: Model, ball: Ball, Z: Array, step: float, n_steps: int) -> Array:
    """Return the point reached from Z after `n_steps` accelerated steps over a ball."""

    def descend(ahead: Array) -> Array:
        return ball.project(ahead - step * model.evaluate(ahead)[1])

    for new in islice(accelerated(descend, Z), n_steps):
        Z = new
    return Z


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


# Keeps systems with an unobserved direction solvable; far below the curvature of any other.
_RIDGE = 1e-13
_ACCURACY = 1e-2
_MAX_PRODUCTS = 120


def newton_step(face: Face, hessian: Hessian, phi: Array, step: float) -> Array:
    """Return the change of Y that solves Newton's equation at the normal map's value `phi`."""
    right = -face.tangent(phi)
    T = face.solve(hessian, step, _RIDGE, right)
    if T is None:

        def product(T: Array) -> Array:
            return face.apply_curvature(T) + step * face.tangent(hessian.apply(face.embed(T)))

        space = Whole()
        run = ConjugateGradient(Product(product, space), right, space, tol=_ACCURACY)
        T = run.run(_MAX_PRODUCTS).solution
    rest = -phi - step * hessian.apply(face.embed(T))
    return face.embed(T + face.apply_curvature(T)) + rest - face.embed(face.tangent(rest))
