"""Plugins of a sweep: Python files that register laws, losses, labels, bounds and experiments.

A plugin is known by the hash of its content.  It runs once per process, in workers too, and only if
its content is still what it was when the run began.
"""

from __future__ import annotations

import hashlib
import sys
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from leml_theory.runs.cells import Cell
from leml_theory.runs.store import Store, StoreError

__all__ = ["Plugin", "check_plugins", "load_plugins", "measure_with"]

# path -> hash of what this process has run
_LOADED: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class Plugin:
    """A Python file with the SHA-256 of its content; made by `Plugin.of`."""

    path: str
    sha256: str

    @classmethod
    def of(cls, path: str | Path) -> Plugin:
        """Return the plugin in a file as it is now."""
        return cls(str(Path(path).resolve()), hashlib.sha256(_content(path)).hexdigest())

    @property
    def record(self) -> dict[str, Any]:
        """What a manifest keeps: the name of the file, without its folder, and the hash."""
        return {"file": Path(self.path).name, "sha256": self.sha256}

    def load(self) -> None:
        """Run the file, unless this process has; ValueError if its content has changed."""
        if _LOADED.get(self.path) == self.sha256:
            return
        content = _content(self.path)
        if self.path in _LOADED or hashlib.sha256(content).hexdigest() != self.sha256:
            raise ValueError(
                f"The plugin `{self.path}` has changed while it was in use; start again, with "
                "another folder for the results."
            )
        _execute(content, self.path)
        _LOADED[self.path] = self.sha256


def _content(path: str | Path) -> bytes:
    if not Path(path).is_file():
        raise ValueError(f"A plugin must be a Python file, but there is no file `{path}`.")
    return Path(path).read_bytes()


def _execute(content: bytes, path: str) -> None:
    """Run a file as a module of its own, in which the classes it defines can be looked up."""
    module = ModuleType(f"leml_plugin_{len(_LOADED)}_{Path(path).stem}")
    module.__file__ = path
    sys.modules[module.__name__] = module
    try:
        exec(compile(content, path, "exec", dont_inherit=True), module.__dict__)
    except Exception as error:
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == path]
        place = f" in line {lines[-1]}" if lines else ""
        raise ValueError(
            f"The plugin `{path}` raised {type(error).__name__}{place}: {error}"
        ) from error


def load_plugins(paths: Iterable[str | Path]) -> tuple[Plugin, ...]:
    """Run the plugins in these files, each once, and return them."""
    plugins = tuple(dict.fromkeys(Plugin.of(path) for path in paths))
    for plugin in plugins:
        plugin.load()
    return plugins


def measure_with(plugins: Sequence[Plugin], cell: Cell) -> list[dict[str, Any]]:
    """Run the measurement that the cell names, in this process or in a worker, plugins loaded."""
    from leml_theory.measurements import measure  # loads the solvers, which `status` does not need

    for plugin in plugins:
        plugin.load()
    return measure(cell)


def check_plugins(store: Store, plugins: Sequence[Plugin]) -> None:
    """Raise unless the store was made with exactly these plugins, naming those that differ."""
    made = {(p["file"], p["sha256"]) for p in store.manifest.description.get("plugins", [])}
    given = {(p.record["file"], p.sha256) for p in plugins}
    said = [f"{file} with SHA-256 {sha[:12]} there" for file, sha in sorted(made - given)]
    said += [f"{file} with SHA-256 {sha[:12]} here" for file, sha in sorted(given - made)]
    if said:
        raise StoreError(
            f"`{store.folder}` was measured with other plugins: {', '.join(said)}. Give the same "
            "files unchanged, or choose another folder."
        )
