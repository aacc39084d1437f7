"""Predictions of fitted minimisers: against closed forms, against measured fits, and refused."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from leml_solver import FrobeniusBall, TraceBall, minimise
from leml_theory import predict, predict_world
from leml_theory.predictions.fitted import Auxiliary, InBall, TracePenalty, solve
from leml_theory.risk import minimum_risk, population_risk
from leml_theory.sweep.experiments import EXPERIMENTS
from leml_theory.worlds import label_model, observation_of
from simulations import (
    AnisotropicGaussian,
    BernoulliEntries,
    IsotropicGaussian,
    LabelModel,
    LinearLabels,
    RademacherVectors,
    Scenario,
    UniformLabels,
    WeightedLabels,
)


def auxiliary(rng, *, d=6, n_labels=5, points=40, rank=2):
    """Return a small auxiliary problem with anisotropic features and uneven counts."""
    truth = rng.normal(size=(d, rank)) @ rng.normal(size=(rank, n_labels))
    scales = rng.uniform(0.3, 1.0, size=(d, 1))
    counts = rng.integers(points // 2, points, size=n_labels)
    return Auxiliary.drawn(truth, scales, counts, 0.7, rng)


def drawn_world(labels, d, n_labels, skew, rng):
    """Draw a world with isotropic features."""
    model = label_model(labels, d, n_labels, rng)
    return Scenario(IsotropicGaussian(d), model, observation_of(skew, n_labels))


def test_the_gradient_is_that_of_the_value():
    rng = np.random.default_rng(0)
    problem = auxiliary(rng)
    Z, E = rng.normal(size=(2, 6, 5))
    step = 1e-5
    slope = (problem.evaluate(Z + step * E)[0] - problem.evaluate(Z - step * E)[0]) / (2 * step)
    # central differences: relative error of the order of step^2 and rounding over step
    assert np.vdot(problem.evaluate(Z)[1], E) == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("ball", [TraceBall, FrobeniusBall])
def test_no_point_of_the_ball_is_below_the_solution_by_more_than_its_gap(ball):
    rng = np.random.default_rng(1)
    problem = auxiliary(rng)
    inside = InBall(ball(0.6 * ball(1.0).norm(problem.truth)))
    found = solve(problem, inside)
    assert found.converged
    assert inside.ball.norm(found.Z) <= inside.ball.radius * (1 + 1e-12)
    for size in (1e-3, 1e-1, 1.0):
        other = inside.ball.project(found.Z + size * rng.normal(size=found.Z.shape))
        assert problem.evaluate(other)[0] >= found.value - found.gap


def test_a_penalty_gives_the_point_of_the_ball_whose_multiplier_it_is():
    problem = auxiliary(np.random.default_rng(2))
    ball = TraceBall(0.6 * TraceBall(1.0).norm(problem.truth))
    inside = solve(problem, InBall(ball))
    multiplier = ball.dual_norm(problem.evaluate(inside.Z)[1])
    found = solve(problem, TracePenalty(multiplier))
    # the value differs by the two gaps, the points by their roots
    assert found.converged
    assert ball.norm(found.Z) == pytest.approx(ball.radius, rel=0.01)
    assert found.value == pytest.approx(inside.value, rel=0.01)


def test_without_a_constraint_it_is_least_squares():
    n, d, n_labels = 6000, 8, 5
    found = predict(n, d, n_labels, radius=30.0)
    # two thousandths: 1/2 of d/(n_l - d - 1/2) for d/(n_l - d - 1), and the gap
    assert found["trace"].excess == pytest.approx(found["separate"].excess, rel=2e-3)
    assert found["frobenius"].excess == pytest.approx(found["separate"].excess, rel=2e-3)
    degrees = d * n_labels / n
    assert found["trace"].training == pytest.approx((1 - degrees) / 2, rel=2e-3)


def test_of_one_label_both_balls_are_the_same():
    found = predict(300, 10, 1)
    assert found["trace"].excess == pytest.approx(found["frobenius"].excess, rel=1e-6)


def test_a_ball_that_shrinks_to_zero_has_no_excess():
    found = predict(2000, 8, 8, radius=1e-3)
    assert 0 <= found["trace"].excess < 1e-3
    assert 0 <= found["frobenius"].excess < 1e-3


WORLDS = {
    "well specified": (partial(drawn_world, "rank-1", 16, 16, "uniform"), 1024, 1.0),
    "misfit": (partial(drawn_world, "rank-1", 16, 16, "uniform"), 1024, 0.5),
    "Zipf labels": (partial(drawn_world, "rank-3", 12, 8, "zipf:1.0"), 1500, 0.7),
    "anisotropic": (
        lambda rng: Scenario(
            AnisotropicGaussian(tuple(0.8 ** np.arange(12))),
            label_model("rank-1", 12, 8, rng),
            UniformLabels(8),
        ),
        800,
        1.0,
    ),
}


@pytest.mark.parametrize("name", WORLDS)
def test_measured_minimisers_have_the_predicted_excess(name):
    world, n, factor = WORLDS[name]
    predicted = predict_world(world, n, radius=factor, draws=100, rng=np.random.default_rng(5))
    rng, draws = np.random.default_rng(6), 60
    measured = {"trace": np.empty(draws), "frobenius": np.empty(draws)}
    for i in range(draws):
        scenario = world(rng)
        problem = scenario.sample(n, rng).problem("squared")
        for ball in (TraceBall, FrobeniusBall):
            inside = ball(factor * ball(1.0).norm(scenario.labels.coefficients))
            Z = minimise(problem, inside).Z
            risk = population_risk(scenario, problem.loss, Z).value
            key = "trace" if ball is TraceBall else "frobenius"
            measured[key][i] = risk - minimum_risk(scenario, problem.loss, inside).upper
    for key, values in measured.items():
        one = predicted[key]
        assert one.kind == "sharp"
        error = np.hypot(values.std(ddof=1) / np.sqrt(draws), one.stderr)
        # 'sharp' is within 3 %; the rest is chance of either side
        assert abs(values.mean() - one.excess) <= 0.03 * one.excess + 3.5 * error, key


def test_pooled_least_squares_with_misfit_has_the_predicted_excess():
    rng = np.random.default_rng(7)
    n, d, n_labels, draws = 200, 6, 4, 400
    Z = rng.normal(size=(d, n_labels))
    world = Scenario(IsotropicGaussian(d), LinearLabels(Z, 0.5), UniformLabels(n_labels))
    values = np.empty(draws)
    for i in range(draws):
        sample = world.sample(n, rng)
        b = np.linalg.lstsq(sample.X[sample.rows], sample.values, rcond=None)[0]
        values[i] = np.square(b[:, None] - Z).sum() / (2 * d * n_labels)
    predicted = predict_world(world, n, draws=2, rng=rng)["pooled"]
    error = values.std(ddof=1) / np.sqrt(draws)
    # the terms left out are of the second order in d/n
    assert abs(values.mean() - predicted.excess) <= (d / n) ** 2 * predicted.excess + 4 * error


Z = np.ones((4, 8))


@pytest.mark.parametrize(
    ("world", "n", "reason"),
    [
        (Scenario(RademacherVectors(4), LinearLabels(Z), UniformLabels(8)), 999, "needs Gaussian"),
        (Scenario(IsotropicGaussian(4), LinearLabels(Z), UniformLabels(8)), 60, "needs 8 points"),
        (Scenario(IsotropicGaussian(4), LinearLabels(Z), UniformLabels(8, 3)), 99, "needs s <="),
        (Scenario(IsotropicGaussian(4), LinearLabels(Z), BernoulliEntries(8, 0.9)), 99, "needs s"),
        (
            Scenario(IsotropicGaussian(4), LinearLabels(Z[:, :2]), WeightedLabels((0.25, 0.75), 2)),
            99,
            "needs s different labels",
        ),
    ],
)
def test_elsewhere_it_is_refused_with_the_reason(world, n, reason):
    found = predict_world(world, n, rng=np.random.default_rng(0))["trace"]
    assert np.isnan(found.excess)
    assert found.kind == ""
    assert found.reason.startswith(reason)


class OwnLinear(LabelModel):
    """What `LinearLabels` says of itself, by a class of one's own."""

    kind = "linear"

    def __init__(self, Z, noise):
        self.coefficients, self.noise, self.n_labels = Z, noise, Z.shape[1]

    coefficients = None

    def draw(self, X, rows, columns, rng):
        return (X @ self.coefficients)[rows, columns] + self.noise * rng.normal(size=rows.size)


