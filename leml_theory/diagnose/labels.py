"""Known labels of a real data set as the theory treats them: one random slot per point."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from argument_checks import generator, probability
from leml_solver.metrics import TrueLabels
from leml_theory.arrays import Array, Index
from simulations.observation import LabelNumbers, UniformLabels


@dataclass(frozen=True, slots=True)
class LabelFacts:
    """What a bound needs to know about the labels.

    Attributes
    ----------
    labels_per_point : float
        Observed labels per point, s, on average.
    fixed : bool
        Whether every point shows exactly s.
    probability_range : tuple of float
        Smallest and largest share p and P that a label has of the observed entries: the law of
        *which* label is observed, 1/L throughout when all are.
    cardinality : float
        Observed positive labels per point.
    largest_frequency : float
        Largest share of positives among the observed entries of a label.
    """

    labels_per_point: float
    fixed: bool
    probability_range: tuple[float, float]
    cardinality: float
    largest_frequency: float


@dataclass(frozen=True, eq=False)
class KnownLabels:
    """Labels 0/1, all known or known where a mask is true.

    Attributes
    ----------
    Y : (n, L) CSR array
        Ones where a label is known to be positive.
    mask : (n, L) CSR array of bool, or None
        The known entries; None means all.
    """

    Y: Any
    mask: Any = None

    @classmethod
    def of(cls, Y: Any, name: str = "Y") -> KnownLabels:
        """Take a sparse matrix, all known, or an array in which NaN is missing."""
        labels = TrueLabels.of(Y).Y
        if 0 in labels.shape:
            raise ValueError(f"`{name}` must not be empty, got shape {labels.shape}.")
        if sparse.issparse(labels):
            positive = sparse.csr_array(labels > 0)
            return cls(positive.astype(np.float64))
        positive = sparse.csr_array((labels == 1).astype(np.float64))
        known = np.isfinite(labels)
        return cls(positive, None if known.all() else sparse.csr_array(known))

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers n and L."""
        return int(self.Y.shape[0]), int(self.Y.shape[1])

    @cached_property
    def counts(self) -> Index:
        """Observed labels of each point, (n,)."""
        if self.mask is None:
            return np.full(self.shape[0], self.shape[1], dtype=np.int64)
        return np.asarray(np.diff(self.mask.indptr), dtype=np.int64)

    @cached_property
    def observations(self) -> Index:
        """Observed entries of each label, (L,)."""
        if self.mask is None:
            return np.full(self.shape[1], self.shape[0], dtype=np.int64)
        seen = np.bincount(self.mask.indices, minlength=self.shape[1])
        return np.asarray(seen, dtype=np.int64)

    @property
    def facts(self) -> LabelFacts:
        """What a bound needs to know about these labels; every label must have been observed."""
        n, total = self.shape[0], self.observations.sum()
        shares = self.observations / total
        frequencies = self.Y.sum(axis=0) / self.observations
        return LabelFacts(
            labels_per_point=float(total / n),
            fixed=bool((self.counts == self.counts[0]).all()),
            probability_range=(float(shares.min()), float(shares.max())),
            cardinality=float(self.Y.sum() / n),
            largest_frequency=float(frequencies.max()),
        )

    @property
    def numbers(self) -> LabelNumbers | None:
        """How many points show how many labels; None where all show as many."""
        values, times = np.unique(self.counts, return_counts=True)
        shares = tuple((times / self.shape[0]).tolist())
        return (
            None if values.size == 1 else LabelNumbers(tuple(values.tolist()), shares, given=True)
        )

    def largest_share(self, squares: Array) -> float:
        """Return the largest share of E|V|_F^2 that one label has, from |x|^2 of each point (n,).

        A point counts as often as it shows labels, and each of them has the same part of it.
        """
        if self.mask is None:
            return 1 / self.shape[1]
        weights = self.counts * squares
        total = float(weights @ self.counts)
        return float((weights @ self.mask).max()) / total if total > 0 else 1 / self.shape[1]

    def rows(self, index: Index) -> KnownLabels:
        """Return the labels of some points."""
        return KnownLabels(self.Y[index], None if self.mask is None else self.mask[index])

    def columns(self, index: Index) -> KnownLabels:
        """Return some of the labels."""
        mask = None if self.mask is None else sparse.csr_array(self.mask[:, index])
        return KnownLabels(sparse.csr_array(self.Y[:, index]), mask)

    def with_hidden(self, share: float, rng: np.random.Generator) -> KnownLabels:
        """Keep this share of each point's labels, at least one, drawn without replacement."""
        if probability(share, "observed") == 1:
            return self
        mask = self._drawn(share, generator(rng))
        return KnownLabels(sparse.csr_array(self.Y.multiply(mask)), mask)

    def _drawn(self, share: float, rng: np.random.Generator) -> Any:
        """Draw the entries that are kept."""
        n, L = self.shape
        if self.mask is None:
            entries = UniformLabels(L, max(1, round(share * L))).draw(n, rng)
            rows, columns = entries.rows, entries.columns
        else:
            points = np.repeat(np.arange(n), self.counts)
            order = np.lexsort((rng.random(points.size), points))
            place = np.arange(points.size) - np.repeat(self.mask.indptr[:-1], self.counts)
            kept = order[place < np.maximum(1, np.rint(share * self.counts[points]))]
            rows, columns = points[kept], self.mask.indices[kept]
        return sparse.csr_array((np.ones(rows.size, dtype=bool), (rows, columns)), shape=(n, L))

    def sign_matrix(self, rng: np.random.Generator) -> Any:
        """Draw S (L, n): one sign per point, in the row of one of its observed labels.

        A point with k observed labels counts k/s times, as it does in the risk; this is the law of
        `leml_theory.rademacher` without a list of all entries.
        """
        points = np.flatnonzero(self.counts)
        counts = self.counts[points]
        place = np.minimum((rng.random(points.size) * counts).astype(np.int64), counts - 1)
        chosen = place if self.mask is None else self.mask.indices[self.mask.indptr[points] + place]
        signs = rng.choice([-1.0, 1.0], size=points.size) * counts / self.counts.mean()
        return sparse.csr_array((signs, (chosen, points)), shape=self.shape[::-1])
