"""Files that are there whole or not at all, locks that end with their process, and disk errors.

Nothing here depends on the operating system: it works on Windows as well.
"""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

__all__ = ["LockedError", "disk_error_text", "locked", "sync_folder", "write_text", "written_aside"]

_REMEDIES = {
    errno.ENOSPC: "The disk is full: free space and run the same command again.",
    errno.EDQUOT: "Your disk quota is used up: free space and run the same command again.",
    errno.EFBIG: "A limit on file sizes was met (`ulimit -f`): raise it and run the same command "
    "again.",
    errno.EACCES: "Choose a folder that you may write to.",
    errno.EPERM: "Choose a folder that you may write to.",
    errno.EROFS: "Choose a folder that can be written to.",
}


class LockedError(RuntimeError):
    """A lock that another process, or another part of this one, holds."""


def disk_error_text(action: str, error: OSError) -> str:
    """Return what failed, why, and what the user can do about it.

    Parameters
    ----------
    action : str
        What was tried, such as "write to `results`".
    error : OSError
        What the system said.
    """
    remedy = _REMEDIES.get(error.errno or 0, "Check the disk and run the same command again.")
    return f"Could not {action}: {error.strerror or error}. {remedy}"


@contextlib.contextmanager
def written_aside(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file beside `path` that takes its place once it is written, closed and on the disk.

    The file beside it is called ``.NAME.`` and some random letters. After an error it is gone, and
    `path` is what it was before; after a kill it may be left.
    """
    target = Path(path)
    descriptor, aside = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(aside, _usual_mode(target))
        os.replace(aside, target)
        sync_folder(target.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(aside)
        raise


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a UTF-8 file that is there whole or not at all."""
    with written_aside(path) as file:
        file.write(text.encode())


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Wait until the disk knows the names in `folder`; Windows has no way to ask for that."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def locked(path: str | os.PathLike[str]) -> Iterator[None]:
    """Hold the lock of a file meanwhile; the system releases it when the process ends or dies.

    Raises
    ------
    LockedError
        At once if somebody else holds it.
    OSError
        If the file cannot be made or its disk has no locks.
    """
    from filelock import FileLock, Timeout

    # A disk without locks is an error: a soft lock would outlive a run that was killed.
    lock = FileLock(path, timeout=0, fallback_to_soft=False)
    try:
        lock.acquire()
    except Timeout:
        raise LockedError(f"`{path}` is locked by another run.") from None
    try:
        yield
    finally:
        lock.release()


def _usual_mode(target: Path) -> int:
    """Return the permissions of the file that is replaced, or those of a new file."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
