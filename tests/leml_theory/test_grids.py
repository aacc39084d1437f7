"""Grids of one's own from the shell: files, what is stored, pictures along any axis, tables."""

import json
import os
import shutil

import numpy as np
import pandas as pd
import pytest

from leml_theory.plots import describe_axes, grid_quantities, plot_grid
from leml_theory.plots.captions import caption
from leml_theory.sweep.__main__ import main
from leml_theory.sweep.experiments.custom import Grid
from leml_theory.sweep.grid_options import toml_lines
from leml_theory.sweep.tables import result_table, table_text
from tests.extensions_example import Huber

SMALL = ["--n", "32,64", "--d", "3", "--L", "2,4", "--draws", "3", "--jobs", "1"]


def run(*arguments):
    """Run the command in this process and return its exit status."""
    return main([str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder of a grid over points, labels and worlds, with LEML."""
    out = tmp_path_factory.mktemp("grids") / "out"
    worlds = ["--world", "shared,rank-1", "--solver", "exact,leml", "--rank", "1"]
    assert run(*SMALL, *worlds, "--hue", "L", "--out", out) == 0
    return out


@pytest.fixture(scope="module")
def frame(folder):
    return pd.read_csv(folder / "results.csv")


# Specifications ----------------------------------------------------------------------------------


def test_a_file_and_options_describe_the_same_grid(tmp_path, capsys):
    file = tmp_path / "grid.toml"
    file.write_text('n = [32, 1e2]\nL = 4\nd = 3\nskew = "zipf:1"\ndraws = 3\n')
    assert run("--grid", file, "--jobs", 1, "--out", tmp_path / "a") == 0
    given = ["--n", "32,100", "--L", 4, "--d", 3, "--skew", "zipf:1", "--draws", 3]
    assert run(*given, "--jobs", 1, "--out", tmp_path / "b") == 0
    tables = [(tmp_path / name / "results.csv").read_bytes() for name in "ab"]
    assert tables[0] == tables[1]
    assert run("--grid", file, "--L", 2, "--dry-run", "--out", tmp_path / "c") == 0  # options win
    capsys.readouterr()
    for text, message in (("m = 3", "no key 'm'"), ("n = [1.5]", "whole"), ("n = ", "TOML")):
        file.write_text(text)
        assert run("--grid", file, "--out", tmp_path / "d") == 2
        assert message in capsys.readouterr().err


def test_status_shows_the_whole_grid_as_a_file_that_runs_it_again(folder, tmp_path, capsys):
    assert run("status", "--out", folder) == 0
    _, _, lines = capsys.readouterr().out.partition("reads it:\n")
    file = tmp_path / "again.toml"
    file.write_text(lines.replace("    ", ""))
    assert run("--grid", file, "--jobs", 1, "--out", folder) == 0  # the same cells: nothing to do
    stored = json.loads((folder / "manifest.json").read_text())["description"]["grid"]
    assert stored == dict(Grid(stored).spec)
    assert stored["hue"] == "L"
    assert 'world = ["shared", "rank-1"]' in toml_lines(stored)


def test_every_loss_law_and_pattern_can_be_measured(own_names, tmp_path):
    """Huber's loss comes in by the open interface."""
    from leml_theory import register_loss

    register_loss(Huber())
    place = ["--n", 24, "--d", 2, "--L", 3, "--draws", 2, "--jobs", 1]
    losses = ["--loss", "linear,squared,absolute,huber", "--world", "rank-1"]
    assert run(*place, *losses, "--out", tmp_path / "a") == 0
    binary = ["--loss", "logistic,hinge,squared_hinge", "--world", "planted:0.5,random-signs"]
    assert run(*place, *binary, "--law", "rademacher", "--out", tmp_path / "b") == 0
    seen = ["--skew", "uniform,replaced,zipf:1,heavy:0.5", "--s", 2, "--world", "rank-2"]
    assert run(*place, *seen, "--law", "anisotropic,heavy-tailed", "--out", tmp_path / "c") == 0
    one = ["--n", 24, "--d", 1, "--L", 2, "--draws", 2, "--law", "rare-outlier"]
    assert run(*one, "--world", "all-ones", "--jobs", 1, "--out", tmp_path / "d") == 0
    frames = [pd.read_csv(tmp_path / name / "results.csv") for name in "abcd"]
    assert set(frames[0]["loss"]) == {"linear", "squared", "absolute", "huber"}
    assert all(np.isfinite(frame["value"]).all() for frame in frames)


def test_leml_alone_is_reported_alone(tmp_path):
    grid = Grid({"n": [16], "d": [3], "L": [3], "world": ["shared"], "solver": ["leml"]})
    (risk,) = [p for p in grid.experiment().plan("quick") if p.kind == "erm"]
    from leml_theory.measurements import measure
    from leml_theory.runs import Cell

    rows = measure(Cell("erm", {**risk.parameters, "draws": 2}, 0))
    assert {row["ball"] for row in rows} == {"leml", "pooled"}
    assert {row["rank"] for row in rows} == {3}


# Pictures ----------------------------------------------------------------------------------------


def joined(ax):
    """Return the curves of measured points."""
    return [
        line for line in ax.lines if line.get_gid() == "measured" and line.get_linestyle() != "None"
    ]


def test_colours_tell_the_hue_apart_and_panels_the_method(frame):
    axes = plot_grid(frame, hue="L", panel="world").axes
    titles = {ax.get_title(loc="left") for ax in axes}
    assert {"shared, trace ball", "rank-1, Frobenius ball", "rank-1, rank-k LEML fit"} <= titles
    assert len({ax.get_ylim() for ax in axes}) == 1
    points = [line for line in describe_axes(axes[0]).lines if line.mark == "measured"]
    assert len(points) == 2
    rows = frame[(frame["quantity"] == "excess risk") & (frame["ball"] == "trace")]
    rows = rows[(rows["labels"] == "shared") & (rows["L"] == 2)]
    assert points[0].y == pytest.approx(rows.sort_values("n")["value"].to_numpy())


@pytest.mark.parametrize("hue", ["", "L"])
def test_categories_are_never_joined(frame, hue):
    figure = plot_grid(frame, x="world", hue=hue)
    assert not any(joined(ax) for ax in figure.axes)
    labels = [text.get_text() for text in figure.axes[0].get_xticklabels()]
    assert labels == ["shared", "rank-1"]
    assert any(joined(ax) for ax in plot_grid(frame, x="n", hue="world").axes)


def test_patterns_of_several_families_are_categories(tmp_path):
    skews = ["--skew", "uniform,zipf:1,heavy:0.5"]
    few = ["--n", 64, "--d", 3, "--L", 4, "--draws", 3, "--jobs", 1]
    assert run(*few, *skews, "--out", tmp_path / "out") == 0
    mixed = pd.read_csv(tmp_path / "out" / "results.csv")
    figure = plot_grid(mixed)
    assert figure.axes[0].get_xlabel() == "pattern of labels seen"
    assert not joined(figure.axes[0])
    family = mixed.assign(skew=mixed["skew"].replace({"uniform": "zipf:0", "heavy:0.5": "zipf:2"}))
    assert plot_grid(family).axes[0].get_xlabel().startswith("probability P")


def test_a_heat_map_shows_every_mean_and_the_ratio_of_the_balls(frame):
    figure = plot_grid(frame, x="n", y="L", panel="world")
    ratio = next(
        a for a in figure.axes if a.get_title(loc="left") == "shared, Frobenius over trace"
    )
    rows = frame[(frame["quantity"] == "excess risk") & (frame["labels"] == "shared")]
    wide = rows.pivot_table(index="L", columns="n", values="value", aggfunc="first")
    assert wide.shape == (2, 2)
    shown = {text.get_text() for text in ratio.texts}
    by_ball = rows.pivot_table(index=["L", "n"], columns="ball", values="value")
    assert {f"{value:.2g}" for value in by_ball["frobenius"] / by_ball["trace"]} <= shown
    assert "EXCEEDED" not in figure.texts[0].get_text()
    left = min(ax.get_position().x0 for ax in figure.axes)
    first = {ax.get_title(loc="left") for ax in figure.axes if ax.get_position().x0 == left}
    assert {"shared, trace ball", "rank-1, trace ball"} <= first  # each place in rows of its own


def test_titles_say_what_is_seen(frame):
    title = plot_grid(frame, x="n", panel="world").texts[0].get_text().replace("\n", " ")
    assert title.startswith("Excess risk against number of points n (loss squared)")
    assert "Slope in n: trace" in title
    clear = frame.assign(value=frame["value"].where(frame["labels"] != "shared", 1e-3), stderr=1e-5)
    title = plot_grid(clear, x="world").texts[0].get_text().replace("\n", " ")
    assert "Trace smallest for shared, largest for rank-1" in title
    vague = frame.assign(stderr=10 * frame["value"])
    assert "the same within its errors" in plot_grid(vague, x="world").texts[0].get_text()


def test_every_quantity_has_a_picture_of_its_own(folder, frame):
    names = grid_quantities(frame)
    assert list(names) == ["grid", "grid_rademacher_average", "grid_generalisation_gap"]
    for name in names:
        assert all((folder / f"{name}.{end}").is_file() for end in ("png", "svg", "pdf"))


@pytest.mark.parametrize(("style", "width"), [("column", 3.25), ("page", 10), ("slide", 13.33)])
def test_styles_have_their_widths_and_letters_that_can_be_read(frame, style, width):
    figure = plot_grid(frame, x="n", hue="L", style=style, title=style != "page")
    assert figure.get_size_inches()[0] == pytest.approx(width)
    assert bool(figure.texts) == (style == "slide")
    sizes = [text.get_fontsize() for ax in figure.axes for text in ax.get_legend().get_texts()]
    assert min(sizes) >= 6
    bare = plot_grid(frame, legend=False, style=style)
    assert not any(ax.get_legend() for ax in bare.axes)
    assert not bare.legends


# What a killed run leaves ------------------------------------------------------------------------


@pytest.fixture
def killed(folder, tmp_path):
    """Return a folder as a kill leaves it: some results, no table and no picture."""
    shutil.copytree(folder, tmp_path / "killed")
    for path in (tmp_path / "killed").glob("*.*"):
        if path.name != "manifest.json":
            path.unlink()
    (shard, *_) = sorted((tmp_path / "killed" / "shards").glob("*.jsonl"))
    lines = shard.read_bytes().splitlines(keepends=True)
    shard.write_bytes(b"".join(lines[: len(lines) // 2]))
    return tmp_path / "killed"


def test_partial_results_can_be_tabled_and_drawn(killed, capsys):
    assert run("table", "--out", killed) == 0
    found = capsys.readouterr()
    assert "6 of 12 cells are measured so far" in found.err
    assert "Measured excess risk, ± one standard error:" in found.out
    assert run("plot", "--out", killed) == 0
    assert list(killed.glob("grid*.png"))
    assert not (killed / "results.csv").exists()


def crowded(frame):
    """Return the frame as if six worlds with long names, each with its loss, had been measured."""
    losses = frame["labels"].map({"shared": "squared", "rank-1": "squared_hinge"})
    parts = [frame.assign(labels=frame["labels"] + f"-signs-{k}", loss=losses) for k in range(3)]
    return pd.concat(parts, ignore_index=True)


def test_names_that_would_meet_are_turned_and_stay_within_the_picture(frame):
    figure = plot_grid(crowded(frame), x="world", hue="L")
    figure.canvas.draw()
    edges = figure.bbox
    for ax in figure.axes:
        boxes = [tick.get_window_extent() for tick in ax.get_xticklabels()]
        assert all(box.x0 >= edges.x0 and box.y0 >= edges.y0 for box in boxes)
        assert ax.get_legend() is None or not any(
            box.overlaps(ax.get_legend().get_window_extent()) for box in boxes
        )
    names = [tick.get_text() for tick in figure.axes[0].get_xticklabels()]
    assert names[:2] == ["shared-signs-0 (squared)", "rank-1-signs-0 (squared hinge)"]
    assert not any("hinge" in ax.get_title(loc="left") for ax in figure.axes)  # no axis of its own
    assert figure.axes[0].get_xticklabels()[0].get_rotation() > 0


def test_points_that_a_logarithmic_axis_cannot_show_are_named_in_every_kind_of_panel(frame):
    negative = frame.assign(value=frame["value"].where(frame["labels"] != "rank-1", -0.1))
    for axes in ({"x": "n"}, {"x": "world", "panel": "n"}, {"x": "n", "hue": "L"}):
        told = [text for ax in plot_grid(negative, **axes).axes for text in legend_texts(ax)]
        assert any("at or below zero" in text for text in told), axes


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()] if ax.get_legend() else []


def test_bars_that_reach_zero_do_not_stretch_the_axis(frame):
    wide = frame.assign(stderr=frame["value"].abs())
    for axes in ({"x": "world", "panel": "n"}, {"x": "n", "hue": "L"}):
        low, _ = plot_grid(wide, **axes).axes[0].get_ylim()
        shown = wide["value"][(wide["quantity"] == "excess risk") & (wide["value"] > 0)]
        assert low > shown.min() / 10


def at_radius(rows, factor):
    """Return the rows as measured at another radius; the pooled fit has the factor for its own."""
    radii = (rows["radius"] * factor).where(rows["ball"] != "pooled", factor)
    return rows.assign(radius=radii, radius_factor=rows["radius_factor"] * factor)


def test_the_pooled_fit_is_drawn_at_every_radius(frame):
    own = frame[(frame["labels"] == "shared") & (frame["n"] == 32) & (frame["L"] == 2)]
    one = pd.concat([at_radius(own, factor) for factor in (1, 2, 4)], ignore_index=True)
    axes = plot_grid(one, x="radius").axes
    pooled = [x for ax in axes for x in describe_axes(ax).lines if x.label.startswith("pooled")]
    assert [len(line.x) for line in pooled] == [3]


def test_panels_say_which_labels_are_seen(frame):
    some = frame.assign(skew="observed:0.3")
    assert "30 % observed" in plot_grid(some).axes[0].texts[0].get_text()
    assert "s = 2" in plot_grid(frame.assign(s=2.0)).axes[0].texts[0].get_text()


# Tables ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["text", "latex"])
def test_tables_hold_every_row(frame, form, capsys):
    table = result_table(frame)
    text = table_text(table, form, "Values of 100 %_")
    assert len(text.splitlines()) >= len(frame) + 1
    if form == "latex":
        assert r"\caption{Values of 100 \%\_}" in text
        rows = [line for line in text.splitlines() if line.endswith(r"\\")]
        assert {line.count("&") for line in rows} == {table.shape[1] - 1}


def test_the_table_command_prints_slopes_for_a_paper(folder, capsys):
    assert run("table", "--out", folder, "--format", "latex") == 0
    printed = capsys.readouterr().out
    assert printed.count(r"\begin{tabular}") == 4  # one per quantity, and the slopes
    assert "series" not in printed.partition("Slopes")[0]  # it would repeat the other columns
    assert not {"labels", r"radius\_factor"} & set(printed.split())
    assert r"$\pm$" in printed


def test_a_grid_of_one_place_shows_its_values_and_counts_nothing(tmp_path, capsys):
    """It used to say '1 cells' and '0 of 0 slopes', and no measured value at all."""
    place = ["--n", 32, "--d", 3, "--L", 2, "--precision", "40%", "--draws", 4, "--jobs", 1]
    assert run(*place, "--out", tmp_path) == 0
    found = capsys.readouterr()
    value = pd.read_csv(tmp_path / "results.csv")["value"][0]
    assert f"{value:.2g}" in found.out
    assert "recorded" not in found.out
    assert "within 40 % of the values" in found.out
    assert "1 cell in" in found.err
    (ax,) = plot_grid(pd.read_csv(tmp_path / "results.csv")).axes
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["trace", "Frobenius"]
    assert "slopes" not in caption([ax])


def test_what_a_grid_cannot_mean_is_refused_in_terms_of_options(tmp_path, capsys):
    for given, message in (
        (["--L", 4, "--s", 7], "--skew replaced"),
        (["--loss", "squared"], "leave out --loss"),
    ):
        assert run("--n", 30, "--d", 2, *given, "--out", tmp_path) == 2
        assert message in capsys.readouterr().err


def test_grid_files_that_are_none_end_in_one_line(tmp_path, capsys):
    """Nested lists raised, pipes blocked, and millions of combinations ran for minutes."""
    path = tmp_path / "grid.toml"
    many = list(range(2, 400))
    for text, message in (
        (f"n = {'[' * 2000}{']' * 2000}", "not a TOML file"),
        (f"n = {many}\nL = {many}", "at most 100000 combinations, got 158404"),
    ):
        path.write_text(text)
        assert run("--grid", path, "--dry-run") == 2
        assert message in capsys.readouterr().err
    path.unlink()
    os.mkfifo(path)
    assert run("--grid", path, "--dry-run") == 2
    assert "Not a regular file" in capsys.readouterr().err
