"""Plugins: what they register is measured, tabled and drawn; a changed one is refused."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from leml_theory import extensions
from leml_theory.bounds import COMPLEXITY_BOUNDS, Bound, BoundValue, best_bound, complexity_bounds
from leml_theory.checks.bound import random_world
from leml_theory.diagnose import diagnose
from leml_theory.diagnose.__main__ import main as diagnose_command
from leml_theory.measurements import measure, record
from leml_theory.plots import describe_axes, plot_experiment, plot_series
from leml_theory.plugins import Plugin, load_plugins
from leml_theory.rademacher import Estimate
from leml_theory.runs.cells import Cell
from leml_theory.sweep.__main__ import main
from leml_theory.sweep.experiments import EXPERIMENTS, Experiment, Planned
from leml_theory.sweep.frame import results_frame, violations

PLUGIN = """
from __future__ import annotations
import math
from dataclasses import dataclass
from leml_theory import extensions
from leml_theory.bounds import Bound, BoundLook, BoundValue, FailedAssumption
from leml_theory.measurements import record
from leml_theory.rademacher import Estimate
from leml_theory.sweep.experiments import Experiment, Planned
from simulations import RademacherVectors

@dataclass(frozen=True)  # looks its own module up to understand the annotations
class Doubled:
    factor: float = 2.0

def doubled(setting):
    value = Doubled().factor * setting.radius * math.sqrt(setting.moments.second_moment / setting.n)
    few = setting.n < 100
    failures = (FailedAssumption("needs n >= 100", f"n = {setting.n}"),) if few else ()
    return BoundValue("doubled", value, failures)

extensions.register_law("coins", RademacherVectors)
extensions.register_bound(Bound("doubled", "twice Theorem 3", doubled, BoundLook("--", "red")))

def lone(parameters, rng):
    estimate = Estimate.of(rng.uniform(1e-4, 2e-4, size=10))
    return [record("lone average", "trace", {**parameters, "law": "coins"}, estimate)]

extensions.register_measurement("lone", lone)

def plan(preset):
    place = {"law": "coins", "d": 4, "L": 4, "skew": "uniform", "draws": 5}
    cells = [Planned("averages", "rademacher", {**place, "n": n}) for n in (50, 200, 800)]
    return cells + [Planned("alone", "lone", {**place, "n": n}) for n in (200, 400)]

