"""Progress bars, for those who asked for them."""

import sys
from contextlib import nullcontext
from typing import Any


def progress_bar(total: int, shown: bool, unit: str, about: str | None = None) -> Any:
    """Return a context with a bar on the standard error stream, or with None.

    Even a silent bar would take a lock, which a forked child may find held.
    """
    if not shown:
        return nullcontext()
    from tqdm import tqdm

    every = 0.1 if sys.stderr.isatty() else 10.0  # seconds; a log holds every state
    return tqdm(total=total, unit=unit, desc=about, mininterval=every)
