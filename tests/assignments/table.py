"""The table of questions in the README of the course: ``python -m tests.assignments.table``."""

from __future__ import annotations

from assignments.assignment import Assignment, read_assignment
from assignments.grading.specification import Question
from assignments.source import find_sources

_HEAD = ["| | points | visible / hidden | minutes | what it tests |", "|---|---|---|---|---|"]


def question_table() -> str:
    """Return the questions of all assignments with points, time and goal, as Markdown."""
    read = [read_assignment(path) for path in find_sources()]
    return "\n".join([*_HEAD, *(row for assignment in read for row in _rows(assignment))])


def _rows(assignment: Assignment) -> list[str]:
    specification = assignment.specification()
    graded = {question.name: question for question in specification.questions}
    minutes = sum(settings.get("minutes", 0) for settings in assignment.questions.values())
    whole = specification.points + sum(assignment.manual.values())
    rows = [f"| **{assignment.title}** | **{whole:g}** | | **{minutes}** | |"]
    for name, settings in assignment.questions.items():
        letter = assignment.name.partition("_")[0]
        worth = f"{settings['points']:g} " if settings.get("points") else ""
        points = _points(graded[name]) if name in graded else f"{worth}| by hand"
        goal = str(settings.get("goal", "an open question")).replace("|", "\\|")
        rows.append(f"| {letter} {name} | {points} | {settings.get('minutes') or ''} | {goal} |")
    return rows


def _points(question: Question) -> str:
    visible = sum(test.points for test in question.tests if not test.hidden)
    return f"{question.points:g} | {visible:g} / {question.points - visible:g}"


if __name__ == "__main__":
    print(question_table())
