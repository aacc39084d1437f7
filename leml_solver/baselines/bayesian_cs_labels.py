"""Variational posterior of sparse labels that are seen only through a few noisy measurements.

Per point, measurements z = Phi y + noise; y_j ~ N(0, 1/alpha_j); alpha_j ~ Gamma(shape, rate).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from leml_solver.threads import Rows, even_rows, shared

Array = NDArray[Any]

# The joint posterior holds a few (rows, rank, rank) arrays; so many numbers of each at a time.
_BLOCK_NUMBERS = 2**22


@dataclass(frozen=True, slots=True)
class SparsityPrior:
    """Gamma prior of the precision of a label: shape and rate."""

    shape: float
    rate: float


@dataclass(frozen=True, eq=False)
class LabelPosterior:
    """q(y) and q(alpha) of n points; the arrays are updated in place.

    Attributes
    ----------
    mean, variance : (n, L) arrays
        Moments of q(y_ij); an observed label is its value with variance 0.
    rate : (n, L) array
        q(alpha_ij) = Gamma(prior.shape + 1/2, rate).
    latent : (n, L) boolean array
        Which labels are not observed.
    prior : SparsityPrior
    """

    mean: Array
    variance: Array
    rate: Array
    latent: NDArray[np.bool_]
    prior: SparsityPrior

    @classmethod
    def start(
        cls, observed: Array, latent: NDArray[np.bool_], prior: SparsityPrior
    ) -> LabelPosterior:
        """Return latent labels at 0 with E[alpha] at its prior mean; `observed` is kept."""
        rate = np.full(observed.shape, (prior.shape + 0.5) * prior.rate / prior.shape)
        return cls(observed, np.zeros_like(observed), rate, latent, prior)

    def rows(self, rows: slice) -> LabelPosterior:
        """Return some points; their arrays are views."""
        parts = (self.mean[rows], self.variance[rows], self.rate[rows], self.latent[rows])
        return LabelPosterior(*parts, self.prior)

    @property
    def scales(self) -> Array:
        """1 / E[alpha], and 0 for an observed label: prior variances given q(alpha)."""
        return np.where(self.latent, self.rate / (self.prior.shape + 0.5), 0.0)

    def update_precisions(self) -> None:
        """Set q(alpha) to its optimum given q(y)."""
        self.rate[:] = self.prior.rate + 0.5 * (self.mean**2 + self.variance)

    def prior_terms(self) -> float:
        """Return E[log p(y, alpha)] plus the entropy of q(alpha), over the latent labels."""
        a, prior, latent = self.prior.shape + 0.5, self.prior, self.latent
        rate = self.rate[latent]
        energy = 0.5 * (self.mean[latent] ** 2 + self.variance[latent]) + prior.rate
        constant = prior.shape * np.log(prior.rate) - gammaln(prior.shape) + a + gammaln(a)
        constant -= 0.5 * np.log(2 * np.pi)
        return float(rate.size * constant - a * np.sum(np.log(rate) + energy / rate))


@dataclass(frozen=True, slots=True)
class LabelTerms:
    """What the bound needs of q(y) beyond its means.

    Attributes
    ----------
    entropy : float
        Entropy of q(y), latent labels only.
    measured_variance : float
        Sum over points of the trace of the covariance of Phi y.
    """

    entropy: float
    measured_variance: float


def update_factorised(
    posterior: LabelPosterior, measurements: Array, Phi: Array, noise: float, steps: int = 1
) -> LabelTerms:
    """Improve q(y) = prod_j q(y_j), one label after the other, and q(alpha), `steps` times.

    Parameters
    ----------
    posterior : LabelPosterior
        Updated in place.
    measurements : (n, k) array
        E[z].
    Phi : (k, L) array
        The projection.
    noise : float
        Variance of z - Phi y.
    steps : int
        Passes over the labels of a point.
    """
    residual = measurements - posterior.mean @ Phi.T
    columns, squares = np.ascontiguousarray(Phi.T), np.square(Phi).sum(axis=0)
    state = (posterior.mean, posterior.variance, posterior.rate, posterior.latent)
    prior = (posterior.prior.shape, posterior.prior.rate)
    parts = even_rows(len(residual), float(steps) * residual.size * Phi.shape[1])
    shared(partial(_sweep_rows, residual, columns, squares, noise, prior, steps, state), parts)
    variances = posterior.variance[posterior.latent]
    entropy = 0.5 * float(np.sum(np.log(2 * np.pi * np.e * variances)))
    return LabelTerms(entropy, float((posterior.variance @ squares).sum()))


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _sweep_rows(
    residual: Array,
    columns: Array,
    squares: Array,
    noise: float,
    prior: tuple[float, float],
    steps: int,
    state: tuple[Array, Array, Array, Array],
    rows: Rows,
) -> None:
    """Run `steps` passes over the latent labels of each row, keeping residual = z - Phi mean."""
    mean, variance, rate, latent = state
    shape, n_labels, k = prior[0] + 0.5, columns.shape[0], columns.shape[1]
    for i in range(rows[0], rows[1]):
        r = residual[i]
        for _ in range(steps):
            for j in range(n_labels):
                if latent[i, j]:
                    phi, old, along = columns[j], mean[i, j], 0.0
                    for c in range(k):
                        along += phi[c] * r[c]
                    spread = 1.0 / (shape / rate[i, j] + squares[j] / noise)
                    new = spread * (along + squares[j] * old) / noise
                    for c in range(k):
                        r[c] -= (new - old) * phi[c]
                    mean[i, j], variance[i, j] = new, spread
            for j in range(n_labels):
                rate[i, j] = prior[1] + 0.5 * (mean[i, j] ** 2 + variance[i, j])


def update_joint(
    posterior: LabelPosterior, measurements: Array, Phi: Array, noise: float, steps: int = 1
) -> LabelTerms:
    """Set q(y), one Gaussian with full covariance a point, and q(alpha), `steps` times.

    Parameters and result are those of `update_factorised`. With D the scales, the covariance is
    D - D Phi^T C^-1 Phi D, C = noise I + Phi D Phi^T. C and the diagonal of Phi^T C^-1 Phi are
    linear in D and in C^-1, so that both are one BLAS product for many points.
    """
    k = len(Phi)
    step = max(1, _BLOCK_NUMBERS // k**2)
    terms = np.zeros(2)
    for start in range(0, len(measurements), step):
        rows = slice(start, start + step)
        part = posterior.rows(rows)
        for _ in range(steps):
            found = _joint_step(part, measurements[rows], Phi, noise)
            part.update_precisions()
        terms += found
    return LabelTerms(*map(float, terms))


def _joint_step(part: LabelPosterior, z: Array, Phi: Array, noise: float) -> tuple[float, float]:
    """Set q(y) of some points; return its entropy and the variance of Phi y."""
    k, D = len(Phi), part.scales
    upper = np.triu_indices(k)
    pairs = Phi[upper[0]] * Phi[upper[1]]
    C = np.empty((len(z), k, k))
    C[:, upper[0], upper[1]] = C[:, upper[1], upper[0]] = D @ pairs.T
    C[:, range(k), range(k)] += noise
    inverse = np.linalg.inv(C)
    known = np.where(part.latent, 0.0, part.mean)
    weights = np.matmul(inverse, (z - known @ Phi.T)[:, :, None])[:, :, 0]
    part.mean[:] = known + D * (weights @ Phi)
    doubled = inverse[:, upper[0], upper[1]] * np.where(upper[0] == upper[1], 1.0, 2.0)
    # Rounding may take the difference of nearly equal numbers below 0; a variance is not.
    part.variance[:] = np.maximum(D - D**2 * (doubled @ pairs), 0.0)
    log_scales = np.sum(np.log(2 * np.pi * np.e * D[part.latent]))
    log_det = len(z) * k * np.log(noise) - np.linalg.slogdet(C)[1].sum()
    trace = noise * (len(z) * k - noise * np.trace(inverse, axis1=1, axis2=2).sum())
    return 0.5 * float(log_scales + log_det), float(trace)
