"""A seeded sample of what ``make fuzz`` runs without end, and whether the fuzzers find anything."""

import pytest

from leml_solver import persistence
from leml_solver.readers import Dataset, npz
from tests.fuzz import kernels
from tests.fuzz.__main__ import FUZZERS
from tests.fuzz.campaign import run

# About fifteen seconds of one core each.
CASES = {"readers": 800, "models": 500, "stores": 400, "commands": 250, "functions": 1200}


@pytest.mark.parametrize("name", FUZZERS)
def test_a_seeded_sample(name):
    tally = run(name, FUZZERS[name], cases=CASES[name], seconds=1e9)
    assert tally.cases == CASES[name]
    assert not tally.findings, tally.findings[0].text


@pytest.mark.long
@pytest.mark.parametrize("name", FUZZERS)
def test_a_campaign(name):
    tally = run(name, FUZZERS[name], first=10**6, cases=20_000, seconds=1e9)
    assert not tally.findings, tally.findings[0].text


def test_the_kernels_stay_within_their_arrays():
    assert kernels.run_child(0, 150) == 150


@pytest.mark.parametrize(
    ("name", "module", "check"),
    [("models", persistence, "check_model"), ("readers", npz, "check_width")],
)
def test_a_check_that_is_left_out_is_found(monkeypatch, name, module, check):
    """A fuzzer that finds nothing must be able to find something."""
    monkeypatch.setattr(module, check, lambda *_: None)
    cases = 300 if name == "models" else 3000
    if name == "readers":  # another byte order than the machine's: two gates see it
        monkeypatch.setattr(npz, "_native", lambda array: array)
        monkeypatch.setattr(Dataset, "__post_init__", lambda self: None)
    assert run(name, FUZZERS[name], cases=cases, seconds=1e9).findings
