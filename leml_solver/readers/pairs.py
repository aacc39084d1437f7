"""Lines of the form ``label,label feature:value feature:value``.

They are the rows of two formats: svmlight with several labels (features counted from 1, no header)
and that of the Extreme Classification Repository (counted from 0, after a line ``n d L``).
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from leml_solver.readers.dataset import MAX_COLUMNS, Row
from leml_solver.readers.lines import BadLineError, Notes, ReadError

Lines = Iterator[tuple[int, bytes]]
_NUMBER = rb"[-+]?+(?:\d++\.?+\d*+|\.\d++)(?:[eE][-+]?+\d++)?+"
_PAIRS = re.compile(rb"(?:\d{1,10}+:" + _NUMBER + rb"(?:[ \t]++|$))*+")
_LABELS = re.compile(rb"\d{1,10}+(?:\.0*+)?+(?:,\d{1,10}+(?:\.0*+)?+)*+")
_HEADER = re.compile(rb"[ \t]*+(\d{1,12}+)[ \t]++(\d{1,12}+)[ \t]++(\d{1,12}+)[ \t]*+")


@dataclass(frozen=True, slots=True)
class PairParser:
    """Turns a line into a row; `n_features` and `n_labels` of None mean `MAX_COLUMNS`."""

    base: int = 0
    n_features: int | None = None
    n_labels: int | None = None

    def row(self, line: bytes) -> Row:
        """Return the row of a line, or raise `BadLineError`."""
        labels, pairs = self._halves(line)
        if not _PAIRS.fullmatch(pairs):
            raise BadLineError(f"expected feature:value pairs, got {_shown(_strange(pairs))}.")
        tokens = pairs.replace(b":", b" ").split()
        features = [int(token) - self.base for token in tokens[::2]]
        values = list(map(float, tokens[1::2]))
        self._check_features(features, values)
        return Row(features, values, self._labels(labels))

    def _halves(self, line: bytes) -> tuple[bytes, bytes]:
        """Return the labels and the pairs of a line; qid of ranking files is left out."""
        text = line.split(b"#", 1)[0].replace(b"\t", b" ").rstrip()
        first, _, rest = text.partition(b" ")
        if b":" in first:
            first, rest = b"", text
        rest = rest.strip()
        if rest.startswith(b"qid:"):
            rest = rest.partition(b" ")[2].lstrip()
        return first, rest

    def _check_features(self, features: list[int], values: list[float]) -> None:
        limit = MAX_COLUMNS if self.n_features is None else self.n_features
        if not features:
            return
        if min(features) < 0:
            raise BadLineError("feature 0, but features count from 1; pass zero_based=True.")
        if max(features) >= limit:
            raise BadLineError(
                f"feature {max(features) + self.base}, but there are {limit} features."
            )
        if len(set(features)) < len(features):
            raise BadLineError("a feature occurs twice.")
        if not all(map(math.isfinite, values)):
            raise BadLineError("a value is too large for a float.")

    def _labels(self, text: bytes) -> list[int]:
        if not text:
            return []
        if not _LABELS.fullmatch(text):
            raise BadLineError(f"expected labels such as 3,17 counted from 0, got {_shown(text)}.")
        labels = sorted({int(token.partition(b".")[0]) for token in text.split(b",")})
        limit = MAX_COLUMNS if self.n_labels is None else self.n_labels
        if labels[-1] >= limit:
            raise BadLineError(f"label {labels[-1]}, but labels run from 0 to {limit - 1}.")
        return labels


def svmlight_rows(lines: Lines, notes: Notes, parser: PairParser) -> Iterator[Row]:
    """Yield the rows of a multi-label svmlight file; empty and comment lines are skipped."""
    for number, line in lines:
        if line.split(b"#", 1)[0].strip():
            yield from _attempt(number, line, notes, parser)


def extreme_header(lines: Lines, path: str) -> tuple[int, int, int]:
    """Return n, d, L from the first line of an Extreme Classification file."""
    number, line = next(lines, (1, b""))
    match = _HEADER.fullmatch(line)
    if not match:
        raise ReadError(f"{path}, line {number}: expected 'n d L', got {_shown(line)}.")
    n, d, L = (int(group) for group in match.groups())
    if max(d, L) > MAX_COLUMNS:
        raise ReadError(f"{path}, line {number}: more than {MAX_COLUMNS} columns, {d} and {L}.")
    return n, d, L


def extreme_rows(lines: Lines, notes: Notes, parser: PairParser, n: int) -> Iterator[Row]:
    """Yield the rows after the header, of which there should be n."""
    seen = 0
    for number, line in lines:
        if seen < n or line.strip():  # an empty line is a point without labels and features
            seen += 1
            yield from _attempt(number, line, notes, parser)
    if seen != n:
        notes.doubt(f"the first line promises {n} rows, got {seen}; the file may be cut short.")


def _attempt(number: int, line: bytes, notes: Notes, parser: PairParser) -> Iterator[Row]:
    """Yield the row of a line, or note that it is bad."""
    try:
        row = parser.row(line)
    except BadLineError as error:
        notes.bad(number, error)
        return
    yield row


def _strange(pairs: bytes) -> bytes:
    return next((token for token in pairs.split() if not _PAIRS.fullmatch(token)), pairs)


def _shown(text: bytes) -> str:
    """Return the beginning of some bytes, printable."""
    return ascii(text[:40].decode("latin-1")) + ("..." if len(text) > 40 else "")
