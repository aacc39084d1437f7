"""Exact constrained minimisers on sampled data: excess risk, generalisation gap, certificate."""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from leml_solver import (
    LOSSES,
    AlternatingOptions,
    Ball,
    FrobeniusBall,
    Problem,
    TraceBall,
    fit_problem,
    minimise,
)
from leml_theory.arrays import Array
from leml_theory.bounds import BALLS, RiskSetting, Setting, minimax_excess, offset_supremum
from leml_theory.measurements.records import Parameters, Record, exceedances, record
from leml_theory.predictions import Predicted, predict_world
from leml_theory.rademacher import Estimate
from leml_theory.risk import cross_moments, minimum_risk, population_risk
from leml_theory.worlds import feature_law, label_model, observation_of
from simulations import FeatureLaw, LabelModel, Sample, Scenario

# Ten times tighter than the solver's default: the gap is then far below the standard errors.
_RELATIVE_GAP = 1e-7
# Samples, none of them measured, over which the offset bound is averaged.
_OFFSET_DRAWS = 12
# Numbers, d^2 L of them, that the offset bound may hold at once: 64 MB.
_MOST_NUMBERS = 1 << 23
# How near LEML's size must be to the radius, relatively: far below the variation between trials.
# The certificate, computed at the returned point, covers what remains.
_SIZE_MET = 1e-3
_TRIES = 6  # of its penalty
_OPTIONS = AlternatingOptions(max_iter=100, tol=1e-8, certify=False)
# Points from which second moments are estimated that a law does not know.
_NEW_POINTS = 100_000


def erm(parameters: Parameters, rng: np.random.Generator) -> list[Record]:
    """Measure excess risk and generalisation gap of both exact minimisers, and of LEML if asked.

    Every trial draws a new true Z, sample and observation pattern.  The radius is given in units
    of the norm of the true Z, the ball's own.  With a `rank`, LEML of that rank is fitted to the
    same samples, its penalty tuned to the trace ball's radius; with the `solver` 'leml' the exact
    minimisers, from which its certificate comes, are not reported.
    """
    trials = [_trial(parameters, rng) for _ in range(int(parameters["draws"]))]
    sizes = int(parameters["d"]), int(parameters["L"])
    labels = label_model(parameters["labels"], *sizes, np.random.default_rng(0))
    label_bound = 1.0 if labels.binary else math.inf  # on |y|
    predicted = _predictions(parameters, rng.spawn(1)[0])
    rows = []
    balls = [name for name in (*BALLS, "leml") if name in trials[0]]
    fits = {ball: _Fits(*np.array([trial[ball] for trial in trials]).T) for ball in balls}
    offsets = _offsets(parameters, fits, rng)
    reported = {"leml": fits["leml"]} if parameters.get("solver") == "leml" else fits
    for ball, found in reported.items():
        common = {
            "certificate_gap": float(found.certificates.max()),
            "radius": float(found.radii.mean()),
            "radius_factor": float(parameters["radius"]),
            "label_bound": label_bound,
        }
        above = _exceedances(ball, parameters, found, label_bound)
        excess, gap = Estimate.of(found.excess), Estimate.of(found.gaps)
        fast = offsets.get(ball, {}) | _minimax(ball, parameters, found)
        columns = {**common, **above, **fast, **predicted.get(ball, {})}
        rows.append(record("excess risk", ball, parameters, excess, **columns))
        rows.append(record("generalisation gap", ball, parameters, gap, **common))
    if parameters["labels"] == "shared":
        pooled = Estimate.of(np.array([trial["pooled"][0] for trial in trials]))
        columns = predicted.get("pooled", {})
        rows.append(record("excess risk", "pooled", parameters, pooled, **columns))
    return rows


@dataclass(frozen=True, slots=True)
class _Fits:
    """What the trials found for one ball, each of shape (trials,)."""

    excess: Array
    gaps: Array
    certificates: Array
    radii: Array


def _exceedances(ball: str, parameters: Parameters, found: _Fits, label_bound: float) -> Record:
    """Count the trials above the 1 - delta bound, at the largest radius and certificate gap."""
    setting = _setting(ball, parameters, float(found.radii.max()))
    gap = max(float(found.certificates.max()), 0.0)
    loss = LOSSES[parameters["loss"]]
    risk = RiskSetting.of(loss, setting, label_bound=label_bound, certificate_gap=gap)
    return exceedances(setting, risk, found.excess)


