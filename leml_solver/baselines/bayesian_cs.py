"""Bayesian compressed sensing for labels, by variational inference; labels may be missing."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.special import gammaln

from argument_checks import nonnegative, positive, positive_integer, solver_seed
from leml_solver._linalg.threads import Rows, even_rows, parallel_map
from leml_solver.baselines.base import Baseline, with_constant
from leml_solver.labels import Labels

Array = NDArray[Any]


@dataclass(eq=False, repr=False)
class BayesianCSClassifier(Baseline):
    r"""Bayesian compressed sensing of the labels (Kapoor, Viswanathan and Jain, 2012).

    A random :math:`\Phi` (k, L) compresses the labels of a point into k measurements, on which the
    features are regressed; the labels are sparse a priori. With :math:`w_c \sim N(0, v I)`,
    :math:`y_{ij} \sim N(0, 1/\alpha_{ij})`, :math:`\alpha_{ij} \sim Gamma(a, b)` and the potential
    :math:`\exp(-|\Phi y_i - W^T x_i|^2 / (2 \sigma^2))` for each point, q(W), q(y) and
    :math:`q(\alpha)` are improved in turn, so that the evidence lower bound never falls. Observed
    labels are clamped to 0 or 1, missing ones are latent variables like those of a new point. The
    score of a label is the mean of q(y) given q(W).

    Memory in `fit` beyond X is min(n, d)^2, and a few n x L arrays if labels are missing.

    Paper: Section 5.

    Parameters
    ----------
    rank : int
        k, the number of measurements.
    noise : float
        :math:`\sigma^2`, in units of a label: columns of :math:`\Phi` have length about 1.
    weight_variance : float
        v; the regression on full labels is ridge regression with penalty noise / v. The original
        has 1. Where most labels are missing, latent labels near 0 pull the regression down with
        them, and a much smaller v, chosen by validation, is needed (about 1e-4 on bibtex).
    prior_shape, prior_rate : float
        a and b. Small ones are the usual sparse prior; large ones fix every precision at a / b.
    fit_intercept : bool
        Append a constant feature, whose weights have the prior of the others.
    max_iter : int
        Passes over q(W), q(y) and q(alpha) while fitting to missing labels; full labels need one.
    tol : float
        Stop when a pass raises the bound by less than this, per missing label.
    inference_iter : int
        Passes over q(y) and q(alpha) in prediction.
    random_state : int, RandomState, Generator or None
        Where :math:`\Phi` comes from.

    Attributes
    ----------
    Phi_ : (k, L) array
        Independent N(0, 1/k) entries.
    W_ : (d, k) or (d + 1, k) array
        E[W]; the constant feature is the last.
    bounds_ : list of float
        The evidence lower bound after each pass; of full labels, their log evidence.
    n_iter_ : int
        Passes made.

    Notes
    -----
    Choices that the original leaves open, or where we differ. The measurements, Gaussian between
    :math:`\Phi y` and :math:`W^T x` with a variance on either side, are integrated out: only the
    sum of the two variances, `noise`, is left, and the bound is tighter. q(y) is a
    product over labels, L k operations per point and pass, where the original has one Gaussian
    with its full covariance. Labels are Gaussian, not kept in [0, 1]. A new
    point starts from latent labels 0 and the prior mean of its precisions, and makes a fixed
    number of passes: scores do not depend on the other points. More passes mean sparser scores,
    which helps the Hamming loss and hurts the ranking. Labels above 0.5 are predicted.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver.baselines import BayesianCSClassifier
    >>> Y = np.array([[1, 0, 0], [1, np.nan, 0], [0, 1, 0], [0, 1, 0]])
    >>> X = np.repeat(np.eye(2), 2, axis=0)
    >>> model = BayesianCSClassifier(rank=3, noise=0.01, random_state=0).fit(X, Y)
    >>> model.predict(np.eye(2))
    array([[1, 0, 0],
           [0, 1, 0]])
    """

    takes_missing: ClassVar[bool] = True

    rank: int = 50
    _: KW_ONLY
    noise: float = 0.1
    weight_variance: float = 1.0
    prior_shape: float = 1e-6
    prior_rate: float = 1e-6
    fit_intercept: bool = True
    max_iter: int = 50
    tol: float = 1e-3
    inference_iter: int = 20
    random_state: Any = None

    def _fit(self, X: Any, labels: Labels) -> None:
        k = positive_integer(self.rank, "rank")
        noise, variance = (positive(getattr(self, n), n) for n in ("noise", "weight_variance"))
        # Checked here, so that `fit` reports a mistake, and not only where each is used.
        positive_integer(self.max_iter, "max_iter")
        positive_integer(self.inference_iter, "inference_iter")
        nonnegative(self.tol, "tol")
        self._prior()
        rng = np.random.default_rng(solver_seed(self.random_state))
        self.Phi_ = rng.standard_normal((k, labels.shape[1])) / np.sqrt(k)
        weights = WeightPosterior.of(with_constant(X, self.fit_intercept), noise, variance)
        if labels.is_full:
            targets = np.asarray(labels.complete @ self.Phi_.T)
            self.W_ = weights.means(targets)  # exact: every label is clamped
            self.bounds_, self.n_iter_ = [weights.fit_terms(self.W_, targets)], 1
        else:
            self._fit_missing(weights, labels)

    def _prior(self) -> SparsityPrior:
        return SparsityPrior(
            positive(self.prior_shape, "prior_shape"), positive(self.prior_rate, "prior_rate")
        )

    def _fit_missing(self, weights: WeightPosterior, labels: Labels) -> None:
        """Improve q(W), q(y) of the missing labels and q(alpha) in turn."""
        posterior = _clamped(labels, self._prior())
        n_latent, passes = max(1, int(posterior.latent.sum())), range(1, self.max_iter + 1)
        self.bounds_ = []
        for self.n_iter_ in passes:
            self.W_ = weights.means(posterior.mean @ self.Phi_.T)
            terms = self._update(posterior, np.asarray(weights.X @ self.W_), 1)
            self.bounds_.append(bound(weights, self.W_, self.Phi_, posterior, terms))
            if len(self.bounds_) > 1 and self.bounds_[-1] - self.bounds_[-2] <= self.tol * n_latent:
                break

    def _update(self, posterior: LabelPosterior, measurements: Array, steps: int) -> LabelTerms:
        return update_labels(posterior, measurements, self.Phi_, float(self.noise), steps)

    def _scores(self, X: Any) -> Array:
        measurements = np.asarray(with_constant(X, self.fit_intercept) @ self.W_)
        shape = (measurements.shape[0], self.n_labels_)
        posterior = LabelPosterior.start(np.zeros(shape), np.ones(shape, bool), self._prior())
        self._update(posterior, measurements, self.inference_iter)
        return posterior.mean


@dataclass(frozen=True, eq=False)
class WeightPosterior:
    """q(W) = prod_c N(w_c, S) with S = (X^T X / noise + I / variance)^-1.

    One Cholesky factor of the smaller Gram matrix of X plus noise / variance on its diagonal serves
    all measurements and iterations.
    """

    X: Any
    factor: Any
    noise: float
    variance: float

    @classmethod
    def of(cls, X: Any, noise: float, variance: float) -> WeightPosterior:
        """Factorise for features X (n, d), dense or CSR."""
        gram = X.T @ X if X.shape[1] <= X.shape[0] else X @ X.T
        gram = gram.toarray() if sparse.issparse(gram) else np.asarray(gram)
        gram[np.diag_indices_from(gram)] += noise / variance
        return cls(X, linalg.cho_factor(gram, overwrite_a=True), noise, variance)

    def means(self, targets: Array) -> Array:
        """Return E[W] (d, k), the ridge regression of E[z] (n, k) on X."""
        if self.X.shape[1] <= self.X.shape[0]:  # the factor is that of X^T X
            return np.asarray(linalg.cho_solve(self.factor, np.asarray(self.X.T @ targets)))
        return np.asarray(self.X.T @ linalg.cho_solve(self.factor, targets))

    def fit_terms(self, W: Array, targets: Array) -> float:
        """Return E[log p(targets | W)] + E[log p(W)] plus the entropy of q(W).

        `targets` are taken as known; their variance is subtracted from the bound elsewhere. At
        W = means(targets) this is the log evidence log N(targets; 0, noise I + variance X X^T).
        """
        n, k = targets.shape
        misfit = np.sum(np.square(targets - self.X @ W)) / self.noise
        size = np.sum(np.square(W)) / self.variance
        diagonal = np.diag(self.factor[0])
        shrink = 2 * np.sum(np.log(diagonal)) - diagonal.size * np.log(self.noise / self.variance)
        constant = k * (shrink + n * np.log(2 * np.pi * self.noise))
        return -0.5 * float(misfit + size + constant)


class SparsityPrior(NamedTuple):
    """Gamma prior of the precision of a label: shape and rate."""

    shape: float
    rate: float


class LabelPosterior(NamedTuple):
    """q(y) and q(alpha) of n points; the arrays are updated in place."""

    # (n, L): moments of q(y_ij); an observed label is its value with variance 0.
    mean: Array
    variance: Array
    rate: Array  # (n, L): q(alpha_ij) = Gamma(prior.shape + 1/2, rate)
    latent: NDArray[np.bool_]  # (n, L): which labels are not observed
    prior: SparsityPrior

    @classmethod
    def start(
        cls, observed: Array, latent: NDArray[np.bool_], prior: SparsityPrior
    ) -> LabelPosterior:
        """Return latent labels at 0 with E[alpha] at its prior mean; `observed` is kept."""
        rate = np.full(observed.shape, (prior.shape + 0.5) * prior.rate / prior.shape)
        return cls(observed, np.zeros_like(observed), rate, latent, prior)

    def prior_terms(self) -> float:
        """Return E[log p(y, alpha)] plus the entropy of q(alpha), over the latent labels."""
        a, prior, latent = self.prior.shape + 0.5, self.prior, self.latent
        rate = self.rate[latent]
        energy = 0.5 * (self.mean[latent] ** 2 + self.variance[latent]) + prior.rate
        constant = prior.shape * np.log(prior.rate) - gammaln(prior.shape) + a + gammaln(a)
        constant -= 0.5 * np.log(2 * np.pi)
        return float(rate.size * constant - a * np.sum(np.log(rate) + energy / rate))


def _clamped(labels: Labels, prior: SparsityPrior) -> LabelPosterior:
    """Return the start of training: observed labels at their values, missing ones at 0."""
    values, latent = np.zeros(labels.shape), np.ones(labels.shape, dtype=bool)
    if labels.entries is None:
        raise ValueError("`labels` must have missing entries, got full labels.")
    rows = np.repeat(np.arange(labels.shape[0]), np.diff(labels.entries.by_row.indptr))
    columns = labels.entries.by_row.indices
    values[rows, columns], latent[rows, columns] = labels.entries.values, False
    return LabelPosterior.start(values, latent, prior)


@dataclass(frozen=True, slots=True)
class LabelTerms:
    """What the bound needs of q(y) beyond its means."""

    entropy: float  # of q(y), latent labels only
    measured_variance: float  # sum over points of the trace of the covariance of Phi y


def update_labels(
    posterior: LabelPosterior, measurements: Array, Phi: Array, noise: float, steps: int = 1
) -> LabelTerms:
    """Improve q(y) = prod_j q(y_j), one label after the other, and q(alpha), `steps` times.

    The posterior is updated in place; `measurements` (n, k) are E[z], and `noise` is the variance
    of z - Phi y.
    """
    residual = measurements - posterior.mean @ Phi.T
    columns, squares = np.ascontiguousarray(Phi.T), np.square(Phi).sum(axis=0)
    parts = even_rows(len(residual), float(steps) * residual.size * Phi.shape[1])
    parallel_map(partial(_sweep_rows, posterior, residual, columns, squares, noise, steps), parts)
    variances = posterior.variance[posterior.latent]
    entropy = 0.5 * float(np.sum(np.log(2 * np.pi * np.e * variances)))
    return LabelTerms(entropy, float((posterior.variance @ squares).sum()))


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _sweep_rows(
    posterior: LabelPosterior,
    residual: Array,
    columns: Array,
    squares: Array,
    noise: float,
    steps: int,
    rows: Rows,
) -> None:
    """Run `steps` passes over the latent labels of each row, keeping residual = z - Phi mean."""
    mean, variance, rate = posterior.mean, posterior.variance, posterior.rate
    latent, shape = posterior.latent, posterior.prior.shape + 0.5
    n_labels, k = columns.shape
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
                rate[i, j] = posterior.prior.rate + 0.5 * (mean[i, j] ** 2 + variance[i, j])


def bound(
    weights: WeightPosterior, W: Array, Phi: Array, posterior: LabelPosterior, terms: LabelTerms
) -> float:
    """Return the evidence lower bound of q(W) = N(W, S), q(y) and q(alpha)."""
    fit = (
        weights.fit_terms(W, posterior.mean @ Phi.T) - 0.5 * terms.measured_variance / weights.noise
    )
    return fit + posterior.prior_terms() + terms.entropy
