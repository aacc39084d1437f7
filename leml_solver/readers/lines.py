"""Lines of text files, plain or gzipped, with what is wrong in them."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, cast

__all__ = ["BadLineError", "Notes", "ReadError", "text_lines"]

MAX_LINE = 64 * 2**20  # bytes; the longest row of the public data sets is below one of these
_SHOWN = 5
_GZIP = b"\x1f\x8b"


class ReadError(ValueError):
    """A file that cannot be read; the message names it and the line."""


class BadLineError(ValueError):
    """A line that cannot be read; the caller adds file and number."""


@dataclass(slots=True)
class Notes:
    """What a reader has to say about a file.

    Attributes
    ----------
    path : str
        The file.
    strict : bool
        Whether the first bad line raises `ReadError`; otherwise it is skipped and counted.
    skipped : int
        Bad lines skipped.
    messages : list of str
        The first few of them, and remarks such as dropped attributes.
    """

    path: str
    strict: bool = True
    skipped: int = 0
    messages: list[str] = field(default_factory=list)

    def bad(self, number: int, reason: object) -> None:
        """Raise or count a bad line."""
        message = f"{self.path}, line {number}: {reason}"
        if self.strict:
            raise ReadError(f"{message} Correct the line, or read with strict=False to skip it.")
        self.skipped += 1
        if self.skipped <= _SHOWN:
            self.messages.append(message)

    def doubt(self, reason: str) -> None:
        """Raise in strict mode, else keep a remark."""
        if self.strict:
            raise ReadError(f"{self.path}: {reason} Read with strict=False to take what there is.")
        self.remark(reason)

    def taken(self) -> tuple[int, tuple[str, ...]]:
        """Return how many lines were skipped and the messages, and start again."""
        taken = self.skipped, tuple(self.messages)
        self.skipped, self.messages = 0, []
        return taken

    def remark(self, reason: str) -> None:
        """Keep a remark about the file."""
        self.messages.append(f"{self.path}: {reason}")


def text_lines(path: str | os.PathLike[str], notes: Notes) -> Iterator[tuple[int, bytes]]:
    """Yield number and bytes of each line, without its end; overlong lines are bad lines."""
    number = 0
    try:
        with _opened(path) as file:
            while line := file.readline(MAX_LINE + 1):
                number += 1
                if len(line) > MAX_LINE:
                    _skip_line(file)
                    notes.bad(number, f"longer than {MAX_LINE} bytes.")
                else:
                    yield number, line.rstrip(b"\r\n")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ReadError(
            f"{path}, line {number + 1}: the gzip file is damaged or cut short ({error}); "
            "fetch it again."
        ) from error
    except OSError as error:
        raise ReadError(f"{path}: cannot be read ({error.strerror or error}).") from error


def _opened(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open a file for reading bytes, through gzip if its first bytes say so."""
    with open(path, "rb") as file:
        zipped = file.read(2) == _GZIP
    if not zipped:
        return open(path, "rb")
    return cast(IO[bytes], gzip.open(path, "rb"))


def _skip_line(file: IO[bytes]) -> None:
    """Read on to the end of an overlong line, a piece at a time."""
    while (piece := file.readline(MAX_LINE)) and not piece.endswith(b"\n"):
        pass
