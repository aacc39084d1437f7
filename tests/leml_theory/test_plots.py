"""Pictures: what is drawn, where a bound is masked and named, the same bytes, helpful errors.

The frame is made up (values well below every bound, on a power law), its bounds and their validity
are those of the real experiments; nothing is measured here.
"""

import subprocess
import sys
from itertools import combinations

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgba
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.text import Text

from leml_theory.bounds import FailedAssumption, failures_to_json
from leml_theory.measurements.records import place
from leml_theory.plots import (
    describe_axes,
    plot_experiment,
    plot_risk_against_labels,
    plot_risk_against_n,
    plot_series,
    save_figure,
)
from leml_theory.plots.captions import SENTENCES
from leml_theory.plots.catalogue import PICTURES
from leml_theory.plots.style import GREY, LOOKS, MINUS, PREDICTIONS, picture_style
from leml_theory.plots.ticks import label_values, log_places, number
from leml_theory.plots.titles import claim
from leml_theory.plots.validity import short_reason
from leml_theory.runs.cells import Cell
from leml_theory.sweep.experiments import EXPERIMENTS, Planned, SlopeRow
from leml_theory.sweep.frame import results_frame

GRID = [
    Planned(f"L = {n_labels}", kind, {"law": "gaussian", "n": n, "d": 8, "L": n_labels, **more})
    for n_labels in (4, 16)
    for n in (100, 1000)
    for kind, more in (("rademacher", {}), ("erm", {"loss": "logistic", "radius": 2.0}))
]
NOT_SHOWN = "2 points at or below zero, not shown on this axis"
QUANTITIES = {
    "rademacher": ("rademacher average",),
    "slots": ("supremum deviation",),
    "outlier": ("frequency above Theorem 3",),
    "erm": ("excess risk", "generalisation gap"),
    "predicted excess": ("predicted excess",),
}


def fast_rates(where, value):
    """Return the columns of the offset bound and, in a ball that holds Z*, of the lower bound."""
    offset = {"offset_mean": 2 * value, "offset_stderr": value / 20, "offset_draws": 12}
    return offset | ({"minimax": value / 4} if where["radius_factor"] >= 1 else {})


def made_up(planned):
    """Return the rows of a planned cell without measuring: 0.1/sqrt(nL) and 0.1/sqrt(n)."""
    parameters = {"d": 1, "L": 1, **planned.parameters}
    where = {**place(parameters), "draws": 10, "certificate_gap": 0.0}
    if planned.kind == "worst planted":
        where |= {"labels": "worst planted"}
    if planned.kind == "clipped":
        where |= {"loss": "clipped linear"}
    if planned.kind == "outlier":
        where |= {"law": "rare outlier", "delta": parameters["delta"]}
        where |= {"signal": 0.5 / np.sqrt(parameters["delta"])}
    if planned.kind == "erm":
        where |= {"radius_factor": where["radius"]}
    balls = {"trace": where["L"]} if planned.kind in ("clipped", "outlier") else None
    balls = balls or {"trace": where["L"], "frobenius": 1}
    if parameters.get("labels") == "shared":
        balls |= {"pooled": 4 * where["L"]}
    if planned.kind == "predicted excess":
        balls |= {"pooled": 4 / where["L"], "separate": 0.5}
    on_map = parameters.get("labels") == "nearly shared"
    fitted = planned.kind == "erm" and where["loss"] == "squared"
    return [
        {**where, "quantity": quantity, "ball": ball, "value": value, "stderr": value / 50}
        | {"predicted": np.nan if planned.kind == "erm" and not on_map else value}
        | (fast_rates(where, value) if fitted and quantity == "excess risk" else {})
        for quantity in QUANTITIES.get(planned.kind, ("excess risk",))
        for ball, factor in balls.items()
        for value in [0.1 / np.sqrt(where["n"] * factor)]
    ]


