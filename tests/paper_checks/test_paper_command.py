"""The command: its lines, its JSON, its exit status, and what it says when used wrongly."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from paper_checks import __main__ as command
from paper_checks.__main__ import main
from paper_checks.checking import CHECKS, Bears, Fact, Outcome, Verdict
from paper_checks.checking.running import run, select
from paper_checks.statements import PAPER

ROOT = Path(__file__).resolve().parents[2]
KEYS = {"id", "place", "kind", "verdict", "derived", "as_recorded", "measured", "predicted"}
FAST = "F1,F5,F9,A8,A12"


def lines(capsys, *arguments, status=0):
    assert main(arguments) == status
    return capsys.readouterr().out.splitlines()


def test_one_aligned_line_a_statement(capsys):
    printed = lines(capsys, "--quick", "--only", FAST)
    rows = printed[1:6]
    assert [row.split()[0] for row in rows] == ["F1", "F5", "F9", "A8", "A12"]
    assert len({row.index(" s") for row in rows}) == 1  # the times end in one column
    assert "5 statements: 1 holds, 4 misprint" in printed[-2]
    assert printed[-1] == "All come out as recorded."


def test_json_is_the_only_output(capsys):
    assert main(["--quick", "--json", "--only", FAST]) == 0
    captured = json.loads(capsys.readouterr().out)
    assert set(captured) == {"checks"}
    assert len(captured["checks"]) == 5
    for record in captured["checks"]:
        assert set(record) == KEYS | {"margin", "seconds"}
        assert record["as_recorded"] is True
        assert record["place"] == PAPER[record["id"]].place
        assert record["verdict"] in {verdict.value for verdict in Verdict}


def test_numbers_json_has_no_word_for_become_null(capsys, monkeypatch):
    bent = Outcome((Fact("x", float("inf"), 0.0, ">=", 0.0, "exact", Bears.SUPPORTS),))
    monkeypatch.setitem(CHECKS, "F1", lambda effort: bent)
    assert main(["--quick", "--json", "--only", "F1"]) == 0
    record = json.loads(capsys.readouterr().out)["checks"][0]
    assert record["measured"] is None
    assert record["predicted"] == 0.0


def test_a_check_that_does_not_come_out_makes_the_status_one(capsys, monkeypatch):
    bent = Outcome((Fact("the bent one", 1.0, 0.0, "==", 0.0, "exact", Bears.SUPPORTS),))
    monkeypatch.setitem(CHECKS, "F5", lambda effort: bent)
    printed = lines(capsys, "--quick", "--only", FAST, status=1)
    assert any("NOT AS RECORDED: the bent one" in line for line in printed)
    assert "F5" in printed[-1]
    assert not json_of(capsys, 1)[1]["as_recorded"]
    assert "does not confirm" in "\n".join(lines(capsys, "errata", "--only", FAST, status=1))


def json_of(capsys, status):
    assert main(["--quick", "--json", "--only", FAST]) == status
    return json.loads(capsys.readouterr().out)["checks"]


def test_a_check_that_breaks_down_does_not_stop_the_others(capsys, monkeypatch):
    def broken(effort):
        raise np.linalg.LinAlgError("no convergence")

    monkeypatch.setitem(CHECKS, "F1", broken)
    printed = lines(capsys, "--quick", "--only", FAST, status=1)
    assert "BROKE DOWN" in printed[1]
    assert "no convergence" in printed[1]
    assert printed[2].startswith("F5")
    assert json_of(capsys, 1)[0]["measured"] is None


def test_list_has_every_statement(capsys):
    printed = lines(capsys, "list")
    assert [line.split()[0] for line in printed] == list(PAPER)


def test_show_tells_all(capsys):
    text = "\n".join(lines(capsys, "show", "a12", "--quick"))
    statement = PAPER["A12"]
    for part in ("A12  Table 1", statement.correct, "refuted by", "how checked", "as recorded"):
        assert part in text
    assert "error of ours: " in text


def test_errata_is_what_is_not_plainly_right(capsys):
    text = "\n".join(lines(capsys, "errata", "--quick", "--only", FAST))
    assert text.startswith("# ")
    assert "Table 1 (A12): misprint" in text
    assert PAPER["A12"].correct in text
    assert "(F1)" not in text  # it holds


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "nothing"], "no statement matches 'nothing'"),
        (["show", "Q9"], "no statement 'Q9'"),
        (["show"], "takes ids"),
        (["run", "F1"], "choose with --only"),
        (["list", "--json"], "--json belongs to"),
        (["errata", "--report", "x"], "--report belongs to"),
    ],
)
def test_wrong_usage_is_said_and_has_status_two(capsys, arguments, message):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


@pytest.mark.parametrize("arguments", [["--seed", "-1"], ["--seed", "x"], ["fly"], ["--fly"]])
def test_unknown_options_have_status_two(capsys, arguments):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert "usage" in capsys.readouterr().err


def test_a_report_that_cannot_be_written_is_refused_before_the_checks(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    assert main(["run", "--only", "F1", "--report", str(tmp_path / "file")]) == 2
    captured = capsys.readouterr()
    assert "cannot be made (File exists)" in captured.err
    assert captured.out == ""


def test_a_report_has_results_errata_and_pictures(capsys, tmp_path, monkeypatch):
    # The experiments' own pictures have their tests; here the smallest of them stands for all.
    monkeypatch.setattr("paper_checks.checking.report.EXPERIMENTS", {"X1": "slopes"})
    folder = tmp_path / "deep" / "report"
    assert main(["run", "--quick", "--only", FAST, "--report", str(folder)]) == 0
    page = (folder / "report.md").read_text()
    assert "| A12 | Table 1 |" in page
    for name in ("X1", "two_minima", "saddle_starts", "logistic_row"):
        assert f"({name}.png)" in page
        assert (folder / f"{name}.png").stat().st_size > 10_000
    assert "Table 1 (A12): misprint" in (folder / "errata.md").read_text()
    assert not list(folder.glob(".*"))
    assert "Report in" in capsys.readouterr().err


def test_patterns_mean_ids_first():
    assert [s.id for s in select("A1")] == ["A1"]
    assert {s.id[0] for s in select("A*")} == {"A"}
    assert {s.place for s in select("table 1")} == {"Table 1"}
    assert {s.verdict for s in select("misprint")} == {Verdict.MISPRINT}
    assert {s.verdict for s in select("false*")} == {Verdict.FALSE}
    assert [s.id for s in select("A2, F1,F1")] == ["F1", "A2"]  # in the order of the paper
    assert select(None) == list(PAPER.values())


def test_a_result_depends_on_seed_and_id_alone():
    def shown(pattern, seed):
        return {
            r.statement.id: r.outcome.facts for r in run(select(pattern), quick=True, seed=seed)
        }

    together = shown("F9,A12,A1", 3)
    assert together["A1"] == shown("A1", 3)["A1"]
    assert together["A1"] != shown("A1", 4)["A1"]


def test_as_a_program():
    done = subprocess.run(
        [sys.executable, "-m", "paper_checks", "--quick", "--json", "--only", "F1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["checks"][0]["id"] == "F1"


def test_interruption_is_no_traceback(capsys, monkeypatch):
    def interrupted(options):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "_run", interrupted)
    assert main(["--quick"]) == 130
    assert "stopped" in capsys.readouterr().err
