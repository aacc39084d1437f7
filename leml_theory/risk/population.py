r"""Exact population moments of a scenario: what risks are made of where no sampling is needed.

For label l with probability p_l the squared and the linear risk depend on the laws through
:math:`S = E xx^T`, the cross moments :math:`M = \sum_l p_l E[y^l x] e_l^T` and :math:`E (y^l)^2`
only; the logistic risk under Gaussian features is a one-dimensional integral (Stein's identity).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from simulations.features import (
    AnisotropicGaussian,
    FeatureLaw,
    IsotropicGaussian,
    NonNegative,
    RademacherVectors,
    RankOne,
    RareOutlier,
)
from simulations.labels import (
    AllOnes,
    LabelModel,
    LinearLabels,
    LogisticLabels,
    Planted,
    RandomSigns,
)
from simulations.scenario import Scenario

__all__ = [
    "Support",
    "cross_moments",
    "discrete_labels",
    "gaussian_slope",
    "gaussian_softplus",
    "is_gaussian",
    "label_moments",
    "prediction_scales",
    "second_moments",
    "support",
]

Array = NDArray[np.float64]

# Rademacher vectors are enumerated up to 2^14 points.
_LARGEST_CUBE = 14


def _half_line_rule() -> tuple[Array, Array]:
    """Return nodes g > 0 and weights 2 phi(g) dg: Gauss-Legendre on panels that halve towards 0.

    The smallest panel, 12/2^16, resolves exp(-tau g) up to tau = 1e4; 12 standard deviations leave
    out 1e-32.
    """
    nodes, weights = np.polynomial.legendre.leggauss(20)
    ends = 12.0 * 0.5 ** np.arange(17)
    begins = np.append(ends[1:], 0.0)
    points = (begins + ends)[:, None] / 2 + (ends - begins)[:, None] / 2 * nodes
    widths = (ends - begins)[:, None] / 2 * weights
    density = np.exp(-0.5 * np.square(points)) * math.sqrt(2 / math.pi)
    return points.ravel(), (density * widths).ravel()


_NODES, _WEIGHTS = _half_line_rule()
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


def is_gaussian(features: FeatureLaw) -> bool:
    """Return whether x is a centred Gaussian."""
    return isinstance(features, IsotropicGaussian | AnisotropicGaussian)


def second_moments(features: FeatureLaw) -> Array:
    """Return E xx^T, shape (d, d)."""
    d = features.n_features
    if isinstance(features, AnisotropicGaussian):
        return np.diag(features.spectrum)
    if isinstance(features, RankOne):
        return np.outer(features.direction, features.direction)
    if isinstance(features, NonNegative):
        return ((1 - 2 / math.pi) * np.eye(d) + 2 / math.pi * np.ones((d, d))) / d
    moments = features.moments
    # A trace of d times the top eigenvalue leaves room for a multiple of the identity only.
    if not math.isclose(moments.second_moment, d * moments.top_eigenvalue, rel_tol=1e-12):
        raise ValueError(
            f"E xx^T of {type(features).__name__} is not known; add it to `second_moments`."
        )
    return np.asarray(moments.top_eigenvalue * np.eye(d))


def _mean(features: FeatureLaw) -> Array | None:
    """Return E x, or None when it is not known."""
    if features.moments.centred:
        return np.zeros(features.n_features)
    if isinstance(features, NonNegative):
        return np.full(features.n_features, math.sqrt(2 / (math.pi * features.n_features)))
    return np.array([features.mean]) if isinstance(features, RareOutlier) else None


def cross_moments(scenario: Scenario) -> Array | None:
    """Return M with columns p_l E[y^l x], shape (d, L); None when there is no closed form."""
    columns = _columns(scenario.features, scenario.labels)
    return None if columns is None else columns * scenario.observation.probabilities


def _columns(features: FeatureLaw, labels: LabelModel) -> Array | None:
    """Return E[y^l x], label by label."""
    shape = (features.n_features, labels.n_labels)
    if isinstance(labels, LinearLabels):
        return np.asarray(second_moments(features) @ labels.Z)
    if isinstance(labels, RandomSigns):
        return np.zeros(shape)
    if isinstance(labels, AllOnes):
        mean = _mean(features)
        return None if mean is None else np.repeat(mean[:, None], shape[1], axis=1)
    if isinstance(labels, Planted) and isinstance(features, RademacherVectors):
        columns = np.zeros(shape)
        columns[0] = (2 * labels.agreement - 1) / math.sqrt(shape[0])
        return columns
    if isinstance(labels, LogisticLabels) and is_gaussian(features):
        S = second_moments(features)
        return np.asarray(S @ labels.Z * gaussian_slope(prediction_scales(S, labels.Z)))
    return None


def prediction_scales(S: Array, Z: Array) -> Array:
    """Return the root of E<z_l, x>^2, label by label."""
    return np.asarray(np.sqrt(np.maximum(np.einsum("dl,dl->l", Z, S @ Z), 0.0)))


def label_moments(scenario: Scenario) -> Array | None:
    """Return E (y^l)^2, shape (L,); None when there is no closed form."""
    labels, size = scenario.labels, scenario.labels.n_labels
    if isinstance(labels, AllOnes | RandomSigns | Planted):
        return np.ones(size)
    if isinstance(labels, LinearLabels):
        scales = prediction_scales(second_moments(scenario.features), labels.Z)
        return np.asarray(np.square(scales) + labels.noise**2)
    if isinstance(labels, LogisticLabels) and scenario.features.symmetric:
        return np.full(size, 0.5)
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Support:
    """All values of x, shape (k, d), and their probabilities, shape (k,)."""

    points: Array
    probabilities: Array


def support(features: FeatureLaw) -> Support | None:
    """Enumerate the values of x; None when they are too many or a continuum."""
    if isinstance(features, RankOne):
        return Support(np.outer([1.0, -1.0], features.direction), np.full(2, 0.5))
    if isinstance(features, RareOutlier):
        rare = features.probability
        return Support(
            np.array([[features.typical], [-features.outlier]]), np.array([1 - rare, rare])
        )
    d = features.n_features
    if not isinstance(features, RademacherVectors) or d > _LARGEST_CUBE:
        return None
    points = np.array(list(product((-1.0, 1.0), repeat=d))) / math.sqrt(d)
    return Support(points, np.full(2**d, 0.5**d))


def discrete_labels(labels: LabelModel, X: Array) -> list[tuple[float, Array]] | None:
    """Return the label values, each with its probability at every point and label, shape (k, L).

    None for labels that are not discrete.
    """
    shape = (X.shape[0], labels.n_labels)
    if isinstance(labels, AllOnes):
        return [(1.0, np.ones(shape))]
    if isinstance(labels, RandomSigns):
        return [(1.0, np.full(shape, 0.5)), (-1.0, np.full(shape, 0.5))]
    if isinstance(labels, LogisticLabels):
        chances = expit(X @ labels.Z)
        return [(1.0, chances), (0.0, 1 - chances)]
    if isinstance(labels, Planted):
        positive = np.where(X[:, :1] >= 0, labels.agreement, 1 - labels.agreement)
        return [(1.0, positive), (-1.0, 1 - positive)]
    return None
