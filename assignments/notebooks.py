"""Notebooks of an assignment: the student's, the solution, and the one that otter reads."""

import ast
import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from assignments.assignment import Assignment, Block
from assignments.source import MARK, Cell

Notebook = dict[str, Any]
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
    cells = [_raw("ASSIGNMENT CONFIG", name=assignment.name, init_cell=True, export_cell=False)]
    for name, blocks in itertools.groupby(assignment.blocks, lambda block: block.question):
        asked = assignment.questions.get(name, {})
        settings = {key: asked[key] for key in ("points", "manual") if key in asked}
        cells += [_raw("BEGIN QUESTION", name=name, **settings)] if name else []
        for block in blocks:
            inner = [_otter_cell(block, cell, term) for cell in block.cells]
            role = block.role.upper()
            marked = [_raw(f"BEGIN {role}"), *inner, _raw(f"END {role}")]
            cells += inner if block.role == "text" else marked
        cells += [_raw("END QUESTION")] if name else []
    return _notebook(assignment, "otter", cells)


def _raw(heading: str, **settings: Any) -> dict[str, Any]:
    return _cell("raw", "\n".join([f"# {heading}", *_yaml(settings)]))


def _yaml(settings: dict[str, Any]) -> list[str]:
    return [f"{key}: {json.dumps(value)}" for key, value in settings.items()]


def _otter_cell(block: Block, cell: Cell, term: int) -> dict[str, Any]:
    if block.role == "tests":
        name, points, hidden = (cell.test[key] for key in ("test", "points", "hidden"))
        config = "\n".join(_yaml({"name": name, "points": points, "hidden": hidden}))
        seed = f"TERM = {term}\n" if hidden else ""
        marked = f'""" # BEGIN TEST CONFIG\n{config}\n""" # END TEST CONFIG'
        return _cell("code", f"{marked}\n{seed}{cell.text}")
    if "demonstration" in cell.tags:
        return _cell("code", f"# BEGIN SOLUTION NO PROMPT\n{cell.text}\n# END SOLUTION")
    if block.role == "solution":
        return _cell(cell.kind, mark_answers(cell.text) if cell.kind == "code" else cell.text)
    return _cell(cell.kind, cell.text, cell.tags)


def write(path: Path, notebook: Notebook) -> None:
    """Write a notebook."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(notebook, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")
