"""The folder of a student's process: watched while it grows, removed whatever is in it."""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from .fences import DRAWING, drawing_cache

_LARGEST, _MOST = 512 * 2**20, 5000  # bytes; files and folders
_PAUSE = 0.25  # seconds between two looks


class Folder:
    """A temporary folder with a copy of the submission."""

    def __init__(self, submission: Path) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="answer-"))
        self._seen = time.monotonic()
        shutil.copytree(drawing_cache(), self.path / DRAWING)
        try:
            shutil.copy(submission, self.path / submission.name)
        except OSError:
            return  # the code is sent cell by cell; the copy is there for those who look for it

    def give(self, user: int) -> None:
        """Make a user the owner of the folder and of what is in it."""
        for path in (self.path, *self.path.rglob("*")):
            os.chown(path, user, user)

    def excess(self) -> str:
        """Say what there is too much of, looking now and then; empty when all is well."""
        if time.monotonic() < self._seen + _PAUSE:
            return ""
        number, size = self._count()
        self._seen = time.monotonic()
        if number > _MOST:
            return f"made more than {_MOST:,} files or folders"
        return f"wrote more than {_LARGEST >> 20} MB to its folder" if size > _LARGEST else ""

    def _count(self) -> tuple[int, int]:
        """Return how many files and bytes there are; counting ends when there are too many."""
        number, size, folders = 0, 0, [str(self.path)]
        while folders and number <= _MOST and size <= _LARGEST:
            try:
                entries = list(os.scandir(folders.pop()))
                size += sum(entry.stat(follow_symlinks=False).st_blocks * 512 for entry in entries)
                folders += [e.path for e in entries if e.is_dir(follow_symlinks=False)]
            except OSError:  # removed in the meantime, or closed
                continue
            number += len(entries)
        return number, size

    def remove(self) -> None:
        """Remove the folder."""
        try:
            shutil.rmtree(self.path, ignore_errors=True)
        except RecursionError:  # thousands of folders in one another
            subprocess.run(["rm", "-rf", str(self.path)], check=False, capture_output=True)
