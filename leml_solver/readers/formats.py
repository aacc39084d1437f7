"""Which format a file is in, and the options of reading it."""

import os
from dataclasses import dataclass

from argument_checks import one_of, positive_integer, truth_value
from leml_solver.readers.dataset import check_width
from leml_solver.readers.lines import Notes, ReadError, text_lines

FORMATS = ("svmlight", "extreme", "arff", "npz", "blocks")


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadOptions:
    """How to read a file.

    Attributes
    ----------
    format : str, optional
        One of `FORMATS`; detected from the file if None.
    labels : path or int, optional
        ARFF only: Mulan's XML file of label names, or the number of label attributes at the end
        (negative: at the beginning). None looks for an XML file beside the ARFF file.
    n_features, n_labels : int, optional
        Widths of X and Y, for a file that may not use the last columns; an svmlight file needs
        them when it is read in blocks.
    zero_based : bool
        Whether features of an svmlight file count from 0. It is not guessed: a test file without
        feature 0 would be shifted by one.
    strict : bool
        Whether a bad line raises `ReadError`; otherwise it is skipped, counted and reported.
    """

    format: str | None = None
    labels: str | os.PathLike[str] | int | None = None
    n_features: int | None = None
    n_labels: int | None = None
    zero_based: bool = False
    strict: bool = True

    def __post_init__(self) -> None:
        one_of(self.format, "format", (None, *FORMATS))
        for name in ("n_features", "n_labels"):
            if getattr(self, name) is not None:
                check_width(positive_integer(getattr(self, name), name), f"`{name}`")
        for name in ("zero_based", "strict"):
            truth_value(getattr(self, name), name)

    def format_of(self, path: str | os.PathLike[str]) -> str:
        """Return the format given, or else the one that the file seems to have."""
        return self.format or detect_format(path)


def detect_format(path: str | os.PathLike[str]) -> str:
    """Return which of `FORMATS` a file is in, by its first bytes and its first line.

    A folder is blocks; a zip archive is npz; a line that begins with ``@`` or ``%`` is ARFF; three
    whole numbers alone are the Extreme Classification format; anything else is svmlight.
    """
    if os.path.isdir(path):
        return "blocks"
    notes = Notes(os.fspath(path), strict=False)
    for _, line in text_lines(path, notes):
        if line.startswith(b"PK\x03\x04"):
            return "npz"
        word = line.removeprefix(b"\xef\xbb\xbf").strip()
        if word:
            return _format_of_line(word)
    raise ReadError(f"{path}: expected data, got an empty file.")


def _format_of_line(line: bytes) -> str:
    if line[:1] in b"@%":
        return "arff"
    tokens = line.split()
    return "extreme" if len(tokens) == 3 and all(t.isdigit() for t in tokens) else "svmlight"
