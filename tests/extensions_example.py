"""Laws, labels and a loss as a user writes them, in a file of their own."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import toeplitz

from leml_solver.losses import Loss
from simulations import FeatureLaw, LabelModel, Moments, Outcome


@dataclass(frozen=True)
class UniformSphere(FeatureLaw):
    """x is uniform on the unit sphere: isotropic, bounded, sub-Gaussian with proxy 1/d."""

    n_features: int
    symmetric = True

    @property
    def moments(self):
        return Moments(1.0, 1 / self.n_features, 1 / self.n_features, 1.0, centred=True)

    def sample(self, n, rng):
        g = rng.normal(size=(n, self.n_features))
        return g / np.linalg.norm(g, axis=1, keepdims=True)


@dataclass(frozen=True)
class Autoregressive(FeatureLaw):
    """Centred Gaussian x with covariance rho^|i-j|/d."""

    n_features: int
    rho: float = 0.5
    kind = "gaussian"
    symmetric = True

    @property
    def second_moments(self):
        return toeplitz(self.rho ** np.arange(self.n_features)) / self.n_features

    @property
    def moments(self):
        top = float(np.linalg.norm(self.second_moments, 2))
        return Moments(1.0, top, proxy=top, radius=math.inf, centred=True)

    def sample(self, n, rng):
        root = np.linalg.cholesky(self.second_moments)
        return rng.normal(size=(n, self.n_features)) @ root.T


@dataclass(frozen=True)
class Mystery(FeatureLaw):
    """A law that knows nothing of itself: everything is sampled."""

    n_features: int

    def sample(self, n, rng):
        return rng.gamma(2.0, size=(n, self.n_features)) / self.n_features


@dataclass(frozen=True)
class ProbitSigns(LabelModel):
    """Every label is the sign of the first feature plus Gaussian noise."""

    n_labels: int
    binary = True

    def draw(self, X, rows, columns, rng):
        return np.where(X[rows, 0] + rng.normal(size=rows.size) >= 0, 1.0, -1.0)


@dataclass(frozen=True)
class ThresholdSigns(LabelModel):
    """Every label is the sign of the first feature: discrete, with known probabilities."""

    n_labels: int
    binary = True

    def draw(self, X, rows, columns, rng):
        return np.where(X[rows, 0] >= 0, 1.0, -1.0)

    def outcomes(self, X):
        positive = np.repeat(X[:, :1] >= 0, self.n_labels, axis=1).astype(float)
        return [Outcome(1.0, positive), Outcome(-1.0, 1 - positive)]

    def cross_moments(self, features):
        if features.kind != "gaussian":
            return None
        S = features.second_moments
        # E[sign(g) x] = S e_1 E|g|/Var g with g the first feature
        column = S[:, 0] * math.sqrt(2 / (math.pi * S[0, 0]))
        return np.repeat(column[:, None], self.n_labels, axis=1)


@dataclass(frozen=True)
class Huber(Loss):
    """r^2/2 for |r| <= width, width (|r| - width/2) beyond, r = y - f."""

    width: float = 1.0
    name = "huber"
    curvature = 1.0
    residual = True

    def value(self, y, f):
        inner = np.minimum(np.abs(y - f), self.width)
        return inner * (np.abs(y - f) - inner / 2)

    def derivative(self, y, f):
        return np.clip(f - y, -self.width, self.width)

    def second_derivative(self, y, f):
        return np.where(np.abs(y - f) <= self.width, 1.0, 0.0)

    def conjugate(self, y, u):
        return np.where(np.abs(u) <= self.width, u * (u / 2 + y), np.inf)

    def clip_dual(self, y, u):
        return np.clip(u, -self.width, self.width)

    def dual_scales(self, y, u):
        largest = np.abs(u).max()
        return 0.0, np.inf if largest == 0 else self.width / largest

    def lipschitz(self, prediction_bound, label_bound):
        return min(self.width, prediction_bound + label_bound)

    def range_length(self, prediction_bound, label_bound):
        return float(self.value(label_bound, -prediction_bound))

    def cvxpy_expression(self, y, f, weights):
        import cvxpy

        return weights @ cvxpy.huber(f - y, self.width) / 2
