"""Marks are never lost: merged, kept, exported, entered, and read back as they were."""

import csv
import json

import pytest
from test_grade_command import TINY
from test_written_part import TOML, answered

from assignments import grade as command
from assignments import marks
from assignments.assignment import read_assignment
from assignments.gradebooks import fill_gradebook
from assignments.ledger import Ledger, Mark, read_csv, spelt, write_csv
from assignments.source import find_sources
from documents import html_page

MANUAL = {"tiny": {"open": 0.0, "w1": 4.0, "w2": 2.5}}


@pytest.fixture
def course(tmp_path, monkeypatch):
    for folder, name, text in (("sources", "tiny.md", TINY), ("written", "tiny.toml", TOML)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(text)
    own = tmp_path / "sources"
    for module in (command, marks):
        monkeypatch.setattr(module, "find_sources", lambda names=None: find_sources(names, own))
    monkeypatch.setattr(command, "fence_gaps", list)
    return read_assignment(own / "tiny.md")


@pytest.fixture
def a_class(course, tmp_path, monkeypatch):
    """Grade three students; the grader itself is replaced, which others test."""
    points = {"q1": 3, "q2": 1.5}
    outcomes = [
        {"question": q, "test": q, "hidden": False, "points": p, "max_points": 3, "message": "<b>"}
        for q, p in points.items()
    ]

    def graded(words, _seconds):
        path = words[words.index("--feedback") + 1]
        with open(path, "w") as file:
            json.dump({"outcomes": outcomes, "remarks": []}, file)
        return ""

    monkeypatch.setattr(command, "_run", graded)
    folder = tmp_path / "handed"
    for name in ("ann", "bob", "eve"):
        (folder / name).mkdir(parents=True)
        text = json.dumps(answered(course, w1=f"The answer of {name}\n\n=1+1", open="@me"))
        (folder / name / "tiny.ipynb").write_text(text)
    table = tmp_path / "marks.csv"
    assert command.main([str(folder), "--out", str(table)]) == 0
    return folder, table


def rows(path):
    with path.open(newline="", encoding="utf-8") as file:
        return {row["submission"]: row for row in csv.DictReader(file)}


def edit(path, submission, **cells):
    """Do as an instructor does in a spreadsheet."""
    table = list(rows(path).values())
    columns = list(dict.fromkeys([*table[0], *cells]))
    for row in table:
        row.update(cells if row["submission"] == submission else {})
    write_csv(path, columns, table)


def test_regrading_one_notebook_keeps_the_class_and_what_was_entered_by_hand(a_class, tmp_path):
    folder, table = a_class
    edit(table, "ann/tiny.ipynb", w1="2,5", note="talked to her", adjustment="-1")
    before = table.read_text()
    (folder / "ann" / "tiny.ipynb").touch()
    arguments = [str(folder / "ann" / "tiny.ipynb"), "--out", str(table), "--limit", "7"]
    assert command.main(arguments) == 0
    after = rows(table)
    assert list(after) == ["ann/tiny.ipynb", "bob/tiny.ipynb", "eve/tiny.ipynb"]
    ann = after["ann/tiny.ipynb"]
    assert (ann["w1"], ann["note"], ann["adjustment"]) == ("2,5", "talked to her", "-1")
    assert (ann["automatic"], ann["total"]) == ("4.5", "6")
    assert after["bob/tiny.ipynb"]["total"] == "4.5"
    kept = [path.read_text() for path in (tmp_path / "marks-before").iterdir()]
    assert before in kept


def test_two_assignments_of_one_name_are_two_rows():
    ledger = Ledger(MANUAL)
    for name, points in (("", 0), ("tiny", 5), ("other", 3), ("tiny", 4)):
        ledger.enter(Mark("ann.ipynb", name, points, {"q1": points}, (), {}))
    assert sorted(ledger.rows) == [("ann.ipynb", "other"), ("ann.ipynb", "tiny")]
    assert ledger.rows["ann.ipynb", "tiny"]["automatic"] == "4"


def test_the_marking_page_loads_nothing_that_a_student_names(course):
    rows = [
        {"submission": "ann", "answer": "![a](http://x.org/a.png) ![b][1]\n\n[1]: http://x.org"}
    ]
    text = marks._reading_page(course, "w1", rows)
    assert "<img" not in html_page(text, "w1")
    assert "x.org/a.png" in text


def test_marks_go_out_and_come_back(a_class, tmp_path, capsys):
    folder, table = a_class
    marking = tmp_path / "marking"
    assert marks.main(["export", str(table), "--out", str(marking)]) == 0
    names = sorted(path.name for path in marking.glob("*.csv"))
    assert names == ["tiny-open.csv", "tiny-w1.csv", "tiny-w2.csv"]
    page = (marking / "tiny-w1.html").read_text()
    assert "By counting" in page  # the guide
    assert "The answer of bob" in page
    columns, entries = read_csv(marking / "tiny-w1.csv")
    assert entries[0]["answer"] == "The answer of ann\n\n=1+1"
    for row, mark in zip(entries, ("4", "1.5", ""), strict=True):
        row |= {"mark": mark, "remark": "=well"}
    write_csv(marking / "tiny-w1.csv", columns, entries)
    assert marks.main(["import", str(table), str(marking / "tiny-w1.csv")]) == 0
    assert "2 marks entered" in capsys.readouterr().out
    after = rows(table)
    assert [row["total"] for row in after.values()] == ["8.5", "6", "4.5"]
    assert [row["w1"] for row in after.values()] == ["4", "1.5", ""]
    assert after["ann/tiny.ipynb"]["w1 remark"] == "'=well"
    # Marks stay through a second grading, and a second export shows them.
    assert command.main([str(folder), "--out", str(table), "--limit", "9"]) == 0
    assert rows(table) == after
    assert marks.main(["export", str(table), "--out", str(marking)]) == 0
    assert [row["mark"] for row in read_csv(marking / "tiny-w1.csv")[1]] == ["4", "1.5", ""]
    page = (tmp_path / "marks-feedback" / "tiny" / "ann" / "tiny.ipynb.html").read_text()
    assert "<b>8.5</b> of 11.5 points" in page
    assert "&lt;b&gt;" in page  # what a message says is text, not HTML
    assert "=well" in page


BAD = {  # a row of a marking file -> what is said
    ("ann/tiny.ipynb", "5"): r"row 2: the mark must be from 0 to 4, got '5'",
    ("ann/tiny.ipynb", "-1"): "the mark must be from 0 to 4",
    ("ann/tiny.ipynb", "nan"): "the mark must be from 0 to 4",
    ("ann/tiny.ipynb", "good"): "the mark must be a number, got 'good'",
    ("zoe/tiny.ipynb", "1"): "'zoe/tiny.ipynb' is not in the table of marks",
}


@pytest.mark.parametrize("entry", BAD, ids=lambda entry: "=".join(entry))
def test_a_mark_that_cannot_be_changes_nothing(entry, tmp_path, course):
    table, path = tmp_path / "marks.csv", tmp_path / "tiny-w1.csv"
    write_csv(table, ["submission", "assignment"], [{"submission": "ann/tiny.ipynb"}])
    edit(table, "ann/tiny.ipynb", assignment="tiny", automatic="3")
    before = table.read_text()
    row = dict(zip(("submission", "mark"), entry, strict=True))
    write_csv(path, ["submission", "mark", "remark"], [row])
    with pytest.raises(ValueError, match=BAD[entry]):
        marks.import_marks(table, [path], {"tiny": course})
    assert table.read_text() == before


def test_an_open_question_has_a_most_too(tmp_path, course):
    """50 typed for 5 was entered."""
    table, path = tmp_path / "marks.csv", tmp_path / "tiny-open.csv"
    row = {"submission": "ann", "assignment": "tiny", "automatic": "3", "mark": "50"}
    write_csv(table, ["submission", "assignment", "automatic"], [row])
    write_csv(path, ["submission", "mark", "remark"], [row])
    with pytest.raises(ValueError, match="the mark must be from 0 to 5, got '50'"):
        marks.import_marks(table, [path], {"tiny": course})


def test_a_table_that_cannot_be_read_is_refused_before_the_work(course, tmp_path, capsys):
    table = tmp_path / "marks.csv"
    table.write_text("name,points\nann,3\n")
    (tmp_path / "s.ipynb").write_text("{}")
    assert command.main([str(tmp_path / "s.ipynb"), "--out", str(table)]) == 2
    assert "it has no column 'submission'" in capsys.readouterr().err
    assert table.read_text() == "name,points\nann,3\n"


def test_what_a_spreadsheet_saved_is_read(tmp_path):
    path = tmp_path / "marks.csv"
    text = "submission;assignment;automatic;w1\r\nann;tiny;3;2,5\r\n"
    path.write_text(text, encoding="utf-8-sig", newline="")
    assert Ledger.read(path, MANUAL).total(("ann", "tiny")) == 5.5
    path.write_text(text.replace("2,5", "?"))
    with pytest.raises(ValueError, match="the mark of ann for w1 must be a number, got '\\?'"):
        Ledger.read(path, MANUAL)


@pytest.mark.parametrize("cell", ["=1+1", "+cmd", "-x", "@sum", "\tx", "=HYPERLINK(1)"])
def test_no_cell_is_a_formula(cell, tmp_path):
    assert spelt(cell) == f"'{cell}"
    write_csv(tmp_path / "t.csv", ["a"], [{"a": cell.strip()}])
    assert read_csv(tmp_path / "t.csv")[1] == [{"a": cell.strip()}]
    assert spelt("-1.5") == "-1.5"
    assert spelt("it's = fine") == "it's = fine"


CANVAS = """Student,ID,SIS User ID,SIS Login ID,Section,Tiny (77)
    Points Possible,,,,,40
"Lee, Ann",1001,,alee,S1,
"Bo, Bob",1002,,bbo,S1,12
"Nix, Zoe",1003,,znix,S1,
"""
MOODLE = """Identifier,Full name,Email address,Status,Grade,Maximum grade
Participant 501,Ann Lee,ann@x.org,Submitted,,40
Participant 502,Bob Bo,bob@x.org,Submitted,,40
"""


def test_canvas_and_moodle_get_their_own_files_back(tmp_path):
    gradebook, out = tmp_path / "book.csv", tmp_path / "out.csv"
    gradebook.write_text(CANVAS)
    totals = {"leeann_1001_9_tiny.ipynb": 31.5, "bbo/tiny.ipynb": 8.0, "eve.ipynb": 1.0}
    filled = fill_gradebook(gradebook, out, totals, "Tiny")
    assert (filled.students, filled.matched, filled.unmatched) == (3, 2, ("eve.ipynb",))
    columns, written = read_csv(out)
    assert columns == CANVAS.splitlines()[0].split(",")
    assert [row["Tiny (77)"] for row in written] == ["40", "31.5", "8", ""]
    gradebook.write_text(MOODLE)
    totals = {"Ann Lee_501_assignsubmission_file/a.ipynb": 7.0, "bob@x.org.ipynb": 2.0}
    filled = fill_gradebook(gradebook, out, totals, "Grade")
    assert filled.matched == 2
    assert [row["Grade"] for row in read_csv(out)[1]] == ["7", "2"]


def test_the_number_of_a_submission_is_nobodys(tmp_path):
    """Canvas counts students and submissions apart: 1003 is Zoe and Ann's submission."""
    gradebook, out = tmp_path / "book.csv", tmp_path / "out.csv"
    gradebook.write_text(CANVAS)
    totals = {"leeann_LATE_1001_1003_tiny.ipynb": 31.5, "sub/bobob_1002_1001_tiny.ipynb": 8.0}
    assert fill_gradebook(gradebook, out, totals, "Tiny").matched == 2
    assert [row["Tiny (77)"] for row in read_csv(out)[1]] == ["40", "31.5", "8", ""]


def test_a_submission_that_two_may_own_is_refused(tmp_path):
    gradebook = tmp_path / "book.csv"
    gradebook.write_text(CANVAS.replace("bbo", "alee"))
    with pytest.raises(ValueError, match=r"alee/t.ipynb may be of two students"):
        fill_gradebook(gradebook, tmp_path / "out.csv", {"alee/t.ipynb": 1.0}, "Tiny")


def test_totals_without_all_marks_are_not_exported_unawares(a_class, tmp_path, capsys):
    _, table = a_class
    book = tmp_path / "book.csv"
    book.write_text(CANVAS.replace("alee", "ann"))
    arguments = ["canvas", str(table), str(book), "--assignment", "tiny", "--column", "Tiny"]
    assert marks.main(arguments) == 2
    assert "3 submissions not fully marked, such as " in capsys.readouterr().err
    assert marks.main([*arguments, "--incomplete"]) == 0
    assert "no student for eve/tiny.ipynb" in capsys.readouterr().err
    assert read_csv(tmp_path / "book-filled.csv")[1][1]["Tiny (77)"] == "4.5"
