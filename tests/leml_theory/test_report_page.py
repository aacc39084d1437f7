"""report.html in a real browser: the formulas, the sliders, the points, the downloads."""

import json
import math
import re
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from leml_solver.losses import LOSSES
from leml_theory.bounds import (
    RISK_BOUNDS,
    RiskSetting,
    Setting,
    best_bound,
    bousquet_linear_gap,
    complexity_bounds,
    expectation_bound,
    gaussian_linear_gap,
    mcdiarmid_gap,
    minimax_excess,
    paper_literal_excess,
    tabled_bounds,
)
from leml_theory.sweep.__main__ import _grid, _parser, main
from leml_theory.worlds import LAWS, feature_law, label_bound, observation_of
from tests.browser import chromium, opened

QUANTITIES = ("average", "expected", "probable", "gap")
POINTS = 1000
# The page and Python round differently; a bound that is minimised over a parameter is flat there,
# and scipy stops within 1e-5 of it, so that its value is off by some 1e-10.
ROUNDING, SEARCHED = 1e-11, 1e-8


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Return the folder of a run with averages, a map of predictions and points upon it."""
    import os

    if os.environ.get("RP_RESULTS"):
        return Path(os.environ["RP_RESULTS"])
    folder = tmp_path_factory.mktemp("sweep")
    assert main(["--only", "X2,X12,X13", "--jobs", "1", "--out", str(folder)]) == 0
    return folder


@pytest.fixture
def page(browser, results):
    with opened(browser, results / "report.html") as found:
        yield found


def random_state(rng):
    """Return a setting as the page holds it, anything that the controls permit."""
    size = lambda most: int(np.exp(rng.uniform(0, np.log(most))))  # noqa: E731
    n_labels = size(2000)
    skew = rng.choice(["uniform", "heavy", "zipf", "observed"])
    number = {"heavy": rng.uniform(0.001, 0.99), "zipf": rng.uniform(0, 3)}
    number["observed"] = rng.choice([1.0, rng.uniform(0.01, 1)])
    if skew == "heavy":
        n_labels += 1
    s = min(rng.choice([1, size(50)]), n_labels if skew == "uniform" else 50)
    return {
        "n": size(2**38), "d": size(3000), "L": n_labels, "s": int(s),
        "skew": "uniform" if skew == "uniform" else f"{skew}:{float(number[skew])!r}",
        "radius": float(np.exp(rng.uniform(-5, 5))), "delta": float(np.exp(rng.uniform(-12, -0.7))),
        "law": str(rng.choice([*LAWS])), "loss": str(rng.choice([*LOSSES])),
        "ball": str(rng.choice(["trace", "frobenius"])), "symmetric": bool(rng.integers(2)),
    }  # fmt: skip


def python_bounds(state):
    """Return every bound that the page shows, by quantity and name, from the Python functions."""
    law = feature_law(state["law"], state["d"])
    seen = observation_of(state["skew"], state["L"], state["s"])
    setting = Setting.of(law, seen, state["n"], radius=state["radius"], ball=state["ball"])
    loss = LOSSES[state["loss"]]
    risk = RiskSetting.of(loss, setting, label_bound=label_bound(loss), delta=state["delta"])
    averages = {name: bound(setting) for name, bound in tabled_bounds().items()}
    best, symmetric = best_bound(complexity_bounds(setting)), state["symmetric"]
    expected = {
        name: replace(expectation_bound(setting, risk, average), name=name)
        for name, average in averages.items()
    }
    probable = {name: bound(setting, risk, best) for name, bound in RISK_BOUNDS.items()}
    probable["paper_literal_excess"] = paper_literal_excess(setting, risk, best)
    gap = {
        "mcdiarmid_gap": mcdiarmid_gap(setting, risk, best),
        "bousquet_linear_gap": bousquet_linear_gap(setting, risk, best, symmetric=symmetric),
        "gaussian_linear_gap": gaussian_linear_gap(setting, risk, symmetric=symmetric),
    }
    return setting, dict(zip(QUANTITIES, (averages, expected, probable, gap), strict=True))


def in_browser(page, states):
    """Evaluate all bounds of all states by the page's own script."""
    script = """([states, quantities]) => states.map((state) => Object.fromEntries(quantities.map(
      (quantity) => [quantity, Bounds.evaluate(quantity, state, Page.data.tables, Page.data.losses)
        .map((bound) => [bound.name, String(bound.value), bound.failures])])))"""
    return page.evaluate(script, [states, list(QUANTITIES)])


def test_the_formulas_of_the_page_are_those_of_python(page):
    rng = np.random.default_rng(20)
    states = [random_state(rng) for _ in range(POINTS)]
    compared, finite, refused = 0, 0, 0
    for state, found in zip(states, in_browser(page, states), strict=True):
        setting, expected = python_bounds(state)
        tolerance = SEARCHED if "observed" in state["skew"] else ROUNDING
        for quantity in QUANTITIES:
            values = {name: (float(v), f) for name, v, f in found[quantity] if name != "minimax"}
            assert values.keys() == expected[quantity].keys()
            for name, bound in expected[quantity].items():
                value, failures = values[name]
                sentences = [
                    f.sentence if quantity == "expected" else str(f) for f in bound.failures
                ]
                assert failures == sentences, (state, name)
                assert value == pytest.approx(bound.value, rel=tolerance, abs=0), (state, name)
                compared += 1
                finite += math.isfinite(bound.value)
                refused += bool(sentences)
        check_minimax(state, setting, dict((name, (v, f)) for name, v, f in found["expected"]))
    assert compared == POINTS * (8 + 8 + 4 + 3)
    assert min(finite, refused, compared - refused) > compared / 10  # each case is met often


def check_minimax(state, setting, found):
    value, failures = found["minimax"]
    if state["loss"] != "squared":
        assert failures
        return
    try:
        least = minimax_excess(setting, min(state["d"], state["L"]))
    except ValueError:
        assert failures
    else:
        assert failures == []
        assert float(value) == pytest.approx(least, rel=ROUNDING)
