"""The lecture notes: their numbers are computed, their figures drawn, their pages built."""

import doctest
import importlib.util
import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

from leml_theory.plots import describe_axes

ROOT = Path(__file__).resolve().parents[1]
NOTES = sorted((ROOT / "docs" / "lectures").glob("lecture_*.md"))


@pytest.fixture(scope="module")
def lectures():
    """Return the module that draws the figures and builds the pages."""
    path = ROOT / "docs" / "lectures" / "build.py"
    specification = importlib.util.spec_from_file_location("lectures_build", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_there_are_three_lectures_with_titles(lectures):
    assert [page.stem for page in NOTES] == list(lectures.TITLES)
    for page in NOTES:
        assert lectures.TITLES[page.stem].lower() in page.read_text().splitlines()[0].lower()


@pytest.mark.parametrize("page", NOTES, ids=lambda page: page.stem)
def test_a_lecture_takes_75_minutes_and_says_what_it_needs(page):
    text = page.read_text()
    planned = re.findall(r"^\| (\d+) \| (\d+\. .+?) \|$", text, re.MULTILINE)
    assert sum(int(minutes) for minutes, _ in planned) == 75
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == [title for _, title in planned]
    assert "**Prerequisites.**" in text
    assert "**Take away.**" in text


@pytest.mark.parametrize("page", NOTES, ids=lambda page: page.stem)
def test_the_numbers_of_a_lecture_are_computed(page):
    found = re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    test = doctest.DocTestParser().get_doctest("\n".join(found), {}, page.name, str(page), 0)
    assert len(test.examples) > 3
    report: list[str] = []
    doctest.DocTestRunner().run(test, out=report.append)
    assert report == []


def test_every_figure_is_shown_and_every_shown_figure_is_drawn(lectures):
    shown = [name for page in NOTES for name in re.findall(r"\]\((\w+)\.png\)", page.read_text())]
    assert sorted(shown) == sorted(lectures.FIGURES)


def test_the_figures_show_what_the_lectures_say(lectures):
    averages = describe_axes(lectures.averages_against_n(draws=20))
    # Twenty draws know an average to two per cent at worst; a quarter is told from one.
    assert averages.line("trace ball, isotropic").y[-1] == pytest.approx(0.245, rel=0.05)
    assert averages.line("trace ball, rank-one").y[-1] == pytest.approx(1, abs=0.1)
    share = describe_axes(lectures.share_of_theorem_3()).line("rank-one").y
    assert np.all(np.diff(share) > 0)
    assert share[-1] < 1
    picture = describe_axes(lectures.gap_and_excess())
    assert picture.line("gap").y[0] == pytest.approx(0.798, abs=1e-3)
    assert picture.line("excess").y[0] == 0
    for d in (8, 32, 128):
        curve = describe_axes(lectures.transition()).line(f"d = {d}")
        inside = curve.x <= d
        assert np.all(curve.y[inside] < 2 / np.sqrt(curve.x[inside]))
        assert curve.y[-1] > 1 / np.sqrt(d)
    walk = describe_axes(lectures.frank_wolfe(steps=20))
    assert np.all(walk.line("a proof").y >= walk.line("the truth").y)
    plt.close("all")


def test_measured_excess_risks_are_near_the_prediction(lectures):
    picture = describe_axes(lectures.prediction(trials=3, sizes=(2048, 4096)))
    plt.close("all")
    for ball in ("trace", "frobenius"):
        predicted, measured = (
            picture.line(f"{ball} ball, {word}").y for word in ("predicted", "measured")
        )
        # Three trials of an excess whose spread is a fifth of it: a factor of 1.5 is four errors.
        assert np.all(abs(np.log(measured / predicted)) < np.log(1.5))


def test_pages_hold_their_pictures(lectures, tmp_path, monkeypatch):
    quick = {name: lectures.gap_and_excess for name in lectures.FIGURES}
    monkeypatch.setattr(lectures, "FIGURES", quick)
    pages = lectures.build(tmp_path, pdf=False)
    assert [page.name for page in pages] == [f"{note.stem}.html" for note in NOTES]
    for page in pages:
        text = page.read_text()
        assert "data:image/png;base64," in text
        assert not re.search(r'src="(?!data:)', text)
