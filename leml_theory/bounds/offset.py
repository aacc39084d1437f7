r"""The offset bound: a fast rate for the exact minimisers of the squared loss over a ball.

For *every* sample the minimiser Zhat and any Z0 of the ball have, with H = Zhat - Z0,

.. math:: L(\hat Z) - L(Z_0) \le \sup_{Z_0 + H \in K}
          \{L(Z_0+H) - L(Z_0) + \theta(\langle\hat M, H\rangle - |H|_n^2)\},\quad \theta \ge 0,

since the first-order condition makes the bracket after theta nonnegative at Zhat; here
:math:`|H|_n^2` is the mean of :math:`\langle h_l, x\rangle^2` over the observed entries and
:math:`\hat M` that of :math:`(y - \langle z_{0,l}, x\rangle) x e_l^T`.  Where the second moments of
every label in the sample are at least c > 0 times their expectations and theta > 1/(2c), the
supremum is that of a concave quadratic, and `minimise` bounds it from above by its certificate.
Nothing is symmetrised or truncated, so the constant is one in the limit; the expectation over
samples is taken by Monte Carlo.  Proofs: docs/theory_fast_rates.md.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from argument_checks import nonnegative
from leml_solver import LOSSES, Ball, Labels, Problem, minimise
from leml_theory.arrays import Array
from leml_theory.bounds.bound import Bound
from leml_theory.bounds.complexity import monte_carlo, tabled_bounds
from leml_theory.bounds.failures import radius_fixed, unless
from leml_theory.bounds.setting import BoundValue, RiskSetting
from leml_theory.rademacher import Estimate
from leml_theory.risk import cross_moments, minimum_risk
from simulations.scenario import Sample, Scenario

# Eigenvalues, relative to the largest, that are zero but for rounding.
_ROUNDING = 1e-12
# Multipliers tried, times 1/(2c).
_MULTIPLIERS = np.geomspace(1.02, 20, 40)
# Where the ball leaves out the true Z, a multiplier so much larger is often the better one.
_LARGER = 1.4


@dataclass(frozen=True, slots=True, eq=False)
class _Spectra:
    r"""A sample in coordinates where the second moments of label l are p_l times the identity.

    There the second moments in the sample are p_l diag(values), the unexpected part of Mhat is
    sqrt(p_l) noise and its expectation sqrt(p_l) drift, all of shape (L, k) for second moments of x
    of rank k; `roots`, of shape (L, k, d), has :math:`r_l^T r_l = p_l E xx^T`.
    """

    values: Array
    noise: Array
    drift: Array
    roots: Array

    @property
    def least(self) -> float:
        """The smallest ratio c of second moments in the sample to their expectations."""
        return float(self.values.min())

    @property
    def multiplier(self) -> float:
        """The theta for which the supremum over all Z, the drift left out, is smallest."""
        candidates = _MULTIPLIERS / (2 * self.least)
        spread = 2 * candidates[:, None, None] * self.values - 1
        suprema = (np.square(candidates[:, None, None] * self.noise) / spread).sum(axis=(1, 2))
        return float(candidates[suprema.argmin()])


def offset_supremum(world: Scenario, sample: Sample, ball: Ball, *, gap: float = 0.0) -> float:
    r"""Bound the excess risk of the minimiser of the squared loss on this very sample.

    The smaller of the offset supremum and the largest excess risk in the ball.

    Parameters
    ----------
    world : Scenario
        Where the sample is from; its second and cross moments must be known.
    sample : Sample
        Any number of labels per point, fixed or random.
    ball : Ball
        Over which the risk was minimised.
    gap : float
        How far the empirical *risk* of Zhat may be from its minimum: for every t in (0, 1] the norm
        :math:`|H|_n^2` then counts 1 - t/2 times, and theta gap/t is added.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import TraceBall
    >>> from leml_theory.bounds import offset_supremum
    >>> from simulations import IsotropicGaussian, LinearLabels, Scenario, UniformLabels
    >>> world = Scenario(IsotropicGaussian(3), LinearLabels(np.eye(3)), UniformLabels(3))
    >>> sample = world.sample(3000, np.random.default_rng(0))
    >>> round(offset_supremum(world, sample, TraceBall(3.0)), 4)
    0.0024
    """
    _population(world)  # its error names what is missing
    lowest = minimum_risk(world, LOSSES["squared"], ball)
    spectra = _spectra(world, sample, lowest.Z)
    suprema = _suprema(spectra, ball, lowest.Z, nonnegative(gap, "gap"))
    return lowest.width + min(_largest_excess(world, ball, lowest.Z), *suprema)


def offset_excess(risk: RiskSetting, estimate: Estimate) -> BoundValue:
    """Bound the expected excess risk by a mean of offset suprema plus three standard errors.

    Parameters
    ----------
    risk : RiskSetting
        The loss; the gap of the certificate is in the suprema already.
    estimate : Estimate
        Mean of `offset_supremum` over samples independent of the measured ones.
    """
    bound = monte_carlo(estimate)
    squared = unless(risk.loss == "squared", "needs the squared loss", risk.loss)
    failures = bound.failures + squared + radius_fixed(risk.radius_fixed)
    return BoundValue("offset_excess", bound.value, failures)


OFFSET: Bound[[RiskSetting, Estimate]] = Bound(
    "offset_excess", "offset bound", offset_excess, drawn="if asked"
)


def shown_bounds() -> dict[str, Bound[...]]:
    """Return every bound with a column in results.csv: those on averages, and the offset bound."""
    return {**tabled_bounds(), OFFSET.name: OFFSET}


def _population(world: Scenario) -> tuple[Array, Array]:
    """Return E xx^T and the expectation of y x e_l^T."""
    S, M = world.features.second_moments, cross_moments(world)
    if S is None or M is None:
        raise ValueError(
            "The offset bound needs a world whose E xx^T and E[y x] are known, got "
            f"{world.features!r} and {world.labels!r}."
        )
    return S, M


def _largest_excess(world: Scenario, ball: Ball, best: Array) -> float:
    """Bound L(Z) - L(best) over the ball: its quadratic and its linear part, each by the norms."""
    S, M = _population(world)
    p = world.observation.probabilities
    drift = M - S @ best * p
    reach = ball.radius + float(np.linalg.norm(best))
    quadratic = float(p.max()) * float(np.linalg.norm(S, 2)) * reach**2 / 2
    return quadratic + ball.radius * ball.dual_norm(drift) + float(np.sum(drift * best))


def _spectra(world: Scenario, sample: Sample, best: Array) -> _Spectra:
    """Whiten the features and diagonalise the second moments of every label in the sample."""
    p, (S, M) = world.observation.probabilities, _population(world)
    eigenvalues, vectors = np.linalg.eigh(S)
    kept = eigenvalues > _ROUNDING * eigenvalues[-1]
    root = np.sqrt(eigenvalues[kept])[:, None] * vectors[:, kept].T
    whiten = vectors[:, kept] / np.sqrt(eigenvalues[kept])
    seen, found = _sample_moments(sample, whiten, best)
    expected = (whiten.T @ M).T / p[:, None] - (root @ best).T
    values, bases = np.linalg.eigh(seen / p[:, None, None])
    scale = np.sqrt(p)[:, None]
    drift, mean = (
        scale * np.einsum("lkj,lk->lj", bases, moments)
        for moments in (expected, found / p[:, None])
    )
    roots = scale[:, :, None] * np.einsum("lkj,kd->ljd", bases, root)
    return _Spectra(values, mean - drift, drift, roots)


def _sample_moments(sample: Sample, whiten: Array, best: Array) -> tuple[Array, Array]:
    """Return means over the entries of xx^T and of (y - <z_l, x>) x by label, x whitened."""
    size, rank = sample.X.shape[0] * sample.labels_per_point, whiten.shape[1]
    seen, found = np.zeros((sample.n_labels, rank, rank)), np.zeros((sample.n_labels, rank))
    for label in np.unique(sample.columns):
        entries = sample.columns == label
        X = sample.X[sample.rows[entries]]
        weighted = sample.weights[entries, None] * (X @ whiten)
        seen[label] = weighted.T @ (X @ whiten) / size
        found[label] = weighted.T @ (sample.values[entries] - X @ best[:, label]) / size
    return seen, found


def _suprema(spectra: _Spectra, ball: Ball, best: Array, gap: float) -> list[float]:
    """Bound the offset supremum for some multipliers; infinite if a label lacks a direction."""
    if not spectra.least > _ROUNDING:
        return [math.inf]
    slack = math.sqrt(gap / max(gap, float(np.square(spectra.noise).sum()) / 2)) if gap else 0.0
    shrunk = replace(spectra, values=(1 - slack / 2) * spectra.values)
    added = gap / slack if slack else 0.0
    tried = [shrunk.multiplier]
    if not np.allclose(spectra.drift, 0, rtol=0, atol=_ROUNDING):
        tried.append(_LARGER * shrunk.multiplier)
    return [_supremum(shrunk, ball, best, theta) + theta * added for theta in tried]


def _supremum(spectra: _Spectra, ball: Ball, best: Array, multiplier: float) -> float:
    """Bound the offset supremum of one multiplier, completing the square, by a certificate."""
    n_labels, rank, d = spectra.roots.shape
    spread = np.sqrt(2 * multiplier * spectra.values - 1)
    rows = spread[:, :, None] * spectra.roots
    shift = (multiplier * spectra.noise + (multiplier - 1) * spectra.drift) / spread
    values = np.einsum("lkd,dl->lk", rows, best) + shift
    entries, columns = np.arange(n_labels * rank), np.repeat(np.arange(n_labels), rank)
    labels = Labels.observed(entries, columns, values.ravel(), (entries.size, n_labels))
    problem = Problem(LOSSES["squared"], rows.reshape(-1, d), labels, 1.0)
    result = minimise(problem, ball, start=best)
    return 0.5 * float(np.square(shift).sum()) - result.certificate.lower_bound
