"""The store: a folder that keeps the results of one grid even if the run is killed.

    manifest.json      what grid and seed the folder belongs to
    shards/*.jsonl     one result per line; each run appends to a file of its own
    provenance/*.json  what each measuring process was; every line names one of them
    lock               held by the run that is writing, released by the system when it ends or dies

Reading executes nothing: everything is JSON.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import math
import os
import re
import secrets
import struct
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from leml_theory.runs.agreement import agree
from leml_theory.runs.cells import (
    SCHEMA,
    Cell,
    Scalar,
    canonical_json,
    digest,
    plain_scalar,
    plain_value,
)
from leml_theory.runs.provenance import Code, Source, other_code
from safe_files import (
    LockedError,
    disk_error_text,
    locked,
    read_whole,
    sync_folder,
    write_text,
    written_aside,
)

Record = dict[str, Scalar]

_LONGEST = 1e12  # seconds that a cell can have taken
_HEAD, _MIDDLE, _TAIL = b'{"checksum":"', b'","result":', b"}"
_PAYLOAD = len(_HEAD) + 64 + len(_MIDDLE)  # 64 hexadecimal digits of SHA-256

_MANIFEST = "manifest.json"
_SHARDS, _SOURCES, _LOCK = "shards", "provenance", "lock"
ELSEWHERE = "Choose another folder, or move this one away"
_REMOVE_LINE = (
    "Delete that line, or that file, and run the same command again: only what was in it is "
    "measured anew."
)
_RECOMPUTE = ", or have its results measured again (`--recompute`)"
_CONFLICT = "contradicts another result of the same cell"


class StoreError(RuntimeError):
    """A folder of results cannot be used; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Result:
    """The records that one cell gave, the seconds it took, and the `Source.id` of the process.

    Lines of earlier versions name no source.
    """

    key: str
    records: list[Record]
    seconds: float
    source: str = ""

    def to_line(self) -> bytes:
        """Return the line that stores this result."""
        records = [{name: _encoded(record[name]) for name in record} for record in self.records]
        content = {"key": self.key, "seconds": self.seconds, "records": records}
        content |= {"source": self.source} if self.source else {}
        payload = json.dumps(content, separators=(",", ":"), allow_nan=False).encode("ascii")
        return _checked_line(payload) + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> Result:
        """Read a line without its newline; ValueError unless every byte is as it was written."""
        payload = line[_PAYLOAD : -len(_TAIL)]
        if line != _checked_line(payload):
            raise ValueError("its checksum does not match")
        content = json.loads(payload)
        records = [{k: _decoded(v) for k, v in record.items()} for record in content["records"]]
        key, seconds, source = content["key"], content["seconds"], content.get("source", "")
        if not (type(key) is type(source) is str and 0 <= seconds < _LONGEST):
            raise ValueError("it holds no key, source and seconds")
        return cls(key, checked_records(records), seconds, source)


def _checked_line(payload: bytes) -> bytes:
    """Return a line that holds a payload and its checksum."""
    checksum = hashlib.sha256(payload).hexdigest().encode("ascii")
    return b"".join((_HEAD, checksum, _MIDDLE, payload, _TAIL))


def checked_records(records: Any) -> list[Record]:
    """Return what a measurement gave as plain records, or say which value cannot be stored."""
    if not isinstance(records, list | tuple):
        raise TypeError(f"A measurement must return a list of records, got {records!r}.")
    return [_checked_record(record, f"record {i}") for i, record in enumerate(records)]


def _checked_record(record: Any, place: str) -> Record:
    """Return a record of plain scalars, or say which one cannot be stored."""
    if not isinstance(record, Mapping) or not all(type(name) is str for name in record):
        raise TypeError(f"`{place}` must map strings to scalars, got {record!r}.")
    return {
        str(plain_scalar(name, place)): plain_scalar(value, f"{place}: {name}")
        for name, value in record.items()
    }