@pytest.fixture(scope="module")
def frame(tmp_path_factory):
    """The frame as `sweep plot` reads it, from a CSV file."""
    plans = {name: experiment.plan("quick") for name, experiment in EXPERIMENTS.items()}
    plans["grid"] = GRID
    results = {
        Cell(planned.kind, planned.parameters, 0).key: made_up(planned)
        for plan in plans.values()
        for planned in plan
    }
    path = tmp_path_factory.mktemp("frame") / "results.csv"
    results_frame(plans, 0, results).to_csv(path, index=False)
    return pd.read_csv(path)


def main_axes(figure):
    return [ax for ax in figure.axes if ax.get_label() != "strip"]


def ax_title(ax):
    return ax.get_title(loc="left") or None


def legend_texts(figure):
    legends = [*figure.legends, *(ax.get_legend() for ax in figure.axes)]
    return [t.get_text().replace("\n", " ") for g in legends if g for t in g.get_texts()]


def grey_lines(ax):
    return [line for line in ax.lines if line.get_color() == GREY and line.get_linestyle() == ":"]


def title(figure):
    return figure.texts[0].get_text().replace("\n", " ")


@pytest.fixture(scope="module")
def pictures(frame):
    drawn = {name: plot_experiment(frame, name) for name in [*PICTURES, "grid"]}
    return drawn | {
        "risk_against_n": plot_risk_against_n(frame),
        "risk_against_labels": plot_risk_against_labels(frame),
    }


def test_every_experiment_has_a_picture():
    assert list(PICTURES) == list(EXPERIMENTS)


def test_every_panel_has_a_title_and_named_axes(pictures):
    for name, figure in pictures.items():
        assert isinstance(figure, Figure)
        assert title(figure)
        for ax in figure.axes:
            assert ax.get_ylabel(), name
        for ax in main_axes(figure):
            assert ax.get_title(loc="left"), name
            assert ax.get_yscale() == "log", name
        named = [ax.get_xlabel() for ax in figure.axes if ax.get_xlabel()]
        # Controls stand beside each other under their own names.
        assert len(named) == len(main_axes(figure)) - (name in ("X5", "X11")), name


def test_every_series_of_every_experiment_is_drawn(frame):
    """Each series of the frame belongs to a panel: a new one must not be forgotten here."""
    for name, picture in PICTURES.items():
        drawn = {series for panel in picture.panels for series in panel.series}
        assert set(frame.loc[frame["experiment"] == name, "series"]) <= drawn


def test_every_ball_has_its_own_marker_and_line_and_is_in_the_legend(pictures):
    """Readable in greyscale: neither markers nor line styles repeat."""
    assert len({look.marker for look in LOOKS.values()}) == len(LOOKS)
    assert len({look.line for look in LOOKS.values()}) == len(LOOKS)
    bars = [c for c in main_axes(pictures["X10"])[0].containers if isinstance(c, ErrorbarContainer)]
    assert [bar.lines[0].get_marker() for bar in bars] == ["o", "s", "^"]
    texts = legend_texts(pictures["X10"])
    for ball in ("trace", "frobenius", "pooled"):  # the balls of this frame
        assert any(text.startswith(LOOKS[ball].name) for text in texts)


def test_error_bars_are_two_standard_errors(frame):
    ax = plot_series(frame, "X1", "n")
    rows = frame.query("experiment == 'X1' and series == 'n' and ball == 'trace'")
    (segments,) = [bars.get_segments() for bars in ax.containers[0].lines[2]]
    low, high = segments[0][:, 1]
    # Two standard errors up and down; equal to rounding.
    assert high - low == pytest.approx(4 * rows["stderr"].iloc[0], rel=1e-12)


