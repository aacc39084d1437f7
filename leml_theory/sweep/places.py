"""Where a sweep is measured: on a cluster, or in parts that are merged."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from command_line import counted
from leml_theory.runs import Cell, RunError, Store, StoreError


@dataclass(frozen=True, slots=True)
class Part:
    """Share `number` of `total` equal shares of the cells."""

    number: int
    total: int

    @classmethod
    def read(cls, text: str) -> Part:
        """Read `3/16`."""
        found = re.fullmatch(r"(\d+)/(\d+)", text)
        part = cls(*map(int, found.groups())) if found else cls(0, 0)
        if not 1 <= part.number <= part.total:
            raise argparse.ArgumentTypeError(f"expected i/N with 1 <= i <= N, got {text!r}")
        return part

    def __str__(self) -> str:
        return f"{self.number}/{self.total}"

    def folder(self, out: str | Path) -> Path:
        """Return the folder of this part within the output folder."""
        return Path(out, f"part-{self.number}-of-{self.total}")

    def of(self, cells: Sequence[Cell]) -> list[Cell]:
        """Return its cells: every N-th in the order of the keys, long and short ones mixed."""
        return sorted(cells, key=lambda cell: cell.key)[self.number - 1 :: self.total]


def add_places(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where cells are measured, and which folders are merged."""
    add = parser.add_argument
    add("folders", nargs="*", metavar="FOLDER", help="merge: where the parts are (default: DIR)")
    text = "Dask scheduler that measures instead of --jobs, or local:N for N processes"
    add("--cluster", metavar="ADDRESS", help=text)
    text = "measure the i-th of N shares of the cells, in a folder of its own within DIR"
    add("--part", type=Part.read, metavar="i/N", help=text)
    text = "measure again what other code, another version or other plugins measured"
    add("--recompute", action="store_true", help=text)
    parser.set_defaults(merged=[])


def check_places(options: argparse.Namespace) -> None:
    """Refuse folders to merge where nothing is merged."""
    if options.folders and options.command != "merge":
        raise ValueError(f"only merge takes folders, got {options.folders[0]!r}.")


@dataclass(frozen=True, slots=True)
class Place:
    """The folder of a run, the cells that belong there, and who measures them."""

    folder: Path
    cells: list[Cell]
    description: dict[str, Any]
    workers: str

    def adopt(self, store: Store, folders: Sequence[Path]) -> None:
        """Copy the results of the parts; RunError if cells are missing then."""
        said: dict[str, str] = {}
        for folder in folders:
            part = Part.read(Store.open(folder).manifest.description["part"])
            description = {**self.description, "part": str(part)}
            other = Store.create(folder, part.of(self.cells), description=description)
            store.adopt(other, {cell.key for cell in self.cells})
            status = other.status()
            absent = (Part(i, part.total) for i in range(1, part.total + 1))
            said = {str(x): f"there is no part {x}" for x in absent} | said
            said[str(part)] = f"part {part} has {status.done} of {status.total}"
            if status.done == status.total:
                said[str(part)] = ""
        status = store.status()
        if status.done < status.total:
            raise RunError(
                f"{status.total - status.done} of {status.total} cells are missing: "
                f"{', '.join(filter(None, said.values()))}. Run these parts, or the same command "
                "without --part, which measures what is missing here."
            )


def place_of(
    options: argparse.Namespace, cells: list[Cell], description: Mapping[str, Any]
) -> Place:
    """Return where the options say that cells are to be measured."""
    workers = options.cluster or counted(options.jobs, "process", "processes")
    if options.merged:
        workers = counted(len(options.merged), "part")
    if options.part is None:
        return Place(Path(options.out), cells, dict(description), workers)
    mine = options.part.of(cells)
    if not mine:
        raise ValueError(f"--part {options.part}: there are only {len(cells)} cells.")
    kept = {**description, "part": str(options.part), "arguments": options.arguments}
    return Place(options.part.folder(options.out), mine, kept, workers)


def folders_of(out: Path) -> list[Path]:
    """Return a folder of results, if it is one, and those of the parts in it."""
    parts = sorted(out.glob("part-*-of-*"))
    return parts if parts and not (out / "manifest.json").exists() else [out, *parts]


def merge(options: argparse.Namespace, run: Callable[..., int]) -> int:
    """Join the parts as the command that measured them would have joined them.

    The parts keep the arguments of their command, so none of them need be given again.
    """
    roots = [Path(folder) for folder in options.folders or [options.out]]
    parts = [path for root in roots for path in folders_of(root) if path.name.startswith("part-")]
    if not parts:
        raise StoreError(f"`{roots[0]}` holds no parts; measure some with --part i/N first.")
    arguments = Store.open(parts[0]).manifest.description["arguments"]
    given = {"part": None, "out": options.out, "merged": parts, "cluster": None}
    return run(arguments, {**given, "recompute": options.recompute})