def _setting(ball: str, parameters: Parameters, radius: float) -> Setting:
    """Return what the bounds are told of a cell."""
    law = feature_law(parameters["law"], int(parameters["d"]))
    seen = observation_of(parameters["skew"], int(parameters["L"]), int(parameters["s"]))
    kind = "trace" if ball == "leml" else ball
    return Setting.of(law, seen, int(parameters["n"]), radius=radius, ball=kind)


def _offsets(
    parameters: Parameters, fits: dict[str, _Fits], rng: np.random.Generator
) -> dict[str, Record]:
    """Return the columns of the offset bound by ball; none for other losses, unknown moments."""
    world, _ = _drawn(parameters, rng)
    known = world.features.second_moments is not None and cross_moments(world) is not None
    small = world.features.n_features**2 * world.labels.n_labels <= _MOST_NUMBERS
    if parameters["loss"] != "squared" or not (known and small):
        return {}
    suprema = np.empty((_OFFSET_DRAWS, len(BALLS)))
    for draw in suprema:
        world, balls = _drawn(parameters, rng)
        sample = world.sample(int(parameters["n"]), rng)
        for i, ball in enumerate(BALLS):
            gap = max(float(fits[ball].certificates.max()), 0.0)
            draw[i] = offset_supremum(world, sample, balls[ball], gap=gap)
    found = {ball: Estimate.of(values) for ball, values in zip(BALLS, suprema.T, strict=True)}
    return {
        ball: {"offset_mean": e.value, "offset_stderr": e.stderr, "offset_draws": e.draws}
        for ball, e in found.items()
    }


def _minimax(ball: str, parameters: Parameters, found: _Fits) -> Record:
    """Return what no method can beat on all Z of the true rank in the ball, if Z* is in it."""
    labels = _drawn(parameters, np.random.default_rng(0))[0].labels
    place = tuple(parameters[name] for name in ("loss", "law", "skew"))
    inside = place == ("squared", "gaussian", "uniform") and parameters["radius"] >= 1
    Z, noise = labels.coefficients, labels.noise
    if not inside or Z is None or not noise:
        return {}
    setting = _setting(ball, parameters, float(found.radii.min()))
    return {"minimax": minimax_excess(setting, int(np.linalg.matrix_rank(Z)), noise=noise)}


def predicted_excess(parameters: Parameters, rng: np.random.Generator) -> list[Record]:
    """Predict the excess risks of four methods, with nothing measured: a place of a map."""
    world, n, draws = partial(_world, parameters), int(parameters["n"]), int(parameters["draws"])
    found = predict_world(world, n, radius=parameters["radius"], draws=draws, rng=rng)
    return [
        record("predicted excess", name, parameters, Estimate(one.excess, one.stderr, draws))
        for name, one in found.items()
        if not one.reason
    ]


def _predictions(parameters: Parameters, rng: np.random.Generator) -> dict[str, Record]:
    """Return for every method the columns that say what is predicted, or why nothing is."""
    if parameters["loss"] != "squared":
        return {}
    world, n = partial(_world, parameters), int(parameters["n"])
    found = predict_world(world, n, radius=parameters["radius"], rng=rng)
    if (rank := int(parameters.get("rank", 0))) < found["trace"].rank:
        reason = f"needs k >= {found['trace'].rank}, the trace minimiser's rank, here k = {rank}"
        found["leml"] = Predicted(reason=reason)
    return {
        name: {
            "predicted": one.excess,
            "predicted_stderr": one.stderr,
            "prediction": one.kind,
            "unpredicted": one.reason,
        }
        for name, one in {"leml": found["trace"], **found}.items()
    }


def _world(parameters: Parameters, rng: np.random.Generator) -> Scenario:
    """Draw the true Z of one world."""
    d, n_labels = int(parameters["d"]), int(parameters["L"])
    labels = label_model(parameters["labels"], d, n_labels, rng)
    seen = observation_of(parameters["skew"], n_labels, int(parameters["s"]))
    return Scenario(feature_law(parameters["law"], d), labels, seen)


