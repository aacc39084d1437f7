"""Many submissions at once, and the autograder that needs nothing but the packages and pytest."""

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from assignments import grade as command
from assignments.assignment import read_assignment
from assignments.bundles import write_autograder
from assignments.grading.results import gradescope
from assignments.grading.runner import grade
from assignments.notebooks import solution_notebook, student_notebook, write
from assignments.source import find_sources

TINY = (Path(__file__).parent / "tiny.md").read_text(encoding="utf-8")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tiny(tmp_path):
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "tiny.md").write_text(TINY)
    return read_assignment(folder / "tiny.md")


@pytest.fixture
def course(tiny, monkeypatch):
    """Make the tiny assignment the only one of the course."""
    folder = tiny.path.parent
    monkeypatch.setattr(command, "find_sources", lambda names=None: find_sources(names, folder))
    return tiny


def hand_in(path, notebook, **replaced):
    """Write a notebook, some text of it replaced."""
    text = json.dumps(notebook)
    for old, new in replaced.values():
        assert old in text
        text = text.replace(old, new)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def handed(course, tmp_path):
    folder = tmp_path / "handed"
    solution = solution_notebook(course)
    hand_in(folder / "good.ipynb", solution)
    hand_in(folder / "ann" / "tiny.ipynb", solution, slip=("norms.mean()", "norms.sum()"))
    hand_in(folder / "bob" / "tiny.ipynb", student_notebook(course))
    (folder / "bob" / "data.csv").write_text("beside a notebook, not handed in")
    hand_in(folder / "loop.ipynb", solution, slip=("return norms.mean()", "while True: pass"))
    lost = ('"course": {"assignment": "tiny"', '"c": {"a": 1')
    hand_in(folder / "without.ipynb", solution, name=lost)
    two = [{"cell_type": "code", "source": "x = 1"}] * 2
    hand_in(folder / "which.ipynb", {"cells": two, "metadata": {}})
    (folder / "torn.ipynb").write_text('{"cells": [')
    (folder / "letter.pdf").write_bytes(b"%PDF")
    (folder / "link.ipynb").symlink_to(course.path)
    os.mkfifo(folder / "pipe.ipynb")
    return folder


def rows(path):
    with path.open(newline="", encoding="utf-8") as file:
        return {row["submission"]: row for row in csv.DictReader(file)}


EXPECTED = {  # submission -> total, q1, q2 and a word of the remarks
    "ann/tiny.ipynb": ("3", "1", "2", ""),
    "bob/tiny.ipynb": ("0", "0", "0", ""),
    "good.ipynb": ("5", "3", "2", ""),
    "letter.pdf": ("0", "", "", "not a notebook"),
    "link.ipynb": ("0", "", "", "not a file but a link"),
    "loop.ipynb": ("2", "0", "2", "ran longer than 3 s"),
    "pipe.ipynb": ("0", "", "", "not a file but a link or a device"),
    "torn.ipynb": ("0", "", "", "its JSON does not parse"),
    "which.ipynb": ("0", "", "", "its assignment is not recognised; name it with --assignment"),
    "without.ipynb": ("5", "3", "2", ""),
}


def test_a_folder_is_graded_to_the_last_file_and_again_without_work(handed, tmp_path, monkeypatch):
    marks = tmp_path / "marks.csv"
    arguments = [str(handed), "--out", str(marks), "--jobs", "2", "--limit", "3"]
    assert command.main(arguments) == 0
    table = rows(marks)
    assert list(table) == sorted(EXPECTED)
    for name, (total, q1, q2, word) in EXPECTED.items():
        assert (table[name]["total"], table[name]["q1"], table[name]["q2"]) == (total, q1, q2), name
        assert word in table[name]["remarks"]
    feedback = json.loads(
        (tmp_path / "marks-feedback" / "tiny" / "ann" / "tiny.ipynb.json").read_text()
    )
    messages = [outcome["message"] for outcome in feedback["outcomes"]]
    assert any("Not the mean of the row norms" in message for message in messages)
    # The second time every graded notebook is known; a changed one would not be.
    asked = []
    monkeypatch.setattr(command, "_run", lambda *a: asked.append(a) or "the grader was run")
    hand_in(handed / "good.ipynb", json.loads((handed / "bob" / "tiny.ipynb").read_text()))
    assert command.main(arguments) == 0
    assert len(asked) == 1
    again = rows(marks)
    assert again["good.ipynb"]["remarks"] == "the grader was run"
    assert again["ann/tiny.ipynb"] == table["ann/tiny.ipynb"]


