"""Public data sets from npz files that you have: checked when loaded, never downloaded.

The folder is an argument or the environment variable ``LEML_DATA``; a data set is the file
``NAME.npz`` in it, in the form that `leml_solver.readers` reads (CSR parts ``X_data, X_indices,
X_indptr, X_shape``, the same for Y, row numbers ``train_idx, test_idx``).
"""

from __future__ import annotations

import hashlib
import os
import tomllib
import zipfile
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from argument_checks.wrong_types import errors_name_arguments
from leml_solver.readers.dataset import Dataset
from leml_solver.readers.lines import ReadError
from leml_solver.readers.npz import read_npz

__all__ = [
    "DATASETS",
    "KnownDataset",
    "PartStatistics",
    "available",
    "content_checksum",
    "data_folder",
    "load_dataset",
    "table_2_differences",
]

ENVIRONMENT_VARIABLE = "LEML_DATA"
_MAX_BYTES = 2**30  # unpacked; the largest known set takes a hundredth of that
# Table 2 prints two decimals and sometimes cuts them: 68.5054 is printed 68.50.
_PRINTED = 0.01


@dataclass(frozen=True, slots=True)
class PartStatistics:
    """One half of a row of Table 2: points, and nonzero features and positive labels per point.

    Paper: Table 2.
    """

    n_samples: int
    nonzeros: float
    labels: float

    @classmethod
    def of(cls, part: Dataset) -> PartStatistics:
        """Measure a part of a data set."""
        n = part.X.shape[0]
        return cls(n, part.X.nnz / n, part.Y.nnz / n)

    def agrees(self, printed: PartStatistics) -> bool:
        """Return whether these are the printed figures."""
        return (
            self.n_samples == printed.n_samples
            and abs(self.nonzeros - printed.nonzeros) < _PRINTED
            and abs(self.labels - printed.labels) < _PRINTED
        )

    def __str__(self) -> str:
        return f"n {self.n_samples}, nonzeros {self.nonzeros:.2f}, labels {self.labels:.2f}"


@dataclass(frozen=True, slots=True)
class KnownDataset:
    """What is known about a public data set.

    Attributes
    ----------
    shape : tuple of int
        Numbers of points n, features d and labels L.
    checksum : str
        SHA-256 of its content, see `content_checksum`.
    printed : tuple of PartStatistics, or None
        Training and test part in Table 2, if the paper has the data set.
    """

    shape: tuple[int, int, int]
    checksum: str
    printed: tuple[PartStatistics, PartStatistics] | None = None


def _known_datasets() -> dict[str, KnownDataset]:
    """Read what is known of each data set."""
    text = files("leml_solver").joinpath("datasets.toml").read_text(encoding="utf-8")
    known = {}
    for name, facts in tomllib.loads(text).items():
        n, d, n_labels = facts["shape"]
        printed = [PartStatistics(*part) for part in facts.get("printed", ())]
        halves = (printed[0], printed[1]) if printed else None
        known[name] = KnownDataset((n, d, n_labels), facts["checksum"], halves)
    return known


DATASETS = _known_datasets()