def test_a_bound_is_a_plain_line_only_where_it_is_valid(frame):
    """The paper's constants on X2 need n > 15615: earlier points are grey, dotted and named."""
    figure = plot_risk_against_n(frame)
    ax = next(ax for ax in main_axes(figure) if "averages" in ax.get_title(loc="left"))
    name = "Theorem 4/6, paper's constants"
    (plain,) = [line for line in ax.lines if line.get_label() == name]
    shown = np.isfinite(plain.get_ydata())
    assert shown.any()
    assert plain.get_xdata()[shown].min() > 15615
    (grey,) = grey_lines(ax)
    hidden = np.isfinite(grey.get_ydata())
    assert grey.get_xdata()[hidden].max() < 15615
    assert not (shown & hidden).any()
    assert f"{name}, not valid here: needs n > 15615" in legend_texts(figure)


def test_bounds_off_the_scale_are_told_with_their_validity(pictures):
    texts = " ".join(legend_texts(pictures["X3"]))
    assert "times the measured values, off the scale; not valid" in texts
    assert "needs d ≥ L" in texts


def test_squared_loss_has_the_offset_bound_and_no_other(pictures):
    texts = legend_texts(pictures["X9"])
    assert texts.count("Theorem 3 is not valid: needs a finite Lipschitz constant") == 5
    assert texts.count("offset bound, trace") == texts.count("offset bound, Frobenius") == 5
    assert texts.count("no method can beat") == 4  # not of a radius that leaves out Z*
    assert "Theorem 3, both balls" in texts  # of the logistic panel


def test_the_offset_bound_has_the_colour_of_its_ball(pictures):
    panel = next(ax for ax in main_axes(pictures["X9"]) if "Full rank" in ax.get_title(loc="left"))
    drawn = {line.get_label(): line for line in panel.lines if line.get_gid() == "offset"}
    assert {name: line.get_color() for name, line in drawn.items()} == {
        "offset bound, trace": LOOKS["trace"].colour,
        "offset bound, Frobenius": LOOKS["frobenius"].colour,
    }
    # Made up as twice the measured values, with three standard errors of a twentieth of them.
    trace = next(line for line in panel.lines if line.get_gid() == "measured")
    ratio = drawn["offset bound, trace"].get_ydata() / trace.get_ydata()
    assert ratio == pytest.approx(np.full(5, 2.15))


def test_rejected_claims_are_labelled_guides(pictures):
    labels = [line.get_label() for ax in main_axes(pictures["X3"]) for line in ax.lines]
    assert sum(label.startswith("claimed by Theorem 4") for label in labels) == 4


def test_regimes_are_marked_and_local_slopes_shown(pictures):
    figure = pictures["X9"]
    panel = next(ax for ax in main_axes(figure) if "2|Z*|" in ax.get_title(loc="left"))
    assert {"dL", "n_c"} <= {text.get_text() for text in panel.texts}
    places = {line.get_xdata()[0] for line in panel.lines if len(set(line.get_xdata())) == 1}
    assert {16.0 * 16, 0.72 * 16**2 * 16} <= places
    strips = [ax for ax in figure.axes if ax.get_label() == "strip"]
    for strip in strips:
        marks = {line.mark: set(line.y) for line in describe_axes(strip).lines}
        assert marks["bound's rate"] == {-0.5}
        assert marks["fast rate"] == {-1.0}


def test_controls_show_the_refused_bound_and_its_reason(pictures):
    figure = pictures["X11"]
    crosses = [line for line in grey_lines(main_axes(figure)[0]) if line.get_marker() == "x"]
    # All but heavy tails, whose bound has no value at all.
    assert len(crosses) == 3
    texts = " ".join(legend_texts(figure))
    for reason in ("sub-Gaussian; it has no value", "E x = 0", "needs n >", "E|x|² ≤ 1"):
        assert reason in texts


def bent(frame, column, power):
    """Return the frame with every slope along `column` changed by `power`."""
    return frame.assign(value=frame["value"] * frame[column].astype(float) ** power)


