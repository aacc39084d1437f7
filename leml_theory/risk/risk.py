"""Population risk and its minimum over a ball: exact where possible, bracketed elsewhere.

The risk of Z is E loss(y^l, <z_l, x>) over a new point and one observed label slot, the limit of
the normalised empirical risk.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from argument_checks import finite_array, generator, positive
from leml_solver import Ball
from leml_solver.losses import Loss
from leml_theory.rademacher import Estimate, check_draws
from leml_theory.risk.exact import Bracket, exact_risk
from simulations.scenario import Scenario

__all__ = ["Bracket", "RiskValue", "minimum_risk", "population_risk"]

Array = NDArray[np.float64]


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
    """Compute the population risk of Z by the best method there is for this world.

    Closed form for the linear and the squared loss, quadrature for the logistic loss with Gaussian
    features, enumeration for features of small support, else Monte Carlo with a standard error.

    Parameters
    ----------
    scenario : Scenario
        The world.
    loss : Loss
        The loss.
    Z : array, shape (d, L)
        Coefficients.
    draws : int
        Points drawn where nothing else is possible.
    rng : Generator, optional
        Needed there only.

    Returns
    -------
    RiskValue
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


def minimum_risk(scenario: Scenario, loss: Loss, ball: Ball, *, tol: float = 1e-9) -> Bracket:
    """Bracket the minimum of the population risk over the ball.

    Parameters
    ----------
    scenario, loss, ball
        The world, the loss and the set of Z.
    tol : float
        Width to aim for, relative to the risk of Z = 0.

    Returns
    -------
    Bracket
        `lower` is proved (a closed form, a dual certificate or a Frank-Wolfe gap), to rounding.
    """
    exact = exact_risk(scenario, loss)
    if exact is None:
        raise ValueError(
            f"The minimum of the {loss.name} risk of this world has no closed form, and that of a "
            "noisy estimate is no substitute; take Gaussian features with the logistic loss, "
            "Rademacher features with d <= 14 and L <= 256, or the linear or squared loss."
        )
    return exact.minimum(ball, positive(tol, "tol"))


def _monte_carlo(
    scenario: Scenario, loss: Loss, Z: Array, draws: int, rng: np.random.Generator
) -> Estimate:
    """Average the loss over new points with one label slot each."""
    X = scenario.features.sample(draws, rng)
    rows = np.arange(draws)
    probabilities = scenario.observation.probabilities
    columns = rng.choice(probabilities.size, size=draws, p=probabilities)
    y = loss.encode(scenario.labels.draw(X, rows, columns, rng))
    predictions = np.einsum("ed,ed->e", X, Z.T[columns])
    return Estimate.of(loss.value(y, predictions))


def _checked(scenario: Scenario, Z: Array) -> Array:
    """Return Z, which must have one row a feature and one column a label."""
    coefficients = finite_array(Z, "Z", 2)
    shape = (scenario.features.n_features, scenario.labels.n_labels)
    if coefficients.shape != shape:
        raise ValueError(f"`Z` must have shape (d, L) = {shape}, got {coefficients.shape}.")
    return coefficients
