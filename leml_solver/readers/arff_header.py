"""The header of an ARFF file: attributes, their kinds, and the columns they become."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from leml_solver.readers.lines import BadLineError, Notes, ReadError

Lines = Iterator[tuple[int, bytes]]
_QUOTED = r"'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\""
_ATTRIBUTE = re.compile(rf"@attribute\s++({_QUOTED}|[^\s{{]++)\s*+(.*)", re.IGNORECASE | re.DOTALL)
_VALUE = re.compile(rf"\s*+(?:({_QUOTED})|([^,'\"]*+))\s*+(?:,|$)")
_NUMERIC = ("numeric", "real", "integer")
_YES, _NO = ("1", "yes", "true", "y", "t"), ("0", "no", "false", "n", "f")


@dataclass(frozen=True, slots=True)
class Attribute:
    """A declared attribute; `values` is None unless it is nominal, `kind` its type otherwise."""

    name: str
    kind: str
    values: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """What an attribute's value becomes."""

    name: str
    # Its first column among the features, or its number among the labels; -1 if it is dropped.
    first: int
    label: bool = False
    # For a nominal attribute, the column and the number of
    # each value; None for a number.
    codes: Mapping[str, tuple[int, float]] | None = None
    default: str = "0"  # the value that a sparse row omits

    def decode(self, text: str) -> tuple[int, float]:
        """Return the column and the number of a value."""
        if self.codes is not None:
            if text not in self.codes:
                raise BadLineError(f"{text[:40]!r} is not a value of attribute {self.name!r}.")
            return self.codes[text]
        return self.first, _number(text, self.name)


def _number(text: str, name: str) -> float:
    if "_" in text or text == "?":
        raise BadLineError(
            f"attribute {name!r} is missing or not a number ({text[:40]!r}); impute it."
        )
    try:
        value = float(text)
    except ValueError:
        raise BadLineError(f"attribute {name!r} must be a number, got {text[:40]!r}.") from None
    if not math.isfinite(value):
        raise BadLineError(f"attribute {name!r} must be finite, got {text[:40]!r}.")
    return value


def arff_header(lines: Lines, path: str) -> tuple[str, list[Attribute]]:
    """Read up to ``@data``; return the relation's name and the attributes."""
    relation, attributes = "", []
    for number, raw in lines:
        try:
            line = raw.decode("utf-8", "replace").strip()
            word = line.split(None, 1)[0].lower() if line else "%"
            if word == "@relation":
                relation = unquoted(line[len(word) :].strip())
            elif word == "@attribute":
                attributes.append(_attribute(line))
            elif word == "@data" and attributes:
                return relation, attributes
            elif not word.startswith("%"):
                raise BadLineError(f"expected @attribute or @data, got {line[:40]!r}.")
        except BadLineError as error:
            raise ReadError(f"{path}, line {number}: {error}") from None
    raise ReadError(f"{path}: expected attributes and @data, got the end of the file.")


def _attribute(line: str) -> Attribute:
    match = _ATTRIBUTE.fullmatch(line)
    if not match or not match.group(2):
        raise BadLineError(f"expected '@attribute NAME TYPE', got {line[:60]!r}.")
    name, kind = unquoted(match.group(1)), match.group(2).strip()
    if kind.startswith("{"):
        if not kind.endswith("}"):
            raise BadLineError(f"the values of attribute {name!r} have no closing brace.")
        return Attribute(name, "nominal", tuple(split_values(kind[1:-1])))
    return Attribute(name, kind.split()[0].lower())


def unquoted(text: str) -> str:
    """Return a word without its quotes and escapes."""
    if len(text) >= 2 and text[0] in "'\"" and text[-1] == text[0]:
        return re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL)
    return text


def split_values(text: str) -> list[str]:
    """Return comma-separated values, of which some may be quoted."""
    if "'" not in text and '"' not in text:
        return [value.strip() for value in text.split(",")]
    values, at = [], 0
    while at < len(text):
        match = _VALUE.match(text, at)
        if not match or match.end() == at:
            raise BadLineError(f"quotes do not match near {text[at : at + 40]!r}.")
        quoted, plain = match.groups()
        values.append(unquoted(quoted) if quoted else plain.strip())
        at = match.end()
    return values


def columns(attributes: list[Attribute], labels: list[int], notes: Notes) -> list[Column]:
    """Return what each attribute becomes: columns of X, a label, or nothing.

    A number is one column; a nominal attribute whose values are numbers or yes/no words is one
    column; any other nominal attribute has one column per value; strings and dates are dropped.
    """
    number_of = {at: label for label, at in enumerate(labels)}
    made, width = [], 0
    for at, attribute in enumerate(attributes):
        if at in number_of:
            column, used = _label_column(attribute, number_of[at], notes.path), 0
        else:
            column, used = _feature_column(attribute, width)
        if column.first < 0:
            notes.remark(f"attribute {attribute.name!r} of type {attribute.kind} is dropped.")
        made.append(column)
        width += used
    return made


def _label_column(attribute: Attribute, number: int, path: str) -> Column:
    """Return the column of a label, which must be 0/1 or yes/no."""
    if attribute.values is None and attribute.kind not in _NUMERIC:
        raise ReadError(f"{path}: label {attribute.name!r} must be 0/1, got {attribute.kind}.")
    values = attribute.values or ("0", "1", "0.0", "1.0")
    codes = {value: (number, _zero_or_one(value)) for value in values}
    if any(math.isnan(code) for _, code in codes.values()):
        raise ReadError(f"{path}: label {attribute.name!r} must be 0/1 or yes/no, got {values}.")
    return Column(attribute.name, number, True, {**codes, "?": (number, math.nan)}, values[0])


def _zero_or_one(value: str) -> float:
    word = value.lower().removesuffix(".0")
    return 1.0 if word in _YES else 0.0 if word in _NO else math.nan


def _feature_column(attribute: Attribute, first: int) -> tuple[Column, int]:
    """Return the column or columns of a feature, and how many they are."""
    if attribute.values is None:
        kept = attribute.kind in _NUMERIC
        return Column(attribute.name, first if kept else -1), int(kept)
    values = attribute.values
    try:
        numbers = [_number(value, attribute.name) for value in values]
    except BadLineError:
        numbers = [_zero_or_one(value) for value in values]
    if any(math.isnan(number) for number in numbers):
        codes = {value: (first + at, 1.0) for at, value in enumerate(values)}
        return Column(attribute.name, first, codes=codes, default=values[0]), len(values)
    codes = {value: (first, number) for value, number in zip(values, numbers, strict=True)}
    return Column(attribute.name, first, codes=codes, default=values[0]), 1
