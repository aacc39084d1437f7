"""The written part: read from a file, in every notebook, and found again in what comes back."""

import json

import pytest
from test_grade_command import TINY

from assignments.assignment import read_assignment
from assignments.handed_out import likely_assignment, written_answers
from assignments.notebooks import QUESTION, otter_notebook, solution_notebook, student_notebook
from assignments.written import WrittenError, read_written

TOML = """
[[question]]
id = "w1"
title = "A sum"
points = 4
minutes = 30
text = "Show that $1 + 1 = 2$."
model_answer = "By counting, twice over."
rubric = [{points = 3, criterion = "counts"}, {points = 1, criterion = "says so"}]
wrong_turns = ["counts to three"]

[[question]]
id = "w2"
title = "A product"
points = 2.5
minutes = 20
text = "Show that $1 \\\\cdot 1 = 1$."
model_answer = "One is neutral."
rubric = [{points = 2.5, criterion = "says why"}]
"""


@pytest.fixture
def source(tmp_path):
    for folder, name, text in (("sources", "tiny.md", TINY), ("written", "tiny.toml", TOML)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(text)
    return read_assignment(tmp_path / "sources" / "tiny.md")


def texts(notebook):
    return "\n".join("".join(cell["source"]) for cell in notebook["cells"])


def test_students_get_questions_and_the_solution_gets_answers(source):
    assert source.manual == {"open": 0, "w1": 4, "w2": 2.5}
    assert source.specification().points == 5  # what is graded automatically stays apart
    student, solution = student_notebook(source), solution_notebook(source)
    assert "**Question w1: A sum (4 points, 30 minutes).**\n\nShow that $1 + 1 = 2$." in texts(
        student
    )
    for secret in ("By counting", "counts to three", "says so"):
        assert secret in texts(solution)
        assert secret in texts(otter_notebook(source, 0))
        assert secret not in json.dumps(student)
    cells = [cell["metadata"].get(QUESTION) for cell in student["cells"]]
    assert [name for name in cells if name] == ["open", "w1", "w2"]


FAULTS = {  # a change to the file -> what is said
    ("points = 4", "points = 5"): "question w1 is worth 5, its rubric adds up to 4",
    ('id = "w2"', 'id = "w1"'): "two questions have one id",
    ('title = "A sum"', ""): "question w1 needs `title`; got None",
    ("criterion = ", "critérion = "): "tiny.toml: ",
    ("rubric = [{points = 2.5, criterion", "rubric = [{worth = 2.5, criterion"): "needs `rubric`",
}


@pytest.mark.parametrize("change", FAULTS, ids=lambda change: change[1][:30])
def test_a_file_that_is_not_in_order_is_refused(change, tmp_path):
    assert change[0] in TOML
    path = tmp_path / "tiny.toml"
    path.write_text(TOML.replace(*change, 1))
    with pytest.raises(WrittenError, match=FAULTS[change]):
        read_written(path)


def answered(source, **answers):
    """Return the student's notebook with answers in the cells that wait for them."""
    notebook = student_notebook(source)
    for cell in notebook["cells"]:
        name = cell["metadata"].get(QUESTION)
        if name in answers:
            cell["source"] = answers[name]
    return notebook


def save(folder, notebook, encoding="utf-8"):
    path = folder / "back.ipynb"
    path.write_text(json.dumps(notebook), encoding=encoding)
    return path


ANSWERS = {"open": "A lot.", "w1": "One and one\n\nmark: 4", "w2": ""}


def test_answers_are_found(source, tmp_path):
    path = save(tmp_path, answered(source, open=ANSWERS["open"], w1=ANSWERS["w1"]))
    assert written_answers(path, source) == ANSWERS


def test_answers_are_found_without_metadata_with_a_bom_and_in_cells_of_their_own(source, tmp_path):
    notebook = answered(source, open=ANSWERS["open"])
    place = next(i for i, c in enumerate(notebook["cells"]) if c["metadata"].get(QUESTION) == "w1")
    own = [{"cell_type": "markdown", "source": [line]} for line in ("One and one", "mark: 4")]
    notebook["cells"][place : place + 1] = own
    for cell in notebook["cells"]:
        cell["metadata"] = {}
    notebook["metadata"] = {}
    path = save(tmp_path, notebook, "utf-8-sig")
    assert written_answers(path, source) == ANSWERS
    assert likely_assignment(path, [source.path]) == "tiny"


def test_an_answer_typed_into_the_cell_of_the_question_counts(source, tmp_path):
    notebook = answered(source)
    for cell in notebook["cells"]:
        if cell["source"].startswith("**Question w1"):
            cell["source"] += "\n\nBecause."
    assert written_answers(save(tmp_path, notebook), source)["w1"] == "Because."


def test_a_strange_notebook_is_of_no_assignment(source, tmp_path):
    path = save(tmp_path, {"cells": [{"source": "x = 1"}, 3, {"source": 5}]})
    assert likely_assignment(path, [source.path]) == ""
    assert set(written_answers(path, source).values()) == {""}
