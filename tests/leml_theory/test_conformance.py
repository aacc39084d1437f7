"""Grids of one's own: no combination of options may end with a wrong number and no complaint."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from leml_theory import predictions
from leml_theory.extensions import register_law
from leml_theory.measurements import measure
from leml_theory.measurements.minimisers import _pooled_excess
from leml_theory.plots.panel import regimes
from leml_theory.runs.cells import Cell
from leml_theory.sweep import __main__ as sweep
from leml_theory.sweep.experiments.custom import WORLDS, Grid
from leml_theory.sweep.frame import (
    contradictions,
    contradicts,
    results_frame,
    sharp_rows,
    violations,
)
from leml_theory.worlds import LAWS
from simulations import FeatureLaw, LinearLabels, Scenario, UniformLabels
from tests.extensions_example import Autoregressive

SKEWS = ("uniform", "heavy:0.5", "zipf:1")
# Every combination is measured for both balls, and for the pooled oracle where there is one.
# Logistic labels need Gaussian features here: elsewhere their least risk is sampled, which takes
# seconds per draw.  The rare outlier has one feature.
COMBINATIONS = [
    place
    for place in itertools.product(WORLDS, LAWS, (1, 3), SKEWS, (0.5, 1.0, 2.0))
    if place[0] not in ("logistic", "random-signs") or "gaussian" in place[1]
    if place[1] != "rare-outlier"
]
DRAWS = {"averages": 200, "planted": 200, "shared": 40}


def is_refused(world, law, s, skew):
    """Return whether the combination has no meaning, and must be refused before it is measured."""
    if world == "planted":
        return law != "rademacher" or s > 1
    return world == "averages" and s > 1 and skew != "uniform"


def grid(world, law, s, skew, radius, rng):
    """Return the grid of one cell, of small random sizes."""
    sizes = {"n": (24, 96), "d": (2, 4, 12), "L": (3, 8)}
    axes = {name: [int(rng.choice(values))] for name, values in sizes.items()}
    axes |= {"s": [s], "skew": [skew], "radius": [radius], "world": [world], "law": [law]}
    return Grid({**axes, "draws": DRAWS.get(world, 8)})


def measured(plan):
    """Return the results frame of planned cells, measured in this process."""
    cells = {Cell(item.kind, item.parameters, 0) for item in plan}
    return results_frame({"grid": plan}, 0, {cell.key: measure(cell) for cell in cells})


def conforming_frame(combinations):
    """Measure the combinations; those without a meaning must be refused."""
    frames = []
    for combination in combinations:
        # sizes and draws of a combination do not depend on the others
        rng = np.random.default_rng(COMBINATIONS.index(combination))
        if is_refused(*combination[:4]):
            with pytest.raises(ValueError, match=r"world needs|labels per point"):
                grid(*combination, rng)
            continue
        frames.append(measured(grid(*combination, rng).experiment().plan("quick")))
    return pd.concat(frames, ignore_index=True)


def assert_conforms(frame):
    """Compare every sharp prediction and every valid bound with its measurement."""
    columns = ["quantity", "ball", "law", "labels", "n", "d", "L", "s", "skew", "value", "stderr"]
    found = pd.DataFrame(contradictions(frame), columns=[*columns, "predicted"])
    assert found.empty, found.to_string()
    assert violations(frame) == []
    # A number or the reason why there is none: never infinity, never silence.
    known = frame[frame["predicted"].notna()]
    assert np.isfinite(known["predicted"]).all()
    silent = frame[frame["predicted"].isna() & ~frame["unpredicted"].fillna("").astype(bool)]
    assert silent.empty, silent[columns].to_string()


def test_a_sample_of_all_combinations_conforms():
    rng = np.random.default_rng(11)
    chosen = [COMBINATIONS[i] for i in rng.choice(len(COMBINATIONS), size=60, replace=False)]
    frame = conforming_frame(chosen)
    assert len(sharp_rows(frame)) > 20
    assert_conforms(frame)


@pytest.mark.long
def test_all_combinations_conform():
    frame = conforming_frame(COMBINATIONS)
    assert len(sharp_rows(frame)) > 300
    assert_conforms(frame)


# What the comparison catches ---------------------------------------------------------------------


def pooled_row(**place):
    """Return the measured row of the pooled oracle."""
    cell = {"law": "gaussian", "labels": "shared", "loss": "squared", "skew": "uniform", "s": 1}
    cell |= {"n": 100, "d": 6, "L": 5, "radius": 1.0, "draws": 60} | place
    return next(row for row in measure(Cell("erm", cell, 3)) if row["ball"] == "pooled")


@pytest.mark.parametrize(("law", "s"), [("gaussian", 1), ("gaussian", 4), ("raw-gaussian", 4)])
def test_the_pooled_oracle_has_the_excess_of_its_law_and_s(law, s):
    row = pooled_row(law=law, s=s)
    assert row["predicted"] == 6 / (2 * s * (100 - 7))  # whatever the covariance
    # five standard errors of sixty draws: one chance in 10^5
    assert abs(row["value"] - row["predicted"]) <= 5 * row["stderr"]


def test_a_correlated_gaussian_has_the_same_pooled_excess(own_names):
    register_law("autoregressive", Autoregressive)
    row = pooled_row(law="autoregressive")
    assert row["predicted"] == 6 / (2 * (100 - 7))
    assert abs(row["value"] - row["predicted"]) <= 5 * row["stderr"]


def test_features_on_one_line_have_one_coefficient_to_learn():
    """x = +-mu: the error along mu has variance 1/n, all others cost nothing."""
    row = pooled_row(law="rank-one", draws=200)
    assert abs(row["value"] - 1 / (2 * 100)) <= 5 * row["stderr"]
    assert row["unpredicted"] == "needs Gaussian features, here the law is 'other'"


def test_a_law_without_second_moments_has_them_estimated():
    class Unknown(FeatureLaw):
        n_features = 6
        sample = staticmethod(LAWS["gaussian"](6).sample)

    rng, z = np.random.default_rng(0), np.ones(6)
    world = Scenario(Unknown(), LinearLabels(np.tile(z[:, None], 5)), UniformLabels(5))
    sample = world.sample(50, rng)
    exact = _pooled_excess(sample, z, LAWS["gaussian"](6), rng)
    # one quadratic form of 10^5 points: a relative standard error of sqrt(2/10^5) = 0.5 %
    assert _pooled_excess(sample, z, Unknown(), rng) == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ({"law": "rademacher"}, "needs Gaussian features, here the law is 'rademacher'"),
        ({"s": 3, "skew": "zipf:1"}, "needs s different labels at every point, here they may"),
        ({"n": 13}, "needs n > 13, here n = 13"),
    ],
)
def test_without_a_formula_the_pooled_oracle_predicts_nothing_and_says_why(place, reason):
    row = pooled_row(draws=2, **place)
    assert math.isnan(row["predicted"])
    assert row["unpredicted"].startswith(reason)


def slots_rows(**place):
    """Return the measured deviations with several labels per point."""
    cell = {"labels": "all-ones", "n": 64, "d": 12, "L": 8, "s": 4, "draws": 100} | place
    return measure(Cell("slots", cell, 1))


def test_the_deviation_of_features_that_are_not_centred_is_from_their_mean():
    """With n the deviation falls as 1/sqrt(n); |V|/(n s) would tend to |E x|/sqrt(L) = 0.28."""
    for row in slots_rows(law="non-negative", n=4096):
        assert row["value"] < 0.03
        assert row["unpredicted"] == "needs centred, isotropic and sub-Gaussian features"


def test_several_labels_are_predicted_at_the_scale_of_the_features():
    normalised, raw = slots_rows(law="gaussian"), slots_rows(law="raw-gaussian")
    for one, other in zip(normalised, raw, strict=True):
        # raw features are sqrt(d) times as long, and the label patterns are those of the seed
        assert other["predicted"] / one["predicted"] == pytest.approx(math.sqrt(12), rel=0.05)
        assert other["value"] / one["value"] == pytest.approx(math.sqrt(12), rel=0.1)


def test_the_worst_signal_is_predicted_where_it_can_be_planted_only():
    place = {"n": 20, "d": 4, "L": 6, "skew": "uniform", "signals": 3, "draws": 3}
    for row in measure(Cell("worst planted", place, 0)):
        assert math.isnan(row["predicted"])
        assert row["unpredicted"] == "needs n >= d L, here n = 20 and d L = 24"


# A contradiction ---------------------------------------------------------------------------------


def test_a_contradiction_needs_more_than_three_per_cent_and_chance():
    row = pd.Series({"value": 1.0, "predicted": 1.2, "stderr": 0.01})
    assert contradicts(row, 5.0)
    assert not contradicts(row, 20.0)  # 0.2 - 0.036 is 14 of the errors 0.01 * 1.2
    assert not contradicts(row.replace(1.2, 1.03), 0.0)
    assert not contradicts(row.replace(0.01, 0.0), 5.0)  # equal draws decide nothing
    assert contradicts(row.replace(1.2, 0.8), 5.0)  # both sides


def test_small_means_of_few_skewed_draws_contradict_nothing():
    """A t statistic alone would cry out in 1 of 10^4 cells whose prediction is exact."""
    draws = np.random.default_rng(0).chisquare(1, size=(20_000, 12))
    rows = pd.DataFrame(
        {"value": draws.mean(axis=1), "stderr": draws.std(axis=1, ddof=1) / math.sqrt(12)}
    )
    t = 7.0  # Student's quantile of 12 draws at 10^-5
    naive = (1.0 - rows["value"]) / rows["stderr"] > t
    found = [contradicts(row, t) for _, row in rows.assign(predicted=1.0).iterrows()]
    assert naive.sum() > 5
    assert sum(found) == 0


def test_a_wrong_prediction_fails_the_run_and_the_cell_is_named(tmp_path, monkeypatch, capsys):
    right = predictions.frobenius_norm
    monkeypatch.setattr(predictions, "frobenius_norm", lambda *args: 1.5 * right(*args))
    grid = ["--n", "256", "--d", "16", "--L", "8", "--draws", "100", "--law", "raw-gaussian"]
    assert sweep.main([*grid, "--jobs", "1", "--out", str(tmp_path / "out")]) == 1
    printed = capsys.readouterr().out
    assert "contradicts its sharp prediction" in printed
    assert "law = raw-gaussian, labels = all-ones, n = 256, d = 16, L = 8, s = 1" in printed
    assert "1 contradiction in 2 comparisons with sharp predictions." in printed


# Options -----------------------------------------------------------------------------------------


def test_the_logistic_world_takes_every_gaussian_law(own_names):
    register_law("autoregressive", Autoregressive)
    axes = {"n": [64], "d": [3], "L": [2], "world": ["logistic"], "law": ["autoregressive"]}
    assert Grid(axes).experiment().plan("quick")


def test_regimes_are_values_of_n_for_a_squared_loss():
    place = {"d": 8, "L": 4, "s": 1, "loss": "squared", "radius_factor": 1.0}
    rows = pd.DataFrame([{**place, "n": n} for n in (16, 64)])
    assert regimes(rows) == {"d+L": 12, "dL": 32}
    along_labels = pd.DataFrame([{**place, "n": 64, "L": n_labels} for n_labels in (4, 16)])
    assert regimes(along_labels) == {}
    assert regimes(rows.assign(loss="linear")) == {}
    assert regimes(rows.assign(s=4)) == {}
