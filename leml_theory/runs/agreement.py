"""When results of two kinds of processor count as the same result of a cell.

Other BLAS kernels round otherwise, and an iterative fit then ends elsewhere within its certificate.
Between the oldest and the newest kernels of OpenBLAS (SSE and AVX2), means of the default sweep
differ by at most 0.006 of their standard errors, standard errors by 0.0015 of themselves, and what
is solved to a certificate, without random draws, by 1e-7 of itself.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

TOLERANCE = 1e-6  # relative
TOLERANCE_IN_STANDARD_ERRORS = 0.01  # of the same record, which is what a reader can notice


def agree(first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether two results of a cell differ by rounding alone.

    Each number may differ by `TOLERANCE` times the larger one, plus
    `TOLERANCE_IN_STANDARD_ERRORS` times the `stderr` of its record. All else must be equal.
    """
    return len(first) == len(second) and all(map(_agree, first, second))


def _agree(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Compare two records value by value."""
    spreads = [record.get("stderr") for record in (first, second)]
    known = [x for x in spreads if isinstance(x, float) and math.isfinite(x)]
    room = TOLERANCE_IN_STANDARD_ERRORS * max(map(abs, known), default=0.0)
    return list(first) == list(second) and all(_close(first[x], second[x], room) for x in first)


def _close(a: Any, b: Any, room: float) -> bool:
    """Compare two values; only floating-point numbers may differ."""
    if type(a) is not type(b) or not isinstance(a, float):
        return type(a) is type(b) and bool(a == b)
    if not (math.isfinite(a) and math.isfinite(b)):
        return a == b or (math.isnan(a) and math.isnan(b))
    return bool(abs(a - b) <= TOLERANCE * max(abs(a), abs(b)) + room)
