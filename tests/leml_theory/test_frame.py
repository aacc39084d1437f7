"""The results frame: bounds beside measurements, and violations that can be seen."""

import io
import math

import numpy as np
import pandas as pd
import pytest

from leml_theory.bounds import Setting, failures_from_json, tabled_bounds
from leml_theory.measurements import measure
from leml_theory.runs.cells import Cell
from leml_theory.sweep.experiments import Planned
from leml_theory.sweep.frame import (
    bounds_in,
    columns,
    comparisons,
    prediction_kind,
    results_frame,
    undecided_bounds,
    violations,
)
from leml_theory.sweep.report import summarise, verdict_lines
from leml_theory.worlds import feature_law, observation_of

AVERAGE = {"law": "gaussian", "n": 1000, "d": 8, "L": 4, "skew": "uniform", "draws": 60}
LOGISTIC = {"law": "gaussian", "n": 200, "d": 4, "L": 3, "skew": "uniform", "s": 1, "radius": 1.0}
LOGISTIC |= {"labels": "logistic", "loss": "logistic", "draws": 2}


def frame_of(*planned, change=lambda row: row):
    """Measure planned cells and return their frame, every row changed by `change`."""
    cells = [Cell(item.kind, item.parameters, 0) for item in planned]
    results = {cell.key: [change(row) for row in measure(cell)] for cell in cells}
    return results_frame({"T": planned}, 0, results)


def test_one_row_per_cell_and_quantity_with_every_column():
    frame = frame_of(Planned("a", "rademacher", AVERAGE))
    assert list(frame.columns) == columns()
    assert frame["ball"].to_list() == ["trace", "frobenius"]
    assert frame["series"].to_list() == ["a", "a"]


def test_cells_without_results_are_left_out():
    assert results_frame({"T": [Planned("a", "rademacher", AVERAGE)]}, 0, {}).empty


def test_bounds_on_risks_are_twice_those_on_averages():
    """2 C R_n, with C = 1 for the linear loss and labels of size one."""
    planted = {"n": 1000, "d": 8, "L": 4, "skew": "uniform", "draws": 4, "signals": 3}
    frame = frame_of(
        Planned("a", "rademacher", {**AVERAGE, "law": "rademacher"}),
        Planned("b", "worst planted", planted),
    )
    average, risk = (frame[frame["series"] == s].set_index("ball") for s in ("a", "b"))
    for ball in ("trace", "frobenius"):
        doubled = 2 * average.loc[ball, "theorem_3"]
        assert risk.loc[ball, "theorem_3"] == pytest.approx(doubled, rel=1e-12)


def test_squared_loss_with_gaussian_features_has_the_offset_bound_alone():
    place = {**LOGISTIC, "labels": "rank-1", "loss": "squared"}
    frame = frame_of(Planned("a", "erm", place))
    assert set(tabled_bounds()) | {"offset_excess"} == set(bounds_in(frame))
    assert not frame[[f"{name}_valid" for name in tabled_bounds()]].eq(True).any(axis=None)
    excess = frame["quantity"].eq("excess risk")
    assert (frame["offset_excess_valid"].eq(True) == excess).all()
    assert (frame["offset_excess"].notna() == excess).all()
    assert frame["refused"].str.contains("Lipschitz").all()


def test_failed_assumptions_read_back_exactly_from_a_table():
    """Through CSV and back: each bound has the failures that it gave, numbers to the bit."""
    few = {**AVERAGE, "n": 3, "law": "raw-gaussian"}
    table = io.StringIO(frame_of(Planned("a", "rademacher", few)).to_csv(index=False))
    for _, row in pd.read_csv(table).iterrows():
        law, seen = feature_law(row["law"], row["d"]), observation_of(row["skew"], row["L"])
        setting = Setting.of(law, seen, row["n"], ball=row["ball"])
        for name, bound in tabled_bounds().items():
            assert failures_from_json(row["failures"], name) == bound(setting).failures
            assert row[f"{name}_valid"] == bound(setting).valid


def test_logistic_loss_with_gaussian_features_has_one():
    frame = frame_of(Planned("a", "erm", LOGISTIC))
    assert frame["theorem_3_valid"].eq(True).all()
    assert frame.loc[frame["ball"] == "trace", "chevet_valid"].eq(True).all()


def test_the_radius_scales_linear_rows_and_their_bounds():
    one, two = (
        frame_of(Planned("a", "rademacher", AVERAGE, radius=radius)) for radius in (1.0, 2.0)
    )
    for column in ("value", "stderr", "predicted", "radius", "theorem_3"):
        assert two[column].to_numpy() == pytest.approx(2 * one[column].to_numpy(), rel=1e-12)


def test_no_violation_where_the_theory_holds():
    frame = frame_of(Planned("a", "rademacher", AVERAGE))
    assert comparisons(frame) >= 4
    assert violations(frame) == []


def test_a_mean_above_its_bound_is_seen():
    def bend(row):
        return {**row, "value": 1.5 * row["value"]}

    found = violations(frame_of(Planned("a", "rademacher", AVERAGE), change=bend))
    assert {row["bound"] for row in found} >= {"theorem_3"}
    assert all(row["value"] > row["bound_value"] for row in found)


