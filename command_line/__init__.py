"""The shell that every command shares: its help page, numbers in options, and how it ends."""

import argparse
import errno
import math
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TypeVar

_Number = TypeVar("_Number", int, float)
_MOST_DIGITS = 100  # 1e1000000 is a typing error, and would take a while
_LEAST_WIDTH = 6  # of a column that is cut to fit the terminal
_COLOURS = {"red": 31, "green": 32, "yellow": 33}
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


def output_folder(name: str, option: str) -> Path:
    """Return the folder that an option names, made where it does not exist, or say why it is none.

    To be called before the work rather than after it.
    """
    folder = Path(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"{option} {name}: cannot be made ({error.strerror}).") from error
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{option} {name}: cannot be written to; name another folder.")
    return folder


def table_lines(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table in aligned columns, numbers to the right, no wider than the terminal.

    If it is too wide, columns that are the same in all rows are given in a line below, then the
    widest columns of words are cut, and the gaps between columns last. What is not shown on a
    terminal is as wide as it needs.
    """
    table = [list(heads), *map(list, rows)]
    most = shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    same = [i for i in range(len(heads)) if len({row[i] for row in table[1:]}) == 1]
    if sum(widths) + 2 * len(widths) > most and 0 < len(same) < len(heads) and len(table) > 2:
        told = ", ".join(f"{heads[i]} {table[1][i] or 'none'}" for i in same)
        shorter = [[text for i, text in enumerate(row) if i not in same] for row in table]
        return [*table_lines(shorter[0], shorter[1:]), f"(in all lines: {told})"]
    numeric = [all(_is_number(row[i]) for row in table[1:]) for i in range(len(heads))]
    while sum(widths) + 2 * len(widths) > most:
        widest = max(range(len(widths)), key=lambda i: 0 if numeric[i] else widths[i])
        if numeric[widest] or widths[widest] <= _LEAST_WIDTH:
            break
        widths[widest] -= 1
    gap = "  " if sum(widths) + 2 * len(widths) <= most else " "
    return [
        gap.join(_cell(*part) for part in zip(row, widths, numeric, strict=True)).rstrip()
        for row in table
    ]


def _is_number(text: str) -> bool:
    return not text.strip("+-.0123456789e%± ")


def _cell(text: str, width: int, numeric: bool) -> str:
    shown = text if len(text) <= width else f"{text[: width - 1]}…"
    return shown.rjust(width) if numeric else shown.ljust(width)


def painted(text: str, colour: str) -> str:
    """Return the text in 'red', 'green' or 'yellow' on a terminal, unless NO_COLOR is set."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m"


def counted(number: int, noun: str, several: str = "") -> str:
    """Return a number of things in words: '1 cell', '2 cells'."""
    return f"{number} {noun if number == 1 else several or f'{noun}s'}"


def words(text: str) -> list[str]:
    """Return the distinct words of a list separated by commas."""
    found = [word.strip() for word in text.split(",") if word.strip()]
    if not found:
        raise argparse.ArgumentTypeError(f"expected values separated by commas, got {text!r}")
    return list(dict.fromkeys(found))


def whole_number(least: int = 1) -> Callable[[str], int]:
    """Return the reader of an option whose value is a whole number of at least `least`."""
    expected = f"a whole number of at least {least}"
    return lambda text: _numbers([text], whole, least, math.inf, expected)[0]


def whole_numbers(least: int = 1, most: float = math.inf) -> Callable[[str], list[int]]:
    """Return the reader of whole numbers separated by commas, each from `least` to `most`."""
    limit = "" if most == math.inf else f" and at most {most:g}"
    expected = f"whole numbers of at least {least}{limit}"
    return lambda text: _numbers(words(text), whole, least, most, expected)


def number(least: float, most: float) -> Callable[[str], float]:
    """Return the reader of an option whose value is a number from `least` to `most`."""
    expected = f"a number from {least:g} to {most:g}"
    return lambda text: _numbers([text], float, least, most, expected)[0]


def numbers(least: float, most: float) -> Callable[[str], list[float]]:
    """Return the reader of numbers separated by commas, each from `least` to `most`."""
    expected = f"numbers from {least:g} to {most:g}"
    return lambda text: _numbers(words(text), float, least, most, expected)


def whole(text: str) -> int:
    """Return the whole number that a text such as 1000, 1e6 or 2.5e3 stands for."""
    number = Decimal(text.strip())
    if not number.is_finite() or number.adjusted() > _MOST_DIGITS or number != int(number):
        raise ValueError(f"expected a whole number, got {text!r}")
    return int(number)


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
    except (ValueError, ArithmeticError):
        found = []
    if not found or not all(least <= number <= most for number in found):
        raise argparse.ArgumentTypeError(f"expected {expected}, got {','.join(texts)!r}")
    return found
