"""What a bound needs to know about a world and a loss, and what it returns."""

import math
from dataclasses import dataclass
from typing import Any, Self

from argument_checks import nonnegative, one_of, open_probability, positive, positive_integer
from leml_solver.losses import Loss
from leml_theory.bounds.failures import FailedAssumption
from leml_theory.rademacher import BALLS
from simulations.features import FeatureLaw, Moments
from simulations.observation import LabelNumbers, Observation

LAWS = ("gaussian", "rademacher", "other")

# Moments of one law are computed along different routes: relations between them hold to rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class BoundValue:
    """The value of a bound and the assumptions that fail in the setting at hand.

    Parameters
    ----------
    name : str
        Name of the bound.
    value : float
        Value of the formula; infinity where the formula has no finite value.
    failures : tuple of FailedAssumption
        The assumptions that fail, with the numbers.  Empty when the bound is valid.

    Examples
    --------
    >>> from leml_theory import BoundValue, FailedAssumption
    >>> BoundValue("mine", 0.25).valid
    True
    >>> BoundValue("mine", 0.25, (FailedAssumption("needs d >= L", "d = 4 and L = 8"),)).valid
    False
    """

    name: str
    value: float
    failures: tuple[FailedAssumption, ...] = ()

    def __post_init__(self) -> None:
        if math.isnan(self.value):
            raise ValueError("`value` must be a number, infinity for no bound, got nan.")
        for failure in self.failures:
            if not isinstance(failure, FailedAssumption):
                raise TypeError(
                    "`failures` must hold FailedAssumption('needs ...', 'what is the case'), "
                    f"got {failure!r}."
                )

    @property
    def valid(self) -> bool:
        """Whether every assumption holds, so that the value is a true bound."""
        return not self.failures


def extended_nonnegative(value: Any, name: str) -> float:
    """Return `value` as a float that is not negative; infinity means 'no bound'."""
    return math.inf if value == math.inf else nonnegative(value, name)


@dataclass(frozen=True, slots=True)
class Setting:
    """Everything about a world that a bound on a Rademacher average may depend on.

    Parameters
    ----------
    n : int
        Number of points.
    n_features, n_labels : int
        Dimensions d and L.
    labels_per_point : float
        Number s of observed labels per point, in expectation.
    probability_range : tuple of float
        Smallest and largest of the label probabilities, (p, P).
    moments : Moments
        Moments of x, or of (k/s) x where a point shows a random number k of labels, which is how
        it counts in the risk: see `feature_moments`.  The second moment may be infinite.
    law : {"gaussian", "rademacher", "other"}
        Kind of that law: centred Gaussian, independent signs over sqrt(d), or anything else.
    radius : float
        Radius of the ball.
    ball : {"trace", "frobenius"}
        Which ball.
    label_numbers : LabelNumbers, optional
        Law of the number k of labels that a point shows, which depends neither on x nor on which
        labels they are; None where every point shows exactly s labels.
    feature_law : str
        Kind of the law of x itself; by default `law`.

    Examples
    --------
    >>> from leml_theory import Setting
    >>> from simulations import IsotropicGaussian, UniformLabels
    >>> setting = Setting.of(IsotropicGaussian(8), UniformLabels(4), n=100)
    >>> setting.max_probability, setting.moments.second_moment, setting.law
    (0.25, 1.0, 'gaussian')
    """

    n: int
    n_features: int
    n_labels: int
    labels_per_point: float
    probability_range: tuple[float, float]
    moments: Moments
    law: str = "other"
    radius: float = 1.0
    ball: str = "trace"
    label_numbers: LabelNumbers | None = None
    feature_law: str = ""

    def __post_init__(self) -> None:
        positive_integer(self.n, "n")
        positive_integer(self.n_features, "n_features")
        positive_integer(self.n_labels, "n_labels")
        positive(self.labels_per_point, "labels_per_point")
        positive(self.radius, "radius")
        one_of(self.ball, "ball", BALLS)
        one_of(self.law, "law", LAWS)
        object.__setattr__(self, "feature_law", self.feature_law or self.law)
        one_of(self.feature_law, "feature_law", LAWS)
        _check_range(self.probability_range, self.n_labels)
        _check_moments(self.moments, self.n_features)

    @classmethod
    def of(
        cls,
        features: FeatureLaw,
        observation: Observation,
        n: int,
        *,
        radius: float = 1.0,
        ball: str = "trace",
    ) -> Self:
        """Collect the setting of n points of the given laws."""
        probabilities = observation.probabilities
        numbers = None if observation.fixed else observation.label_numbers
        return cls(
            n=n,
            n_features=features.n_features,
            n_labels=observation.n_labels,
            labels_per_point=observation.labels_per_point,
            probability_range=(float(probabilities.min()), float(probabilities.max())),
            moments=numbers.counted(features.moments) if numbers else features.moments,
            law="other" if numbers else features.kind,
            radius=radius,
            ball=ball,
            label_numbers=numbers,
            feature_law=features.kind,
        )

    @property
    def feature_moments(self) -> Moments:
        """Moments of x itself, however often a point counts."""
        numbers = self.label_numbers
        return numbers.counted(self.moments, power=-1) if numbers else self.moments

    @property
    def different_numbers(self) -> FailedAssumption:
        """The failure of bounds for points that all show s labels."""
        needs = "needs the same number of observed labels at every point"
        return FailedAssumption(needs, f"it is random with mean {self.labels_per_point:.4g}")

    @property
    def min_probability(self) -> float:
        """The paper's p."""
        return self.probability_range[0]

    @property
    def max_probability(self) -> float:
        """The paper's P."""
        return self.probability_range[1]


