"""What a student's process prints: the beginning is kept, the rest counted."""

import contextlib
import fcntl
import os
import threading

_KEPT_OUTPUT = 20_000  # bytes


class Output:
    """A pipe that a thread empties, so that a flood of output is neither kept nor waited for."""

    def __init__(self) -> None:
        self._outlet, self.inlet = os.pipe()
        with contextlib.suppress(OSError, AttributeError):
            fcntl.fcntl(self.inlet, fcntl.F_SETPIPE_SZ, 1 << 20)  # a flood is drained faster
        self._kept, self._length = bytearray(), 0
        self._thread = threading.Thread(target=self._drain, daemon=True)
        self._thread.start()

    def _drain(self) -> None:
        while data := os.read(self._outlet, 1 << 20):
            self._kept += data[: max(0, _KEPT_OUTPUT - len(self._kept))]
            self._length += len(data)

    def finish(self) -> None:
        """Wait for the last of it; a process that escaped may hold the other end open."""
        self._thread.join(timeout=2)
        if not self._thread.is_alive():
            with contextlib.suppress(OSError):
                os.close(self._outlet)
            self._outlet = -1

    @property
    def text(self) -> str:
        """What was printed, cut with a line that says so."""
        text = bytes(self._kept).decode(errors="replace")
        cut = self._length - len(self._kept)
        return text + (f"\n[output cut here: {cut:,} more bytes were printed]" if cut > 0 else "")

    @property
    def length(self) -> int:
        """How many bytes were printed."""
        return self._length
