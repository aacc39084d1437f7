"""Plugins of a sweep: Python files that register laws, losses, labels, bounds and experiments.

A plugin is known by the hash of its content.  It runs once per process, in workers too, and only if
its content is still what it was when the run began.  Workers on other machines get the content.
"""

import argparse
import hashlib
import sys
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Self

from argument_checks.wrong_types import errors_name_arguments
from leml_theory.runs.cells import Cell

__all__ = ["Plugin", "PluginMeasure", "add_plugin", "load_plugins"]

# path -> hash of what this process has run
_LOADED: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class Plugin:
    """A Python file with the SHA-256 of its content; made by `Plugin.of`."""

    path: str
    sha256: str
    content: bytes = field(repr=False)

    @classmethod
    def of(cls, path: str | Path) -> Self:
        """Return the plugin in a file as it is now."""
        content = _content(path)
        return cls(str(Path(path).resolve()), hashlib.sha256(content).hexdigest(), content)

    @property
    def record(self) -> dict[str, Any]:
        """What a manifest keeps: the name of the file, without its folder, and the hash."""
        return {"file": Path(self.path).name, "sha256": self.sha256}

    def load(self) -> None:
        """Run the file, unless this process has; ValueError if its content has changed."""
        if _LOADED.get(self.path) == self.sha256:
            return
        changed = Path(self.path).is_file() and _content(self.path) != self.content
        if self.path in _LOADED or changed:
            raise ValueError(
                f"The plugin `{self.path}` has changed while it was in use; start again, and on "
                "a cluster the workers too."
            )
        _execute(self.content, self.path)
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
    except (Exception, SystemExit) as error:
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == path]
        place = f" in line {lines[-1]}" if lines else ""
        raise ValueError(
            f"The plugin `{path}` raised {type(error).__name__}{place}: {error}"
        ) from error


def add_plugin(parser: argparse.ArgumentParser) -> None:
    """Add ``--plugin FILE``, which may be given several times."""
    text = "Python file that registers laws, losses, labels, bounds or experiments; may be repeated"
    parser.add_argument("--plugin", action="append", default=[], metavar="FILE", help=text)


def load_plugins(paths: Iterable[str | Path]) -> tuple[Plugin, ...]:
    """Run the plugins in these files, each once, and return them."""
    plugins = tuple(dict.fromkeys(Plugin.of(path) for path in paths))
    for plugin in plugins:
        plugin.load()
    return plugins


@dataclass(frozen=True, slots=True)
class PluginMeasure:
    """Runs the measurement that a cell names, in this process or in a worker, plugins loaded."""

    plugins: Sequence[Plugin] = ()

    def __call__(self, cell: Cell) -> list[dict[str, Any]]:
        """Return the records of the cell."""
        from leml_theory.measurements import measure  # loads the solvers: `status` needs none

        for plugin in self.plugins:
            plugin.load()
        return measure(cell)

    @property
    def code(self) -> dict[str, str]:
        """The hashes of the plugins, which are code that measures."""
        return {Path(plugin.path).name: plugin.sha256 for plugin in self.plugins}


errors_name_arguments(globals())