@dataclass(frozen=True, slots=True)
class RiskSetting:
    """What a bound on a risk needs to know about the loss and the minimiser.

    Parameters
    ----------
    loss : str
        Name of the loss.
    lipschitz : float
        Lipschitz constant C in the prediction, on the ball and the support of x; may be infinite.
    loss_range : float
        Length B of an interval that holds all values of the loss there; may be infinite.
    delta : float
        A bound with high probability may fail with this probability.
    certificate_gap : float
        How far the empirical *risk* of the minimiser may be from its minimum: the gap of the
        certificate divided by n s.
    radius_fixed : bool
        Whether the radius was fixed before the data were seen.

    Examples
    --------
    >>> from leml_solver.losses import LOSSES
    >>> from leml_theory import RiskSetting, Setting
    >>> from simulations import RademacherVectors, UniformLabels
    >>> setting = Setting.of(RademacherVectors(8), UniformLabels(4), n=100, radius=2.0)
    >>> RiskSetting.of(LOSSES["squared"], setting).lipschitz
    3.0
    """

    loss: str
    lipschitz: float
    loss_range: float = math.inf
    delta: float = 0.05
    certificate_gap: float = 0.0
    radius_fixed: bool = True

    def __post_init__(self) -> None:
        extended_nonnegative(self.lipschitz, "lipschitz")
        extended_nonnegative(self.loss_range, "loss_range")
        open_probability(self.delta, "delta")
        nonnegative(self.certificate_gap, "certificate_gap")

    @classmethod
    def of(
        cls,
        loss: Loss,
        setting: Setting,
        *,
        label_bound: float = 1.0,
        delta: float = 0.05,
        certificate_gap: float = 0.0,
    ) -> Self:
        """Ask the loss for its constants where |f| <= radius * sup|x| and |y| <= label_bound."""
        labels = extended_nonnegative(label_bound, "label_bound")
        predictions = setting.radius * setting.feature_moments.radius
        return cls(
            loss=loss.name,
            lipschitz=loss.lipschitz(predictions, labels),
            loss_range=loss.range_length(predictions, labels),
            delta=delta,
            certificate_gap=certificate_gap,
        )


def _check_range(probability_range: tuple[float, float], n_labels: int) -> None:
    """Raise unless p <= 1/L <= P, as the smallest and largest of L probabilities are."""
    low, high = probability_range
    slack = 1 + _ROUNDING
    if not (0 < low <= slack / n_labels and 1 / (n_labels * slack) <= high <= slack):
        raise ValueError(
            "`probability_range` must hold the smallest and the largest label probability, "
            f"around 1/L = {1 / n_labels:.4g}, got ({low!r}, {high!r})."
        )


def _check_moments(moments: Moments, n_features: int) -> None:
    """Raise when no law of x can have these moments."""
    second = extended_nonnegative(moments.second_moment, "moments.second_moment")
    top = extended_nonnegative(moments.top_eigenvalue, "moments.top_eigenvalue")
    radius = extended_nonnegative(moments.radius, "moments.radius")
    slack = 1 + _ROUNDING
    if not (0 < top <= second * slack and second <= n_features * top * slack):
        raise ValueError(
            "`moments` must have 0 < top_eigenvalue <= second_moment <= d top_eigenvalue, got "
            f"{top!r} and {second!r} with d = {n_features}."
        )
    if second > radius**2 * slack:
        raise ValueError(
            f"`moments` must have second_moment <= radius^2, got {second!r} and {radius!r}."
        )
    if moments.proxy is not None and nonnegative(moments.proxy, "moments.proxy") * slack < top:
        raise ValueError(
            "`moments` must have proxy >= top_eigenvalue, since a proxy is at least the variance, "
            f"got {moments.proxy!r} and {top!r}."
        )
