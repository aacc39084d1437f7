"""Notebooks of an assignment: the student's, the solution, and the one that otter reads."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from assignments.assignment import Assignment, Block
from assignments.source import Cell

__all__ = ["otter_notebook", "solution_notebook", "strip_solution", "student_notebook", "write"]

Notebook = dict[str, Any]
_BEGIN = re.compile(r"^(\s*)# BEGIN SOLUTION( NO PROMPT)?\s*$")
_ASSIGNED = re.compile(r"^(\s*[\w.,\s\[\]'\"]+?=)[^=].*# ?SOLUTION\s*$")
_LINE = re.compile(r"^(\s*).*# ?SOLUTION\s*$")
_MARK = re.compile(
    r"^\s*# (BEGIN|END) SOLUTION( NO PROMPT)?\s*$\n?|  # ?SOLUTION( NO PROMPT)?$", re.M
)
_OTTER_KEYS = ("name", "points", "manual")
QUESTION = "leml_question"  # in the metadata of a cell: the question that it answers
ANSWER_HERE = "_Type your answer here, replacing this text._"


def strip_solution(code: str) -> str:
    """Return a solution cell as the student gets it, `...` in the place of each answer."""
    kept: list[str] = []
    inside = False
    for line in code.splitlines():
        begin = _BEGIN.match(line)
        if begin:
            inside = True
            kept += [] if begin.group(2) else [f"{begin.group(1)}..."]
        elif line.strip() == "# END SOLUTION":
            inside = False
        elif not inside:
            kept += _stripped_line(line)
    return "\n".join(kept).strip("\n")


def _stripped_line(line: str) -> list[str]:
    if line.rstrip().endswith("# SOLUTION NO PROMPT"):
        return []
    assigned = _ASSIGNED.match(line)
    if assigned:
        return [f"{assigned.group(1)} ..."]
    alone = _LINE.match(line)
    return [f"{alone.group(1)}..."] if alone else [line]


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
    settings, code = cell.test_parts()
    if settings["hidden"]:
        return []
    worth = settings["points"]
    points = f" ({worth:g} point{'s' if worth != 1 else ''})" if worth else ""
    text = f'# Check: {settings["name"]}{points}\n{code}print("passed: {settings["name"]}")'
    return [_cell("code", text, ("check",))]


def student_notebook(assignment: Assignment) -> Notebook:
    """Return what students get: prompts for answers, visible tests, nothing else."""

    def prompt(block: Block, cell: Cell) -> list[dict[str, Any]]:
        if cell.kind == "code":
            stripped = strip_solution(cell.text)
            return [_cell("code", stripped, ("answer",))] if stripped else []
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
        return [_cell(cell.kind, _MARK.sub("", cell.text).strip("\n"), ("solution",))]

    return _assembled(assignment, "solution", shown)


def otter_notebook(assignment: Assignment, term: int) -> Notebook:
    """Return the notebook that `otter assign` reads, TERM written into every hidden test."""
    settings = {key: value for key, value in assignment.settings.items() if key != "course"}
    config = "\n".join(["# ASSIGNMENT CONFIG", *(_yaml(settings))])
    cells = [_cell("raw", config)]
    question, role = "", "text"
    for block in assignment.blocks:
        changed = block.question != question
        cells += _closing(role, changed and bool(question))
        cells += _opening(assignment, block, changed and bool(block.question))
        question, role = block.question, block.role
        cells += [_otter_cell(block, cell, term) for cell in block.cells]
    cells += _closing(role, bool(question))
    return _notebook(assignment, "otter", cells)


def _yaml(settings: dict[str, Any], indent: str = "") -> list[str]:
    lines: list[str] = []
    for key, value in settings.items():
        if isinstance(value, dict):
            lines += [f"{indent}{key}:", *_yaml(value, indent + "  ")]
        else:
            lines.append(f"{indent}{key}: {json.dumps(value)}")
    return lines


def _closing(role: str, ends_question: bool) -> list[dict[str, Any]]:
    block = [_cell("raw", f"# END {role.upper()}")] if role != "text" else []
    return block + ([_cell("raw", "# END QUESTION")] if ends_question else [])


def _opening(assignment: Assignment, block: Block, begins: bool) -> list[dict[str, Any]]:
    cells = []
    if begins:
        settings = assignment.questions[block.question]
        kept = {key: value for key, value in settings.items() if key in _OTTER_KEYS}
        cells.append(_cell("raw", "\n".join(["# BEGIN QUESTION", *_yaml(kept)])))
    return cells + ([_cell("raw", f"# BEGIN {block.role.upper()}")] if block.role != "text" else [])


def _otter_cell(block: Block, cell: Cell, term: int) -> dict[str, Any]:
    if block.role != "tests":
        return _cell(cell.kind, cell.text, cell.tags)
    settings, code = cell.test_parts()
    config = "\n".join(['""" # BEGIN TEST CONFIG', *_yaml(settings), '""" # END TEST CONFIG'])
    seed = f"TERM = {term}\n" if settings["hidden"] else ""
    return _cell("code", f"{config}\n{seed}{code.strip()}")


def write(path: Path, notebook: Notebook) -> None:
    """Write a notebook."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(notebook, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")