extensions.register_experiment(Experiment("Mine", "An experiment of my own", plan, ()))
"""


@pytest.fixture
def plugin(tmp_path, own_names):
    path = tmp_path / "mine.py"
    path.write_text(PLUGIN)
    return path


def run(*arguments):
    return main([str(argument) for argument in arguments])


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_plugin_is_measured_tabled_drawn_and_kept_in_the_manifest(plugin, tmp_path, jobs):
    out = tmp_path / "out"
    assert run("--plugin", plugin, "--only", "mine", "--out", out, "--jobs", jobs) == 0
    frame = pd.read_csv(out / "results.csv")
    assert set(frame["experiment"]) == {"Mine"}
    assert set(frame["quantity"]) == {"rademacher average", "lone average"}
    averages = frame[frame["quantity"] == "rademacher average"]
    assert averages["doubled"].to_numpy() == pytest.approx(2 * averages["theorem_3"], rel=1e-12)
    assert averages["doubled_valid"].eq(averages["n"] >= 100).all()
    axes = [describe_axes(ax) for ax in plot_experiment(frame, "Mine").axes]
    (panel,) = [axes for axes in axes if "Rademacher" in axes.y_label]
    valid = averages[(averages["ball"] == "trace") & averages["doubled_valid"]]
    drawn = panel.line("twice Theorem 3").y
    assert drawn[~pd.isna(drawn)] == pytest.approx(valid["doubled"].to_numpy(), rel=1e-12)
    assert any("twice Theorem 3, not valid here: needs n ≥ 100" in text for text in panel.legend)
    assert (out / "Mine.png").stat().st_size > 10_000
    before = (out / "Mine.svg").read_bytes()
    (out / "Mine.svg").unlink()
    assert run("plot", "--plugin", plugin, "--out", out) == 0
    assert (out / "Mine.svg").read_bytes() == before
    manifest = json.loads((out / "manifest.json").read_text())["description"]
    assert manifest["plugins"] == [{"file": "mine.py", "sha256": Plugin.of(plugin).sha256}]


def test_a_grid_takes_a_registered_law(plugin, tmp_path):
    grid = ["--law", "coins", "--n", "200,400", "--d", 3, "--L", 2, "--draws", 4]
    assert run("--plugin", plugin, *grid, "--out", tmp_path / "out", "--jobs", 1) == 0
    frame = pd.read_csv(tmp_path / "out" / "results.csv")
    assert set(frame["law"]) == {"coins"}
    assert frame["doubled_valid"].all()


def test_going_on_with_a_changed_plugin_is_refused_by_name(plugin, tmp_path, own_names, capsys):
    arguments = ["--only", "MINE", "--out", tmp_path / "out", "--jobs", 1]
    assert run("--plugin", plugin, *arguments) == 0
    before = (tmp_path / "out" / "results.csv").read_bytes()
    plugin.write_text(PLUGIN.replace("factor: float = 2.0", "factor: float = 3.0"))
    own_names()  # as in a new process
    assert run("--plugin", plugin, *arguments) == 2
    assert "was measured with other plugins: mine.py with SHA-256" in capsys.readouterr().err
    assert (tmp_path / "out" / "results.csv").read_bytes() == before
    own_names()
    assert run("--plugin", plugin, *arguments, "--recompute") == 0
    assert (tmp_path / "out" / "results.csv").read_bytes() != before
    own_names()
    plugin.write_text(PLUGIN)
    assert run("--plugin", plugin, *arguments) == 2


def test_a_worker_without_the_file_gets_its_content(plugin, own_names):
    began = Plugin.of(plugin)
    plugin.unlink()
    began.load()
    assert "Mine" in EXPERIMENTS


def test_a_worker_refuses_a_plugin_that_is_not_what_the_run_began_with(plugin, own_names):
    began = Plugin.of(plugin)
    plugin.write_text(PLUGIN + "\n# another one\n")
    with pytest.raises(ValueError, match=r"mine\.py` has changed while it was in use"):
        began.load()
    assert "Mine" not in EXPERIMENTS


def test_a_worker_that_has_run_what_a_plugin_was_is_to_be_started_again(plugin):
    Plugin.of(plugin).load()
    plugin.write_text(PLUGIN + "\n# another one\n")
    with pytest.raises(ValueError, match="start again, and on a cluster the workers too"):
        Plugin.of(plugin).load()


def test_a_plugin_runs_once_in_a_process(plugin):
    first = load_plugins([plugin])
    assert load_plugins([plugin, plugin]) == first
    assert list(EXPERIMENTS)[-1] == "Mine"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\nx / 0", r"bad\.py` raised ZeroDivisionError in line 2: division by zero"),
        ("def broken(:", r"bad\.py` raised SyntaxError"),
    ],
)
def test_a_plugin_that_fails_ends_with_two_and_one_line(text, message, tmp_path, capsys):
    (tmp_path / "bad.py").write_text(text)
    assert run("--plugin", tmp_path / "bad.py", "--out", tmp_path / "out") == 2
    error = capsys.readouterr().err
    assert pd.Series([error]).str.contains(message).all()
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_plugin_that_is_not_there_is_named(tmp_path, capsys):
    assert run("--plugin", tmp_path / "none.py") == 2
    assert "there is no file" in capsys.readouterr().err


def test_one_s_own_bound_joins_the_others(own_names):
    """A hundredth of Theorem 3 is the smallest where it says that it is valid."""

    def tiny(setting):
        return BoundValue("tiny", COMPLEXITY_BOUNDS["theorem_3"](setting).value / 100)

    setting = random_world(np.random.default_rng(3), 8).setting("frobenius")
    assert best_bound(complexity_bounds(setting)).name == "theorem_3"
    bound = extensions.register_bound(Bound("tiny", "a hundredth", tiny))
    assert extensions.register_bound(bound) is bound
    assert best_bound(complexity_bounds(setting)).name == "tiny"


def test_a_diagnosis_names_one_s_own_bound(own_names):
    bound = Bound("wide", "a wide bound", lambda _: BoundValue("wide", 1e6))
    extensions.register_bound(bound)
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(40, 3)), rng.integers(0, 2, size=(40, 4)).astype(float)
    found = diagnose(X, Y, rng=rng, draws=10)
    assert any("a wide bound (1e+06)" in sentence for sentence in found.sentences())
    assert found.record()["raw"]["bounds"]["wide"]["failures"] == []


def test_bounds_are_silent_about_quantities_they_do_not_speak_of(own_names):
    """A length near 1 is above the bounds on averages of 100 points, which is no violation."""

    def lengths(parameters, rng):
        return [record("length", "frobenius", parameters, Estimate.of(rng.uniform(1, 2, 50)))]

    extensions.register_measurement("lengths", lengths)
    plan = [Planned("n", "lengths", {"n": 100, "d": 2, "L": 2})]
    [cell] = [Cell(item.kind, item.parameters, 0) for item in plan]
    frame = results_frame({"Mine": plan}, 0, {cell.key: measure(cell)})
    assert frame["theorem_3"].isna().all()
    assert violations(frame) == []


def test_the_command_diagnose_takes_a_plugin(plugin, tmp_path, own_names, capsys):
    rng = np.random.default_rng(1)
    Y = rng.integers(0, 2, size=(120, 4)).astype(float)
    np.savez(tmp_path / "data.npz", X=rng.normal(size=(120, 3)), Y=Y)
    options = ["--data", str(tmp_path / "data.npz"), "--no-fit", "--quiet"]
    assert diagnose_command([*options, "--plugin", str(plugin)]) == 0
    assert "twice Theorem 3 (" in capsys.readouterr().out.replace("\n", " ")


def test_one_s_own_bound_on_risks_is_held_against_draws_and_drawn(own_names):
    """A third of the worst excess is exceeded by most draws, a violation that is seen."""

    def low(setting, risk, complexity):
        return BoundValue("low", 0.1 / math.sqrt(setting.n))

    extensions.register_risk_bound(Bound("low", "a low bound", low))
    place = {"d": 4, "L": 4, "skew": "uniform", "draws": 40, "signals": 3}
    plan = [Planned("n", "worst planted", {**place, "n": n}) for n in (256, 1024)]
    cells = [Cell(item.kind, item.parameters, 0) for item in plan]
    frame = results_frame({"X5": plan}, 0, {cell.key: measure(cell) for cell in cells})
    assert set(frame["high_probability_name"]) == {"low"}
    assert {row["bound"] for row in violations(frame)} == {"high_probability"}
    line = describe_axes(plot_series(frame, "X5", "n")).line("a low bound, with probability")
    assert line.y == pytest.approx([0.1 / 16, 0.1 / 32], rel=1e-12)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("theorem_3", "which is a bound already"),
        ("theorem_3_valid", "which is a column already"),
        ("paper_route_as_printed", "which is a column already"),
        ("value", "which is a column already"),
        ("two words", "made of letters, digits and underscores"),
    ],
)
def test_a_bound_needs_a_name_of_its_own(name, message, own_names):
    with pytest.raises(ValueError, match=message):
        extensions.register_bound(Bound(name, "mine", lambda _: BoundValue(name, 1.0)))


@pytest.mark.parametrize("name", ["grid", "X1", "x1", "a/b", ""])
def test_an_experiment_needs_an_id_of_its_own(name, own_names):
    experiment = Experiment(name, "mine", lambda _: [Planned("a", "rademacher", {})], ())
    with pytest.raises(ValueError, match=r"`id` must|`name` must"):
        extensions.register_experiment(experiment)


def test_a_formula_must_answer_with_its_own_name(own_names):
    bound = Bound("mine", "mine", lambda _: BoundValue("another", 1.0))
    with pytest.raises(ValueError, match="'mine' must return a BoundValue of that name"):
        bound(random_world(np.random.default_rng(3), 8).setting("trace"))
    with pytest.raises(TypeError, match="FailedAssumption"):
        BoundValue("mine", 1.0, ("needs luck",))


def test_a_plugin_that_exits_does_not_end_the_command_as_if_all_were_well(tmp_path, capsys):
    path = tmp_path / "leaves.py"
    path.write_text("import sys\nsys.exit()\n")
    assert main(["--plugin", str(path), "--dry-run"]) == 2
    assert "raised SystemExit in line 2" in capsys.readouterr().err
