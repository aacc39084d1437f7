"""The graders grade: full marks for solutions, none for empty copies, less for wrong answers."""

import json
import re
from collections import Counter

import pytest
from outcomes import messages, points
from wrong import assignment, graded, wrong_answers, wrong_students

from assignments.grading.runner import grade
from assignments.notebooks import student_notebook
from assignments.source import find_sources

NAMES = [path.stem for path in find_sources()]
STUDENTS = [(name, i) for name in NAMES for i, _ in enumerate(wrong_students(name))]


def test_the_three_assignments_are_there():
    assert NAMES == ["a_promise", "b_witnesses", "c_practice"]


@pytest.mark.parametrize("name", NAMES)
def test_an_assignment_has_twenty_points_in_five_to_seven_questions(name):
    specification = assignment(name).specification()
    assert specification.points == 20
    assert 5 <= len(specification.questions) <= 7


@pytest.mark.parametrize("name", NAMES)
def test_every_question_has_four_wrong_answers_of_different_kinds(name):
    questions = {question.name for question in assignment(name).specification().questions}
    counts = Counter(wrong.question for wrong in wrong_answers(name))
    assert set(counts) == questions
    assert min(counts.values()) >= 4, counts
    codes = [(wrong.question, wrong.code) for wrong in wrong_answers(name)]
    assert len(set(codes)) == len(codes)


@pytest.mark.parametrize("name", NAMES)
def test_every_wrong_answer_loses_something(name):
    points = {q.name: q.points for q in assignment(name).specification().questions}
    for wrong in wrong_answers(name):
        assert 0 <= wrong.keeps < points[wrong.question], wrong.story


@pytest.mark.parametrize("term", [0, 2027])
@pytest.mark.parametrize("name", NAMES)
def test_the_reference_solution_has_full_marks(name, term, tmp_path):
    result = graded(assignment(name), {}, tmp_path, term)
    assert [(entry.test, entry.message) for entry in result.outcomes if not entry.passed] == []
    assert result.total == 20
    assert result.remarks == ()


@pytest.mark.parametrize("name", NAMES)
def test_the_untouched_copy_has_no_marks(name, tmp_path):
    source = assignment(name)
    path = tmp_path / f"{name}.ipynb"
    path.write_text(json.dumps(student_notebook(source)))
    result = grade(source.specification(), path)
    assert result.total == 0
    assert not any(entry.passed for entry in result.outcomes)


@pytest.mark.parametrize(("name", "student"), STUDENTS)
def test_wrong_answers_lose_what_they_should_and_say_why(name, student, tmp_path):
    """One student gives a wrong answer to every question: each is judged by itself."""
    wrongs = list(wrong_students(name))[student]
    result = graded(assignment(name), {w.question: w.code for w in wrongs}, tmp_path)
    given = {w.question: points(result, w.question) for w in wrongs}
    assert given == pytest.approx({w.question: w.keeps for w in wrongs}), dict(
        (w.story, messages(result, w.question)) for w in wrongs
    )
    for w in wrongs:
        feedback = "\n".join(messages(result, w.question))
        assert re.search(w.says, feedback), f"{w.question}, {w.story}: {feedback}"
