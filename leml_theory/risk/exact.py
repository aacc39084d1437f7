"""Population risks that can be evaluated exactly, each with its minimum over a ball."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from leml_solver import Ball
from leml_solver.labels import Labels
from leml_solver.losses import LOSSES, Loss
from leml_solver.problem import Problem
from leml_theory.risk.population import (
    Support,
    cross_moments,
    discrete_labels,
    gaussian_slope,
    gaussian_softplus,
    is_gaussian,
    label_moments,
    prediction_scales,
    second_moments,
    support,
)
from simulations.labels import LinearLabels, LogisticLabels
from simulations.scenario import Scenario

__all__ = ["Bracket", "ExactRisk", "exact_risk"]

Array = NDArray[np.float64]

# Values of (x, l, y) enumerated at most: 14 dimensions and 256 labels of two values.
_MOST_VALUES = 1 << 23


@dataclass(frozen=True, slots=True, eq=False)
class Bracket:
    """Two numbers with the minimum of the population risk between them, and a point at `upper`."""

    lower: float
    upper: float
    method: str
    Z: Array

    @property
    def width(self) -> float:
        """How well the minimum is known."""
        return self.upper - self.lower


class ExactRisk(Protocol):
    """A population risk as a function of Z."""

    @property
    def method(self) -> str:
        """How values are found."""

    def value(self, Z: Array) -> float:
        """Return the risk of Z."""

    def minimum(self, ball: Ball, tol: float) -> Bracket:
        """Bracket the minimum over the ball, aiming at a width of tol times the risk of Z = 0."""


@dataclass(frozen=True, slots=True, eq=False)
class LinearRisk:
    """-<M, Z>."""

    M: Array
    method: str = "closed form"

    def value(self, Z: Array) -> float:
        """Return the risk of Z."""
        return -float(np.sum(self.M * Z))

    def minimum(self, ball: Ball, tol: float) -> Bracket:
        """Return -radius |M|_dual, whatever the tolerance."""
        del tol
        Z = ball.linear_minimiser(-self.M)
        value = -ball.radius * ball.dual_norm(self.M)
        return Bracket(value, value, self.method, Z)


@dataclass(frozen=True, slots=True, eq=False)
class SquaredRisk:
    """(sum_l p_l E y_l^2 + sum_l p_l z_l^T S z_l)/2 - <M, Z>."""

    M: Array
    S: Array
    probabilities: Array
    labels: Array
    method: str = "closed form"

    def value(self, Z: Array) -> float:
        """Return the risk of Z."""
        quadratic = self.probabilities @ np.square(prediction_scales(self.S, Z))
        return 0.5 * float(self.probabilities @ self.labels + quadratic) - float(np.sum(self.M * Z))

    def minimum(self, ball: Ball, tol: float) -> Bracket:
        """Project when that is exact, else solve a quadratic problem with a certificate."""
        target = np.linalg.pinv(self.S, hermitian=True) @ self.M / self.probabilities
        if _holds(ball, target):
            Z = ball.project(target)
            return Bracket(self.value(target), self.value(Z), "well specified", Z)
        if self._is_multiple_of_distance:
            Z = ball.project(target)
            return Bracket(self.value(Z), self.value(Z), "projection", Z)
        offset = self.value(target)
        return _solved(self._distance(target), ball, tol, offset, "certified quadratic problem")

    @property
    def _is_multiple_of_distance(self) -> bool:
        """Whether the risk is |Z - target|_F^2 up to a factor and a constant."""
        isotropic = np.allclose(self.S, self.S[0, 0] * np.eye(len(self.S)), rtol=1e-12, atol=0)
        return isotropic and bool(np.ptp(self.probabilities) < 1e-15)

    def _distance(self, target: Array) -> Problem:
        """Return sum_l p_l |S^(1/2)(z_l - target_l)|^2/2 as a squared-loss problem."""
        values, vectors = np.linalg.eigh(self.S)
        root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        rows, columns = (index.ravel() for index in np.indices(target.shape))
        products, weights = (root @ target).ravel(), self.probabilities[columns]
        labels = Labels.observed(rows, columns, products, target.shape, weights)
        return Problem(LOSSES["squared"], root, labels, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class LogisticGaussianRisk:
    """sum_l p_l E log(1 + exp(tau_l g)) - <M, Z>, tau_l^2 = z_l^T S z_l and labels in {0, 1}."""

    M: Array
    S: Array
    probabilities: Array
    truth: Array
    method: str = "quadrature"

    def value(self, Z: Array) -> float:
        """Return the risk of Z."""
        softplus = gaussian_softplus(prediction_scales(self.S, Z))
        return float(self.probabilities @ softplus - np.sum(self.M * Z))

    def gradient(self, Z: Array) -> Array:
        """Return p_l E[sigma(<z_l, x>) x] - M: by Stein the first term is p_l E sigma' S z_l."""
        slopes = self.probabilities * gaussian_slope(prediction_scales(self.S, Z))
        return np.asarray(self.S @ Z * slopes - self.M)

    def minimum(self, ball: Ball, tol: float) -> Bracket:
        """Return the risk of the truth if the ball holds it, else use the Frank-Wolfe gap."""
        if _holds(ball, self.truth):
            Z = ball.project(self.truth)
            return Bracket(self.value(self.truth), self.value(Z), "well specified", Z)
        return _frank_wolfe_bracket(self, ball, tol)


