"""The command that trains the tables of Section 5 again, end to end on a small data set."""

import functools
import time

import numpy as np
import pandas as pd
import pytest
from reproduce_data import tiny_folder

from leml_theory.runs import Store, runner
from paper_checks.__main__ import main
from paper_checks.reproduction import command, measuring
from paper_checks.reproduction.growing import time_left
from paper_checks.reproduction.planning import METHODS, Request, kind_of, make_plan

COLUMNS = "table,dataset,method,loss,ratio,observed,metric,protocol,ours,stderr,paper"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_folder(tmp_path_factory.mktemp("data"))


def run(folder, out, *more, status=0):
    arguments = ["reproduce", "--data", str(folder), "--out", str(out), "--jobs", "1", "--quick"]
    arguments += ["--budget", "1000"]  # no test depends on how fast the machine is
    assert main([*arguments, *more]) == status
    return out / "tables.csv"


@pytest.fixture(scope="module")
def full(folder, tmp_path_factory):
    """All methods with all labels observed."""
    out = tmp_path_factory.mktemp("full")
    run(folder, out, "--dataset", "tiny", "--table", "6,9")
    return out


@pytest.fixture
def counted(monkeypatch):
    """Count the trainings."""
    cells = []

    def measure(folder, cell):
        cells.append(cell.key)
        return measuring.measure(folder, cell)

    monkeypatch.setattr(command, "measure", measure)
    return cells


def test_the_table_has_exactly_the_columns_promised(full):
    lines = (full / "tables.csv").read_text().splitlines()
    assert lines[0] == COLUMNS
    frame = pd.read_csv(full / "tables.csv")
    assert set(frame["method"]) == set(METHODS)
    assert set(frame["table"]) == {6, 9}
    assert set(frame["dataset"]) == {"tiny"}
    assert frame["ours"].notna().all()
    assert frame["paper"].isna().all()  # the paper has no such data set


def test_protocols_and_standard_errors_are_where_they_belong(full):
    frame = pd.read_csv(full / "tables.csv")
    leml = frame[frame["method"] == "LEML"]
    assert set(leml["protocol"]) == {"early-stopped", "selected"}
    early = leml["protocol"] == "early-stopped"
    assert leml[early]["stderr"].notna().all()  # several starts
    assert leml[~early]["stderr"].isna().all()  # one fit: there is nothing to average
    assert not ((frame["method"] == "WSABIE") & (frame["metric"] == "hamming")).any()


def test_methods_beat_the_floor(full):
    """A mix-up of rows, labels or thresholds would not."""
    frame = pd.read_csv(full / "tables.csv")
    top = frame[(frame["metric"] == "top-1") & (frame["ratio"] == 1)]
    floor = top.set_index("method")["ours"]["frequencies"]
    better = top[top["protocol"].isin(["selected", "closed form"])]
    assert len(better) == 10
    # The world is linear with two labels of eight a point: chance is 25 %.
    assert (better["ours"] > floor + 20).all()


def test_page_and_pictures_are_written(full):
    text = (full / "tables.md").read_text()
    assert "## What was found" in text
    assert "| tiny | CPLST | squared | closed form | 20% | 100% | top-1 accuracy (%) |" in text
    assert "selected - early-stopped" in text
    for ending in ("png", "svg"):
        assert (full / f"figure_1.{ending}").stat().st_size > 5_000
    assert not (full / "figure_2.png").exists()  # no missing labels were asked for
    assert not list(full.glob(".*"))


def test_missing_labels(folder, tmp_path, capsys):
    table = run(folder, tmp_path, "--dataset", "tiny", "--table", "5")
    frame = pd.read_csv(table)
    assert set(frame["method"]) == {"LEML", "BR", "BCS"}
    assert set(frame["observed"]) == {0.2}
    assert frame["stderr"].notna().all()  # over patterns
    assert (tmp_path / "figure_2.png").exists()
    assert not (tmp_path / "figure_1.png").exists()
    printed = capsys.readouterr().out
    assert "LEML > BR > BCS for the squared loss" in printed
    assert "is ahead of BR (selected) in top-3" in printed