def _encoded(value: Scalar) -> Any:
    """Write NaN and the infinities by their bits: JSON cannot represent them."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"float64": struct.pack(">d", value).hex()}
    return value


def _decoded(value: Any) -> Scalar:
    """Return a scalar that `_encoded` wrote."""
    if isinstance(value, dict):
        return float(struct.unpack(">d", bytes.fromhex(value["float64"]))[0])
    return value  # type: ignore[no-any-return]


def read_shard(path: Path) -> list[Result | ValueError]:
    """Return what each line of a shard holds: a result, or why the line cannot be trusted.

    What follows the last newline is a line that a kill or a power cut tore; it is left out, and
    its cell is measured again.
    """
    try:
        lines = read_whole(path).split(b"\n")[:-1]
    except OSError as error:
        raise StoreError(disk_error_text(f"read `{path}`", error)) from error
    return [_result_or_error(line) for line in lines]


def _result_or_error(line: bytes) -> Result | ValueError:
    """Return the result that a line holds, or why it holds none."""
    try:
        return Result.from_line(line)
    except ValueError as error:
        return error
    except (LookupError, TypeError, AttributeError, RecursionError, struct.error) as error:
        return ValueError(f"it holds no result: {error}")


class Shard:
    """A file of results to which one process appends; created with the first result."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder
        self._descriptor: int | None = None
        self._known: set[str] = set()

    def extend(self, results: Iterable[Result], source: Source | None = None) -> None:
        """Write the record of a source, then results, and wait until the disk has them."""
        lines = b"".join(result.to_line() for result in results)
        try:
            if source is not None and source.id not in self._known:
                _write_source(self._folder.parent / _SOURCES, source)
                self._known.add(source.id)
            if lines:
                self._write(lines)
        except OSError as error:
            self.close()  # A torn line may end this file: what comes next goes to another one.
            raise StoreError(disk_error_text(f"write to `{self._path}`", error)) from error

    def _write(self, lines: bytes) -> None:
        """Write lines to the file of this process, and wait until the disk has them."""
        if self._descriptor is None:
            self._path = self._folder / f"{os.getpid()}-{secrets.token_hex(8)}.jsonl"
            self._descriptor = _new_file(self._path)
        rest = memoryview(lines)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]
        os.fsync(self._descriptor)

    def close(self) -> None:
        """Close the file, if there is one."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = None


def _write_source(folder: Path, source: Source) -> None:
    """Write what a process was, under its own id; a damaged record is replaced."""
    path = folder / f"{source.id}.json"
    if _read_source(path) is None:
        folder.mkdir(exist_ok=True)
        write_text(path, json.dumps(source.content, indent=2) + "\n")


def _read_source(path: Path) -> Source | None:
    """Return the source that a file describes, None if it is not what was written."""
    try:
        source = Source(**json.loads(read_whole(path)))
        sound = source.id == path.stem and type(source.code) is type(source.versions) is dict
        return source if sound else None
    except (OSError, ValueError, TypeError, RecursionError):
        return None


def _new_file(path: Path) -> int:
    """Open a file that did not exist, its folder entry safe on disk."""
    path.parent.mkdir(exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
    flags |= getattr(os, "O_BINARY", 0)  # or Windows would end lines in another way
    descriptor = os.open(path, flags, 0o666)
    sync_folder(path.parent)
    return descriptor


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a folder of results belongs to.

    Attributes
    ----------
    schema, seed : int
        Of all its cells.
    grid : str
        Hash of the kinds and parameters of all its cells.
    cells : int
        How many there are; a cell that a grid names twice counts once.
    description : dict
        What a reader wants to know (preset, ...). Only its `version` and its `plugins` are
        compared: other code may measure something else.
    """

    schema: int
    seed: int
    grid: str
    cells: int
    description: dict[str, Any]

    @classmethod
    def of(cls, cells: Iterable[Cell], description: Mapping[str, Any]) -> Manifest:
        """Describe a grid; ValueError unless it has cells and they share one seed."""
        distinct = set(cells)
        seeds = sorted({cell.seed for cell in distinct})
        if len(seeds) != 1:
            raise ValueError(f"`cells` must be of one seed, got {len(distinct)} of seeds {seeds}.")
        lines = sorted(canonical_json([cell.kind, cell.parameters]) for cell in distinct)
        grid = hashlib.sha256("\n".join(lines).encode("ascii")).hexdigest()
        return cls(SCHEMA, seeds[0], grid, len(lines), plain_value(description, "description"))

    def differences(self, wanted: Manifest) -> list[str]:
        """Say how this manifest, found in a folder, differs from that of the wanted grid."""
        said = []
        if self.schema != wanted.schema:
            said.append(f"it was written in schema {self.schema}, this is {wanted.schema}")
        if self.seed != wanted.seed:
            said.append(f"its seed is {self.seed}, yours {wanted.seed}")
        if self.grid != wanted.grid:
            changes = _changes(self.description, wanted.description)
            said.append(f"its grid of {self.cells} cells is not yours of {wanted.cells}{changes}")
        return said

    def other_code(self, wanted: Manifest) -> list[str]:
        """Say by which version and with which plugins this folder was measured, if not by ours."""
        there, here = self.description, wanted.description
        said = []
        if there.get("version") != here.get("version"):
            versions = there.get("version"), here.get("version")
            said.append(f"it was measured by version {versions[0]}, this is {versions[1]}")
        hashes = [_plugin_hashes(description) for description in (there, here)]
        if plugins := other_code(*hashes):
            said.append(f"it was measured with other plugins: {', '.join(plugins)}")
        return said


