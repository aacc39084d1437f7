"""Plain data as bytes, without pickle: what an answer may be when it comes back to the grader.

A frame is a JSON text followed by arrays in numpy's own format (pickle refused). The grader decodes
frames that a student's process wrote, so nothing in one can make it run code.
"""

import io
import json
import math
import struct
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leml_theory.plots.description import AxesDescription, LineDescription, describe_axes

LARGEST_FRAME = 64 * 2**20  # bytes; the largest answer asked for in the course has about 1e5
_DEEPEST = 40
_MOST = 250_000  # values outside arrays; a reply of 24 MB of empty lists would fill 760 MB
_MOST_ARRAYS = 20_000  # numbers of numpy's own types count as arrays
_MOST_KEYS = 1000  # of a dict or a set: keys can be chosen so that each is compared with all others
_KINDS = "biufcSU"  # dtypes that are numbers, truth values or text
_HEADER = struct.Struct(">QI")  # bytes after the header, bytes of JSON


class _Encoder:
    """Turn a value into JSON, and put its arrays aside."""

    def __init__(self) -> None:
        self.arrays: list[NDArray[Any]] = []
        self._bytes = self._values = 0

    def encode(self, value: Any, depth: int = 0) -> Any:
        if depth > _DEEPEST:
            raise TypeError(f"returned data nested more than {_DEEPEST} deep")
        if value is None or isinstance(value, bool | str):
            return self._counted(value)
        if value is Ellipsis:
            return {"unanswered": True}
        if isinstance(value, np.ndarray | np.generic):
            return self._array(value)
        if isinstance(value, int | float):
            return self._counted(value)
        return self._container(value, depth + 1)

    def _container(self, value: Any, depth: int) -> Any:
        if isinstance(value, complex):
            return {"complex": [value.real, value.imag]}
        if isinstance(value, list | tuple | set | frozenset):
            kind = next(k for k in (list, tuple, set, frozenset) if isinstance(value, k))
            if kind in (set, frozenset):
                _check_keys(value)
            return {kind.__name__: [self.encode(item, depth) for item in self._few(value)]}
        if isinstance(value, dict):
            _check_keys(value)
            pairs = [list(pair) for pair in self._few(value.items())]
            return {"dict": [[self.encode(item, depth) for item in pair] for pair in pairs]}
        if isinstance(value, AxesDescription) or _is_axes(value):
            return {"axes": self.encode(asdict(describe_axes(value)), depth)}
        raise TypeError(f"returned {_kind(value)}, which is not plain data: {_advice(value)}")

    def _array(self, value: Any) -> Any:
        array = np.asarray(value)
        if array.dtype.kind not in _KINDS:
            raise TypeError(f"returned an array of type {array.dtype}; numbers are needed")
        self._grow(array.nbytes)
        self.arrays.append(array)
        if len(self.arrays) > _MOST_ARRAYS:
            raise ValueError(
                f"returned more than {_MOST_ARRAYS:,} arrays or numpy scalars; use one"
            )
        return {"scalar" if isinstance(value, np.generic) else "array": len(self.arrays) - 1}

    def _counted(self, value: Any) -> Any:
        self._grow(len(value) if isinstance(value, str) else 8)
        return value

    def _few(self, items: Any) -> list[Any]:
        self._grow(8 * len(items))
        return list(items)

    def _grow(self, size: int) -> None:
        self._bytes += size
        self._values += 1
        if self._values > _MOST:
            raise ValueError(f"returned more than {_MOST:,} values in lists; return an array")
        if self._bytes > LARGEST_FRAME:
            megabytes = self._bytes / 2**20
            raise ValueError(
                f"returned {megabytes:,.0f} MB, more than the {LARGEST_FRAME >> 20} MB read back"
            )


def _check_keys(value: Any) -> None:
    if len(value) > _MOST_KEYS:
        raise ValueError(f"returned {_kind(value)} of more than {_MOST_KEYS:,} keys; use an array")


