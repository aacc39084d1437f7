"""The manifest: what grid, seed and schema a folder of results belongs to."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from leml_theory.cells import SCHEMA, Cell, canonical_json, plain_value
from leml_theory.shards import StoreError, disk_error, sync_folder

__all__ = ["ELSEWHERE", "MANIFEST", "MANIFEST_ASIDE", "Manifest", "read_manifest", "write_manifest"]

MANIFEST, MANIFEST_ASIDE = "manifest.json", "manifest.json.new"
ELSEWHERE = "Choose another folder, or move this one away"


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
        """Say in which ways this manifest, found in a folder, is not that of the wanted grid."""
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
    names = sorted(name for name in found.keys() | wanted if found.get(name) != wanted.get(name))
    said = [f"{name} {found.get(name)!r} there, {wanted.get(name)!r} here" for name in names]
    return f" ({'; '.join(said)})" if said else ""


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest aside, then move it into place, so that it is there whole or not."""
    content = asdict(manifest)
    content["checksum"] = _checksum(content)
    aside = folder / MANIFEST_ASIDE
    with open(aside, "w", encoding="ascii") as file:
        file.write(json.dumps(content, indent=2) + "\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(aside, folder / MANIFEST)
    sync_folder(folder)


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a folder; StoreError if there is none or it is not as written."""
    path = folder / MANIFEST
    try:
        content = json.loads(path.read_bytes())
        checksum = content.pop("checksum")
        manifest = Manifest(**content)
    except (FileNotFoundError, NotADirectoryError):
        raise StoreError(
            f"`{folder}` holds no results: it has no `{path.name}`. Name a folder that a run made."
        ) from None
    except OSError as error:
        raise disk_error(f"read `{path}`", error) from error
    except (ValueError, TypeError, AttributeError, KeyError):
        raise StoreError(f"`{path}` is damaged or of another program. {ELSEWHERE}.") from None
    if checksum != _checksum(content):
        raise StoreError(f"`{path}` is damaged: its checksum does not match. {ELSEWHERE}.")
    return manifest


def _checksum(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical_json(content).encode("ascii")).hexdigest()
