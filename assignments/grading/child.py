"""The process in which a student's code runs; it knows the submission, not the tests.

It reads requests (pickled, from the grader, which it may trust) and answers in plain data (see
`transport`), which the grader need not trust.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib
import io
import linecache
import os
import pickle
import struct
import sys
import types
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from . import kernel
from .confinement import Fence, install_hook, limit_resources, stop_numba_writing
from .transport import encode, pack

_LONGEST_MESSAGE = 600
_MOST_REPORTS = 20


class _Line:
    """Both directions of the talk with the grader."""

    def __init__(self, requests: int, replies: int) -> None:
        self._requests, self._replies = os.fdopen(requests, "rb"), replies
        self._reports = 0

    def receive(self) -> bytes:
        """Return the next request; ends the process when the grader is gone."""
        header = self._requests.read(8)
        if len(header) < 8:
            os._exit(0)
        return self._requests.read(struct.unpack(">Q", header)[0])

    def send(self, message: dict[str, Any], value: Any = None) -> None:
        """Send a reply that carries a value."""
        tree, arrays = encode(value)
        frame = memoryview(pack({**message, "value": tree}, arrays))
        while frame:
            frame = frame[os.write(self._replies, frame) :]

    def report(self, deed: str) -> None:
        """Tell at once what was refused; a flood of reports is cut."""
        self._reports += 1
        if self._reports <= _MOST_REPORTS:
            self.send({"kind": "refused"}, deed[:300])


def main(requests: int, replies: int) -> None:
    """Serve the grader until it closes the line."""
    line = _Line(requests, replies)
    start = pickle.loads(line.receive())
    fence = Fence(**start["fence"])
    sys.path[:] = start["search"]
    _load(start["modules"])
    # What is not open, such as the folder of a checkout, is left once its packages are loaded.
    sys.path[:] = [entry for entry in sys.path if fence.may_read(os.path.realpath(entry))]
    line.send({"kind": "done"}, _confine(fence, line.report))
    notebook = _Notebook()
    while True:
        _answer(line, notebook, line.receive())


def _load(modules: tuple[str, ...]) -> None:
    """Import what the assignment uses while files may still be written (caches)."""
    stop_numba_writing()
    for module in ("matplotlib.pyplot", *modules):
        with contextlib.suppress(ImportError):
            importlib.import_module(module)


def _confine(fence: Fence, report: Callable[[str], None]) -> list[str]:
    """Close the fence; return the kernel's limits that hold."""
    own = f"/proc/{os.getpid()}"
    fence = replace(fence, readable=(*fence.readable, own))
    os.chdir(fence.home)
    limit_resources(fence)
    held = kernel.bind(fence)
    install_hook(fence, report)
    return held


def _answer(line: _Line, notebook: _Notebook, request: bytes) -> None:
    try:
        kind, value = notebook.serve(request)
        _flush()
        line.send({"kind": kind}, value)
    except BaseException as error:  # SystemExit and KeyboardInterrupt are answers too
        _flush()
        line.send({"kind": "error"}, _description(error))


def _flush() -> None:
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()


class _Notebook:
    """The student's names, and what can be asked of them."""

    def __init__(self) -> None:
        module = types.ModuleType("__main__")
        sys.modules["__main__"] = module
        self._names = module.__dict__
        self._names["__builtins__"] = builtins
        self._names["display"] = lambda *_, **__: None

    def serve(self, request: bytes) -> tuple[str, Any]:
        """Return the kind of the reply and its value."""
        task, content = _Unpickler(io.BytesIO(request), self._names).load()
        if task == "cell":
            self._run(*content)
            return "done", None
        if task == "look":
            return self._look(content)
        name, arguments, options = content
        value = self._names[name](*arguments, **options)
        _close_figures()
        return "value", value

    def _run(self, number: int, code: str) -> None:
        place = f"<cell {number}>"
        linecache.cache[place] = (len(code), None, code.splitlines(keepends=True), place)
        exec(compile(code, place, "exec", dont_inherit=True), self._names)
        _close_figures()

    def _look(self, name: str) -> tuple[str, Any]:
        if name not in self._names:
            return "missing", None
        value = self._names[name]
        return ("function", None) if callable(value) else ("value", value)


class _Unpickler(pickle.Unpickler):
    """Read a request; references to the student's own functions are looked up."""

    def __init__(self, file: io.BytesIO, names: dict[str, Any]) -> None:
        super().__init__(file)
        self._names = names

    def persistent_load(self, pid: Any) -> Any:
        return self._names[pid]


def _close_figures() -> None:
    """Forget open figures: an Axes in hand can still be described."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")


def _description(error: BaseException) -> dict[str, Any]:
    """Return an error as plain data: its type, the builtin types it stems from, text and place."""
    kinds = [cls.__name__ for cls in type(error).__mro__ if cls.__module__ == "builtins"]
    try:
        text = str(error.msg if isinstance(error, SyntaxError) else error)
    except BaseException:
        text = "(its message cannot be shown)"
    return {
        "type": type(error).__name__,
        "kinds": kinds,
        "text": text[:_LONGEST_MESSAGE],
        "where": _where(error),
    }


def _where(error: BaseException) -> str:
    """Return the last line of the student's own code that an error went through."""
    place, trace = "", error.__traceback__
    if isinstance(error, SyntaxError) and str(error.filename).startswith("<cell"):
        return f"{str(error.filename).strip('<>')}, line {error.lineno}"
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if name.startswith("<cell"):
            source = linecache.getline(name, trace.tb_lineno).strip()
            place = f"{name.strip('<>')}, line {trace.tb_lineno}: {source[:120]}"
        trace = trace.tb_next
    return place