def test_an_interruption_loses_nothing(handed, tmp_path, monkeypatch, capsys):
    """Ctrl-C comes when the third mark is to be written."""
    written = []

    def interrupted(task, marks):
        written.append(len(marks))
        if len(marks) == 3:
            raise KeyboardInterrupt
        return written_before(task, marks)

    written_before = command.write_marks

    monkeypatch.setattr(command, "_grade_one", lambda _t, _f, e: command.failed_mark(e, "seen"))
    monkeypatch.setattr(command, "write_marks", interrupted)
    marks = tmp_path / "marks.csv"
    assert command.main([str(handed), "--out", str(marks)]) == 130
    assert written == [1, 2, 3]
    assert len(rows(marks)) == 2
    assert "has the marks so far" in capsys.readouterr().err


def test_a_grader_that_fails_stops_no_other(handed, tmp_path, monkeypatch):
    def failing(_task, _folder, entry):
        if entry.name == "good.ipynb":
            raise OSError("no space left")
        return command.failed_mark(entry, "seen")

    monkeypatch.setattr(command, "_grade_one", failing)
    marks = tmp_path / "marks.csv"
    assert command.main([str(handed), "--out", str(marks)]) == 0
    assert rows(marks)["good.ipynb"]["remarks"] == "the grader failed: OSError: no space left"
    assert len(rows(marks)) == len(EXPECTED)


def test_a_name_and_a_remark_that_cannot_be_written_stop_nobody(handed, tmp_path, monkeypatch):
    """A name from an old archive is not UTF-8; an error can have half a letter in it."""
    shutil.copy(handed / "good.ipynb", os.fsencode(handed) + b"/M\xfcller.ipynb")
    torn = "\ud800 \x1b[31m"
    monkeypatch.setattr(command, "_grade_one", lambda _t, _f, e: command.failed_mark(e, torn))
    marks = tmp_path / "marks.csv"
    assert command.main([str(handed), "--out", str(marks)]) == 0
    table = rows(marks)
    assert len(table) == len(EXPECTED) + 1
    assert table["M\\udcfcller.ipynb"]["remarks"] == r"\ud800 \x1b[31m"


def test_another_limit_grades_again_and_the_marks_are_no_submissions(course, tmp_path, monkeypatch):
    folder = tmp_path / "handed"
    hand_in(folder / "good.ipynb", solution_notebook(course))
    arguments = [str(folder), "--out", str(folder / "marks.csv"), "--limit"]
    assert command.main([*arguments, "3"]) == 0
    assert rows(folder / "marks.csv")["good.ipynb"]["total"] == "5"
    asked = []
    monkeypatch.setattr(command, "_run", lambda *a: asked.append(a) or "the grader was run")
    assert command.main([*arguments, "3"]) == 0
    assert asked == []
    assert command.main([*arguments, "9"]) == 0
    assert len(asked) == 1
    assert list(rows(folder / "marks.csv")) == ["good.ipynb"]


def test_proofs_beside_a_notebook_are_no_second_submission(course, tmp_path):
    """As Canvas packs them, all in one folder: a row of the assignment each would be two marks."""
    hand_in(tmp_path / "handed" / "lee_7_8_tiny.ipynb", solution_notebook(course))
    (tmp_path / "handed" / "lee_7_9_proofs.pdf").write_bytes(b"%PDF")
    marks = tmp_path / "marks.csv"
    assert command.main([str(tmp_path / "handed"), "--assignment", "t", "--out", str(marks)]) == 0
    assigned = {name: row["assignment"] for name, row in rows(marks).items()}
    assert assigned == {"lee_7_8_tiny.ipynb": "tiny", "lee_7_9_proofs.pdf": ""}


def test_a_full_disk_is_said_at_the_end(handed, tmp_path, monkeypatch, capsys):
    """What stops one writing may be over at the next, so the others are graded first."""
    monkeypatch.setattr(command, "_grade_one", lambda _t, _f, e: command.failed_mark(e, "seen"))
    tried = []

    def full(_task, marks):
        tried.append(len(marks))
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(command, "write_marks", full)
    assert command.main([str(handed), "--out", str(tmp_path / "marks.csv")]) == 2
    assert tried == [*range(1, len(EXPECTED) + 1), len(EXPECTED)]
    assert "cannot be written: No space left on device." in capsys.readouterr().err


def test_what_is_not_there_is_refused(course, tmp_path, capsys):
    assert command.main([str(tmp_path / "nowhere")]) == 2
    assert "nowhere is neither a file nor a folder" in capsys.readouterr().err
    assert command.main([str(tmp_path), "--assignment", "z"]) == 2
    assert f"no assignment begins with 'z'; there are: {course.name}" in capsys.readouterr().err


