"""The tests hold the solver: mutants of its private rooms are killed, or shown to be equivalent."""

import subprocess
import sys
from pathlib import Path

import pytest
from equivalent import EQUIVALENT
from mutants import ROOT, mutants_of
from targets import ALWAYS, SPEED, TARGETS

ROOMS = ("_exact", "_factored", "_linalg", "_blocked", "_estimation")
CAMPAIGN = str(Path(__file__).with_name("campaign.py"))


def campaign(*arguments):
    """Run a campaign in a process of its own; return its exit status and what it printed."""
    command = [sys.executable, CAMPAIGN, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_a_sample_of_the_mutants_is_killed():
    status, said = campaign("--sample", "8")
    assert status == 0, said
    assert "8 of 8 mutants killed" in said


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_every_drawn_mutant_is_killed():
    status, said = campaign()
    assert status == 0, said


def test_every_module_of_the_private_rooms_is_mutated():
    modules = {
        str(path.relative_to(ROOT))
        for room in ROOMS
        for path in (ROOT / "leml_solver" / room).glob("*.py")
        if path.name != "__init__.py"
    }
    assert modules == set(TARGETS)
    assert sum(target.count for target in TARGETS.values()) >= 150


def test_tests_that_hold_a_module_exist():
    for target in TARGETS.values():
        for test in target.tests:
            file, _, name = test.partition("::")
            assert f"def {name}" in (ROOT / file).read_text(), test


def test_mutants_that_are_named_can_still_be_drawn():
    """A line that has changed must be looked at again."""
    every = {mutant.key for path in TARGETS for mutant in mutants_of(path)}
    assert not (set(EQUIVALENT) | ALWAYS) - every


def test_constants_that_only_set_the_speed_exist():
    before = {mutant.before.split(" =")[0] for path in TARGETS for mutant in mutants_of(path)}
    assert before >= SPEED


def test_operators_change_what_they_say(tmp_path, monkeypatch):
    source = '''
"""Docstring with 1 + 1."""
def f(x: int, y: int) -> int:
    if x > 0 and y:
        raise ValueError("1 + 1")
    total = abs(x) - 2 * max(x, y)
    total += x[1:y]
    return -total
'''
    (tmp_path / "toy.py").write_text(source)
    monkeypatch.setattr("mutants.ROOT", tmp_path)
    found = {(mutant.before, mutant.after) for mutant in mutants_of("toy.py")}
    total = "total = abs(x) - 2 * max(x, y)"
    expected = {
        ("if x > 0 and y:", "pass"),
        ("if x > 0 and y:", "if not (x > 0 and y):"),
        ("if x > 0 and y:", "if x > 0 or y:"),
        ("if x > 0 and y:", "if x >= 0 and y:"),
        ("if x > 0 and y:", "if x <= 0 and y:"),
        ("if x > 0 and y:", "if x > 1 and y:"),
        (total, "total = abs(x) + 2 * max(x, y)"),
        (total, "total = x - 2 * max(x, y)"),
        (total, "total = abs(x) - 2 / max(x, y)"),
        (total, "total = abs(x) - 4 * max(x, y)"),
        (total, "total = abs(x) - 3 * max(x, y)"),
        (total, "total = abs(x) - 2 * min(x, y)"),
        ("total += x[1:y]", "pass"),
        ("total += x[1:y]", "total -= x[1:y]"),
        ("total += x[1:y]", "total += x[0:y]"),
        ("total += x[1:y]", "total += x[2:y]"),
        ("total += x[1:y]", "total += x[1:y + 1]"),
        ("return -total", "return total"),
        ("return -total", "return x"),
        ("return -total", "return y"),
    }
    assert found == expected
    for mutant in mutants_of("toy.py"):
        names = {}
        exec(mutant.code(), names)
        assert callable(names["f"])
