"""The shell that every command shares: its help page, numbers in options, and how it ends."""

from __future__ import annotations

import argparse
import errno
import math
import os
import sys
from collections.abc import Callable
from typing import TypeVar

__all__ = [
    "add_jobs",
    "add_seed",
    "numbers",
    "page_parser",
    "run_command",
    "whole_number",
    "whole_numbers",
    "words",
]

_Number = TypeVar("_Number", int, float)
_REMEDIES = {
    errno.ENOSPC: "; the disk is full: free space and run the same command again",
    errno.EDQUOT: "; your disk quota is used up: free space and run the same command again",
    errno.EROFS: "; choose a folder that can be written to",
}
_STOPPED = 130  # what shells report for a program that Ctrl-C ended


def run_command(
    name: str,
    work: Callable[[], int | None],
    *,
    unusable: tuple[type[Exception], ...] = (),
    failed: tuple[type[Exception], ...] = (),
) -> int:
    """Run a command and return its exit status; errors that users can fix print one line.

    Parameters
    ----------
    name : str
        Begins every message on standard error.
    work : callable
        Does the work and returns the exit status, None for 0.
    unusable : tuple of exception types
        Errors that mean unusable input, as ValueError, TypeError and OSError do: status 2.
    failed : tuple of exception types
        Errors that mean that some of the work failed: status 1.
    """
    wrong_input: tuple[type[Exception], ...] = (ValueError, TypeError, *unusable)
    try:
        status = work()
        sys.stdout.flush()
        return status or 0
    except BrokenPipeError:  # the reader of our output, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except failed as error:
        return _ended(name, str(error), 1)
    except wrong_input as error:
        return _ended(name, str(error), 2)
    except OSError as error:
        return _ended(name, _system_text(error), 2)
    except MemoryError as error:
        reason = str(error) or "none is left"
        return _ended(name, f"not enough memory ({reason}); lower the numbers asked for", 2)
    except KeyboardInterrupt as stop:
        return _ended(name, str(stop) or "stopped", _STOPPED)


def _system_text(error: OSError) -> str:
    """Return what the system said of which file, and what helps where that is certain."""
    said = error.strerror or str(error)
    said = said if error.filename is None else f"{error.filename}: {said}"
    return f"{said}{_REMEDIES.get(error.errno or 0, '')}"


def _ended(name: str, message: str, status: int) -> int:
    """Say on standard error why the command ended, and return the status."""
    print(f"{name}: {message}", file=sys.stderr)
    return status


def page_parser(module: str, description: str, epilog: str) -> argparse.ArgumentParser:
    """Return the parser of ``python -m module``, whose help page keeps its line breaks."""
    return argparse.ArgumentParser(
        prog=f"python -m {module}",
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_seed(parser: argparse.ArgumentParser) -> None:
    """Add ``--seed N``, a whole number of at least 0."""
    text = "seed of all randomness (default 0)"
    parser.add_argument("--seed", type=whole_number(0), default=0, metavar="N", help=text)


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """Add ``--jobs N``, a whole number of at least 1."""
    text = "worker processes (default: one per core)"
    cores = os.cpu_count() or 1
    parser.add_argument("--jobs", type=whole_number(), default=cores, metavar="N", help=text)


def words(text: str) -> list[str]:
    """Return the distinct words of a list separated by commas."""
    found = [word.strip() for word in text.split(",") if word.strip()]
    if not found:
        raise argparse.ArgumentTypeError(f"expected values separated by commas, got {text!r}")
    return list(dict.fromkeys(found))


def whole_number(least: int = 1) -> Callable[[str], int]:
    """Return the reader of an option whose value is a whole number of at least `least`."""

    def read(text: str) -> int:
        return _numbers([text], int, least, math.inf, f"a whole number of at least {least}")[0]

    return read


def whole_numbers(least: int = 1, most: float = math.inf) -> Callable[[str], list[int]]:
    """Return the reader of whole numbers separated by commas, each from `least` to `most`."""
    limit = "" if most == math.inf else f" and at most {most:g}"

    def read(text: str) -> list[int]:
        return _numbers(words(text), int, least, most, f"whole numbers of at least {least}{limit}")

    return read


def numbers(least: float, most: float) -> Callable[[str], list[float]]:
    """Return the reader of numbers separated by commas, each from `least` to `most`."""

    def read(text: str) -> list[float]:
        return _numbers(words(text), float, least, most, f"numbers from {least:g} to {most:g}")

    return read


def _numbers(
    texts: list[str],
    kind: Callable[[str], _Number],
    least: float,
    most: float,
    expected: str,
) -> list[_Number]:
    """Return the numbers that the texts stand for, or say what was expected."""
    try:
        found = [kind(text) for text in texts]
    except ValueError:
        found = []
    if not found or not all(least <= number <= most for number in found):
        raise argparse.ArgumentTypeError(f"expected {expected}, got {','.join(texts)!r}")
    return found
