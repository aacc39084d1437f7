"""A constant feature, for methods whose intercept is a weight like the others."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["with_constant"]


def with_constant(X: Any, wanted: bool) -> Any:
    """Return X (n, d), dense or CSR, with a last column of ones if that is wanted."""
    if not wanted:
        return X
    ones = np.ones((X.shape[0], 1))
    return sparse.hstack([X, ones], format="csr") if sparse.issparse(X) else np.hstack([X, ones])
