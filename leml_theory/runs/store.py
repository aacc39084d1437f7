"""The store: a folder that keeps the results of one grid even if the run is killed.

    manifest.json   what grid and seed the folder belongs to; written once
    shards/*.jsonl  one result per line; each process appends to a file of its own
    lock            held by the run that is writing, released by the system when it ends or dies

Reading executes nothing: everything is JSON.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import secrets
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from leml_theory.runs.cells import SCHEMA, Cell, Scalar, canonical_json, plain_scalar, plain_value
from safe_files import (
    LockedError,
    disk_error_text,
    locked,
    open_regular,
    sync_folder,
    write_text,
)

__all__ = [
    "ELSEWHERE",
    "Manifest",
    "Record",
    "Result",
    "Shard",
    "Status",
    "Store",
    "StoreError",
    "checked_records",
    "read_shard",
]

Record = dict[str, Scalar]

_HEAD, _MIDDLE, _TAIL = b'{"checksum":"', b'","result":', b"}"
_PAYLOAD = len(_HEAD) + 64 + len(_MIDDLE)  # 64 hexadecimal digits of SHA-256

_MANIFEST = "manifest.json"
_SHARDS, _LOCK = "shards", "lock"
ELSEWHERE = "Choose another folder, or move this one away"
_REMOVE_LINE = (
    "Delete that line, or that file, and run the same command again: only what was in it is "
    "measured anew."
)
_CONFLICT = "contradicts an earlier line, as if two versions of the program had written them"


class StoreError(RuntimeError):
    """A folder of results cannot be used; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Result:
    """The records that one cell gave, and the seconds it took."""

    key: str
    records: list[Record]
    seconds: float

    def to_line(self) -> bytes:
        """Return the line that stores this result."""
        records = [{name: _encoded(record[name]) for name in record} for record in self.records]
        content = {"key": self.key, "seconds": self.seconds, "records": records}
        payload = json.dumps(content, separators=(",", ":"), allow_nan=False).encode("ascii")
        digest = hashlib.sha256(payload).hexdigest().encode("ascii")
        return b"".join((_HEAD, digest, _MIDDLE, payload, _TAIL, b"\n"))

    @classmethod
    def from_line(cls, line: bytes) -> Result:
        """Read a line without its newline; ValueError unless every byte is as it was written."""
        payload = line[_PAYLOAD : -len(_TAIL)]
        digest = hashlib.sha256(payload).hexdigest().encode("ascii")
        if line != b"".join((_HEAD, digest, _MIDDLE, payload, _TAIL)):
            raise ValueError("its checksum does not match")
        content = json.loads(payload)
        return cls(content["key"], _decoded_records(content["records"]), content["seconds"])


def checked_records(records: Any) -> list[Record]:
    """Return what a measurement gave as plain records, or say which value cannot be stored."""
    if not isinstance(records, list | tuple):
        raise TypeError(f"A measurement must return a list of records, got {records!r}.")
    return [_checked_record(record, f"record {i}") for i, record in enumerate(records)]


def _checked_record(record: Any, place: str) -> Record:
    """Return a record of plain scalars, or say which one cannot be stored."""
    if not isinstance(record, Mapping) or not all(type(name) is str for name in record):
        raise TypeError(f"`{place}` must map texts to scalars, got {record!r}.")
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


def _decoded_records(records: list[dict[str, Any]]) -> list[Record]:
    """Return records that `_encoded` wrote."""
    return [{name: _decoded(value) for name, value in record.items()} for record in records]


