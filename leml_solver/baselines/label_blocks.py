"""Labels some at a time, as signs of one byte."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from leml_solver.baselines.label_losses import Signs
from leml_solver.labels import Labels

__all__ = ["label_blocks"]

_ENTRIES = 1 << 21  # of a block: 16 MB of predictions
_FEWEST = 32  # labels, the width of the compiled products


def label_blocks(labels: Labels) -> Iterator[tuple[slice, Signs]]:
    """Yield which labels a block has, and their signs (n, p), 0 where they are missing."""
    n, n_labels = labels.shape
    width = max(_FEWEST, _ENTRIES // n)
    for start in range(0, n_labels, width):
        part = slice(start, min(start + width, n_labels))
        yield part, _full(labels.complete, part) if labels.is_full else _partial(labels, part)


def _full(Y: Any, part: slice) -> Signs:
    """Return the signs of labels that are all known."""
    block = Y[:, part]
    dense = block.toarray() if hasattr(block, "toarray") else block
    return np.where(dense > 0, 1, -1).astype(np.int8)


def _partial(labels: Labels, part: slice) -> Signs:
    """Return the signs of labels of which some are missing."""
    entries: Any = labels.entries
    ends = entries.by_label.indptr[part.start : part.stop + 1]
    which = slice(ends[0], ends[-1])
    columns = np.repeat(np.arange(ends.size - 1), np.diff(ends))
    signs: Signs = np.zeros((labels.shape[0], ends.size - 1), dtype=np.int8)
    positive = entries.values[entries.label_order[which]] > 0
    signs[entries.by_label.indices[which], columns] = np.where(positive, 1, -1)
    return signs
