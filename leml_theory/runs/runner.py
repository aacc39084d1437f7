"""The runner: measures the cells that a store does not hold yet, in one process or in many.

Results do not depend on where the processes are nor on their number: a cell's random numbers come
from its own key, and linear algebra always runs on one thread.
"""

from __future__ import annotations

import contextlib
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from argument_checks import positive_integer
from command_line import counted
from command_line.clusters import ClusterError
from leml_solver import limit_threads
from leml_theory.runs.cells import Cell
from leml_theory.runs.cluster import connected, memory_limit
from leml_theory.runs.progress import progress_shown
from leml_theory.runs.provenance import Code, Source, source_of
from leml_theory.runs.store import (
    ELSEWHERE,
    Manifest,
    Result,
    Shard,
    Store,
    StoreError,
    checked_records,
)
from leml_theory.runs.workers import Here, Killed, Pool, Workers, one_thread_libraries

Measure = Callable[[Cell], Sequence[Mapping[str, Any]]]

_SHOWN_FAILURES = 3
_BATCH_SECONDS = 0.5  # Handing over a batch costs about a millisecond, on a cluster some more.
_BATCH_CELLS = 256
_MOST_DEATHS = 16  # batches in a row that killed their process
_ONE_BATCH = threading.Lock()  # Workers of a cluster may have several threads.


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
        The cells that raised or killed their process; empty when the run could not continue.
    """

    def __init__(self, message: str, failures: tuple[Failure, ...] = ()) -> None:
        super().__init__(message)
        self.failures = failures


def execute(
    cells: Iterable[Cell],
    store: Store,
    *,
    jobs: int,
    measure: Measure,
    progress: bool = True,
    cluster: str | None = None,
    recompute: bool = False,
    in_order: bool = False,
) -> int:
    """Measure the cells that are not in the store, and return how many those were.

    Parameters
    ----------
    cells : iterable of Cell
        The grid that the store was made for. A cell named twice is measured once.
    store : Store
        Takes the results every half second: a run killed at any moment continues from it.
    jobs : int
        Number of worker processes; 1 measures in this process.
    measure : callable
        Pure function from a cell to its records: mappings of strings to numbers (NaN and infinities
        too), strings, Booleans or None.
    progress : bool
        Show on standard error how far the run has got, and the time left.
    cluster : str or None
        Measure on a Dask cluster instead: the address of a scheduler, the name of a scheduler file
        (.json), or `local:N` for N worker processes of this machine.
    recompute : bool
        Measure results of other code again, which are refused otherwise.
    in_order : bool
        Begin with the first cells, rather than with long and short ones well mixed.

    Raises
    ------
    RunError
        If cells raised or killed their process, once all others are done; or if workers cannot
        measure: they die whatever they do, have other code, or their scheduler is gone.
    StoreError
        If the store is damaged, in use by another run, of other code, or cannot take a result.
    KeyboardInterrupt
        If the user interrupts; its message says what is stored.
    """
    jobs = positive_integer(jobs, "jobs")
    grid = {cell.key: cell for cell in cells}
    _check_grid(grid, store)
    work = _Work(measure, source_of(measure))
    with store.lock():
        left = _left(grid, store, work.client.code, recompute)
        order = list(left) if in_order else sorted(left)  # by key: long and short ones well mixed
        queue = _Queue(deque(left[key] for key in order), 1 if in_order else _BATCH_CELLS)
        with (
            _stop_explained(store),
            progress_shown(len(grid), len(left), progress) as advance,
            _workers(min(jobs, len(left)), cluster if left else None) as workers,
        ):
            failures = _measure_all(queue, store, workers, work, advance)
    if failures:
        raise RunError(_failure_text(failures, len(grid)), tuple(failures))
    return len(left)


def _check_grid(grid: Mapping[str, Cell], store: Store) -> None:
    """Raise unless the cells are those that the store was made for."""
    if store.manifest.differences(Manifest.of(grid.values(), store.manifest.description)):
        raise ValueError(
            f"`cells` must be the grid that `{store.folder}` was made for, got another one; "
            "use Store.create with these cells and another folder."
        )


def _left(grid: Mapping[str, Cell], store: Store, code: Code, recompute: bool) -> dict[str, Cell]:
    """Return the cells that this code has not measured yet; other code's results are refused."""
    if recompute:
        store.forget_other_code(code)
    done = store.load().keys()
    if strange := sorted(done - grid.keys()):
        raise StoreError(
            f"`{store.folder}` holds {len(strange)} results of another grid (cell {strange[0]}). "
            f"{ELSEWHERE}."
        )
    store.check_code(code)
    return {key: cell for key, cell in grid.items() if key not in done}