def test_titles_say_when_a_run_does_not_bear_the_finding_out(frame):
    topic = EXPERIMENTS["X1"].title
    good = title(plot_experiment(frame, "X1"))
    assert good.startswith(f"{topic} Trace and Frobenius fall as 1/√n;")
    bad = title(plot_experiment(bent(frame, "n", -0.1), "X1"))
    assert bad.startswith(f"Not confirmed in this run: {topic}")
    assert f"slope {MINUS}0.600 in n, which fails its rule 'sharp'" in bad
    assert "fall as" not in bad


def test_no_word_is_left_alone_in_a_title(pictures):
    for name, figure in pictures.items():
        texts = [figure.texts[0], *(ax.title for ax in figure.axes)]
        lines = [line for text in texts for line in text.get_text().split("\n")[1:]]
        assert all(len(line.split()) > 1 for line in lines), name


def test_lines_of_one_point_are_seen(frame):
    """A line shows nothing of a single point, whatever the legend says."""
    alone = frame[(frame["experiment"] != "X9") | (frame["n"] == 1024)]
    ax = plot_series(alone, "X9", "rank 1, radius 1|Z*|")
    kinds = {"lower bound", "offset", "limit"}
    drawn = [line for line in ax.lines if line.get_gid() in kinds]
    assert {line.get_gid() for line in drawn} >= {"lower bound", "offset"}
    pieces = {line.get_gid(): line.get_marker().vertices for line in drawn}
    assert all(np.ptp(ends[:, 0]) > 15 for ends in pieces.values())  # of 18, less a gap at the end
    assert len({len(ends) for ends in pieces.values()}) == len(pieces)  # each has its own pattern


@pytest.mark.parametrize("name", PICTURES)
def test_every_title_changes_with_its_slopes_and_checks(frame, name):
    """Bent along every axis and with the balls exchanged, no experiment keeps its title."""
    swap = {"trace": "frobenius", "frobenius": "trace"}
    turned = frame.replace({"ball": swap}).assign(failures="{}")
    for axis in ("n", "L", "P", "s"):
        turned = bent(turned, axis, 0.6)
    assert title(plot_experiment(turned, name)) != title(plot_experiment(frame, name))


def slope_row(rule, verdict, slope, asymptotic, stderr=0.01):
    return SlopeRow(
        "X6", "L = d", "excess risk", "trace", "L", slope, stderr, asymptotic, 0.0, rule, verdict
    )


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (slope_row("approach", "approaches", 0.098, 0.0), "approaches level in L (slope +0.098"),
        (slope_row("reported", "reported", 0.5, 0.5), "slope +0.500 in L (reported, not judged)"),
        (slope_row("sharp", "agrees", -0.47, -0.5, 0.001), "as predicted (limit: 1/√L)"),
        (slope_row("sharp", "marginal", -0.5, -0.5), "as predicted, marginally (limit: 1/√L)"),
        (slope_row("sharp", "agrees", -0.49, -0.5), "falls as 1/√L"),
        (slope_row("sharp", "agrees", 0.01, 0.0), "is level in L"),
        (slope_row("reject", "agrees", 0.01, -0.5), f"the claimed slope {MINUS}0.500 is rejected"),
        (slope_row("steeper", "agrees", -0.8, -0.5), "is steeper than 1/√L"),
        (slope_row("fast", "fast rate", -1.0, -0.5), "(not slower than 1/√L)"),
        (slope_row("fast", "slow window", -0.1, -0.5), "(slower than 1/√L)"),
        (slope_row("sharp", "fails", -0.1, -0.5), "which fails its rule 'sharp'"),
        (slope_row("sharp", "agrees", 0.3, 0.3), "(limit: slope +0.300 in L)"),
    ],
)
def test_a_claim_follows_from_its_verdict(row, text):
    """Only a slope that agrees and is near its limit 'is' or 'falls as' what it should be."""
    said = claim(row)
    assert text in said
    near = row.verdict == "agrees" and row.rule == "sharp" and row.stderr > 0.005
    plain = said.split(" (")[0].startswith(("is level", "falls as", "grows as"))
    assert plain == (near and row.asymptotic in (0.0, -0.5))