@dataclass(frozen=True, slots=True, eq=False)
class EnumeratedRisk:
    """Weighted sum over all values of x and y."""

    problem: Problem
    method: str = "enumeration"

    def value(self, Z: Array) -> float:
        """Return the risk of Z."""
        return self.problem.objective(Z)

    def minimum(self, ball: Ball, tol: float) -> Bracket:
        """Solve the weighted problem; its certificate is the bracket."""
        return _solved(self.problem, ball, tol, 0.0, "enumeration, certified")


def exact_risk(scenario: Scenario, loss: Loss) -> ExactRisk | None:
    """Return the population risk as a function, or None if only sampling is left."""
    if loss.binary and isinstance(scenario.labels, LinearLabels):
        raise ValueError(
            f"The {loss.name} loss needs labels of two values, got LinearLabels; take the squared "
            "loss or LogisticLabels."
        )
    M, squares = cross_moments(scenario), label_moments(scenario)
    probabilities = scenario.observation.probabilities
    if M is not None and loss.name == "linear":
        return LinearRisk(M)
    if M is not None and squares is not None and loss.name == "squared":
        return SquaredRisk(M, second_moments(scenario.features), probabilities, squares)
    if M is not None and loss.name == "logistic" and is_gaussian(scenario.features):
        # All ones and fair signs do not depend on x: M is zero and so is the minimiser.
        truth = scenario.labels.Z if isinstance(scenario.labels, LogisticLabels) else M
        return LogisticGaussianRisk(M, second_moments(scenario.features), probabilities, truth)
    return _enumerated(scenario, loss, support(scenario.features))


def _holds(ball: Ball, Z: Array) -> bool:
    """Return whether the ball holds Z; a radius computed as its norm is allowed a rounding."""
    return ball.norm(Z) <= ball.radius * (1 + 1e-12)


def _enumerated(scenario: Scenario, loss: Loss, values: Support | None) -> EnumeratedRisk | None:
    """Return the risk as a weighted problem over all values of x and y, if they are few."""
    labels = None if values is None else discrete_labels(scenario.labels, values.points)
    if values is None or labels is None:
        return None
    shape = (values.points.shape[0], scenario.labels.n_labels)
    if len(labels) * math.prod(shape) > _MOST_VALUES:
        return None
    chances = values.probabilities[:, None] * scenario.observation.probabilities
    rows, columns = (np.tile(index.ravel(), len(labels)) for index in np.indices(shape))
    weights = np.concatenate([(chances * given).ravel() for _, given in labels])
    y = np.repeat([label for label, _ in labels], math.prod(shape))
    observed = Labels.observed(rows, columns, y, shape, weights)
    return EnumeratedRisk(Problem(loss, values.points, observed, 1.0))


def _solved(problem: Problem, ball: Ball, tol: float, offset: float, method: str) -> Bracket:
    """Minimise a problem over the ball; the certificate brackets its minimum."""
    from leml_solver import minimise

    engine = "certified" if problem.loss.smooth else "cvxpy"
    result = minimise(problem, ball, engine=engine, tol=tol)
    certificate = result.certificate
    return Bracket(
        offset + certificate.lower_bound, offset + certificate.objective, method, result.Z
    )


def _frank_wolfe_bracket(risk: LogisticGaussianRisk, ball: Ball, tol: float) -> Bracket:
    """Minimise by accelerated projected gradients; convexity gives value - gap as lower bound."""
    # The Hessian is at most P |S| / 4, since the logistic function has slope at most 1/4.
    step = 4 / (float(risk.probabilities.max()) * float(np.linalg.norm(risk.S, 2)))
    target = tol * risk.value(np.zeros_like(risk.M))
    Z = previous = ball.project(risk.truth)
    momentum, gap = 1.0, math.inf
    for _ in range(20_000):
        following = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        ahead = Z + (momentum - 1) / following * (Z - previous)
        previous, momentum = Z, following
        Z = ball.project(ahead - step * risk.gradient(ahead))
        if float(np.sum((ahead - Z) * (Z - previous))) > 0:
            momentum = 1.0
        gap = _frank_wolfe_gap(risk.gradient(Z), Z, ball)
        if gap <= target:
            break
    return Bracket(risk.value(Z) - gap, risk.value(Z), "quadrature, Frank-Wolfe gap", Z)


def _frank_wolfe_gap(gradient: Array, Z: Array, ball: Ball) -> float:
    """Return max over the ball of <gradient, Z - Z'>, not negative."""
    return max(0.0, float(np.sum(gradient * Z)) + ball.radius * ball.dual_norm(gradient))