def _trial(parameters: Parameters, rng: np.random.Generator) -> dict[str, tuple[float, ...]]:
    """Draw one world and one sample; return excess, gap, certificate gap and radius by ball."""
    world, balls = _drawn(parameters, rng)
    labels = world.labels
    sample = world.sample(int(parameters["n"]), rng)
    problem = sample.problem(parameters["loss"])
    engine = "certified" if problem.loss.smooth else "cvxpy"
    exact = {
        name: minimise(problem, ball, tol=_RELATIVE_GAP, engine=engine)
        for name, ball in balls.items()
    }
    found = {}
    for name, result in exact.items():
        lower_bound = result.certificate.lower_bound
        found[name] = _judge(world, problem, balls[name], result.Z, lower_bound, rng)
    if rank := int(parameters.get("rank", 0)):
        trace = TraceBall(balls["trace"].radius)
        Z = leml_at_radius(problem, trace, rank, exact["trace"].Z)
        lower_bound = exact["trace"].certificate.lower_bound
        found["leml"] = _judge(world, problem, trace, Z, lower_bound, rng)
    if parameters["labels"] == "shared" and labels.coefficients is not None:
        z = labels.coefficients[:, 0]
        found["pooled"] = (_pooled_excess(sample, z, world.features, rng),)
    return found


def _drawn(parameters: Parameters, rng: np.random.Generator) -> tuple[Scenario, dict[str, Ball]]:
    """Draw a world with a new true Z; return it with the balls, in units of the norm of that Z."""
    world = _world(parameters, rng)
    factor = float(parameters["radius"])
    return world, {
        "trace": TraceBall(_unit(TraceBall(1.0), world.labels) * factor),
        "frobenius": FrobeniusBall(_unit(FrobeniusBall(1.0), world.labels) * factor),
    }


def _unit(ball: Ball, labels: LabelModel) -> float:
    """Return the norm of the true Z, or one where the label model has none."""
    return 1.0 if labels.coefficients is None else ball.norm(labels.coefficients)


def _judge(
    world: Scenario,
    problem: Problem,
    ball: Ball,
    Z: Array,
    lower_bound: float,
    rng: np.random.Generator,
) -> tuple[float, ...]:
    """Return excess risk, generalisation gap, certificate gap and radius of a point of the ball.

    No point of the ball has an objective below `lower_bound`, so the gap is a certificate for Z.
    """
    population = population_risk(world, problem.loss, Z, rng=rng).value
    least = minimum_risk(world, problem.loss, ball, rng=rng).upper
    size = problem.X.shape[0] * problem.labels_per_point
    certificate = (problem.objective(Z) - lower_bound) / size
    return population - least, population - problem.risk(Z), certificate, ball.radius


def _pooled_excess(sample: Sample, z: Array, law: FeatureLaw, rng: np.random.Generator) -> float:
    """Return the excess risk of one least-squares predictor fitted to all labels at once.

    It is <error, S error>/2 with S = E xx^T, which is estimated where the law does not know it.
    """
    error = np.linalg.lstsq(sample.X[sample.rows], sample.values, rcond=None)[0] - z
    S = law.second_moments
    if S is None:
        X = law.sample(_NEW_POINTS, rng)
        S = X.T @ X / _NEW_POINTS
    return float(error @ S @ error) / 2


def leml_at_radius(problem: Problem, ball: TraceBall, rank: int, exact: Array) -> Array:
    """Return Z = W H^T of rank k with (|W|^2 + |H|^2)/2 at the radius of the ball, or inside it.

    Parameters
    ----------
    problem : Problem
        The empirical risk.
    ball : TraceBall
        The ball whose radius is to be met.
    rank : int
        k.
    exact : (d, L) array
        The exact minimiser over the ball, whose multiplier is the first penalty tried.
    """
    penalty = max(ball.dual_norm(problem.gradient(exact)), 1e-9 * problem.scale)
    tried: list[tuple[float, float]] = []
    for _ in range(_TRIES):
        found = fit_problem(problem, rank=rank, penalty=penalty, options=_OPTIONS)
        # The trace norm once the factors are balanced.
        size = float(np.square(found.W).sum() + np.square(found.H).sum()) / 2
        if abs(size - ball.radius) <= _SIZE_MET * ball.radius:
            break
        tried.append((math.log(penalty), math.log(max(size, 1e-300))))
        penalty = math.exp(_next_penalty(tried, math.log(ball.radius)))
    return ball.project(found.W @ found.H.T)


def _next_penalty(tried: list[tuple[float, float]], target: float) -> float:
    """Return the next log penalty: a secant step in log-log scale, at most a factor e^2 away."""
    slope = -1.0
    if len(tried) > 1:
        (x0, y0), (x1, y1) = tried[-2:]
        slope = min((y1 - y0) / (x1 - x0), -0.05) if x1 != x0 else -1.0
    x, y = tried[-1]
    return x + float(np.clip((target - y) / slope, -2.0, 2.0))
