"""Which labels of which points are seen."""

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from argument_checks import (
    distribution,
    generator,
    nonnegative,
    open_probability,
    positive_integer,
    probability,
    truth_value,
)
from simulations.features import Moments

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


class Entries(NamedTuple):
    """Distinct observed entries; an entry seen twice is listed once, with weight 2.

    Examples
    --------
    >>> import numpy as np
    >>> from simulations import UniformLabels
    >>> pattern = UniformLabels(n_labels=2, labels_per_point=3, replace=True)
    >>> entries = pattern.draw(1, np.random.default_rng(1))
    >>> entries.columns, entries.weights
    (array([0, 1]), array([1., 2.]))
    """

    rows: Counts
    columns: Counts
    weights: Array


@dataclass(frozen=True, slots=True)
class LabelNumbers:
    """Law of the number k of labels that a point shows.

    It must not depend on x, nor on which labels they are: given k, each of them has the law p_l.

    Parameters
    ----------
    values, probabilities : tuple of int, tuple of float
        The values of k, and how likely they are.
    given : bool
        Whether these are the shares of the points at hand, whose numbers are given.

    Examples
    --------
    >>> from simulations import LabelNumbers
    >>> numbers = LabelNumbers((0, 1, 2), (0.25, 0.5, 0.25))  # two labels, seen with chance 1/2
    >>> numbers.mean, numbers.spread, numbers.largest_factor
    (1.0, 1.5, 2.0)
    """

    values: tuple[int, ...]
    probabilities: tuple[float, ...]
    given: bool = False

    def __post_init__(self) -> None:
        sound = len(self.values) == len(self.probabilities) and min(self.probabilities) >= 0
        if not sound or abs(math.fsum(self.probabilities) - 1) > 1e-9 or self.mean <= 0:
            raise ValueError(
                "`probabilities` must be those of `values`, sum to 1 and have a positive mean, got "
                f"{self.probabilities!r} for {self.values!r}."
            )

    @property
    def mean(self) -> float:
        """Expected number s of labels per point."""
        return float(np.dot(self.values, self.probabilities))

    @property
    def spread(self) -> float:
        """E k^2 / s^2: 1 where all points show s labels; n over it is an effective sample size."""
        return float(np.dot(np.square(self.values), self.probabilities)) / self.mean**2

    @property
    def largest_factor(self) -> float:
        """Largest k over s: how often the fullest point counts."""
        return max(self.values) / self.mean

    def counted(self, moments: Moments, *, power: int = 1) -> Moments:
        """Return the moments of (k/s) x from those of x; with power -1 the other way round."""
        spread, largest = self.spread**power, self.largest_factor**power
        proxy = None if moments.proxy is None else largest**2 * moments.proxy
        second, top = spread * moments.second_moment, spread * moments.top_eigenvalue
        return Moments(second, top, proxy, largest * moments.radius, moments.centred)


class Observation(Protocol):
    """A law of the observed set Omega.

    Examples
    --------
    >>> from simulations import BernoulliEntries, Observation, UniformLabels
    >>> patterns: list[Observation] = [UniformLabels(6, 3), BernoulliEntries(6, 0.5)]
    >>> [(pattern.labels_per_point, pattern.fixed) for pattern in patterns]
    [(3, True), (3.0, False)]
    """

    @property
    def n_labels(self) -> int:
        """Number of labels L."""

    @property
    def labels_per_point(self) -> float:
        """Expected number s of observed labels per point; risks are sums divided by n s."""

    @property
    def fixed(self) -> bool:
        """Whether every point shows exactly `labels_per_point` labels."""

    @property
    def label_numbers(self) -> LabelNumbers:
        """Law of the number of labels that a point shows."""

    @property
    def probabilities(self) -> Array:
        """Law p_l of one observed slot, shape (L,)."""

    def draw(self, n: int, rng: np.random.Generator) -> Entries:
        """Draw the observed entries of n points."""

    def counts(self, n: int, rng: np.random.Generator) -> Counts:
        """Draw how often each label occurs when every point shows one slot, shape (L,)."""


