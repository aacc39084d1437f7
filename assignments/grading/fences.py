"""Where the fence around a student's process runs: found by the grader, on its own machine."""

import functools
import importlib.util
import os
import site
import subprocess
import sys
import tempfile
from pathlib import Path

from .confinement import Fence

DRAWING = ".matplotlib"  # in the home of a process
_TOOLS = ("argument_checks", "command_line", "documents", "safe_files")
PACKAGES = (*_TOOLS, "simulations", "leml_solver", "leml_theory", "paper_checks")
_SYSTEM = (  # what libraries read at work
    "/usr",
    "/lib",
    "/lib64",
    "/etc/alternatives",
    "/etc/fonts",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/python3",
    f"/etc/python{sys.version_info[0]}.{sys.version_info[1]}",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
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
    readable = tuple(sorted({os.path.realpath(folder) for folder in readable_folders()}))
    return Fence(os.path.realpath(home), readable, int(seconds) + 1, memory)


@functools.cache
def readable_folders() -> tuple[str, ...]:
    """Return what a student's process may read: Python, libraries, the project's packages.

    A checkout is on Python's path as a whole; of it the packages alone are open.
    """
    prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix, *site.getsitepackages()}
    installed = [entry for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))]
    return (*prefixes, *installed, *_package_folders(), *_SYSTEM)


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
def drawing_cache() -> Path:
    """Return the folder of matplotlib's list of fonts, which each process gets a copy of."""
    folder = Path(tempfile.gettempdir()) / f"grading-fonts-{os.getuid()}"
    folder.mkdir(mode=0o755, exist_ok=True)
    if folder.stat().st_uid != os.getuid() or folder.is_symlink():
        folder = Path(tempfile.mkdtemp(prefix="grading-fonts-"))
    if not any(folder.glob("fontlist*")):
        environment = os.environ | {"MPLCONFIGDIR": str(folder), "MPLBACKEND": "Agg"}
        command = [sys.executable, "-c", "import matplotlib.font_manager"]
        subprocess.run(command, env=environment, capture_output=True, check=False)
    return folder


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
        "MPLCONFIGDIR": str(home / DRAWING),
    }
