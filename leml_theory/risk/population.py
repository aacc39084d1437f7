r"""Exact population moments of a scenario, from which risks follow without sampling.

For label l with probability p_l the squared and the linear risk depend on the laws through
:math:`S = E xx^T`, the cross moments :math:`M = \sum_l p_l E[y^l x] e_l^T` and :math:`E (y^l)^2`
only; the logistic risk under Gaussian features is a one-dimensional integral (Stein's identity).
"""

import math

import numpy as np
from scipy.special import expit

from leml_solver.losses import Loss
from leml_theory.arrays import Array
from simulations.features import FeatureLaw
from simulations.labels import prediction_scales
from simulations.scenario import Scenario

# Ends of panels that halve towards 0. The smallest, 12/2^16, resolves exp(-tau g) up to tau = 1e4;
# 12 standard deviations leave out 1e-32.
_HALVING = np.ldexp(12.0, -np.arange(17))


def _half_line_rule(ends: Array, order: int) -> tuple[Array, Array]:
    """Return nodes g > 0 and weights 2 phi(g) dg: Gauss-Legendre on panels with falling ends."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    begins = np.append(ends[1:], 0.0)
    points = (begins + ends)[:, None] / 2 + (ends - begins)[:, None] / 2 * nodes
    widths = (ends - begins)[:, None] / 2 * weights
    density = np.exp(-0.5 * np.square(points)) * math.sqrt(2 / math.pi)
    return points.ravel(), (density * widths).ravel()


def _kink_rule(parts: int) -> tuple[Array, Array]:
    """Return a rule for both signs of g with every halving panel cut, for losses with kinks.

    With 64 parts the Huber loss is integrated to a relative 2e-9, whatever its width.
    """
    cuts = np.outer(_HALVING / 2, 1 + np.arange(parts, 0, -1) / parts).ravel()
    nodes, weights = _half_line_rule(np.append(cuts, _HALVING[-1] / 2), 4)
    return np.concatenate([-nodes, nodes]), np.tile(weights / 2, 2)


_NODES, _WEIGHTS = _half_line_rule(_HALVING, 20)
_KINK_NODES, _KINK_WEIGHTS = _kink_rule(64)
_LARGEST_SCALE = 1e4


def _check_scales(scales: Array) -> None:
    """Refuse scales that the nodes do not resolve."""
    if scales.size and float(scales.max()) > _LARGEST_SCALE:
        raise ValueError(
            f"The scores of Z must have a standard deviation of at most {_LARGEST_SCALE:g} for the "
            f"quadrature, got {float(scales.max()):.3g}; scale Z or the features down."
        )


def gaussian_softplus(scales: Array) -> Array:
    r"""Return :math:`E\log(1 + e^{\tau g})`, g standard normal, for each scale tau >= 0.

    :math:`\log(1+e^a) = \max(a, 0) + \log(1+e^{-|a|})`: the kink is integrated in closed form.
    """
    _check_scales(scales)
    tails = np.log1p(np.exp(-np.multiply.outer(scales, _NODES))) @ _WEIGHTS
    return np.asarray(scales / math.sqrt(2 * math.pi) + tails)


def gaussian_slope(scales: Array) -> Array:
    r"""Return :math:`E\sigma'(\tau g)`, sigma the logistic function, for each scale tau >= 0."""
    _check_scales(scales)
    chances = expit(np.multiply.outer(scales, _NODES))
    return np.asarray((chances * (1 - chances)) @ _WEIGHTS)


def gaussian_loss(loss: Loss, scales: Array) -> Array:
    """Return E loss(y, f) when y - f is tau times a standard normal, for each scale tau >= 0.

    The loss must depend on y - f only.
    """
    _check_scales(scales)
    return _residual_values(loss, scales, _KINK_NODES) @ _KINK_WEIGHTS


def gaussian_curvature(loss: Loss, scales: Array) -> Array:
    r"""Return the mean second derivative of the loss when y - f is tau g, g standard normal.

    By Stein's identity :math:`E\psi(\tau g)g/\tau`, psi being the derivative, which may have kinks.
    """
    _check_scales(scales)
    f = np.multiply.outer(scales, _KINK_NODES)
    slopes = loss.derivative(np.zeros_like(f), f) @ (_KINK_WEIGHTS * _KINK_NODES)
    return np.divide(slopes, scales, out=np.zeros_like(scales), where=scales > 0)


def resolves(loss: Loss) -> bool:
    """Return whether half as many panels change the value of `gaussian_loss` by less than 1e-6.

    Relatively, over six decades of the scale; kinks of the slope change it by up to 2e-8.
    """
    scales = np.geomspace(1e-3, 1e3, 25)
    nodes, weights = _kink_rule(32)
    coarse = _residual_values(loss, scales, nodes) @ weights
    return bool(np.allclose(coarse, gaussian_loss(loss, scales), rtol=1e-6, atol=0))


def _residual_values(loss: Loss, scales: Array, nodes: Array) -> Array:
    """Return the loss at the residuals tau g, one row per scale and one column per node."""
    f = np.multiply.outer(scales, nodes)
    return loss.value(np.zeros_like(f), f)


def second_moments(features: FeatureLaw) -> Array:
    """Return E xx^T, shape (d, d), of a law that knows it."""
    S = features.second_moments
    if S is None:
        raise ValueError(
            f"E xx^T of {type(features).__name__} is not known; give the law `second_moments`."
        )
    return S


def cross_moments(scenario: Scenario) -> Array | None:
    """Return M with columns p_l E[y^l x], shape (d, L); None when there is no closed form."""
    columns = scenario.labels.cross_moments(scenario.features)
    if columns is None:
        columns = _logistic_columns(scenario)
    return None if columns is None else columns * scenario.observation.probabilities


def _logistic_columns(scenario: Scenario) -> Array | None:
    """Return E[y^l x] of logistic labels with Gaussian features, by Stein's identity."""
    features, labels = scenario.features, scenario.labels
    if features.kind != "gaussian" or labels.kind != "logistic":
        return None
    S, Z = features.second_moments, labels.coefficients
    if S is None or Z is None:
        return None
    return np.asarray(S @ Z * gaussian_slope(prediction_scales(S, Z)))


def label_moments(scenario: Scenario) -> Array | None:
    """Return E (y^l)^2, shape (L,); None when there is no closed form."""
    return scenario.labels.square_moments(scenario.features)
