"""report.html in a real browser: the formulas, the sliders, the points, the downloads."""

import json
import math
import re
import shlex
from dataclasses import replace
from functools import partial

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
from leml_theory.extensions import register_law
from leml_theory.sweep.__main__ import _parser, main
from leml_theory.sweep.grid_options import grid_of
from leml_theory.sweep.page import report_page
from leml_theory.sweep.page.content import page_data
from leml_theory.worlds import LAWS, feature_law, label_bound, observation_of
from simulations import IsotropicGaussian
from tests.browser import check_narrow, chromium, opened

QUANTITIES = ("average", "expected", "probable", "gap")
MINUS = "\N{MINUS SIGN}"
POINTS = 1000
# The page and Python add in another order; where a bound is minimised over a parameter, scipy stops
# within 1e-5 of the minimum, or of the end of the range, and the page comes closer.
ROUNDING, SEARCHED = 1e-12, 1e-5


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Return the folder of a run with averages, a map of predictions and points upon it."""
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
    law, d = str(rng.choice([*LAWS])), size(3000)
    if law in ("anisotropic", "rare-outlier"):  # their moments are tabled, the second's for d = 1
        d = 1 if law == "rare-outlier" else 2 ** int(rng.integers(11))
    s = min(rng.choice([1, size(50)]), n_labels if skew == "uniform" else 50)
    return {
        "n": size(2**38), "d": d, "L": n_labels, "s": int(s),
        "skew": "uniform" if skew == "uniform" else f"{skew}:{float(number[skew])!r}",
        "radius": float(np.exp(rng.uniform(-5, 5))), "delta": float(np.exp(rng.uniform(-12, -0.7))),
        "law": law, "loss": str(rng.choice([*LOSSES])),
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


# Playwright's own way to wait evaluates strings in the page, which its policy forbids.
_DRAWN = """(before) => new Promise((done, fail) => { const began = performance.now();
  const look = () => {
  if (Number(document.documentElement.dataset.drawn) > before) done();
  else if (performance.now() - began > 30000) fail(new Error("the page did not draw again"));
  else requestAnimationFrame(look); }; look(); })"""


def drawn(page, action):
    """Do something to the page and wait until it has drawn again."""
    before = page.evaluate("Number(document.documentElement.dataset.drawn)")
    action()
    page.evaluate(_DRAWN, before)


def choose(page, **values):
    """Set controls as a user does: choices by their option, numbers by typing."""
    for name, value in values.items():
        control = page.locator(f"#set-{name}")
        if control.input_value() == str(value):
            continue
        if isinstance(value, str):
            drawn(page, partial(control.select_option, value))
        else:
            control.fill(str(value))
            drawn(page, control.blur)


def values_shown(page):
    """Return the table of values: {bound: (value as text, remark)}."""
    rows = page.locator("#values tbody tr").all()
    cells = [[cell.inner_text().strip() for cell in row.locator("td").all()] for row in rows]
    return {name: (value, remark) for name, value, _, remark in cells}


def shown_number(text):
    return float(text.replace(",", "").replace(MINUS, "-"))


def test_the_page_is_one_small_file_that_forbids_every_connection(results):
    text = (results / "report.html").read_text()
    assert len(text.encode()) < 2_000_000
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)  # a name, never asked for
    assert not re.search(r"""(src|href)\s*=\s*["'](?!#|data:)""", text)


def test_typed_numbers_and_sliders_move_every_bound(page):
    choose(page, quantity="average", law="gaussian", ball="trace", n=100_000, d=200, L=50)
    state = {"n": 100_000, "d": 200, "L": 50, "s": 1, "skew": "uniform", "radius": 1.0,
             "delta": 0.05, "law": "gaussian", "loss": "linear", "ball": "trace",
             "symmetric": False}  # fmt: skip
    check_values(page, state)
    slider = page.locator("#slide-n")
    slider.focus()
    for key in ("ArrowRight", "ArrowRight", "PageUp"):  # by keyboard alone
        drawn(page, lambda key=key: page.keyboard.press(key))
    moved = int(page.locator("#set-n").input_value())
    assert moved > 100_000
    check_values(page, {**state, "n": moved})
    assert page.locator("#slide-n").get_attribute("aria-valuetext") == f"{moved:,}"


