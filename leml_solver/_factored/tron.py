"""Trust-region Newton method for the smooth convex subproblems, many independent ones at a time.

Paper: Section 3.1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from leml_solver._linalg.factors import Groups, Numbers, add_scaled, ratio, scale_and_add
from leml_solver._linalg.matrices import Factor

# Acceptance and radius rules of Lin, Weng and Keerthi (2008), Section 2.
_ACCEPT, _POOR, _GOOD = 1e-4, 0.25, 0.75
_SHRINK_FAST, _SHRINK, _GROW = 0.25, 0.5, 4.0


class Smooth(Protocol):
    """A sum of independent smooth convex functions of the groups of a factor."""

    groups: Groups

    def at(self, W: Factor) -> Any:
        """Return what is worth keeping about the point W, for the methods below."""

    def values(self, point: Any) -> Numbers:
        """Return the value of each group."""

    def gradient(self, point: Any) -> Factor:
        """Return the gradient."""

    def hessian(self, point: Any) -> Callable[[Factor], Factor]:
        """Return the product with the Hessian."""

    def preconditioner(self, point: Any) -> Factor | None:
        """Return reciprocals of the Hessian's diagonal, or None for none."""


@dataclass(frozen=True, slots=True)
class TronOptions:
    """Newton steps, conjugate gradient steps within each, and when to stop.

    Attributes
    ----------
    newton_steps, cg_steps : int
        Largest numbers of steps.
    tol : float
        Stop when the gradient has shrunk by this factor.
    cg_tol : float
        Residual of a Newton system relative to the gradient.
    """

    newton_steps: int = 5
    cg_steps: int = 20
    tol: float = 1e-2
    cg_tol: float = 0.1


def tron(problem: Smooth, W: Factor, options: TronOptions, point: Any = None) -> tuple[Factor, Any]:
    """Return a point at which no group is larger than at W, and what is known about it.

    Parameters
    ----------
    problem : Smooth
        The functions to minimise.
    W : (r, k) array
        Where to start; not changed.
    options : TronOptions
        When to stop.
    point : optional
        `problem.at(W)` if it is known already.

    Returns
    -------
    (r, k) array, point
    """
    inner = problem.groups.inner
    point = problem.at(W) if point is None else point
    gradient = problem.gradient(point)
    values, radius, target = problem.values(point), None, None
    for _ in range(options.newton_steps):
        scale = problem.preconditioner(point)
        size = np.sqrt(inner(gradient, _times(scale, gradient)))
        radius = size if radius is None else radius
        target = options.tol * size if target is None else target
        active = size > target
        if not active.any():
            break
        step = _steihaug(
            problem, point, _Start(gradient, scale, np.where(active, radius, 0.0)), options
        )
        W, point, values, radius = _advance(problem, W, step, (point, values, radius))
        gradient = problem.gradient(point)
    return W, point


@dataclass(frozen=True, slots=True)
class _Start:
    """Gradient, scale and radius of a trust-region subproblem."""

    gradient: Factor
    scale: Factor | None
    radius: Numbers


@dataclass(frozen=True, slots=True)
class _Step:
    """A step, its length in the trust region's norm, and the decrease that the model predicts."""

    S: Factor
    length: Numbers
    predicted: Numbers


def _times(scale: Factor | None, R: Factor) -> Factor:
    """Return scale * R."""
    return R if scale is None else scale * R


def _length(groups: Groups, scale: Factor | None, S: Factor) -> Numbers:
    """Return the trust-region norm of S, that of the preconditioned variable."""
    return np.sqrt(groups.inner(S, S if scale is None else S / scale))


def _steihaug(problem: Smooth, point: Any, start: _Start, options: TronOptions) -> _Step:
    """Minimise the quadratic model by conjugate gradients that stop at the trust region."""
    inner, product = problem.groups.inner, problem.hessian(point)
    residual = -start.gradient
    scaled = _times(start.scale, residual)
    S, image_sum = np.zeros_like(residual), np.zeros_like(residual)
    direction, energy = scaled.copy(), inner(residual, scaled)
    target, open_ = options.cg_tol**2 * energy, start.radius > 0
    for _ in range(options.cg_steps):
        open_ = open_ & (energy > target)
        if not open_.any():
            break
        image = product(direction)
        alpha = np.where(open_, ratio(energy, inner(direction, image)), 0.0)
        alpha, inside = _stay_inside(problem.groups, start, (S, direction), alpha)
        open_ = open_ & inside
        add_scaled(S, alpha, direction)
        add_scaled(image_sum, alpha, image)
        add_scaled(residual, -alpha, image)
        scaled = _times(start.scale, residual)
        previous, energy = energy, inner(residual, scaled)
        scale_and_add(direction, ratio(energy, previous), scaled)
    predicted = -inner(start.gradient, S) - 0.5 * inner(S, image_sum)
    return _Step(S, _length(problem.groups, start.scale, S), predicted)


def _stay_inside(
    groups: Groups, start: _Start, segment: tuple[Factor, Factor], alpha: Numbers
) -> tuple[Numbers, Any]:
    """Shorten alpha where S + alpha P leaves the trust region; say where it does not."""
    S, P = segment
    weighted = P if start.scale is None else P / start.scale
    a, b = groups.inner(P, weighted), groups.inner(S, weighted)
    c = _length(groups, start.scale, S) ** 2 - start.radius**2
    root = np.sqrt(np.maximum(b * b - a * c, 0.0))
    # The positive root of |S + t P| = radius, written without cancellation.
    boundary = np.where(b <= 0, ratio(root - b, a), ratio(-c, root + b))
    inside = alpha < boundary
    return np.where(inside, alpha, np.maximum(boundary, 0.0) * (alpha > 0)), inside


def _advance(problem: Smooth, W: Factor, step: _Step, state: tuple[Any, ...]) -> tuple[Any, ...]:
    """Take the step in the groups where the function decreases as predicted; update the radius."""
    point, values, radius = state
    trial = W + step.S
    trial_point = problem.at(trial)
    trial_values = problem.values(trial_point)
    quality = ratio(values - trial_values, step.predicted)
    accepted = (quality > _ACCEPT) | (step.length == 0)
    radius = _new_radius(radius, step.length, quality)
    if accepted.all():
        return trial, trial_point, trial_values, radius
    if not accepted.any():
        return W, point, values, radius
    mixed = np.where(accepted, trial, W)
    point = problem.at(mixed)
    return mixed, point, np.where(accepted, trial_values, values), radius


def _new_radius(radius: Numbers, length: Numbers, quality: Numbers) -> Numbers:
    """Shrink where the model was poor, grow where it was good and the step was long."""
    small = np.minimum(length, radius)
    shrunk = np.where(quality < _ACCEPT, _SHRINK_FAST * small, _SHRINK * radius)
    grown = np.maximum(radius, np.where(quality > _GOOD, _GROW * length, radius))
    moved = length > 0
    return np.where(moved & (quality < _POOR), shrunk, np.where(moved, grown, radius))
