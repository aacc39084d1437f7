"""Read an assignment: a percent script in otter-assign's format, checked with file and line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = [
    "SOURCES",
    "Cell",
    "SourceError",
    "find_sources",
    "lines_of_term",
    "read_cells",
    "read_settings",
]

SOURCES = Path(__file__).resolve().parent / "sources"
_MARKER = re.compile(r"^# %%(?: \[(raw|markdown)\])?(?: tags=\[([^\]]*)\])?\s*$")
_VARIANT = re.compile(r"\s*(?:# variant|<!--) (\d) of (\d)(?: -->)?$")
_CONFIG = re.compile(r'^""" *# BEGIN TEST CONFIG\n(.*?)^""" *# END TEST CONFIG *\n', re.M | re.S)


class SourceError(ValueError):
    """A source that cannot be built; the message begins with file and line."""


@dataclass(frozen=True)
class Cell:
    """One cell of a source.

    Attributes
    ----------
    kind : str
        "code", "markdown" or "raw".
    text : str
        The content, without the comment signs of a percent script.
    tags : tuple of str
    path : Path
    line : int
        Where the cell begins.
    """

    kind: str
    text: str
    tags: tuple[str, ...]
    path: Path
    line: int

    def fault(self, message: str) -> SourceError:
        """Return an error that names this cell."""
        return SourceError(f"{self.path}:{self.line}: {message}")

    @property
    def heading(self) -> str:
        """The first line of a raw cell, such as "BEGIN QUESTION"; empty for other cells."""
        first = self.text.partition("\n")[0]
        return first.lstrip("# ").strip().upper() if self.kind == "raw" else ""

    def test_parts(self) -> tuple[dict[str, Any], str]:
        """Return the settings and the code of a test cell."""
        found = _CONFIG.match(self.text + "\n")
        if found is None:
            raise self.fault('a test cell must begin with """ # BEGIN TEST CONFIG.')
        return read_settings(self, found.group(1)), (self.text + "\n")[found.end() :].strip() + "\n"


def find_sources(names: list[str] | None = None, folder: Path = SOURCES) -> list[Path]:
    """Return the sources, or those whose names begin with one of `names`."""
    paths = sorted(folder.glob("*.py"))
    for name in names or []:
        if not any(path.stem.startswith(name) for path in paths):
            known = ", ".join(path.stem for path in paths) or "none"
            raise ValueError(f"no assignment begins with {name!r}; there are: {known}.")
    return [path for path in paths if not names or path.stem.startswith(tuple(names))]


def read_cells(path: Path, term: int = 0) -> list[Cell]:
    """Return the cells of a percent script, with the variants of the questions that a term has."""
    numbered = lines_of_term(path.read_text(encoding="utf-8"), term)
    lines = [line for _, line in numbered]
    starts = [number for number, line in enumerate(lines) if line.startswith("# %%")]
    if not starts:
        raise SourceError(f"{path}:1: no cell begins with '# %%'.")
    for number, line in enumerate(lines[: starts[0]], start=1):
        if line.strip() and not line.startswith("#"):
            raise SourceError(f"{path}:{number}: code before the first cell.")
    ends = [*starts[1:], len(lines)]
    spans = zip(starts, ends, strict=True)
    return [_cell(path, lines[start:end], numbered[start][0]) for start, end in spans]


def lines_of_term(text: str, term: int) -> list[tuple[int, str]]:
    """Return the lines that a term has, each with its number.

    A line that ends in `# variant 1 of 2` or, in text, in `<!-- 1 of 2 -->` is one of some terms.
    """
    kept: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        found = _VARIANT.search(line)
        if found is None:
            kept.append((number, line))
        elif (term - int(found.group(1)) + 1) % int(found.group(2)) == 0:
            kept.append((number, line[: found.start()]))
    return kept


def _cell(path: Path, lines: list[str], number: int) -> Cell:
    marker = _MARKER.match(lines[0])
    if marker is None:
        raise SourceError(f"{path}:{number}: cannot read the cell marker {lines[0]!r}.")
    kind = marker.group(1) or "code"
    tags = tuple(re.findall(r'"([^"]+)"', marker.group(2) or ""))
    text = "\n".join(lines[1:]).strip("\n")
    if kind != "code":
        text = re.sub(r"^# ?", "", text, flags=re.M)
    return Cell(kind, text, tags, path, number)


def read_settings(cell: Cell, text: str) -> dict[str, Any]:
    """Return the `key: value` lines of a configuration; indented ones form a nested dictionary.

    The part of YAML that sources use, so that grading needs no YAML library.
    """
    settings: dict[str, Any] = {}
    inner: dict[str, Any] = settings
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = re.match(r"^( *)(\w+): ?(.*)$", line)
        if found is None:
            raise cell.fault(f"cannot read the setting {line!r}: 'key: value' is needed.")
        indent, key, value = found.groups()
        target = inner if indent else settings
        if value.strip():
            target[key] = _scalar(value.strip())
        else:
            inner = target[key] = {}
    return settings


def _scalar(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text.strip("\"'")
