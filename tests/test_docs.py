"""The code in README.md and docs runs as it stands, commands too; the site needs no other host."""

import ast
import contextlib
import doctest
import importlib
import io
import json
import pkgutil
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from leml_theory.plots import describe_axes, plot_experiment
from leml_theory.sweep.__main__ import main
from leml_theory.sweep.experiments import EXPERIMENTS
from paper_checks.statements import PAPER

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
sys.path.append(str(DOCS))
from making import benchmarks, docstrings  # noqa: E402 - what builds the site

EXTENDING = DOCS / "extending.md"
THEORY = sorted(DOCS.glob("theory*.md"))
TUTORIALS = sorted(path for path in DOCS.glob("tutorials/*.md") if path.stem != "index")
GALLERY = sorted(DOCS.glob("examples/x*.py"))
PAGES = [path for path in sorted(DOCS.rglob("*.md")) if "generated" not in path.parts]
FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(path, language):
    """Return the fenced blocks of a page in one language, in order."""
    return [text for name, text in FENCED.findall(path.read_text()) if name == language]


@pytest.fixture
def folder(tmp_path, monkeypatch, own_names):
    """Work in an empty folder, draw without a window, and forget what is registered."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return tmp_path


def run_blocks(path, monkeypatch, *, commands=True):
    """Run the blocks of a page in order, Python in one namespace; return it."""
    namespace = {"__name__": "tutorial"}
    monkeypatch.setitem(sys.modules, "tutorial", sys)  # where dataclasses look names up
    for number, (language, block) in enumerate(FENCED.findall(path.read_text()), start=1):
        if language == "python":
            exec(compile(block, f"{path.name}, block {number}", "exec"), namespace)
        elif language == "bash" and commands:
            for command in block.splitlines():
                assert run_command(command) == 0, command
    return namespace


def run_command(command):
    """Run `python -m MODULE ...` in this process, on one core; return its exit status."""
    python, dash_m, module, *arguments = shlex.split(command)
    assert (python, dash_m) == ("python", "-m")
    jobs = ["--jobs", "1"] if module == "leml_theory.sweep" else []
    return importlib.import_module(f"{module}.__main__").main([*arguments, *jobs])


def test_the_readme_runs(folder, monkeypatch):
    found = run_blocks(ROOT / "README.md", monkeypatch)
    assert 0 <= found["result"].certificate.relative_gap <= 1e-6  # minimise's default tolerance
    assert 0 <= found["model"].certificate_.relative_gap < 1


def test_the_readme_is_short_and_counts_the_statements():
    """Name first, then what it is, the picture, and the two commands."""
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 110
    places = [text.index(part) for part in ("# leml-theory", "![", "make sweep", "make test")]
    assert places[0] == 0
    assert places == sorted(places)
    verdicts = pd.Series([s.verdict.name for s in PAPER.values()]).value_counts()
    said = re.findall(r"\d+", re.search(r"^\d+ statements.*?ours\.$", text, re.M | re.S).group())
    order = ["HOLDS", "HIDDEN", "MISPRINT", "FALSE", "LOOSE", "ANSWERED", "CONJECTURE"]
    assert [int(number) for number in said] == [len(PAPER), *verdicts[order]]


@pytest.fixture(scope="module")
def drawn():
    """Return the pictures that the build of the lectures draws beside its pages."""
    lectures = DOCS / "lectures"
    return {lectures / f"{name}.png" for name in runpy.run_path(lectures / "build.py")["FIGURES"]}


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES], ids=lambda page: page.name
)
def test_links_lead_to_files(page, drawn):
    """Generated pages and the figures of lectures are there after a build."""
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[\w-]+)?\)", page.read_text()):
        path = (page.parent / target).resolve()
        made = "generated" in path.parts or path in drawn
        assert made or path.exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_tutorials_run(page, folder, monkeypatch, capsys):
    """Every block of a tutorial runs, and what the page says of the outcome holds."""
    found = run_blocks(page, monkeypatch)
    printed = capsys.readouterr().out
    outcomes = {
        "own_grid": lambda: (
            found["best"].name == "chevet"
            and found["found"]["trace"].kind == "sharp"
            and found["found"]["trace"].excess < found["found"]["frobenius"].excess
            and (folder / "mine.png").stat().st_size > 10_000
            and {"excess risk"} <= set(pd.read_csv("fits/results.csv")["quantity"])
        ),
        "own_data": lambda: (
            found["found"].top_k[1] > np.nanmean(found["Y"])
            and len((folder / "labels.txt").read_text().splitlines()) == 100
            and "Rademacher" in printed
        ),
        "certificate": lambda: (
            found["certificate"].relative_gap <= 1e-6  # minimise's default tolerance
            and found["small"].certificate_.relative_gap > 0.01
            and found["large"].certificate_.relative_gap < 1e-3
            and found["proved"].certificate_.rank_relative_gap < 1e-6
        ),
        "reproduce": lambda: "All come out as recorded" in printed,
    }
    assert outcomes[page.stem]()


# What each example shows, in the names of the example.
FINDINGS = {
    "X1": lambda x: abs(x["slope"] + 0.5) < 0.02 and (x["averages"] < 1.05 * x["bound"]).all(),
    "X2": lambda x: (
        abs(np.array(x["trace"]) * np.sqrt(x["n"] * x["sizes"]) - 2)[-1] < 0.1
        and (np.array(x["trace"]) <= x["bound"]).all()
    ),
    "X3": lambda x: 1 < x["averages"][-1] * np.sqrt(x["n"] * x["d"]) < 1.5,
    "X4": lambda x: 0.9 < x["averages"][-1] / np.sqrt(0.8 / x["n"]) < 1.1,
    "X5": lambda x: (np.diff(x["worst"][:, 0]) < 0).all() and x["worst"][-1, 1] > 2e-4,
    "X6": lambda x: x["excess"][-1, 1] > 2.5 * x["excess"][-1, 0],
    "X7": lambda x: (
        x["deviation"]["identical labels"][-1][0] > 0.8 * x["deviation"]["identical labels"][-2][0]
        and x["deviation"]["independent labels"][-1][0]
        < 0.8 * x["deviation"]["independent labels"][-2][0]
    ),
    "X8": lambda x: x["excess"][-2, 0] > 3 * x["excess"][-1, 0],
    "X9": lambda x: all(  # four draws: standard errors of about a tenth
        0.6 < x["excess"][ball][k] / found[ball].excess < 1.6
        for ball in x["excess"]
        for k, found in enumerate(x["predicted"])
    ),
    "X10": lambda x: (
        (x["excess"]["pooled"] < x["excess"]["trace"]).all()
        and (x["excess"]["trace"] < x["excess"]["frobenius"]).all()
    ),
    "X11": lambda x: all(x["reasons"].values()) and "n = 32" in x["reasons"]["n < L"],
    "X12": lambda x: np.allclose(x["advantage"][0], 1) and x["advantage"][-1].min() > 2,
    "X13": lambda x: (abs(x["means"] - x["predicted"]) < 6 * x["errors"]).all(),
    "X14": lambda x: (x["averages"] <= 1.05 * np.array(x["bounds"])[:, None]).all(),
}


def test_the_gallery_shows_every_experiment():
    """Each example says its experiment in the title; twenty lines besides imports."""
    titles = [
        re.search(r"^(X\d+)\. ", ast.get_docstring(ast.parse(p.read_text()))) for p in GALLERY
    ]
    assert [title.group(1) for title in titles] == list(EXPERIMENTS) == list(FINDINGS)
    assert all(1 < code_lines(path) <= 20 for path in GALLERY)


def code_lines(path):
    """Count the lines of a script without comments, docstring and imports."""
    tree = ast.parse(path.read_text())
    tree.body = [
        node
        for node in tree.body[1:]
        if not isinstance(node, ast.Import | ast.ImportFrom)
    ]  # fmt: skip
    inside = {n for node in tree.body for n in range(node.lineno, node.end_lineno + 1)}
    lines = path.read_text().splitlines()
    return sum(bool(re.match(r"\s*[^#\s]", lines[n - 1])) for n in inside)


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_examples_run_and_show_what_they_say(path, monkeypatch):
    import matplotlib.pyplot as plt

    monkeypatch.setattr(plt, "rcParams", plt.rcParams.copy())
    plt.switch_backend("Agg")
    with contextlib.redirect_stdout(io.StringIO()):
        found = runpy.run_path(str(path))
    assert plt.get_fignums()
    plt.close("all")
    assert FINDINGS[f"X{int(path.stem[1:3])}"](found)


def test_the_comparison_says_what_was_measured():
    """Every figure of docs/compare.md is that of the runs that were kept."""
    text = " ".join((DOCS / "compare.md").read_text().split())
    kept = {
        area: json.loads((ROOT / f"benchmarks/results/{area}.json").read_text())["rows"]
        for area in ("erm", "methods")
    }
    ratios = {row["name"]: row["ratio"] for row in kept["erm"]}
    assert f"took {ratios['50x50 squared']:.0f} times as long" in text
    assert f"at d = L = 100 {ratios['100x100 squared']:.0f} times as long" in text
    single = [ratio for name, ratio in ratios.items() if "s=1" in name and ratio]
    assert f"the factor is {min(single):.0f} to {max(single):.0f}" in text
    bibtex = {(r["package"], r["method"]): r for r in kept["methods"] if r["dataset"] == "bibtex"}
    for name in (("scikit-learn", "ridge"), ("napkinXC", "PLT"), ("ours", "LEML squared k=159")):
        row = bibtex[name]
        assert f"{row['top_1']:.1f} ± {row['top_1_stderr']:.1f} %" in text
    assert f"{len(PAPER)} running checks" in text
    for auc in (
        bibtex["scikit-learn", "one-vs-rest logistic"],
        bibtex["ours", "LEML logistic k=64"],
    ):
        assert f"{auc['auc']:.3f}".removeprefix("0") in text


def test_the_tutorial_runs_and_its_bound_is_tabled_and_drawn(folder, own_names, monkeypatch):
    run_blocks(EXTENDING, monkeypatch, commands=False)
    own_names()  # as in a new process
    parts = [block for block in blocks(EXTENDING, "python") if block.startswith("# mine.py")]
    (folder / "mine.py").write_text("\n".join(parts))
    for command in "".join(blocks(EXTENDING, "bash")).splitlines():
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
    assert len(EXTENDING.read_text().splitlines()) < 150


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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("|Z|_tr and Z*", r"\|Z\|_tr and Z\*"),
        ("the attribute W_ of a fit", r"the attribute W\_ of a fit"),
        ("a *sharp* prediction, `|x|` and :math:`|x|_2`", None),
        ("* a list\n* of two", None),
        (">>> abs(-1) * 2 | 0\n2", None),
        ("as here::\n\n    |x| * y_\n\n|x|", "as here::\n\n    |x| * y_\n\n" + r"\|x\|"),
    ],
)
def test_marks_in_docstrings_are_text(text, expected):
    assert docstrings.escaped(text) == (text if expected is None else expected)


def test_the_site_asks_no_other_host():
    """No extension that fetches, no script from elsewhere; formulas are drawn by the browser."""
    settings = (DOCS / "conf.py").read_text()
    assert not re.search(r"intersphinx|mathjax|katex|https?://", settings)
    assert 'html_math_renderer = "mathml"' in settings
    for path in (*DOCS.glob("_static/*"), *DOCS.glob("making/*.py")):
        assert "://" not in path.read_text(), path.name


@pytest.mark.long
def test_the_site_is_built_without_a_warning_and_asks_no_other_host(tmp_path):
    """Every page refers to files of the site alone, and all that pages load is there."""
    pytest.importorskip("sphinx_gallery", reason="needs pip install -e '.[docs]'")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q"]
    done = subprocess.run(
        [*command, "docs", str(tmp_path)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = sorted(tmp_path.rglob("*.html"))
    pages = [page for page in found if "_static" not in page.parts]  # there, templates of the theme
    sources = [path for end in ("md", "rst") for path in DOCS.rglob(f"*.{end}")]
    pages_of = [path.relative_to(DOCS) for path in sources]
    written = [path for path in pages_of if path.parts[0] not in ("examples", "lectures")]
    assert {f"{name}.md" for name in PAPER} <= {path.name for path in written}
    assert all((tmp_path / path.with_suffix(".html")).is_file() for path in written)
    for page in pages:
        loads = re.findall(
            r"<(?:script|img|iframe|source)\b[^>]*?\bsrc=\"([^\"]+)\"|<link\b[^>]*?\bhref=\"([^\"]+)\"",
            page.read_text(),
        )
        for target in (one or other for one, other in loads):
            assert "//" not in target.removeprefix("data:"), f"{page.name} loads {target}"
            path = target.split("?")[0].split("#")[0]
            assert target.startswith("data:") or (page.parent / path).exists(), (page, target)
    for sheet in tmp_path.rglob("*.css"):
        assert not re.search(r"url\([\"']?(https?:)?//", sheet.read_text()), sheet.name


@pytest.mark.parametrize("area", ["erm", "methods", "certificate", "scale"])
def test_the_benchmarks_that_were_kept_have_a_table(area):
    rows = getattr(benchmarks, f"_{area}_table")().splitlines()[2:]
    assert len(rows) > 5
    assert all(row.count("|") == rows[0].count("|") for row in rows)


def test_the_benchmark_of_scale_times_sweeps_and_says_which_bars_are_missed(monkeypatch):
    from types import SimpleNamespace

    from benchmarks import scale, scale_sweeps

    asked = []

    def seconds(cells, **where):
        asked.append((len(cells), where))
        return (1.2 if "cluster" in where else 1.0), 0.5, {}

    monkeypatch.setattr(scale_sweeps, "seconds", seconds)
    assert "sweeps" in scale.ROWS
    (row,) = scale.ROWS["sweeps"](SimpleNamespace(scale=1.0), None)
    assert asked[:2] == [(1000, {"jobs": 2}), (1000, {"jobs": 1, "cluster": "local:2"})]
    assert row["value"] == pytest.approx(1.2)
    assert scale.said(row) == "at most 1.15, missed"
    assert scale.said(scale.row("x", 0.9, 1.1, 0.95)) == "at least 0.95 and at most 1.1, missed"
    assert scale.said(scale.row("x", 1.0, 1.1, 0.95)) == "at least 0.95 and at most 1.1"