def load_dataset(name: str, folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load a data set by name and check that it is the one the name promises.

    Parameters
    ----------
    name : str
        One of `DATASETS`, or the name of another npz file in the folder, which is then read
        without a check of its content; `messages` says so.
    folder : path, optional
        Where the files are; None takes the environment variable ``LEML_DATA``.

    Returns
    -------
    Dataset
        `Dataset.split` gives its training and test rows.  `messages` says where it differs from
        Table 2.

    Raises
    ------
    ReadError
        If the folder or the file does not exist, is damaged, too large or hostile, or has other
        content than the data set of that name.  Nothing is ever downloaded.

    Paper: Table 2.
    """
    path = _path(name, data_folder(folder))
    known = DATASETS.get(name)
    if known is None:
        note = f"{path}: not a data set known by that name, so its content was not checked."
        data = read_npz(str(path))
        return replace(data, messages=(*data.messages, note))
    _check_unpacked_size(path)
    data = read_npz(str(path))
    _check_content(data, known, path)
    return replace(data, messages=data.messages + table_2_differences(data, name))


def available(folder: str | os.PathLike[str] | None = None) -> tuple[str, ...]:
    """Return the names of the npz files in the folder, known data sets or not."""
    files = data_folder(folder).glob("*.npz")
    return tuple(sorted(path.stem for path in files if path.is_file()))


def data_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder given, or that of the environment variable, which must be there."""
    given = os.environ.get(ENVIRONMENT_VARIABLE) if folder is None else folder
    remedy = (
        f"Pass `folder` or set {ENVIRONMENT_VARIABLE} to a folder with NAME.npz files "
        f"({', '.join(DATASETS)}); nothing is downloaded."
    )
    if not given:
        raise ReadError(f"No folder of data sets was given. {remedy}")
    path = Path(given)
    if not path.is_dir():
        raise ReadError(f"{path}: expected a folder of data sets, got none. {remedy}")
    return path


def content_checksum(data: Dataset) -> str:
    """Return the SHA-256 of a data set's content, however the file that holds it was written.

    It covers shapes, columns and values of the nonzero entries of X (as float64) and of Y, the
    splits and the label names; so a file saved again, with another compression or in dense form,
    has the same checksum.
    """
    digest = hashlib.sha256()
    for matrix in (data.X, data.Y):
        _update(digest, matrix)
    for name in sorted(data.splits):
        digest.update(f"{name} ".encode() + data.splits[name].astype("<i8").tobytes())
    digest.update("\n".join(data.label_names).encode())
    return digest.hexdigest()


def table_2_differences(data: Dataset, name: str) -> tuple[str, ...]:
    """Return a message if the default split is not the one that Table 2 describes.

    Paper: Table 2.
    """
    printed = DATASETS[name].printed
    if printed is None:
        return ()
    train, test = (PartStatistics.of(part) for part in data.split())
    if train.agrees(printed[0]) and test.agrees(printed[1]):
        return ()
    message = (
        f"{name}: the default split is not the paper's, so results will differ; training "
        f"rows: {train} here, {printed[0]} in Table 2; test rows: {test} here, {printed[1]} there."
    )
    return (message,)


def _path(name: str, folder: Path) -> Path:
    """Return the file of a data set, which must be a regular file or a link to one."""
    if not name or Path(name).name != name or name.startswith("."):
        raise ReadError(f"`name` must be a data set such as 'bibtex', not a path, got {name!r}.")
    path = folder / f"{name}.npz"
    if path.is_file():
        return path
    state = "is not a regular file" if path.exists() or path.is_symlink() else "does not exist"
    there = ", ".join(available(folder)) or "none"
    raise ReadError(f"{path} {state}; npz files in the folder: {there}. Nothing is downloaded.")


def _check_unpacked_size(path: Path) -> None:
    """Raise before unpacking if a known data set claims to be far larger than it is."""
    try:
        with zipfile.ZipFile(path) as archive:
            total = sum(member.file_size for member in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise ReadError(f"{path}: not a sound npz file ({error}); make it again.") from error
    if total > _MAX_BYTES:
        raise ReadError(
            f"{path}: would take {total} bytes, more than the {_MAX_BYTES} that any known set may; "
            "it is not what its name says."
        )


def _check_content(data: Dataset, known: KnownDataset, path: Path) -> None:
    shape = (*data.X.shape, data.Y.shape[1])
    if shape != known.shape:
        raise ReadError(
            f"{path}: expected n, d, L = {known.shape}, got {shape}; it is not what its name says."
        )
    if (found := content_checksum(data)) != known.checksum:
        raise ReadError(
            f"{path}: expected the content with SHA-256 {known.checksum}, got {found}; "
            "fetch the file again, or load a file of your own under another name."
        )


def _update(digest: Any, matrix: Any) -> None:
    """Hash a sparse matrix as shape, columns and values of its nonzero entries."""
    canonical = sparse.csr_array(matrix, dtype=np.float64, copy=True)
    canonical.sum_duplicates()
    canonical.eliminate_zeros()
    digest.update(str(canonical.shape).encode())
    for part in (canonical.indptr, canonical.indices):
        digest.update(part.astype("<i8").tobytes())
    digest.update(canonical.data.astype("<f8").tobytes())


errors_name_arguments(globals())
