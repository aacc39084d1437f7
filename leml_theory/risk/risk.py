"""Population risk and its minimum over a ball: exact where possible, bracketed elsewhere.

The risk of Z is E loss(y^l, <z_l, x>) over a new point and one observed label slot, the limit of
the normalised empirical risk.  It is the scenario, never the class of its parts, that is asked for
moments, supports and probabilities; what it does not know is sampled.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from argument_checks import finite_array, generator, positive
from leml_solver import Ball, Labels, Problem, minimise
from leml_solver.losses import Loss
from leml_solver.result import SolverResult
from leml_theory.arrays import Array
from leml_theory.rademacher import Estimate, check_draws
from leml_theory.risk.exact import Bracket, exact_risk
from simulations.scenario import Scenario

# Samples whose least empirical risks are averaged: enough for a standard error.
_BATCHES = 10


@dataclass(frozen=True, slots=True)
class RiskValue:
    """A population risk, its standard error (zero if exact to rounding), and how it was found."""

    value: float
    stderr: float
    method: str


def population_risk(
    scenario: Scenario,
    loss: Loss,
    Z: Array,
    *,
    draws: int = 100_000,
    rng: np.random.Generator | None = None,
) -> RiskValue:
    """Compute the population risk of Z by the best method available for this world.

    Closed form for the linear and the squared loss, quadrature for Gaussian features with the
    logistic loss or with linear labels and a loss of y - f, enumeration for features of small
    support, else Monte Carlo with a standard error.

    Parameters
    ----------
    scenario : Scenario
        The world.
    loss : Loss
        The loss.
    Z : array, shape (d, L)
        Coefficients.
    draws : int
        Number of points drawn where sampling is the only way.
    rng : Generator, optional
        Needed for sampling only.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver.losses import LOSSES
    >>> from leml_theory import population_risk
    >>> from simulations import AllOnes, IsotropicGaussian, Scenario, UniformLabels
    >>> world = Scenario(IsotropicGaussian(3), AllOnes(2), UniformLabels(2))
    >>> population_risk(world, LOSSES["squared"], np.zeros((3, 2)))  # E y^2 / 2
    RiskValue(value=0.5, stderr=0.0, method='closed form')
    """
    coefficients = _checked(scenario, Z)
    exact = exact_risk(scenario, loss)
    if exact is not None:
        return RiskValue(exact.value(coefficients), 0.0, exact.method)
    if rng is None:
        raise ValueError(
            f"`rng` must be given: the {loss.name} risk of this world has no closed form and is "
            "measured by Monte Carlo."
        )
    estimate = _monte_carlo(scenario, loss, coefficients, check_draws(draws), generator(rng))
    return RiskValue(estimate.value, estimate.stderr, f"Monte Carlo, {draws} draws")


def minimum_risk(
    scenario: Scenario,
    loss: Loss,
    ball: Ball,
    *,
    tol: float = 1e-9,
    draws: int = 100_000,
    rng: np.random.Generator | None = None,
) -> Bracket:
    """Bracket the minimum of the population risk over the ball.

    Parameters
    ----------
    scenario, loss, ball
        The world, the loss and the set of Z.
    tol : float
        Width to aim for, relative to the risk of Z = 0.
    draws : int
        Number of points drawn for each end where no closed form is known.
    rng : Generator, optional
        Needed for sampling only.

    Returns
    -------
    Bracket
        `lower` is proved (a closed form, a dual certificate or a Frank-Wolfe gap), to rounding;
        with samples, both ends are means with a standard error.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import TraceBall
    >>> from leml_solver.losses import LOSSES
    >>> from leml_theory import minimum_risk
    >>> from simulations import IsotropicGaussian, LinearLabels, Scenario, UniformLabels
    >>> world = Scenario(IsotropicGaussian(3), LinearLabels(np.eye(3)), UniformLabels(3))
    >>> bracket = minimum_risk(world, LOSSES["squared"], TraceBall(3.0))  # noise of variance 1
    >>> round(bracket.upper, 9), bracket.method
    (0.5, 'well specified')
    """
    exact = exact_risk(scenario, loss)
    if exact is not None:
        return exact.minimum(ball, positive(tol, "tol"))
    if rng is None:
        raise ValueError(
            f"The minimum of the {loss.name} risk of this world has no closed form, and that of a "
            "noisy estimate is no substitute; take Gaussian features with the logistic loss, "
            "Rademacher features with d <= 14 and L <= 256, or the linear or squared loss, or give "
            "`rng` for a bracket with standard errors."
        )
    return _sampled_bracket(scenario, loss, ball, check_draws(draws), generator(rng))


def _sampled_bracket(
    scenario: Scenario, loss: Loss, ball: Ball, draws: int, rng: np.random.Generator
) -> Bracket:
    """Bracket the minimum by samples: least empirical risks below, the risk of a point above.

    The mean of a minimum is at most the minimum of the mean, so the least risk of a sample is, in
    expectation, a lower bound.  The average of the samples' minimisers is a point of the ball, and
    its risk on new points an upper bound.
    """
    size = max(1, draws // _BATCHES)
    found = [_least_empirical(scenario, loss, ball, size, rng) for _ in range(_BATCHES)]
    below = Estimate.of(np.array([result.certificate.lower_bound / size for result in found]))
    Z = np.mean([result.Z for result in found], axis=0)
    above = _monte_carlo(scenario, loss, Z, draws, rng)
    stderr = max(below.stderr, above.stderr)
    method = f"{_BATCHES} samples of {size} points"
    return Bracket(below.value, above.value, method, Z, stderr)


def _least_empirical(
    scenario: Scenario, loss: Loss, ball: Ball, n: int, rng: np.random.Generator
) -> SolverResult:
    """Minimise the empirical risk of n new points with one label slot each."""
    X, columns, y = _slots(scenario, n, rng)
    labels = Labels.observed(np.arange(n), columns, y, (n, scenario.labels.n_labels))
    problem = Problem(loss, X, labels, 1.0)
    return minimise(problem, ball, engine="certified" if loss.smooth else "cvxpy")


def _slots(
    scenario: Scenario, n: int, rng: np.random.Generator
) -> tuple[Array, NDArray[np.int64], Array]:
    """Draw n new points with one label slot each: features, labels' numbers and values."""
    X = scenario.features.sample(n, rng)
    probabilities = scenario.observation.probabilities
    columns = rng.choice(probabilities.size, size=n, p=probabilities)
    return X, columns, scenario.labels.draw(X, np.arange(n), columns, rng)


def _monte_carlo(
    scenario: Scenario, loss: Loss, Z: Array, draws: int, rng: np.random.Generator
) -> Estimate:
    """Average the loss over new points with one label slot each."""
    X, columns, y = _slots(scenario, draws, rng)
    predictions = np.einsum("ed,ed->e", X, Z.T[columns])
    return Estimate.of(loss.value(loss.encode(y), predictions))


def _checked(scenario: Scenario, Z: Array) -> Array:
    """Return Z, which must have one row per feature and one column per label."""
    coefficients = finite_array(Z, "Z", 2)
    shape = (scenario.features.n_features, scenario.labels.n_labels)
    if coefficients.shape != shape:
        raise ValueError(f"`Z` must have shape (d, L) = {shape}, got {coefficients.shape}.")
    return coefficients
