"""Rank-k LEML beside the exact minimisers: its penalty tuned until its size meets the radius."""

import math

import numpy as np

from leml_solver import AlternatingOptions, Problem, TraceBall, fit_problem
from leml_theory.arrays import Array

# Far below the variation between trials; the certificate, computed at the returned point, covers
# what remains.
_SIZE_MET = 1e-3
_TRIES = 6
_OPTIONS = AlternatingOptions(max_iter=100, tol=1e-8, certify=False)


def leml_at_radius(problem: Problem, ball: TraceBall, rank: int, exact: Array) -> Array:
    """Return Z = W H^T of rank k with (|W|^2 + |H|^2)/2 at the radius of the ball, or inside it.

    Parameters
    ----------
    problem : Problem
        The empirical risk.
    ball : TraceBall
        The ball whose radius is to be met.
    rank : int
        k.
    exact : (d, L) array
        The exact minimiser over the ball, whose multiplier is the first penalty tried.
    """
    penalty = max(ball.dual_norm(problem.gradient(exact)), 1e-9 * problem.scale)
    tried: list[tuple[float, float]] = []
    for _ in range(_TRIES):
        found = fit_problem(problem, rank=rank, penalty=penalty, options=_OPTIONS)
        # The trace norm once the factors are balanced.
        size = float(np.square(found.W).sum() + np.square(found.H).sum()) / 2
        if abs(size - ball.radius) <= _SIZE_MET * ball.radius:
            break
        tried.append((math.log(penalty), math.log(max(size, 1e-300))))
        penalty = math.exp(_next(tried, math.log(ball.radius)))
    return ball.project(found.W @ found.H.T)


def _next(tried: list[tuple[float, float]], target: float) -> float:
    """Return the next log penalty: a secant step in log-log scale, at most a factor e^2 away."""
    slope = -1.0
    if len(tried) > 1:
        (x0, y0), (x1, y1) = tried[-2:]
        slope = min((y1 - y0) / (x1 - x0), -0.05) if x1 != x0 else -1.0
    x, y = tried[-1]
    return x + float(np.clip((target - y) / slope, -2.0, 2.0))
