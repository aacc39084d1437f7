"""Exact constrained minimisers on sampled data: excess risk, generalisation gap, certificate."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leml_solver import LOSSES, Ball, FrobeniusBall, Problem, TraceBall, minimise
from leml_theory.bounds import BALLS, RiskSetting, Setting
from leml_theory.measurements.exceedances import exceedances
from leml_theory.measurements.factored import leml_at_radius
from leml_theory.measurements.records import Parameters, Record, record
from leml_theory.rademacher import Estimate
from leml_theory.risk import minimum_risk, population_risk
from leml_theory.worlds import feature_law, label_model, observation_of
from simulations import FeatureLaw, LabelModel, Sample, Scenario

Array = NDArray[np.float64]

# Ten times tighter than the solver's default: the gap is then far below the standard errors.
_RELATIVE_GAP = 1e-7
# The excess of pooled least squares has a fourth moment from n = rank + 8 on; with fewer points a
# mean over draws says little about its expectation.
_HEAVY_TAIL = 7
# Points from which second moments are estimated that a law does not know.
_NEW_POINTS = 100_000


def erm(parameters: Parameters, rng: np.random.Generator) -> list[Record]:
    """Measure excess risk and generalisation gap of both exact minimisers, and of LEML if asked.

    Every trial draws a new true Z, sample and observation pattern.  The radius is given in units
    of the norm of the true Z, the ball's own.  With a `rank`, LEML of that rank is fitted to the
    same samples, its penalty tuned to the trace ball's radius.
    """
    trials = [_trial(parameters, rng) for _ in range(int(parameters["draws"]))]
    label_bound = _largest_label(parameters)
    rows = []
    for ball in (name for name in (*BALLS, "leml") if name in trials[0]):
        found = _Fits(*np.array([trial[ball] for trial in trials]).T)
        common = {
            "certificate_gap": float(found.certificates.max()),
            "radius": float(found.radii.mean()),
            "radius_factor": float(parameters["radius"]),
            "label_bound": label_bound,
        }
        above = _exceedances(ball, parameters, found, label_bound)
        excess, gap = Estimate.of(found.excess), Estimate.of(found.gaps)
        rows.append(record("excess risk", ball, parameters, excess, **common, **above))
        rows.append(record("generalisation gap", ball, parameters, gap, **common))
    if parameters["labels"] == "shared":
        pooled = Estimate.of(np.array([trial["pooled"][0] for trial in trials]))
        prediction = _pooled_prediction(parameters)
        rows.append(record("excess risk", "pooled", parameters, pooled, **prediction))
    return rows


@dataclass(frozen=True, slots=True)
class _Fits:
    """What the trials found for one ball, each of shape (trials,)."""

    excess: Array
    gaps: Array
    certificates: Array
    radii: Array


def _largest_label(parameters: Parameters) -> float:
    """Return the largest |y| of the label model, infinite when it is not known."""
    sizes = int(parameters["d"]), int(parameters["L"])
    labels = label_model(parameters["labels"], *sizes, np.random.default_rng(0))
    return 1.0 if labels.binary else math.inf


def _exceedances(ball: str, parameters: Parameters, found: _Fits, label_bound: float) -> Record:
    """Count the trials above the 1 - delta bound, at the largest radius and certificate gap."""
    law = feature_law(parameters["law"], int(parameters["d"]))
    seen = observation_of(parameters["skew"], int(parameters["L"]), int(parameters["s"]))
    kind = "trace" if ball == "leml" else ball
    n, radius = int(parameters["n"]), float(found.radii.max())
    setting = Setting.of(law, seen, n, radius=radius, ball=kind)
    gap = max(float(found.certificates.max()), 0.0)
    loss = LOSSES[parameters["loss"]]
    risk = RiskSetting.of(loss, setting, label_bound=label_bound, certificate_gap=gap)
    return exceedances(setting, risk, found.excess)


def _pooled_prediction(parameters: Parameters) -> Record:
    """Return the expected excess of pooled least squares, or the reason why no formula holds.

    For Gaussian x whose second moments S have rank r, :math:`E(X^TX)^+ = S^+/(n-r-1)`, and s labels
    per point with noise of variance 1 give r/(2 s (n-r-1)).
    """
    n, s = int(parameters["n"]), int(parameters["s"])
    law = feature_law(parameters["law"], int(parameters["d"]))
    S = law.second_moments
    if law.kind != "gaussian" or S is None:
        return _refused(f"needs Gaussian features, here the law is '{law.kind}'")
    if "observed" in parameters["skew"] or (s > 1 and parameters["skew"] != "uniform"):
        return _refused("needs s different labels at every point, here they may repeat or be fewer")
    rank = int(np.linalg.matrix_rank(S, hermitian=True))
    if n <= rank + _HEAVY_TAIL:
        return _refused(f"needs n > {rank + _HEAVY_TAIL}, here n = {n}")
    return {"predicted": rank / (2 * s * (n - rank - 1))}


def _refused(reason: str) -> Record:
    """Return the columns of a row that has no prediction."""
    return {"predicted": math.nan, "unpredicted": reason}


def _trial(parameters: Parameters, rng: np.random.Generator) -> dict[str, tuple[float, ...]]:
    """Draw one world and one sample; return excess, gap, certificate gap and radius by ball."""
    d, n_labels = int(parameters["d"]), int(parameters["L"])
    labels = label_model(parameters["labels"], d, n_labels, rng)
    seen = observation_of(parameters["skew"], n_labels, int(parameters["s"]))
    world = Scenario(feature_law(parameters["law"], d), labels, seen)
    sample = world.sample(int(parameters["n"]), rng)
    problem = sample.problem(parameters["loss"])
    trace = TraceBall(_unit(TraceBall(1.0), labels) * parameters["radius"])
    frobenius = FrobeniusBall(_unit(FrobeniusBall(1.0), labels) * parameters["radius"])
    balls: dict[str, Ball] = {"trace": trace, "frobenius": frobenius}
    engine = "certified" if problem.loss.smooth else "cvxpy"
    exact = {
        name: minimise(problem, ball, tol=_RELATIVE_GAP, engine=engine)
        for name, ball in balls.items()
    }
    found = {
        name: _judge(world, problem, ball, result.Z, result.certificate.lower_bound, rng)
        for (name, result), ball in zip(exact.items(), balls.values(), strict=True)
    }
    if rank := int(parameters.get("rank", 0)):
        Z = leml_at_radius(problem, trace, rank, exact["trace"].Z)
        lower_bound = exact["trace"].certificate.lower_bound
        found["leml"] = _judge(world, problem, trace, Z, lower_bound, rng)
    if parameters["labels"] == "shared" and labels.coefficients is not None:
        z = labels.coefficients[:, 0]
        found["pooled"] = (_pooled_excess(sample, z, world.features, rng),)
    return found


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
