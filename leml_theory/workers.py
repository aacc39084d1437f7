"""Measuring cells in batches: in this process, or in worker processes that die with it."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import threading
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from leml_theory.cells import Cell
from leml_theory.shards import Result, Shard, checked_records

__all__ = [
    "Batch",
    "Failure",
    "Measure",
    "in_processes",
    "in_this_process",
    "one_thread_libraries",
]

Measure = Callable[[Cell], Sequence[Mapping[str, Any]]]

_BATCH_SECONDS = 1.0  # Handing over a batch costs about a millisecond.
_BATCH_CELLS = 256
_ONE_THREAD = dict.fromkeys(
    ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"], "1"
)


@dataclass(frozen=True, slots=True)
class Failure:
    """A cell whose measurement raised, and the traceback as text."""

    cell: Cell
    traceback: str


@dataclass(frozen=True, slots=True)
class Batch:
    """What became of a list of cells: measured, failed, or handed back for want of time."""

    measured: int
    failures: list[Failure]
    left: Sequence[Cell]


def in_this_process(
    pending: Sequence[Cell], shards: Path, measure: Measure
) -> Generator[Batch, None, None]:
    """Measure the cells here, a batch at a time."""
    with contextlib.closing(Shard(shards)) as shard:
        while pending:
            batch = _measure_batch(pending, shard, measure)
            pending = batch.left
            yield batch


def in_processes(
    workers: int, pending: Sequence[Cell], shards: Path, measure: Measure
) -> Generator[Batch, None, None]:
    """Measure the cells in worker processes, a batch at a time; all are gone at the end."""
    queue = deque(pending)
    running: set[Future[Batch]] = set()
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
def _pool(workers: int) -> Iterator[Callable[..., Future[Batch]]]:
    """Start worker processes; end them gently, or at once when something has gone wrong."""
    from joblib.externals.loky import ProcessPoolExecutor  # Takes 0.3 s, for nothing with one job.

    pool = ProcessPoolExecutor(workers, initializer=_start_worker, initargs=(os.getpid(),))
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
    """Make this process end soon after its parent, even when that was killed."""
    threading.Thread(target=_exit_after, args=(parent,), daemon=True).start()


def _exit_after(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _work(cells: Sequence[Cell], shards: Path, measure: Measure) -> Batch:
    return _measure_batch(cells, _shard_of_this_process(shards), measure)


@functools.cache
def _shard_of_this_process(shards: Path) -> Shard:
    return Shard(shards)


def _measure_batch(cells: Sequence[Cell], shard: Shard, measure: Measure) -> Batch:
    """Measure cells for about a second, storing each, and hand back those not begun."""
    begun, failures = 0, []
    stop = time.monotonic() + _BATCH_SECONDS
    with threadpool_limits(limits=1):
        for begun, cell in enumerate(cells, start=1):  # noqa: B007 - the count is the result
            failures += _measure_cell(cell, shard, measure)
            if time.monotonic() >= stop:
                break
    return Batch(begun - len(failures), failures, cells[begun:])


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
def one_thread_libraries() -> Iterator[None]:
    """Let libraries that are loaded meanwhile, here or in a worker, start with one thread."""
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(_ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
