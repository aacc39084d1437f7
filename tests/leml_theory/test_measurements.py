"""Measurements: against brute force, against sharp predictions, and as pure functions of a cell."""

import math

import numpy as np
import pytest

from leml_solver import LOSSES, TraceBall, certify, minimise
from leml_theory.bounds import RiskSetting, Setting
from leml_theory.measurements import MEASUREMENTS, measure
from leml_theory.measurements.minimisers import _trial
from leml_theory.measurements.planted import _excesses, _signal
from leml_theory.measurements.records import exceedances
from leml_theory.runs.cells import Cell
from leml_theory.worlds import feature_law, label_model
from simulations import RademacherVectors, Scenario, UniformLabels, WeightedLabels, heavy_label

SIZES = {"n": 400, "d": 6, "L": 5, "draws": 20}
EXAMPLES = {
    "rademacher": {**SIZES, "law": "gaussian", "skew": "zipf:1.0"},
    "slots": {**SIZES, "law": "rademacher", "labels": "all-ones", "s": 2},
    "worst planted": {**SIZES, "skew": "uniform", "signals": 4},
    "fixed planted": {**SIZES, "rho": 0.5},
    "clipped": {"n": 400, "d": 1, "L": 5, "draws": 20},
    "outlier": {"n": 400, "delta": 0.05, "draws": 500},
    "erm": {
        **SIZES,
        "draws": 2,
        "law": "gaussian",
        "labels": "shared",
        "loss": "squared",
        "skew": "uniform",
        "s": 1,
        "radius": 1.0,
    },
}
EXAMPLES["predicted excess"] = {**EXAMPLES["erm"], "draws": 4}


def test_every_kind_has_an_example():
    assert set(EXAMPLES) == set(MEASUREMENTS)


@pytest.mark.parametrize("kind", EXAMPLES)
def test_a_cell_always_gives_the_same_rows(kind):
    cell = Cell(kind, EXAMPLES[kind], 3)
    assert repr(measure(cell)) == repr(measure(cell))
    assert repr(measure(cell)) != repr(measure(Cell(kind, EXAMPLES[kind], 4)))


@pytest.mark.parametrize("kind", EXAMPLES)
def test_rows_say_where_they_were_measured(kind):
    for row in measure(Cell(kind, EXAMPLES[kind], 0)):
        assert {"quantity", "ball", "n", "d", "L", "P", "radius", "value", "stderr"} <= set(row)
        assert row["n"] == 400
        assert math.isfinite(row["value"])
        assert row["stderr"] >= 0


def test_an_unknown_kind_is_named():
    with pytest.raises(ValueError, match="'nothing'"):
        measure(Cell("nothing", {}, 0))


@pytest.mark.parametrize("shape", [(4, 9), (9, 4)])
@pytest.mark.parametrize("head", [False, True])
def test_planted_excess_is_that_of_the_minimisers(shape, head):
    """Build both minimisers by SVD, and subtract population risks entry by entry."""
    d, n_labels = shape
    rng = np.random.default_rng(1)
    seen = WeightedLabels(heavy_label(n_labels, 0.4)) if head else UniformLabels(n_labels)
    signal = _signal(0.7, d, seen, head)
    V = signal.labels.label_sums(d, seen.counts(200, rng), rng)
    M = np.zeros(shape)
    M[0] = 0.7 / math.sqrt(d) * seen.probabilities
    if head:
        M[0, 1:] = 0
    U, _, Vt = np.linalg.svd(V)
    trace = np.linalg.norm(M) - (M * np.outer(U[:, 0], Vt[0])).sum()
    frobenius = np.linalg.norm(M) - (M * V).sum() / np.linalg.norm(V)
    assert _excesses(V, signal) == pytest.approx((trace, frobenius), rel=1e-9, abs=1e-12)


def test_signs_that_cancel_leave_the_whole_signal_to_be_missed():
    """One feature, one label, an even number of points: V = 0 once gave a division by zero."""
    signal = _signal(0.5, 1, UniformLabels(1), False)
    assert _excesses(np.zeros((1, 1)), signal) == (signal.strength, signal.strength)


@pytest.mark.parametrize("law", ["gaussian", "rademacher", "rank-one"])
def test_averages_agree_with_the_sharp_prediction(law):
    place = {"n": 10**8, "d": 32, "L": 48, "skew": "uniform", "law": law, "draws": 400}
    for row in measure(Cell("rademacher", place, 1)):
        # half a per cent for what the sharp formula leaves out at this size
        assert abs(row["value"] - row["predicted"]) <= 4 * row["stderr"] + 0.005 * row["value"]


@pytest.mark.parametrize("labels", ["all-ones", "independent"])
@pytest.mark.parametrize("s", [1, 8, 32])
def test_slots_agree_with_the_sharp_prediction(labels, s):
    place = {"n": 256, "d": 32, "L": 32, "law": "rademacher", "labels": labels, "s": s}
    for row in measure(Cell("slots", {**place, "draws": 200}, 2)):
        # one and a half per cent: eight label draws, and the formula's terms of 1/min(d, L)
        assert abs(row["value"] - row["predicted"]) <= 4 * row["stderr"] + 0.015 * row["value"]