def test_failing_checks_are_in_the_title_too(frame):
    """The trace ball lies above the pooled oracle; turned round, the finding is not borne out."""
    assert title(plot_experiment(frame, "X10")).endswith(
        "pooled below trace; trace below frobenius"
    )
    turned = frame.replace({"ball": {"pooled": "trace", "trace": "pooled"}})
    assert title(plot_experiment(turned, "X10")).startswith("Not confirmed")
    assert "NOT pooled below trace" in title(plot_experiment(turned, "X10"))


def test_some_series_alone_can_be_drawn(frame):
    alone = frame[(frame["experiment"] == "X11") & (frame["series"] == "n < L")]
    assert len(main_axes(plot_experiment(alone, "X11"))) == 1


def test_a_violation_is_ringed_and_in_the_title(frame):
    above = frame.assign(value=100 * frame["value"])
    figure = plot_experiment(above, "X1")
    assert title(figure).startswith("A VALID BOUND IS EXCEEDED")
    rings = [line for line in figure.axes[0].lines if line.get_label() == "ABOVE A VALID BOUND"]
    assert to_rgba(rings[0].get_markeredgecolor()) == to_rgba("red")


def test_points_at_or_below_zero_are_counted(frame):
    """One of the two points of each ball in each of two panels."""
    negative = frame.assign(value=frame["value"].where(frame["n"] > 100, -1e-3))
    assert legend_texts(plot_experiment(negative, "grid")).count(NOT_SHOWN) == 2


def test_a_grid_has_a_panel_per_value_of_the_other_axis(pictures):
    axes = main_axes(pictures["grid"])
    assert len(axes) == 2
    assert len({ax.get_ylim() for ax in axes}) == 1
    assert {ax.get_title(loc="left") for ax in axes} == {"L = 4", "L = 16"}
    assert {ax.get_xlabel() for ax in axes} == {"number of points n"}


def test_one_series_on_given_axes(frame):
    ax = Figure().add_subplot()
    assert plot_series(frame, "X6", "L = d", ax=ax) is ax
    assert ax.get_xlabel() == "number of labels L (= features d)"
    assert "radius √L" in ax.get_ylabel()


