"""Workers of a Dask cluster: a running scheduler, or processes started here for the run.

The results come back to this process, which keeps the store: workers share no file system with it.
Dask is an extra, imported when a cluster is asked for.
"""

from __future__ import annotations

import contextlib
import pickle
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from command_line import clusters
from command_line.clusters import ClusterError
from leml_theory.runs.provenance import installed_version
from leml_theory.runs.workers import WORKER_ENVIRONMENT, Killed

_POLL_SECONDS = 0.02  # each worker has another call waiting meanwhile
_SETTINGS = {
    # Nobody looks at what these would note dozens of times a second, at a tenth of the run's time.
    "distributed.admin.tick.interval": "10s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.scheduler.work-stealing": False,  # the runner shares out batches itself
}
_LOOK_SECONDS = 5  # after which those who wait for a call look whether there are workers


@contextlib.contextmanager
def connected(place: str) -> Iterator[Cluster]:
    """Connect to a cluster; see `command_line.clusters.connected` for places and errors."""
    with clusters.connected(place, _SETTINGS, env=WORKER_ENVIRONMENT) as client:
        yield Cluster(client, place)


@dataclass(frozen=True, slots=True)
class _Call:
    """A call that takes place where its pickle is loaded, which returns what the call returns."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self.function, self.arguments


class Cluster:
    """The workers of a Dask cluster, in the shape that the runner asks for."""

    waiting = 1

    def __init__(self, client: Any, place: str) -> None:
        import distributed

        self._client, self._place = client, place
        self._killed: Any = distributed.KilledWorker
        self._futures: dict[str, int] = {}
        completed: Any = distributed.as_completed
        self._ended = completed(loop=client.loop, with_results=True, raise_errors=False)
        self._told = False

    @property
    def count(self) -> int:
        """How many workers there are now, at least one: they may yet come, or come again."""
        with self._reached():
            found = len(self._client.nthreads())
        if not found and not self._told:
            said = "has no workers now; waiting for them. Start some: `dask worker ADDRESS`."
            print(f"{self._place} {said}", file=sys.stderr)
        self._told = not found
        return max(1, found)

    @contextlib.contextmanager
    def _reached(self) -> Iterator[None]:
        """Turn what a scheduler that is gone causes into one error."""
        if self._client.status != "running":
            raise self._lost()
        try:
            yield
        except OSError:
            raise self._lost() from None

    def submit(self, name: int, function: Callable[..., Any], *arguments: Any) -> None:
        """Hand a call to the scheduler, as one that must not be merged with another.

        It travels as bytes: a worker that cannot import what a message holds would end, and the
        call be lost. So the error is that of the call.
        """
        key = f"leml-sweep-{uuid.uuid4().hex}"
        call = pickle.dumps(_Call(function, arguments))
        with self._reached():
            future = self._client.submit(pickle.loads, call, pure=False, key=key)
        self._futures[key] = name
        self._ended.add(future)

    def finished(self) -> tuple[int, Any]:
        """Wait for a call to end; a lost scheduler is an error of the whole run."""
        asked = time.monotonic()
        while not self._ended.has_ready():
            time.sleep(_POLL_SECONDS)
            if time.monotonic() - asked > _LOOK_SECONDS:
                _, asked = self.count, time.monotonic()  # says so where no worker is left
        future, result = next(self._ended)
        if future.status == "cancelled":
            raise self._lost()
        name = self._futures.pop(future.key)
        if future.status != "error":
            return name, result
        error = result[1]
        if isinstance(error, self._killed):
            deaths = f"{error.allowed_failures + 1} worker processes died while they measured it"
            return name, Killed(f"{deaths}, the last at {error.last_worker.address}")
        return name, self._explained(error)

    def _lost(self) -> ClusterError:
        return ClusterError(
            f"The connection to the Dask scheduler at `{self._place}` was lost. Start it again."
        )

    def _explained(self, error: Exception) -> Exception:
        """Add the versions of the package on the workers to an error that is not a cell's."""
        if isinstance(error, ClusterError):
            return error
        with self._reached():
            there = self._client.run(version, "leml-theory", on_error="return")
        return ClusterError(
            f"Workers could not measure ({type(error).__name__}: {error}). They have leml-theory "
            f"{', '.join(sorted({str(item) for item in there.values()}))}, this client has "
            f"{installed_version('leml-theory')}: install the same version everywhere."
        )


def memory_limit() -> int | None:
    """Return the bytes that this process may use if it is a Dask worker with a limit."""
    try:
        worker = sys.modules["distributed"].get_worker()
        return worker.memory_manager.memory_limit  # type: ignore[no-any-return]
    except (KeyError, ValueError, AttributeError):
        return None