def check_values(page, state):
    """Compare the table of the page with the Python functions, to the digits it shows."""
    _, expected = python_bounds(state)
    labels = {
        name: bound.label.removesuffix(", trace ball") for name, bound in tabled_bounds().items()
    }
    found = values_shown(page)
    assert set(found) == set(labels.values())
    for name, bound in expected["average"].items():
        value, remark = found[labels[name]]
        if math.isfinite(bound.value):
            assert shown_number(value) == pytest.approx(bound.value, rel=5e-4)  # four digits
        assert remark.startswith("valid") == bound.valid
        assert all(failure.sentence in remark for failure in bound.failures)


def test_a_bound_that_is_not_valid_is_grey_and_says_why(page):
    choose(page, quantity="average", law="gaussian", n=1000, d=8, L=64)
    _, remark = values_shown(page)["Theorem 4/6, paper's constants"]
    assert "needs d >= L, here d = 8 and L = 64" in remark
    line = "#bounds-figure path[data-bound=paper_route]"
    valid = page.locator(f"{line}[data-valid=true]")
    assert valid.count() == 0
    assert page.locator(f"{line}[data-valid=false]").first.get_attribute("stroke") == "#b9c0c7"
    choose(page, d=64, n=10_000_000)
    assert valid.count() == 1


def test_measured_points_lie_where_the_run_measured_them(page, results):
    frame = pd.read_csv(results / "results.csv")
    rows = frame[(frame["experiment"] == "X2") & (frame["series"] == "n")]
    mine = rows[rows["ball"] == "trace"].sort_values("n")
    first = mine.iloc[0]
    choose(page, quantity="average", axis="n", law="gaussian", ball="trace",
           d=int(first["d"]), L=int(first["L"]))  # fmt: skip
    assert "measured means" in page.locator("#matched").inner_text()
    page.locator("#bounds-figure summary").click()
    table = [
        [cell.inner_text() for cell in row.locator("td").all()]
        for row in page.locator("#bounds-figure tbody tr").all()
    ]
    found = {int(shown_number(row[0])): row for row in table if row[-3]}
    for _, row in mine.iterrows():
        shown = found[int(row["n"])]
        assert shown_number(shown[-3]) == pytest.approx(row["value"], rel=5e-4)
        assert shown_number(shown[-2]) == pytest.approx(row["stderr"], rel=5e-4)
        assert shown_number(shown[-1]) == pytest.approx(row["predicted"], rel=5e-4)
    assert page.locator("#bounds-figure circle title").count() >= len(mine)
    choose(page, d=int(first["d"]) + 1)  # no cell there: nothing is drawn, nothing interpolated
    assert page.locator("#bounds-figure circle title").count() == 0
    assert "no cell of this setting" in page.locator("#matched").inner_text()
    drawn(page, lambda: page.locator("#nearest").click())
    assert page.locator("#bounds-figure circle title").count() >= 1


def test_the_map_names_the_smallest_bound_and_its_probe_moves_by_keys(page):
    choose(page, quantity="average", law="rademacher", ball="trace", d=32)
    page.locator("#map rect[data-n='1024'][data-l='4']").click()
    for key, n, n_labels in (("ArrowRight", 2048, 4), ("ArrowUp", 2048, 8)):
        page.locator("#map").focus()
        drawn(page, lambda key=key: page.keyboard.press(key))
        setting = Setting.of(feature_law("rademacher", 32), observation_of("uniform", n_labels), n)
        best = best_bound(complexity_bounds(setting))
        text = page.locator("#probe").inner_text()
        assert text.startswith(f"n = {n:,}, L = {n_labels}: ")
        label = tabled_bounds()[best.name].label.removesuffix(", trace ball")
        assert label in text
        shown = re.search(rf"{re.escape(label)}, ([\d.e{MINUS}]+)", text)[1]
        assert shown_number(shown) == pytest.approx(best.value, rel=5e-4)
    drawn(page, lambda: page.keyboard.press("Enter"))
    assert page.locator("#set-n").input_value() == "2048"
    assert page.locator("#set-L").input_value() == "8"