def test_a_mean_above_its_bound_by_noise_alone_is_not_called_a_violation():
    def bend(row):
        if row["ball"] == "trace":  # other bounds than Theorem 3 are below it there
            return row
        return {**row, "value": 1 / math.sqrt(row["n"]) + 3 * row["stderr"]}

    assert violations(frame_of(Planned("a", "rademacher", AVERAGE), change=bend)) == []


def test_too_many_exceedances_of_a_high_probability_bound_are_seen():
    planted = {"n": 1000, "d": 8, "L": 4, "skew": "uniform", "draws": 60, "signals": 3}
    plan = Planned("a", "worst planted", planted)
    frame = frame_of(plan)
    assert frame["exceedances"].eq(0).all()
    assert frame["high_probability"].gt(frame["value"]).all()
    found = violations(frame_of(plan, change=lambda row: {**row, "exceedances": 30}))
    assert {row["bound"] for row in found} == {"high_probability"}


def test_the_certificate_gap_is_added_to_bounds_on_risks():
    plain, inexact = (
        frame_of(
            Planned("a", "erm", LOGISTIC), change=lambda row, g=gap: {**row, "certificate_gap": g}
        )
        for gap in (0.0, 0.25)
    )
    added = inexact["theorem_3"] - plain["theorem_3"]
    assert added.to_numpy() == pytest.approx(np.full(len(added), 0.25), rel=1e-9)


def test_the_level_is_shared_among_all_comparisons():
    """A mean that a single comparison would call a violation is none among hundreds."""

    def bend(row):
        bound = 1 / math.sqrt(row["n"])
        draws = 10**6  # so that Student's quantile is the normal one: 4.75 alone, 5.8 among 300
        return {**row, "value": bound + 5.2 * row["stderr"], "draws": draws}

    alone = frame_of(Planned("a", "rademacher", AVERAGE), change=bend)
    alone = alone[alone["ball"] == "frobenius"]
    many = pd.concat([alone] * 300, ignore_index=True)
    assert len(violations(alone)) > 0
    assert violations(many) == []


def test_rows_that_no_bound_speaks_of_have_none():
    frame = frame_of(Planned("a", "outlier", {"n": 100, "delta": 0.1, "draws": 50}))
    assert np.isnan(frame["theorem_3"].to_numpy(float)).all()
    assert comparisons(frame) == 0
    assert violations(frame) == []


ONE_POINT = {"law": "rademacher", "n": 1, "d": 4, "L": 4, "skew": "uniform", "draws": 5}


def test_one_point_of_constant_norm_is_compared_exactly():
    """|V| = |x| = 1 in every draw: on its bound it holds, above it it violates."""
    plan = Planned("a", "rademacher", ONE_POINT)
    on_the_bound = frame_of(plan)
    assert on_the_bound["stderr"].lt(1e-15).all()  # rounding of norms that are one
    assert violations(on_the_bound) == undecided_bounds(on_the_bound) == []
    bent = frame_of(plan, change=lambda row: {**row, "value": 1.01})
    assert {row["bound"] for row in violations(bent)} >= {"theorem_3"}
    assert undecided_bounds(bent) == []


def test_equal_draws_of_a_random_quantity_are_undecided():
    plan = Planned("a", "rademacher", {**ONE_POINT, "law": "gaussian"})
    equal = frame_of(plan, change=lambda row: {**row, "value": 1.5, "stderr": 0.0})
    assert violations(equal) == []
    assert {row["bound"] for row in undecided_bounds(equal)} >= {"theorem_3"}


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"d": 64, "L": 64}, "sharp"),
        ({"d": 2, "L": 4}, "limit"),
        ({"d": 12, "L": 64, "n": 8}, "limit"),
        ({"d": 8, "L": 32, "n": 10**6}, "sharp"),
        ({"d": 4, "L": 32, "skew": "heavy:0.3"}, "limit"),
        ({"law": "rank-one", "L": 64}, "sharp"),
        ({"law": "rank-one", "L": 1}, "limit"),
        ({"predicted": math.nan}, ""),
        ({"quantity": "excess risk", "labels": "worst planted"}, "limit"),
        ({"quantity": "excess risk", "labels": "worst planted", "L": 1}, "sharp"),
        ({"quantity": "excess risk", "labels": "worst planted", "ball": "frobenius"}, "sharp"),
    ],
)
def test_rows_say_whether_their_prediction_is_sharp_or_a_limit(change, kind):
    row = {**AVERAGE, "quantity": "rademacher average", "ball": "trace", "labels": "all-ones"}
    row |= {"loss": "linear", "s": 1, "predicted": 0.1}
    assert prediction_kind({**row, **change}) == kind


def test_what_is_undecided_is_reported_and_fails_nothing():
    plan = Planned("a", "rademacher", {**ONE_POINT, "law": "gaussian"})
    equal = frame_of(plan, change=lambda row: {**row, "value": 1.5, "stderr": 0.0})
    summary = summarise(equal, [])
    assert summary.exit_status == 0
    lines = verdict_lines(summary)
    assert "lies above theorem_3 = 1 at n = 1" in lines[0]
    assert f"0 violations, {len(summary.undecided)} undecided in" in lines[-2]