@contextlib.contextmanager
def _stop_explained(store: Store) -> Iterator[None]:
    """Add to an error that ends a run early how much is stored and how to continue."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"Interrupted. {_safe(store)}") from None
    except StoreError as error:
        raise StoreError(f"{error} {_safe(store)}") from error
    except ClusterError as error:
        raise RunError(f"{error} {_safe(store)}") from error


def _safe(store: Store) -> str:
    """Return a sentence on how much is stored and how to continue."""
    status = store.status()
    return (
        f"{status.done} of {status.total} cells are safe in `{store.folder}`; "
        "run the same command again to continue from there."
    )


def _failure_text(failures: Sequence[Failure], total: int) -> str:
    """Return the first failures with their tracebacks, and how many there are."""
    shown = "\n".join(f"{f.cell!r}\n{f.traceback}" for f in failures[:_SHOWN_FAILURES])
    more = len(failures) - _SHOWN_FAILURES
    rest = f"\n... and {more} more." if more > 0 else ""
    return (
        f"{len(failures)} of {counted(total, 'cell')} failed; the others are stored. Mend the "
        f"cause and run the same command again.\n\n{shown}{rest}"
    )


@contextlib.contextmanager
def _workers(jobs: int, cluster: str | None) -> Iterator[Workers]:
    """Return this process, a pool of processes, or a cluster; all are left at the end."""
    with one_thread_libraries(), contextlib.ExitStack() as stack:
        if cluster is not None:
            yield stack.enter_context(connected(cluster))
        else:
            yield stack.enter_context(Pool(jobs)) if jobs > 1 else Here()


def _measure_all(
    queue: _Queue, store: Store, workers: Workers, work: _Work, advance: Callable[[int], object]
) -> list[Failure]:
    """Measure the cells, tell `advance` how many are finished, and return those that failed."""
    failures: list[Failure] = []
    with contextlib.closing(Shard(store.shards.absolute())) as shard:
        for batch in _batches(queue, workers, work):
            shard.extend(batch.results, batch.source)
            failures += batch.failures
            advance(len(batch.results) + len(batch.failures))
    return failures


@dataclass(frozen=True, slots=True)
class _Batch:
    """What became of some cells: measured, failed, or handed back because time ran out."""

    results: list[Result] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    left: Sequence[Cell] = ()
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class _Task:
    """Cells that one process measures, and how often the process of these cells has died."""

    cells: Sequence[Cell]
    deaths: int = 0


@dataclass(slots=True)
class _Queue:
    """Cells to measure: in batches; one by one if that killed a process; at last entirely alone.

    A process that dies takes with it batches that only waited for it, so that a cell is blamed only
    if no other one was there.
    """

    cells: deque[Cell]
    most: int = _BATCH_CELLS
    suspects: deque[Cell] = field(default_factory=deque)
    accused: deque[Cell] = field(default_factory=deque)

    def take(self, workers: int, running: int) -> _Task | None:
        """Take a share that leaves enough for the others until the end, None if there is none."""
        if self.cells:
            size = max(1, min(self.most, len(self.cells) // (2 * workers)))
            return _Task([self.cells.popleft() for _ in range(size)])
        if self.suspects:
            return _Task([self.suspects.popleft()], 1)
        if self.accused and not running:
            return _Task([self.accused.popleft()], 2)
        return None

    def put_back(self, task: _Task, reason: Killed) -> _Batch:
        """Take back cells whose process died, or report the one that was alone there."""
        if task.deaths < 2:
            (self.suspects, self.accused)[task.deaths].extend(task.cells)
            return _Batch()
        text = f"This cell ends the process that measures it, even when alone there: {reason}."
        return _Batch(failures=[Failure(cell, text) for cell in task.cells])


def _batches(queue: _Queue, workers: Workers, work: _Work) -> Iterator[_Batch]:
    """Hand out the cells, and yield what became of them."""
    running: dict[int, _Task] = {}
    submitted = deaths = 0
    while True:
        count = workers.count
        while len(running) < count * (1 + workers.waiting):
            if (task := queue.take(count, len(running))) is None:
                break
            running[submitted] = task
            workers.submit(submitted, work, task.cells, task.deaths == 2)
            submitted += 1
        if not running:
            return
        name, outcome = workers.finished()
        task = running.pop(name)
        if isinstance(outcome, Killed):
            deaths = _counted(deaths + 1, outcome)
            yield queue.put_back(task, outcome)
        elif isinstance(outcome, BaseException):
            raise outcome
        else:
            deaths = 0
            queue.cells.extend(outcome.left)
            yield outcome


def _counted(deaths: int, reason: Killed) -> int:
    """Return the number of deaths in a row, or raise if there are too many to continue."""
    if deaths >= _MOST_DEATHS:
        raise ClusterError(
            f"Worker processes die whatever they measure, {deaths} times in a row: {reason}. "
            "If memory is short, use fewer of them."
        )
    return deaths


@dataclass(frozen=True, slots=True)
class _Work:
    """What a worker does with the cells of a batch."""

    measure: Measure
    client: Source

    def __call__(self, cells: Sequence[Cell], alone: bool) -> _Batch:
        """Measure for about half a second and hand back those cells that were not begun."""
        source = source_of(self.measure)
        if said := source.differences(self.client):
            raise ClusterError(
                f"The worker on {source.host} does not have the code of this client: "
                f"{'; '.join(said)}. Install the same version, with the same files, everywhere."
            )
        with _ONE_BATCH, limit_threads(1), _memory_limited(alone):
            return self._batch(cells, source)

    def _batch(self, cells: Sequence[Cell], source: Source) -> _Batch:
        results: list[Result] = []
        failures: list[Failure] = []
        begun = 0
        stop = time.monotonic() + _BATCH_SECONDS
        for begun, cell in enumerate(cells, start=1):  # noqa: B007 - the count is the result
            outcome = self._measured(cell, source.id)
            if isinstance(outcome, Result):
                results.append(outcome)
            else:
                failures.append(outcome)
            if time.monotonic() >= stop:
                break
        return _Batch(results, failures, cells[begun:], source)

    def _measured(self, cell: Cell, source: str) -> Result | Failure:
        """Measure one cell; return its result or its failure."""
        start = time.perf_counter()
        try:
            records = checked_records(self.measure(cell))
        except MemoryError:
            limit = memory_limit()
            said = f"It needs more than the {limit / 2**20:.0f} MiB of its worker." if limit else ""
            return Failure(cell, traceback.format_exc() + said)
        except Exception:
            return Failure(cell, traceback.format_exc())
        return Result(cell.key, records, time.perf_counter() - start, source)


@contextlib.contextmanager
def _memory_limited(wanted: bool) -> Iterator[None]:
    """Let a worker of a cluster that would be killed for its memory raise MemoryError instead."""
    limit = memory_limit() if wanted else None
    if limit is None:
        yield
        return
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)
