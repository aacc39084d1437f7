"""The code in README.md and docs runs as it stands, commands of the tutorial too."""

import doctest
import pkgutil
import re
import shlex
import sys
from pathlib import Path

import pandas as pd
import pytest

from leml_theory.plots import describe_axes, plot_experiment
from leml_theory.sweep.__main__ import main
from leml_theory.sweep.experiments import EXPERIMENTS
from paper_checks.statements import PAPER

ROOT = Path(__file__).resolve().parents[1]
TUTORIAL = ROOT / "docs" / "extending.md"
THEORY = sorted((ROOT / "docs").glob("theory*.md"))


def blocks(path, language):
    """Return the fenced blocks of a page in one language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path, monkeypatch, own_names):
    """Work in an empty folder, draw without a window, and forget what is registered."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return tmp_path


def run_blocks(path, monkeypatch):
    """Run the blocks in one namespace; return it."""
    namespace = {"__name__": "tutorial"}
    monkeypatch.setitem(sys.modules, "tutorial", sys)  # where dataclasses look names up
    for number, block in enumerate(blocks(path, "python"), start=1):
        exec(compile(block, f"{path.name}, block {number}", "exec"), namespace)
    return namespace


def test_the_readme_runs(folder, monkeypatch):
    """Its last picture is drawn from the results of the sweep that it begins with."""
    assert main(["--only", "X3", "--jobs", "1"]) == 0
    found = run_blocks(ROOT / "README.md", monkeypatch)
    assert 0 <= found["result"].certificate.relative_gap <= 1e-6  # minimise's default tolerance
    assert (folder / "transition.png").stat().st_size > 10_000


def test_the_tutorial_runs_and_its_bound_is_tabled_and_drawn(folder, own_names, monkeypatch):
    run_blocks(TUTORIAL, monkeypatch)
    own_names()  # as in a new process
    parts = [block for block in blocks(TUTORIAL, "python") if block.startswith("# mine.py")]
    (folder / "mine.py").write_text("\n".join(parts))
    for command in "".join(blocks(TUTORIAL, "bash")).splitlines():
        assert command.startswith("python -m leml_theory.sweep ")
        assert main([*shlex.split(command)[3:], "--jobs", "1"]) == 0
    frame = pd.read_csv("mine/results.csv")
    sphere = frame[(frame["series"] == "sphere") & (frame["ball"] == "trace")]
    assert sphere["longest_valid"].all()
    assert sphere["longest"].to_numpy() == pytest.approx(sphere["n"].to_numpy() ** -0.5, rel=1e-12)
    huber = frame[(frame["series"] == "Huber") & (frame["quantity"] == "excess risk")]
    assert set(huber["loss"]) == {"huber"}
    assert (huber["value"] > 0).all()  # an excess over a minimum that is known
    assert huber["theorem_3_valid"].all()
    assert not huber["longest_valid"].any()
    panels = [describe_axes(ax) for ax in plot_experiment(frame, "SPHERE").axes]
    drawn = panels[0].line("by the longest x").y
    assert drawn == pytest.approx(sphere["longest"].to_numpy(), rel=1e-12)
    legend = " ".join(panels[1].legend).replace("\n", " ")
    assert "by the longest x, not valid here: needs bounded x" in legend
    assert pd.read_csv("grid/results.csv")["longest_valid"].all()


def test_the_tutorial_is_short():
    assert len(TUTORIAL.read_text().splitlines()) < 150


@pytest.mark.parametrize("page", THEORY, ids=lambda page: page.stem)
def test_the_numbers_of_the_theory_are_computed(page):
    """The blocks of a page are one session; what they print is what the page says."""
    text = "\n".join(blocks(page, "python"))
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    assert test.examples or page.stem != "theory"
    report: list[str] = []
    doctest.DocTestRunner().run(test, out=report.append)
    assert report == []


@pytest.mark.parametrize("page", THEORY, ids=lambda page: page.stem)
def test_what_the_theory_names_is_there(page):
    """Checks, pictures, functions and files that a page names exist."""
    text = page.read_text()
    named = set(re.findall(r"`([TBCAF]\d+(?:\.\d+)?)`", text))
    assert named or page.stem != "theory"
    assert named <= set(PAPER)
    assert set(re.findall(r"\bX\d+\b", text)) <= set(EXPERIMENTS)
    functions = re.findall(
        r"`((?:leml_theory|leml_solver|simulations|paper_checks)\.[\w.]+)`", text
    )
    for name in functions:
        assert pkgutil.resolve_name(name) is not None
    for name in re.findall(r"`(tests/[\w/]+\.py)`", text):
        assert (ROOT / name).is_file()
