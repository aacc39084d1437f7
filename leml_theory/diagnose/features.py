"""What the theory promises for the features of a data set, and the averages it is about."""

import math
from dataclasses import dataclass, replace

import numpy as np

from argument_checks import generator
from leml_theory.arrays import Array
from leml_theory.bounds import BoundValue, Setting, best_bound, complexity_bounds, paper_points
from leml_theory.diagnose.labels import KnownLabels
from leml_theory.diagnose.points import Points
from leml_theory.rademacher import Estimate, check_draws
from simulations.features import Moments

_LEVEL = math.log(1e6)  # a centred law looks uncentred with a chance of at most 1e-6


@dataclass(frozen=True, slots=True)
class FeatureFacts:
    r"""Averages and promises for one data set, with the moments of the sample.

    Attributes
    ----------
    setting : Setting
        n, d, L, s, (p, P) and the moments of the rows, each counted by its number of labels.
    moments : Moments
        Those of the rows as they are: :math:`\Sigma` the mean of |x|^2, :math:`\sigma_1` the top
        eigenvalue of the mean of x x^T, the largest |x|, and its square as sub-Gaussian proxy, the
        only proxy that the data guarantee.
    averages : dict of str to Estimate
        Rademacher averages given the data of the unit balls, "trace" and "frobenius".
    advantage : Estimate
        Frobenius average over trace average, at least 1; 1 means that nothing is gained.
    mean_share : float
        |mean x|^2 / Sigma, the part of Sigma that centring removes.
    nonnegative : bool
        Whether no feature is negative.
    label_share : float
        Largest share of E|V|_F^2 that one label has: P, unless |x| depends on which labels
        are observed.
    """

    setting: Setting
    moments: Moments
    averages: dict[str, Estimate]
    advantage: Estimate
    mean_share: float
    nonnegative: bool
    label_share: float

    @property
    def top_share(self) -> float:
        """sigma_1 / Sigma: 1/d for isotropic features, 1 for features on one line."""
        return self.moments.top_eigenvalue / self.moments.second_moment

    @property
    def ceiling(self) -> float:
        r"""The advantage that no features with these moments exceed, in root mean squares.

        :math:`1/\sqrt{\max(\sigma_1/\Sigma, P)}`, since :math:`E\|V\|^2` is at least the norms of
        :math:`E VV^T` and :math:`E V^TV`; `label_share` stands for P.
        """
        return 1 / math.sqrt(max(self.top_share, self.label_share))

    @property
    def theorem_4_advantage(self) -> float:
        r"""What the rate of the paper would promise without its constant: below 1 is nothing.

        :math:`\sqrt{\Sigma/(Pd(\eta^2 + \sigma_1))}` with the smallest possible proxy,
        :math:`\eta^2 = \sigma_1`.

        Paper: Theorem 4, Theorem 6.
        """
        share = self.setting.max_probability * self.setting.n_features * 2 * self.top_share
        return 1 / math.sqrt(share)

    @property
    def gaussian_advantage(self) -> float:
        """Theorem 3 over Chevet's bound: what Gaussian features of these moments would promise."""
        bounds = self.bounds
        return bounds["theorem_3"].value / bounds["chevet"].value

    @property
    def promised_advantage(self) -> float:
        """Theorem 3 over the smallest bound that is valid here, at least 1; 1 if none is valid.

        It compares upper bounds: the Frobenius average itself may lie below its own.
        """
        bounds = self.bounds
        return max(1.0, bounds["theorem_3"].value / best_bound(bounds).value)

    @property
    def bounds(self) -> dict[str, BoundValue]:
        """Every bound on the trace ball's average, valid or with the reasons why not.

        Where points show different numbers of labels, it holds if these do not depend on x.
        """
        return complexity_bounds(self.setting)

    @property
    def points_needed(self) -> float:
        """Number of points above which the paper's proof works, with the proxy of the setting.

        Paper: Theorem 6.
        """
        return max(0.0, paper_points(self.setting))


