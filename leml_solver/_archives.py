"""Arrays in a zip file (npz), read so that a hostile file can neither run code nor fill memory."""

import io
import math
import os
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from safe_files import memory_budget, open_regular, written_aside

MAX_BYTES = 16 * 2**30  # that all arrays of a file may take, if as much is free
MAX_MEMBERS = 64
_EXPANSION = 1032  # of deflate, at most: a file that promises more is damaged
_END = b"PK\x05\x06"  # begins the last 22 bytes of an archive without a comment
_END_BYTES = 22
_HEADER_BYTES = 10_000  # longest text of an array's shape and type that is looked at
_STORED, _DEFLATED = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED
# What zipfile, zlib and numpy raise on damaged bytes; OSError for a position before the start.
_DAMAGE = (
    zipfile.BadZipFile, zlib.error, tokenize.TokenError, ArithmeticError, EOFError, LookupError,
    OSError, RuntimeError, SyntaxError, TypeError, ValueError,
)  # fmt: skip


class ArchiveError(ValueError):
    """A file that is not a sound archive of plain arrays."""


def write_arrays(path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays without compression, all or none of them, readable by `numpy.load`."""
    with written_aside(path) as file, zipfile.ZipFile(file, "w", _STORED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def read_arrays(
    path: str | os.PathLike[str], *, compressed: bool = True, without: Container[str] = ()
) -> dict[str, NDArray[Any]]:
    """Read plain arrays; nothing in the file is executed and no path in it is followed.

    Where no member may be `compressed`, no file can expand. Arrays named in `without` are not read,
    however large they are. Raises ArchiveError if the file is damaged, holds anything but plain
    arrays, or would take too much memory.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        try:
            with zipfile.ZipFile(file) as archive:
                _check_ends(archive, file, size)
                members = {n: m for n, m in _members(archive).items() if n not in without}
                _check_sizes(members, size, compressed=compressed)
                return {name: _read_member(archive, info) for name, info in members.items()}
        except ArchiveError as error:
            raise ArchiveError(f"{path}: {error}") from error
        except MemoryError as error:
            raise ArchiveError(f"{path}: there is not enough memory for its arrays.") from error
        except _DAMAGE as error:
            raise ArchiveError(f"{path}: not a sound npz file ({error}); make it again.") from error


@contextmanager
def open_members(
    path: str | os.PathLike[str], names: Iterable[str]
) -> Iterator[Mapping[str, Callable[[int], NDArray[Any]]]]:
    """Open some vectors of a file: each is a function that returns its next numbers."""
    with zipfile.ZipFile(path) as archive, ExitStack() as stack:
        members = _members(archive)
        found: dict[str, Callable[[int], NDArray[Any]]] = {}
        for name in names:
            if name not in members:
                raise ArchiveError(f"expected an array {name}.")
            member = stack.enter_context(archive.open(members[name]))
            shape, dtype, start = _array_header(archive.open(members[name]).read(_HEADER_BYTES))
            if dtype.hasobject or dtype.fields is not None or len(shape) != 1:
                raise ArchiveError(f"{name} must be a vector of numbers, got {dtype} {shape}.")
            member.read(start)
            found[name] = partial(_next_numbers, name, member, dtype)
        yield found


def _check_ends(archive: zipfile.ZipFile, file: IO[bytes], size: int) -> None:
    """Raise if something comes before the first member or after the last one."""
    file.seek(max(0, size - _END_BYTES))
    first = min((info.header_offset for info in archive.infolist()), default=0)
    if first or not file.read().startswith(_END):
        raise ArchiveError("holds data before or after the archive; make it again.")


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    listed = archive.infolist()
    if len(listed) > MAX_MEMBERS:
        raise ArchiveError(f"expected at most {MAX_MEMBERS} arrays, got {len(listed)}.")
    found: dict[str, zipfile.ZipInfo] = {}
    for info in listed:
        name = info.filename.removesuffix(".npy")
        if name == info.filename or not name.isidentifier() or name in found:
            raise ArchiveError(f"expected members like NAME.npy, once each, got {info.filename!r}.")
        found[name] = info
    return found


def _check_sizes(members: Mapping[str, zipfile.ZipInfo], size: int, *, compressed: bool) -> None:
    """Raise if the arrays would take more memory than the file or the limit explains."""
    total = sum(info.file_size for info in members.values())
    packed = any(info.compress_type != _STORED for info in members.values())
    if any(info.compress_type not in (_STORED, _DEFLATED) for info in members.values()):
        raise ArchiveError("only stored and deflated members are read.")
    if not compressed and (packed or total > size):
        raise ArchiveError(f"members must be stored as they are, got {total} bytes in {size}.")
    for name, info in members.items():
        if info.compress_size > size or info.file_size > _EXPANSION * (info.compress_size + 1):
            raise ArchiveError(f"{name} cannot be {info.file_size} bytes in a file of {size}.")
    if total > (budget := memory_budget(MAX_BYTES)):
        raise ArchiveError(f"the arrays would take {total} bytes, more than the {budget} allowed.")


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> NDArray[Any]:
    """Read one array after comparing the memory it asks for with the bytes in the file."""
    with archive.open(info) as member:
        prefix = member.read(_HEADER_BYTES + 16)
    shape, dtype, start = _array_header(prefix)
    asked = math.prod(shape) * dtype.itemsize
    plain = not dtype.hasobject and dtype.fields is None and dtype.itemsize > 0
    # A million rows without columns take no bytes here, but many once they are rows of a matrix.
    hollow = asked == 0 and shape != (0,)
    if not plain or hollow or asked != info.file_size - start:
        raise ArchiveError(
            f"{info.filename} must be a plain array of {info.file_size - start} bytes, got "
            f"{dtype} of shape {shape}."
        )
    with archive.open(info) as member:
        return np.lib.format.read_array(member, allow_pickle=False, max_header_size=_HEADER_BYTES)


def _next_numbers(name: str, member: IO[bytes], dtype: np.dtype[Any], n: int) -> NDArray[Any]:
    found = np.frombuffer(bytearray(member.read(n * dtype.itemsize)), dtype=dtype)
    if found.size != n:
        raise ArchiveError(f"{name} is shorter than its row ends say.")
    return found


def _array_header(prefix: bytes) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Return shape, type and length of the header of an array in npy format."""
    file = io.BytesIO(prefix)
    version = np.lib.format.read_magic(file)
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in readers:
        raise ArchiveError(f"arrays must be of npy format 1.0 or 2.0, got {version}.")
    shape, _, dtype = readers[version](file, max_header_size=_HEADER_BYTES)
    if any(length < 0 for length in shape):
        raise ArchiveError(f"array shapes must not be negative, got {shape}.")
    return shape, dtype, file.tell()
