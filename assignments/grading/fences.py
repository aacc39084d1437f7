"""Where the fence around a student's process runs: found by the grader, on its own machine."""

from __future__ import annotations

import functools
import importlib.util
import os
import site
import sys
import tempfile
from pathlib import Path

from .confinement import Fence

__all__ = ["PACKAGES", "child_environment", "make_fence", "search_path"]

PACKAGES = ("argument_checks", "simulations", "leml_solver", "leml_theory", "paper_checks")
_SYSTEM = (  # what libraries read at work
    "/usr",
    "/lib",
    "/lib64",
    "/etc",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/sys/devices/system",
    "/dev/null",
    "/dev/urandom",
)
_THREADS = ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "NUMBA", "VECLIB_MAXIMUM")


def make_fence(home: Path, seconds: float, memory: int) -> Fence:
    """Return the fence of a process that works in `home`."""
    prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix, *site.getsitepackages()}
    folders = [*prefixes, *_package_folders(), *_SYSTEM, _drawing_cache()]
    readable = tuple(sorted({os.path.realpath(folder) for folder in folders}))
    listable = tuple(os.path.realpath(folder) for folder in search_path())
    return Fence(os.path.realpath(home), readable, listable, int(seconds) + 1, memory)


@functools.cache
def _package_folders() -> tuple[str, ...]:
    """Return the project's packages alone: what lies beside them in a checkout stays closed."""
    specs = [importlib.util.find_spec(name) for name in PACKAGES]
    found = [spec.submodule_search_locations or [] for spec in specs if spec is not None]
    return tuple(str(folder) for folders in found for folder in folders)


def search_path() -> list[str]:
    """Return where the child looks for modules: as here, without the grader's own folder."""
    own = Path(__file__).resolve().parents[1]
    homes = {Path(folder).resolve().parent for folder in _package_folders()}
    paths = [Path(entry).resolve() for entry in sys.path if entry] + sorted(homes)
    kept = [path for path in paths if path in homes or own not in (path, *path.parents)]
    return list(dict.fromkeys(str(path) for path in kept))


@functools.cache
def _drawing_cache() -> str:
    """Return the folder of matplotlib's list of fonts, filled by the first child that starts."""
    folder = Path(tempfile.gettempdir()) / f"grading-fonts-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    mine = folder.stat().st_uid == os.getuid() and not folder.is_symlink()
    return str(folder) if mine else tempfile.mkdtemp(prefix="grading-fonts-")


def child_environment(home: Path) -> dict[str, str]:
    """Return the few variables that a student's process gets."""
    threads = {f"{library}_NUM_THREADS": "1" for library in _THREADS}
    return threads | {
        "PATH": os.defpath,
        "HOME": str(home),
        "TMPDIR": str(home),
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "MPLBACKEND": "Agg",
        "MPLCONFIGDIR": _drawing_cache(),
    }
