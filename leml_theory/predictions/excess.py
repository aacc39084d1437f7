"""Predicted excess risks of fitted minimisers, before any data is drawn: `predict`.

Squared loss, Gaussian features, linear labels with Gaussian noise, one label per point; with
several labels per point a limit for few of many labels.  Elsewhere the prediction is refused with
the reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from argument_checks import generator, positive, positive_integer
from leml_solver import FrobeniusBall, TraceBall, limit_threads
from leml_theory.arrays import Array
from leml_theory.predictions.fitted import Auxiliary, InBall, Solution, TracePenalty, solve
from leml_theory.rademacher import Estimate
from leml_theory.risk import second_moments
from leml_theory.worlds import observation_of
from simulations import IsotropicGaussian, LinearLabels, Scenario, low_rank_coefficients

World = Callable[[np.random.Generator], Scenario]

_BALLS: dict[str, type[TraceBall] | type[FrobeniusBall]] = {
    "trace": TraceBall,
    "frobenius": FrobeniusBall,
}
# Least squares has a fourth moment from this many points beyond d on.
_HEAVY_TAIL = 7
# Mean points of the rarest label that are needed; sharp from this multiple of d on.
_FEW, _SHARP = 8, 2
# Share of the labels seen of a point up to which they may count as labels of different points.
_SHARE = 0.25
# Entries drawn by default: many small matrices, few large ones.
_ENTRIES = 3 << 16
_FEWEST_DRAWS, _MOST_DRAWS = 3, 64
# Change of the error, relatively, up to which a minimiser counts as one of lower rank.
_CUT = 0.02
_MOST_NUMBERS = 10**8  # of the true Z, a minute and a gigabyte


@dataclass(frozen=True, slots=True)
class Predicted:
    """The predicted excess risk of one method with its Monte Carlo error, or why there is none.

    Attributes
    ----------
    excess, stderr : float
        Mean and standard error; NaN where `reason` says why.
    training : float
        Mean empirical risk of the minimiser; NaN where it is not predicted.
    rank : int
        To this rank the minimiser of every draw can be cut with its error changed by at most 2 %:
        LEML of at least this rank has the same answer.
    kind : str
        'sharp' within 3 % as measured: one label per point, at least 2 d points per label;
        'limit' the value approached as sizes grow; or ''.
    reason : str
        Why nothing is predicted.

    Examples
    --------
    >>> from leml_theory import predict
    >>> predict(100, 16, 16)["frobenius"].reason
    'needs 8 points per label on average, here the rarest label has 6.25'
    """

    excess: float = math.nan
    stderr: float = math.nan
    training: float = math.nan
    rank: int = 0
    kind: str = ""
    reason: str = ""


def predict(
    n: int,
    n_features: int,
    n_labels: int,
    *,
    rank: int = 1,
    noise: float = 1.0,
    radius: float = 1.0,
    skew: str = "uniform",
) -> dict[str, Predicted]:
    """Predict the excess risks of four methods for a true Z of low rank.

    Parameters
    ----------
    n, n_features, n_labels : int
        Points, d and L.
    rank : int
        Rank of the true Z, drawn with |Z|_F = sqrt(d L), so that predictions have variance one.
    noise : float
        Standard deviation of the labels about their predictions.
    radius : float
        Of both balls, in units of the norm of the true Z.
    skew : str
        'uniform', 'heavy:SHARE' or 'zipf:EXPONENT': how often each label is seen.

    Returns
    -------
    dict of str to Predicted
        For 'trace' and 'frobenius', the minimisers over the balls, over the best point of the ball;
        for 'pooled' and 'separate' least squares over the true Z.

    Examples
    --------
    >>> from leml_theory import predict
    >>> found = predict(4096, 16, 16, rank=1)
    >>> round(found["trace"].excess, 3), round(found["frobenius"].excess, 3)
    (0.007, 0.032)
    """
    observation = observation_of(skew, n_labels)
    if n_features * max(n_features, n_labels) > _MOST_NUMBERS:
        raise ValueError("`n_features` times itself or `n_labels` must be at most 1e8: Z is drawn.")

    def world(rng: np.random.Generator) -> Scenario:
        Z = low_rank_coefficients(n_features, n_labels, rank, rng)
        return Scenario(IsotropicGaussian(n_features), LinearLabels(Z, noise), observation)

    return predict_world(world, n, radius=radius, rng=np.random.default_rng(0))


def predict_world(
    world: Scenario | World,
    n: int,
    *,
    radius: float = 1.0,
    penalty: float | None = None,
    draws: int | None = None,
    rng: np.random.Generator,
) -> dict[str, Predicted]:
    """Predict the excess risks of four methods in a world of your own.

    Parameters
    ----------
    world : Scenario or callable
        Gaussian features, linear labels with any true Z, and few labels seen of a point; or a
        function that draws such a world, to average over worlds.
    n : int
        Points.
    radius : float
        Of both balls, in units of the norm of the true Z.
    penalty : float, optional
        With it the trace norm is penalised beside the sum of losses, and its radius is not used.
    draws : int, optional
        Draws of the auxiliary problem; by default the more the smaller the matrices are.
    rng : Generator
        Randomness.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_theory import predict_world
    >>> from simulations import AnisotropicGaussian, LinearLabels, Scenario, UniformLabels
    >>> features = AnisotropicGaussian((0.5, 0.3, 0.2))
    >>> world = Scenario(features, LinearLabels(np.ones((3, 4))), UniformLabels(4))
    >>> found = predict_world(world, 1000, rng=np.random.default_rng(0))
    >>> round(found["pooled"].excess * 1000, 3)  # 3/(2 (1000 - 3 - 1)) in thousandths
    1.506
    """
    make = world if callable(world) else lambda _: world
    positive_integer(n, "n")
    factor, noise = positive(radius, "radius"), generator(rng)
    first = make(noise)
    if reason := _refusal(first):
        return dict.fromkeys((*_BALLS, "pooled", "separate"), Predicted(reason=reason))
    size = first.features.n_features * first.labels.n_labels
    number = int(np.clip(_ENTRIES // size, _FEWEST_DRAWS, _MOST_DRAWS))
    if draws is not None:
        number = positive_integer(draws, "draws")
    with limit_threads(1):  # matrices are small: a second thread would wait by spinning
        problems = [_Draw.of(make(noise), n, noise) for _ in range(number)]
        found = {name: _averaged(problems, partial(_in_ball, name, factor)) for name in _BALLS}
        if penalty is not None:
            weight = positive(penalty, "penalty")
            found["trace"] = _averaged(problems, partial(_penalised, weight))
    return {**found, "pooled": _pooled(problems, n), "separate": _separate(problems)}


def _refusal(world: Scenario) -> str:
    """Return why nothing can be predicted in this kind of world, or nothing."""
    if world.features.kind != "gaussian":
        return f"needs Gaussian features, here the law is '{world.features.kind}'"
    labels = world.labels
    if labels.kind != "linear" or labels.coefficients is None or labels.noise is None:
        known = ", `coefficients` or `noise` unknown" if labels.kind == "linear" else ""
        return f"needs linear labels, here they are '{labels.kind}'{known}"
    if world.features.second_moments is None:
        return "needs a law whose E xx^T is known"
    uniform = np.ptp(world.observation.probabilities) == 0
    if world.observation.labels_per_point > 1 and not uniform:
        return "needs s different labels at every point, here they may repeat"
    return ""


@dataclass(frozen=True, slots=True)
class _Draw:
    """One world with its label counts and Gaussian vectors."""

    problem: Auxiliary
    counts: NDArray[np.int64]
    shares: Array
    labels_per_point: float

    @classmethod
    def of(cls, world: Scenario, n: int, rng: np.random.Generator) -> _Draw:
        """Draw the counts and the Gaussian vectors of a world."""
        labels, observation = world.labels, world.observation
        if labels.coefficients is None or labels.noise is None:
            raise TypeError(f"`world` must draw linear labels, got {type(labels).__name__}.")
        variances, vectors = np.linalg.eigh(second_moments(world.features))
        counts = observation.counts(round(n * observation.labels_per_point), rng)
        scales = np.sqrt(np.maximum(variances, 0.0))[:, None]
        truth = vectors.T @ labels.coefficients
        problem = Auxiliary.drawn(truth, scales, counts, labels.noise, rng)
        return cls(problem, counts, observation.probabilities, observation.labels_per_point)

    def rank_needed(self, Z: Array) -> int:
        """Return the smallest rank that leaves the error of Z within 2 %, if not full."""
        U, sigma, Vt = np.linalg.svd(Z, full_matrices=False)
        rank = int(np.count_nonzero(sigma > 1e-9 * sigma[0]))
        error = self.problem.error(Z, self.shares)
        while rank > 1 and sigma[-1] <= 1e-9 * sigma[0]:
            cut = (U[:, : rank - 1] * sigma[: rank - 1]) @ Vt[: rank - 1]
            if abs(self.problem.error(cut, self.shares) - error) > _CUT * error:
                break
            rank -= 1
        return rank

    @property
    def dimensions(self) -> int:
        """Rank of E xx^T, which is d but for degenerate laws."""
        scales = self.problem.scales
        return int(np.count_nonzero(scales > 1e-7 * scales.max()))


def _averaged(draws: list[_Draw], fit: Callable[[_Draw], tuple[float, Solution]]) -> Predicted:
    """Average a minimiser over the draws, unless it interpolates in one of them."""
    n = int(draws[0].counts.sum())
    rarest, s = n * float(draws[0].shares.min()), draws[0].labels_per_point
    if rarest < _FEW:
        here = f"here the rarest label has {rarest:.3g}"
        return Predicted(reason=f"needs {_FEW} points per label on average, {here}")
    if s > max(1.0, _SHARE * draws[0].shares.size):
        return Predicted(reason=f"needs s <= L/4 labels seen of a point, here s = {s:g}")
    rows = []
    for draw in draws:
        excess, found = fit(draw)
        if (draw.problem.slack(found.Z)[draw.counts > 0] <= 0).any():
            return Predicted(reason="needs a minimiser that does not interpolate any label")
        if not found.converged:
            return Predicted(reason=f"the auxiliary problem is solved to {found.gap:.1e} only")
        rows.append((excess, found.value / n, draw.rank_needed(found.Z)))
    excesses, training, ranks = np.array(rows).T
    mean = Estimate.of(excesses)
    kind = "sharp" if s == 1 and rarest >= _SHARP * draws[0].dimensions else "limit"
    return Predicted(mean.value, mean.stderr, float(training.mean()), int(ranks.max()), kind)


def _in_ball(name: str, factor: float, draw: _Draw) -> tuple[float, Solution]:
    """Return the excess over the best point of the ball, and the minimiser over the ball."""
    problem, ball = draw.problem, _BALLS[name]
    inside = InBall(ball(factor * ball(1.0).norm(problem.truth)))
    best = problem.truth
    if factor < 1:
        best = solve(problem.without_noise(draw.shares), inside).Z
        problem = problem.with_misfit(best)
    found = solve(problem, inside)
    return problem.error(found.Z, draw.shares) - problem.error(best, draw.shares), found


def _penalised(weight: float, draw: _Draw) -> tuple[float, Solution]:
    """Return the excess over the true Z, and the minimiser with a trace penalty."""
    found = solve(draw.problem, TracePenalty(weight))
    return draw.problem.error(found.Z, draw.shares), found


def _pooled(draws: list[_Draw], n: int) -> Predicted:
    """Return the excess of one least-squares predictor for all labels over the true Z.

    With misfit v of the best common predictor and r the rank of E xx^T, half of
    v + (noise^2 r/s + v (r + 2))/(n - r - 1): exact for v = 0, where E(X^TX)^+ = S^+/(n - r - 1),
    and for s = 1 to the first order in r/n, which is sharp from n = 8 r on.
    """
    r, s = draws[0].dimensions, draws[0].labels_per_point
    if n <= r + _HEAVY_TAIL:
        return Predicted(reason=f"needs n > {r + _HEAVY_TAIL}, here n = {n}")
    values = np.empty(len(draws))
    for i, draw in enumerate(draws):
        problem = draw.problem
        common = np.outer(problem.truth @ draw.shares, np.ones_like(draw.shares))
        v = 2 * problem.error(common, draw.shares)
        values[i] = (v + (problem.noise**2 * r / s + v * (r + 2)) / (n - r - 1)) / 2
    mean = Estimate.of(values)
    sharp = v < 1e-9 or (s == 1 and n >= 8 * r)
    return Predicted(mean.value, mean.stderr, kind="sharp" if sharp else "limit")


def _separate(draws: list[_Draw]) -> Predicted:
    """Return the excess of least squares for every label alone: noise^2 r/(2(n_l - r - 1))."""
    r, fewest = draws[0].dimensions, min(int(draw.counts.min()) for draw in draws)
    if fewest <= r + _HEAVY_TAIL:
        reason = f"needs {r + _HEAVY_TAIL + 1} points of every label, here one has {fewest}"
        return Predicted(reason=reason)
    values = [x.problem.noise**2 * r / 2 * x.shares @ (1 / (x.counts - r - 1)) for x in draws]
    mean = Estimate.of(np.array(values))
    return Predicted(mean.value, mean.stderr, kind="sharp")
