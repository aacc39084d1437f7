"""Read an assignment: a Markdown file, whose fences say what each block of code is for."""

import json
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).resolve().parent / "sources"
MARK = re.compile(r"^ *# (BEGIN|END) SOLUTION\n", re.M)  # otter's, around part of a function
_VALUE = r"\"[^\"]*\"|\[[^\]]*\]|\S+"
_OPTION = re.compile(rf" (\w+)=({_VALUE})")
_CELL = re.compile(  # a block between fences, or text up to the next block or comment
    r"(```python|```toml|\+\+\+)(.*)\n((?:(?!```|\+\+\+).*\n)*)(?:```|\+\+\+) *\n"
    r"|(?:<!-- cell(.*) --> *\n)?((?:(?!```python|```toml|\+\+\+|<!-- cell).*\n)*)"
)
_KINDS = {"```python": "code", "```toml": "raw", "+++": "raw", None: "markdown"}
_VARIANT = re.compile(r"\s*(?:[#%] variant|<!--) (\d) of (\d)(?: -->)?$")
_TAGS = {"setup", "solution", "demonstration"}
_OF_A_TEST = {"test", "points", "hidden"}


class SourceError(ValueError):
    """A source that cannot be built; the message begins with file and line."""


@dataclass(frozen=True)
class Cell:
    """One cell of a source."""

    kind: str  # "code", "markdown" or "raw" (settings)
    text: str  # the content, without the fences around it
    # "setup" (what tests may use), "solution" (students get prompts in its place) or
    # "demonstration" (of a solution; students get nothing).
    tags: tuple[str, ...]
    path: Path
    line: int  # where the cell begins
    # Of a test: its name ("test"), "points" and whether it is "hidden"; else empty.
    test: dict[str, Any] = field(default_factory=dict)

    def fault(self, message: str) -> SourceError:
        """Return an error that names this cell."""
        return SourceError(f"{self.path}:{self.line}: {message}")

    @property
    def role(self) -> str:
        """What the cell is for: "text" (shown to everybody), "solution" or "tests"."""
        if self.test:
            return "tests"
        return "solution" if {"solution", "demonstration"} & set(self.tags) else "text"

    def settings(self) -> dict[str, Any]:
        """Return the settings of a raw cell, which is TOML."""
        try:
            return tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            raise self.fault(f"cannot read the settings: {error}.") from error


def find_sources(names: list[str] | None = None, folder: Path = SOURCES) -> list[Path]:
    """Return the sources, or those whose names begin with one of `names`."""
    paths = sorted(folder.glob("*.md"))
    for name in names or []:
        if not any(path.stem.startswith(name) for path in paths):
            known = ", ".join(path.stem for path in paths) or "none"
            raise ValueError(f"no assignment begins with {name!r}; there are: {known}.")
    return [path for path in paths if not names or path.stem.startswith(tuple(names))]


def read_cells(path: Path, term: int = 0) -> list[Cell]:
    """Return the cells of a source, with the variants of the questions that a term has."""
    numbered = lines_of_term(path.read_text(encoding="utf-8"), term)
    text = "".join(f"{line}\n" for _, line in numbered)
    cells, end = [], 0
    while rest := text[end:].lstrip("\n"):
        start = len(text) - len(rest)
        found, number = _CELL.match(text, start), numbered[text.count("\n", 0, start)][0]
        if not found or not found[0]:
            raise SourceError(f"{path}:{number}: not closed: {rest.splitlines()[0]!r}.")
        options, content = (found[2], found[3]) if found[1] else (found[4], found[5])
        cells.append(_cell(path, number, _KINDS[found[1]], options or "", content.strip("\n")))
        end = found.end()
    return cells or [Cell("markdown", "", (), path, 1)]


def lines_of_term(text: str, term: int) -> list[tuple[int, str]]:
    """Return the lines that a term has, each with its number.

    A line that ends in `# variant 1 of 2` or, in text, in `<!-- 1 of 2 -->` is one of some terms;
    within a formula `% variant 1 of 2` does the same.
    """
    kept: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        found = _VARIANT.search(line)
        if found is None:
            kept.append((number, line))
        elif (term - int(found.group(1)) + 1) % int(found.group(2)) == 0:
            kept.append((number, line[: found.start()]))
    return kept


def _cell(path: Path, number: int, kind: str, given: str, text: str) -> Cell:
    try:
        if rest := _OPTION.sub("", given).strip():
            raise ValueError(rest)
        options = {key: json.loads(value) for key, value in _OPTION.findall(given)}
    except ValueError as error:
        raise SourceError(f"{path}:{number}: cannot read the options {given!r}.") from error
    tags = tuple(options.pop("tags", ()))
    cell = Cell(kind, text, tags, path, number, options)
    if not set(tags) <= _TAGS or (options and (options.keys() != _OF_A_TEST or kind != "code")):
        known = f"tags of {', '.join(sorted(_TAGS))}; a test has {', '.join(sorted(_OF_A_TEST))}"
        raise cell.fault(f"a cell may have {known}; got {given.strip()!r}.")
    return cell
