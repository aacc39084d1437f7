"""The state of a fit, in a file: a fit that was killed continues from its last outer iteration."""

import json
import os
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from leml_solver._archives import read_arrays, write_arrays
from leml_solver.problem import Problem

_FORMAT = "leml_solver checkpoint 2"
_ARRAYS = ("W", "H", "b")


class Checkpoint:
    """The file of one fit, which need not exist yet.

    `identity` is everything on which the factors depend, as JSON values under names that users
    know; `sizes` are the numbers of features and labels.
    """

    def __init__(
        self, path: str | os.PathLike[str], identity: Mapping[str, Any], sizes: tuple[int, int]
    ) -> None:
        self.path, self.sizes = Path(path), sizes
        self.identity = json.loads(json.dumps(identity))
        if not self.path.absolute().parent.is_dir() or self.path.is_dir():
            raise ValueError(f"`checkpoint` must be a file in a folder that exists, got {path}.")

    def write(self, factors: Sequence[NDArray[Any] | None], trace: Sequence[Any]) -> None:
        """Replace the file by the factors (and intercept) and the trace that led to them."""
        points = [[p.iteration, p.objective, p.seconds, p.products] for p in trace]
        header = {"format": _FORMAT, "identity": self.identity, "trace": points}
        text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
        pairs = zip(_ARRAYS, factors, strict=False)
        arrays = {name: array for name, array in pairs if array is not None}
        write_arrays(self.path, {"header": text, **arrays})

    def read(self) -> tuple[tuple[NDArray[Any] | None, ...], list[list[Any]]] | None:
        """Return W, H, the intercept and the trace; None if there is no file yet.

        A file that is damaged or belongs to another fit raises ValueError.
        """
        try:
            arrays = read_arrays(self.path, compressed=False)
            header = json.loads(arrays.pop("header").tobytes())
            if header["format"] != _FORMAT:
                raise ValueError(f"of format {header['format']!r}")
            found, trace = header["identity"], header["trace"]
            W, H, b = (arrays.get(name) for name in _ARRAYS)
            names = sorted(self.identity.keys() | found.keys())
            other = [name for name in names if self.identity.get(name) != found.get(name)]
            if not (other or self._is_sound(W, H, b, np.array(trace))):
                raise ValueError("its arrays are not those of this fit")
        except FileNotFoundError:
            return None
        except (ValueError, LookupError, AttributeError, TypeError, RecursionError) as error:
            raise ValueError(
                f"{self.path}: expected a checkpoint of this version, got something else or a "
                f"damaged file ({error}); remove it to begin anew."
            ) from error
        if other:
            raise ValueError(
                f"{self.path}: belongs to another fit, which differs in {', '.join(other)}; name "
                "another file, or remove this one to begin anew."
            )
        return (W, H, b), [[int(point[0]), *point[1:]] for point in trace]

    def _is_sound(self, W: Any, H: Any, b: Any, points: NDArray[Any]) -> bool:
        """Whether these are finite numbers in the shapes that the fit has written."""
        sound = [F.shape for F in (W, H)] == [(size, W.shape[1]) for size in self.sizes]
        sound &= all(str(F.dtype) == self.identity["dtype"] for F in (W, H))
        sound &= b is None or (b.shape == H.shape[:1] and b.dtype.kind == "f")
        sound &= points.dtype.kind == "f" and points.shape == (len(points), 4)
        finite = all(np.isfinite(part).all() for part in (W, H, points) if sound)
        return bool(sound and finite and (points[:, 0] == range(len(points))).all())


def array_checksum(array: Any, before: int = 0) -> int:
    """Return the CRC-32 of the bytes of an array."""
    flat = np.ascontiguousarray(array).reshape(-1)
    text = f"{flat.dtype.str} {np.shape(array)}".encode()
    return zlib.crc32(flat.view(np.uint8).data if flat.size else b"", zlib.crc32(text, before))


def data_checksum(problem: Problem, before: int = 0) -> int:
    """Return a number that other features and labels do not have."""
    labels = problem.labels
    for matrix in (problem.features, labels.complete):
        stored = matrix is not None
        parts = (matrix.indptr, matrix.indices, matrix.data) if sp.issparse(matrix) else (matrix,)
        for part in parts if stored else ():
            before = array_checksum(part, before)
    for entries in (labels.listed, labels.missing):
        for part in entries or ():
            before = before if part is None else array_checksum(part, before)
    return zlib.crc32(repr((problem.shape, labels.shape)).encode(), before)
