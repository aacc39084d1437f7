"""Which files were handed in, and to which assignment each belongs."""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from assignments.grading.submission import SubmissionError, read_submission


@dataclass(frozen=True)
class Handed:
    """One file that was handed in."""

    name: str  # where it lies in the folder; the row in the table of marks
    path: Path
    assignment: str  # empty when it cannot be told
    problem: str = ""  # why it cannot be graded at all; empty when it can


def collect(
    places: list[Path],
    assignments: list[str],
    chosen: str = "",
    *,
    apart: tuple[Path, ...] = (),
    guess: Callable[[Path], str] = lambda _: "",
    names: Mapping[str, str] = MappingProxyType({}),
) -> list[Handed]:
    """Return what lies in folders and files, sorted by name; nothing in them is left out.

    All files belong to the assignment `chosen`, if one is; else to the one that they say, or that
    `guess` finds. What lies `apart`, the grader's own files and folders, is left out. `names` are
    those under which files were graded before: one of them alone keeps its name.
    """
    missing = [place for place in places if not place.exists()]
    if missing:
        raise ValueError(f"{missing[0]} is neither a file nor a folder.")
    # Links are not followed: one that leads out of the folder would have no name in it.
    found = {path.absolute() for place in places for path in _files(place)}
    own = {path.absolute() for path in apart}
    paths = sorted(path for path in found if own.isdisjoint((path, *path.parents)))
    if not paths:
        raise ValueError(f"no files in {', '.join(map(str, places))}.")
    roots = [place.absolute() if place.is_dir() else place.absolute().parent for place in places]
    root = Path(os.path.commonpath(roots))
    called = {path: names.get(str(path), path.relative_to(root).as_posix()) for path in paths}
    return [_handed(path, called[path], assignments, chosen, guess) for path in paths]


def _files(place: Path) -> Iterator[Path]:
    """Yield the files to grade; beside a notebook in a student's own folder, only notebooks."""
    if place.is_file():
        yield place
        return
    for folder, folders, names in os.walk(place):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__")))
        seen = [name for name in names if not name.startswith(".")]
        notebooks = [name for name in seen if name.endswith(".ipynb")]
        alone = Path(folder) != place and notebooks
        yield from (Path(folder) / name for name in (notebooks if alone else seen))


def _handed(
    path: Path, name: str, assignments: list[str], chosen: str, guess: Callable[[Path], str]
) -> Handed:
    if path.suffix != ".ipynb":
        return Handed(name, path, "", "not a notebook: a file that ends in .ipynb is needed.")
    if path.is_symlink() or not path.is_file():
        return Handed(name, path, chosen, "not a file but a link or a device.")
    try:
        said = read_submission(path).assignment
    except SubmissionError as problem:
        return Handed(name, path, chosen, str(problem))
    belongs = chosen or _belonging(said, name, assignments) or guess(path)
    unknown = "" if belongs else "its assignment is not recognised; name it with --assignment."
    return Handed(name, path, belongs, unknown)


def _belonging(said: str, name: str, assignments: list[str]) -> str:
    """Return the assignment that the notebook says, or else that its name contains."""
    if said in assignments:
        return said
    return next((assignment for assignment in assignments if assignment in name), "")
