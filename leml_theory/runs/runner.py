"""The runner: measures the cells that a store does not hold yet, in one process or in several.

Results do not depend on the number of processes: a cell's random numbers come from its own key,
and linear algebra always runs on one thread.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import signal
import sys
import threading
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from argument_checks import positive_integer
from leml_solver import limit_threads
from leml_theory.runs.cells import Cell
from leml_theory.runs.store import (
    ELSEWHERE,
    Manifest,
    Result,
    Shard,
    Store,
    StoreError,
    checked_records,
)

__all__ = ["Failure", "Measure", "RunError", "execute"]

Measure = Callable[[Cell], Sequence[Mapping[str, Any]]]

_SHOWN_FAILURES = 3
_BATCH_SECONDS = 1.0  # Handing over a batch costs about a millisecond.
_BATCH_CELLS = 256
_ONE_THREAD = dict.fromkeys(
    ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"], "1"
)
# Of workers only: a process in which numba has started its threads may not change the variable.
_WORKER_ENVIRONMENT = {"NUMBA_NUM_THREADS": "1"}


@dataclass(frozen=True, slots=True)
class Failure:
    """A cell whose measurement raised, and the traceback as text."""

    cell: Cell
    traceback: str


class RunError(RuntimeError):
    """Some cells could not be measured; all the others are stored.

    Attributes
    ----------
    failures : tuple of Failure
        The cells that raised; empty when a worker process died instead.
    """

    def __init__(self, message: str, failures: tuple[Failure, ...] = ()) -> None:
        super().__init__(message)
        self.failures = failures


def execute(
    cells: Iterable[Cell], store: Store, *, jobs: int, measure: Measure, progress: bool = True
) -> int:
    """Measure the cells that are not in the store, and return how many those were.

    Parameters
    ----------
    cells : iterable of Cell
        The grid that the store was made for. A cell named twice is measured once.
    store : Store
        Takes each result as soon as it is there: a run killed at any moment goes on from it.
    jobs : int
        Number of worker processes; 1 measures in this process.
    measure : callable
        Pure function from a cell to its records: mappings of texts to numbers (NaN and infinities
        too), texts, truth values or None.
    progress : bool
        Show on standard error how far the run is, and the time left.

    Raises
    ------
    RunError
        If cells raised, once all others are done; or if a worker process died.
    StoreError
        If the store is damaged, in use by another run, or cannot take a result.
    KeyboardInterrupt
        If the user interrupts; its message says what is stored.
    """
    jobs = positive_integer(jobs, "jobs")
    grid = {cell.key: cell for cell in cells}
    _check_grid(grid, store)
    with store.lock():
        pending = _pending(grid, store)
        with _stop_explained(store), _progress_shown(len(grid), len(pending), progress) as advance:
            failures = _measure_all(pending, store, jobs, measure, advance)
    if failures:
        raise RunError(_failure_text(failures, len(grid)), tuple(failures))
    return len(pending)


def _check_grid(grid: Mapping[str, Cell], store: Store) -> None:
    """Raise unless the cells are those that the store was made for."""
    if store.manifest.differences(Manifest.of(grid.values(), store.manifest.description)):
        raise ValueError(
            f"`cells` must be the grid that `{store.folder}` was made for, got another one; "
            "use Store.create with these cells and another folder."
        )


def _pending(grid: Mapping[str, Cell], store: Store) -> list[Cell]:
    """Return the cells to measure, in the order of their keys: long and short ones well mixed."""
    done = store.load().keys()
    if strange := sorted(done - grid.keys()):
        raise StoreError(
            f"`{store.folder}` holds {len(strange)} results of another grid (cell {strange[0]}). "
            f"{ELSEWHERE}."
        )
    return [grid[key] for key in sorted(grid.keys() - done)]


@contextlib.contextmanager
def _stop_explained(store: Store) -> Iterator[None]:
    """Add to an error that ends a run early how much is stored and how to continue."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"Interrupted. {_safe(store)}") from None
    except StoreError as error:
        raise StoreError(f"{error} {_safe(store)}") from error
    except BrokenProcessPool as error:
        reason = str(error).partition("\n")[0]
        raise RunError(
            f"A worker process died. {reason} If memory is short, use fewer jobs. {_safe(store)}"
        ) from error


