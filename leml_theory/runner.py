"""The runner: measures the cells that a store does not hold yet, on one core or on several.

Results do not depend on the number of processes: a cell's random numbers come from its own key,
and linear algebra runs on one thread everywhere.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool

from argument_checks import positive_integer
from leml_theory.cells import Cell
from leml_theory.manifest import ELSEWHERE, Manifest
from leml_theory.progress import progress_shown
from leml_theory.store import Store, StoreError
from leml_theory.workers import (
    Failure,
    Measure,
    in_processes,
    in_this_process,
    one_thread_libraries,
)

__all__ = ["Failure", "Measure", "RunError", "execute"]

_SHOWN_FAILURES = 3


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
        As it came, with a message that says what is stored.
    """
    jobs = positive_integer(jobs, "jobs")
    grid = {cell.key: cell for cell in cells}
    _check_grid(grid, store)
    with store.lock():
        pending = _pending(grid, store)
        with _stop_explained(store), progress_shown(len(grid), len(pending), progress) as advance:
            failures = _measure_all(pending, store, jobs, measure, advance)
    if failures:
        raise RunError(_failure_text(failures, len(grid)), tuple(failures))
    return len(pending)


def _check_grid(grid: Mapping[str, Cell], store: Store) -> None:
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
    """Add to whatever ends a run early how much is stored, and how to go on."""
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
    status = store.status()
    return (
        f"{status.done} of {status.total} cells are safe in `{store.folder}`; "
        "run the same command again to go on from there."
    )


def _failure_text(failures: Sequence[Failure], total: int) -> str:
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
    run = in_this_process if workers <= 1 else functools.partial(in_processes, workers)
    with one_thread_libraries(), contextlib.closing(run(pending, shards, measure)) as batches:
        for batch in batches:
            failures += batch.failures
            advance(batch.measured + len(batch.failures))
    return failures