def encode(value: Any) -> tuple[Any, list[NDArray[Any]]]:
    """Return a JSON tree and the arrays it points to.

    Raises TypeError where `value` is not plain data, ValueError where it is too large.
    """
    encoder = _Encoder()
    return encoder.encode(value), encoder.arrays


def _is_axes(value: Any) -> bool:
    return any(cls.__module__ == "matplotlib.axes._axes" for cls in type(value).__mro__)


def _kind(value: Any) -> str:
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def _advice(value: Any) -> str:
    name = type(value).__name__
    advice = {
        "generator": "return a list, not a generator",
        "Figure": "return the Axes, not the Figure",
        "DataFrame": "return an array or a dictionary",
        "Series": "return an array",
        "function": "return what it computes, not the function",
    }
    return advice.get(name, "return numbers, strings, lists, dictionaries, arrays or an Axes")


def decode(tree: Any, arrays: list[NDArray[Any]]) -> Any:
    """Return the value of a JSON tree; raises ValueError for a tree that `encode` cannot give."""
    if not isinstance(tree, dict):
        if isinstance(tree, list):
            raise ValueError("a bare list in a reply")
        return tree
    ((kind, content),) = tree.items()
    if kind in ("array", "scalar"):
        array = arrays[int(content)]
        return array[()] if kind == "scalar" else array
    if kind == "complex":
        return complex(*content)
    if kind in ("dict", "set", "frozenset"):
        _check_keys(content)
    if kind == "dict":
        return {decode(key, arrays): decode(item, arrays) for key, item in content}
    if kind == "axes":
        return _axes(decode(content, arrays))
    if kind == "unanswered":
        return Ellipsis
    make = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}[kind]
    return make(decode(item, arrays) for item in content)


def _axes(fields: dict[str, Any]) -> AxesDescription:
    for name in ("lines", "points"):
        fields[name] = tuple(LineDescription(**line) for line in fields[name])
    return AxesDescription(**fields)


def pack(message: Any, arrays: list[NDArray[Any]]) -> bytes:
    """Return a frame: a JSON message and arrays."""
    text = json.dumps(message).encode()
    blobs = io.BytesIO()
    for array in arrays:
        np.lib.format.write_array(blobs, np.ascontiguousarray(array).reshape(array.shape))
    body = text + blobs.getvalue()
    return _HEADER.pack(len(body), len(text)) + body


def frame_length(received: bytes | bytearray) -> int | None:
    """Return how long the frame is that begins here, or None when its header is not complete."""
    if len(received) < _HEADER.size:
        return None
    length, _ = _HEADER.unpack_from(received)
    if length > LARGEST_FRAME + 2**24:
        raise ValueError(f"a reply of {length} bytes")
    return _HEADER.size + int(length)


def unpack(frame: bytes | bytearray) -> tuple[Any, list[NDArray[Any]]]:
    """Return the message and the arrays of a frame; any fault in it is a ValueError."""
    _, text_length = _HEADER.unpack_from(frame)
    body = memoryview(frame)[_HEADER.size :]
    text = bytes(body[:text_length])
    if sum(map(text.count, (b"[", b"{", b","))) > 4 * _MOST:  # counted before anything is built
        raise ValueError("a reply of too many values")
    message = json.loads(text)
    blobs, arrays = io.BytesIO(bytes(body[text_length:])), []
    while blobs.tell() < len(body) - text_length:
        _check_array(blobs, len(body) - text_length)
        arrays.append(np.lib.format.read_array(blobs, allow_pickle=False))
        if len(arrays) > _MOST_ARRAYS:
            raise ValueError("a reply of too many arrays")
    return message, arrays


def _check_array(blobs: io.BytesIO, end: int) -> None:
    """Refuse an array that claims more than the frame holds, before room is made for it."""
    start = blobs.tell()
    np.lib.format.read_magic(blobs)
    shape, _, dtype = np.lib.format.read_array_header_1_0(blobs)
    if dtype.kind not in _KINDS or math.prod(shape) * max(dtype.itemsize, 1) > end - blobs.tell():
        raise ValueError("an array that is not all there")
    blobs.seek(start)
