"""The store: a folder that keeps the results of one grid, whatever happens to the run.

    manifest.json   what grid and seed the folder belongs to; written once
    shards/*.jsonl  one result a line; each process appends to a file of its own
    lock            held by the run that is writing, released by the system when it ends or dies

Reading executes nothing: everything is JSON.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leml_theory.cells import Cell
from leml_theory.manifest import (
    ELSEWHERE,
    MANIFEST,
    MANIFEST_ASIDE,
    Manifest,
    read_manifest,
    write_manifest,
)
from leml_theory.shards import Record, Result, StoreError, disk_error, read_shard

__all__ = ["Manifest", "Status", "Store", "StoreError"]

_SHARDS, _LOCK = "shards", "lock"
_REMOVE_LINE = (
    "Delete that line, or that file, and run the same command again: only what was in it is "
    "measured anew."
)
_CONFLICT = "contradicts an earlier line, as if two versions of the program had written them"


@dataclass(frozen=True, slots=True)
class Status:
    """How far a run has come: cells stored, cells in all, seconds they took, what is damaged."""

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
        """Open the folder of this grid to go on with it, or make it.

        Raises
        ------
        StoreError
            If the folder cannot be used, holds other things, or belongs to another grid, seed or
            schema. Nothing in it has been changed then.
        """
        path, wanted = Path(folder), Manifest.of(cells, description)
        if not os.path.exists(path / MANIFEST):
            _make(path, wanted)
        found = read_manifest(path)
        if differences := found.differences(wanted):
            raise StoreError(
                f"`{path}` holds other results: {'; '.join(differences)}. {ELSEWHERE}."
            )
        return cls(path, found)

    @classmethod
    def open(cls, folder: str | Path) -> Store:
        """Open a folder of results to read it; StoreError if it is none."""
        return cls(Path(folder), read_manifest(Path(folder)))

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
        """Say how far the run has come; damage is listed, not raised."""
        found, damage = self._scan()
        seconds = sum(result.seconds for result in found.values())
        return Status(len(found), self.manifest.cells, seconds, tuple(damage))

    @property
    def shards(self) -> Path:
        """The folder of the files that results are appended to."""
        return self.folder / _SHARDS

    def lock(self) -> contextlib.AbstractContextManager[None]:
        """Keep other runs out of the folder meanwhile; StoreError if one is in it."""
        return _locked(self.folder)

    def _scan(self) -> tuple[dict[str, Result], list[str]]:
        """Read all shards: the results by key, and a sentence for each line that is not right."""
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
    return Result(result.key, result.records, 0.0).to_line()


def _make(folder: Path, manifest: Manifest) -> None:
    """Write the manifest of a new folder, aside first, while no other run does the same."""
    _check_vacant(folder)
    try:
        (folder / _SHARDS).mkdir(parents=True, exist_ok=True)
        with _locked(folder):
            if not os.path.exists(folder / MANIFEST):
                write_manifest(folder, manifest)
    except OSError as error:
        raise disk_error(f"make the folder `{folder}`", error) from error


def _check_vacant(folder: Path) -> None:
    """Refuse a file, and a folder with anything but what a killed start can leave behind."""
    try:
        present = set(os.listdir(folder))
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise StoreError(f"`{folder}` is not a folder. Choose another name.") from None
    except OSError as error:
        raise disk_error(f"look into `{folder}`", error) from error
    if strange := sorted(present - {MANIFEST_ASIDE, _SHARDS, _LOCK}):
        raise StoreError(
            f"`{folder}` holds other things (`{strange[0]}`) and no results. {ELSEWHERE}."
        )
    if any((folder / _SHARDS).glob("*")):
        raise StoreError(f"`{folder}` has lost its `{MANIFEST}`. {ELSEWHERE}.")


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    try:
        descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise disk_error(f"write in `{folder}`", error) from error
    try:
        _take_lock(descriptor, folder)
        yield
    finally:
        os.close(descriptor)


def _take_lock(descriptor: int, folder: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            raise StoreError(
                f"Another run is writing to `{folder}`. Wait until it has ended, or choose another "
                "folder."
            ) from None
        raise disk_error(f"lock `{folder}` (does its disk support locks?)", error) from error
