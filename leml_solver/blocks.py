"""Data larger than memory: a folder of memory-mapped blocks of rows, and fits that stream it.

A folder holds ``blocks.json`` and one folder of ``npy`` files per block: X and Y in compressed
sparse rows, cut into tiles of columns with 16-bit local indices, and likewise their transposes, so
that both products read from the disk what they multiply. Nothing in it is executed.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import tokenize
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from argument_checks import moderate_array, one_of, positive_integer, real_input, truth_value
from argument_checks.wrong_types import errors_name_arguments
from leml_solver._blocked.block import Block, labels_with_missing
from leml_solver._blocked.fit import BlockedFit
from leml_solver._blocked.passes import LocalPasses
from leml_solver._estimation.blocks import BlockScores, top_k
from leml_solver._factored.checkpoint import data_checksum
from leml_solver._factored.fit import AlternatingOptions, FactorResult
from leml_solver._linalg.matrices import Matrix, TiledMatrix, Tiles
from leml_solver._linalg.threads import one_blas_thread
from leml_solver.labels import EntryList, Labels
from leml_solver.losses import Loss, as_loss
from leml_solver.problem import Problem
from leml_solver.readers.dataset import Dataset
from leml_solver.readers.lines import ReadError
from safe_files import open_regular, read_whole, sync_folder, write_text, written_aside

__all__ = ["BlockFolder", "fit_blocks", "predict_topk", "write_blocks"]

FORMAT_VERSION = 1
BLOCK_NONZEROS = 1 << 23  # about 100 MB on disk
_SAMPLED_ROWS = 500
_FORMAT, _INDEX = "leml_solver blocks", "blocks.json"
_PARTS = ("pointers", "index", "data")
_MATRICES = ("X", "XT", "Y", "YT")
_MEMBERS = (*(f"{n}_{p}" for n in _MATRICES for p in _PARTS), "missing_indices", "missing_indptr")


@dataclass(frozen=True, slots=True)
class BlockFolder:
    """A folder of blocks, opened.

    Attributes
    ----------
    path : Path
    n_features, n_labels : int
    dtype : str
        "float32" or "float64", in which X is stored.
    missing : bool
        Whether some labels are missing.
    blocks : tuple of dict
        Rows, nonzeros and checksums of each block.
    label_names, feature_names : tuple of str

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from leml_solver.blocks import BlockFolder, fit_blocks, write_blocks
    >>> from leml_solver.readers import Dataset
    >>> rows = Dataset(sp.csr_array(np.eye(6)), sp.csr_array(np.ones((6, 2), dtype=np.int32)))
    >>> write_blocks("rows", [rows], nonzeros=2).shape
    (6, 6)
    >>> len(BlockFolder.open("rows").blocks)
    3
    >>> fit_blocks("rows", rank=1, penalty=0.1).certificate.relative_gap < 1e-6
    True
    """

    path: Path
    n_features: int
    n_labels: int
    dtype: str
    missing: bool
    blocks: tuple[dict[str, Any], ...]
    label_names: tuple[str, ...] = ()
    feature_names: tuple[str, ...] = ()

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> BlockFolder:
        """Read the index of a folder."""
        place = Path(path)
        try:
            found = json.loads(read_whole(place / _INDEX))
            if found.pop("checksum") != _text_checksum(found):
                raise ValueError("its checksum does not match")
            if found.pop("format") != _FORMAT or found.pop("version") != FORMAT_VERSION:
                raise ValueError(f"format or version is not '{_FORMAT}' {FORMAT_VERSION}")
            lists = ("blocks", "label_names", "feature_names")
            made = cls(place.absolute(), **{**found, **{key: tuple(found[key]) for key in lists}})
            made._check()
            return made
        except FileNotFoundError:
            raise ReadError(
                f"{place}: expected a folder with {_INDEX}; make one with "
                "`python -m leml_solver convert FILE FOLDER`."
            ) from None
        except (
            OSError,
            ValueError,
            LookupError,
            TypeError,
            AttributeError,
            RecursionError,
        ) as error:
            raise ReadError(
                f"{place / _INDEX}: damaged ({error}); convert the data again."
            ) from error

    def _check(self) -> None:
        """Raise unless the index holds what the rest of the folder is read by."""
        one_of(self.dtype, "dtype", ("float32", "float64"))
        truth_value(self.missing, "missing")
        for block in self.blocks:
            widths, sums = (
                [block[key][name] for name in names]
                for key, names in (("tiles", _MATRICES), ("checksums", _MEMBERS))
            )
            for size in (self.n_features, self.n_labels, block["rows"], *widths):
                positive_integer(size, "size")
            if not all(isinstance(number, int) for number in (block["nonzeros"], *sums)):
                raise TypeError("checksums and numbers of nonzeros must be whole numbers")

    @property
    def shape(self) -> tuple[int, int]:
        """(n, d)."""
        return sum(block["rows"] for block in self.blocks), self.n_features

    @property
    def checksum(self) -> int:
        """A number that identifies the data."""
        return _text_checksum(self.blocks)

    def matrices(self, number: int, *, check: bool = True) -> tuple[TiledMatrix, TiledMatrix, Any]:
        """Return X, Y and the missing labels (CSR or None) of a block, memory-mapped."""
        arrays = self._arrays(number, check=check)
        rows = self.blocks[number]["rows"]
        X = self._matrix(arrays, "X", (rows, self.n_features), number)
        Y = self._matrix(arrays, "Y", (rows, self.n_labels), number)
        missing, indices = None, arrays["missing_indices"]
        try:
            if check and not (X.is_sound() and Y.is_sound()):
                raise ValueError("tiles that lead out of bounds")
            if self.missing:
                places = (np.ones(indices.size, bool), indices, arrays["missing_indptr"])
                missing = real_input(sp.csr_array(places, shape=Y.shape), "missing")
        except (ValueError, TypeError) as error:
            raise ReadError(
                f"{self.path}: block {number} is damaged ({error}); convert the data again."
            ) from error
        return X, Y, missing

    def dataset(self, number: int) -> Dataset:
        """Return the rows of a block in memory."""
        X, Y, missing = self.matrices(number)
        labels = sp.csr_array(Y.csr()).astype(np.int32)
        features = sp.csr_array(X.csr())
        return Dataset(features, labels, missing, self.feature_names, self.label_names)

    def _arrays(self, number: int, *, check: bool) -> dict[str, Any]:
        """Return the arrays of a block, memory-mapped, after a look at every byte if asked to."""
        found, folder = {}, self.path / _name(number)
        for name in _MEMBERS:
            file, checksum = folder / f"{name}.npy", self.blocks[number]["checksums"][name]
            try:
                open_regular(file).close()  # a pipe would block
                found[name] = np.load(file, mmap_mode="r", allow_pickle=False)
            except (OSError, ValueError, EOFError, tokenize.TokenError) as error:
                raise ReadError(
                    f"{file}: block {number} is missing or damaged ({error}); convert the data "
                    "again."
                ) from error
            if check and _checksum(found[name]) != checksum:
                raise ReadError(f"{file}: block {number} is damaged; convert the data again.")
        return found

    def _matrix(
        self, arrays: dict[str, Any], name: str, shape: tuple[int, int], number: int
    ) -> TiledMatrix:
        def tiles(key: str, n_columns: int) -> Tiles:
            pointers, index, data = (arrays[f"{key}_{part}"] for part in _PARTS)
            return Tiles(pointers, index, data, self.blocks[number]["tiles"][key], n_columns)

        return TiledMatrix(shape, tiles(name, shape[1]), tiles(f"{name}T", shape[0]))


def write_blocks(
    path: str | os.PathLike[str],
    datasets: Iterable[Dataset],
    *,
    dtype: str = "float32",
    nonzeros: int = BLOCK_NONZEROS,
) -> BlockFolder:
    """Write rows as a folder of blocks; it appears under its name once it is complete.

    Parameters
    ----------
    path : path
        A folder that does not exist yet.
    datasets : iterable of Dataset
        The rows, some at a time, such as `read_blocks` gives them; no more are in memory than the
        rows of one block.
    dtype : str
        "float32" or "float64", in which X is stored.
    nonzeros : int
        A block ends with the row in which X reaches this many nonzeros.
    """
    target = Path(path)
    one_of(dtype, "dtype", ("float32", "float64"))
    if target.exists():
        raise ValueError(f"{target}: exists already; name a new folder, or remove this one.")
    aside = Path(tempfile.mkdtemp(dir=target.absolute().parent, prefix=f".{target.name}."))
    try:
        writer = _Writer(aside, dtype)
        for data in cut_rows(datasets, positive_integer(nonzeros, "nonzeros")):
            writer.add(data)
        writer.finish()
        aside.chmod(0o755)
        aside.rename(target)
        sync_folder(target.absolute().parent)
    except BaseException as error:
        shutil.rmtree(aside, ignore_errors=True)
        if isinstance(error, OSError) and str(error.filename).startswith(str(aside)):
            error.filename = os.fspath(path)
        raise
    return BlockFolder.open(target)


class _Writer:
    """A folder of blocks that is being written."""

    def __init__(self, folder: Path, dtype: str) -> None:
        self.folder, self.dtype = folder, dtype
        self.blocks: list[dict[str, Any]] = []
        self.shape: tuple[int, int] | None = None
        self.missing = False
        self.names: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())

    def add(self, data: Dataset) -> None:
        """Write the rows of a data set as the next block."""
        shape = data.X.shape[1], data.Y.shape[1]
        if self.shape not in (None, shape):
            raise ValueError(
                f"all rows must have as many features and labels as the first, {self.shape}, got "
                f"{shape}; pass n_features and n_labels."
            )
        self.shape, self.names = shape, (data.label_names, data.feature_names)
        hidden = data.hidden.copy()
        hidden.eliminate_zeros()
        known = data.Y - data.Y.multiply(hidden)
        known.eliminate_zeros()
        self.missing |= bool(hidden.nnz)
        X, Y = TiledMatrix.of(data.X.astype(self.dtype)), TiledMatrix.of(known.astype(np.float32))
        if X.nnz:
            moderate_array(X.tiles.data, "X", 1, self.dtype)
        tiles = {"X": X.tiles, "XT": X.transposed, "Y": Y.tiles, "YT": Y.transposed}
        arrays = {f"{n}_{part}": getattr(t, part) for n, t in tiles.items() for part in _PARTS}
        arrays |= {"missing_indices": hidden.indices, "missing_indptr": hidden.indptr}
        checksums = self._write(arrays)
        widths = {name: tile.tile for name, tile in tiles.items()}
        self.blocks.append(
            {"rows": X.shape[0], "nonzeros": X.nnz, "tiles": widths, "checksums": checksums}
        )

    def _write(self, arrays: dict[str, NDArray[Any]]) -> dict[str, int]:
        folder = self.folder / _name(len(self.blocks))
        folder.mkdir()
        for name, array in arrays.items():
            with written_aside(folder / f"{name}.npy") as file:
                # Into a plain file numpy writes by itself, and its errors do not say why.
                part = SimpleNamespace(write=file.write)
                np.save(part, np.ascontiguousarray(array), allow_pickle=False)
        return {name: _checksum(array) for name, array in arrays.items()}

    def finish(self) -> None:
        """Write the index, without which a folder is not a folder of blocks."""
        if self.shape is None:
            raise ReadError("expected rows, got none.")
        index = {
            "format": _FORMAT,
            "version": FORMAT_VERSION,
            "n_features": self.shape[0],
            "n_labels": self.shape[1],
            "dtype": self.dtype,
            "missing": self.missing,
            "blocks": self.blocks,
            "label_names": self.names[0],
            "feature_names": self.names[1],
        }
        write_text(self.folder / _INDEX, json.dumps(index | {"checksum": _text_checksum(index)}))


def _name(number: int) -> str:
    return f"block-{number:05d}"


def _text_checksum(value: Any) -> int:
    return zlib.crc32(json.dumps(value, sort_keys=True).encode())


def _checksum(array: NDArray[Any]) -> int:
    flat = np.ascontiguousarray(array).reshape(-1)
    return zlib.crc32(flat.view(np.uint8).data if flat.size else b"")


def cut_rows(datasets: Iterable[Dataset], nonzeros: int) -> Iterator[Dataset]:
    """Join and cut data sets into blocks that end with the row that reaches so many nonzeros."""
    waiting: list[Dataset] = []
    size = 0
    for data in datasets:
        ends, start, n = data.X.indptr, 0, data.X.shape[0]
        while start < n:
            stop = min(max(int(np.searchsorted(ends, ends[start] + nonzeros - size)), start + 1), n)
            waiting.append(data.rows(np.arange(start, stop)) if stop - start < n else data)
            size += int(ends[stop] - ends[start])
            start = stop
            if size >= nonzeros:
                yield joined(waiting)
                waiting, size = [], 0
    if waiting:
        yield joined(waiting)


def known_counts(blocks: BlockFolder | Sequence[Dataset]) -> NDArray[np.int64]:
    """Return the number of known entries of each label."""
    if isinstance(blocks, BlockFolder):
        parts = [blocks.matrices(b, check=False)[1:] for b in range(len(blocks.blocks))]
    else:
        parts = [(data.Y, data.missing) for data in blocks]
    full = [np.full(Y.shape[1], Y.shape[0], dtype=np.int64) for Y, _ in parts]
    hidden = [0 if missing is None else missing.sum(axis=0) for _, missing in parts]
    return np.asarray(sum(full) - sum(hidden))


def sampled(blocks: BlockFolder | Sequence[Dataset]) -> Dataset:
    """Return some rows, drawn by a fixed seed; one block at a time is in memory."""
    folder = isinstance(blocks, BlockFolder)
    listed = blocks if isinstance(blocks, Sequence) else [blocks]
    if not folder and not all(isinstance(data, Dataset) for data in listed):
        raise TypeError(f"`blocks` must be a folder or a list of Dataset, got {blocks!r:.60}.")
    count = len(blocks.blocks) if isinstance(blocks, BlockFolder) else len(blocks)
    positive_integer(count, "number of blocks")
    found, rng = [], np.random.default_rng(0)
    for number in range(count):
        data = blocks.dataset(number) if folder else blocks[number]  # type: ignore[index,union-attr]
        size = min(data.X.shape[0], -(-_SAMPLED_ROWS // count))
        found.append(data.rows(np.sort(rng.choice(data.X.shape[0], size, replace=False))))
    return joined(found)


def joined(parts: list[Dataset]) -> Dataset:
    """Return the rows of several data sets in one."""
    if len(parts) == 1:
        return parts[0]
    matrices = ((part.X, part.Y, part.hidden) for part in parts)
    X, Y, hidden = (sp.vstack(column, format="csr") for column in zip(*matrices, strict=True))
    missing = None if all(part.missing is None for part in parts) else hidden
    return Dataset(X, Y, missing, parts[0].feature_names, parts[0].label_names)


Pairs = Sequence[tuple[Any, Any]]


def fit_blocks(
    blocks: str | os.PathLike[str] | BlockFolder | Pairs,
    *,
    rank: int,
    penalty: float,
    loss: str | Loss = "squared",
    random_state: int | np.random.Generator = 0,
    options: AlternatingOptions | None = None,
    scratch: str | os.PathLike[str] | None = None,
) -> FactorResult:
    """Fit factors to rows in blocks, in memory that depends on d, L, k and one block, not on n.

    The factors agree with those of `fit_factors` to rounding, and do not depend on the number of
    threads that share the blocks.

    Parameters
    ----------
    blocks : path, BlockFolder or sequence of (X, Y)
        A folder that `write_blocks` or ``python -m leml_solver convert`` made, or blocks in memory.
    rank, penalty, loss, random_state, options
        As in `fit_factors`; without `refine`, `warm_start_rows` and ``certify="rank"``.
    scratch : path, optional
        Folder for X W, n k numbers that are deleted when the fit ends; by default that of the
        blocks if it can be written to, else the system's for temporary files.
    """
    source = as_source(blocks, loss, options)
    place = None
    if isinstance(source, FolderSource):
        own = str(source.folder.path)
        place = Path(scratch or (own if os.access(own, os.W_OK) else tempfile.gettempdir()))
    with one_blas_thread():
        passes = LocalPasses([source.load(number, place) for number in range(len(source))])
        fit = BlockedFit(passes, source, rank=rank, penalty=penalty, options=options)
        return fit.run(random_state)


@dataclass(frozen=True, slots=True)
class FolderSource:
    """Blocks that the process working on them reads from a folder."""

    folder: BlockFolder
    loss: Loss
    dtype: str

    def __len__(self) -> int:
        return len(self.folder.blocks)

    def load(self, number: int, scratch: Path | None = None) -> Block:
        """Return a block ready for passes."""
        X, Y, missing = self.folder.matrices(number)
        labels = Labels(Y.shape, Y)
        if missing is not None:
            rows, columns = (part.astype(np.int32) for part in missing.nonzero())
            labels = Labels(Y.shape, Y, None, EntryList(rows, columns, np.zeros(rows.size), None))
        tiles = (X.tiles, X.transposed, Y.tiles, Y.transposed)
        files = tuple(part for tile in tiles for part in (tile.index, tile.data))
        return Block(X, labels, self.loss, self.dtype, scratch, files, number, len(self))

    def sizes(self) -> list[int]:
        """Return the number of nonzeros of each block."""
        return [block["nonzeros"] for block in self.folder.blocks]

    def checksum(self) -> int:
        """Return a number that identifies the data."""
        return self.folder.checksum


@dataclass(frozen=True, slots=True, eq=False)
class MemorySource:
    """Blocks in the memory of this process; `first` of `count` are elsewhere."""

    problems: list[Problem]
    loss: Loss
    full: bool
    dtype: str
    first: int = 0
    count: int = 0

    def __len__(self) -> int:
        return len(self.problems)

    def part(self, number: int) -> MemorySource:
        """Return a source of one block, to be sent; nothing that was computed goes with it."""
        whole = self.problems[number]
        alone = Problem(whole.loss, whole.features, whole.labels, whole.labels_per_point)
        return MemorySource([alone], self.loss, self.full, self.dtype, number, len(self))

    def load(self, number: int, scratch: Path | None = None) -> Block:
        """Return a block ready for passes."""
        part = self.problems[number]
        labels = part.labels if self.full else labels_with_missing(part.labels)
        place, count = self.first + number, self.count or len(self)
        return Block(part.matrix, labels, part.loss, self.dtype, scratch, (), place, count)

    def sizes(self) -> list[int]:
        """Return the number of nonzeros of each block."""
        return [int(problem.features.size) for problem in self.problems]  # stored ones if sparse

    def checksum(self) -> int:
        """Return a number that identifies the data."""
        total = 0
        for problem in self.problems:
            total = data_checksum(problem, total)
        return total


def as_source(
    blocks: Any, loss: str | Loss = "squared", options: AlternatingOptions | None = None
) -> FolderSource | MemorySource:
    """Return where blocks come from, whatever the user has passed."""
    loss, dtype = as_loss(loss), None if options is None else options.dtype
    if isinstance(blocks, str | os.PathLike):
        blocks = BlockFolder.open(blocks)
    if isinstance(blocks, BlockFolder):
        if dtype == "float32" and blocks.dtype == "float64":
            raise ValueError("`dtype` must be float64, that of the folder; convert with --dtype.")
        return FolderSource(blocks, loss, dtype or blocks.dtype)
    problems = [Problem(loss, X, Y).astype(dtype) for X, Y in blocks]
    shapes = {problem.shape for problem in problems}
    if len(shapes) != 1:
        raise ValueError(
            f"`blocks` must all have the same numbers of features and labels, got {shapes}."
        )
    full = all(problem.labels.is_full for problem in problems)
    return MemorySource(problems, loss, full, str(problems[0].features.dtype))


def predict_topk(
    blocks: str | os.PathLike[str] | BlockFolder, model: FactorResult, k: int = 5
) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
    """Yield the k labels of largest score of each row and their scores, block after block.

    Parameters
    ----------
    blocks : path or BlockFolder
        The rows.
    model : FactorResult
        What `fit_blocks` returned.
    k : int
        At most L.
    """
    folder = blocks if isinstance(blocks, BlockFolder) else BlockFolder.open(blocks)
    for number in range(len(folder.blocks)):
        yield block_topk(folder.matrices(number)[0], model, k)


def block_topk(X: Matrix, model: FactorResult, k: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the k best labels of each row of a block and their scores."""
    A = X.times(model.W.astype(np.result_type(X.dtype, model.W)))
    offset = 0.0 if model.intercept is None else model.intercept
    return top_k(BlockScores(lambda i, j: A[i:j] @ model.H.T + offset, (len(A), len(model.H))), k)


errors_name_arguments(globals())
