"""Population risks that can be evaluated exactly, each with its minimum over a ball."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

import numpy as np

from leml_solver import Ball
from leml_solver.labels import Labels
from leml_solver.losses import LOSSES, Linear, Logistic, Loss, Squared
from leml_solver.problem import Problem
from leml_theory.arrays import Array
from leml_theory.risk.population import (
    cross_moments,
    gaussian_curvature,
    gaussian_loss,
    gaussian_slope,
    gaussian_softplus,
    label_moments,
    resolves,
)
from simulations.labels import LabelModel, prediction_scales
from simulations.scenario import Scenario

# Values of (x, l, y) enumerated at most: 14 dimensions and 256 labels of two values.
_MOST_VALUES = 1 << 23


@dataclass(frozen=True, slots=True, eq=False)
class Bracket:
    """Two numbers with the minimum of the population risk between them, and a point at `upper`.

    Parameters
    ----------
    lower, upper : float
        The ends: proved up to rounding, or means over samples.
    method : str
        How they were found.
    Z : array, shape (d, L)
        A point of the ball whose risk is `upper`.
    stderr : float
        Standard error of the less certain end where they are means over samples, else zero.
    """

    lower: float
    upper: float
    method: str
    Z: Array
    stderr: float = 0.0

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
        target = _least_squares(self.M, self.S, self.probabilities)
        if _holds(ball, target):
            Z = ball.project(target)
            return Bracket(self.value(target), self.value(Z), "well specified", Z)
        isotropic = np.allclose(self.S, self.S[0, 0] * np.eye(len(self.S)), rtol=1e-12, atol=0)
        if isotropic and np.ptp(self.probabilities) < 1e-15:  # |Z - target|_F^2 but for constants
            Z = ball.project(target)
            return Bracket(self.value(Z), self.value(Z), "projection", Z)
        offset = self.value(target)
        return _solved(self._distance(target), ball, tol, offset, "certified quadratic problem")

    def _distance(self, target: Array) -> Problem:
        """Return sum_l p_l |S^(1/2)(z_l - target_l)|^2/2 as a squared-loss problem."""
        values, vectors = np.linalg.eigh(self.S)
        root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        rows, columns = (index.ravel() for index in np.indices(target.shape))
        products, weights = (root @ target).ravel(), self.probabilities[columns]
        labels = Labels.observed(rows, columns, products, target.shape, weights)
        return Problem(LOSSES["squared"], root, labels, 1.0)


class SmoothRisk(ABC):
    """A population risk with a gradient; `truth` is its minimiser over all Z, None if unknown."""

    __slots__ = ()

    method: str
    M: Array
    S: Array
    probabilities: Array
    truth: Array | None

    @property
    @abstractmethod
    def curvature(self) -> float:
        """Bound on the mean second derivative of the loss."""

    @abstractmethod
    def value(self, Z: Array) -> float:
        """Return the risk of Z."""

    @abstractmethod
    def gradient(self, Z: Array) -> Array:
        """Return the gradient at Z."""

    def minimum(self, ball: Ball, tol: float) -> Bracket:
        """Return the risk of the truth if the ball holds it, else use the Frank-Wolfe gap."""
        if self.truth is not None and _holds(ball, self.truth):
            Z = ball.project(self.truth)
            return Bracket(self.value(self.truth), self.value(Z), "well specified", Z)
        return _frank_wolfe_bracket(self, ball, tol)


@dataclass(frozen=True, slots=True, eq=False)
class LogisticGaussianRisk(SmoothRisk):
    """sum_l p_l E log(1 + exp(tau_l g)) - <M, Z>, tau_l^2 = z_l^T S z_l and labels in {0, 1}."""

    M: Array
    S: Array
    probabilities: Array
    truth: Array | None
    method: str = "quadrature"

    @property
    def curvature(self) -> float:
        """The largest slope of the logistic function."""
        return 0.25

    def value(self, Z: Array) -> float:
        """Return the risk of Z."""
        softplus = gaussian_softplus(prediction_scales(self.S, Z))
        return float(self.probabilities @ softplus - np.sum(self.M * Z))

    def gradient(self, Z: Array) -> Array:
        """Return p_l E[sigma(<z_l, x>) x] - M: by Stein the first term is p_l E sigma' S z_l."""
        slopes = self.probabilities * gaussian_slope(prediction_scales(self.S, Z))
        return np.asarray(self.S @ Z * slopes - self.M)


