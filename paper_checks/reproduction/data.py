"""Training and test rows, and which labels of the training rows are observed."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from leml_solver import Labels
from leml_theory.runs.cells import Cell
from paper_checks.reproduction.planning import Task, loaded
from simulations import BernoulliEntries


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Points with their labels, of which `mask` says which are observed (None: all).

    Attributes
    ----------
    X : (n, d) CSR array
    Y : (n, L) CSR array
    mask : (n, L) CSR array of bool, or None
    """

    X: Any
    Y: Any
    mask: Any = None

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of points and of labels."""
        return int(self.Y.shape[0]), int(self.Y.shape[1])

    def take(self, index: NDArray[np.int64]) -> Rows:
        """Return some of the points."""
        return Rows(self.X[index], self.Y[index], None if self.mask is None else self.mask[index])

    def labels(self) -> Labels:
        """Return the labels as the solvers take them."""
        return Labels.full(self.Y) if self.mask is None else Labels.masked(self.Y, self.mask)

    def scaled(self, unit_rows: bool) -> Rows:
        """Return the points divided by their lengths, or as they are."""
        return Rows(_unit(self.X), self.Y, self.mask) if unit_rows else self

    @property
    def row_norm(self) -> float:
        """Mean length of a point."""
        return float(np.sqrt(self.X.multiply(self.X).sum(axis=1)).mean())


def _unit(X: Any) -> Any:
    """Return X with rows of length one; a row of zeros stays."""
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64)).ravel()
    scale = (1 / np.where(norms > 0, norms, 1)).astype(X.dtype)
    return sparse.csr_array(X.multiply(scale[:, None]))


@functools.cache
def _split(name: str, folder: Path, split: str) -> tuple[Rows, Rows]:
    """Return training and test rows of a split; "random" has the sizes of the default one."""
    data = loaded(name, folder)[0]
    if split == "random":
        sizes = [len(data.splits[part]) for part in ("train_idx", "test_idx")]
        order = np.random.default_rng(0).permutation(data.X.shape[0])
        halves = (data.rows(order[: sizes[0]]), data.rows(order[-sizes[1] :]))
    else:
        halves = data.split(None if split == "default" else split)
    train, test = (Rows(sparse.csr_array(part.X), sparse.csr_array(part.Y)) for part in halves)
    return train, test


def training_part(task: Task, folder: Path, repetition: int, seed: int) -> Rows:
    """Return the training rows with the labels that are observed in this repetition.

    The pattern depends on data set, share, repetition and seed alone, so that methods are compared
    on the same entries.

    Paper: Section 5.2.
    """
    rows = _split(task.dataset, folder, task.split)[0]
    if task.observed == 1:
        return rows
    named = {"content": task.content, "observed": task.observed, "repetition": repetition}
    n, n_labels = rows.shape
    seen = BernoulliEntries(n_labels, task.observed).draw(n, Cell("pattern", named, seed).rng())
    flags = np.ones(seen.rows.size, dtype=bool)
    mask = sparse.csr_array((flags, (seen.rows, seen.columns)), shape=rows.shape)
    return Rows(rows.X, rows.Y, mask)


def testing_part(task: Task, folder: Path) -> Rows:
    """Return the test rows, all labels observed."""
    return _split(task.dataset, folder, task.split)[1]