def test_tables_share_their_trainings(folder):
    plan = make_plan(Request(folder, ("tiny",), (3, 5, 6, 7, 10, 12, 14, 15)))
    tasks = {table: set() for table in (3, 5, 6, 7, 10, 12, 14, 15)}
    for row, task in plan.rows:
        tasks[row.table].add(task)
    assert tasks[6] == tasks[7] == tasks[10]
    assert tasks[3] < tasks[6]
    assert tasks[12] == tasks[14] == tasks[15]
    assert tasks[5] < tasks[12]
    assert len(plan.all_cells()) == len({cell.key for cell in plan.all_cells()})


def test_relevance_does_not_depend_on_the_ratio(full):
    frame = pd.read_csv(full / "tables.csv")
    relevance = frame[frame["method"] == "BR"].groupby(["loss", "metric", "protocol"])["ours"]
    assert (relevance.min() == relevance.max()).all()
    assert (relevance.size() == 5).all()


def test_a_stopped_run_goes_on_and_ends_the_same(folder, tmp_path, monkeypatch, capsys):
    wanted = ("--dataset", "tiny", "--table", "6", "--method", "BCS,CPLST")
    whole = run(folder, tmp_path / "whole", *wanted).read_bytes()
    done = []

    @functools.wraps(measuring.measure)  # whose code it runs: results may be added to
    def measure(where, cell):
        if len(done) == 4:
            raise KeyboardInterrupt
        done.append(cell.key)
        return measuring.measure(where, cell)

    monkeypatch.setattr(command, "measure", measure)
    monkeypatch.setattr(runner, "_BATCH_SECONDS", 0.0)  # stored one by one, not by the clock
    run(folder, tmp_path / "cut", *wanted, status=130)
    assert "4 of 25 cells are safe" in capsys.readouterr().err
    monkeypatch.undo()
    assert run(folder, tmp_path / "cut", *wanted).read_bytes() == whole


def test_a_budget_ends_a_run_with_a_partial_table_that_can_be_resumed(
    folder, tmp_path, monkeypatch, capsys
):
    wanted = ("--dataset", "tiny", "--table", "6", "--method", "CPLST,PLST")
    done = []

    @functools.wraps(measuring.measure)  # whose code it runs: results may be added to
    def measure(where, cell):
        if len(done) == 3:
            time.sleep(600)  # until the budget ends it
        done.append(cell.key)
        return measuring.measure(where, cell)

    monkeypatch.setattr(command, "measure", measure)
    run(folder, tmp_path, *wanted, "--budget", "0.05", status=1)
    said = capsys.readouterr()
    assert "10 trainings, 1 process, at most 0.05 min" in said.err
    assert "the budget of 0.05 min is used up." in said.err
    assert "run the same command again" in said.err
    partial = pd.read_csv(tmp_path / "tables.csv")
    assert len(partial) <= 3
    monkeypatch.undo()
    assert len(pd.read_csv(run(folder, tmp_path, *wanted))) == 10
    assert not set(done) - {cell.key for cell in make_cells(folder, wanted)}


def make_cells(folder, wanted):
    """Return the trainings of a selection."""
    request = Request(folder, (wanted[1],), (int(wanted[3]),), tuple(wanted[5].split(",")), True)
    return make_plan(request).all_cells()


def test_the_time_left_is_told_by_kind(folder):
    """A mean over all kinds once promised 25,070 s for what took 996."""
    cells = make_cells(folder, (None, "tiny", None, "6", None, "CPLST,WSABIE"))
    slow = [cell for cell in cells if cell.parameters["method"] == "WSABIE"]
    fast = [cell for cell in cells if cell not in slow]
    assert len(fast) == 5
    assert time_left(cells, {}, 2) == f"0 of {len(cells)} trainings, no estimate yet"
    seconds = {fast[0].key: 2.0, fast[1].key: 4.0}
    unknown = f"{len(slow)} of kinds not tried yet"
    assert time_left(cells, seconds, 1).endswith(f"about 9 s left for 3 of them; {unknown}")
    seconds[slow[0].key] = 100.0
    expected = (9 + 100 * (len(slow) - 1)) / 2
    assert time_left(cells, seconds, 2).endswith(f"about {expected:.0f} s left")


