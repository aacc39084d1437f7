"""Build the course: `python -m assignments.build`.

Makes two folders that are handed to different people. `students/` has a zip for each assignment:
notebook, wheel, how to install. `instructor/` is private: executed solutions, autograders, zips
for Gradescope and otter, and `instructor.zip`, from which the course can be graded and built
without the project.
"""

import argparse
import importlib.util
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from assignments.assignment import Assignment, read_assignment
from assignments.bundles import (
    BundleError,
    bring_requirements,
    make_wheel,
    write_autograder,
    zip_folder,
)
from assignments.notebooks import solution_notebook, student_notebook, write
from assignments.source import find_sources
from command_line import run_command

_NEEDED = {"solution": ("nbclient", "ipykernel"), "otter": ("otter", "ipykernel")}
_ADVICE = "install the course extra: pip install -e '.[course]'"


@dataclass(frozen=True)
class Builder:
    """Builds the parts of assignments into one folder."""

    out: Path  # gets the folders `students` and `instructor`; what is built replaces what was there
    wheel: Path  # of the project's packages
    term: int = 0  # seeds the hidden tests
    check: bool = False  # whether otter grades the solution, which must have full marks

    def parts(self) -> dict[str, Callable[[Assignment], Path]]:
        """Return what can be built of an assignment; each step returns what it has made."""
        return {
            "students": self._students,
            "solution": self._solution,
            "gradescope": self._gradescope,
            "otter": self._otter,
        }

    def build(self, path: Path, chosen: tuple[str, ...] = ()) -> Iterator[tuple[str, Path, float]]:
        """Build one source; yields each part, where it is and its seconds when it is there."""
        assignment = read_assignment(path, self.term, self.wheel.name)
        for part, step in self.parts().items():
            if not chosen or part in chosen:
                start = time.monotonic()
                made = step(assignment)
                yield part, made, time.monotonic() - start

    def _private(self, assignment: Assignment) -> Path:
        return self.out / "instructor" / assignment.name

    def _students(self, assignment: Assignment) -> Path:
        name = assignment.name
        folder = _emptied(self.out / "students" / name)
        bring_requirements(folder, self.wheel, ["jupyterlab"])
        for file in ("setup.sh", "requirements.tar"):
            (folder / file).unlink()
        write(folder / f"{name}.ipynb", student_notebook(assignment))
        template = (Path(__file__).parent / "delivery" / "students.md").read_text(encoding="utf-8")
        text = template.format(title=assignment.title, name=name)
        (folder / "README.md").write_text(text, encoding="utf-8")
        zip_folder(folder, folder.with_name(f"{name}.zip"))
        return folder.with_name(f"{name}.zip")

    def _solution(self, assignment: Assignment) -> Path:
        from assignments.execution import execute

        path = self._private(assignment) / "solution" / f"{assignment.name}.ipynb"
        write(path, execute(solution_notebook(assignment)))
        return path

    def _gradescope(self, assignment: Assignment) -> Path:
        folder = _emptied(self._private(assignment) / "autograder")
        write_autograder(folder, assignment.specification(self.term), self.wheel)
        archive = folder.with_name(f"{assignment.name}-gradescope.zip")
        zip_folder(folder, archive)
        return archive

    def _otter(self, assignment: Assignment) -> Path:
        from assignments.otter_files import write_otter_files

        archive = self._private(assignment) / f"{assignment.name}-otter.zip"
        student = self.out / "students" / "otter" / f"{assignment.name}.ipynb"
        write_otter_files(student, archive, assignment, self.term, self.wheel, check=self.check)
        return archive

    def bundle(self) -> Path:
        """Write the instructor's own bundle: this folder with its sources, and the wheel."""
        target = self.out / "instructor" / "instructor.zip"
        with tempfile.TemporaryDirectory() as temporary:
            copy = Path(temporary) / "course"
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(Path(__file__).parent, copy / "assignments", ignore=ignored)
            bring_requirements(copy, self.wheel, ["otter-grader", "ipykernel", "nbclient"])
            zip_folder(copy, target)
        return target


def _emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _require_extras(chosen: tuple[str, ...]) -> None:
    needed = {name for part in chosen or _NEEDED for name in _NEEDED.get(part, ())}
    missing = sorted(name for name in needed if importlib.util.find_spec(name) is None)
    if missing:
        raise BundleError(f"{', '.join(missing)} not found; {_ADVICE}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m assignments.build", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/course"), help="(%(default)s)")
    parser.add_argument("--term", type=int, default=0, help="seeds the hidden tests, such as 2027")
    parser.add_argument("--only", action="append", metavar="NAME", help="such as a; repeatable")
    parser.add_argument("--students", action="store_true", help="only the zips for students")
    parser.add_argument("--gradescope", action="store_true", help="only the zips for Gradescope")
    parser.add_argument("--otter", action="store_true", help="only otter's zips and notebooks")
    parser.add_argument("--check", action="store_true", help="let otter grade the solution")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Build what the command line asks for; return the exit status."""
    options = _parser().parse_args(arguments)
    return run_command("build", lambda: _build_all(options), unusable=(RuntimeError,))


def _build_all(options: argparse.Namespace) -> None:
    chosen = tuple(part for part in ("students", "gradescope", "otter") if vars(options)[part])
    paths = find_sources(options.only)
    _require_extras(chosen)
    if not chosen:
        print("Building takes about a minute per assignment: its solution is run.", flush=True)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        wheel = make_wheel(Path(folder))
        _say("wheel", wheel.name, time.monotonic() - begun)
        builder = Builder(options.out, wheel, options.term, options.check)
        for path in paths:
            for part, made, seconds in builder.build(path, chosen):
                _say(f"{path.stem} {part}", str(made), seconds)
        if not chosen:
            _say("instructor", str(builder.bundle()), 0.0)
    print(f"{time.monotonic() - begun:.0f} s in all. Keep {options.out / 'instructor'} private.")


def _say(part: str, made: str, seconds: float) -> None:
    print(f"{part:26s} {seconds:6.1f} s  {made}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
