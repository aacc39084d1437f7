"""Grade notebooks: `python -m assignments.grade FOLDER_OR_FILE ...`.

Merges marks into a CSV file and writes, for each submission, a page of feedback. What is graded
stays graded: after an interruption the same command continues with the rest. Rows and columns of
the file that are not graded now stay as they are; the file as it was is kept in NAME-before/.
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

from assignments.assignment import Assignment, read_assignment
from assignments.collection import Handed, collect
from assignments.feedback import failed_mark, known_names, load_mark, mark_of, save, write_pages
from assignments.grading.answers import fence_refusal, weak_banner
from assignments.grading.sandbox import Limits, Sandbox
from assignments.handed_out import likely_assignment
from assignments.ledger import Ledger, Mark, keep_previous
from assignments.source import find_sources
from command_line import number, run_command, whole_number
from safe_files import LockedError, locked

_STARTING = 60.0  # seconds for the packages to load on a busy machine


@dataclass(frozen=True)
class Task:
    """How a run of the grader is set."""

    assignments: dict[str, Assignment]
    marks: Path
    term: int = 0  # seeds the hidden tests
    limit: float = 30.0  # seconds of one cell or call
    jobs: int = 1
    weak_fence: bool = False  # whether answers run where the kernel does not keep all limits

    @property
    def feedback(self) -> Path:
        """The folder of JSON files and pages."""
        return self.marks.with_name(self.marks.stem + "-feedback")

    @property
    def own(self) -> tuple[Path, ...]:
        """What is not a submission, should it lie among them."""
        before = self.marks.with_name(self.marks.stem + "-before")
        return self.marks, self.feedback, before, self.lock

    @property
    def lock(self) -> Path:
        """The file that one run holds."""
        return self.marks.with_name(f".{self.marks.name}.lock")


def write_marks(task: Task, marks: list[Mark]) -> Ledger:
    """Merge marks into the table as it is now: it may have been edited in the meantime."""
    manual = {name: assignment.manual for name, assignment in task.assignments.items()}
    ledger = Ledger.read(task.marks, manual)
    for mark in marks:
        ledger.enter(mark)
    ledger.write(task.marks)
    return ledger


def grade_all(task: Task, handed: list[Handed]) -> list[Mark]:
    """Grade every submission in order; the marks are written after each, so that none is lost."""
    tests = {name: a.specification(task.term) for name, a in task.assignments.items()}
    known = {e: load_mark(task.feedback, e, tests.get(e.assignment), task.limit) for e in handed}
    marks = {entry: mark for entry, mark in known.items() if mark is not None}
    waiting = [entry for entry in handed if entry not in marks]
    with tempfile.TemporaryDirectory() as folder, _bar(len(handed), len(marks)) as bar:
        for name, specification in tests.items():
            specification.save(Path(folder) / f"{name}.json")
        pool = ThreadPoolExecutor(task.jobs)
        futures = {pool.submit(_grade_one, task, Path(folder), e): e for e in waiting}
        try:
            for future in as_completed(futures):
                marks[futures[future]] = _finished(future, futures[future])
                # A disk that is full for a moment; a table that somebody is just editing.
                with contextlib.suppress(OSError, ValueError):
                    write_marks(task, [marks[e] for e in handed if e in marks])
                bar.update(1)
        finally:
            pool.shutdown(cancel_futures=True)
    ordered = [marks[entry] for entry in handed]
    write_pages(task.feedback, write_marks(task, ordered), task.assignments)
    return ordered


def _finished(future: Future[Mark], entry: Handed) -> Mark:
    """Return a mark, whatever became of the grading."""
    try:
        return future.result()
    except Exception as error:  # one bad submission never stops the rest
        return failed_mark(entry, f"the grader failed: {type(error).__name__}: {error}")


def _grade_one(task: Task, folder: Path, entry: Handed) -> Mark:
    mark = failed_mark(entry, entry.problem) if entry.problem else _graded(task, folder, entry)
    save(task.feedback, mark)
    return mark


def _graded(task: Task, folder: Path, entry: Handed) -> Mark:
    with tempfile.TemporaryDirectory() as temporary:
        written = Path(temporary) / "feedback.json"
        command = [sys.executable, "-m", "assignments.grading"]
        command += [str(folder / f"{entry.assignment}.json"), str(entry.path)]
        command += ["--feedback", str(written), "--limit", str(task.limit)]
        command += ["--weak-fence"] if task.weak_fence else []
        trouble = _run(command, 20 * task.limit + _STARTING)
        if trouble:
            return failed_mark(entry, trouble)
        assignment = task.assignments[entry.assignment]
        return mark_of(entry, written, assignment, task.term, task.limit)


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
    from tqdm import tqdm

    bar = tqdm(total=total, initial=done, unit="submission", file=sys.stderr, mininterval=0.5)
    return contextlib.closing(bar)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m assignments.grade", description=__doc__)
    add = parser.add_argument
    add("submissions", nargs="+", type=Path, metavar="FOLDER_OR_FILE")
    add("--assignment", help="when the notebooks do not say it: a or a_promise")
    add("--out", type=Path, default=Path("marks.csv"), help="(%(default)s)")
    add("--term", type=int, default=0, help="as given to the builder")
    add("--limit", type=number(0.1, 1e5), default=30.0, help="seconds per cell or call")
    add("--jobs", type=whole_number(), default=1, help="submissions graded at once")
    add("--weak-fence", action="store_true", help="run even where limits are missing")
    return parser


def fence_gaps() -> list[str]:
    """Return the limits that this machine does not keep, tried on a process without answers."""
    with (
        tempfile.NamedTemporaryFile(suffix=".ipynb") as file,
        Sandbox(Path(file.name), (), Limits()) as sandbox,
    ):
        return sandbox.missing


def main(arguments: list[str] | None = None) -> int:
    """Grade what the command line names; return the exit status."""
    options = _parser().parse_args(arguments)
    return run_command("grade", lambda: _grade(options), unusable=(LockedError,))


def _grade(options: argparse.Namespace) -> None:
    chosen = find_sources([options.assignment])[0].stem if options.assignment else ""
    sources = find_sources()
    assignments = {path.stem: read_assignment(path, options.term) for path in sources}
    limits = options.limit, options.jobs, options.weak_fence
    task = Task(assignments, options.out, options.term, *limits)
    handed = collect(
        options.submissions,
        list(assignments),
        chosen,
        apart=task.own,
        guess=lambda path: likely_assignment(path, sources),
        names=known_names(task.feedback),
    )
    Ledger.read(task.marks, {})  # a table that cannot be read is refused before the work
    gaps = fence_gaps()
    if gaps and not options.weak_fence:
        raise ValueError(fence_refusal(gaps))
    if gaps:
        print(weak_banner(gaps), file=sys.stderr)
    task.marks.parent.mkdir(parents=True, exist_ok=True)
    with locked(task.lock):
        keep_previous(task.marks)
        marks = _graded_all(task, handed)
    for mark in marks if len(marks) <= 3 else []:
        print(mark.text())
    print(f"{len(marks)} graded, {sum(bool(m.remarks) for m in marks)} with remarks: {task.marks}")


def _graded_all(task: Task, handed: list[Handed]) -> list[Mark]:
    """Grade; what stops it is said with the name of the table."""
    try:
        return grade_all(task, handed)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted; {task.marks} has the marks so far") from None
    except OSError as error:
        raise OSError(f"{task.marks} cannot be written: {error.strerror}.") from error


if __name__ == "__main__":
    sys.exit(main())
