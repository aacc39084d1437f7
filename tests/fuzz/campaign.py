"""Runs fuzzers: one seeded case after another, each with a limit of time, and counts findings.

A fuzzer is a function of a generator and an empty folder. It makes an input, hands it to the
package, and raises unless the package answers correctly or refuses in its own words.
"""

import contextlib
import shutil
import signal
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HANG = 60  # seconds of wall time for a case of milliseconds, on a machine that others use too

Case = Callable[[np.random.Generator, Path], None]


class HangError(Exception):
    """A case that did not end."""


@dataclass(frozen=True)
class Finding:
    """A case that the package did not survive: repeat it with its fuzzer and seed."""

    fuzzer: str
    seed: int
    text: str


@dataclass(frozen=True)
class Tally:
    """How many cases a fuzzer ran, in how many seconds, and what it found."""

    fuzzer: str
    cases: int
    seconds: float
    findings: list[Finding]


@contextlib.contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """Raise `HangError` in this thread after so many seconds."""

    def stop(*_):
        raise HangError(f"no end after {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def run_case(name: str, case: Case, seed: int, folder: Path) -> Finding | None:
    """Run one case in an empty folder."""
    for entry in folder.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    try:
        with time_limit(HANG), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            case(np.random.default_rng([seed, *name.encode()]), folder)
    except Exception:
        return Finding(name, seed, traceback.format_exc())
    return None


def run(name: str, case: Case, *, first: int = 0, cases: float, seconds: float) -> Tally:
    """Run cases with seeds from `first` on until so many are done or so many seconds are over."""
    start, done, findings = time.monotonic(), 0, []
    with tempfile.TemporaryDirectory() as folder:
        while done < cases and time.monotonic() - start < seconds:
            found = run_case(name, case, first + done, Path(folder))
            findings += [found] if found else []
            done += 1
    return Tally(name, done, time.monotonic() - start, findings)