def _safe(store: Store) -> str:
    """Return a sentence on how much is stored and how to continue."""
    status = store.status()
    return (
        f"{status.done} of {status.total} cells are safe in `{store.folder}`; "
        "run the same command again to go on from there."
    )


def _failure_text(failures: Sequence[Failure], total: int) -> str:
    """Return the first failures with their tracebacks, and how many there are."""
    shown = "\n".join(f"{f.cell!r}\n{f.traceback}" for f in failures[:_SHOWN_FAILURES])
    more = len(failures) - _SHOWN_FAILURES
    rest = f"\n... and {more} more." if more > 0 else ""
    return (
        f"{len(failures)} of {total} cells failed; the others are stored. Mend the cause and run "
        f"the same command again.\n\n{shown}{rest}"
    )


def _measure_all(
    pending: Sequence[Cell],
    store: Store,
    jobs: int,
    measure: Measure,
    advance: Callable[[int], object],
) -> list[Failure]:
    """Measure the cells, tell `advance` how many are finished, and return those that failed."""
    failures: list[Failure] = []
    workers, shards = min(jobs, len(pending)), store.shards.absolute()
    run = _in_this_process if workers <= 1 else functools.partial(_in_processes, workers)
    with _one_thread_libraries(), contextlib.closing(run(pending, shards, measure)) as batches:
        for batch in batches:
            failures += batch.failures
            advance(batch.measured + len(batch.failures))
    return failures


@dataclass(frozen=True, slots=True)
class _Batch:
    """What became of a list of cells: measured, failed, or handed back because time ran out."""

    measured: int
    failures: list[Failure]
    left: Sequence[Cell]


def _in_this_process(
    pending: Sequence[Cell], shards: Path, measure: Measure
) -> Generator[_Batch, None, None]:
    """Measure the cells here, a batch at a time."""
    with contextlib.closing(Shard(shards)) as shard:
        while pending:
            batch = _measure_batch(pending, shard, measure)
            pending = batch.left
            yield batch


def _in_processes(
    workers: int, pending: Sequence[Cell], shards: Path, measure: Measure
) -> Generator[_Batch, None, None]:
    """Measure the cells in worker processes, a batch at a time; all are gone at the end."""
    queue = deque(pending)
    running: set[Future[_Batch]] = set()
    with _pool(workers) as submit:
        while queue or running:
            while queue and len(running) < workers:
                running.add(submit(_work, _take(queue, workers), shards, measure))
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            for batch in [future.result() for future in finished]:
                queue.extend(batch.left)
                yield batch