def feature_facts(
    points: Points, labels: KnownLabels, *, draws: int, rng: np.random.Generator
) -> tuple[FeatureFacts, FeatureFacts | None]:
    """Collect the facts of the features as they are and less their mean, with the same signs.

    The second is None where all rows are equal.
    """
    centred = points.centred()
    versions = [points] if centred is None else [points, centred]
    norms = _norms(versions, labels, check_draws(draws), generator(rng))
    made = [
        _facts(version, labels, values, rng)
        for version, values in zip(versions, norms, strict=True)
    ]
    return made[0], (made[1] if len(made) > 1 else None)


def _norms(
    versions: list[Points], labels: KnownLabels, draws: int, rng: np.random.Generator
) -> Array:
    """Draw the norms of V, shape (versions, 2, draws): spectral first, then Frobenius."""
    drawn = []
    for _ in range(draws):
        S = labels.sign_matrix(rng)
        drawn.append([version.signed_norms(S, rng) for version in versions])
    return np.moveaxis(np.array(drawn), 0, -1)


def _facts(
    points: Points, labels: KnownLabels, norms: Array, rng: np.random.Generator
) -> FeatureFacts:
    """Put the facts of one version of the features together."""
    spectral, frobenius = norms / points.shape[0]
    second = points.second_moment()
    mean = np.zeros(1) if points.shift is not None else points.mean
    mean_share = float(mean @ mean) / second
    label_share = labels.largest_share(points.squares())
    moments = _moments(points, mean_share, rng)
    return FeatureFacts(
        setting=_setting(points, labels, moments, label_share, rng),
        moments=moments,
        averages={"trace": Estimate.of(spectral), "frobenius": Estimate.of(frobenius)},
        advantage=_ratio(frobenius, spectral),
        mean_share=mean_share,
        nonnegative=points.nonnegative,
        label_share=label_share,
    )


def _moments(points: Points, mean_share: float, rng: np.random.Generator) -> Moments:
    """Return the moments of the sample."""
    second = points.second_moment()
    top = _top_eigenvalue(points, second, rng)
    radius = math.sqrt(max(float(points.squares().max()), second))
    # What n |mean|^2 / Sigma reaches for a centred law with that chance (Laurent-Massart).
    spread = _LEVEL * top / second
    near = mean_share * points.shape[0] <= 1 + 2 * math.sqrt(spread) + 2 * spread
    return Moments(second, top, radius**2, radius, near and not points.nonnegative)


def _top_eigenvalue(points: Points, second: float, rng: np.random.Generator) -> float:
    """Return sigma_1, which is at least Sigma/d and at most Sigma, up to rounding."""
    return min(max(points.top_eigenvalue(rng), second / points.shape[1]), second)


def _setting(
    points: Points,
    labels: KnownLabels,
    moments: Moments,
    label_share: float,
    rng: np.random.Generator,
) -> Setting:
    """Return the setting of the trace ball with the moments of the sample.

    Its P is no smaller than the share of one label in E|V|_F^2, and its second moments are those of
    the points as often as they count, so that bounds hold given the data.
    """
    (n, d), facts, numbers = points.shape, labels.facts, labels.numbers
    low, high = facts.probability_range
    if numbers:
        factors = labels.counts / labels.counts.mean()
        second = float(np.square(factors) @ points.squares()) / n
        times = points.times(factors)
        top = second if times is None else _top_eigenvalue(times, second, rng)
        moments = replace(numbers.counted(moments), second_moment=second, top_eigenvalue=top)
    return Setting(
        n=n,
        n_features=d,
        n_labels=labels.shape[1],
        labels_per_point=facts.labels_per_point,
        probability_range=(low, max(high, label_share)),
        moments=moments,
        label_numbers=numbers,
    )


def _ratio(numerator: Array, denominator: Array) -> Estimate:
    """Return the ratio of two means of paired draws, with its standard error."""
    ratio = numerator.mean() / denominator.mean()
    spread = Estimate.of((numerator - ratio * denominator) / denominator.mean())
    return Estimate(float(ratio), spread.stderr, spread.draws)
