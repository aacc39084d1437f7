"""Notebooks of an assignment: the student's, the solution, and the one that otter reads."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from assignments.assignment import Assignment, Block
from assignments.source import MARK, Cell

__all__ = ["otter_notebook", "solution_notebook", "strip_solution", "student_notebook", "write"]

Notebook = dict[str, Any]
_OTTER_SETTINGS = ("init_cell: true", "export_cell: false")
_OTTER_KEYS = ("points", "manual")
QUESTION = "leml_question"  # in the metadata of a cell: the question that it answers
ANSWER_HERE = "_Type your answer here, replacing this text._"


def mark_answers(code: str) -> str:
    """Return a solution cell with otter's marks around each answer.

    Answers are what functions do after their docstrings, and the values of assignments. A cell that
    has marks keeps them: what is outside of them is given to students.
    """
    if MARK.search(code):
        return code
    lines = code.splitlines()
    for node in reversed(ast.parse(code).body):
        if isinstance(node, ast.FunctionDef):
            indent = " " * node.body[0].col_offset
            lines.insert(node.end_lineno or 0, f"{indent}# END SOLUTION")
            lines.insert(node.body[0].end_lineno or 0, f"{indent}# BEGIN SOLUTION")
        elif isinstance(node, ast.Assign):
            lines[node.lineno - 1] += "  # SOLUTION"
    return "\n".join(lines)


def strip_solution(code: str) -> str:
    """Return a solution cell as the student gets it, `...` in the place of each answer."""
    marked = re.sub(
        r"^( *)# BEGIN SOLUTION\n.*?# END SOLUTION$",
        r"\1...",
        mark_answers(code),
        flags=re.M | re.S,
    )
    return re.sub(r"^([^=\n]*=).*  # SOLUTION$", r"\1 ...", marked, flags=re.M)


def _cell(kind: str, text: str, tags: tuple[str, ...] = ()) -> dict[str, Any]:
    metadata: dict[str, Any] = {"tags": list(tags)} if tags else {}
    cell: dict[str, Any] = {"cell_type": kind, "metadata": metadata, "source": text}
    return cell | ({"outputs": [], "execution_count": None} if kind == "code" else {})


def _notebook(assignment: Assignment, role: str, cells: list[dict[str, Any]]) -> Notebook:
    """Return a notebook; cells are numbered, so that the same source gives the same bytes."""
    numbered = [{"id": f"{role}-{i:03d}", **cell} for i, cell in enumerate(cells, start=1)]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    course = {"assignment": assignment.name, "title": assignment.title}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}, "course": course}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": numbered}


def _assembled(
    assignment: Assignment, role: str, solution: Callable[[Block, Cell], list[dict[str, Any]]]
) -> Notebook:
    """Return the notebook of all cells, those of solutions as `solution` gives them."""
    cells: list[dict[str, Any]] = []
    for block in assignment.blocks:
        for cell in block.cells:
            if block.role == "solution":
                cells += solution(block, cell)
            elif block.role == "tests":
                cells += _check(cell)
            else:
                cells.append(_cell(cell.kind, cell.text, cell.tags))
    return _notebook(assignment, role, cells)


def _check(cell: Cell) -> list[dict[str, Any]]:
    """Return a visible test as an ordinary cell; nothing for a hidden one."""
    name, worth = cell.test["test"], cell.test["points"]
    if cell.test["hidden"]:
        return []
    points = f" ({worth:g} point{'s' if worth != 1 else ''})" if worth else ""
    text = f'# Check: {name}{points}\n{cell.text}\nprint("passed: {name}")'
    return [_cell("code", text, ("check",))]


def student_notebook(assignment: Assignment) -> Notebook:
    """Return what students get: prompts for answers, visible tests, nothing else."""

    def prompt(block: Block, cell: Cell) -> list[dict[str, Any]]:
        if cell.kind == "code":
            shown = "demonstration" not in cell.tags
            return [_cell("code", strip_solution(cell.text), ("answer",))] if shown else []
        manual = assignment.questions[block.question].get("manual")
        first = next(entry for entry in block.cells if entry.kind == "markdown")
        if not manual or cell is not first:
            return []
        empty = _cell("markdown", ANSWER_HERE, ("answer",))
        empty["metadata"][QUESTION] = block.question
        return [empty]

    return _assembled(assignment, "student", prompt)


def solution_notebook(assignment: Assignment) -> Notebook:
    """Return the solution, to be executed; hidden tests stay with the autograder."""

    def shown(_: Block, cell: Cell) -> list[dict[str, Any]]:
        return [_cell(cell.kind, MARK.sub("", cell.text), ("solution",))]

    return _assembled(assignment, "solution", shown)


def otter_notebook(assignment: Assignment, term: int) -> Notebook:
    """Return the notebook that `otter assign` reads, TERM written into every hidden test."""
    name = f"name: {json.dumps(assignment.name)}"
    cells = [_cell("raw", "\n".join(["# ASSIGNMENT CONFIG", name, *_OTTER_SETTINGS]))]
    question, role = "", "text"
    for block in assignment.blocks:
        changed = block.question != question
        cells += _closing(role, changed and bool(question))
        cells += _opening(assignment, block, changed and bool(block.question))
        question, role = block.question, block.role
        cells += [_otter_cell(block, cell, term) for cell in block.cells]
    cells += _closing(role, bool(question))
    return _notebook(assignment, "otter", cells)


def _closing(role: str, ends_question: bool) -> list[dict[str, Any]]:
    block = [_cell("raw", f"# END {role.upper()}")] if role != "text" else []
    return block + ([_cell("raw", "# END QUESTION")] if ends_question else [])


def _opening(assignment: Assignment, block: Block, begins: bool) -> list[dict[str, Any]]:
    cells = []
    if begins:
        settings = assignment.questions[block.question]
        lines = [f"{key}: {json.dumps(settings[key])}" for key in _OTTER_KEYS if key in settings]
        name = f"name: {json.dumps(block.question)}"
        cells.append(_cell("raw", "\n".join(["# BEGIN QUESTION", name, *lines])))
    return cells + ([_cell("raw", f"# BEGIN {block.role.upper()}")] if block.role != "text" else [])


def _otter_cell(block: Block, cell: Cell, term: int) -> dict[str, Any]:
    if block.role == "tests":
        seed = f"TERM = {term}\n" if cell.test["hidden"] else ""
        return _cell("code", f"{_test_config(cell)}\n{seed}{cell.text}")
    if "demonstration" in cell.tags:
        return _cell("code", f"# BEGIN SOLUTION NO PROMPT\n{cell.text}\n# END SOLUTION")
    if block.role == "solution":
        return _cell(cell.kind, mark_answers(cell.text) if cell.kind == "code" else cell.text)
    return _cell(cell.kind, cell.text, cell.tags)


def _test_config(cell: Cell) -> str:
    settings = {"name": cell.test["test"], **cell.test}
    lines = [f"{key}: {json.dumps(settings[key])}" for key in ("name", "points", "hidden")]
    return "\n".join(['""" # BEGIN TEST CONFIG', *lines, '""" # END TEST CONFIG'])


def write(path: Path, notebook: Notebook) -> None:
    """Write a notebook."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(notebook, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")
