"""Bayesian compressed sensing for labels, by variational inference; labels may be missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from argument_checks import nonnegative, one_of, positive, positive_integer
from leml_solver.baselines.base import Array, Baseline
from leml_solver.baselines.bayesian_cs_labels import (
    LabelPosterior,
    LabelTerms,
    SparsityPrior,
    update_factorised,
    update_joint,
)
from leml_solver.baselines.bayesian_cs_weights import WeightPosterior
from leml_solver.baselines.constant_feature import with_constant
from leml_solver.labels import Labels
from leml_solver.random_states import solver_seed

__all__ = ["BayesianCSClassifier"]

_UPDATES: dict[str, Callable[..., LabelTerms]] = {
    "factorised": update_factorised,
    "joint": update_joint,
}


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
    posterior : {"factorised", "joint"}
        q(y_i) as a product over labels (L k operations a point and pass) or as one Gaussian with
        its full covariance (L k^2). With full labels it matters in prediction only.
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
    Choices where the original leaves one, or where we differ. The measurements, Gaussian between
    :math:`\Phi y` and :math:`W^T x` with a variance on either side, are integrated out: only the
    sum of the two variances, `noise`, is left, and the bound is tighter. The factorised q(y) is
    ours; `posterior="joint"` is the original's. Labels are Gaussian, not kept in [0, 1]. A new
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

    def __init__(
        self,
        rank: int = 50,
        *,
        noise: float = 0.1,
        weight_variance: float = 1.0,
        prior_shape: float = 1e-6,
        prior_rate: float = 1e-6,
        posterior: str = "factorised",
        fit_intercept: bool = True,
        max_iter: int = 50,
        tol: float = 1e-3,
        inference_iter: int = 20,
        random_state: Any = None,
    ) -> None:
        self.rank = rank
        self.noise = noise
        self.weight_variance = weight_variance
        self.prior_shape = prior_shape
        self.prior_rate = prior_rate
        self.posterior = posterior
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.inference_iter = inference_iter
        self.random_state = random_state

    def _fit(self, X: Any, labels: Labels) -> None:
        k = positive_integer(self.rank, "rank")
        noise, variance = (positive(getattr(self, n), n) for n in ("noise", "weight_variance"))
        one_of(self.posterior, "posterior", tuple(_UPDATES))
        # Checked here, where a mistake is made, and not only where each is used.
        positive_integer(self.max_iter, "max_iter")
        positive_integer(self.inference_iter, "inference_iter")
        nonnegative(self.tol, "tol")
        self._prior()
        positive_integer(self.inference_iter, "inference_iter")
        rng = np.random.default_rng(solver_seed(self.random_state))
        self.Phi_ = rng.standard_normal((k, labels.shape[1])) / np.sqrt(k)
        weights = WeightPosterior.of(with_constant(X, self.fit_intercept), noise, variance)
        if labels.is_full:
            self._fit_full(weights, labels)
        else:
            self._fit_missing(weights, labels)

    def _prior(self) -> SparsityPrior:
        """Return the prior of the precisions."""
        return SparsityPrior(
            positive(self.prior_shape, "prior_shape"), positive(self.prior_rate, "prior_rate")
        )

    def _fit_full(self, weights: WeightPosterior, labels: Labels) -> None:
        """Set q(W), which is exact: every label is clamped."""
        targets = np.asarray(labels.complete @ self.Phi_.T)
        self.W_ = weights.means(targets)
        self.bounds_, self.n_iter_ = [weights.fit_terms(self.W_, targets)], 1

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
        """Improve q(y) and q(alpha) by the update asked for."""
        return _UPDATES[self.posterior](
            posterior, measurements, self.Phi_, float(self.noise), steps
        )

    def _scores(self, X: Any) -> Array:
        measurements = np.asarray(with_constant(X, self.fit_intercept) @ self.W_)
        shape = (measurements.shape[0], self.n_labels_)
        posterior = LabelPosterior.start(np.zeros(shape), np.ones(shape, bool), self._prior())
        self._update(posterior, measurements, self.inference_iter)
        return posterior.mean


def _clamped(labels: Labels, prior: SparsityPrior) -> LabelPosterior:
    """Return the start of training: observed labels at their values, missing ones at 0."""
    values, latent = np.zeros(labels.shape), np.ones(labels.shape, dtype=bool)
    if labels.entries is None:
        raise ValueError("`labels` must have missing entries, got full labels.")
    rows = np.repeat(np.arange(labels.shape[0]), np.diff(labels.entries.by_row.indptr))
    columns = labels.entries.by_row.indices
    values[rows, columns], latent[rows, columns] = labels.entries.values, False
    return LabelPosterior.start(values, latent, prior)


def bound(
    weights: WeightPosterior,
    W: Array,
    Phi: Array,
    posterior: LabelPosterior,
    terms: LabelTerms,
) -> float:
    """Return the evidence lower bound of q(W) = N(W, S), q(y) and q(alpha)."""
    fit = (
        weights.fit_terms(W, posterior.mean @ Phi.T) - 0.5 * terms.measured_variance / weights.noise
    )
    return fit + posterior.prior_terms() + terms.entropy
