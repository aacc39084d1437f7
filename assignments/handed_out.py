"""A notebook that came back beside the one that was handed out: what is it, what was written?

Tools lose the metadata of notebooks. Which assignment a notebook answers, and where the answers
that people mark stand in it, then follows from the cells that were handed out.
"""

import functools
import itertools
import json
from pathlib import Path
from typing import Any

from assignments.assignment import Assignment, read_assignment
from assignments.grading.submission import source_of
from assignments.notebooks import ANSWER_HERE, QUESTION, student_notebook
from assignments.source import find_sources

_LEAST = 3  # cells in common that identify an assignment


def _cells(path: Path) -> list[dict[str, Any]]:
    try:
        cells = json.loads(path.read_bytes())["cells"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return []
    return [cell for cell in cells if isinstance(cell, dict)] if isinstance(cells, list) else []


def _text(cell: dict[str, Any]) -> str:
    return source_of(cell).strip()


def _question(cell: dict[str, Any]) -> str:
    metadata = cell.get("metadata")
    return str(metadata.get(QUESTION, "")) if isinstance(metadata, dict) else ""


@functools.cache
def _handed_out(path: Path, term: int = 0) -> tuple[dict[str, Any], ...]:
    return tuple(student_notebook(read_assignment(path, term))["cells"])


def likely_assignment(notebook: Path, sources: list[Path] | None = None) -> str:
    """Return the assignment whose cells a notebook has most of; empty when it cannot be told."""
    found = {_text(cell) for cell in _cells(notebook)} - {"", ANSWER_HERE}
    shared = {
        path.stem: len(found & {_text(cell) for cell in _handed_out(path)})
        for path in (find_sources() if sources is None else sources)
    }
    best = sorted(shared, key=lambda name: shared[name], reverse=True)[:2]
    alone = len(best) == 1 or (len(best) == 2 and shared[best[0]] > shared[best[1]])
    return best[0] if alone and shared[best[0]] >= _LEAST else ""


def written_answers(notebook: Path, assignment: Assignment) -> dict[str, str]:
    """Return the answers to the questions that people mark, as Markdown; "" where there is none.

    An answer is what stands in the cell that was handed out for it, and in cells that the student
    has put between the question and the next cell that was handed out.
    """
    handed = _handed_out(assignment.path, assignment.term)
    prompts = {
        _text(before): _question(cell)
        for before, cell in itertools.pairwise(handed)
        if _question(cell)
    }
    known = {_text(cell) for cell in handed} - set(prompts)
    pieces: dict[str, list[str]] = {name: [] for name in assignment.manual}
    current = ""
    for cell in _cells(notebook):
        text, said = _text(cell), _question(cell)
        begun = next((p for p in prompts if text.startswith(p)), "")
        if begun:
            current, text = prompts[begun], text[len(begun) :].strip()
        elif said in pieces:
            current = said
        elif text in known:
            current = current if text == ANSWER_HERE else ""
        if current and text and text not in known:
            code = cell.get("cell_type") == "code"
            pieces[current].append(f"```python\n{text}\n```" if code else text)
    return {name: "\n\n".join(found) for name, found in pieces.items()}
