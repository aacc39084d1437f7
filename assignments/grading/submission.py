"""Read the code cells of a notebook that was handed in; notebooks are JSON."""

import ast
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_LARGEST = 100 * 2**20  # bytes; figures make notebooks large, but not this large
_MOST = 10**6  # values in its JSON, and characters of code: in memory a small file can be gigabytes
_MAGIC = re.compile(r"^(\s*)(%|!|\?)(.*)$")
_TIMERS = ("%%time", "%%timeit", "%%capture", "%%prun")  # cell magics whose cell is still Python


class SubmissionError(ValueError):
    """A file that cannot be graded at all; the message says why."""


@dataclass(frozen=True)
class Submission:
    """The code of a notebook."""

    path: Path
    assignment: str  # which assignment the notebook says it belongs to; empty when it does not say
    # The code cells, magics removed; the "check" cells are left empty: the grader has its own.
    cells: tuple[str, ...]
    remarks: tuple[str, ...] = field(default=())  # what was left out


def read_submission(path: Path) -> Submission:
    """Read a notebook, or raise SubmissionError with the reason in one line."""
    notebook = _notebook(path)
    remarks: list[str] = []
    found = [cell for cell in notebook["cells"] if isinstance(cell, dict)]
    code = [cell for cell in found if cell.get("cell_type") == "code"]
    if sum(len(source_of(cell)) for cell in code) > _MOST:
        raise SubmissionError(f"the notebook has more than {_MOST:,} characters of code.")
    cells = [_clean(cell, number, remarks) for number, cell in enumerate(code, start=1)]
    if not any(cells):
        raise SubmissionError("the notebook has no code cells.")
    return Submission(path, _assignment(notebook), tuple(cells), tuple(remarks))


def _notebook(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _LARGEST:
            raise SubmissionError(f"the file has more than {_LARGEST >> 20} MB; clear its outputs.")
        content = path.read_bytes()
        if sum(map(content.count, (b"[", b"{", b","))) > _MOST:
            raise SubmissionError(f"the file holds more than {_MOST:,} values; clear its outputs.")
        notebook = json.loads(content)  # with a BOM or without
    except OSError as error:
        raise SubmissionError(f"the file cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        if isinstance(error, SubmissionError):
            raise
        raise SubmissionError(f"not a notebook: its JSON does not parse ({error}).") from error
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise SubmissionError("the file is not a notebook (version 4): it has no list of cells.")
    return notebook


def _assignment(notebook: dict[str, Any]) -> str:
    """Return the name that the builder, or otter, wrote into the notebook."""
    metadata = notebook.get("metadata")
    for key, entry in (("course", "assignment"), ("otter", "assignment_name")):
        part = metadata.get(key) if isinstance(metadata, dict) else None
        if isinstance(part, dict) and isinstance(part.get(entry), str):
            return str(part[entry])
    return ""


def source_of(cell: dict[str, Any]) -> str:
    """Return the text of a cell, written as one string or line by line."""
    source = cell.get("source", "")
    return "".join(map(str, source)) if isinstance(source, list) else str(source)


def _clean(cell: dict[str, Any], number: int, remarks: list[str]) -> str:
    """Return the Python of a cell; what only IPython reads is left out with a remark."""
    code, metadata = source_of(cell), cell.get("metadata")
    tags = metadata.get("tags") if isinstance(metadata, dict) else None
    checks = code.startswith("# Check: ") or "grader.check" in code
    if checks or (isinstance(tags, list) and "check" in tags):
        return ""
    if "otter.Notebook(" in code:
        return ""
    return code if _parses(code) else _without_magics(code, number, remarks)


def _parses(code: str) -> bool:
    try:
        ast.parse(code)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return False
    return True


def _without_magics(code: str, number: int, remarks: list[str]) -> str:
    lines = code.splitlines()
    first = lines[0].strip() if lines else ""
    if first.startswith("%%") and not first.startswith(_TIMERS):
        remarks.append(f"cell {number} was skipped: it begins with {first[:40]}.")
        return ""
    for i, line in enumerate(lines):
        magic = _MAGIC.match(line)
        if magic:
            remarks.append(f"cell {number}: the line {line.strip()[:60]!r} was skipped.")
            lines[i] = f"{magic.group(1)}pass"
    return "\n".join(lines) + "\n"