def test_the_address_is_a_link_to_the_view(browser, results, page):
    choose(page, quantity="probable", law="rademacher", loss="hinge", pattern="zipf", zipf=1.5,
           delta=0.01, radius=3, n=777, d=12, L=34)  # fmt: skip
    fragment = page.evaluate("location.hash")
    wanted = values_shown(page)
    with opened(browser, results / "report.html", fragment) as again:
        assert values_shown(again) == wanted
        assert again.locator("#set-zipf").input_value() == "1.5"
    strange = "#n=NaN&d=-5&law=none&quantity=constructor&axis=__proto__&phase=99&s=1e99"
    with opened(browser, results / "report.html", strange) as again:  # what makes no sense is left
        assert again.locator("#set-d").input_value() == "1"
        assert again.locator("#set-quantity").input_value() == "average"


def test_every_command_of_the_page_is_one_that_the_sweep_understands(page):
    rng = np.random.default_rng(3)
    worlds = set()
    for number in range(24):
        state = random_state(rng) | {"axis": "n", "quantity": QUANTITIES[number % 4]}
        kind, _, value = state.pop("skew").partition(":")
        state |= {"pattern": kind, **({kind: value} if value else {})}
        if number == 1:
            state |= {"law": "rademacher", "loss": "linear", "pattern": "uniform", "s": 1}
        show = partial(page.evaluate, "(v) => { location.hash = new URLSearchParams(v) }", state)
        drawn(page, show)
        text = page.locator("#command").inner_text()
        if text == "(none)":
            assert page.locator("#command-note").inner_text()
            continue
        words = shlex.split(text)
        assert words[:3] == ["python", "-m", "leml_theory.sweep"]
        grid = grid_of(_parser().parse_args(words[3:]))  # raises where it makes no sense
        assert grid.experiment().plan("quick")
        worlds.add(words[words.index("--world") + 1])
    assert {"averages", "planted"} < worlds


def test_downloads_hold_the_chart_and_its_numbers(page, tmp_path):
    for kind, start in {"PNG": b"\x89PNG", "SVG": b"<svg", "CSV": b"points n,"}.items():
        with page.expect_download() as waiting:
            page.get_by_role("button", name=f"Download bounds as {kind}").click()
        path = tmp_path / f"bounds.{kind.lower()}"
        waiting.value.save_as(path)
        assert waiting.value.suggested_filename == path.name
        assert path.read_bytes().startswith(start)
    assert len((tmp_path / "bounds.png").read_bytes()) > 20_000
    table = pd.read_csv(tmp_path / "bounds.csv")
    expected = [theorem_3(n, 1.0) for n in table["points n"]]
    assert table["Theorem 3, both balls"].to_numpy() == pytest.approx(expected, rel=1e-12)


def theorem_3(n, radius):
    """The bound for features of E|x|^2 = 1."""
    return radius / math.sqrt(n)


def test_the_tables_sort_filter_and_hold_every_slope(page, results):
    summary = json.loads((results / "summary.json").read_text())
    rows = page.locator("#slope-table tbody tr")
    assert rows.count() == len(summary["slopes"])
    head = page.locator("#slope-table th", has_text="slope").first
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    found = [shown_number(row.locator("td").nth(5).inner_text()) for row in rows.all()]
    assert found == sorted(found)
    page.locator("#filter").fill("frobenius")
    wanted = [row for row in summary["slopes"] if row["ball"] == "frobenius"]
    assert rows.count() == len(wanted)
    assert page.locator("#check-table tbody tr").count() < len(summary["checks"])


def test_the_map_of_phases_shows_predictions_and_measured_points(page, results):
    frame = pd.read_csv(results / "results.csv")
    page.locator("#phase-figure summary").click()
    table = [
        [cell.inner_text() for cell in row.locator("td").all()]
        for row in page.locator("#phase-figure tbody tr").all()
    ]
    rows = frame[(frame["experiment"] == "X12") & (frame["series"] == "n and L")]
    assert len(table) == rows["n"].nunique() * rows["L"].nunique()
    place = rows[(rows["n"] == 2048) & (rows["L"] == 16)].set_index("ball")["value"]
    line = next(row for row in table if row[:2] == ["2,048", "16"])
    ratio = place["frobenius"] / place["trace"]
    assert shown_number(line[2]) == pytest.approx(ratio, rel=5e-4)
    measured = frame[(frame["experiment"] == "X13") & (frame["quantity"] == "excess risk")]
    at = measured[(measured["n"] == 2048) & (measured["L"] == 16)].set_index("ball")["value"]
    assert shown_number(line[4]) == pytest.approx(at["frobenius"] / at["trace"], rel=5e-4)