def _take(queue: deque[Cell], workers: int) -> list[Cell]:
    """Take a share of the queue that leaves enough for the others until the end."""
    size = max(1, min(_BATCH_CELLS, len(queue) // (2 * workers)))
    return [queue.popleft() for _ in range(size)]


@contextlib.contextmanager
def _pool(workers: int) -> Iterator[Callable[..., Future[_Batch]]]:
    """Start worker processes; end them gently, or at once when something has gone wrong."""
    from loky import ProcessPoolExecutor  # Takes 0.3 s, which one job need not spend.

    pool = ProcessPoolExecutor(
        workers, initializer=_start_worker, initargs=(os.getpid(),), env=_WORKER_ENVIRONMENT
    )
    try:
        with _interrupts_ignored():
            pool.submit(os.getpid)  # The first task, whatever it is, starts the processes.
        yield pool.submit
    except BaseException:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Without `pgrep` it warns, and kills all the same.
            pool.shutdown(kill_workers=True)
        raise
    pool.shutdown()


@contextlib.contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Ignore Ctrl-C for the milliseconds in which workers start; they inherit that for good."""
    if threading.current_thread() is not threading.main_thread():  # Only that one may say so.
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _start_worker(parent: int) -> None:
    """Make this process end soon after its parent, even if the parent was killed."""
    threading.Thread(target=_exit_after, args=(parent,), daemon=True).start()


def _exit_after(parent: int) -> None:
    """End this process once its parent is no longer the one it started with."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _work(cells: Sequence[Cell], shards: Path, measure: Measure) -> _Batch:
    """Measure a batch of cells in a worker."""
    return _measure_batch(cells, _shard_of_this_process(shards), measure)


@functools.cache
def _shard_of_this_process(shards: Path) -> Shard:
    """Return the file that this worker appends to, the same for all batches."""
    return Shard(shards)


def _measure_batch(cells: Sequence[Cell], shard: Shard, measure: Measure) -> _Batch:
    """Measure cells for about a second, storing each, and hand back those not begun."""
    begun, failures = 0, []
    stop = time.monotonic() + _BATCH_SECONDS
    with limit_threads(1):
        for begun, cell in enumerate(cells, start=1):  # noqa: B007 - the count is the result
            failures += _measure_cell(cell, shard, measure)
            if time.monotonic() >= stop:
                break
    return _Batch(begun - len(failures), failures, cells[begun:])


def _measure_cell(cell: Cell, shard: Shard, measure: Measure) -> list[Failure]:
    """Measure and store one cell; return its failure, if any."""
    start = time.perf_counter()
    try:
        records = checked_records(measure(cell))
    except Exception:
        return [Failure(cell, traceback.format_exc())]
    shard.append(Result(cell.key, records, time.perf_counter() - start))
    return []


@contextlib.contextmanager
def _one_thread_libraries() -> Iterator[None]:
    """Make libraries that are loaded inside, here or in a worker, start with one thread."""
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(_ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


class _Progress(Protocol):
    """What shows how far a run is."""

    def update(self, count: int) -> Any:
        """Note that `count` more cells are finished."""

    def close(self) -> None:
        """Show nothing more."""


@contextlib.contextmanager
def _progress_shown(total: int, pending: int, shown: bool) -> Iterator[Callable[[int], object]]:
    """Show a bar on a terminal, a few lines elsewhere, nothing when there is nothing to do."""
    if not shown or not pending:
        yield _ignore
        return
    bar = _bar(total, pending) if sys.stderr.isatty() else _Lines(total, pending)
    with contextlib.closing(bar):
        yield bar.update


def _ignore(_count: int) -> None:
    """Show nothing."""


def _bar(total: int, pending: int) -> _Progress:
    """Return a bar that shows how many cells are done."""
    from tqdm import tqdm

    # A terminal that says it has no columns (some containers) would show nothing: hence the sizes.
    # smoothing=0: cells differ in length and come well mixed, so the mean rate tells the time left.
    bar: _Progress = tqdm(
        total=total,
        initial=total - pending,
        unit="cell",
        smoothing=0,
        file=sys.stderr,
        ncols=min(100, shutil.get_terminal_size().columns),
        nrows=24,
    )
    return bar


class _Lines:
    """Progress for a log: a line at each tenth of the way."""

    def __init__(self, total: int, pending: int) -> None:
        self._total, self._pending, self._finished, self._next = total, pending, 0, 0.0
        self._start = time.monotonic()

    def update(self, count: int) -> None:
        """Note that `count` more cells are finished."""
        self._finished += count
        if self._finished >= min(self._next, self._pending):
            self._next = self._finished + self._pending / 10
            left = self._pending - self._finished
            seconds = (time.monotonic() - self._start) * left / max(1, self._finished)
            done = self._total - left
            sys.stderr.write(f"{done} of {self._total} cells, about {seconds:.0f} s left\n")
            sys.stderr.flush()

    def close(self) -> None:
        """Write nothing more."""