def test_linear_labels_of_one_s_own_are_predicted_like_ours():
    Z = np.random.default_rng(3).normal(size=(4, 6))
    found = [
        predict_world(
            Scenario(IsotropicGaussian(4), labels, UniformLabels(6)),
            600,
            draws=4,
            rng=np.random.default_rng(0),
        )
        for labels in (LinearLabels(Z, 0.7), OwnLinear(Z, 0.7))
    ]
    assert repr(found[0]) == repr(found[1])  # every digit; a NaN in them equals no other
    assert not found[1]["trace"].reason
    unknown = Scenario(IsotropicGaussian(4), OwnLinear(Z, None), UniformLabels(6))
    refused = predict_world(unknown, 600, rng=np.random.default_rng(0))["trace"].reason
    assert (
        refused == "needs linear labels, here they are 'linear', `coefficients` or `noise` unknown"
    )


def test_interpolation_is_refused():
    # 20 points of each of 8 labels in 64 dimensions: a ball of four times the norm interpolates
    found = predict(160, 64, 8, radius=4.0)
    assert "interpolate" in found["trace"].reason
    assert found["separate"].reason.startswith("needs 72 points of every label")


def test_the_map_s_checks_can_fail():
    places = [(n, n_labels) for n in (512, 2048) for n_labels in (1, 4)]
    rows = [
        {"experiment": "X12", "series": "n and L", "n": n, "L": n_labels, "s": 1,
         "ball": ball, "value": value, "stderr": 0.001}
        for n, n_labels in places
        for ball, value in (("trace", 0.1), ("frobenius", 0.1 * n_labels))
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    assert [row.verdict for row in EXPERIMENTS["X12"].check_rows(frame)] == ["agrees", "agrees"]
    swapped = frame.assign(L=5 - frame["L"])
    assert [row.verdict for row in EXPERIMENTS["X12"].check_rows(swapped)] == ["fails", "fails"]


def test_a_measured_point_off_its_prediction_fails():
    row = {"experiment": "X13", "value": 0.1, "stderr": 0.001, "predicted": 0.1}
    row["predicted_stderr"] = 0.001
    near, off = pd.DataFrame([row]), pd.DataFrame([{**row, "value": 0.12}])
    assert EXPERIMENTS["X13"].check_rows(near)[0].verdict == "agrees"
    assert EXPERIMENTS["X13"].check_rows(off)[0].verdict == "fails"