def test_files_are_the_same_bytes_each_time(frame, tmp_path):
    for folder in ("one", "two"):
        names = save_figure(plot_experiment(frame, "X7"), tmp_path / folder, "X7")
        assert [path.name for path in names] == ["X7.png", "X7.svg", "X7.pdf"]
    for name in ("X7.png", "X7.svg", "X7.pdf"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    # Nothing but the three pictures is left behind.
    assert len(list((tmp_path / "one").iterdir())) == 3


def test_no_text_leaves_the_picture(pictures):
    """Legends, titles and notes are inside; a pixel of antialiasing is allowed."""
    for name, figure in pictures.items():
        FigureCanvasAgg(figure).draw()
        width, height = figure.get_size_inches() * figure.dpi
        legends = [g for ax in figure.axes if (g := ax.get_legend())]
        titles = [t for ax in figure.axes for t in ax.findobj(Text) if t.get_text() == ax_title(ax)]
        for artist in [*figure.texts, *legends, *figure.legends, *titles]:
            box = artist.get_window_extent()
            inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= width + 1 and box.y1 <= height + 1
            assert inside, (name, box)


def caption_of(figure):
    return figure.texts[1].get_text().replace("\n", " ").replace("\N{NO-BREAK SPACE}", " ")


def marks_of(figure):
    return {line.mark for ax in figure.axes for line in describe_axes(ax).lines} - {""}


def test_captions_name_the_marks_that_are_drawn_and_no_others(pictures):
    for name, figure in pictures.items():
        told = {
            mark
            for mark, text in SENTENCES.items()
            if text.replace("\N{NO-BREAK SPACE}", " ") in caption_of(figure)
        }
        assert told == marks_of(figure) & set(SENTENCES), name
    assert not any("not valid" in marks_of(pictures[name]) for name in ("X8", "X9", "X10"))


def test_every_mark_has_a_sentence_or_a_name_in_the_legend(pictures):
    """Guides are explained by their legend entries alone."""
    for figure in pictures.values():
        assert marks_of(figure) <= {*SENTENCES, "guide"}


def test_words_of_the_trade_are_explained_where_they_are_used(pictures):
    for name, figure in pictures.items():
        texts = legend_texts(figure) + [ax.get_title(loc="left") for ax in figure.axes]
        used = " ".join(texts).replace("\n", " ").lower()
        for word in ("Chevet", "worst planted signal"):
            explained = f"{word}:".lower() in caption_of(figure).lower()
            assert explained == (word.lower() in used), (name, word)


def test_sharp_and_limit_lines_differ_without_colour(frame, pictures):
    """X6: the trace ball's prediction is a limit, the Frobenius ball's is sharp."""
    (ax, _) = pictures["X6"].axes
    lines = {line.get_gid(): line for line in ax.lines if line.get_gid() in PREDICTIONS}
    assert lines["limit"].get_color() == LOOKS["trace"].colour
    assert lines["sharp"].get_color() == LOOKS["frobenius"].colour
    assert PREDICTIONS["sharp"]["linestyle"] != PREDICTIONS["limit"]["linestyle"]
    texts = legend_texts(pictures["X6"])
    assert {"sharp prediction", "limit prediction"} <= set(texts)
    mixed = frame.assign(prediction=frame["prediction"].where(frame["n"] > 100, "limit"))
    ax = plot_series(mixed, "X2", "n")
    shown = {mark: lines_of(ax, mark) for mark in PREDICTIONS}
    assert min(shown["sharp"]) > 100
    assert min(shown["limit"]) == 8


def lines_of(ax, mark):
    """Return the places at which lines of a mark are drawn."""
    lines = [line for line in describe_axes(ax).lines if line.mark == mark]
    return {x for line in lines for x, y in zip(line.x, line.y, strict=True) if np.isfinite(y)}


def test_no_sharp_line_on_the_headline_picture_has_points_off_it(pictures):
    """The trace ball's excess has a limit only, and is never captioned sharp."""
    (ax, *_) = pictures["risk_against_n"].axes
    trace = [line for line in ax.lines if line.get_color() == LOOKS["trace"].colour]
    assert {line.get_gid() for line in trace} & set(PREDICTIONS) == {"limit"}


def shown_texts(figure):
    """Return every text of a picture that is drawn: no ticks outside their axis."""
    hidden = {
        id(tick.label1)
        for ax in figure.axes
        for axis in (ax.xaxis, ax.yaxis)
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())
        if not min(axis.get_view_interval()) <= tick.get_loc() <= max(axis.get_view_interval())
    }
    texts = [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip()]
    return [text for text in texts if id(text) not in hidden]


def overlaps(figure):
    """Return the pairs of texts whose boxes overlap by more than a pixel in both directions."""
    FigureCanvasAgg(figure).draw()
    boxes = [(text.get_text(), text.get_window_extent()) for text in shown_texts(figure)]
    return [
        (one, other)
        for (one, a), (other, b) in combinations(boxes, 2)
        if min(a.x1, b.x1) - max(a.x0, b.x0) > 1 and min(a.y1, b.y1) - max(a.y0, b.y0) > 1
    ]


def test_no_two_texts_overlap(pictures):
    for name, figure in pictures.items():
        assert overlaps(figure) == [], name


