"""Where results come from: the code, the libraries, the processor and the command of a process.

Two results of one cell that come from processes of one kind must be bit-identical.  Those of
different kinds (another processor, BLAS kernel or version of a library) must agree within
`TOLERANCE`.  Results of different code are never mixed.
"""

from __future__ import annotations

import datetime
import functools
import hashlib
import importlib.util
import inspect
import os
import platform
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import CodeType
from typing import Any

from leml_theory.runs.cells import canonical_json, digest

_PACKAGES = ("argument_checks", "simulations", "leml_solver", "leml_theory")
# Rooms of `leml_theory` that plan cells or read results, and measure nothing.
_READERS = frozenset({"plots", "sweep", "diagnose", "checks"})
_LIBRARIES = ("leml-theory", "numpy", "scipy", "numba")

Code = dict[str, str]  # package or file -> SHA-256 of its source


@dataclass(frozen=True, slots=True)
class Source:
    """What one process that measured was; kept once, and named by the lines it wrote.

    Attributes
    ----------
    code : dict of str to str
        SHA-256 of the source of each package, room or plugin that can change a result.
    versions : dict of str to str
        Of Python and of the libraries that compute.
    blas : list of str
        The BLAS libraries, their versions and the kernels they chose.
    processor : str
        Its name, and the architecture that compiled loops are compiled for.
    command : list of str
        The command line of the process that measured.
    host, started : str
        Where and when (UTC) it ran.
    process : int
        Its number on that host.
    """

    code: Code
    versions: dict[str, str]
    blas: list[str]
    processor: str
    command: list[str]
    host: str
    started: str
    process: int

    @property
    def content(self) -> dict[str, Any]:
        """All of it, in JSON's types."""
        return asdict(self)

    @property
    def id(self) -> str:
        """Sixteen hexadecimal digits that follow from the content."""
        return digest(self.content)[:16]

    @property
    def kind(self) -> str:
        """All that the bits of a result depend on, as one string."""
        return canonical_json([self.code, self.versions, self.blas, self.processor])

    def differences(self, here: Source) -> list[str]:
        """Say in which code and versions this process, found elsewhere, differs from ours."""
        names = self.versions.keys() | here.versions
        said = [
            f"{name} {self.versions.get(name)} there, {here.versions.get(name)} here"
            for name in sorted(names)
            if self.versions.get(name) != here.versions.get(name)
        ]
        return said + other_code(self.code, here.code)


def other_code(there: Mapping[str, str], here: Mapping[str, str]) -> list[str]:
    """Say which packages and files differ, by the first digits of their hashes."""
    names = sorted(name for name in there.keys() | here if there.get(name) != here.get(name))
    return [
        f"{name} with SHA-256 {there.get(name, 'none')[:12]} there, "
        f"{here.get(name, 'none')[:12]} here"
        for name in names
    ]


def source_of(measure: Callable[..., Any]) -> Source:
    """Return what this process is when it measures with `measure`."""
    return Source(code=code_of(measure), **_process())


def code_of(measure: Callable[..., Any]) -> Code:
    """Return the hashes of the code that `measure` runs.

    These are the packages of the house without the rooms that only read results, the room or file
    that `measure` is defined in, and what its attribute `code` names, as plugins do.
    """
    code = {name: _hash_of_package(name) for name in _PACKAGES}
    function = inspect.unwrap(_function(measure))
    return code | _own_code(function) | dict(getattr(measure, "code", {}))


def _function(measure: Any) -> Any:
    """Return the function in a partial one, or the class of an object that is called."""
    while isinstance(measure, functools.partial):
        measure = measure.func
    return measure if inspect.isroutine(measure) else type(measure)


def _own_code(function: Any) -> Code:
    """Return the hash of the room, or of the file, that a function is defined in."""
    package = str(function.__module__).rpartition(".")[0]
    if package.partition(".")[0] in _PACKAGES:
        return {}
    if package:
        return {package: _hash_of_package(package)}
    try:
        path = Path(inspect.getsourcefile(function) or "")
        return {path.name: _hash_of_files([(path.name, path)])}
    except (TypeError, OSError):  # typed into an interpreter or a notebook
        return {
            function.__qualname__: hashlib.sha256(_steps(function.__code__).encode()).hexdigest()
        }


def _steps(code: CodeType) -> str:
    """Return what a function does as a text that is the same in every process."""
    constants = [_steps(x) if isinstance(x, CodeType) else repr(x) for x in code.co_consts]
    return repr((code.co_code, code.co_names, code.co_varnames, constants))


@functools.cache
def _hash_of_package(name: str) -> str:
    """Return the hash of the Python files of a package, those that only read results left out."""
    spec = importlib.util.find_spec(name)
    folders = spec.submodule_search_locations if spec else None
    if not folders:
        raise ValueError(f"The source of `{name}` cannot be found, so its results have no origin.")
    root = Path(folders[0])
    skipped = _READERS if name == "leml_theory" else frozenset()
    found = ((path.relative_to(root), path) for path in root.rglob("*.py"))
    return _hash_of_files((r.as_posix(), path) for r, path in found if r.parts[0] not in skipped)


def _hash_of_files(files: Iterable[tuple[str, Path]]) -> str:
    """Return the hash of names and contents, whatever the ends of lines."""
    digest = hashlib.sha256()
    for name, path in sorted(files):
        content = path.read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{name}\n{len(content)}\n".encode() + content)
    return digest.hexdigest()


@functools.cache
def _process() -> dict[str, Any]:
    """Return all but the code of what this process is."""
    versions = {"python": platform.python_version()}
    versions |= {name: installed_version(name) for name in _LIBRARIES}
    return {
        "versions": versions,
        "blas": _blas(),
        "processor": _processor(),
        "command": list(sys.orig_argv[1:]),
        "host": platform.node(),
        "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "process": os.getpid(),
    }


def installed_version(name: str) -> str:
    """Return the version of an installed distribution, or 'not installed'."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _blas() -> list[str]:
    """Return the BLAS libraries of numpy and scipy, with the kernels they chose."""
    import scipy.linalg  # noqa: F401 - brings a BLAS of its own
    from threadpoolctl import threadpool_info

    found = [item for item in threadpool_info() if item["user_api"] == "blas"]
    texts = {f"{i['internal_api']} {i['version']} {i.get('architecture', '')}" for i in found}
    return sorted(text.strip() for text in texts)


def _processor() -> str:
    """Return the processor's name and the architecture that compiled loops are made for."""
    from llvmlite import binding

    name = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").is_file():
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
        name = next((x.partition(":")[2].strip() for x in lines if x.startswith("model n")), name)
    return f"{name} ({binding.get_host_cpu_name()})"
