"""How far a run is: a bar on a terminal, a few lines in a log."""

import contextlib
import shutil
import sys
import time
from collections.abc import Callable, Iterator

from command_line import counted

Advance = Callable[[int], object]


@contextlib.contextmanager
def progress_shown(total: int, pending: int, shown: bool) -> Iterator[Advance]:
    """Show a bar on a terminal, a few lines elsewhere, nothing when there is nothing to do."""
    if not shown or not pending:
        yield lambda _count: None
    elif not sys.stderr.isatty():
        yield _lines(total, pending)
    else:
        from tqdm import tqdm

        # A terminal that says it has no columns (some containers) would show nothing: hence sizes.
        # smoothing=0: cells differ in length and come well mixed, so the mean rate tells the rest.
        with tqdm(
            total=total,
            initial=total - pending,
            unit="cell",
            smoothing=0,
            file=sys.stderr,
            ncols=min(100, shutil.get_terminal_size().columns),
            nrows=24,
        ) as bar:
            yield bar.update


def _lines(total: int, pending: int) -> Advance:
    """Return what writes a line for a log at each tenth of the way."""
    start, finished, following = time.monotonic(), 0, 0.0

    def advance(count: int) -> None:
        nonlocal finished, following
        finished += count
        if finished >= min(following, pending):
            following = finished + pending / 10
            left = pending - finished
            seconds = (time.monotonic() - start) * left / max(1, finished)
            early = 10 * finished < pending  # workers have hardly started: no rate to go by
            rest = f", about {seconds:.0f} s left" if left and not early else ""
            print(f"{total - left} of {counted(total, 'cell')}{rest}", file=sys.stderr)
            sys.stderr.flush()

    return advance
