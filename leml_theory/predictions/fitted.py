r"""The auxiliary problem that a fitted minimiser behaves like: squared loss, Gaussian features.

With one label per point the labels see independent blocks of points, and the convex Gaussian
min-max theorem, one block per label, replaces the sample by two Gaussian vectors per label.  With
:math:`w_l = S^{1/2}(z_l - z^*_l)`, :math:`n_l` points for label l and noise sigma, the minimiser
over a convex set behaves like that of

.. math:: \tfrac12\sum_l\Bigl(\sqrt{n_l}\sqrt{\sigma^2+|w_l|^2}-\langle g_l,w_l\rangle\Bigr)_+^2

over the same set.  docs/theory_predictions.md derives it and says what is proved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from leml_solver import Ball, TraceBall
from leml_theory.arrays import Array
from leml_theory.predictions.averages import chi_mean

# Certified gap over n times the error: the excess is off by less than twice the root of it.
_RELATIVE_GAP = 1e-5
_CHECK_EVERY, _MOST_CHECKS = 4, 100


@dataclass(frozen=True, slots=True)
class InBall:
    """The constraint that Z lies in a ball."""

    ball: Ball

    def prox(self, V: Array, step: float) -> Array:  # noqa: ARG002
        """Return the nearest point of the ball, the proximal point for every step."""
        if isinstance(self.ball, TraceBall):
            return _project_trace(V, self.ball)
        return self.ball.project(V)

    def gap(self, Z: Array, gradient: Array, value: float) -> float:  # noqa: ARG002
        """Bound the distance from the minimum: <gradient, Z> minus its least value in the ball."""
        return float(np.vdot(gradient, Z)) + self.ball.radius * self.ball.dual_norm(gradient)


def _project_trace(V: Array, ball: TraceBall) -> Array:
    """Return the nearest point of a trace ball from the eigenvalues of V^T V.

    Three times faster than by singular values, and to 1e-8, far below the gap that is asked for.
    """
    A = V.T if V.shape[0] < V.shape[1] else V
    squares, vectors = np.linalg.eigh(A.T @ A)
    sigma = np.sqrt(np.maximum(squares[::-1], 0.0))
    kept = np.maximum(sigma - ball.threshold(sigma), 0.0)
    some = np.flatnonzero(kept)
    P = vectors[:, ::-1][:, some]
    projected = A @ (P * (kept[some] / sigma[some])) @ P.T
    return np.asarray(projected.T if A is not V else projected)


@dataclass(frozen=True, slots=True)
class TracePenalty:
    """The penalty weight |Z|_tr beside the sum of losses."""

    weight: float

    def prox(self, V: Array, step: float) -> Array:
        """Return V with its singular values lowered by weight times step, not below zero."""
        U, sigma, Vt = np.linalg.svd(V, full_matrices=False)
        return np.asarray((U * np.maximum(sigma - self.weight * step, 0.0)) @ Vt)

    def gap(self, Z: Array, gradient: Array, value: float) -> float:
        """Bound it likewise; the minimiser's own penalty is at most the objective at Z."""
        size = self.weight * float(np.linalg.svd(Z, compute_uv=False).sum())
        slope = float(np.linalg.svd(gradient, compute_uv=False)[0])
        beyond = max(slope / self.weight - 1, 0.0) * (value + size)
        return float(np.vdot(gradient, Z)) + size + beyond


Regulariser = InBall | TracePenalty


