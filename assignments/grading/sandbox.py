"""A student's process seen from the grader: started, asked, stopped at a limit, started anew."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import select
import signal
import struct
import subprocess
import sys
import time
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .confinement import student_user
from .fences import PACKAGES, child_environment, make_fence, search_path
from .folder import Folder
from .kernel import LIMITS
from .output import Output
from .rooms import room
from .transport import decode, frame_length, unpack

_BOOT = """
import importlib, sys
from importlib.util import module_from_spec, spec_from_file_location
spec = spec_from_file_location({name!r}, {init!r}, submodule_search_locations=[{folder!r}])
package = module_from_spec(spec)
sys.modules[{name!r}] = package
sys.path[:] = {search!r}
importlib.import_module({name!r} + ".child").main({requests}, {replies})
"""
_NAME = "_answering"  # what the child calls this package
_MOMENT = 0.25  # seconds to wait for a reply before the folder is looked at


@dataclass(frozen=True)
class Limits:
    """How long and how large a student's code may be."""

    seconds: float = 30.0  # wall time of one cell or one call
    total_seconds: float = 300.0  # wall time of the whole submission
    memory: int = 4 * 2**30  # address space in bytes
    # Whether answers run even where the kernel keeps not all of the limits.
    weak_fence: bool = False

    @classmethod
    def of(cls, seconds: float, *, weak_fence: bool = False) -> Limits:
        """Return the limits that follow from the time of one call."""
        return cls(seconds, total_seconds=10 * seconds, weak_fence=weak_fence)


class StoppedError(Exception):
    """The student's process was stopped or ended by itself; the message says how."""


@dataclass(frozen=True)
class Reply:
    """What came back: its kind ("value", "function", "missing", "done" or "error") and a value."""

    kind: str
    value: Any


@dataclass(frozen=True)
class ByName:
    """Something that lives in the student's process and is handed back to it by name."""

    name: str


class Sandbox(AbstractContextManager["Sandbox"]):
    """One process of a student's code; `with` it, or close it."""

    def __init__(self, submission: Path, modules: tuple[str, ...], limits: Limits) -> None:
        self._limits = limits
        self.refused: list[str] = []
        self.output = Output()
        self._folder = Folder(submission)
        self.folder = self._folder.path
        self._received, self._closed = bytearray(), False
        self._fence = make_fence(self.folder, limits.total_seconds, limits.memory)
        self._room = room(self._fence)
        if os.geteuid() == 0 and not self._room:
            self._folder.give(student_user())
        self._process, self._write, self._read = self._launch()
        self.held = self._start(modules)

    def __exit__(self, *_: object) -> None:
        self.close()

    def _launch(self) -> tuple[subprocess.Popen[bytes], int, int]:
        child_reads, write = os.pipe()
        read, child_writes = os.pipe()
        here = Path(__file__).resolve().parent
        boot = _BOOT.format(
            name=_NAME,
            init=str(here / "__init__.py"),
            folder=str(here),
            search=search_path(),
            requests=child_reads,
            replies=child_writes,
        )
        process = subprocess.Popen(
            [*self._room, sys.executable, "-I", "-B", "-c", boot],
            stdin=subprocess.DEVNULL,
            stdout=self.output.inlet,
            stderr=self.output.inlet,
            pass_fds=(child_reads, child_writes),
            cwd=self.folder,
            env=child_environment(self.folder),
            start_new_session=True,
        )
        for end in (child_reads, child_writes, self.output.inlet):
            os.close(end)
        os.set_blocking(write, False)
        return process, write, read

    def _start(self, modules: tuple[str, ...]) -> list[str]:
        """Hand over the fence; the packages are loaded in the child before it is closed."""
        modules = (*PACKAGES, *modules)
        start = {"search": search_path(), "modules": modules, "fence": asdict(self._fence)}
        reply = self._exchange(_pickled(start), seconds=max(60.0, self._limits.seconds))
        return list(LIMITS) if self._room else [str(name) for name in reply.value]

    @property
    def missing(self) -> list[str]:
        """The limits that hold on other machines, but not on this one."""
        return [name for name in LIMITS if name not in self.held]

    def ask(self, task: str, content: Any, seconds: float | None = None) -> Reply:
        """Send a request and return the reply; raises StoppedError when none comes in time."""
        limit = self._limits.seconds if seconds is None else seconds
        return self._exchange(_pickled((task, content)), limit)

    def _exchange(self, request: bytes, seconds: float) -> Reply:
        deadline = time.monotonic() + seconds
        try:
            self._send(struct.pack(">Q", len(request)) + request, deadline)
            while True:
                reply = self._receive(deadline)
                if reply.kind != "refused":
                    return reply
                self._note(str(reply.value))
        except TimeoutError:
            self.close()
            raise StoppedError(f"ran longer than {seconds:.3g} s and was stopped") from None
        except (EOFError, BrokenPipeError):
            raise StoppedError(self._ending()) from None

    def _send(self, data: bytes, deadline: float) -> None:
        left = memoryview(data)
        while left:
            if _ready(self._write, select.POLLOUT, deadline):
                left = left[os.write(self._write, left[:65536]) :]

    def _receive(self, deadline: float) -> Reply:
        """Return the next reply; one that does not parse ends the process."""
        try:
            while (length := frame_length(self._received)) is None or len(self._received) < length:
                self._fill(deadline)
            frame = bytes(self._received[:length])
            del self._received[:length]
            message, arrays = unpack(frame)
            return Reply(str(message["kind"]), decode(message["value"], arrays))
        except (TimeoutError, EOFError, StoppedError):
            raise
        except Exception as error:  # forged replies can be wrong in any way
            self.close()
            raise StoppedError(
                f"sent a reply that cannot be read ({type(error).__name__})"
            ) from None

    def _fill(self, deadline: float) -> None:
        if excess := self._folder.excess():
            self.close()
            raise StoppedError(f"{excess} and was stopped")
        if not _ready(self._read, select.POLLIN, deadline):
            return
        data = os.read(self._read, 1 << 20)
        if not data:
            raise EOFError
        self._received += data

    def _note(self, deed: str) -> None:
        deed = deed[:300]  # a forged one can be of any length
        if deed not in self.refused and len(self.refused) < 50:
            self.refused.append(deed)

    def _ending(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(2)
        self.close()
        code = self._process.returncode
        if self._room and code > 128:  # as bubblewrap tells of a signal
            code = 128 - code
        if code == -signal.SIGXCPU:
            return "used more processor time than allowed and was stopped"
        if code is not None and code < 0:
            return f"crashed the Python process ({signal.Signals(-code).name})"
        return f"ended the Python process (exit code {code})"

    def close(self) -> None:
        """Stop the process and everything it started; remove its folder."""
        if self._closed:
            return
        self._closed = True
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._write)
        os.close(self._read)
        self.output.finish()
        self._folder.remove()


def _ready(end: int, event: int, deadline: float) -> bool:
    """Wait a moment until one end of a pipe can be used; raises TimeoutError at the deadline."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    poll = select.poll()
    poll.register(end, event)
    return bool(poll.poll(1000 * min(left, _MOMENT)))


def _pickled(value: Any) -> bytes:
    buffer = io.BytesIO()
    _Pickler(buffer, protocol=4).dump(value)
    return buffer.getvalue()


class _Pickler(pickle.Pickler):
    """Pickle arguments; a student's function goes by name."""

    def persistent_id(self, obj: Any) -> str | None:
        return obj.name if isinstance(obj, ByName) else None