# Refuses every way out, then runs pytest: the autograder must not mind.
NO_NETWORK = """
import sys
def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.bind", "socket.sendto"):
        raise OSError("the network is cut off")
sys.addaudithook(refuse)
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""


def a_wheel(folder):
    """Return a file that stands for the wheel; nothing here installs it."""
    path = folder / "leml_theory-0.0-py3-none-any.whl"
    path.write_bytes(b"")
    return path


def unshare(*options):
    """Return the command for another namespace; empty where there may be none."""
    cut = ["unshare", *options]
    able = shutil.which("unshare") and subprocess.run([*cut, "true"], check=False).returncode == 0
    return cut if able else []


def autograde(folder, notebook, results, namespace):
    """Run the autograder as an instructor does, from another folder, with the network cut off."""
    command_line = [*namespace, sys.executable, "-c", NO_NETWORK, str(folder)]
    command_line += ["--submission", str(notebook), "--results", str(results), "-rA"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command_line,
        cwd=folder.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_autograder_gives_partial_credit_without_a_network(tiny, tmp_path):
    folder, notebook, results = (tmp_path / name for name in ("auto", "s.ipynb", "results.json"))
    write_autograder(folder, tiny.specification(9), a_wheel(tmp_path))
    hand_in(notebook, solution_notebook(tiny), slip=("norms.mean()", "norms.sum()"))
    user = [] if os.geteuid() == 0 else ["--map-current-user"]
    done = autograde(folder, notebook, results, unshare("--net", *user))
    assert "1 failed, 3 passed" in done.stdout, done.stdout + done.stderr
    assert "test_answer[q1 other data]" in done.stdout
    written = json.loads(results.read_text())
    assert (written["score"], written["max_score"]) == (3, 5)
    entries = {entry["name"]: entry for entry in written["tests"]}
    assert [entry["score"] for entry in written["tests"]] == [1, 0, 0, 2]
    assert [entry["max_score"] for entry in written["tests"]] == [1, 2, 0, 2]
    assert "Not the mean of the row norms" in entries["q1 other data"]["output"]
    assert entries["q1 other data"]["visibility"] == "after_due_date"
    assert entries["q1 scaling"]["visibility"] == "visible"


def test_the_autograder_says_how_it_is_called(tiny, tmp_path):
    write_autograder(tmp_path / "auto", tiny.specification(), a_wheel(tmp_path))
    done = autograde(tmp_path / "auto", tmp_path / "absent.ipynb", tmp_path / "results.json", [])
    assert "name the notebook to grade: --submission FILE" in done.stderr


def test_messages_of_hidden_tests_can_be_withheld(tmp_path):
    path = tmp_path / "tiny.md"
    path.write_text(TINY.replace("points = 5\n", "points = 5\nshow_hidden = false\n"))
    assignment = read_assignment(path)
    write(tmp_path / "s.ipynb", student_notebook(assignment))
    specification = assignment.specification()
    tests = gradescope(grade(specification, tmp_path / "s.ipynb"), specification)["tests"]
    hidden = [entry["output"] for entry in tests if entry["visibility"] == "after_due_date"]
    assert hidden == ["A hidden test failed."] * 2
    assert "not answered yet" in tests[2]["output"]


def test_root_that_cannot_become_another_user_is_refused_in_words(tiny, tmp_path, monkeypatch):
    """In a namespace with root alone the student's process is root, and the fence is weak."""
    if not (namespace := unshare("--map-root-user")):
        pytest.skip("no namespace of users can be made here")
    # A bubblewrap that fails: one that works makes another user even here.
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "bwrap").symlink_to(shutil.which("false"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    folder, notebook = tmp_path / "auto", tmp_path / "s.ipynb"
    write_autograder(folder, tiny.specification(9), a_wheel(tmp_path))
    hand_in(notebook, solution_notebook(tiny))
    done = autograde(folder, notebook, tmp_path / "results.json", namespace)
    assert "4 failed" in done.stdout
    assert "does not limit the user's rights, so" in done.stdout, done.stdout


@pytest.mark.parametrize("limit", ["0", "-1", "nan"])
def test_a_limit_that_would_stop_everything_or_nothing_is_refused(limit, capsys):
    with pytest.raises(SystemExit, match="2"):
        command.main(["handed", "--limit", limit])
    assert "--limit: expected a number from 0.1 to 100000" in capsys.readouterr().err
