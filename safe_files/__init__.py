"""Files that exist whole or not at all, locks that end with their process, and disk errors.

Nothing here depends on the operating system: it works on Windows as well.
"""

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

_REMEDIES = {
    errno.ENOSPC: "The disk is full: free space and run the same command again.",
    errno.EDQUOT: "Your disk quota is used up: free space and run the same command again.",
    errno.EFBIG: "A limit on file sizes was reached (`ulimit -f`): raise it and run the same "
    "command again.",
    errno.EACCES: "Choose a folder that you may write to.",
    errno.EPERM: "Choose a folder that you may write to.",
    errno.EROFS: "Choose a folder that can be written to.",
    errno.ENOENT: "Make the folder first, or choose another.",
    errno.ENOTDIR: "Choose a folder for it.",
    errno.EISDIR: "Choose a name that is not that of a folder.",
    errno.EINVAL: "Choose the name of a file.",
    errno.ELOOP: "Remove the link, or choose another name.",
    errno.ENAMETOOLONG: "Choose a shorter name.",
    errno.EMFILE: "Too many files are open (`ulimit -n`): close some and try again.",
}
_READING = {
    errno.EACCES: "Ask its owner for permission to read it.",
    errno.EPERM: "Ask its owner for permission to read it.",
    errno.ENOENT: "Check the name.",
    errno.EINVAL: "Copy its content to a file first.",
    errno.EISDIR: "Name a file in it.",
    errno.ENOMEM: "Free some memory, or name a smaller file.",
}
_NOT_A_FILE = "Not a regular file, but a pipe, a socket or a device"
_FREE_SHARE = 0.4  # of the memory that is free: reading holds buffers and matrices for a moment


class LockedError(RuntimeError):
    """The lock is held by another process, or by another part of this one."""


def disk_error_text(action: str, error: OSError) -> str:
    """Return what failed, why, and what the user can do about it.

    Parameters
    ----------
    action : str
        What was tried, such as "write to `results`".
    error : OSError
        What the system said.
    """
    known = {**_REMEDIES, **_READING} if action.startswith(("read", "look")) else _REMEDIES
    remedy = known.get(error.errno or 0, "Check the disk and run the same command again.")
    return f"Could not {action}: {error.strerror or error}. {remedy}"


@contextlib.contextmanager
def written_aside(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file beside `path` that takes its place once it is written, closed and on the disk.

    The file beside it is called ``.NAME.`` followed by random characters. After an error it is
    removed and `path` is unchanged; after a kill it may remain. A symbolic link stays one: the file
    that it names is replaced. Pipes and devices are not replaced by a file, but refused.
    """
    target = _link_target(path)
    with _named(path):
        descriptor, aside = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            with _named(path):
                file.flush()
                os.fsync(file.fileno())
        with _named(path):
            os.chmod(aside, _usual_mode(target))
            os.replace(aside, target)
            sync_folder(target.parent)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(aside)
        if isinstance(error, OSError) and error.filename is None:  # of a write
            error.filename = os.fspath(path)
        raise


@contextlib.contextmanager
def _named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let errors of the disk name the file that the user knows, not the one beside it."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = os.fspath(path), None
        raise


def _link_target(path: str | os.PathLike[str]) -> Path:
    """Return the file that a path leads to, which need not exist; OSError if it cannot be one."""
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    if target.exists():
        _check_regular(target.stat().st_mode, path)
    return target


def _check_regular(mode: int, path: str | os.PathLike[str]) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, _NOT_A_FILE, os.fspath(path))


def open_regular(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open a file to read its bytes; pipes and devices, which may never end, raise OSError."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags)  # a pipe without a writer would block otherwise
    try:
        _check_regular(os.fstat(descriptor).st_mode, path)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_whole(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a regular file; OSError if they need more memory than may be used."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > memory_budget(size):
            raise OSError(errno.ENOMEM, "It does not fit into the free memory", os.fspath(path))
        return file.read()


def free_memory() -> int | None:
    """Return the bytes of memory that are free to use, None where the system does not say."""
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return 1024 * int(next(x.split()[1] for x in lines if x.startswith("MemAvailable")))
    return None


def memory_budget(most: int) -> int:
    """Return how many bytes the content of a file may take: `most`, or a share of the free ones."""
    free = free_memory()
    return most if free is None else min(most, int(_FREE_SHARE * free))


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a UTF-8 file that exists whole or not at all."""
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
    """Hold the lock of a file within the context; the system releases it if the process dies.

    Raises
    ------
    LockedError
        At once if another process holds it.
    OSError
        If the file cannot be created or its disk has no locks.
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
