"""Rows of an ARFF file, dense or sparse."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from leml_solver.readers.arff_header import Column, Lines, split_values
from leml_solver.readers.dataset import Row
from leml_solver.readers.lines import BadLineError, Notes


@dataclass(frozen=True, slots=True)
class ArffParser:
    """Turns a data line into a row.

    `defaults` are the attributes that are not zero where a sparse row leaves them out.
    """

    columns: list[Column]
    defaults: dict[int, str]

    @classmethod
    def of(cls, columns: list[Column]) -> ArffParser:
        """Return the parser for these columns."""
        kept = {at: column.default for at, column in enumerate(columns) if column.first >= 0}
        defaults = {at: text for at, text in kept.items() if columns[at].decode(text)[1] != 0}
        return cls(columns, defaults)

    def row(self, line: bytes) -> Row:
        """Return the row of a line, or raise `BadLineError`."""
        try:
            text = line.decode("utf-8").strip()
        except UnicodeDecodeError:
            raise BadLineError("the line is not UTF-8 text.") from None
        sparse = text.startswith("{")
        return self._assembled(self._sparse(text) if sparse else self._dense(text))

    def _dense(self, text: str) -> Iterable[tuple[int, str]]:
        values = split_values(text)
        if len(values) != len(self.columns):
            raise BadLineError(f"expected {len(self.columns)} values, got {len(values)}.")
        return enumerate(values)

    def _sparse(self, text: str) -> Iterable[tuple[int, str]]:
        """Return (attribute, value) of the attributes that are listed or not zero otherwise."""
        if not text.endswith("}"):
            raise BadLineError("a sparse row must end with a brace.")
        body = text[1:-1].strip()
        given: dict[int, str] = {}
        for pair in split_pairs(body) if body else ():
            at, value = pair
            if at in given:
                raise BadLineError(f"attribute {at} occurs twice.")
            if at >= len(self.columns):
                raise BadLineError(f"attribute {at}, but there are {len(self.columns)} (from 0).")
            given[at] = value
        return {**self.defaults, **given}.items()

    def _assembled(self, values: Iterable[tuple[int, str]]) -> Row:
        row = Row([], [], [], [])
        for at, text in values:
            column = self.columns[at]
            if column.first < 0:
                continue
            where, value = column.decode(text)
            if column.label:
                _add_label(row, where, value)
            elif value != 0:
                row.features.append(where)  # type: ignore[attr-defined]
                row.values.append(value)  # type: ignore[attr-defined]
        return row


def _add_label(row: Row, label: int, value: float) -> None:
    if math.isnan(value):
        row.missing.append(label)  # type: ignore[attr-defined]
    elif value > 0:
        row.labels.append(label)  # type: ignore[attr-defined]


def split_pairs(body: str) -> Iterator[tuple[int, str]]:
    """Yield attribute number and value of the inside of a sparse row."""
    for piece in _pieces(body):
        number, _, value = piece.strip().partition(" ")
        if not (number.isascii() and number.isdigit() and len(number) < 10 and value.strip()):
            raise BadLineError(f"expected 'NUMBER VALUE', got {piece[:40]!r}.")
        yield int(number), split_values(value.strip())[0]


def _pieces(body: str) -> list[str]:
    """Return the parts between commas that are not inside quotes."""
    if "'" not in body and '"' not in body:
        return body.replace("\t", " ").split(",")
    pieces, start, quote, escaped = [], 0, "", False
    for at, character in enumerate(body):
        if escaped:
            escaped = False
        elif quote:
            escaped, quote = character == "\\", "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == ",":
            pieces.append(body[start:at])
            start = at + 1
    return [*pieces, body[start:]]


def arff_rows(lines: Lines, notes: Notes, parser: ArffParser) -> Iterator[Row]:
    """Yield the rows after ``@data``; empty and comment lines are skipped."""
    for number, line in lines:
        if not line.strip() or line.lstrip().startswith(b"%"):
            continue
        try:
            row = parser.row(line)
        except BadLineError as error:
            notes.bad(number, error)
        else:
            yield row
