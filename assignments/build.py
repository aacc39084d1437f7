"""Build the course: ``python -m assignments.build``.

Of each source: a notebook for students, the executed solution, otter's files, and an autograder
that needs pytest only.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from assignments.assignment import Assignment, read_assignment
from assignments.autograder import write_autograder
from assignments.notebooks import solution_notebook, student_notebook, write
from assignments.source import find_sources
from command_line import run_command

__all__ = ["BuildError", "build", "main"]

_NEEDED = ("nbclient", "ipykernel", "otter")
_ADVICE = "install the course extra: pip install -e '.[course]'"


class BuildError(RuntimeError):
    """A build that cannot go on; the message says what to do."""


def build(
    path: Path, out: Path, *, term: int = 0, check: bool = False
) -> Iterator[tuple[str, float]]:
    """Build one assignment; yields the name of each part and its seconds when it is there.

    Parameters
    ----------
    path : Path
        The source.
    out : Path
        The folder that gets a folder named like the assignment; what was there is replaced.
    term : int
        Seeds the hidden tests.
    check : bool
        Whether otter grades the solution, which must have full marks.
    """
    from assignments.execution import execute
    from assignments.otter_files import write_otter_files

    assignment = read_assignment(path, term)
    folder = out / assignment.name
    shutil.rmtree(folder, ignore_errors=True)
    name = f"{assignment.name}.ipynb"
    steps: dict[str, Callable[[Assignment], None]] = {
        "student": lambda a: write(folder / "student" / name, student_notebook(a)),
        "autograder": lambda a: write_autograder(folder / "autograder", a.specification(term)),
        "solution": lambda a: write(folder / "solution" / name, execute(solution_notebook(a))),
        "otter": lambda a: write_otter_files(folder / "otter", a, term, check=check),
    }
    for part, step in steps.items():
        start = time.monotonic()
        step(assignment)
        yield part, time.monotonic() - start


def _require_extras() -> None:
    """Raise unless the packages that build the course are there."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise BuildError(f"{', '.join(missing)} not found; {_ADVICE}")


def _parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    parser = argparse.ArgumentParser("python -m assignments.build", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/course"), help="(%(default)s)")
    parser.add_argument("--term", type=int, default=0, help="seeds the hidden tests, such as 2027")
    parser.add_argument("--only", action="append", metavar="NAME", help="a or a_promise; repeat")
    parser.add_argument("--check", action="store_true", help="let otter grade the solution")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Build what the command line asks for; return the exit status."""
    options = _parser().parse_args(arguments)
    return run_command("build", lambda: _build_all(options), unusable=(RuntimeError,))


def _build_all(options: argparse.Namespace) -> None:
    """Build the assignments asked for, and print a line for each part."""
    _require_extras()
    for path in find_sources(options.only):
        for part, seconds in build(path, options.out, term=options.term, check=options.check):
            place = options.out / path.stem / part
            print(f"{path.stem:14s} {part:10s} {seconds:6.1f} s  {place}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
