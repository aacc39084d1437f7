"""Experiments: plans that can be run, rules that can fail, and a custom grid."""

import numpy as np
import pandas as pd
import pytest

from leml_theory.measurements import MEASUREMENTS, measure
from leml_theory.runs.cells import Cell
from leml_theory.sweep.experiments import EXPERIMENTS, Experiment, Fit
from leml_theory.sweep.experiments.custom import AXES, Grid
from leml_theory.sweep.experiments.design import tends_to_one
from leml_theory.sweep.frame import results_frame

AXES_GIVEN = {"n": [64, 256], "d": [4], "L": [3, 5], "s": [1], "skew": ["uniform"], "radius": [1.0]}


def rows(slope, *, error=0.01, predicted=-0.5, bend=0.0):
    """Return rows on a line of the given slope, bent at the start by `bend`."""
    x = 2.0 ** np.arange(4, 12)
    value = x**slope * np.where(x < 32, np.exp(bend), 1.0)
    frame = {"experiment": "T", "series": "s", "quantity": "q", "ball": "trace", "n": x}
    frame |= {"value": value, "stderr": error * value, "predicted": x**predicted}
    return pd.DataFrame(frame)


def verdict(rule, frame, asymptotic=-0.5):
    """Return the verdict of one rule on synthetic rows."""
    experiment = Experiment(
        "T", "title", lambda _: [], (Fit("s", "q", "n", rule, {"trace": asymptotic}),)
    )
    (row,) = experiment.slopes(frame)
    return row.verdict


@pytest.mark.parametrize("preset", ["quick", "paper"])
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_plans_name_measurements_and_make_cells(name, preset):
    plan = EXPERIMENTS[name].plan(preset)
    assert plan
    for item in plan:
        assert item.kind in MEASUREMENTS
        assert Cell(item.kind, item.parameters, 0).key


@pytest.mark.parametrize("preset", ["quick", "paper"])
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_fits_speak_of_planned_series(name, preset):
    """A misspelt series would silently fit nothing."""
    experiment = EXPERIMENTS[name]
    planned = {item.series for item in experiment.plan("paper")}
    quick = {item.series for item in experiment.plan("quick")}
    assert {fit.series for fit in experiment.fits} <= planned
    assert quick <= planned | {"L = 32"}


def measured(name):
    """Return the frame of an experiment, its planned values replaced by agreeing ones."""
    plan = [p for p in EXPERIMENTS[name].plan("quick") if p.kind in ("rademacher", "outlier")]
    results = {}
    for item in plan:
        cell = Cell(item.kind, item.parameters, 0)
        results[cell.key] = measure(cell)
    return results_frame({name: plan}, 0, results)


def failing(name, frame):
    """Return the names of the checks that fail."""
    return [row.name for row in EXPERIMENTS[name].check_rows(frame) if row.verdict == "fails"]


def test_every_check_of_the_controls_can_fail():
    frame = measured("X11")
    assert failing("X11", frame) == []
    accepted = frame.assign(**{c: True for c in frame if c.endswith("_valid")})
    assert len(failing("X11", accepted)) == 4
    assert len(failing("X11", frame.assign(failures="{}"))) == 4
    outlier = frame["series"] == "rare outlier"
    rarer = frame.assign(value=frame["value"].where(~outlier, frame["value"] / 3))
    assert len(failing("X11", rarer)) == 3
    harmless = frame.assign(signal=0.5)
    assert len(failing("X11", harmless)) == 3


def test_the_gaps_of_claim_8_can_fail():
    plan = [p for p in EXPERIMENTS["X5"].plan("quick") if p.series == "gap"]
    (item,) = plan
    cell = Cell(item.kind, item.parameters, 0)
    frame = results_frame({"X5": plan}, 0, {cell.key: measure(cell)})
    assert failing("X5", frame) == []
    assert len(failing("X5", frame.assign(value=1.05 * frame["value"]))) == 2


def test_the_ordering_of_the_shared_predictor_can_fail():
    rows = [
        {"experiment": "X10", "series": "L = 8", "quantity": "excess risk", "ball": ball}
        | {"n": 4096, "d": 32, "L": 8, "value": value, "stderr": 0.01, "predicted": np.nan}
        for ball, value in (("pooled", 0.1), ("trace", 0.2), ("frobenius", 0.4))
    ]
    frame = pd.DataFrame(rows)
    assert failing("X10", frame) == []
    assert failing("X10", frame.assign(stderr=0.1)) == [
        "pooled below trace",
        "trace below frobenius",
    ]
    swapped = frame.assign(ball=["trace", "pooled", "frobenius"])
    assert failing("X10", swapped) == ["pooled below trace"]


