"""The command end to end: output, exit status, messages, and a run killed on the way."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from leml_theory.bounds import COMPLEXITY_BOUNDS, tabled_bounds
from leml_theory.plots import plot_experiment
from leml_theory.runs import provenance
from leml_theory.sweep import __main__ as sweep

ROOT = Path(__file__).resolve().parents[2]
GRID = ["--n", "64,256", "--d", "6", "--L", "3,5", "--draws", "4", "--jobs", "1"]


def run(*arguments):
    """Run the command in this process and return its exit status."""
    return sweep.main([str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def controls(tmp_path_factory):
    """Return the folder of one finished run of the negative controls and the fixed signal."""
    out = tmp_path_factory.mktemp("sweep") / "out"
    assert run("--only", "x8,X11", "--out", out, "--jobs", 2) == 0
    return out


def test_output_is_complete(controls):
    summary = json.loads((controls / "summary.json").read_text())
    assert summary["violations"] == []
    assert summary["cells"] == 12
    assert summary["seconds"] > 0
    assert summary["versions"]["numpy"]
    slope = summary["slopes"][0]
    assert {"experiment", "quantity", "ball", "axis", "slope", "stderr"} <= set(slope)
    assert {"asymptotic", "predicted"} <= set(slope)
    for name in ("X8", "X11"):
        assert (controls / f"{name}.png").stat().st_size > 10_000
        assert (controls / f"{name}.svg").read_text().startswith("<?xml")


def test_results_are_tidy(controls):
    frame = pd.read_csv(controls / "results.csv")
    assert not frame.duplicated(["experiment", "series", "quantity", "ball", "n", "delta"]).any()
    assert {f"{name}_valid" for name in tabled_bounds()} <= set(frame.columns)
    assert frame.loc[frame["series"] == "heavy tails", "paper_route_valid"].eq(False).all()


def test_the_same_command_again_measures_nothing_and_writes_the_same(controls, capsys):
    before = (controls / "results.csv").read_bytes()
    assert run("--only", "X8,X11", "--out", controls) == 0
    assert (controls / "results.csv").read_bytes() == before
    assert "0 violations" in capsys.readouterr().out


def test_pictures_are_drawn_again_from_the_table_alone(controls, capsys):
    picture = controls / "X8.svg"
    before = picture.read_bytes()
    picture.unlink()
    assert run("plot", "--out", controls, "--only", "X8") == 0
    assert picture.read_bytes() == before
    assert "Pictures" in capsys.readouterr().out


def test_status_tells_how_far_a_run_is(controls, capsys):
    assert run("status", "--out", controls) == 0
    assert "12 of 12 cells" in capsys.readouterr().out


@pytest.mark.parametrize("other", [["--seed", 1], ["--preset", "paper"], ["--only", "X8"]])
def test_a_folder_of_another_run_is_left_alone(controls, capsys, other):
    before = {path: path.read_bytes() for path in controls.rglob("*") if path.is_file()}
    assert run("--only", "X8,X11", *other, "--out", controls) == 2
    assert "holds other results" in capsys.readouterr().err
    assert before == {path: path.read_bytes() for path in controls.rglob("*") if path.is_file()}


def test_a_grid_of_ones_own_reports_slopes(tmp_path, capsys):
    assert run(*GRID, "--world", "rank-1", "--out", tmp_path / "g") == 0
    summary = json.loads((tmp_path / "g" / "summary.json").read_text())
    assert {row["series"] for row in summary["slopes"]} == {"L = 3", "L = 5"}
    assert {row["quantity"] for row in summary["slopes"]} == {"rademacher average", "excess risk"}
    picture = tmp_path / "g" / "grid.png"
    before = picture.read_bytes()
    picture.unlink()
    assert run("plot", "--out", tmp_path / "g") == 0
    assert picture.read_bytes() == before
    assert "0 violations" in capsys.readouterr().out


def test_a_grid_over_the_share_observed_has_valid_bounds_everywhere(tmp_path):
    grid = ["--observed", "0.05,0.5,1", "--n", "128", "--d", "4", "--L", "6", "--draws", "6"]
    assert run(*grid, "--world", "logistic", "--jobs", "1", "--out", tmp_path / "g") == 0
    frame = pd.read_csv(tmp_path / "g" / "results.csv")
    assert set(frame["series"]) == {"logistic"}
    assert frame["s"].to_numpy() == pytest.approx(6 * frame["observed"].to_numpy())
    assert frame["theorem_3_valid"].all()
    averages = frame[(frame["quantity"] == "rademacher average") & (frame["ball"] == "trace")]
    spread = 1 + (1 - averages["observed"]) / averages["s"]
    assert averages["theorem_3"].to_numpy() == pytest.approx(np.sqrt(spread / 128).to_numpy())
    excess = frame[frame["quantity"] == "excess risk"]
    assert (excess["value"] <= excess["theorem_3"]).all()
    summary = json.loads((tmp_path / "g" / "summary.json").read_text())
    assert {row["axis"] for row in summary["slopes"]} == {"observed"}
    title = plot_experiment(frame, "grid").axes[0].get_xlabel()
    assert title == "share of labels observed"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "X99"], "no experiment X99"),
        (["--n", "0"], "at least 1"),
        (["--n", "many"], "whole numbers"),
        (["--radius", "-1"], "from 1e-06 to 1e+06"),
        (["--radius", "nan"], "from 1e-06 to 1e+06"),
        (["--radius", "1e300"], "from 1e-06 to 1e+06"),
        (["--n", "100000000000000000000"], "at most 1.15292e+18"),
        (["--jobs", "0"], "--jobs: expected a whole number of at least 1"),
        (["--seed", "-1"], "--seed: expected a whole number of at least 0"),
        (["--observed", "1.5"], "from 1e-06 to 1"),
        (["--precision", "0"], "from 0.01% to 50%"),
        (["--x", "color"], "invalid choice: 'color'"),
        (["--n", "1.5"], "whole numbers"),
        (["--n", ","], "separated by commas"),
        (["dance"], "invalid choice"),
        (["--part", "3/2"], "--part: expected i/N with 1 <= i <= N"),
    ],
)
def test_wrong_usage_ends_with_two_and_says_why(arguments, message, capsys):
    with pytest.raises(SystemExit) as stop:
        run(*arguments)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--law", "cauchy"], "`law` must be one of 'gaussian'"),
        (["--world", "rank-0"], "rank-K"),
        (["--world", "planted:2"], "planted:CORRELATION"),
        (["--loss", "cubic"], "`loss` must be one of 'linear'"),
        (["--solver", "magic"], "`solver` must be one of 'exact', 'leml'"),
        ([*GRID, "--only", "X1"], "cannot go with a grid"),
        ([*GRID, "--skew", "zipf"], "zipf:EXPONENT"),
        ([*GRID, "--world", "planted", "--s", "2"], "planted world needs"),
        ([*GRID, "--s", "9"], "more labels per point than"),
        ([*GRID, "--s", "2", "--skew", "zipf:1"], "only with uniform labels"),
        ([*GRID, "--world", "rank-1", "--loss", "hinge"], "needs labels of two values"),
        ([*GRID, "--world", "planted:0.5", "--law", "gaussian"], "need RademacherVectors"),
        ([*GRID, "--rank", "2"], "give --solver exact,leml"),
        ([*GRID, "--solver", "leml", "--rank", "9", "--world", "shared"], "must not exceed"),
        (["--n", "2e4", "--world", "logistic", "--law", "rademacher"], "too few for n = 20000"),
        ([*GRID, "--grid", "nowhere.toml"], "nowhere.toml"),
        ([*GRID, "--observed", "0.5", "--s", "2"], "leave out --s and --skew"),
        ([*GRID, "--observed", "0.5", "--world", "planted"], "planted world needs"),
        (["--draws", "1"], "at least 2"),
        (["plot"], "run the sweep"),
        (["status"], "holds no results"),
        (["merge"], "holds no parts"),
        (["status", "elsewhere"], "only merge takes folders"),
        ([*GRID, "--part", "5/9"], "there are only 4 cells"),
        ([*GRID, "--cluster", "local:0"], "local:N with N >= 1"),
    ],
)
def test_unusable_input_ends_with_two_and_no_traceback(arguments, message, tmp_path, capsys):
    assert run(*arguments, "--out", tmp_path / "out") == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "axis", [["--radius", "0.5,1,2"], ["--s", "1,2,4"], ["--skew", "uniform,zipf:0"]]
)
@pytest.mark.parametrize("world", ["averages", "rank-1", "shared", "logistic"])
def test_every_axis_can_be_the_only_one(axis, world, tmp_path, capsys):
    """Averages beside a risk do not vary along some axes: they once stopped the whole run."""
    if world == "averages" and axis[0] == "--s":
        axis = ["--s", "1,2"]
    grid = ["--n", "40", "--d", "4", "--L", "4", "--draws", "2", "--jobs", "1", "--world", world]
    assert run(*grid, *axis, "--out", tmp_path / "g") == 0
    assert "0 violations" in capsys.readouterr().out


def test_a_table_that_was_changed_is_refused(tmp_path, capsys):
    out = tmp_path / "out"
    assert run("--only", "X8", "--out", out, "--jobs", 1) == 0
    table = (out / "results.csv").read_bytes()
    (out / "results.csv").write_bytes(table[:700])
    assert run("plot", "--out", out) == 2
    assert "has changed since it was written" in capsys.readouterr().err
    (out / "results.csv").write_bytes(table)
    assert run("plot", "--out", out, "--only", "X5") == 2
    assert "holds no X5" in capsys.readouterr().err


def test_a_summary_that_was_changed_is_refused_and_an_old_one_taken(tmp_path, capsys):
    out = tmp_path / "out"
    assert run(*GRID, "--out", out) == 0
    path = out / "summary.json"
    text = path.read_text()
    summary = json.loads(text)
    assert summary["origins"][0]["cells"] == 4
    assert summary["origins"][0]["processor"]
    path.write_text(text.replace('"cells": 4', '"cells": 5'))
    assert run("plot", "--out", out) == 2
    assert "summary.json` is missing or has changed" in capsys.readouterr().err
    del summary["checksum"]
    path.write_text(json.dumps(summary))
    assert run("plot", "--out", out) == 2
    summary["versions"]["leml-theory"] = "0.2.0"  # which kept no checksum
    path.write_text(json.dumps(summary))
    assert run("plot", "--out", out) == 0


def test_parts_are_merged_to_the_same_table(tmp_path, capsys):
    """The arguments of the parts are kept with them: merge needs none."""
    whole, out, moved = tmp_path / "whole", tmp_path / "out", tmp_path / "moved"
    assert run(*GRID, "--out", whole) == 0
    assert run(*GRID, "--out", out, "--part", "1/2") == 0
    assert run("merge", "--out", out) == 1
    assert "2 of 4 cells are missing: there is no part 2/2." in capsys.readouterr().err
    assert run(*GRID, "--out", moved, "--part", "2/2") == 0
    assert run("merge", moved, out, "--out", out) == 0
    assert (out / "results.csv").read_bytes() == (whole / "results.csv").read_bytes()
    assert run("status", "--out", out) == 0
    assert "part-1-of-2: 2 of 2 cells" in capsys.readouterr().out
    assert run(*GRID, "--out", out) == 0  # the merged folder goes on as any other


def test_parts_of_another_grid_are_not_merged(tmp_path, capsys):
    assert run(*GRID, "--out", tmp_path / "a", "--part", "1/2") == 0
    assert run(*GRID, "--seed", 1, "--out", tmp_path / "b", "--part", "2/2") == 0
    assert run("merge", tmp_path / "a", tmp_path / "b", "--out", tmp_path / "c") == 2
    assert "its seed is 1, yours 0" in capsys.readouterr().err


def test_results_of_other_code_are_refused_or_measured_again(tmp_path, monkeypatch, capsys):
    """An edited measurement once went on silently with what the old one had stored."""
    assert run(*GRID, "--out", tmp_path) == 0
    before = (tmp_path / "results.csv").read_bytes()
    real = provenance._hash_of_package
    edited = {"leml_theory": "0" * 64}
    monkeypatch.setattr(provenance, "_hash_of_package", lambda name: edited.get(name, real(name)))
    assert run(*GRID, "--out", tmp_path) == 2
    error = capsys.readouterr().err
    assert "4 results that other code measured (leml_theory with SHA-256" in error
    assert "000000000000 here" in error
    assert "--recompute" in error
    assert run(*GRID, "--out", tmp_path, "--recompute") == 0
    (origin,) = json.loads((tmp_path / "summary.json").read_text())["origins"]
    assert origin["code"]["leml_theory"] == "0" * 64
    assert (tmp_path / "results.csv").read_bytes() == before
    assert run(*GRID, "--out", tmp_path) == 0


def test_a_foreign_folder_is_refused(tmp_path, capsys):
    (tmp_path / "thesis.tex").write_text("my thesis")
    assert run("--only", "X8", "--out", tmp_path) == 2
    assert "thesis.tex" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_violation_ends_with_one(tmp_path, monkeypatch, capsys):
    """Halve every bound: the averages of X11 then stand above them."""
    for name, bound in COMPLEXITY_BOUNDS.items():

        def halved(setting, whole=bound):
            return replace(whole(setting), value=whole(setting).value / 2)

        monkeypatch.setitem(COMPLEXITY_BOUNDS, name, replace(bound, formula=halved))
    assert run("--only", "X11", "--out", tmp_path / "out", "--jobs", 1) == 1
    assert "violates" in capsys.readouterr().out


def test_a_killed_sweep_goes_on_to_the_same_results(tmp_path):
    """SIGKILL while cells are being stored, then the same command again with other jobs."""
    arguments = ["--only", "X1", "--seed", "3"]
    command = [sys.executable, "-m", "leml_theory.sweep", *arguments]
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    process = subprocess.Popen(
        [*command, "--out", killed, "--jobs", "2"], cwd=ROOT, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 60
    while not list(killed.glob("shards/*.jsonl")) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (killed / "results.csv").exists()
    assert run(*arguments, "--out", killed, "--jobs", 1) == 0
    assert run(*arguments, "--out", whole, "--jobs", 1) == 0
    assert (killed / "results.csv").read_bytes() == (whole / "results.csv").read_bytes()


def test_help_is_a_page_for_newcomers(capsys):
    with pytest.raises(SystemExit) as stop:
        run("--help")
    assert stop.value.code == 0
    page = capsys.readouterr().out
    for word in (
        "examples:",
        "--cluster",
        "--part",
        "--preset",
        "--only",
        "--out",
        "--seed",
        "--jobs",
        "Exit status",
    ):
        assert word in page
