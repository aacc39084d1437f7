"""Reading a file of any format, as a whole or in blocks of rows."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from argument_checks import positive_integer
from leml_solver._archives import MAX_BYTES
from leml_solver.readers.arff import ArffParser, arff_rows
from leml_solver.readers.arff_header import arff_header, columns
from leml_solver.readers.dataset import MAX_COLUMNS, Dataset, Row, RowBuffer
from leml_solver.readers.formats import ReadOptions
from leml_solver.readers.lines import Notes, ReadError, text_lines
from leml_solver.readers.mulan_labels import label_positions
from leml_solver.readers.npz import npz_blocks, read_npz
from leml_solver.readers.pairs import PairParser, extreme_header, extreme_rows, svmlight_rows
from safe_files import memory_budget

_ROWS = 4096  # of a block
_FREE_ROWS = 2**28  # bytes that the rows of any file may take
_ROWS_PER_BYTE = 300  # "1:1 " takes 12, and gzip may unpack a hundred times its size


@dataclass(frozen=True, slots=True)
class _Source:
    """Rows still to be read, and what is known about their columns."""

    rows: Iterator[Row]
    n_features: int | None
    n_labels: int | None
    label_names: tuple[str, ...] = ()
    feature_names: tuple[str, ...] = ()


def read(path: str | os.PathLike[str], options: ReadOptions | None = None) -> Dataset:
    """Read a whole file.

    Memory while reading is about twice that of the matrices returned: 12 bytes per stored feature
    in buffers, then the CSR arrays.

    Raises
    ------
    ReadError
        Naming the file, and the line where there is one.
    """
    name, options = os.fspath(path), options or ReadOptions()
    kind = options.format_of(name)
    if kind == "npz":
        return _read_npz(name, options)
    if kind == "blocks":
        from leml_solver.blocks import joined

        return joined(list(_folder_blocks(name, options)))
    (whole,) = _blocks(name, options, None)
    return whole


def read_blocks(
    path: str | os.PathLike[str], options: ReadOptions | None = None, *, rows: int = _ROWS
) -> Iterator[Dataset]:
    """Read a file in blocks of rows, so that memory does not grow with the file.

    An npz file is read as a whole and then cut. Bad lines are reported with the block that holds
    them. The labels of svmlight blocks are as wide as the block unless `n_labels` is given.
    """
    name, options = os.fspath(path), options or ReadOptions()
    rows, kind = positive_integer(rows, "rows"), options.format_of(name)
    if kind == "svmlight" and options.n_features is None:
        raise ReadError(f"{name}: pass n_features; blocks of svmlight rows do not show it.")
    if kind == "npz":
        yield from _cut(_read_npz(name, options), rows)
    elif kind == "blocks":
        yield from _folder_blocks(name, options)
    else:
        yield from _blocks(name, options, rows)


def stream(path: str, options: ReadOptions, *, rows_named: str | None = None) -> Iterator[Dataset]:
    """Read a file in blocks, npz files too, perhaps only the rows whose numbers an npz file has."""
    if options.format_of(path) != "npz":
        if rows_named is not None:
            raise ReadError(f"{path}: only an npz file has row numbers such as {rows_named}.")
        yield from read_blocks(path, options)
        return
    for block in npz_blocks(path, rows_named, _ROWS):
        _check_widths((block.X.shape[1], block.Y.shape[1]), options, path)
        yield block


def with_widths(path: str, options: ReadOptions) -> ReadOptions:
    """Return options with the widths of an svmlight file, read once to find those not given."""
    given = options.n_features, options.n_labels
    if None not in given or options.format_of(path) != "svmlight":
        return options
    d, L = 0, 0
    for row in _source(path, options, Notes(path, options.strict)).rows:
        d, L = max(d, 1 + max(row.features, default=-1)), max(L, 1 + max(row.labels, default=-1))
    return replace(options, n_features=given[0] or max(d, 1), n_labels=given[1] or max(L, 1))


def _folder_blocks(path: str, options: ReadOptions) -> Iterator[Dataset]:
    from leml_solver.blocks import BlockFolder

    folder = BlockFolder.open(path)
    _check_widths((folder.n_features, folder.n_labels), options, path)
    for number in range(len(folder.blocks)):
        yield folder.dataset(number)


def _read_npz(path: str, options: ReadOptions) -> Dataset:
    data = read_npz(path)
    _check_widths((data.X.shape[1], data.Y.shape[1]), options, path)
    return data


def _cut(data: Dataset, rows: int) -> Iterator[Dataset]:
    n = data.X.shape[0]
    for start in range(0, n, rows):
        yield data.rows(np.arange(start, min(start + rows, n)))


def _blocks(path: str, options: ReadOptions, rows: int | None) -> Iterator[Dataset]:
    notes = Notes(path, options.strict)
    source = _source(path, options, notes)
    # Rows may take as much memory as the size of the file explains, and as is free.
    size = os.path.getsize(path) if os.path.isfile(path) else 0  # of others, reading says why
    most = memory_budget(min(MAX_BYTES, _FREE_ROWS + _ROWS_PER_BYTE * size))
    buffer, blocks = RowBuffer(), 0
    for row in source.rows:
        buffer.add(row)
        if buffer.size > most:
            raise ReadError(
                f"{path}: the rows would take more than {most} bytes of memory; read_blocks reads "
                "some of them at a time."
            )
        if len(buffer) == rows:
            yield _finished(buffer, source, notes)
            buffer, blocks = RowBuffer(), blocks + 1
    if not blocks and not len(buffer):
        first = f": {notes.messages[0]}" if notes.messages else ""
        raise ReadError(f"{path}: expected rows, got none and {notes.skipped} bad lines{first}.")
    if len(buffer) or notes.messages:
        yield _finished(buffer, source, notes)


def _finished(buffer: RowBuffer, source: _Source, notes: Notes) -> Dataset:
    skipped, messages = notes.taken()
    return buffer.dataset(
        source.n_features,
        source.n_labels,
        label_names=source.label_names,
        feature_names=source.feature_names,
        skipped=skipped,
        messages=messages,
    )


def _source(path: str, options: ReadOptions, notes: Notes) -> _Source:
    kind = options.format_of(path)
    lines = text_lines(path, notes)
    if kind == "arff":
        return _arff_source(lines, options, notes)
    d, L = options.n_features, options.n_labels
    if kind == "extreme":
        n, d, L = extreme_header(lines, path)
        _check_widths((d, L), options, path)
        parser = PairParser(0, d, L)
        return _Source(extreme_rows(lines, notes, parser, n), d, L)
    parser = PairParser(0 if options.zero_based else 1, d, L)
    return _Source(svmlight_rows(lines, notes, parser), d, L)


def _arff_source(lines: Any, options: ReadOptions, notes: Notes) -> _Source:
    relation, attributes = arff_header(lines, notes.path)
    names = [attribute.name for attribute in attributes]
    chosen = label_positions(notes.path, options.labels, relation, names)
    made = columns(attributes, chosen, notes)
    feature_names = _feature_names(made)
    _check_widths((len(feature_names), len(chosen)), options, notes.path)
    rows = arff_rows(lines, notes, ArffParser.of(made))
    label_names = tuple(names[at] for at in chosen)
    return _Source(rows, len(feature_names), len(chosen), label_names, feature_names)


def _feature_names(made: list[Any]) -> tuple[str, ...]:
    names: list[str] = []
    for column in made:
        if column.label or column.first < 0:
            continue
        wide = column.codes and len({where for where, _ in column.codes.values()}) > 1
        names += [f"{column.name}={value}" for value in column.codes] if wide else [column.name]
    return tuple(names)


def _check_widths(found: tuple[int, int], options: ReadOptions, path: Any) -> None:
    for width, name in zip(found, ("features", "labels"), strict=True):
        if width > MAX_COLUMNS:
            raise ReadError(f"{path}: more than {MAX_COLUMNS} {name}, {width}.")
    asked = (options.n_features or found[0], options.n_labels or found[1])
    if asked != found:
        raise ReadError(
            f"{path}: expected {asked[0]} features and {asked[1]} labels, got {found[0]} and "
            f"{found[1]}."
        )
