"""Labels with more than two values: one 0/1 column a value, and the best column back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from leml_solver.labels import Labels


def one_hot(y: Any, classes: Sequence[Sequence[Any]]) -> Labels:
    """Return 0/1 labels with one column a class of each label; None or NaN in y is missing.

    Parameters
    ----------
    y : (n, q) array
        Values of q multi-class labels.
    classes : q sequences
        The values that each label can take, in the order of its columns.
    """
    y = np.asarray(y, dtype=object)
    if y.ndim != 2 or y.shape[1] != len(classes):
        raise ValueError(f"`y` must have one column a label, (n, {len(classes)}), got {y.shape}.")
    codes = np.column_stack([_codes(y[:, j], classes[j], j) for j in range(len(classes))])
    widths = [len(values) for values in classes]
    starts = np.concatenate([[0], np.cumsum(widths)])
    rows, labels = np.nonzero(codes >= 0)
    shape = (len(y), int(starts[-1]))
    hot = sp.csr_matrix(
        (np.ones(rows.size), (rows, starts[labels] + codes[rows, labels])), shape=shape
    )
    if rows.size == codes.size:
        return Labels.full(hot)
    return Labels.masked(hot, np.repeat(codes >= 0, widths, axis=1))


def argmax_classes(scores: Any, classes: Sequence[Sequence[Any]]) -> NDArray[Any]:
    """Return the value with the largest score of each label, (n, q)."""
    scores = np.asarray(scores)
    ends = np.cumsum([len(values) for values in classes])
    if scores.ndim != 2 or scores.shape[1] != ends[-1]:
        raise ValueError(
            f"`scores` must be (n, {ends[-1]}), one column a class, got {scores.shape}."
        )
    parts = np.split(scores, ends[:-1], axis=1)
    chosen = [np.asarray(v)[part.argmax(axis=1)] for v, part in zip(classes, parts, strict=True)]
    return np.column_stack(chosen)


def _codes(values: NDArray[Any], classes: Sequence[Any], label: int) -> NDArray[np.int64]:
    """Return the position of each value among the classes, -1 where it is missing."""
    position = {value: code for code, value in enumerate(classes)}
    missing = [value is None or value != value for value in values]  # NaN is not itself
    unknown = {v for v, gone in zip(values, missing, strict=True) if not gone and v not in position}
    if unknown:
        shown = sorted(map(str, unknown))[:5]
        raise ValueError(f"`y` must hold {list(classes)} in column {label}, got {shown}.")
    return np.array([-1 if gone else position[v] for v, gone in zip(values, missing, strict=True)])
