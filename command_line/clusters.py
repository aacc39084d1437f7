"""Worker processes that a command starts on this machine, those of Dask among them."""

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


@contextlib.contextmanager
def local_cluster(count: int, settings: dict[str, Any], **options: Any) -> Iterator[Any]:
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
