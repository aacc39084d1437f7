"""How many threads the work is shared among.

Compiled loops and large BLAS products are cut into blocks of rows that a pool of threads works
through; BLAS itself gets one thread. Waiting for a pool costs nothing, while OpenMP and BLAS wait
by spinning, which on a busy machine makes two threads a hundred times slower than one.
"""

import os
import sys
from _thread import start_new_thread
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import pairwise
from queue import SimpleQueue
from threading import RLock
from typing import Any, TypeVar

import numpy as np
import scipy.linalg  # noqa: F401  its BLAS must be loaded before the libraries are counted
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from argument_checks import positive_integer

_Part = TypeVar("_Part")
_Result = TypeVar("_Result")

Rows = tuple[int, int]

SHARED_LOOP = 1e6  # multiply-adds of a compiled loop from which on a second thread pays off
SHARED_PRODUCT = 5e7  # multiply-adds of a BLAS product from which on a second thread pays off

_limit: ContextVar[int | None] = ContextVar("leml_threads", default=None)


@cache
def available_threads() -> int:
    """Return the cores this process may use, or fewer if the usual environment variables say so.

    Examples
    --------
    >>> from leml_solver import available_threads
    >>> available_threads() >= 1
    True
    """
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else (os.cpu_count() or 1)
    asked = (os.environ.get(name, "") for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"))
    return min([cores, *(int(text) for text in asked if text.isdigit() and int(text) > 0)])


def thread_count() -> int:
    """Return how many threads share the work now."""
    limit = _limit.get()
    return available_threads() if limit is None else limit


@contextmanager
def limit_threads(count: int) -> Iterator[None]:
    """Share work among at most `count` threads; the same limit holds for BLAS, OpenMP and numba.

    Examples
    --------
    >>> from leml_solver import limit_threads
    >>> with limit_threads(1):
    ...     pass  # fit here
    """
    count = positive_integer(count, "count")
    outer = _limit.get()
    count = count if outer is None else min(count, outer)
    token = _limit.set(count)
    try:
        with _held.at_most(count, ThreadpoolController()), _numba_threads(count):
            yield
    finally:
        _limit.reset(token)


@contextmanager
def one_thread() -> Iterator[None]:
    """Run what is inside on one thread of ours; the number of threads of BLAS stays as it is."""
    token = _limit.set(1)
    try:
        yield
    finally:
        _limit.reset(token)


@contextmanager
def _numba_threads(count: int) -> Iterator[None]:
    """Hold numba, if it is loaded, at `count` threads or fewer."""
    numba = sys.modules.get("numba")
    if numba is None:
        yield
        return
    before = numba.get_num_threads()
    numba.set_num_threads(min(count, before))
    try:
        yield
    finally:
        numba.set_num_threads(before)


@cache
def _controller() -> Any:
    """Return the handle on the BLAS libraries; finding them takes milliseconds."""
    return ThreadpoolController().select(user_api="blas")


class _HeldLimits:
    """The limits that overlapping calls, perhaps of several threads, hold; the smallest counts.

    BLAS has one limit for the whole process: were each call to put back what it found, the last of
    two overlapping ones would put back the limit of the other.
    """

    def __init__(self) -> None:
        self.lock = RLock()
        self._limits: dict[object, int] = {}
        self._before: dict[str, tuple[Any, int]] = {}

    def begin_anew(self) -> None:
        """Give up all limits: in a forked child the threads that held them are gone."""
        self._limits.clear()
        self._give_up(None)
        self.lock.release()

    @contextmanager
    def at_most(self, count: int, controller: Any) -> Iterator[None]:
        """Hold the libraries that the controller knows at `count` threads or fewer."""
        holder = object()
        try:  # from the first line on: Ctrl-C may come at any moment
            self._take_up(holder, count, controller.lib_controllers)
            yield
        finally:
            try:
                self._give_up(holder)
            except KeyboardInterrupt:
                self._give_up(holder)
                raise

    def _take_up(self, holder: object, count: int, libraries: list[Any]) -> None:
        """Remember what the libraries have, then set the smallest limit held."""
        with self.lock:
            self._limits[holder] = count
            for library in libraries:
                self._before.setdefault(library.filepath, (library, library.num_threads))
            self._set_lowest()

    def _give_up(self, holder: object) -> None:
        """Set the smallest limit that is still held, or what there was before."""
        with self.lock:
            self._limits.pop(holder, None)
            self._set_lowest()
            if not self._limits:
                self._before.clear()

    def _set_lowest(self) -> None:
        """Set the smallest limit held, and for each library what it had if there is none."""
        for library, before in self._before.values():
            count = min(self._limits.values(), default=before)
            if library.num_threads == count:
                continue
            # From version 3.8 on threadpoolctl lets one thread alone set limits, to its end, and
            # ignores what others set; here the limits of all threads are counted.
            free = getattr(library, "clear_controlling_thread", lambda **_: None)
            free(force=True)
            library.set_num_threads(count)
            free(force=True)


_held = _HeldLimits()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Give BLAS one thread."""
    with _held.at_most(1, _controller()):
        yield


class _Pool:
    """Threads that take work from a queue written in C, which Ctrl-C leaves whole.

    In the Python code of `concurrent.futures` it leaves locks held, for which others wait for ever.
    """

    def __init__(self, size: int) -> None:
        self._tasks: SimpleQueue[Callable[[], None]] = SimpleQueue()
        for _ in range(size):
            start_new_thread(self._work, ())

    def _work(self) -> None:
        while True:
            self._tasks.get()()

    def submit(self, function: Callable[..., _Result], *arguments: Any) -> Callable[[], _Result]:
        """Have a thread call a function; return what waits for its result or raises its error."""
        answers: SimpleQueue[Any] = SimpleQueue()

        def task() -> None:
            try:
                answers.put((function(*arguments), None))
            except BaseException as error:
                answers.put((None, error))

        def result() -> _Result:
            value, error = answers.get()
            if error is not None:
                raise error
            return value  # type: ignore[no-any-return]

        self._tasks.put(task)
        return result


pool = cache(_Pool)

if hasattr(os, "register_at_fork"):  # a forked child has the pool but not its threads
    os.register_at_fork(after_in_child=pool.cache_clear)
    # A child forked while another thread is inside BLAS's own setter would inherit its locks.
    os.register_at_fork(
        before=_held.lock.acquire,
        after_in_parent=_held.lock.release,
        after_in_child=_held.begin_anew,
    )


def parallel_map(
    function: Callable[[_Part], _Result], parts: Sequence[_Part], *, worth: bool = True
) -> list[_Result]:
    """Return function(part) for each part, by several threads if the work is worth it."""
    size = thread_count()
    if size == 1 or not worth or len(parts) == 1:
        return [function(part) for part in parts]
    return [result() for result in [pool(size).submit(function, part) for part in parts]]


def even_rows(n_rows: int, work: float, threshold: float = SHARED_LOOP) -> list[Rows]:
    """Cut rows into one block per thread, or leave them together if there is little to do."""
    count = thread_count() if work >= threshold else 1
    cuts = [n_rows * b // count for b in range(count + 1)]
    return [(start, stop) for start, stop in pairwise(cuts) if start < stop]


def balanced_rows(pointers: NDArray[Any], work: float) -> list[Rows]:
    """Cut rows into one block per thread with about equal numbers of entries.

    `pointers` (r + 1,) counts the entries before each row.
    """
    n_rows, count = pointers.size - 1, thread_count() if work >= SHARED_LOOP else 1
    shares = float(pointers[-1]) * np.arange(1, count) / count
    cuts = [0, *np.minimum(np.searchsorted(pointers, shares), n_rows).tolist(), n_rows]
    return [(start, stop) for start, stop in pairwise(cuts) if start < stop]


def matmul(A: NDArray[Any], B: NDArray[Any]) -> NDArray[Any]:
    """Return A B, rows of A shared among the threads."""
    parts = even_rows(A.shape[0], float(A.shape[0]) * A.shape[1] * B.shape[1], SHARED_PRODUCT)
    if len(parts) == 1:
        return np.asarray(A @ B)
    out = np.empty((A.shape[0], B.shape[1]), dtype=np.result_type(A, B))

    def multiply(rows: Rows) -> None:
        np.matmul(A[slice(*rows)], B, out=out[slice(*rows)])

    parallel_map(multiply, parts)
    return out
