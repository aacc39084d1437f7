"""The checks of extensions pass what is true, and name what is false."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from extensions_example import (
    Autoregressive,
    Huber,
    Mystery,
    ProbitSigns,
    ThresholdSigns,
    UniformSphere,
)
from scipy.stats import binom

from leml_solver import LOSSES, Absolute, Loss, Squared
from leml_theory.bounds import RISK_BOUNDS, Bound
from leml_theory.checks import Finding, check_bound, check_labels, check_law, check_loss, settle
from simulations import (
    AllOnes,
    AnisotropicGaussian,
    FeatureLaw,
    HeavyTailed,
    IsotropicGaussian,
    LabelModel,
    LinearLabels,
    LogisticLabels,
    Moments,
    NonNegative,
    Outcome,
    Planted,
    RademacherVectors,
    RandomSigns,
    RankOne,
    RareOutlier,
    Support,
)

LAWS = [
    IsotropicGaussian(5),
    IsotropicGaussian(1),
    IsotropicGaussian(3, normalised=False),
    AnisotropicGaussian((1.0, 0.5, 0.1)),
    RademacherVectors(1),
    RademacherVectors(9),
    RademacherVectors(20),
    RankOne(4),
    NonNegative(5),
    HeavyTailed(4),
    HeavyTailed(4, degrees=9.0),
    RareOutlier(0.5, 2.0, 0.1),
    UniformSphere(6),
    Autoregressive(5),
    Mystery(4),
]
D, L = 4, 3
Z = np.random.default_rng(0).normal(size=(D, L))


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.filterwarnings("ignore:.*tails are too heavy")
def test_laws_are_what_they_say(law):
    # With probability 1e-6 a law fails by chance; the draws are always the same.
    findings = check_law(law)
    assert sum(finding.tests for finding in findings) >= law.n_features


@pytest.mark.parametrize("loss", [*LOSSES.values(), Huber(), Huber(0.2)], ids=repr)
def test_losses_are_what_they_say(loss):
    assert len(check_loss(loss)) >= 20


@pytest.mark.parametrize(
    ("labels", "law"),
    [
        (AllOnes(L), NonNegative(D)),
        (RandomSigns(L), IsotropicGaussian(D)),
        (Planted(L, 0.4, head=True), RademacherVectors(D)),
        (LinearLabels(Z), NonNegative(D)),
        (LogisticLabels(Z), IsotropicGaussian(D)),
        (LogisticLabels(Z), NonNegative(D)),
        (ProbitSigns(L), Mystery(D)),
        (ThresholdSigns(L), Autoregressive(D)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_label_models_are_what_they_say(labels, law):
    assert len(check_labels(labels, law)) >= 2


@pytest.mark.filterwarnings("ignore:.*tails are too heavy")
def test_an_honest_law_fails_no_more_often_than_the_level():
    """Sixty runs at level 0.2 would be 28 failures or more less than once in 100,000 times."""
    failures = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        try:
            check_law(NonNegative(3), draws=4000, level=0.2, rng=rng)
        except AssertionError:
            failures += 1
    assert binom.sf(27, 60, 0.2) < 1e-5
    assert failures < 28


@pytest.mark.filterwarnings("ignore:.*tails are too heavy")
def test_what_is_not_claimed_is_not_measured():
    claims = {finding.claim for finding in check_law(Mystery(3))}
    assert not any("covariance" in claim or "proxy" in claim for claim in claims)
    with pytest.warns(UserWarning, match=r"covariance.*tails are too heavy"):
        heavy = {finding.claim: finding for finding in check_law(HeavyTailed(3))}
    assert "tails are too heavy" in heavy["covariance, `second_moments`"].measured


# Laws that lie -----------------------------------------------------------------------------------


class ListOfPoints(UniformSphere):
    def sample(self, n, rng):
        return super().sample(n, rng).tolist()


class NoPoints(UniformSphere):
    def sample(self, n, rng):
        return None


class NoMoments(UniformSphere):
    moments = None


class MomentsInWords(UniformSphere):
    moments = Moments("one", 0.25, None, math.inf, centred=True)


class MeanInAList(UniformSphere):
    mean_vector = (0.0, 0.0, 0.0, 0.0)


class LouderThanItSays(UniformSphere):
    """Its covariance is 1.1 times the true one."""

    @property
    def moments(self):
        honest = super().moments
        return replace(honest, second_moment=1.1, top_eigenvalue=1.1 / self.n_features, proxy=1.1)


class WrongCovariance(Autoregressive):
    @property
    def second_moments(self):
        return 1.1 * super().second_moments

    def sample(self, n, rng):
        return super().sample(n, rng) / math.sqrt(1.1)

    @property
    def moments(self):
        return replace(super().moments, second_moment=1.1)


class WrongCorrelation(Autoregressive):
    def sample(self, n, rng):
        return IsotropicGaussian(self.n_features).sample(n, rng)


class WrongMean(UniformSphere):
    def sample(self, n, rng):
        return super().sample(n, rng) + 0.02


class HiddenMean(NonNegative):
    @property
    def mean_vector(self):
        return 1.05 * super().mean_vector


class WrongTop(Autoregressive):
    @property
    def moments(self):
        return replace(super().moments, top_eigenvalue=0.9 * super().moments.top_eigenvalue)


class WrongRadius(UniformSphere):
    def sample(self, n, rng):
        return super().sample(n, rng) * rng.choice([0.5, math.sqrt(1.75)], size=(n, 1))


class WrongProxy(AnisotropicGaussian):
    @property
    def moments(self):
        return replace(super().moments, proxy=super().moments.top_eigenvalue * 0.7)


@dataclass(frozen=True)
class HeavyWithProxy(FeatureLaw):
    """A uniform mixture of scales whose proxy is said to be its variance."""

    n_features: int

    @property
    def moments(self):
        return replace(IsotropicGaussian(self.n_features).moments, centred=True)

    def sample(self, n, rng):
        scales = rng.choice([0.2, math.sqrt(1.96)], size=(n, 1))
        return IsotropicGaussian(self.n_features).sample(n, rng) * scales


@dataclass(frozen=True)
class StudentWithProxy(FeatureLaw):
    """Power tails: the mean of cosh is that of its largest draw, with as large an error."""

    n_features: int

    @property
    def moments(self):
        return Moments(self.n_features * 5 / 3, 5 / 3, proxy=5 / 3, radius=math.inf, centred=True)

    def sample(self, n, rng):
        return rng.standard_t(5, size=(n, self.n_features))


class TopTooLarge(UniformSphere):
    """Second moments are not claimed, and the top eigenvalue is 1.5 times the true one."""

    @property
    def moments(self):
        return replace(super().moments, top_eigenvalue=1.5 / self.n_features, proxy=1.0)


class NotSymmetric(NonNegative):
    symmetric = True


class NotGaussian(UniformSphere):
    kind = "gaussian"


class GaussianMarginalsOnly(IsotropicGaussian):
    """Every coordinate is Gaussian, but all have one length: not jointly Gaussian."""

    def sample(self, n, rng):
        g = super().sample(n, rng)[:, :1]
        return g * rng.choice([-1.0, 1.0], size=(n, self.n_features))


class NotSigns(RademacherVectors):
    def sample(self, n, rng):
        return IsotropicGaussian(self.n_features).sample(n, rng)


class DependentSigns(RademacherVectors):
    """The last sign is the product of the others: pairwise independent, but not jointly."""

    def sample(self, n, rng):
        X = super().sample(n, rng)
        X[:, -1] = np.sign(X[:, :-1]).prod(axis=1) / math.sqrt(self.n_features)
        return X


class MissingValue(RareOutlier):
    @property
    def support(self):
        return Support(np.array([[self.typical]]), np.array([1.0]))


class WrongProbability(RareOutlier):
    @property
    def support(self):
        return Support(super().support.points, np.array([0.88, 0.12]))


class UnsignedSums(NonNegative):
    def signed_sums(self, counts, rng):
        return np.abs(super().signed_sums(counts, rng))


class LongSums(IsotropicGaussian):
    def signed_sums(self, counts, rng):
        return IsotropicGaussian.signed_sums(self, counts, rng) * 1.1


class SharedSums(IsotropicGaussian):
    """All columns are multiples of one vector."""

    def signed_sums(self, counts, rng):
        V = IsotropicGaussian.signed_sums(self, counts, rng)
        shared = np.repeat(V[:, 1::3], 3, axis=1)
        return shared * np.sqrt(counts)


class OwnRandomness(UniformSphere):
    def sample(self, n, rng):
        return super().sample(n, np.random.default_rng())


class WrongShape(UniformSphere):
    def sample(self, n, rng):
        return super().sample(n, rng).T


LIARS = [
    (LouderThanItSays(5), "covariance, `second_moments`"),
    (WrongCovariance(5), "covariance, `second_moments`"),
    (WrongCorrelation(5), "covariance, `second_moments`"),
    (WrongMean(5), "mean, `mean_vector`"),
    (HiddenMean(5), "mean, `mean_vector`"),
    (WrongTop(5), "`moments.top_eigenvalue`"),
    (WrongRadius(5), "norm, `moments.radius`"),
    (WrongProxy((1.0, 0.5)), "`moments.proxy`: at least the top eigenvalue"),
    (HeavyWithProxy(3), "`moments.proxy`, E cosh"),
    (StudentWithProxy(3), "`moments.proxy`, tails of <x, v>"),
    (TopTooLarge(5), "`moments.top_eigenvalue`: attained"),
    (NotSymmetric(5), "`symmetric`"),
    (NotGaussian(5), "`kind` gaussian"),
    (GaussianMarginalsOnly(5), "`kind` gaussian"),
    (NotSigns(5), "`kind` rademacher: entries"),
    (DependentSigns(5), "`kind` rademacher: independent signs"),
    (MissingValue(0.5, 2.0, 0.1), "`support`: all values of x"),
    (WrongProbability(0.5, 2.0, 0.1), "`support`: probabilities"),
    (UnsignedSums(4), "`signed_sums` of 1: mean zero"),
    (LongSums(4), "`signed_sums` of 12: second moments"),
    (SharedSums(4), "`signed_sums`: independent columns"),
    (OwnRandomness(4), "`sample`: randomness from `rng` alone"),
    (WrongShape(4), "`sample`: shape"),
    (ListOfPoints(4), "`sample`: shape (n, d): list"),
    (NoPoints(4), "`sample`: shape (n, d): NoneType"),
    (NoMoments(4), "`moments`: None"),
    (MomentsInWords(4), "`moments`: Moments(second_moment='one'"),
    (MeanInAList(4), "`mean_vector`: shape (d,): tuple"),
]


@pytest.mark.filterwarnings("ignore:.*tails are too heavy")
@pytest.mark.parametrize(("law", "claim"), LIARS, ids=lambda value: type(value).__name__)
def test_a_law_that_lies_is_found_out_and_the_claim_is_named(law, claim):
    with pytest.raises(AssertionError) as failure:
        check_law(law)
    assert f"{type(law).__name__} is not what it claims to be" in str(failure.value)
    assert f"\n  {claim}" in str(failure.value)


# Losses that lie ---------------------------------------------------------------------------------


class WrongDerivative(Huber):
    def derivative(self, y, f):
        return 1.01 * super().derivative(y, f)


class OneValueForAll(Huber):
    def value(self, y, f):
        return float(super().value(y, f).mean())


class EndlessCurvature(Absolute):
    curvature = math.inf


class NotConvex(Squared):
    def value(self, y, f):
        return np.cos(y - f)

    def derivative(self, y, f):
        return np.sin(y - f)


class WrongSecond(Squared):
    def second_derivative(self, y, f):
        return 2 * super().second_derivative(y, f)


class WrongCurvature(Huber):
    curvature = 0.5


class HiddenKink(Absolute):
    curvature = 1.0


class WrongConjugate(Huber):
    def conjugate(self, y, u):
        return 1.01 * super().conjugate(y, u)


class SmallConjugate(Huber):
    """Right at every derivative of the loss, but finite where it is infinite."""

    def conjugate(self, y, u):
        return u * (u / 2 + y)


class WideClip(Huber):
    def clip_dual(self, y, u):
        return np.clip(u, -2 * self.width, 2 * self.width)


class NarrowClip(Huber):
    def clip_dual(self, y, u):
        return np.clip(u, -0.9 * self.width, 0.9 * self.width)


class WideScales(Huber):
    def dual_scales(self, y, u):
        return 0.0, np.inf


class SmallLipschitz(Huber):
    def lipschitz(self, prediction_bound, label_bound):
        return 0.9 * super().lipschitz(prediction_bound, label_bound)


class SmallRange(Huber):
    def range_length(self, prediction_bound, label_bound):
        return 0.9 * super().range_length(prediction_bound, label_bound)


class NotResidual(Squared):
    def value(self, y, f):
        return super().value(y, f) + 0.1 * np.square(y)


class WrongExpression(Huber):
    def cvxpy_expression(self, y, f, weights):
        return 2 * super().cvxpy_expression(y, f, weights)


class NoLipschitz(Huber):
    def lipschitz(self, prediction_bound, label_bound):
        return None


class OneScale(Huber):
    def dual_scales(self, y, u):
        return 1.0


class MovesLabels(Huber):
    def encode(self, values):
        return np.sign(values)


LYING_LOSSES = [
    (WrongDerivative(), "`derivative`: the slope of `value`"),
    (OneValueForAll(), "`value`: entry by entry: shape ()"),
    (EndlessCurvature(), "`curvature`: None at a kink"),
    (NotConvex(), "convex"),
    (WrongSecond(), "`second_derivative`"),
    (WrongCurvature(), "`curvature`"),
    (HiddenKink(), "`curvature`"),
    (WrongConjugate(), "`conjugate`: equality at the derivative"),
    (SmallConjugate(), "`conjugate`: at least u f - value"),
    (WideClip(), "`clip_dual`: a finite conjugate"),
    (NarrowClip(), "`clip_dual`: keeps what is inside"),
    (WideScales(), "`dual_scales`"),
    (SmallLipschitz(), "`lipschitz`"),
    (SmallRange(), "`range_length`"),
    (NotResidual(), "`residual`"),
    (WrongExpression(), "`cvxpy_expression`"),
    (NoLipschitz(), "`lipschitz`: a number: None"),
    (OneScale(), "`dual_scales`: two numbers: 1.0"),
    (MovesLabels(), "`encode`"),
]


@pytest.mark.parametrize(("loss", "claim"), LYING_LOSSES, ids=lambda value: type(value).__name__)
def test_a_loss_that_lies_is_found_out_and_the_claim_is_named(loss, claim):
    with pytest.raises(AssertionError, match="loss is not what it claims to be") as failure:
        check_loss(loss)
    assert f"\n  {claim}" in str(failure.value)


def test_a_loss_without_an_expression_is_said_to_have_none():
    class Plain(Huber):
        cvxpy_expression = Loss.cvxpy_expression

    found = {finding.claim: finding.measured for finding in check_loss(Plain())}
    assert "not given" in found["`cvxpy_expression`"]


# Label models that lie ---------------------------------------------------------------------------


class WrongCross(LinearLabels):
    def cross_moments(self, features):
        return 1.2 * super().cross_moments(features)


class WrongSquares(LinearLabels):
    def square_moments(self, features):
        return super().square_moments(features) + 0.1


class WrongOutcomes(LogisticLabels):
    def outcomes(self, X):
        half = np.full((len(X), self.n_labels), 0.5)
        return [Outcome(1.0, half), Outcome(0.0, half)]


class TooManyLabels(LinearLabels):
    def draw(self, X, rows, columns, rng):
        return np.ones((3, 3))


class NotBinary(LinearLabels):
    binary = True


class NotLinear(LogisticLabels):
    kind = "linear"


class WrongNoise(LinearLabels):
    square_moments = LabelModel.square_moments

    def draw(self, X, rows, columns, rng):
        exact = np.einsum("ed,ed->e", X[rows], self.Z.T[columns])
        return exact + 1.5 * (super().draw(X, rows, columns, rng) - exact)


@pytest.mark.parametrize(
    ("labels", "claim"),
    [
        (WrongNoise(Z), "`noise`: its square"),
        (WrongCross(Z), "`cross_moments` of label"),
        (WrongSquares(Z), "`square_moments`"),
        (WrongOutcomes(Z), "given x"),
        (TooManyLabels(Z), "`draw`: one label each: (3, 3)"),
        (NotBinary(Z), "`binary`"),
        (NotLinear(Z), "`kind` linear"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_label_model_that_lies_is_found_out(labels, claim):
    with pytest.raises(AssertionError, match="is not what it claims to be") as failure:
        check_labels(labels, IsotropicGaussian(D))
    assert claim in str(failure.value)


def test_the_level_is_shared_by_all_tests():
    found = [Finding("a", "", 0.02, 1), Finding("b", "", 0.5, 9)]
    assert settle("Nobody", found, level=0.1) == found
    with pytest.raises(AssertionError, match="a: "):
        settle("Nobody", found, level=0.3)


def test_a_bound_on_risks_is_refused_in_words():
    with pytest.raises(
        TypeError, match=r"on the Rademacher average.*'mcdiarmid_excess' takes more"
    ):
        check_bound(RISK_BOUNDS["mcdiarmid_excess"])


def test_a_formula_that_raises_is_named_and_no_argument_is_blamed():
    with pytest.raises(AssertionError, match=r"'mine' raised AttributeError: .* no attribute 'nn'"):
        check_bound(Bound("mine", "mine", lambda setting: setting.nn))
