"""Trust-region Newton method for the smooth convex subproblems, many independent ones at a time.

Paper: Section 3.1.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from leml_solver._linalg.conjugate_gradient import ConjugateGradient, Numbers, Product, ratio
from leml_solver._linalg.factors import Groups
from leml_solver._linalg.matrices import Factor

# Acceptance and radius rules of Lin, Weng and Keerthi (2008), Section 2.
_ACCEPT, _POOR, _GOOD = 1e-4, 0.25, 0.75
_SHRINK_FAST, _SHRINK, _GROW = 0.25, 0.5, 4.0


class Smooth(Protocol):
    """A sum of independent smooth convex functions of the groups of a factor."""

    @property
    def groups(self) -> Groups:
        """How the factor is grouped."""

    def at(self, W: Factor) -> Any:
        """Return what the methods below need to know about the point W."""

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
    accepted_steps : int or None
        A group also stops after this many steps that lowered it; None means no such limit.
    """

    newton_steps: int = 5
    cg_steps: int = 20
    tol: float = 1e-2
    cg_tol: float = 0.1
    accepted_steps: int | None = None


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
    descent = _Descent(problem, W, problem.at(W) if point is None else point, options)
    for _ in range(options.newton_steps):
        if not descent.step():
            break
    return descent.W, descent.point


class _Descent:
    """Where a trust-region method stands: a point, its values, and the regions around it."""

    def __init__(self, problem: Smooth, W: Factor, point: Any, options: TronOptions) -> None:
        self.problem, self.W, self.point, self.options = problem, W, point, options
        self.values = problem.values(point)
        self.accepted = np.zeros(self.values.shape, dtype=np.int64)
        self._look_around()
        self.radius, self.target = self.size, options.tol * self.size

    def _look_around(self) -> None:
        """Compute the gradient, the preconditioner and the size of the gradient in its norm."""
        self.gradient = self.problem.gradient(self.point)
        self.scale = self.problem.preconditioner(self.point)
        scaled = self.gradient if self.scale is None else self.scale * self.gradient
        self.size = np.sqrt(self.problem.groups.inner(self.gradient, scaled))
        self.is_new = False

    def step(self) -> bool:
        """Try a Newton step in each group that is not done; say whether there was one."""
        if self.is_new:
            self._look_around()
        active = self.size > self.target
        if self.options.accepted_steps is not None:
            active &= self.accepted < self.options.accepted_steps
        if not active.any():
            return False
        groups = self.problem.groups
        model = ConjugateGradient(
            Product(self.problem.hessian(self.point), groups),
            -self.gradient,
            groups,
            tol=self.options.cg_tol,
            preconditioner=self.scale,
            radius=np.where(active, self.radius, 0.0),
        )
        self._move(model.run(self.options.cg_steps))
        return True

    def _move(self, model: ConjugateGradient) -> None:
        """Take the step in the groups that decrease as the model predicts; update the regions."""
        trial = self.W + model.solution
        point = self.problem.at(trial)
        values = self.problem.values(point)
        quality = ratio(self.values - values, model.decrease)
        moved = (model.length > 0) & (quality > _ACCEPT)
        self.radius = _new_radius(self.radius, model.length, quality)
        self.accepted += moved
        if not moved.any():
            return
        if not (moved | (model.length == 0)).all():
            trial = np.where(moved, trial, self.W)
            point, values = self.problem.at(trial), np.where(moved, values, self.values)
        self.W, self.point, self.values, self.is_new = trial, point, values, True


def _new_radius(radius: Numbers, length: Numbers, quality: Numbers) -> Numbers:
    """Shrink where the model was poor, grow where it was good and the step was long."""
    small = np.minimum(length, radius)
    shrunk = np.where(quality < _ACCEPT, _SHRINK_FAST * small, _SHRINK * radius)
    grown = np.maximum(radius, np.where(quality > _GOOD, _GROW * length, radius))
    moved = length > 0
    return np.where(moved & (quality < _POOR), shrunk, np.where(moved, grown, radius))