def read_shard(path: Path) -> list[Result | ValueError]:
    """Return what each line of a shard holds: a result, or why the line cannot be trusted.

    What follows the last newline is a line that a kill or a power cut tore; it is left out, and
    its cell is measured again.
    """
    try:
        with open_regular(path) as file:
            lines = file.read().split(b"\n")[:-1]
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

    def append(self, result: Result) -> None:
        """Write one result and wait until the disk has it; StoreError when it cannot."""
        line = result.to_line()
        try:
            self._write(line)
        except OSError as error:
            self.close()  # A torn line may end this file: what comes next goes to another one.
            raise StoreError(disk_error_text(f"write to `{self._path}`", error)) from error

    def _write(self, line: bytes) -> None:
        """Write a line to the file of this process, and wait until the disk has it."""
        if self._descriptor is None:
            self._path = self._folder / f"{os.getpid()}-{secrets.token_hex(8)}.jsonl"
            self._descriptor = _new_file(self._path)
        rest = memoryview(line)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]
        os.fsync(self._descriptor)

    def close(self) -> None:
        """Close the file, if there is one."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = None


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
        What a reader wants to know (preset, ...). Only its `version` is compared: another version
        of the program may measure something else.
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
        versions = self.description.get("version"), wanted.description.get("version")
        if versions[0] != versions[1]:
            said.append(f"it was measured by version {versions[0]}, this is {versions[1]}")
        if self.grid != wanted.grid:
            changes = _changes(self.description, wanted.description)
            said.append(f"its grid of {self.cells} cells is not yours of {wanted.cells}{changes}")
        return said


def _changes(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """Return in which words two descriptions differ, in brackets."""
    names = sorted(name for name in found.keys() | wanted if found.get(name) != wanted.get(name))
    said = [f"{name} {found.get(name)!r} there, {wanted.get(name)!r} here" for name in names]
    return f" ({'; '.join(said)})" if said else ""


def _write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest, either completely or not at all."""
    content = asdict(manifest)
    content["checksum"] = _checksum(content)
    write_text(folder / _MANIFEST, json.dumps(content, indent=2) + "\n")


def _read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a folder; StoreError if it is missing or has been changed."""
    path = folder / _MANIFEST
    try:
        with open_regular(path) as file:
            content = json.loads(file.read())
        checksum = content.pop("checksum")
        manifest = Manifest(**content)
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
    if checksum != _checksum(content):
        raise StoreError(f"`{path}` is damaged: its checksum does not match. {ELSEWHERE}.")
    return manifest


def _checksum(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the content of a manifest."""
    return hashlib.sha256(canonical_json(content).encode("ascii")).hexdigest()


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
        cls, folder: str | Path, cells: Iterable[Cell], *, description: Mapping[str, Any]
    ) -> Store:
        """Open the folder of this grid to continue it, or create it.

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
        if differences := found.differences(wanted):
            raise StoreError(
                f"`{path}` holds other results: {'; '.join(differences)}. {ELSEWHERE}."
            )
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
            If a line is damaged or a cell has two different results; names the file and the line.
        """
        found, damage = self._scan()
        if damage:
            more = f" ({len(damage) - 1} more: see the status.)" if len(damage) > 1 else ""
            raise StoreError(damage[0] + more)
        return {key: found[key].records for key in sorted(found)}

    def status(self) -> Status:
        """Say how far the run has got; damage is listed, not raised."""
        found, damage = self._scan()
        seconds = sum(result.seconds for result in found.values())
        return Status(len(found), self.manifest.cells, seconds, tuple(damage))

    @property
    def shards(self) -> Path:
        """The folder of the files that results are appended to."""
        return self.folder / _SHARDS

    def lock(self) -> contextlib.AbstractContextManager[None]:
        """Keep other runs out of the folder; StoreError if one is using it."""
        return _locked(self.folder)

    def _scan(self) -> tuple[dict[str, Result], list[str]]:
        """Read all shards: the results by key, and a sentence for each damaged line."""
        found: dict[str, Result] = {}
        damage: list[str] = []
        if not self.shards.is_dir():
            damage.append(f"`{self.shards}` is missing. {ELSEWHERE}.")
        for path in sorted(self.shards.glob("*.jsonl")):
            for number, result in enumerate(read_shard(path), start=1):
                place = f"Line {number} of `{path}`"
                if isinstance(result, ValueError):
                    damage.append(f"{place} is damaged ({result}). {_REMOVE_LINE}")
                elif not _same(found.setdefault(result.key, result), result):
                    damage.append(f"{place} {_CONFLICT} (cell {result.key}). {ELSEWHERE}.")
        return found, damage


def _same(first: Result, second: Result) -> bool:
    """Compare to the bit, which `==` would not: 1 == 1.0 and nan != nan."""
    return first is second or _bits(first) == _bits(second)


def _bits(result: Result) -> bytes:
    """Return what must be equal in two results of one cell: all but the time."""
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
    """Return whether a start that was killed can have left a file of that name."""
    known = (_SHARDS, _LOCK, f"{_MANIFEST}.new")  # the last is that of version 0.1.0
    return name in known or name.startswith(f".{_MANIFEST}.")


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
