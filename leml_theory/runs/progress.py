"""How far a run is: a bar on a terminal, a few lines in a log."""

from __future__ import annotations

import contextlib
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol


class _Progress(Protocol):
    """What shows how far a run is."""

    def update(self, count: int) -> Any:
        """Note that `count` more cells are finished."""

    def close(self) -> None:
        """Show nothing more."""


@contextlib.contextmanager
def progress_shown(total: int, pending: int, shown: bool) -> Iterator[Callable[[int], object]]:
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
