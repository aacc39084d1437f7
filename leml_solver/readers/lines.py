"""Lines of text files, plain or gzipped, with what is wrong in them."""

import gzip
import math
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, cast

from safe_files import open_regular

MAX_LINE = 16 * 2**20  # bytes; the longest row of the public data sets is below one of these
_EXPANSION = 100  # bytes of text per byte of a gzip file; real data have 2 to 30
_FREE_TEXT = 16 * 2**20  # bytes of text that any gzip file may hold
_LINE_COST = 50  # bytes that the work on a line, even an empty one, counts for
_SHOWN = 5
_GZIP = b"\x1f\x8b"


class ReadError(ValueError):
    """A file that cannot be read; the message names it and the line."""


class BadLineError(ValueError):
    """A line that cannot be read; the caller adds file and number."""


@dataclass(slots=True)
class Notes:
    """What a reader has to say about a file."""

    path: str
    # Whether the first bad line raises `ReadError`; otherwise it is skipped and counted.
    strict: bool = True
    skipped: int = 0  # bad lines skipped
    # The first few of them, and remarks such as dropped attributes.
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
        with open_regular(path) as raw, _unpacked(raw) as file:
            left = _allowance(raw, file)
            while line := file.readline(MAX_LINE + 1):
                number += 1
                left -= len(line) + _LINE_COST
                if left < 0:
                    raise ReadError(
                        f"{path}, line {number}: the gzip file holds more than {_EXPANSION} times "
                        "its size; if that is meant, unpack it first."
                    )
                if len(line) > MAX_LINE:
                    if b"\0" in line:  # such as a file of zeros, to be skipped for hours
                        raise ReadError(f"{path}, line {number}: zero bytes; not a text file.")
                    notes.bad(number, f"longer than {MAX_LINE} bytes.")
                    _skip_line(file)
                else:
                    yield number, line.rstrip(b"\r\n")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ReadError(
            f"{path}, line {number + 1}: the gzip file is damaged or cut short ({error}); "
            "fetch it again."
        ) from error
    except OSError as error:
        raise ReadError(f"{path}: cannot be read ({error.strerror or error}).") from error


def _unpacked(file: IO[bytes]) -> IO[bytes]:
    """Return the bytes of a file, through gzip if the first of them say so."""
    zipped = file.read(2) == _GZIP
    file.seek(0)
    return cast(IO[bytes], gzip.open(file, "rb")) if zipped else file


def _allowance(raw: IO[bytes], file: IO[bytes]) -> float:
    """Return how much text may come: any amount, unless it is unpacked."""
    size = os.fstat(raw.fileno()).st_size
    return math.inf if file is raw else _FREE_TEXT + _EXPANSION * size


def _skip_line(file: IO[bytes]) -> None:
    """Read on to the end of an overlong line, a piece at a time."""
    while (piece := file.readline(MAX_LINE)) and not piece.endswith(b"\n"):
        pass
