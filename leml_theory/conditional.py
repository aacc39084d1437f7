"""Rademacher averages of the two balls given the data, so that they serve on real data too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from argument_checks import finite_array, generator, one_of, positive, positive_integer
from leml_theory.complexity import Estimate, check_draws, norm_averages

__all__ = ["Observed", "ObservedData", "conditional_rademacher_averages"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]


class ObservedData(Protocol):
    """Features and observed entries, as samples and problems hold them."""

    @property
    def X(self) -> Any:
        """Features (n, d), dense or scipy sparse."""

    @property
    def rows(self) -> Index:
        """Point of each entry."""

    @property
    def columns(self) -> Index:
        """Label of each entry."""

    @property
    def weights(self) -> Any:
        """How often each entry was observed."""

    @property
    def n_labels(self) -> int:
        """Number of labels L."""

    @property
    def labels_per_point(self) -> Any:
        """Number s by which, times n, risks are normalised."""


@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """Features and observed entries of a real data set; X may be scipy sparse."""

    X: Any
    rows: Index
    columns: Index
    weights: Array
    n_labels: int
    labels_per_point: float


def conditional_rademacher_averages(
    data: ObservedData, *, signs: str = "points", draws: int, rng: np.random.Generator
) -> dict[str, Estimate]:
    r"""Measure the Rademacher averages of both unit balls given the data, signs random only.

    With `signs` = "points" each point has one sign and one of its observed labels, drawn afresh;
    a point with k observed labels counts k/s times, as it does in the risk.  With "entries" each
    entry has its own sign, and Maurer's vector contraction puts the factor :math:`\sqrt{2/s}` on
    the sum (it is included): signs an entry with the plain constant bound nothing.

    Parameters
    ----------
    data : ObservedData
        A sample, a problem, or an `Observed` with sparse X.
    signs : {"points", "entries"}
        Where the signs go; both averages bound the generalisation gap in the same way.
    draws : int
        Number of independent draws of the signs, at least 2.
    rng : Generator
        Source of randomness.

    Returns
    -------
    dict of str to Estimate
        Under "trace" and "frobenius".
    """
    draw = {"points": _point_signs, "entries": _entry_signs}[
        one_of(signs, "signs", ("points", "entries"))
    ]
    sorted_data = _sorted_by_row(data)
    shape = (sorted_data.n_labels, sorted_data.X.shape[0])
    stacks = (
        _product(draw(sorted_data, generator(rng)), sorted_data, shape)
        for _ in range(check_draws(draws))
    )
    return norm_averages(stacks, shape[1])


def _sorted_by_row(data: ObservedData) -> Observed:
    """Check the data and sort its entries by point."""
    X = _features(data.X)
    rows, columns = np.asarray(data.rows), np.asarray(data.columns)
    weights = finite_array(data.weights, "weights", 1)
    if not rows.shape == columns.shape == weights.shape:
        raise ValueError(
            "`rows`, `columns` and `weights` must have one value an entry, got shapes "
            f"{rows.shape}, {columns.shape} and {weights.shape}."
        )
    if (weights <= 0).any():
        raise ValueError(f"`weights` must be positive, got {weights.min()!r}; drop that entry.")
    n_labels = positive_integer(data.n_labels, "n_labels")
    _check_index(rows, "rows", X.shape[0])
    _check_index(columns, "columns", n_labels)
    order = np.argsort(rows, kind="stable")
    labels_per_point = positive(data.labels_per_point, "labels_per_point")
    return Observed(X, rows[order], columns[order], weights[order], n_labels, labels_per_point)


def _features(X: Any) -> Any:
    """Return X, dense or in CSR form, with finite entries only."""
    if not sp.issparse(X):
        return finite_array(X, "X", 2)
    if X.nnz:
        finite_array(X.tocsr().data, "X", 1)
    return X.tocsr()


def _check_index(index: NDArray[Any], name: str, end: int) -> None:
    """Raise unless all of `index` are whole numbers in [0, end)."""
    if not np.issubdtype(index.dtype, np.integer):
        raise TypeError(f"`{name}` must hold whole numbers, got {index.dtype}.")
    if index.min() < 0 or index.max() >= end:
        raise ValueError(f"`{name}` must lie in [0, {end}), got {index.min()} to {index.max()}.")


def _point_signs(data: Observed, rng: np.random.Generator) -> tuple[Array, Index, Index]:
    """Draw one sign and one slot a point: values, columns, rows of the sparse sign matrix."""
    points, begins = np.unique(data.rows, return_index=True)
    totals = np.add.reduceat(data.weights, begins)
    ends = np.cumsum(data.weights)
    targets = ends[begins] - data.weights[begins] + totals * rng.random(points.size)
    last = np.append(begins[1:], data.rows.size) - 1
    # Rounding of the running sum must not push a target into the next point.
    chosen = np.clip(np.searchsorted(ends, targets, side="right"), begins, last)
    signs = rng.choice([-1.0, 1.0], size=points.size) * totals / data.labels_per_point
    return signs, data.columns[chosen], points


def _entry_signs(data: Observed, rng: np.random.Generator) -> tuple[Array, Index, Index]:
    """Draw one sign an entry, scaled by sqrt(2 m_i)/s at a point with m_i entries (Maurer)."""
    entries = np.bincount(data.rows)[data.rows]
    scales = data.weights * np.sqrt(2 * entries) / data.labels_per_point
    return rng.choice([-1.0, 1.0], size=data.rows.size) * scales, data.columns, data.rows


def _product(signs: tuple[Array, Index, Index], data: Observed, shape: tuple[int, int]) -> Array:
    """Return V^T = S X as a stack of one, S the sparse sign matrix of shape (L, n)."""
    values, columns, rows = signs
    V = sp.csr_array((values, (columns, rows)), shape=shape) @ data.X
    dense = V.toarray() if sp.issparse(V) else V
    return np.asarray(dense, dtype=np.float64)[None]
