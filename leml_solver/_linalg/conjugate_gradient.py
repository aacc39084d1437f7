"""Conjugate gradients, many independent systems at a time; all solvers use these.

Paper: Algorithm 3.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Factor = NDArray[Any]
Numbers = NDArray[np.float64]
Chosen = NDArray[np.bool_]


class Space(Protocol):
    """The entries of a factor in groups, one system each; scales have one number per group."""

    def inner(self, A: Factor, B: Factor) -> Numbers:
        """Return the inner product of each group, in double precision."""

    def add_scaled(self, target: Factor, scale: Numbers, other: Factor) -> None:
        """Add scale * other to target, in place."""

    def scale_and_add(self, target: Factor, scale: Numbers, other: Factor) -> None:
        """Replace target by scale * target + other, in place."""


class Whole:
    """All entries as one group, in plain numpy: for callers that should not wait for numba."""

    def inner(self, A: Factor, B: Factor) -> Numbers:
        """Return the inner product as a 1 x 1 array."""
        return np.array([[np.vdot(A, B)]], dtype=np.float64)

    def add_scaled(self, target: Factor, scale: Numbers, other: Factor) -> None:
        """Add scale * other to target, in place."""
        target += scale.item() * other

    def scale_and_add(self, target: Factor, scale: Numbers, other: Factor) -> None:
        """Replace target by scale * target + other, in place."""
        target *= scale.item()
        target += other


class QuadraticForm(Protocol):
    """A symmetric positive semidefinite operator M, evaluated at one direction after another."""

    def curvature_along(self, direction: Factor) -> Numbers:
        """Return <P, M P> of each group for the direction P."""

    def advance(self, alpha: Numbers, residual: Factor | None) -> None:
        """Follow a step alpha along the last direction P; subtract alpha M P from any residual."""


class Product:
    """The form of an operator that is a function."""

    def __init__(self, product: Callable[[Factor], Factor], space: Space) -> None:
        self.product, self.space = product, space

    def curvature_along(self, direction: Factor) -> Numbers:
        """Return <P, M P> of each group."""
        self.image = self.product(direction)
        return self.space.inner(direction, self.image)

    def advance(self, alpha: Numbers, residual: Factor | None) -> None:
        """Subtract alpha M P from the residual."""
        if residual is not None:
            self.space.add_scaled(residual, -alpha, self.image)


class ConjugateGradient:
    """A run of conjugate gradients on M S = residual, in each group.

    The residual (r, k), in a Newton step the negative gradient, is overwritten. A group is closed
    when its residual has shrunk by the factor `tol`, or where S leaves the ball of `radius` in the
    norm of the preconditioned variable; a radius of zero closes it at once. `preconditioner` (r, k)
    holds reciprocals of the diagonal of M. Steps are added in place to `solution`, to zeros if it
    is not given; not with a radius.
    """

    def __init__(
        self,
        form: QuadraticForm,
        residual: Factor,
        space: Space,
        *,
        tol: float | Numbers,
        preconditioner: Factor | None = None,
        solution: Factor | None = None,
        radius: Numbers | None = None,
    ) -> None:
        if solution is not None and radius is not None:
            raise ValueError("`radius` must be None with a `solution`: the ball is around S = 0.")
        self.form, self.residual, self.space = form, residual, space
        self.preconditioner, self.radius = preconditioner, radius
        self.solution = np.zeros_like(residual) if solution is None else solution
        scaled = self._scaled_residual()
        self.direction, self.energy = scaled.copy(), space.inner(residual, scaled)
        self.target = np.square(tol) * self.energy
        self.open: Chosen = self.energy > self.target  # the groups that still move
        if radius is not None:
            self.open &= radius > 0
        # How far <S, M S> / 2 - <S, residual> is below its value at S = 0.
        self.decrease = np.zeros_like(self.energy)
        self._square = np.zeros_like(self.energy)

    @property
    def length(self) -> Numbers:
        """Length of S in the norm of the preconditioned variable, if there is a radius."""
        return np.sqrt(self._square)

    def run(self, steps: int) -> ConjugateGradient:
        """Take at most `steps` steps; the last omits the product that only another would need."""
        for step in range(steps):
            if not self.open.any():
                break
            self.step(last=step + 1 == steps)
        return self

    def step(self, *, last: bool) -> None:
        """Take a step in each open group; after the last one only `solution` is up to date."""
        curvature = self.form.curvature_along(self.direction)
        self.open &= curvature > 0
        alpha = _divide(self.energy, curvature, self.open)
        if self.radius is not None:
            alpha = self._stay_inside(alpha, self.radius)
        self.decrease += alpha * (self.energy - 0.5 * alpha * curvature)
        self.space.add_scaled(self.solution, alpha, self.direction)
        self.form.advance(alpha, None if last else self.residual)
        if not last:
            self._turn()

    def _turn(self) -> None:
        """Close the groups that have converged, and find the next direction."""
        scaled = self._scaled_residual()
        previous, self.energy = self.energy, self.space.inner(self.residual, scaled)
        self.open &= self.energy > self.target
        if self.open.any():
            self.space.scale_and_add(self.direction, ratio(self.energy, previous), scaled)

    def _scaled_residual(self) -> Factor:
        if self.preconditioner is None:
            return self.residual
        return np.asarray(self.residual * self.preconditioner)

    def _stay_inside(self, alpha: Numbers, radius: Numbers) -> Numbers:
        """Shorten alpha where S + alpha P leaves the ball, and close those groups."""
        P, S = self.direction, self.solution
        # Recurrences for these two would cost no pass over memory, but lose half of the digits.
        weighted = P if self.preconditioner is None else P / self.preconditioner
        a, b = self.space.inner(P, weighted), self.space.inner(S, weighted)
        c = self._square - np.square(radius)
        root = np.sqrt(np.maximum(b * b - a * c, 0.0))
        # The positive root of |S + t P| = radius, written without cancellation.
        boundary = np.where(b <= 0, ratio(root - b, a), ratio(-c, root + b))
        inside = alpha < boundary
        self.open &= inside
        alpha = np.where(inside, alpha, np.maximum(boundary, 0.0) * (alpha > 0))
        self._square = self._square + alpha * (2 * b + alpha * a)
        return alpha

    def columns(self, chosen: Chosen, form: QuadraticForm) -> ConjugateGradient:
        """Return the run on some columns, each of which is a group; `form` is M on them."""
        part = copy(self)
        part.form = form
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                setattr(part, name, np.ascontiguousarray(value[:, chosen]))
        return part


def ratio(numerator: Numbers, denominator: Numbers) -> Numbers:
    """Return numerator / denominator, zero where the denominator is not positive."""
    return _divide(numerator, denominator, denominator > 0)


def _divide(numerator: Numbers, denominator: Numbers, where: Chosen) -> Numbers:
    """Return numerator / denominator in some places, zero in the others."""
    return np.divide(numerator, denominator, out=np.zeros_like(denominator), where=where)