def test_screen_readers_find_names_for_every_control_and_chart(page):
    for control in page.locator("input, select").all():
        name = control.evaluate("(e) => e.labels?.[0]?.innerText || e.getAttribute('aria-label')")
        assert name, control.get_attribute("id")
    charts = page.locator("main .chart > svg")
    assert charts.count() == 4
    for chart in charts.all():
        assert chart.get_attribute("role") == "img"
        assert len(chart.get_attribute("aria-label")) > 30
    assert page.locator("main .chart ~ details table").count() == charts.count()


def test_the_page_fits_a_telephone_and_its_letters_stay_readable(page):
    """Controls stood as wide as the longest command; charts shrank to unreadable letters."""
    check_narrow(page)
    widths = page.evaluate("[...document.querySelectorAll('.chart svg')].map((x) => x.clientWidth)")
    assert min(width for width in widths if width) >= 600


def test_a_grid_says_what_it_is_and_counts_no_checks_that_it_has_not(browser, tmp_path):
    """It said 'Preset undefined' and '0 slope or check not as recorded'."""
    given = ["--n", "16,32", "--d", "3", "--L", "2", "--draws", "2", "--jobs", "1"]
    assert main([*given, "--out", str(tmp_path)]) == 0
    with opened(browser, tmp_path / "report.html") as page:
        run = page.text_content("#run")
        assert run.startswith("Grid of n = 16, 32; d = 3; L = 2;")
        assert "draws = 2" in run
        assert not re.search("undefined|recorded", run + page.text_content("#verdict"))


def test_the_report_command_writes_the_same_page_again(results, capsys):
    path = results / "report.html"
    before = path.read_bytes()
    path.unlink()
    assert main(["report", "--out", str(results)]) == 0
    assert path.read_bytes() == before
    assert str(path) in capsys.readouterr().out


def test_text_in_the_results_cannot_become_script(browser, results, tmp_path):
    frame = pd.read_csv(results / "results.csv")
    evil = (
        "</script><img src=x onerror=document.title='taken'><script>document.title='taken'</script>"
    )
    for name in ("series", "labels", "law"):
        frame.loc[frame["experiment"] == "X2", name] = evil
    summary = json.loads((results / "summary.json").read_text())
    for row in (*summary["slopes"], *summary["checks"]):
        row["experiment"] = row["verdict"] = evil
    summary |= {"preset": evil, "version": evil, "experiments": [evil]}
    path = tmp_path / "evil.html"
    path.write_text(report_page(frame, summary))
    with opened(browser, path) as page:
        assert page.title() == "Sweep report"
        assert page.locator("img").count() == 0
        assert evil in page.locator("#run").inner_text()
        assert page.locator("#set-law option", has_text="onerror").count() == 1


def test_a_large_run_is_shown_as_far_as_it_fits(results, monkeypatch):
    frame = pd.read_csv(results / "results.csv")
    summary = json.loads((results / "summary.json").read_text())
    whole = page_data(frame, summary)
    assert (whole["rows"]["size"], whole["left_out"]) == (len(frame), [])
    most = len(json.dumps(whole["rows"])) // 2
    monkeypatch.setattr("leml_theory.sweep.page.content.LARGEST", most)
    data = page_data(frame, summary)
    assert len(json.dumps(data["rows"])) <= 1.1 * most  # rows are not all of one length
    names = set(data["rows"]["words"]["series"]["names"])
    assert names
    assert data["left_out"]
    assert data["rows"]["size"] < len(frame)


def test_bounds_and_laws_of_ones_own_are_shown_at_the_cells_alone(own_names, results):
    register_law("mine", lambda d: IsotropicGaussian(d, normalised=False))
    frame = pd.read_csv(results / "results.csv")
    data = page_data(frame, json.loads((results / "summary.json").read_text()))
    assert data["tables"]["mine"]["at"][64] == [64.0, 1.0, 1.0, math.inf, True]
    assert 100 not in data["tables"]["mine"]["at"]
    assert "gaussian" not in data["tables"]
