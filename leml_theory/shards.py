"""Shards: files of one result a line, each line checked by its own checksum."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import math
import os
import secrets
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leml_theory.cells import Scalar, plain_scalar

__all__ = [
    "Record",
    "Result",
    "Shard",
    "StoreError",
    "checked_records",
    "disk_error",
    "read_shard",
    "sync_folder",
]

Record = dict[str, Scalar]

_HEAD, _MIDDLE, _TAIL = b'{"checksum":"', b'","result":', b"}"
_PAYLOAD = len(_HEAD) + 64 + len(_MIDDLE)  # 64 hexadecimal digits of SHA-256

_REMEDIES = {
    errno.ENOSPC: "The disk is full: free space and run the same command again.",
    errno.EDQUOT: "Your disk quota is used up: free space and run the same command again.",
    errno.EFBIG: "A limit on file sizes was met (`ulimit -f`): raise it and run the same command "
    "again.",
    errno.EACCES: "Choose a folder that you may write to.",
    errno.EPERM: "Choose a folder that you may write to.",
    errno.EROFS: "Choose a folder that can be written to.",
}


class StoreError(RuntimeError):
    """A folder of results cannot be used; the message says why and what to do."""


def disk_error(action: str, error: OSError) -> StoreError:
    """Return the StoreError for a system call that failed, with what the user can do about it."""
    remedy = _REMEDIES.get(
        error.errno or 0,
        "Check the disk and run the same command again.",
    )
    return StoreError(f"Could not {action}: {error.strerror or error}. {remedy}")


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
    if not isinstance(record, Mapping) or not all(type(name) is str for name in record):
        raise TypeError(f"`{place}` must map texts to scalars, got {record!r}.")
    return {
        str(plain_scalar(name, place)): plain_scalar(value, f"{place}: {name}")
        for name, value in record.items()
    }


def _encoded(value: Scalar) -> Any:
    """Write NaN and the infinities by their bits: JSON has no word for them."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"float64": struct.pack(">d", value).hex()}
    return value


def _decoded(value: Any) -> Scalar:
    if isinstance(value, dict):
        return float(struct.unpack(">d", bytes.fromhex(value["float64"]))[0])
    return value  # type: ignore[no-any-return]


def _decoded_records(records: list[dict[str, Any]]) -> list[Record]:
    return [{name: _decoded(value) for name, value in record.items()} for record in records]


def read_shard(path: Path) -> list[Result | ValueError]:
    """Return what each line of a shard holds: a result, or why the line cannot be trusted.

    What follows the last newline is a line that a kill or a power cut tore; it is left out, and
    its cell is measured again.
    """
    try:
        lines = path.read_bytes().split(b"\n")[:-1]
    except OSError as error:
        raise disk_error(f"read `{path}`", error) from error
    return [_result_or_error(line) for line in lines]


def _result_or_error(line: bytes) -> Result | ValueError:
    try:
        return Result.from_line(line)
    except ValueError as error:
        return error


class Shard:
    """A file of results to which one process appends; made at the first result."""

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
            raise disk_error(f"write to `{self._path}`", error) from error

    def _write(self, line: bytes) -> None:
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
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)
    sync_folder(path.parent)
    return descriptor


def sync_folder(folder: Path) -> None:
    """Wait until the disk knows the names in `folder`."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
