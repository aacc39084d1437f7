"""A student's answers as the tests see them: functions run elsewhere, values come back."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from .sandbox import ByName, Limits, Reply, Sandbox, StoppedError
from .submission import Submission

_MUCH = 10**6  # bytes
_LONGEST = 900  # characters of an error
_TESTABLE: tuple[type[Exception], ...] = (  # errors that a test may expect of a student's function
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    ZeroDivisionError,
    NotImplementedError,
)


class GraderError(Exception):
    """The grader itself cannot work on this machine; no student is to blame."""


class AnswerError(Exception):
    """An answer that is missing, or went wrong when asked; the message is for the student."""


@dataclass(frozen=True)
class _Function(ByName):
    """A student's function: a call runs it in the student's process."""

    answers: Answers = field(repr=False)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self.answers.call(self.name, arguments, options)


class Answers(AbstractContextManager["Answers"]):
    """The answers of one submission; the process behind them is started anew when it ends."""

    def __init__(self, submission: Submission, modules: tuple[str, ...], limits: Limits) -> None:
        self._submission, self._modules, self._limits = submission, modules, limits
        self._sandbox: Sandbox | None = None
        self._skipped: set[int] = set()
        self._condemned: dict[str, str] = {}
        self._deadline = time.monotonic() + limits.total_seconds
        self.remarks: list[str] = list(submission.remarks)
        self.output = ""
        self.forget()

    def forget(self) -> None:
        """Begin a test: what the last call returned, and who returned nothing, is not known."""
        self._last: tuple[str, Any] | None = None
        self.nothing = ""

    @property
    def last(self) -> str:
        """What the last call returned, in words."""
        return "" if self._last is None else f"`{self._last[0]}` returned {_short(self._last[1])}."

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the process and keep what it printed."""
        if self._sandbox is None:
            return
        self._sandbox.close()
        self.output = self.output or self._sandbox.output.text
        if self._sandbox.output.length > _MUCH:
            length = self._sandbox.output.length
            self._remark(f"it printed {length:,} bytes; only the beginning is kept.")
        for deed in self._sandbox.refused:
            self._remark(f"refused: it tried to {deed}.")
        self._sandbox = None

    def _remark(self, text: str) -> None:
        if text not in self.remarks and len(self.remarks) < 100:
            self.remarks.append(text)

    def find(self, name: str) -> Any:
        """Return a student's function or value; raises AnswerError when there is none."""
        reply = self._ask(name, "look", name)
        if reply.kind == "missing":
            stopped = self._skipped or any(" stopped: " in remark for remark in self.remarks)
            why = "; a cell stopped with an error, see the remarks" if stopped else ""
            raise AnswerError(f"`{name}` is not defined{why}.")
        if reply.kind == "function":
            return _Function(name, self)
        return self._value(name, reply)

    def call(self, name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Run a student's function and return what it returns; AnswerError when it fails."""
        reply = self._ask(name, "call", (name, arguments, options))
        value = self._value(f"{name}(...)", reply)
        self._last = name, value
        if value is None:
            self.nothing = f"`{name}` returns nothing: not answered yet, or without a `return`."
        return value

    def _value(self, name: str, reply: Reply) -> Any:
        if reply.kind == "error":
            raise _student_error(name, reply.value)
        if reply.value is Ellipsis:
            raise AnswerError(f"`{name}` is still `...`: not answered yet.")
        return reply.value

    def _ask(self, name: str, task: str, content: Any) -> Reply:
        """Ask the process; a name that stopped it once is not asked again."""
        if name in self._condemned:
            raise AnswerError(f"`{name}` was not run again: it {self._condemned[name]}.")
        sandbox = self._running()
        try:
            return sandbox.ask(task, content, self._time_left())
        except StoppedError as stop:
            self._condemned[name] = str(stop)
            self._remark(f"`{name}` {stop}.")
            self.close()
            raise AnswerError(f"`{name}` {stop}.") from None

    def _time_left(self) -> float:
        left = min(self._limits.seconds, self._deadline - time.monotonic())
        if left <= 0:
            raise AnswerError(
                f"not run: the submission took {self._limits.total_seconds:g} s in all."
            )
        return left

    def _running(self) -> Sandbox:
        """Return the process with all cells run, without those that stopped it before."""
        while self._sandbox is None:
            self._time_left()
            self._sandbox = self._start()
            try:
                self._run_cells(self._sandbox)
            except StoppedError:
                self.close()
        return self._sandbox

    def _start(self) -> Sandbox:
        try:
            sandbox = Sandbox(self._submission.path, self._modules, self._limits)
        except StoppedError as stop:  # before any of the student's code
            raise GraderError(f"a process for answers cannot be started: it {stop}.") from None
        if sandbox.missing and not self._limits.weak_fence:
            sandbox.close()
            raise GraderError(fence_refusal(sandbox.missing))
        if sandbox.missing and weak_banner(sandbox.missing) not in self.remarks:
            self.remarks.insert(0, weak_banner(sandbox.missing))
        return sandbox

    def _run_cells(self, sandbox: Sandbox) -> None:
        for number, code in enumerate(self._submission.cells, start=1):
            if not code.strip() or number in self._skipped:
                continue
            try:
                reply = sandbox.ask("cell", (number, code), self._time_left())
            except StoppedError as stop:
                self._skipped.add(number)
                self._remark(f"cell {number} {stop}; the others were run without it.")
                raise
            if reply.kind == "error":
                self._remark(f"cell {number} stopped: {_error_text(reply.value)}")


def weak_banner(missing: list[str]) -> str:
    """Return what every result says that was got behind a weak fence."""
    return f"WEAK FENCE: graded without the kernel's limits on {' and '.join(missing)}."


def fence_refusal(missing: list[str]) -> str:
    """Return why answers are not run where the fence is down, and what to do."""
    return (
        f"the fence is down: this machine does not limit {' and '.join(missing)}, so answers "
        "could read the tests. Install bubblewrap, or use Linux 5.13 or newer on a 64-bit PC, and "
        "not as root where there is no other user; --weak-fence runs all the same, and every "
        "result says so."
    )


def _error_text(error: Any) -> str:
    """Return an error of the student's code in one line; the fields may be forged."""
    fields = error if isinstance(error, dict) else {}
    place = f" ({fields['where']})" if fields.get("where") else ""
    return f"{fields.get('type', 'Error')}: {fields.get('text', '')}{place}"[:_LONGEST]


def _student_error(name: str, error: Any) -> AnswerError:
    """Return the error to raise in a test: an AnswerError that is also of the type raised."""
    kinds = error.get("kinds", []) if isinstance(error, dict) else []
    base = next((cls for cls in _TESTABLE if cls.__name__ in kinds), None)
    cls: type[AnswerError] = AnswerError
    if base is not None:
        cls = type("AnswerError", (AnswerError, base), {})
    text = str(error.get("text", ""))[:_LONGEST] if isinstance(error, dict) else ""
    trouble = text + "." if text.startswith("returned ") else f"raised {_error_text(error)}"
    return cls(f"`{name}` {trouble}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