def _merge(rows: Counts, columns: Counts, n_labels: int) -> Entries:
    """Merge repeated entries into one with their number as weight, sorted by row, then column."""
    cells, weights = np.unique(rows * n_labels + columns, return_counts=True)
    return Entries(cells // n_labels, cells % n_labels, weights.astype(np.float64))


@dataclass(frozen=True, slots=True)
class UniformLabels:
    """`labels_per_point` labels per point, drawn uniformly, with or without replacement.

    Paper: Section 4.

    Examples
    --------
    >>> import numpy as np
    >>> from simulations import UniformLabels
    >>> entries = UniformLabels(n_labels=5, labels_per_point=2).draw(3, np.random.default_rng(0))
    >>> entries.rows
    array([0, 0, 1, 1, 2, 2])
    >>> entries.columns
    array([2, 3, 1, 3, 1, 3])
    """

    n_labels: int
    labels_per_point: int = 1
    replace: bool = False

    fixed = True

    def __post_init__(self) -> None:
        positive_integer(self.n_labels, "n_labels")
        positive_integer(self.labels_per_point, "labels_per_point")
        truth_value(self.replace, "replace")
        if not self.replace and self.labels_per_point > self.n_labels:
            raise ValueError(
                f"`labels_per_point` must not exceed the {self.n_labels} labels without "
                f"replacement, got {self.labels_per_point}; set replace=True or ask for fewer."
            )

    @property
    def label_numbers(self) -> LabelNumbers:
        """Law of the number of labels that a point shows: always the same."""
        return LabelNumbers((self.labels_per_point,), (1.0,))

    @property
    def probabilities(self) -> Array:
        """Law of one observed slot: uniform."""
        return np.full(self.n_labels, 1 / self.n_labels)

    def draw(self, n: int, rng: np.random.Generator) -> Entries:
        """Draw the observed entries of n points."""
        shape = (positive_integer(n, "n"), self.labels_per_point)
        rows = np.repeat(np.arange(n, dtype=np.int64), self.labels_per_point)
        if self.replace or self.labels_per_point == 1:
            columns = generator(rng).integers(0, self.n_labels, size=shape)
        else:
            ranks = generator(rng).random((n, self.n_labels))
            columns = np.argpartition(ranks, self.labels_per_point - 1, axis=1)
            columns = columns[:, : self.labels_per_point].astype(np.int64)
        return _merge(rows, columns.ravel(), self.n_labels)

    def counts(self, n: int, rng: np.random.Generator) -> Counts:
        """Draw how often each label occurs when every point shows one slot."""
        return generator(rng).multinomial(positive_integer(n, "n"), self.probabilities)


@dataclass(frozen=True, slots=True)
class WeightedLabels:
    """`labels_per_point` labels per point, drawn from any law, always with replacement.

    Without replacement the marginals would no longer be the given law.

    Paper: Theorem 6.

    Examples
    --------
    >>> import numpy as np
    >>> from simulations import WeightedLabels
    >>> pattern = WeightedLabels((0.5, 0.25, 0.25), labels_per_point=1)
    >>> pattern.counts(1000, np.random.default_rng(0))
    array([521, 241, 238])
    """

    law: tuple[float, ...]
    labels_per_point: int = 1

    fixed = True

    def __post_init__(self) -> None:
        checked = distribution(self.law, "law")
        object.__setattr__(self, "law", tuple(checked.tolist()))
        positive_integer(self.labels_per_point, "labels_per_point")

    @property
    def n_labels(self) -> int:
        """Number of labels L."""
        return len(self.law)

    @property
    def label_numbers(self) -> LabelNumbers:
        """Law of the number of labels that a point shows: always the same."""
        return LabelNumbers((self.labels_per_point,), (1.0,))

    @property
    def probabilities(self) -> Array:
        """Law of one observed slot."""
        return np.asarray(self.law)

    def draw(self, n: int, rng: np.random.Generator) -> Entries:
        """Draw the observed entries of n points."""
        size = positive_integer(n, "n") * self.labels_per_point
        columns = generator(rng).choice(self.n_labels, size=size, p=self.probabilities)
        rows = np.repeat(np.arange(n, dtype=np.int64), self.labels_per_point)
        return _merge(rows, columns, self.n_labels)

    def counts(self, n: int, rng: np.random.Generator) -> Counts:
        """Draw how often each label occurs when every point shows one slot."""
        return generator(rng).multinomial(positive_integer(n, "n"), self.probabilities)


@dataclass(frozen=True, slots=True)
class BernoulliEntries:
    """Every entry is seen with probability `rate`, independently of the others.

    Examples
    --------
    >>> import numpy as np
    >>> from simulations import BernoulliEntries
    >>> pattern = BernoulliEntries(n_labels=5, rate=0.4)
    >>> pattern.labels_per_point
    2.0
    >>> pattern.draw(3, np.random.default_rng(0)).columns
    array([1, 2, 3, 1, 3])
    """

    n_labels: int
    rate: float

    def __post_init__(self) -> None:
        positive_integer(self.n_labels, "n_labels")
        probability(self.rate, "rate")

    @property
    def labels_per_point(self) -> float:
        """Expected number of observed labels per point."""
        return self.rate * self.n_labels

    @property
    def fixed(self) -> bool:
        """Whether every point shows exactly `labels_per_point` labels: only where all are seen."""
        return self.rate == 1

    @property
    def label_numbers(self) -> LabelNumbers:
        """Law of the number of labels that a point shows: binomial."""
        from scipy.stats import binom  # slow to load, and few need it

        values = np.arange(self.n_labels + 1)
        chances = binom.pmf(values, self.n_labels, self.rate)
        return LabelNumbers(tuple(values.tolist()), tuple(chances.tolist()))

    @property
    def probabilities(self) -> Array:
        """Law of one observed slot: uniform."""
        return np.full(self.n_labels, 1 / self.n_labels)

    def draw(self, n: int, rng: np.random.Generator) -> Entries:
        """Draw the observed entries of n points; there may be none."""
        seen = generator(rng).random((positive_integer(n, "n"), self.n_labels)) < self.rate
        rows, columns = (index.astype(np.int64) for index in np.nonzero(seen))
        return Entries(rows, columns, np.ones(rows.size))

    def counts(self, n: int, rng: np.random.Generator) -> Counts:
        """Draw how often each label occurs when every point shows one slot."""
        return generator(rng).multinomial(positive_integer(n, "n"), self.probabilities)


def zipf(n_labels: int, exponent: float) -> tuple[float, ...]:
    """Return the law p_l proportional to l^(-exponent) on `n_labels` labels.

    Examples
    --------
    >>> from simulations import zipf
    >>> [round(p, 3) for p in zipf(n_labels=3, exponent=1.0)]
    [0.545, 0.273, 0.182]
    """
    ranks = np.arange(1, positive_integer(n_labels, "n_labels") + 1)
    weights = ranks ** -nonnegative(exponent, "exponent")
    return tuple((weights / weights.sum()).tolist())


def heavy_label(n_labels: int, share: float) -> tuple[float, ...]:
    """Return the law that gives the first label `share` and spreads the rest evenly.

    Examples
    --------
    >>> from simulations import heavy_label
    >>> heavy_label(n_labels=5, share=0.5)
    (0.5, 0.125, 0.125, 0.125, 0.125)
    """
    if positive_integer(n_labels, "n_labels") < 2:
        raise ValueError(f"`n_labels` must be at least 2, one heavy and one other, got {n_labels}.")
    rest = (1 - open_probability(share, "share")) / (n_labels - 1)
    return (float(share), *([rest] * (n_labels - 1)))