@dataclass(frozen=True, slots=True, eq=False)
class ResidualGaussianRisk(SmoothRisk):
    """sum_l p_l E loss(tau_l g), tau_l^2 = E(y^l - <z_l, x>)^2: x and y are jointly Gaussian.

    The loss depends on y - f only; it is convex, so its mean grows with tau_l, and least squares
    gives the minimiser.  Kinks make the integrals accurate to a relative 2e-9 only.
    """

    loss: Loss
    M: Array
    S: Array
    probabilities: Array
    labels: Array
    truth: Array
    method: str = "quadrature"

    @property
    def curvature(self) -> float:
        """The curvature of the loss; with kinks, 2 C times the largest density of a residual."""
        if self.loss.curvature is not None:
            return self.loss.curvature
        least = float(self._scales(self.truth).min())
        steepest = self.loss.lipschitz(math.inf, math.inf)
        return math.sqrt(2 / math.pi) * steepest / least if least > 0 else math.inf

    def value(self, Z: Array) -> float:
        """Return the risk of Z."""
        return float(self.probabilities @ gaussian_loss(self.loss, self._scales(Z)))

    def gradient(self, Z: Array) -> Array:
        """Return E psi' (p_l S z_l - M_l), psi the loss's derivative: Stein's identity."""
        weights = gaussian_curvature(self.loss, self._scales(Z))
        return np.asarray((self.S @ Z * self.probabilities - self.M) * weights)

    def _scales(self, Z: Array) -> Array:
        """Return the standard deviations of the residuals."""
        products = np.einsum("dl,dl->l", Z, self.S @ Z - 2 * self.M / self.probabilities)
        return np.asarray(np.sqrt(np.maximum(self.labels + products, 0.0)))


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
    """Return the population risk as a function, or None if it can only be sampled.

    A subclass of a loss with a closed form may be another loss, so it is not given that form.
    """
    _check_labels(scenario.labels, loss)
    M, squares = cross_moments(scenario), label_moments(scenario)
    if M is not None and type(loss) is Linear:
        return LinearRisk(M)
    if M is not None and squares is not None and type(loss) is Squared:
        S = scenario.features.second_moments
        if S is not None:
            return SquaredRisk(M, S, scenario.observation.probabilities, squares)
    smooth = None if M is None else _gaussian_risk(scenario, loss, M, squares)
    return smooth or _enumerated(scenario, loss)


def _check_labels(labels: LabelModel, loss: Loss) -> None:
    """Raise when a binary loss is given labels of more than two values."""
    if loss.binary and not labels.binary:
        raise ValueError(
            f"The {loss.name} loss needs labels of two values, got {type(labels).__name__}; take "
            "the squared loss or a label model that is `binary`, such as LogisticLabels."
        )


def _gaussian_risk(
    scenario: Scenario, loss: Loss, M: Array, squares: Array | None
) -> SmoothRisk | None:
    """Return the risk as one-dimensional integrals, where x is Gaussian and the loss permits."""
    features, labels = scenario.features, scenario.labels
    S = features.second_moments if features.kind == "gaussian" else None
    if S is None:
        return None
    probabilities = scenario.observation.probabilities
    if type(loss) is Logistic:
        return _logistic_risk(labels, M, S, probabilities)
    if loss.residual and labels.kind == "linear" and squares is not None and resolves(loss):
        truth = _least_squares(M, S, probabilities)
        return ResidualGaussianRisk(loss, M, S, probabilities, squares, truth)
    return None


def _logistic_risk(
    labels: LabelModel, M: Array, S: Array, probabilities: Array
) -> LogisticGaussianRisk | None:
    """Return the logistic risk for centred Gaussian features, if the values of y are known."""
    outcomes = labels.outcomes(np.zeros((1, S.shape[0])))
    if outcomes is None:
        return None
    # Signs are 2 y - 1 for y in {0, 1}, and E x = 0: half their cross moments are those of y.
    halved = M / 2 if min(outcome.value for outcome in outcomes) < 0 else M
    # Where M is zero, as for labels that do not depend on x, so is the minimiser.
    truth = labels.coefficients if labels.kind == "logistic" else None if M.any() else M
    return LogisticGaussianRisk(halved, S, probabilities, truth)


def _least_squares(M: Array, S: Array, probabilities: Array) -> Array:
    """Return the minimiser of the squared risk over all Z."""
    return np.asarray(np.linalg.pinv(S, hermitian=True) @ M / probabilities)


def _holds(ball: Ball, Z: Array) -> bool:
    """Return whether the ball holds Z; a radius computed as its norm is allowed a rounding."""
    return ball.norm(Z) <= ball.radius * (1 + 1e-12)


def _enumerated(scenario: Scenario, loss: Loss) -> EnumeratedRisk | None:
    """Return the risk as a weighted problem over all values of x and y, if they are few."""
    values = scenario.features.support
    labels = None if values is None else scenario.labels.outcomes(values.points)
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


def _frank_wolfe_bracket(risk: SmoothRisk, ball: Ball, tol: float) -> Bracket:
    """Minimise by accelerated projected gradients; convexity gives value - gap as lower bound."""
    from leml_solver.algorithms import accelerated

    # The Hessian is at most P |S| times the curvature of the loss.
    largest = float(risk.probabilities.max()) * float(np.linalg.norm(risk.S, 2))
    step = 1 / risk.curvature / largest
    target = tol * risk.value(np.zeros_like(risk.M))
    start = ball.project(risk.M if risk.truth is None else risk.truth)

    def descend(ahead: Array) -> Array:
        return ball.project(ahead - step * risk.gradient(ahead))

    for Z in islice(accelerated(descend, start), 20_000 if step > 0 else 1):
        gradient = risk.gradient(Z)
        slack = float(np.sum(gradient * Z)) + ball.radius * ball.dual_norm(gradient)
        gap = max(0.0, slack)  # of <gradient, Z - Z'> over Z' in the ball
        if gap <= target:
            break
    return Bracket(risk.value(Z) - gap, risk.value(Z), "quadrature, Frank-Wolfe gap", Z)
