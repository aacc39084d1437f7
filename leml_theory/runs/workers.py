"""Where batches are measured: in this process, or in worker processes of this machine.

`leml_theory.runs.cluster` has the third kind, the workers of a Dask cluster.
"""

import contextlib
import os
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol, Self

from command_line.clusters import interrupts_ignored

_ONE_THREAD = dict.fromkeys(
    ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"], "1"
)
# Of workers only: a process in which numba has started its threads may not change the variable.
WORKER_ENVIRONMENT = {"NUMBA_NUM_THREADS": "1"}


class Killed(Exception):  # noqa: N818 - an outcome of a task, which the runner deals with
    """The process that measured a batch died; the message says what is known of it."""


class Workers(Protocol):
    """What the runner hands batches to."""

    @property
    def count(self) -> int:
        """How many batches they measure at the same time; it may change."""

    @property
    def waiting(self) -> int:
        """How many batches should wait for each worker, so that none is idle."""

    def submit(self, name: int, function: Callable[..., Any], *arguments: Any) -> None:
        """Start a call under a name of the caller's choice."""

    def finished(self) -> tuple[int, Any]:
        """Wait for a call to end; return its name and its result, or the error it ended with."""


class Here:
    """The process that runs already; it measures a batch when it is asked for the result."""

    count, waiting = 1, 0

    def __init__(self) -> None:
        self._calls: deque[tuple[int, Callable[..., Any], tuple[Any, ...]]] = deque()

    def submit(self, name: int, function: Callable[..., Any], *arguments: Any) -> None:
        """Note a call."""
        self._calls.append((name, function, arguments))

    def finished(self) -> tuple[int, Any]:
        """Make the call that was noted first."""
        name, function, arguments = self._calls.popleft()
        return name, function(*arguments)


class Pool:
    """Worker processes of this machine; new ones take the place of a pool that broke."""

    waiting = 0

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool: Any = None
        self._running: dict[Future[Any], int] = {}

    def submit(self, name: int, function: Callable[..., Any], *arguments: Any) -> None:
        """Hand a call to a process that is free."""
        if self._pool is None:
            self._pool = _new_pool(self.count)
        try:
            future = self._pool.submit(function, *arguments)
        except BrokenProcessPool:  # A process died meanwhile, as what was running will say.
            self._pool = _new_pool(self.count)
            future = self._pool.submit(function, *arguments)
        self._running[future] = name

    def finished(self) -> tuple[int, Any]:
        """Wait for a call to end."""
        future = wait(self._running, return_when=FIRST_COMPLETED).done.pop()
        name, error = self._running.pop(future), future.exception()
        if isinstance(error, BrokenProcessPool):
            self._pool = None  # All that was running ends the same way; it is asked for next.
            return name, Killed(str(error).partition("\n")[0])
        return name, error or future.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        """End the processes gently, or at once when something has gone wrong."""
        if self._pool is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Without `pgrep` it warns, and kills all the same.
                self._pool.shutdown(kill_workers=kind is not None)


def _new_pool(count: int) -> Any:
    """Start worker processes."""
    from loky import ProcessPoolExecutor  # Takes 0.3 s, which one job need not spend.

    # A training may leave a worker larger; loky then starts another one, which concerns nobody.
    warnings.filterwarnings("ignore", "A worker was restarted", UserWarning)
    pool = ProcessPoolExecutor(
        count, initializer=_start_worker, initargs=(os.getpid(),), env=WORKER_ENVIRONMENT
    )
    with interrupts_ignored():
        pool.submit(os.getpid)  # The first task, whatever it is, starts the processes.
    return pool


def _start_worker(parent: int) -> None:
    """Make this process end soon after its parent, even if the parent was killed."""
    threading.Thread(target=_exit_after, args=(parent,), daemon=True).start()


def _exit_after(parent: int) -> None:
    """End this process once its parent is no longer the one it started with."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


@contextlib.contextmanager
def one_thread_libraries() -> Iterator[None]:
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
