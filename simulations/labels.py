"""Models of the labels given the features."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from argument_checks import finite_array, generator, nonnegative, positive_integer

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


class LabelModel(Protocol):
    """A law of the label vector y given x."""

    @property
    def n_labels(self) -> int:
        """Number of labels L."""

    def draw(self, X: Array, rows: Counts, columns: Counts, rng: np.random.Generator) -> Array:
        """Draw the labels at distinct entries, given the features of all points."""


@dataclass(frozen=True, slots=True)
class AllOnes:
    """Every label is one: with the linear loss, the witness that attains the bounds.

    Paper: Claim 7, Claim 8.
    """

    n_labels: int

    def __post_init__(self) -> None:
        positive_integer(self.n_labels, "n_labels")

    def draw(self, X: Array, rows: Counts, columns: Counts, rng: np.random.Generator) -> Array:
        """Return ones."""
        del X, columns, rng
        return np.ones(rows.size)


@dataclass(frozen=True, slots=True)
class RandomSigns:
    """Every label is an independent fair sign, so that nothing can be learnt."""

    n_labels: int

    def __post_init__(self) -> None:
        positive_integer(self.n_labels, "n_labels")

    def draw(self, X: Array, rows: Counts, columns: Counts, rng: np.random.Generator) -> Array:
        """Draw fair signs."""
        del X, columns
        return generator(rng).choice([-1.0, 1.0], size=rows.size)


@dataclass(frozen=True, slots=True)
class Planted:
    r"""Labels in {-1, 1} that agree with the sign of the first feature with probability (1+rho)/2.

    With Rademacher features r/sqrt(d) and the linear loss the population minimiser is a multiple
    of :math:`e_1 1^T`, and for s = 1 the empirical one depends on a matrix of binomials only.

    Parameters
    ----------
    n_labels : int
        Number of labels L.
    correlation : float
        rho in [0, 1].
    head : bool
        Whether only the first label carries the signal; the others are then fair signs.
    """

    n_labels: int
    correlation: float
    head: bool = False

    def __post_init__(self) -> None:
        positive_integer(self.n_labels, "n_labels")
        if nonnegative(self.correlation, "correlation") > 1:
            raise ValueError(f"`correlation` must lie in [0, 1], got {self.correlation!r}.")

    @property
    def agreement(self) -> Array:
        """Probability, label by label, that y agrees with the first feature's sign."""
        signal = np.full(self.n_labels, self.correlation)
        if self.head:
            signal[1:] = 0.0
        return (1 + signal) / 2

    def draw(self, X: Array, rows: Counts, columns: Counts, rng: np.random.Generator) -> Array:
        """Draw labels in {-1, 1}."""
        agrees = generator(rng).random(rows.size) < self.agreement[columns]
        return np.where(agrees, 1.0, -1.0) * np.where(X[rows, 0] >= 0, 1.0, -1.0)

    def label_sums(self, n_features: int, counts: Counts, rng: np.random.Generator) -> Array:
        """Draw sum_i y_i x_i e_l^T for Rademacher features and s = 1, at a cost free of n.

        Parameters
        ----------
        n_features : int
            Dimension d.
        counts : array of int, shape (L,)
            Points that show each label.
        rng : Generator
            Source of randomness.

        Returns
        -------
        array, shape (d, L)
        """
        rows = positive_integer(n_features, "n_features")
        chances = np.full((rows, self.n_labels), 0.5)
        chances[0] = self.agreement
        sums = 2.0 * generator(rng).binomial(counts, chances) - counts
        return np.asarray(sums / math.sqrt(rows))


@dataclass(frozen=True, slots=True, eq=False)
class LinearLabels:
    """y = Z^T x plus independent Gaussian noise, label by label."""

    Z: Array
    noise: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "Z", finite_array(self.Z, "Z", 2))
        nonnegative(self.noise, "noise")

    @property
    def n_labels(self) -> int:
        """Number of labels L."""
        return int(self.Z.shape[1])

    def draw(self, X: Array, rows: Counts, columns: Counts, rng: np.random.Generator) -> Array:
        """Draw real labels."""
        means = _predictions(X, self.Z, rows, columns)
        return means + self.noise * generator(rng).normal(size=rows.size)


@dataclass(frozen=True, slots=True, eq=False)
class LogisticLabels:
    """Labels in {0, 1} with log-odds Z^T x, independent given x."""

    Z: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "Z", finite_array(self.Z, "Z", 2))

    @property
    def n_labels(self) -> int:
        """Number of labels L."""
        return int(self.Z.shape[1])

    def draw(self, X: Array, rows: Counts, columns: Counts, rng: np.random.Generator) -> Array:
        """Draw labels in {0, 1}."""
        chances = expit(_predictions(X, self.Z, rows, columns))
        return np.asarray(generator(rng).random(rows.size) < chances, dtype=np.float64)


def _predictions(X: Array, Z: Array, rows: Counts, columns: Counts) -> Array:
    """Return <x_i, z_l> at the entries, choosing the cheaper of two equal ways."""
    if X.shape[1] != Z.shape[0]:
        raise ValueError(f"`Z` must have one row a feature ({X.shape[1]}), got shape {Z.shape}.")
    if rows.size * 4 > X.shape[0] * Z.shape[1]:
        return np.asarray((X @ Z)[rows, columns])
    return np.asarray(np.einsum("ed,ed->e", X[rows], Z.T[columns]))


def _scaled(Z: Array) -> Array:
    """Scale Z to |Z|_F = sqrt(d L), so that predictions are of order one when E xx^T = I/d."""
    return np.asarray(Z * (math.sqrt(Z.size) / np.linalg.norm(Z)))


def low_rank_coefficients(
    n_features: int, n_labels: int, rank: int, rng: np.random.Generator
) -> Array:
    """Draw a d x L matrix of the given rank with Gaussian factors and |Z|_F = sqrt(d L)."""
    shape = (positive_integer(n_features, "n_features"), positive_integer(n_labels, "n_labels"))
    if positive_integer(rank, "rank") > min(shape):
        raise ValueError(f"`rank` must not exceed min(d, L) = {min(shape)}, got {rank}.")
    left = generator(rng).normal(size=(shape[0], rank))
    return _scaled(left @ rng.normal(size=(rank, shape[1])))


def shared_coefficients(n_features: int, n_labels: int, rng: np.random.Generator) -> Array:
    """Draw z 1^T, one predictor for all labels, with |Z|_F = sqrt(d L).

    Paper: Section 4.
    """
    z = generator(rng).normal(size=positive_integer(n_features, "n_features"))
    return _scaled(np.outer(z, np.ones(positive_integer(n_labels, "n_labels"))))


def independent_coefficients(n_features: int, n_labels: int, rng: np.random.Generator) -> Array:
    """Draw independent predictors, one a label: a full-rank Gaussian with |Z|_F = sqrt(d L)."""
    shape = (positive_integer(n_features, "n_features"), positive_integer(n_labels, "n_labels"))
    return _scaled(generator(rng).normal(size=shape))
