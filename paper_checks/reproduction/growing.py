"""A table that grows while trainings go on, a budget that ends them, and the time left."""

import _thread
import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from argument_checks.wrong_types import errors_name_arguments
from leml_theory.runs import Cell, Result, Store, read_shard
from paper_checks.reproduction.planning import kind_of

__all__ = ["growing", "time_left", "within"]

_EVERY = 2.0  # seconds between looks at what is new
_SAID_EVERY = 20.0  # seconds between lines about the time left


def seconds_by_key(store: Store) -> dict[str, float]:
    """Return how long each finished training took."""
    results = [r for path in sorted(store.shards.glob("*.jsonl")) for r in read_shard(path)]
    return {result.key: result.seconds for result in results if isinstance(result, Result)}


def time_left(cells: Sequence[Cell], seconds: Mapping[str, float], jobs: int) -> str:
    """Say how long the rest will take, by finished trainings of the same kind and no others.

    Methods differ a hundredfold, so that the mean over all of them would tell nothing.
    """
    kinds: dict[tuple[str, ...], list[float]] = {}
    for cell in cells:
        if cell.key in seconds:
            kinds.setdefault(kind_of(cell), []).append(seconds[cell.key])
    left = [cell for cell in cells if cell.key not in seconds]
    known = [sum(own) / len(own) for cell in left if (own := kinds.get(kind_of(cell)))]
    said = f"{len(cells) - len(left)} of {len(cells)} trainings"
    if left and not known:
        return f"{said}, no estimate yet"
    said += f", about {sum(known) / jobs:.0f} s left" if left else ""
    if unknown := len(left) - len(known):
        said += f" for {len(known)} of them; {unknown} of kinds not tried yet"
    return said


@contextlib.contextmanager
def growing(
    cells: Sequence[Cell], store: Store, jobs: int, show: Callable[[], object]
) -> Iterator[None]:
    """Call `show` soon after trainings have finished, and print the time left now and then."""
    stop = threading.Event()
    thread = threading.Thread(target=_watch, args=(cells, store, jobs, show, stop), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _watch(
    cells: Sequence[Cell],
    store: Store,
    jobs: int,
    show: Callable[[], object],
    stop: threading.Event,
) -> None:
    """Look every other second for finished trainings, until stopped."""
    done, told = len(seconds_by_key(store)), -_SAID_EVERY
    while not stop.wait(_EVERY):
        seconds = seconds_by_key(store)
        if len(seconds) > done:
            done = len(seconds)
            show()
        if time.monotonic() - told >= _SAID_EVERY:
            told = time.monotonic()
            print(time_left(cells, seconds, jobs), file=sys.stderr, flush=True)


def _stop(*_: object) -> None:
    """Stop as Ctrl-C does, where a shell has told us to ignore that too."""
    raise KeyboardInterrupt


@contextlib.contextmanager
def within(minutes: float) -> Iterator[None]:
    """Interrupt what runs inside, as Ctrl-C does, once so many minutes have passed; 0 for never.

    Windows, which has no alarm, interrupts when the training that is going on has ended.
    """
    with contextlib.ExitStack() as stack:
        if minutes and hasattr(signal, "setitimer"):
            stack.callback(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, _stop))
            stack.callback(signal.setitimer, signal.ITIMER_REAL, 0)
            signal.setitimer(signal.ITIMER_REAL, 60 * minutes)
        elif minutes:
            timer = threading.Timer(60 * minutes, _thread.interrupt_main)
            timer.daemon = True
            stack.callback(timer.cancel)
            timer.start()
        yield


errors_name_arguments(globals())