@dataclass(frozen=True, slots=True)
class Auxiliary:
    """The auxiliary problem of one draw, in the eigenvectors' basis of E xx^T.

    Parameters
    ----------
    truth : array, shape (d, L)
        The true Z.
    scales : array, shape (d, 1)
        Roots of the eigenvalues of E xx^T.
    lengths : array, shape (L,)
        In place of the root of n_l: zero for a label that was not seen.
    directions : array, shape (d, L)
        The Gaussian vectors g_l.
    noise : float
        sigma.
    """

    truth: Array
    scales: Array
    lengths: Array
    directions: Array
    noise: float

    @classmethod
    def drawn(
        cls,
        truth: Array,
        scales: Array,
        counts: NDArray[np.int64],
        noise: float,
        rng: np.random.Generator,
    ) -> Auxiliary:
        """Draw the directions, at their mean length, as the lengths are.

        What is random in a length is of a lower order, and at the sizes at hand the mean length is
        the better prediction: without a constraint it gives d/(n_l - d - 1/2) for the exact
        d/(n_l - d - 1).
        """
        G = rng.standard_normal(truth.shape)
        G *= math.sqrt(truth.shape[0]) / np.linalg.norm(G, axis=0)
        means = {k: math.sqrt(k) * chi_mean(k) if k else 0.0 for k in set(counts.tolist())}
        lengths = np.array([means[k] for k in counts.tolist()])
        return cls(truth, scales, lengths, G * (lengths > 0), noise)

    def without_noise(self, weights: Array) -> Auxiliary:
        """Return the population's problem, whose minimiser is the best point of the set."""
        lengths, still = np.sqrt(weights), np.zeros_like(self.directions)
        return Auxiliary(self.truth, self.scales, lengths, still, self.noise)

    def with_misfit(self, best: Array) -> Auxiliary:
        """Return the problem with the right noise along the misfit of the best point of the set.

        Along its misfit of length r a label's gradient has the variance rho^2 + r^2 per point; the
        auxiliary problem has (rho + r^2/rho)^2 there.  This is one direction of d in each label,
        which counts where the minimiser has as few dimensions as a low-rank matrix.
        """
        W = self.scales * (best - self.truth)
        r2 = np.square(W).sum(axis=0)
        rho2 = self.noise**2 + r2
        wanted = np.sqrt(rho2 / np.maximum(rho2 + r2, np.finfo(float).tiny)) - 1
        along = wanted * (self.directions * W).sum(axis=0) / np.maximum(r2, np.finfo(float).tiny)
        G = self.directions + along * W
        return Auxiliary(self.truth, self.scales, self.lengths, G, self.noise)

    def error(self, Z: Array, weights: Array) -> float:
        """Return half the weighted squared error of the predictions of Z."""
        return float(weights @ np.square(self.scales * (Z - self.truth)).sum(axis=0)) / 2

    def slack(self, Z: Array) -> Array:
        """Return what is squared for each label: not positive where Z interpolates."""
        return self._parts(Z)[0]

    def evaluate(self, Z: Array) -> tuple[float, Array]:
        """Return the value and the gradient at Z."""
        slack, W, rho = self._parts(Z)
        kept = np.maximum(slack, 0.0)
        ratio = np.divide(self.lengths, rho, out=np.zeros_like(rho), where=rho > 0)
        return float(kept @ kept) / 2, self.scales * (kept * (ratio * W - self.directions))

    def _parts(self, Z: Array) -> tuple[Array, Array, Array]:
        """Return the slack of every label, the scaled errors w_l and rho_l."""
        W = self.scales * (Z - self.truth)
        rho = np.sqrt(self.noise**2 + np.square(W).sum(axis=0))
        return self.lengths * rho - (self.directions * W).sum(axis=0), W, rho


@dataclass(frozen=True, slots=True)
class Solution:
    """A minimiser of the auxiliary problem, its objective, and the certified gap at it."""

    Z: Array
    value: float
    gap: float
    converged: bool


def solve(problem: Auxiliary, regulariser: Regulariser) -> Solution:
    """Minimise the auxiliary problem by accelerated proximal steps, until its gap is small."""
    from leml_solver.algorithms import accelerated

    step = 1 / float(np.square(problem.scales).max() * max(np.square(problem.lengths).max(), 1e-12))
    weights = np.square(problem.lengths)

    def descend(ahead: Array) -> Array:
        nonlocal step
        new, step = _descend(problem, regulariser, ahead, step)
        return new

    points = accelerated(descend, regulariser.prox(problem.truth, step))
    for Z in islice(points, _CHECK_EVERY - 1, _CHECK_EVERY * _MOST_CHECKS, _CHECK_EVERY):
        value, gradient = problem.evaluate(Z)
        gap = regulariser.gap(Z, gradient, value)
        converged = gap <= _RELATIVE_GAP * problem.error(Z, weights) + 1e-12 * value
        if converged:
            break
    return Solution(Z, value, gap, converged)


def _descend(
    problem: Auxiliary, regulariser: Regulariser, V: Array, step: float
) -> tuple[Array, float]:
    """Return the proximal point of a gradient step from V that is short enough, and its step."""
    value, gradient = problem.evaluate(V)
    while True:
        new = regulariser.prox(V - step * gradient, step)
        change = new - V
        model = value + float(np.vdot(gradient, change)) + float(np.vdot(change, change)) / step / 2
        if problem.evaluate(new)[0] <= model + 1e-12 * abs(value):
            return new, step
        step /= 1.5