def test_one_of_each_kind_comes_first_and_the_cheap_ones_before_the_others(folder, monkeypatch):
    """A minute on bibtex once showed one method of seven: trainings came in a random order."""
    cells = make_cells(folder, (None, "tiny", None, "6", None, "WSABIE,CPLST,PLST,LEML"))
    kinds = list(dict.fromkeys(map(kind_of, cells)))
    parts = [kind_of(cell) for cell in cells if cell.parameters["ratio"] == 0.2]
    assert list(dict.fromkeys(map(kind_of, cells[: len(parts)]))) == kinds
    assert [kind[1] for kind in kinds[:3]] == ["CPLST", "PLST", "LEML"]
    assert kinds[-1][3] == "selected"
    first = [cell for cell in cells if cell.parameters["ratio"] == 0.2]
    assert cells[: len(first)] == first


def test_the_table_grows_while_trainings_go_on(folder, tmp_path, capsys):
    wanted = ("--dataset", "tiny", "--table", "6", "--method", "CPLST")
    run(folder, tmp_path, *wanted)
    plan = make_plan(Request(folder, ("tiny",), (6,), ("CPLST",), True))
    (place,) = (tmp_path / "cells").iterdir()
    capsys.readouterr()
    shown: set[int] = set()
    for lines in (7, 0):  # a title, a head and five rows; then nothing that is new
        command._grown(tmp_path, plan, Store.open(place), "quick run.", shown)
        assert len(capsys.readouterr().out.splitlines()) == lines
    assert "quick run. Partial: 5 done." in (tmp_path / "tables.md").read_text()


def test_trainings_that_fill_no_row_yet_print_nothing(folder, tmp_path, capsys):
    """A row waits for all repetitions of its training."""
    plan = make_plan(Request(folder, ("tiny",), (6,), ("BCS",), True))
    store = Store.create(tmp_path / "cells", plan.all_cells(), description={})
    command._grown(tmp_path, plan, store, "quick run.", set())
    assert capsys.readouterr().out == ""
    assert (tmp_path / "tables.csv").read_text() == f"{COLUMNS}\n"


def test_results_do_not_depend_on_the_number_of_processes(folder, tmp_path):
    wanted = ("--dataset", "tiny", "--table", "6", "--method", "BCS,WSABIE,CPLST")
    one = run(folder, tmp_path / "one", *wanted).read_bytes()
    assert run(folder, tmp_path / "two", *wanted, "--jobs", "2").read_bytes() == one
    assert run(folder, tmp_path / "seed", *wanted, "--seed", "1").read_bytes() != one


def test_another_selection_measures_only_what_is_new(folder, tmp_path, counted):
    wanted = ("--dataset", "tiny", "--table", "6")
    run(folder, tmp_path, *wanted, "--method", "CPLST")
    assert len(counted) == 5
    run(folder, tmp_path, *wanted, "--method", "CPLST,PLST")
    assert len(counted) == 10
    run(folder, tmp_path, "--dataset", "tiny", "--table", "7", "--method", "PLST")
    assert len(counted) == 10  # Tables 6 to 10 share their trainings
    assert set(pd.read_csv(tmp_path / "tables.csv")["table"]) == {7}


def test_a_training_that_fails_does_not_stop_the_others(folder, tmp_path, monkeypatch, capsys):
    def measure(where, cell):
        if cell.parameters["method"] == "PLST":
            raise np.linalg.LinAlgError("no convergence")
        return measuring.measure(where, cell)

    monkeypatch.setattr(command, "measure", measure)
    wanted = ("--dataset", "tiny", "--table", "6", "--method", "CPLST,PLST")
    frame = pd.read_csv(run(folder, tmp_path, *wanted, status=1))
    assert set(frame["method"]) == {"CPLST"}
    assert "no convergence" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--dataset", "nowhere"], "no data set nowhere"),
        (["--table", "99"], "no table 99; there are 3, 4, 5"),
        (["--table", "x"], "no table x"),
        (["--method", "SVM"], "no method SVM; there are LEML"),
        (["--dataset", "tiny", "--table", "4"], "nothing to do: table 4"),
        (["--dataset", "tiny", "--table", "11", "--method", "CPLST"], "no rows of CPLST"),
        ([], "has none of the paper's data sets"),
    ],
)
def test_wrong_usage_is_one_line_and_status_two(folder, tmp_path, capsys, more, message):
    run(folder, tmp_path, *more, status=2)
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_a_folder_that_is_not_there(tmp_path, capsys):
    run(tmp_path / "none", tmp_path / "out", status=2)
    assert "expected a folder of data sets" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
