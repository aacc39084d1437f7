r"""A lower bound on the minimum over a ball, proved from the problem and one dual candidate.

For any numbers u_e, one per entry, weak duality gives at every Z of the ball

.. math:: \sum_e w_e \ell(y_e, f_e) \ge -\sum_e w_e \ell^*(y_e, u_e) - r \|X^T (w u)\|_{dual}.

At a minimiser u_e = l'(y_e, f_e) makes it an equality.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from argument_checks import finite_array
from leml_solver._exact.balls import Ball
from leml_solver.problem import Problem
from leml_solver.result import Certificate

Array = NDArray[np.float64]

_EPS = float(np.finfo(np.float64).eps)


def certify(problem: Problem, ball: Ball, Z: Array, dual: Array | None = None) -> Certificate:
    """Bound how far Z is from the minimum over the ball.

    Parameters
    ----------
    problem, ball
        What was to be minimised, and where.
    Z : (d, L) array
        The point to certify.
    dual : (m,) array, optional
        Dual candidate, one number per entry without its weight; the derivative of the loss at Z
        if not given. Any finite numbers are valid; good ones make the bound tight.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import FrobeniusBall, Problem, certify
    >>> problem = Problem("squared", np.eye(2), 2 * np.eye(2))
    >>> certificate = certify(problem, FrobeniusBall(1.0), np.zeros((2, 2)))
    >>> certificate.objective, round(certificate.lower_bound, 6)
    (4.0, 1.671573)
    """
    Z = problem.check_shape(Z)
    y, weights, predictions = problem.values, problem.weights, problem.predictions(Z)
    candidate = problem.loss.derivative(y, predictions) if dual is None else dual
    return Certificate(
        objective=float(np.sum(weights * problem.loss.value(y, predictions))),
        lower_bound=dual_bound(problem, ball, candidate),
        infeasibility=max(0.0, float(ball.norm(Z) / ball.radius - 1)),
        scale=problem.scale,
    )


def dual_bound(problem: Problem, ball: Ball, dual: Array) -> float:
    """Return the lower bound that `dual` proves, the best over its multiples t dual.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import FrobeniusBall, Problem, dual_bound
    >>> problem = Problem("squared", np.eye(2), 2 * np.eye(2))
    >>> round(dual_bound(problem, FrobeniusBall(1.0), np.array([-1.0, 0.0, 0.0, -1.0])), 6)
    1.671573
    """
    numbers = finite_array(dual, "dual", 1)
    if numbers.shape != problem.values.shape:
        raise ValueError(
            f"`dual` must have one number per entry, {problem.values.size}, got {numbers.size}."
        )
    u = problem.loss.clip_dual(problem.values, numbers)
    penalty = ball.radius * _dual_norm_from_above(problem, ball, u)

    def bound(t: float) -> float:
        return -_conjugate_from_above(problem, t * u) - t * penalty

    return _largest(bound, *problem.loss.dual_scales(problem.values, u))


def _largest(bound: Callable[[float], float], low: float, high: float) -> float:
    """Return (nearly) the largest value of a concave function of a scale in [low, high]."""
    # A good candidate is best near t = 1; every t gives a valid bound.
    high = min(high, 2.0)
    values = {t: bound(t) for t in {low, min(1.0, high)}}
    if low < high:
        # The vertex of one parabola is exact for the two squared losses; a second, narrower one
        # is enough for the others.
        for width in (0.5 * (high - low), 0.05 * (high - low)):
            best = max(values, key=lambda t: values[t])
            centre = min(max(best, low + width), high - width)
            three = (centre - width, centre, centre + width)
            values |= {t: bound(t) for t in three if t not in values}
            vertex = _vertex(three, tuple(values[t] for t in three))
            values[vertex] = bound(vertex)
    return max(values.values())


def _vertex(t: tuple[float, float, float], q: tuple[float, ...]) -> float:
    """Return where the parabola through three equidistant points is largest, within them."""
    second_difference = q[0] - 2 * q[1] + q[2]
    if not second_difference < 0:
        return t[0] if q[0] > q[2] else t[2]
    shift = 0.25 * (q[0] - q[2]) / second_difference * (t[2] - t[0])
    return min(max(t[1] + shift, t[0]), t[2])


def _conjugate_from_above(problem: Problem, u: Array) -> float:
    """Return an upper bound on the weighted sum of conjugates at u, rounding included."""
    y, weights = problem.values, problem.weights
    u = problem.loss.clip_dual(y, u)
    terms = weights * problem.loss.conjugate(y, u)
    size_of_u = np.abs(u)
    size = np.abs(terms) + weights * size_of_u * (np.abs(y) + size_of_u)
    # Each term is off by a few roundings of `size`; numpy adds pairwise, in blocks of 16 sums.
    return float(terms.sum() + (32 + math.log2(terms.size)) * _EPS * size.sum())


def _dual_norm_from_above(problem: Problem, ball: Ball, u: Array) -> float:
    """Return an upper bound on the dual norm of X^T (w u), rounding included."""
    slopes = problem.weights * u
    # An inner product of k terms is off by at most k roundings of |x| |slopes|; both dual norms
    # are at most Frobenius. The SVD is exact for a matrix within a few (d + L) roundings.
    product = (problem.largest_count + 4) * _EPS * problem.feature_norm * np.linalg.norm(slopes)
    norm = ball.dual_norm(problem.adjoint(slopes)) * (1 + 4 * sum(problem.shape) * _EPS)
    return norm + float(product) * math.sqrt(problem.multiplicity)