def test_a_constant_factor_is_seen_though_slopes_are_right():
    fits = (Fit("s", "q", "n", "sharp", {"trace": -0.5}),)
    experiment = Experiment("T", "", lambda _: [], fits)
    good, bent = rows(-0.5), rows(-0.5)
    bent["value"] *= 1.2
    assert [row.verdict for row in experiment.check_rows(good)] == ["agrees"]
    assert [row.verdict for row in experiment.check_rows(bent)] == ["fails"]
    assert experiment.slopes(bent)[0].verdict == "agrees"


def test_no_prediction_is_nothing_to_agree_with():
    frame = rows(-0.5).assign(predicted=np.nan)
    assert verdict("sharp", frame) == "fails"


def test_axes_that_do_not_vary_are_not_fitted():
    fits = (Fit("s", "q", "n", "reported", {"trace": -0.5}),)
    frame = rows(-0.5).assign(n=7.0)
    assert Experiment("T", "", lambda _: [], fits).slopes(frame) == []


@pytest.mark.parametrize(
    ("rule", "frame", "expected"),
    [
        ("sharp", rows(-0.5), "agrees"),
        ("sharp", rows(-0.508), "marginal"),
        ("sharp", rows(-0.9), "fails"),
        ("reject", rows(-0.1, predicted=-0.1), "agrees"),
        ("reject", rows(-0.5), "fails"),
        ("reject", rows(-0.1), "fails"),
        ("excluded", rows(-0.1), "agrees"),
        ("excluded", rows(-0.5), "fails"),
        ("approach", rows(-0.5, bend=1.0), "approaches"),
        ("approach", rows(-0.9, bend=-0.45), "fails"),
        ("steeper", rows(-0.9), "agrees"),
        ("steeper", rows(-0.5), "fails"),
        ("fast", rows(-1.0), "fast rate"),
        ("fast", rows(-0.2), "slow window"),
        ("reported", rows(3.0), "reported"),
    ],
)
def test_rules_pass_and_fail(rule, frame, expected):
    assert verdict(rule, frame) == expected


def test_predicted_slopes_are_fitted_on_the_same_grid():
    experiment = Experiment("T", "", lambda _: [], (Fit("s", "q", "n", "sharp", {"trace": 0.0}),))
    (row,) = experiment.slopes(rows(-0.5, predicted=-0.3))
    assert row.slope == pytest.approx(-0.5, abs=1e-9)
    assert row.predicted == pytest.approx(-0.3, abs=1e-9)
    # eight points of relative error 0.01 at spacing ln 2: 0.01 / (ln 2 sqrt(42))
    assert row.stderr == pytest.approx(0.01 / (np.log(2) * np.sqrt(42)), rel=1e-9)


def test_values_are_multiplied_by_the_root_of_n_on_request():
    fit = Fit("s", "q", "n", "sharp", {"trace": 0.0}, times_root_n=True)
    (row,) = Experiment("T", "", lambda _: [], (fit,)).slopes(rows(-0.5))
    assert row.slope == pytest.approx(0.0, abs=1e-9)


def test_tends_to_one_can_fail():
    frame = rows(-0.5)
    assert tends_to_one("t", frame, "n", frame["value"])[1]
    assert not tends_to_one("t", frame, "n", frame["value"] * np.linspace(1, 2, len(frame)))[1]


def test_a_grid_measures_every_combination():
    experiment = Grid({**AXES_GIVEN, "world": ["rank-1"], "draws": 2}).experiment()
    plan = experiment.plan("quick")
    assert {(i.parameters["n"], i.parameters["L"]) for i in plan} == {
        (n, n_labels) for n in (64, 256) for n_labels in (3, 5)
    }
    assert {item.kind for item in plan} == {"rademacher", "erm"}
    assert {item.series for item in plan} == {"L = 3", "L = 5"}


def test_the_main_axis_is_the_longest():
    axes = {**AXES_GIVEN, "L": [2, 3, 4]}
    assert Grid(axes).main_axis == "L"
    assert Grid(AXES_GIVEN).main_axis == "n"
    assert set(axes) <= set(AXES)


@pytest.mark.parametrize("change", [{"law": ["gaussian"]}, {"s": [2]}])
def test_planted_grids_need_rademacher_features_and_one_label(change):
    with pytest.raises(ValueError, match="planted world needs"):
        Grid({**AXES_GIVEN, "world": ["planted"], **change})


def test_unknown_worlds_are_named():
    with pytest.raises(ValueError, match="'nowhere'"):
        Grid({**AXES_GIVEN, "world": ["nowhere"]})