def test_laws_without_a_sharp_formula_predict_nothing():
    place = {"n": 100, "d": 4, "L": 4, "skew": "uniform", "law": "non-negative", "draws": 5}
    assert all(math.isnan(row["predicted"]) for row in measure(Cell("rademacher", place, 0)))


def test_the_worst_signal_is_not_its_own_judge():
    """The reported mean must not carry the bias of a maximum over noisy means.

    Few draws and many signals make that bias large: choosing and evaluating on the same draws
    would report the largest of thirty means.
    """
    place = {"n": 10**6, "d": 2, "L": 2, "skew": "uniform", "signals": 30, "draws": 4}
    rows = [measure(Cell("worst planted", place, seed))[1] for seed in range(60)]
    values = np.array([row["value"] for row in rows])
    predicted = rows[0]["predicted"]
    error = values.std(ddof=1) / math.sqrt(values.size)
    assert values.mean() <= predicted + 4 * error


def test_pooled_least_squares_has_its_exact_excess():
    place = {**EXAMPLES["erm"], "n": 300, "draws": 40}
    row = next(r for r in measure(Cell("erm", place, 5)) if r["ball"] == "pooled")
    assert abs(row["value"] - row["predicted"]) <= 4 * row["stderr"]


def test_minimisers_carry_their_certificate():
    rows = [row for row in measure(Cell("erm", EXAMPLES["erm"], 6)) if row["ball"] != "pooled"]
    for row in rows:
        # relative gap 1e-7 of a risk at zero of about (1 + 1)/2
        assert 0 <= row["certificate_gap"] <= 1e-6
        assert row["radius"] == pytest.approx(math.sqrt(30), rel=1e-9)  # rank one: both norms


def test_excess_risk_is_not_negative():
    for labels, loss in (
        ("rank-3", "squared"),
        ("logistic", "logistic"),
        ("independent", "squared"),
    ):
        place = {**EXAMPLES["erm"], "labels": labels, "loss": loss, "radius": 0.7}
        for row in measure(Cell("erm", place, 7)):
            if row["quantity"] == "excess risk":
                # never below zero but by the width of the bracket around the least risk
                assert row["value"] >= -1e-6


def test_leml_of_enough_rank_finds_the_exact_minimiser():
    """Its penalty tuned to the radius, the factored fit and the convex solver must agree."""
    place = {**EXAMPLES["erm"], "rank": 5, "labels": "rank-1"}
    rows = {(r["quantity"], r["ball"]): r for r in measure(Cell("erm", place, 8))}
    leml, trace = rows["excess risk", "leml"], rows["excess risk", "trace"]
    # the size is met to 1e-3 of the radius, which moves the risk by about that share of it
    assert leml["certificate_gap"] <= 2e-3
    assert leml["value"] == pytest.approx(trace["value"], abs=2e-3)


def one_trial(seed):
    """Return the sample, problem and exact answers of the first trial of a cell."""
    cell = Cell("erm", {**EXAMPLES["erm"], "labels": "rank-1", "draws": 2}, seed)
    rng = cell.rng()
    labels = label_model("rank-1", 6, 5, rng)
    world = Scenario(feature_law("gaussian", 6), labels, UniformLabels(5))
    return cell, labels, world.sample(400, rng).problem("squared")


def test_generalisation_gap_is_risk_minus_empirical_risk():
    """Recomputed by hand from the trial's own sample: a flipped sign must show."""
    cell, labels, problem = one_trial(9)
    ball = TraceBall(np.linalg.norm(labels.Z, "nuc"))
    Z = minimise(problem, ball, tol=1e-7).Z
    risk = np.square(Z - labels.Z).sum() / (2 * Z.size) + 0.5
    trial = _trial(cell.parameters, cell.rng())["trace"]
    assert trial[0] == pytest.approx(risk - 0.5, abs=1e-9)
    assert trial[1] == pytest.approx(risk - problem.risk(Z), abs=1e-9)
    assert trial[1] > 0
    assert trial[2] == pytest.approx(
        (problem.objective(Z) - certify(problem, ball, Z).lower_bound) / 400, abs=1e-9
    )


def test_the_worst_certificate_of_the_trials_is_reported():
    cell = one_trial(9)[0]
    rng = cell.rng()
    gaps = [_trial(cell.parameters, rng)["trace"][2] for _ in range(2)]
    row = next(r for r in measure(cell) if r["ball"] == "trace")
    assert row["certificate_gap"] == max(gaps)


def test_draws_above_a_high_probability_bound_are_counted():
    setting = Setting.of(RademacherVectors(6), UniformLabels(5), 400)
    risk = RiskSetting.of(LOSSES["linear"], setting)
    bound = exceedances(setting, risk, np.zeros(3))["high_probability"]
    found = exceedances(setting, risk, bound * np.array([0.5, 0.999, 1.001, 2.0]))
    assert found["exceedances"] == 2
    assert found["delta"] == 0.05
    assert found["high_probability_name"] in ("mcdiarmid_excess", "bousquet_excess")
