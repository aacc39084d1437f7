"""What a student's process may not do, said in Python: limits, and a hook that refuses and reports.

The hook sees what goes through the interpreter and can say what was tried. The kernel's own limits
(`kernel`), where there are some, also hold for what goes around the interpreter.
"""

import contextlib
import importlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

NOBODY = 65534  # the user that root becomes
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Events that change files, with one path or two; events that start programs.
_ONE_PATH = ("os.chmod", "os.chown", "os.mkdir", "os.remove", "os.rmdir", "os.truncate", "os.utime")
_TWO_PATHS = ("os.link", "os.rename", "os.symlink")
_CHANGES = dict.fromkeys((*_ONE_PATH, "os.setxattr"), 1) | dict.fromkeys(_TWO_PATHS, 2)
_CALLS = ("os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.startfile")
_PROGRAMS = (*_CALLS, "os.system", "pty.spawn", "subprocess.Popen")
_SIGNALS = ("os.kill", "os.killpg", "signal.pthread_kill", "resource.prlimit")
_FORBIDDEN_MODULES = ("assignments", "tests", "otter")


@dataclass(frozen=True)
class Fence:
    """What a student's process may reach."""

    home: str  # the only folder it may write to
    readable: tuple[str, ...]  # files and folders it may read
    seconds: int  # processor time
    memory: int  # address space in bytes
    file_size: int = 16 * 2**20  # bytes of the largest file it may write
    # Threads, and processes where there may be some, besides those that run already.
    tasks: int = 64

    def may_write(self, path: str) -> bool:
        """Tell whether a file may be written."""
        return path == os.devnull or _inside(path, (self.home,))

    def may_read(self, path: str) -> bool:
        """Tell whether a file may be read."""
        return _inside(path, (self.home, *self.readable))


def _inside(path: str, roots: tuple[str, ...]) -> bool:
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)


def student_user() -> int:
    """Return whom a student's process runs as: nobody for root, where such a user is known."""
    if os.geteuid() != 0:
        return os.geteuid()
    with contextlib.suppress(OSError), open("/proc/self/uid_map") as lines:
        known = [(int(first), int(count)) for first, _, count in map(str.split, lines)]
        if not any(first <= NOBODY < first + count for first, count in known):
            return 0  # in a namespace with root alone
    return NOBODY


def limit_resources(fence: Fence) -> None:
    """Limit processor time, memory, tasks, open files and the size of files, for good."""
    import resource

    limits = {
        resource.RLIMIT_CPU: fence.seconds,
        resource.RLIMIT_AS: fence.memory,
        resource.RLIMIT_FSIZE: fence.file_size,
        resource.RLIMIT_NOFILE: 64,  # files without a name, which no folder shows: 1 GB of them
        resource.RLIMIT_NPROC: _tasks_of(student_user()) + fence.tasks,
        resource.RLIMIT_CORE: 0,
    }
    for kind, wanted in limits.items():
        _, hard = resource.getrlimit(kind)
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with contextlib.suppress(ValueError, OSError):  # not every system has every limit
            # The warning for processor time (SIGXCPU) tells the grader why the process ended.
            resource.setrlimit(kind, (limit, limit + 2 * (kind == resource.RLIMIT_CPU)))


def _tasks_of(user: int) -> int:
    """Return how many threads a user has now: the system's limit counts them all."""
    count = 0
    for entry in os.scandir("/proc") if os.path.isdir("/proc") else ():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and entry.stat().st_uid == user:
                count += len(os.listdir(f"{entry.path}/task"))
    return count


def stop_numba_writing() -> None:
    """Let numba read its cache beside the packages but never write to it."""
    try:
        caching: Any = importlib.import_module("numba.core.caching")
    except ImportError:
        return
    caching._CacheLocator.ensure_cache_path = lambda *_: None
    caching.IndexDataCacheFile.save = lambda *_: None


def install_hook(fence: Fence, report: Callable[[str], None]) -> None:
    """Refuse what leaves the fence with a PermissionError, and report it; this cannot be undone."""
    judge = _Judge(fence)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        deed = judge(event, arguments)
        if deed is not None:
            report(deed)
            raise PermissionError(f"not allowed here: {deed}")

    sys.addaudithook(hook)


class _Judge:
    """Say which deed, if any, an audit event stands for that is not allowed."""

    def __init__(self, fence: Fence) -> None:
        self._fence = fence

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> str | None:
        if event == "open":
            return self._open(*arguments)
        if event in ("os.listdir", "os.scandir"):
            return self._list(arguments[0])
        if event in _CHANGES:
            return self._change(event, arguments[: _CHANGES[event]])
        if event == "import":
            return self._import(str(arguments[0]))
        return self._other(event, arguments)

    def _open(self, path: Any, mode: Any, flags: Any) -> str | None:
        place = _place(path)
        if place is None:
            return None
        writes = bool(flags & _WRITES) if isinstance(flags, int) else "r" not in str(mode)
        if writes:
            return None if self._fence.may_write(place) else f"write {place} outside its folder"
        return None if self._fence.may_read(place) else f"read {place}"

    def _list(self, path: Any) -> str | None:
        place = _place("." if path is None else path)
        return None if place is None or self._fence.may_read(place) else f"list {place}"

    def _change(self, event: str, paths: tuple[Any, ...]) -> str | None:
        places = [place for place in map(_place, paths) if place is not None]
        outside = [place for place in places if not self._fence.may_write(place)]
        return f"change ({event}) {outside[0]} outside its folder" if outside else None

    def _import(self, module: str) -> str | None:
        top = module.partition(".")[0]
        return f"import {module}" if top in _FORBIDDEN_MODULES else None

    def _other(self, event: str, arguments: tuple[Any, ...]) -> str | None:
        if event in _PROGRAMS:
            program = f" {arguments[0]!s:.80}" if arguments else ""
            return f"start another process ({event}{program})"
        if event.startswith("socket."):
            return f"use the network ({event})"
        if event in _SIGNALS:
            return f"touch another process ({event})"
        return None


def _place(path: Any) -> str | None:
    """Return where a path leads, links followed; None for an open file's number."""
    if isinstance(path, int):
        return None
    return os.path.realpath(os.fsdecode(path))