def test_overprinted_texts_would_be_seen():
    figure = Figure()
    figure.text(0.5, 0.5, "dL")
    figure.text(0.5, 0.5, "n_c")
    assert overlaps(figure) == [("dL", "n_c")]


def test_controls_tell_their_n(pictures):
    labels = [t.get_text() for t in main_axes(pictures["X11"])[0].get_xticklabels()]
    assert labels[2] == "n < L\nn = 32"
    assert labels[0].endswith("n = 4096")


def test_settings_are_restored_and_no_figure_stays_open(frame):
    with matplotlib.rc_context({"font.size": 17}):
        plot_experiment(frame, "X8")
        assert matplotlib.rcParams["font.size"] == 17
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or not pyplot.get_fignums()


def test_importing_the_package_does_not_import_matplotlib():
    code = "import leml_theory, sys; assert 'matplotlib' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_errors_say_what_is_missing_and_what_to_run(frame):
    only = frame[frame["experiment"] == "X2"]
    with pytest.raises(ValueError, match=r"no rows of X3, only of X2.*--only X3"):
        plot_experiment(only, "X3")
    with pytest.raises(ValueError, match=r"no rows of X5.*--only X2,X5"):
        plot_risk_against_n(only)
    with pytest.raises(ValueError, match="no rows of X2 and X5"):
        plot_risk_against_labels(frame.iloc[:0])
    with pytest.raises(ValueError, match=r"lacks the columns value, failures.*results\.csv"):
        plot_experiment(frame.drop(columns=["value", "failures"]), "X1")
    with pytest.raises(ValueError, match="`experiment` must be one of 'X1'"):
        plot_experiment(frame, "X99")
    with pytest.raises(ValueError, match="`series` must be one of 'n', 'L', got 'd'"):
        plot_series(frame, "X1", "d")
    with pytest.raises(ValueError, match="`name` must be a file name"):
        save_figure(Figure(), ".", "a/b")


def test_failed_assumptions_are_told_in_a_few_words():
    """Braces, quotes and semicolons of a sentence do no harm; of a number the range is told."""
    small = FailedAssumption("needs d >= L", 'd = 4; L = 8, "so"')
    cells = [
        {"paper_route": (small, FailedAssumption("needs n > {}", "n = 9", number))}
        for number in (150.2, 2e7)
    ]
    rows = pd.DataFrame({"failures": [*map(failures_to_json, cells), failures_to_json({})]})
    assert short_reason(rows, "paper_route") == "needs d ≥ L; needs n > 150 to 2·10⁷"
    assert short_reason(rows.iloc[:1], "paper_route") == "needs d ≥ L; needs n > 150"
    assert short_reason(rows, "theorem_3") == "no reason recorded"


@pytest.mark.parametrize(
    ("value", "text"), [(0.002, "0.002"), (500, "500"), (1e6, "10⁶"), (3e-5, "3·10⁻⁵"), (0, "0")]
)
def test_numbers_of_ticks(value, text):
    assert number(value) == text


@pytest.mark.parametrize("span", [1.01, 1.3, 4, 30, 1e3, 1e7, 1e12])
def test_ticks_are_few_and_inside(span):
    places = log_places(3e-4, 3e-4 * span, 6)
    assert 2 <= len(places) <= 6
    assert all(3e-4 <= place <= 3e-4 * span for place in places)


def test_the_style_leaves_a_notebook_interactive():
    """The first figure of a notebook turns this on while it is drawn; the second was not shown."""
    try:
        with picture_style():
            matplotlib.interactive(True)
        assert matplotlib.is_interactive()
    finally:
        matplotlib.interactive(False)


def test_ticks_of_long_numbers_have_room():
    ax = Figure(figsize=(2.4, 2)).add_subplot()
    ax.set(xscale="log", xlim=(45, 180_000))
    label_values(ax, [2.0**k for k in range(6, 18)])
    assert [text.get_text() for text in ax.get_xticklabels()] == ["64", "512", "4096", "32768"]
