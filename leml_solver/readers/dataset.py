"""What a reader returns, and the buffers in which rows become matrices."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from argument_checks import finite_array, real_input, same_count
from leml_solver.labels import truths

# Not int8: scikit-learn (1.9) counts classes in the dtype of y, and silently overflows.
LABEL_DTYPE = np.int32
MAX_COLUMNS = 10**8  # a larger index is a damaged line: d x k factors would not fit in memory


def check_width(width: int, name: str) -> int:
    """Return how many columns a matrix has, which must not be more than `MAX_COLUMNS`."""
    if width > MAX_COLUMNS:
        raise ValueError(f"{name} must be at most {MAX_COLUMNS} columns, got {width}.")
    return width


class Row(NamedTuple):
    """One point: its nonzero features, its positive labels, and labels not observed."""

    features: Sequence[int]
    values: Sequence[float]
    labels: Sequence[int]
    missing: Sequence[int] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """Points and their labels.

    Attributes
    ----------
    X : (n, d) CSR array
        Features.
    Y : (n, L) CSR array of int32
        Positive labels as ones.
    missing : (n, L) CSR array of bool, or None
        Labels that were not observed; they are 0 in Y.
    feature_names, label_names : tuple of str
        Names, empty where the file has none.
    splits : dict of str to int array
        Row numbers under names such as ``train_idx``.
    skipped : int
        Bad lines that were skipped.
    messages : tuple of str
        What the reader has to say about the file.
    """

    X: Any
    Y: Any
    missing: Any = None
    feature_names: tuple[str, ...] = ()
    label_names: tuple[str, ...] = ()
    splits: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    skipped: int = 0
    messages: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what compiled loops would read out of bounds, and bring the rest into one form."""
        for name in ("X", "Y"):
            matrix = sparse.csr_array(real_input(getattr(self, name), name))
            if matrix.nnz:
                finite_array(matrix.data, name, 1, matrix.dtype)
            object.__setattr__(self, name, matrix)
        same_count(self.X.shape[0], self.Y.shape[0])
        if not np.isin(self.Y.data, (0, 1)).all():
            raise ValueError("`Y` must hold ones where labels are positive, and nothing else.")
        if self.missing is not None:
            hidden = sparse.csr_array(truths(self.missing, "missing", self.Y.shape))
            object.__setattr__(self, "missing", hidden)

    @property
    def hidden(self) -> Any:
        """The labels that were not observed as a CSR array, an empty one if all were."""
        return sparse.csr_array(self.Y.shape, dtype=bool) if self.missing is None else self.missing

    def targets(self) -> Any:
        """Return Y as the solvers take it: CSR if all is observed, else dense with NaN."""
        if self.missing is None:
            return self.Y
        dense = self.Y.toarray().astype(np.float64)
        dense[self.missing.nonzero()] = np.nan
        return dense

    def rows(self, index: NDArray[np.integer[Any]]) -> Dataset:
        """Return the points with these row numbers; splits do not apply to them any more."""
        missing = None if self.missing is None else self.missing[index]
        return replace(self, X=self.X[index], Y=self.Y[index], missing=missing, splits={})

    def split(self, name: str | None = None) -> tuple[Dataset, Dataset]:
        """Return the rows for training and those for testing.

        Parameters
        ----------
        name : str, optional
            Prefix of the split, such as ``mulan`` for ``mulan_train_idx`` and ``mulan_test_idx``;
            None is the default split, ``train_idx`` and ``test_idx``.

        Raises
        ------
        ValueError
            If there is no such split, a part of it is empty, or the parts share rows.
        """
        train, test = (self._part(name, part) for part in ("train", "test"))
        shared = np.intersect1d(train, test).size
        if shared or not train.size or not test.size:
            raise ValueError(
                f"the {name or 'default'} split must have training rows and other rows for "
                f"testing, got {train.size} and {test.size} with {shared} in both."
            )
        return self.rows(train), self.rows(test)

    def _part(self, name: str | None, part: str) -> NDArray[np.int64]:
        key = f"{part}_idx" if name is None else f"{name}_{part}_idx"
        if key in self.splits:
            return self.splits[key]
        known = ", ".join(sorted(self.splits)) or "none"
        raise ValueError(f"the data set has no rows {key}; row numbers there: {known}.")


class _Pattern:
    """Column numbers of rows as they come, 4 bytes each."""

    def __init__(self) -> None:
        self.columns, self.ends, self.width = array("i"), array("q", [0]), 0

    def add(self, columns: Sequence[int]) -> None:
        """Append the column numbers of a row."""
        self.columns.extend(columns)
        self.ends.append(len(self.columns))
        if columns:
            self.width = max(self.width, max(columns) + 1)

    def matrix(self, data: NDArray[Any], width: int) -> Any:
        """Return the CSR array with these data."""
        indices = np.array(self.columns, dtype=np.int32)
        ends = np.array(self.ends, dtype=np.int64)
        if ends[-1] < np.iinfo(np.int32).max:
            ends = ends.astype(np.int32)
        made = sparse.csr_array((data, indices, ends), shape=(ends.size - 1, width))
        made.sort_indices()
        return made

    def flags(self, width: int, dtype: type) -> Any:
        """Return the CSR array with ones."""
        return self.matrix(np.ones(len(self.columns), dtype=dtype), width)


class RowBuffer:
    """Rows collected in compact arrays: 12 bytes per stored feature, 4 per label."""

    def __init__(self) -> None:
        self._X, self._Y, self._missing = _Pattern(), _Pattern(), _Pattern()
        self._values = array("d")

    def __len__(self) -> int:
        return len(self._X.ends) - 1

    @property
    def size(self) -> int:
        """Bytes taken."""
        entries = len(self._Y.columns) + len(self._missing.columns)
        return 12 * len(self._values) + 4 * entries + 24 * len(self)

    def add(self, row: Row) -> None:
        """Append a row."""
        self._X.add(row.features)
        self._values.extend(row.values)
        self._Y.add(row.labels)
        self._missing.add(row.missing)

    def dataset(self, n_features: int | None, n_labels: int | None, **more: Any) -> Dataset:
        """Return the rows as matrices; None means as wide as the rows ask for."""
        d = self._X.width if n_features is None else n_features
        L = max(self._Y.width, self._missing.width) if n_labels is None else n_labels
        X = self._X.matrix(np.array(self._values), d)
        missing = self._missing.flags(L, bool) if len(self._missing.columns) else None
        return Dataset(X, self._Y.flags(L, LABEL_DTYPE), missing, **more)