_KINDS = {"schema": int, "seed": int, "grid": str, "cells": int, "description": dict}


def _plugin_hashes(description: Mapping[str, Any]) -> dict[str, str]:
    """Return the hash of each plugin by the name of its file."""
    return {plugin["file"]: str(plugin["sha256"]) for plugin in description.get("plugins", [])}


def _changes(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """Return in which words two descriptions differ, in brackets."""
    names = sorted(name for name in found.keys() | wanted if found.get(name) != wanted.get(name))
    said = [f"{name} {found.get(name)!r} there, {wanted.get(name)!r} here" for name in names]
    return f" ({'; '.join(said)})" if said else ""


def _write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest, either completely or not at all."""
    content = asdict(manifest)
    content["checksum"] = digest(content)
    write_text(folder / _MANIFEST, json.dumps(content, indent=2) + "\n")


def _read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a folder; StoreError if it is missing or has been changed."""
    path = folder / _MANIFEST
    try:
        content = json.loads(read_whole(path))
        checksum = content.pop("checksum")
        manifest = Manifest(**content)
        if any(type(content[name]) is not kind for name, kind in _KINDS.items()):
            raise TypeError(f"expected values of other types, {_KINDS}")
        _plugin_hashes(manifest.description)
    except (FileNotFoundError, NotADirectoryError):
        raise StoreError(
            f"`{folder}` holds no results: it has no `{path.name}`. Name a folder that a run made."
        ) from None
    except OSError as error:
        raise StoreError(disk_error_text(f"read `{path}`", error)) from error
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        raise StoreError(
            f"`{path}` is damaged or was written by another program. {ELSEWHERE}."
        ) from None
    if checksum != digest(content):
        raise StoreError(f"`{path}` is damaged: its checksum does not match. {ELSEWHERE}.")
    return manifest


@dataclass(frozen=True, slots=True)
class Status:
    """How far a run has got: cells stored, cells in total, seconds they took, what is damaged."""

    done: int
    total: int
    seconds: float
    damage: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Store:
    """The results of one grid in a folder; made by `create` or `open`."""

    folder: Path
    manifest: Manifest

    @classmethod
    def create(
        cls,
        folder: str | Path,
        cells: Iterable[Cell],
        *,
        description: Mapping[str, Any],
        recompute: bool = False,
    ) -> Store:
        """Open the folder of this grid to continue it, or create it.

        With `recompute` a folder that another version or other plugins measured becomes ours; the
        runner, told the same, drops what it holds.

        Raises
        ------
        StoreError
            If the folder cannot be used, holds other things, or belongs to another grid, seed or
            schema. Nothing in it has been changed then.
        """
        path, wanted = Path(folder), Manifest.of(cells, description)
        if not os.path.exists(path / _MANIFEST):
            _make(path, wanted)
        found = _read_manifest(path)
        differences, other = found.differences(wanted), found.other_code(wanted)
        if differences or (other and not recompute):
            remedy = "" if differences else _RECOMPUTE
            said = "; ".join([*differences, *other])
            raise StoreError(f"`{path}` holds other results: {said}. {ELSEWHERE}{remedy}.")
        if other:
            found = wanted
            with _locked(path):
                _write_manifest(path, found)
        return cls(path, found)

    @classmethod
    def open(cls, folder: str | Path) -> Store:
        """Open a folder of results to read it; StoreError if it is not one."""
        return cls(Path(folder), _read_manifest(Path(folder)))

    def load(self) -> dict[str, list[Record]]:
        """Return the records of every stored cell by its key, sorted by key.

        Raises
        ------
        StoreError
            If a line is damaged or two results of a cell contradict each other; names the file and
            the line.
        """
        content = self._content()
        if damage := content.damage:
            more = f" ({len(damage) - 1} more: see the status.)" if len(damage) > 1 else ""
            raise StoreError(damage[0] + more)
        return {key: content.chosen[key].records for key in sorted(content.chosen)}

    def status(self) -> Status:
        """Say how far the run has got; damage is listed, not raised."""
        content = self._content()
        seconds = sum(result.seconds for result in content.chosen.values())
        return Status(len(content.chosen), self.manifest.cells, seconds, tuple(content.damage))

    def origins(self) -> list[dict[str, Any]]:
        """Say how many cells were measured by which code, versions, BLAS and processor."""
        content = self._content()
        named = [content.sources[r.source] for r in content.chosen.values() if r.source]
        kinds = {source.kind: source for source in named}
        counts = Counter(source.kind for source in named)
        fields = ("code", "versions", "blas", "processor")
        return [
            {"cells": counts[kind]} | {name: getattr(kinds[kind], name) for name in fields}
            for kind in sorted(kinds)
        ]

    def check_code(self, code: Code) -> None:
        """Raise StoreError if other code than this measured any of the results."""
        content = self._content()
        strange = [result for _, result in content.lines if not content.is_of(result, code)]
        if not strange:
            return
        source = content.sources.get(strange[0].source)
        said = "; ".join(other_code(source.code, code)) if source else "no record of it is kept"
        raise StoreError(
            f"`{self.folder}` holds {len(strange)} results that other code measured ({said}). "
            f"{ELSEWHERE}{_RECOMPUTE}."
        )

    def forget_other_code(self, code: Code) -> None:
        """Remove the lines that other code than this measured; damaged ones stay to be named."""
        content = self._content()
        keep = {r.to_line() for _, r in content.lines if content.is_of(r, code)}
        for path in self._shard_files():
            *lines, torn = read_whole(path).split(b"\n")
            damaged = (isinstance(_result_or_error(line), ValueError) for line in lines)
            kept = [x for x, bad in zip(lines, damaged, strict=True) if bad or x + b"\n" in keep]
            if len(kept) < len(lines):
                with written_aside(path) as file:
                    file.write(b"".join(line + b"\n" for line in kept) + torn)

    def adopt(self, other: Store, keys: Collection[str]) -> int:
        """Copy the results that another store has of these cells, and return how many are new.

        Those that are here already, bit for bit, are not copied.
        """
        with self.lock(), contextlib.closing(Shard(self.shards)) as shard:
            here = {_bits(result) for _, result in self._content().lines}
            content = other._content()
            new = {_bits(r): r for _, r in content.lines if r.key in keys and _bits(r) not in here}
            for result in new.values():
                shard.extend([result], content.sources.get(result.source))
        return len(new)

    @property
    def shards(self) -> Path:
        """The folder of the files that results are appended to."""
        return self.folder / _SHARDS

    def lock(self) -> contextlib.AbstractContextManager[None]:
        """Keep other runs out of the folder; StoreError if one is using it."""
        return _locked(self.folder)

    def _shard_files(self) -> list[Path]:
        return sorted(self.shards.glob("*.jsonl"))

    def _content(self) -> _Content:
        """Read everything in the folder."""
        files = (self.folder / _SOURCES).glob("*.json")
        sources = {path.stem: source for path in files if (source := _read_source(path))}
        content = _Content(sources)
        if not self.shards.is_dir():
            content.damage.append(f"`{self.shards}` is missing. {ELSEWHERE}.")
        for path in self._shard_files():
            for number, result in enumerate(read_shard(path), start=1):
                content.add(f"Line {number} of `{path}`", result)
        content.choose()
        return content


@dataclass(slots=True)
class _Content:
    """All that a folder holds: lines with their places, the chosen result of each cell, damage."""

    sources: dict[str, Source]
    lines: list[tuple[str, Result]] = field(default_factory=list)
    chosen: dict[str, Result] = field(default_factory=dict)
    damage: list[str] = field(default_factory=list)

    def add(self, place: str, result: Result | ValueError) -> None:
        """Take a line, or say how it is damaged."""
        if isinstance(result, ValueError):
            self.damage.append(f"{place} is damaged ({result}). {_REMOVE_LINE}")
        elif result.source and result.source not in self.sources:
            missing = f"`{_SOURCES}/{result.source}.json`, which is missing or was changed"
            self.damage.append(f"{place} names {missing}. {_REMOVE_LINE}")
        else:
            self.lines.append((place, result))

    def is_of(self, result: Result, code: Code) -> bool:
        """Return whether this code measured a result."""
        source = self.sources.get(result.source)
        return source is not None and source.code == code

    def choose(self) -> None:
        """Choose one result of each cell, by its bits alone, and name those that contradict it."""
        cells: dict[str, list[tuple[str, Result]]] = {}
        for line in self.lines:
            cells.setdefault(line[1].key, []).append(line)
        for key, lines in cells.items():
            self.chosen[key] = min((r for _, r in lines), key=_bits) if lines[1:] else lines[0][1]
            unlike = {(_bits(line[1]), line[1].source): line for line in reversed(lines)}
            pairs = itertools.combinations(reversed(unlike.values()), 2)
            strange = next((place for (_, a), (place, b) in pairs if not self._agree(a, b)), None)
            if strange:
                self.damage.append(f"{strange} {_CONFLICT} (cell {key}). {ELSEWHERE}.")

    def _agree(self, first: Result, second: Result) -> bool:
        """Compare bit for bit, or within the tolerance if processes of two kinds measured."""
        if _bits(first) == _bits(second):
            return True
        kinds = [self.sources[r.source].kind if r.source else "" for r in (first, second)]
        return "" not in kinds and kinds[0] != kinds[1] and agree(first.records, second.records)


def _bits(result: Result) -> bytes:
    """Return what must be equal in two results of one cell: all but the time and the source."""
    return Result(result.key, result.records, 0.0).to_line()


def _make(folder: Path, manifest: Manifest) -> None:
    """Write the manifest of a new folder while no other run does the same."""
    _check_vacant(folder)
    try:
        (folder / _SHARDS).mkdir(parents=True, exist_ok=True)
        with _locked(folder):
            if not os.path.exists(folder / _MANIFEST):
                _write_manifest(folder, manifest)
    except OSError as error:
        raise StoreError(disk_error_text(f"make the folder `{folder}`", error)) from error


def _check_vacant(folder: Path) -> None:
    """Refuse a file, and a folder with anything but what a killed start can leave behind."""
    try:
        present = os.listdir(folder)
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise StoreError(f"`{folder}` is not a folder. Choose another name.") from None
    except OSError as error:
        raise StoreError(disk_error_text(f"look into `{folder}`", error)) from error
    if strange := sorted(name for name in present if not _is_left_by_a_kill(name)):
        raise StoreError(
            f"`{folder}` holds other things (`{strange[0]}`) and no results. {ELSEWHERE}."
        )
    if any((folder / _SHARDS).glob("*")):
        raise StoreError(f"`{folder}` has lost its `{_MANIFEST}`. {ELSEWHERE}.")


def _is_left_by_a_kill(name: str) -> bool:
    """Return whether a start that was killed, or a part, can have left a file of that name."""
    known = (_SHARDS, _SOURCES, _LOCK, f"{_MANIFEST}.new")  # the last is that of version 0.1.0
    parts = re.fullmatch(r"part-\d+-of-\d+", name)  # stores of shares of the grid
    return name in known or name.startswith(f".{_MANIFEST}.") or parts is not None


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other runs out of the folder; errors raised inside pass unchanged."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(locked(folder / _LOCK))
        except LockedError:
            raise StoreError(
                f"Another run is writing to `{folder}`. Wait until it has ended, or choose another "
                "folder."
            ) from None
        except OSError as error:
            action = f"lock `{folder}` (does its disk support locks?)"
            raise StoreError(disk_error_text(action, error)) from error
        yield
