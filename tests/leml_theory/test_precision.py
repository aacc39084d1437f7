"""Draws until a standard error is small enough: what pooling keeps, and what stopping costs."""

import numpy as np
import pandas as pd
import pytest

from leml_theory.measurements import MEASUREMENTS, measure
from leml_theory.measurements.precision import LOOKS, measure_precisely, pooled
from leml_theory.rademacher import Estimate
from leml_theory.runs.cells import Cell
from leml_theory.sweep.frame import columns, contradictions, violations
from leml_theory.sweep.rates import family_t, looks

FEW, PLACE = 20, {"quantity": "excess risk", "ball": "trace", "radius": 1.0}


def row_of(values, **more):
    estimate = Estimate.of(np.asarray(values, float))
    found = {"value": estimate.value, "stderr": estimate.stderr, "draws": estimate.draws}
    return {**PLACE, **found, **more}


def drawing(law):
    """Return a measurement of the mean of a law."""
    return lambda parameters, rng: [row_of(law(rng, parameters["draws"]))]


def test_batches_are_pooled_to_the_estimate_of_all_draws():
    values = np.random.default_rng(0).exponential(size=70)
    batches = [row_of(part) for part in np.split(values, [20, 40])]
    whole = Estimate.of(values)
    found = pooled(batches)
    assert found["draws"] == 70
    assert found["value"] == pytest.approx(whole.value, rel=1e-12)
    assert found["stderr"] == pytest.approx(whole.stderr, rel=1e-12)


def test_counts_are_added_and_certificates_are_the_worst():
    rows = [row_of([1, 2], exceedances=1, certificate_gap=0.1, high_probability=5.0, predicted=7.0)]
    rows += [
        row_of([1, 2], exceedances=2, certificate_gap=0.3, high_probability=4.0, predicted=9.0)
    ]
    found = pooled(rows)
    assert (found["exceedances"], found["certificate_gap"]) == (3, 0.3)
    assert (found["high_probability"], found["predicted"]) == (5.0, 7.0)


def test_draws_end_at_the_first_look_that_is_precise_enough():
    sizes = []

    def run(parameters, rng):
        sizes.append(parameters["draws"])
        return [row_of(1 + 0.5 * rng.standard_normal(parameters["draws"]))]

    wanted = {"precision": 0.04, "draws": FEW}  # takes about (0.5/0.04)^2 = 156 draws
    (row,) = measure_precisely(run, wanted, np.random.default_rng(1))
    assert sizes == [20, 20, 40, 80, 160][: len(sizes)]
    assert len(sizes) >= 3
    assert row["draws"] == sum(sizes)
    assert row["stderr"] <= 0.04 * row["value"]
    assert (row["looks"], row["precision"]) == (LOOKS, 0.04)


def test_a_mean_of_zero_ends_with_the_most_draws_allowed():
    run = drawing(lambda rng, n: rng.standard_normal(n))
    (row,) = measure_precisely(run, {"precision": 0.001, "draws": 2}, np.random.default_rng(0))
    assert row["draws"] == 2 * 2 ** (LOOKS - 1)


@pytest.mark.parametrize("law", ["normal", "exponential"])
def test_intervals_hold_the_mean_nearly_as_often_as_with_fixed_draws(law):
    """The bias of stopping: 4000 cells, so that a share of 0.95 has a standard error of 0.0035.

    With the median number of draws fixed, two standard errors hold the mean in 94.6 % (normal, 40
    draws) and 94.9 % (exponential, 160 draws) of all cells; stopping takes up to 0.7 % of it away.
    """
    draws = {
        "normal": lambda rng, n: 1 + 0.5 * rng.standard_normal(n),
        "exponential": lambda rng, n: rng.exponential(size=n),
    }[law]
    rng, run = np.random.default_rng(2), drawing(draws)
    wanted = {"precision": 0.08, "draws": FEW}
    rows = pd.DataFrame([measure_precisely(run, wanted, child)[0] for child in rng.spawn(4000)])
    held = ((rows["value"] - 1).abs() <= 2 * rows["stderr"]).mean()
    assert 0.93 <= held <= 0.96
    # a mean that is large by chance has a small relative error: a sixth of the precision
    assert abs(rows["value"].mean() - 1) <= 0.2 * 0.08


def test_a_cell_s_key_fixes_its_batches(monkeypatch):
    monkeypatch.setitem(MEASUREMENTS, "toy", drawing(lambda rng, n: 1 + rng.random(n)))
    cell = Cell("toy", {"precision": 0.01, "draws": FEW}, 0)
    assert measure(cell) == measure(cell)
    other = Cell("toy", {"precision": 0.01, "draws": FEW}, 1)
    assert measure(other)[0]["value"] != measure(cell)[0]["value"]


def frame_of(rows):
    place = {"law": "gaussian", "n": 100, "d": 4, "L": 4, "s": 1, "skew": "uniform", "delta": 0.1}
    bound = {"theorem_3": 1.0, "theorem_3_valid": True}
    return pd.DataFrame([{**place, **bound, **row} for row in rows], columns=columns())


def test_a_test_is_divided_among_the_looks():
    """A mean between the thresholds of one look and of ten violates and contradicts only once."""
    few = family_t(2, 20)
    many = family_t(2 * LOOKS, 20)
    assert looks({"looks": np.nan}) == looks({}) == 1
    row = {"experiment": "grid", "series": "s", **PLACE, "draws": 20, "stderr": 0.01}
    row |= {"predicted": 1.0, "prediction": "sharp"}
    for number, expected in ((1, 1), (LOOKS, 0)):
        one = {**row, "looks": number, "value": 1.03 + 0.01 * (few + many) / 2}
        assert len(contradictions(frame_of([one]))) == expected
        single = (family_t(1, 20) + family_t(LOOKS, 20)) / 2
        assert len(violations(frame_of([{**one, "value": 1 + 0.01 * single}]))) == expected
