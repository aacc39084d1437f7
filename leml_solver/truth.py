"""True labels of test rows, block by block: positive, negative or not observed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["Truth"]


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """Labels 0/1 or -1/+1, of which some may be missing.

    Attributes
    ----------
    Y : (n, L) float array with NaN for missing, or CSR matrix
    mask : (n, L) boolean array or CSR matrix, or None
        Which entries are observed, beside the NaN of Y.
    """

    Y: Any
    mask: Any = None

    @classmethod
    def of(cls, Y: Any, mask: Any = None, *, shape: tuple[int, int] | None = None) -> Truth:
        """Check labels and mask, and return them ready to be cut into blocks."""
        labels = _labels(Y)
        for name, matrix in (("Y", labels), ("mask", mask)):
            expected = shape if shape is not None else labels.shape
            if matrix is not None and tuple(matrix.shape) != tuple(expected):
                raise ValueError(
                    f"`{name}` must have one row a point and one column a label, "
                    f"{tuple(expected)}, got {tuple(matrix.shape)}."
                )
        return cls(labels, None if mask is None else _mask(mask))

    def block(self, start: int, stop: int) -> NDArray[np.int8]:
        """Return 1 for positive, 0 for negative and -1 for missing, rows start to stop - 1."""
        Y = self.Y[start:stop]
        values = Y.toarray() if sparse.issparse(Y) else Y
        known: NDArray[np.int8] = (values > 0).astype(np.int8)
        if values.dtype.kind == "f":
            known[np.isnan(values)] = -1
        if self.mask is not None:
            mask = self.mask[start:stop]
            known[~(mask.toarray() if sparse.issparse(mask) else mask)] = -1
        return known


def _labels(Y: Any) -> Any:
    """Return labels as CSR or float array with values 0/1 or -1/+1."""
    if sparse.issparse(Y):
        matrix = sparse.csr_array(Y)
        _check_values(matrix.data)
        return matrix
    values = Y.to_numpy(dtype=float, na_value=np.nan) if hasattr(Y, "to_numpy") else np.asarray(Y)
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        raise ValueError(
            f"`Y` must be a matrix of 0/1 labels (NaN for missing), got shape {values.shape} of "
            f"{values.dtype}."
        )
    _check_values(values)
    return values


def _check_values(values: NDArray[Any]) -> None:
    """Raise unless the values that are not NaN are within {0, 1} or {-1, +1}."""
    low, high = (values == -1).any(), (values == 0).any()
    strange = ~((values == 1) | (values == 0) | (values == -1) | (values != values))
    if strange.any() or (low and high):
        shown = values[strange][:3].tolist() if strange.any() else [-1, 0]
        raise ValueError(
            f"`Y` must hold labels in {{0, 1}} or in {{-1, +1}}, NaN for missing, got {shown}."
        )


def _mask(mask: Any) -> Any:
    """Return a mask as CSR or array of booleans."""
    if sparse.issparse(mask):
        return sparse.csr_array(mask).astype(bool)
    values = np.asarray(mask)
    if values.dtype.kind != "b":
        raise ValueError(f"`mask` must be boolean, got {values.dtype}; write mask.astype(bool).")
    return values
