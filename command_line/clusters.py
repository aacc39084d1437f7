"""Dask clusters: a running one, or worker processes that a command starts on this machine."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import signal
import sys
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import Any

_SETTINGS: dict[str, Any] = {
    # A worker is started again; on a busy machine that takes longer than the usual 15 s.
    "distributed.deploy.lost-worker-timeout": "120s",
    "distributed.worker.profile.enabled": False,  # nobody looks at it
}
if "forkserver" in multiprocessing.get_all_start_methods():  # Dask is imported once for all workers
    _SETTINGS["distributed.worker.multiprocessing-method"] = "forkserver"


_CONNECT_SECONDS = 30


class ClusterError(RuntimeError):
    """The cluster cannot be used, or was lost; the message says what to do."""


@contextlib.contextmanager
def connected(
    place: str, settings: dict[str, Any], *, direct: bool = False, **options: Any
) -> Iterator[Any]:
    """Connect to the scheduler at an address, or in a scheduler file, or start `local:N` workers.

    Parameters
    ----------
    place : str
        Address, file whose name ends in .json, or local:N.
    settings, options
        What is particular to the workers that are started here.
    direct : bool
        Whether arrays go to workers on this machine without passing through the scheduler.

    Raises
    ------
    ValueError
        If `place` is none of these, or Dask is not installed.
    ClusterError
        If no scheduler answers.
    """
    local = _local_workers(place)
    try:
        from distributed import Client
    except ImportError:
        raise ValueError(
            "A cluster needs Dask, which is not installed here: pip install 'leml-theory[cluster]'"
        ) from None
    connect: Any = Client  # not typed in full
    where: dict[str, Any] = {"scheduler_file" if place.endswith(".json") else "address": place}
    with contextlib.ExitStack() as stack:
        if local:
            started = stack.enter_context(_local_cluster(local, settings, **options))
            where = {"address": started, "direct_to_workers": direct}
        try:
            client = connect(**where, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ClusterError(
                f"No Dask scheduler answers at `{place}` ({error}). Start one (`dask scheduler`) "
                "and workers (`dask worker ADDRESS --nthreads 1`), or use --cluster local:N."
            ) from None
        stack.callback(_close, client)
        yield client


def _local_workers(place: str) -> int:
    """Return N of `local:N`, 0 for an address."""
    word, _, number = place.partition(":")
    if word != "local":
        return 0
    if not number.isdecimal() or int(number) < 1:
        raise ValueError(f"`cluster` must be an address or local:N with N >= 1, got {place!r}.")
    return int(number)


def _close(client: Any) -> None:
    """Leave the cluster; it does not matter if it is gone already."""
    with contextlib.suppress(Exception):
        client.close(timeout=5)


@contextlib.contextmanager
def _local_cluster(count: int, settings: dict[str, Any], **options: Any) -> Iterator[Any]:
    """Start a scheduler in this process and one-thread workers, each watched by a nanny."""
    import dask.config
    from distributed import LocalCluster

    options |= {"n_workers": count, "threads_per_worker": 1, "silence_logs": logging.CRITICAL}
    options |= {"dashboard_address": ":0", "scheduler_kwargs": {"dashboard": False}}
    start: Any = LocalCluster
    with dask.config.set(_SETTINGS | settings), _main_hidden():
        with interrupts_ignored():
            cluster = start(**options)
        with cluster:
            yield cluster


@contextlib.contextmanager
def _main_hidden() -> Iterator[None]:
    """Keep new workers from running the script that started them, or from loading its command."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@contextlib.contextmanager
def interrupts_ignored() -> Iterator[None]:
    """Ignore Ctrl-C for the moment in which workers start; they inherit that for good."""
    if threading.current_thread() is not threading.main_thread():  # Only that one may say so.
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
