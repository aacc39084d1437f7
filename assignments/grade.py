"""Grade notebooks: ``python -m assignments.grade FOLDER_OR_FILE ...``.

Writes a CSV of marks and, for each submission, a JSON file of feedback. What is graded stays
graded: after an interruption the same command goes on with the rest.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assignments.assignment import read_assignment
from assignments.collection import Handed, collect
from assignments.grading.results import write_json
from assignments.grading.specification import Specification
from assignments.marks import Mark, failed_mark, load_mark, mark_of, write_marks
from assignments.source import find_sources
from command_line import run_command, whole_number

__all__ = ["Task", "grade_all", "main"]

_STARTING = 60.0  # seconds for the packages to load on a busy machine


@dataclass(frozen=True)
class Task:
    """How a run of the grader is set.

    Attributes
    ----------
    specifications : dict of str to Specification
    marks : Path
        The CSV file.
    limit : float
        Seconds of one cell or call.
    jobs : int
    """

    specifications: dict[str, Specification]
    marks: Path
    limit: float = 30.0
    jobs: int = 1

    @property
    def feedback(self) -> Path:
        """The folder of the JSON files."""
        return self.marks.with_name(self.marks.stem + "-feedback")


def grade_all(task: Task, handed: list[Handed]) -> list[Mark]:
    """Grade every submission; the marks are written after each, so that none is lost.

    Returns
    -------
    list of Mark
        In the order of `handed`.
    """
    tests, limit = task.specifications, task.limit
    known = {entry: load_mark(task.feedback, entry, tests, limit) for entry in handed}
    marks = {entry: mark for entry, mark in known.items() if mark is not None}
    waiting = [entry for entry in handed if entry not in marks]
    with tempfile.TemporaryDirectory() as folder, _bar(len(handed), len(marks)) as bar:
        for name, specification in task.specifications.items():
            specification.save(Path(folder) / f"{name}.json")
        pool = ThreadPoolExecutor(task.jobs)
        futures = {pool.submit(_grade_one, task, Path(folder), e): e for e in waiting}
        try:
            for future in as_completed(futures):
                marks[futures[future]] = _finished(future, futures[future])
                with contextlib.suppress(OSError):  # a disk that is full for a moment
                    write_marks(task.marks, [marks[e] for e in handed if e in marks])
                bar.update(1)
        finally:
            pool.shutdown(cancel_futures=True)
    ordered = [marks[entry] for entry in handed]
    write_marks(task.marks, ordered)
    return ordered


def _finished(future: Future[Mark], entry: Handed) -> Mark:
    """Return a mark, whatever became of the grading."""
    try:
        return future.result()
    except Exception as error:  # one bad submission never stops the rest
        return failed_mark(entry, f"the grader failed: {type(error).__name__}: {error}")


def _grade_one(task: Task, folder: Path, entry: Handed) -> Mark:
    """Grade one submission in a process of its own and keep the feedback."""
    if entry.problem:
        return failed_mark(entry, entry.problem)
    with tempfile.TemporaryDirectory() as temporary:
        written = Path(temporary) / "feedback.json"
        command = [sys.executable, "-m", "assignments.grading"]
        command += [str(folder / f"{entry.assignment}.json"), str(entry.path)]
        command += ["--feedback", str(written), "--limit", str(task.limit)]
        trouble = _run(command, 20 * task.limit + _STARTING)
        if trouble:
            return failed_mark(entry, trouble)
        mark = mark_of(entry, written, task.specifications[entry.assignment], task.limit)
    path = task.feedback / f"{entry.name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, mark.feedback)
    return mark


def _run(command: list[str], seconds: float) -> str:
    """Run the grader; return what went wrong with it, empty when nothing did."""
    root = Path(__file__).resolve().parents[1]
    try:
        done = subprocess.run(
            command, cwd=root, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return f"a test ran longer than {seconds:g} s with this answer."
    return f"the grader failed: {done.stderr.strip()[-300:]}" if done.returncode else ""


def _bar(total: int, done: int) -> contextlib.AbstractContextManager[Any]:
    """Return a bar that shows how many submissions are graded."""
    from tqdm import tqdm

    bar = tqdm(total=total, initial=done, unit="submission", file=sys.stderr, mininterval=0.5)
    return contextlib.closing(bar)


def _parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    parser = argparse.ArgumentParser("python -m assignments.grade", description=__doc__)
    parser.add_argument("submissions", nargs="+", type=Path, metavar="FOLDER_OR_FILE")
    parser.add_argument("--assignment", help="when the notebooks do not say it: a or a_promise")
    parser.add_argument("--out", type=Path, default=Path("marks.csv"), help="(%(default)s)")
    parser.add_argument("--term", type=int, default=0, help="as given to the builder")
    parser.add_argument("--limit", type=float, default=30.0, help="seconds per cell or call")
    parser.add_argument("--jobs", type=whole_number(), default=1, help="submissions graded at once")
    return parser


def _specifications(term: int) -> dict[str, Specification]:
    """Return the tests of every assignment by its name."""
    read = [read_assignment(path) for path in find_sources()]
    return {assignment.name: assignment.specification(term) for assignment in read}


def main(arguments: list[str] | None = None) -> int:
    """Grade what the command line names; return the exit status."""
    options = _parser().parse_args(arguments)
    return run_command("grade", lambda: _grade(options))


def _grade(options: argparse.Namespace) -> None:
    """Grade what the command line names, and print the marks if they are few."""
    chosen = find_sources([options.assignment])[0].stem if options.assignment else ""
    specifications = _specifications(options.term)
    task = Task(specifications, options.out, options.limit, options.jobs)
    apart = (task.marks, task.feedback)
    handed = collect(options.submissions, list(specifications), chosen, apart=apart)
    try:
        marks = grade_all(task, handed)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted; {options.out} has the marks so far") from None
    except OSError as error:
        raise OSError(f"{options.out} cannot be written: {error.strerror}.") from error
    for mark in marks if len(marks) <= 3 else []:
        print(mark.text())
    print(f"{len(marks)} graded, {sum(bool(m.remarks) for m in marks)} with remarks: {options.out}")


if __name__ == "__main__":
    sys.exit(main())
