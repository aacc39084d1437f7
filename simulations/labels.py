"""Models of the labels given the features.

A model of your own derives from `LabelModel` and states what it knows about itself; population
risks ask the model and never test its class.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from argument_checks import finite_array, generator, nonnegative, positive_integer
from simulations.features import FeatureLaw

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


SumSampler = Callable[[Counts, np.random.Generator], Array]


class Outcome(NamedTuple):
    """A value of the labels, and its probability at every point and label, shape (k, L).

    Examples
    --------
    >>> import numpy as np
    >>> from simulations import RandomSigns
    >>> for outcome in RandomSigns(n_labels=2).outcomes(np.zeros((1, 3))):
    ...     print(outcome.value, outcome.probabilities)
    1.0 [[0.5 0.5]]
    -1.0 [[0.5 0.5]]
    """

    value: float
    probabilities: Array


class LabelModel(ABC):
    """A law of the label vector y given x.

    A model must have `n_labels`, the number L, and `draw`.  The rest has defaults that claim
    nothing; what a model does not know is sampled where it is needed.

    Attributes
    ----------
    kind : {"linear", "logistic", "other"}
        With the matrix Z of `coefficients`: y = Z^T x plus Gaussian noise independent of x; labels
        in {0, 1} with log-odds Z^T x; or neither.
    noise : float or None
        Standard deviation of that Gaussian noise; predictions of excess risks need it.
    binary : bool
        Whether all labels are in {0, 1}, or all in {-1, 1}, as binary losses need them.

    Examples
    --------
    >>> import numpy as np
    >>> from simulations import LabelModel
    >>> class FirstSign(LabelModel):
    ...     n_labels = 2
    ...     binary = True
    ...     def draw(self, X, rows, columns, rng):
    ...         return np.where(X[rows, 0] > 0, 1.0, -1.0)
    >>> X = np.array([[0.3, 1.0], [-0.2, 1.0]])
    >>> FirstSign().draw(X, np.array([0, 1]), np.array([0, 0]), np.random.default_rng(0))
    array([ 1., -1.])
    """

    __slots__ = ()

    kind: str = "other"
    noise: float | None = None
    binary: bool = False

    # For the type checker only: a dataclass would take the property for the field's default.
    if TYPE_CHECKING:

        @property
        def n_labels(self) -> int:
            """Number of labels L."""

    @property
    def coefficients(self) -> Array | None:
        """The true Z, shape (d, L), if there is one: radii are measured in units of its norm."""
        return None

    @abstractmethod
    def draw(self, X: Array, rows: Counts, columns: Counts, rng: np.random.Generator) -> Array:
        """Draw the labels at distinct entries, given the features of all points."""

    def outcomes(self, X: Array) -> list[Outcome] | None:  # noqa: ARG002
        """Return the values of the labels, which do not depend on X, with their probabilities.

        None for labels that are not discrete, or whose probabilities are not known.
        """
        return None

    def cross_moments(self, features: FeatureLaw) -> Array | None:  # noqa: ARG002
        """Return E[y^l x], label by label, shape (d, L); None when there is no closed form."""
        return None

    def square_moments(self, features: FeatureLaw) -> Array | None:  # noqa: ARG002
        """Return E (y^l)^2, shape (L,); None when there is no closed form."""
        return None

    def sum_sampler(self, features: FeatureLaw) -> SumSampler | None:  # noqa: ARG002
        """Return a function that draws sum_i y_i x_i e_l^T at a cost independent of n.

        Each point shows one label.  The function takes the number of points that show each label
        and a generator.  None if there is no such function.
        """
        return None

    def check_features(self, features: FeatureLaw) -> None:
        """Raise unless the model can label points of this law."""
        if self.coefficients is not None and len(self.coefficients) != features.n_features:
            raise ValueError(
                f"`labels.coefficients` must have one row per feature ({features.n_features}), "
                f"got {len(self.coefficients)}."
            )


@dataclass(frozen=True, slots=True)
class _Signs(LabelModel):
    """Labels of size one."""

    n_labels: int

    binary = True

    def __post_init__(self) -> None:
        positive_integer(self.n_labels, "n_labels")

    def square_moments(self, features: FeatureLaw) -> Array:  # noqa: ARG002
        """Return ones."""
        return np.ones(self.n_labels)


@dataclass(frozen=True, slots=True)
class AllOnes(_Signs):
    """Every label is one: with the linear loss, the witness that attains the bounds.

    Paper: Claim 7, Claim 8.

    Examples
    --------
    >>> import numpy as np
    >>> from simulations import AllOnes
    >>> X = np.ones((3, 2))
    >>> AllOnes(n_labels=4).draw(X, np.array([0, 2]), np.array([1, 3]), np.random.default_rng(0))
    array([1., 1.])
    """

    def draw(self, X: Array, rows: Counts, columns: Counts, rng: np.random.Generator) -> Array:
        """Return ones."""
        del X, columns, rng
        return np.ones(rows.size)

    def outcomes(self, X: Array) -> list[Outcome]:
        """Return one, with certainty."""
        return [Outcome(1.0, np.ones((X.shape[0], self.n_labels)))]

    def cross_moments(self, features: FeatureLaw) -> Array | None:
        """Return E x for every label."""
        mean = features.mean_vector
        return None if mean is None else np.repeat(mean[:, None], self.n_labels, axis=1)

    def sum_sampler(self, features: FeatureLaw) -> SumSampler | None:
        """Return the signed sums of a symmetric law, which are its sums."""
        return features.signed_sums if features.symmetric else None


@dataclass(frozen=True, slots=True)
class RandomSigns(_Signs):
    """Every label is an independent fair sign, so that nothing can be learnt.

    Examples
    --------
    >>> import numpy as np
    >>> from simulations import RandomSigns
    >>> rows, columns = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> RandomSigns(n_labels=2).draw(np.ones((2, 3)), rows, columns, np.random.default_rng(0))
    array([ 1.,  1.,  1., -1.])
    """

    def draw(self, X: Array, rows: Counts, columns: Counts, rng: np.random.Generator) -> Array:
        """Draw fair signs."""
        del X, columns
        return generator(rng).choice(np.array([-1.0, 1.0]), size=rows.size)

    def outcomes(self, X: Array) -> list[Outcome]:
        """Return both signs, each with probability one half."""
        half = np.full((X.shape[0], self.n_labels), 0.5)
        return [Outcome(1.0, half), Outcome(-1.0, half)]

    def cross_moments(self, features: FeatureLaw) -> Array:
        """Return zeros."""
        return np.zeros((features.n_features, self.n_labels))


@dataclass(frozen=True, slots=True)
class Planted(_Signs):
    r"""Labels in {-1, 1} that agree with the sign of the first feature with probability (1+rho)/2.

    With Rademacher features r/sqrt(d) and the linear loss the population minimiser is a multiple
    of :math:`e_1 1^T`, and for s = 1 the empirical one depends only on a matrix of binomials.

    Parameters
    ----------
    n_labels : int
        Number of labels L.
    correlation : float
        rho in [0, 1].
    head : bool
        Whether only the first label carries the signal; the others are then fair signs.

    Examples
    --------
    >>> from simulations import Planted, RademacherVectors
    >>> model = Planted(n_labels=3, correlation=0.5, head=True)
    >>> model.agreement
    array([0.75, 0.5 , 0.5 ])
    >>> model.cross_moments(RademacherVectors(n_features=4))[0]
    array([0.25, 0.  , 0.  ])
    """

    correlation: float
    head: bool = False

    def __post_init__(self) -> None:
        _Signs.__post_init__(self)  # super() does not know a class with slots
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

    def outcomes(self, X: Array) -> list[Outcome]:
        """Return both signs; the likelier one is that of the first feature."""
        positive = np.where(X[:, :1] >= 0, self.agreement, 1 - self.agreement)
        return [Outcome(1.0, positive), Outcome(-1.0, 1 - positive)]

    def cross_moments(self, features: FeatureLaw) -> Array:
        """Return rho e_1 / sqrt(d) for every label that carries the signal."""
        columns = np.zeros((features.n_features, self.n_labels))
        columns[0] = (2 * self.agreement - 1) / math.sqrt(features.n_features)
        return columns

    def sum_sampler(self, features: FeatureLaw) -> SumSampler:
        """Return `label_sums` in the dimension of the features."""
        return partial(self.label_sums, features.n_features)

    def check_features(self, features: FeatureLaw) -> None:
        """Raise unless x is a vector of independent signs."""
        if features.kind != "rademacher":
            raise ValueError(
                f"Planted labels need RademacherVectors, got {type(features).__name__}."
            )

    def label_sums(self, n_features: int, counts: Counts, rng: np.random.Generator) -> Array:
        """Draw sum_i y_i x_i e_l^T for Rademacher features and s = 1 at a cost independent of n.

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
class _WithCoefficients(LabelModel):
    """Labels that depend on x by Z^T x."""

    Z: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "Z", finite_array(self.Z, "Z", 2))

    @property
    def n_labels(self) -> int:
        """Number of labels L."""
        return int(self.Z.shape[1])

    @property
    def coefficients(self) -> Array:
        """The true Z."""
        return self.Z


@dataclass(frozen=True, slots=True, eq=False)
class LinearLabels(_WithCoefficients):
    """y = Z^T x plus independent Gaussian noise, label by label.

    Examples
    --------
    >>> import numpy as np
    >>> from simulations import LinearLabels
    >>> model = LinearLabels(np.array([[1.0, 2.0], [0.0, 1.0]]), noise=0.0)
    >>> model.draw(np.ones((1, 2)), np.array([0, 0]), np.array([0, 1]), np.random.default_rng(0))
    array([1., 3.])
    """

    noise: float = 1.0

    kind = "linear"

    def __post_init__(self) -> None:
        _WithCoefficients.__post_init__(self)
        nonnegative(self.noise, "noise")

    def draw(self, X: Array, rows: Counts, columns: Counts, rng: np.random.Generator) -> Array:
        """Draw real labels."""
        means = _predictions(X, self.Z, rows, columns)
        return means + self.noise * generator(rng).normal(size=rows.size)

    def cross_moments(self, features: FeatureLaw) -> Array | None:
        """Return E xx^T Z."""
        S = features.second_moments
        return None if S is None else np.asarray(S @ self.Z)

    def square_moments(self, features: FeatureLaw) -> Array | None:
        """Return E<z_l, x>^2 plus the variance of the noise."""
        S = features.second_moments
        if S is None:
            return None
        return np.asarray(np.square(prediction_scales(S, self.Z)) + self.noise**2)


@dataclass(frozen=True, slots=True, eq=False)
class LogisticLabels(_WithCoefficients):
    """Labels in {0, 1} with log-odds Z^T x, independent given x.

    Examples
    --------
    >>> import numpy as np
    >>> from simulations import LogisticLabels
    >>> one, zero = LogisticLabels(np.array([[0.0, 1.0]])).outcomes(np.ones((1, 1)))
    >>> one.value, one.probabilities.round(3)
    (1.0, array([[0.5  , 0.731]]))
    """

    kind = "logistic"
    binary = True

    def draw(self, X: Array, rows: Counts, columns: Counts, rng: np.random.Generator) -> Array:
        """Draw labels in {0, 1}."""
        chances = expit(_predictions(X, self.Z, rows, columns))
        return np.asarray(generator(rng).random(rows.size) < chances, dtype=np.float64)

    def outcomes(self, X: Array) -> list[Outcome]:
        """Return one and zero with their logistic probabilities."""
        chances = expit(X @ self.Z)
        return [Outcome(1.0, chances), Outcome(0.0, 1 - chances)]

    def square_moments(self, features: FeatureLaw) -> Array | None:
        """Return one half for a symmetric law, which makes both labels equally likely."""
        return np.full(self.n_labels, 0.5) if features.symmetric else None


def prediction_scales(S: Array, Z: Array) -> Array:
    """Return the root of E<z_l, x>^2 = z_l^T S z_l, label by label."""
    return np.asarray(np.sqrt(np.maximum(np.einsum("dl,dl->l", Z, S @ Z), 0.0)))


def _predictions(X: Array, Z: Array, rows: Counts, columns: Counts) -> Array:
    """Return <x_i, z_l> at the entries, choosing the cheaper of two equivalent ways."""
    if X.shape[1] != Z.shape[0]:
        raise ValueError(f"`Z` must have one row per feature ({X.shape[1]}), got shape {Z.shape}.")
    if rows.size * 4 > X.shape[0] * Z.shape[1]:
        return np.asarray((X @ Z)[rows, columns])
    return np.asarray(np.einsum("ed,ed->e", X[rows], Z.T[columns]))


def _scaled(Z: Array) -> Array:
    """Scale Z to |Z|_F = sqrt(d L), so that predictions are of order one when E xx^T = I/d."""
    return np.asarray(Z * (math.sqrt(Z.size) / np.linalg.norm(Z)))


def low_rank_coefficients(
    n_features: int, n_labels: int, rank: int, rng: np.random.Generator
) -> Array:
    """Draw a d x L matrix of the given rank with Gaussian factors and |Z|_F = sqrt(d L).

    Examples
    --------
    >>> import numpy as np
    >>> from simulations import low_rank_coefficients
    >>> Z = low_rank_coefficients(6, 4, 2, np.random.default_rng(0))
    >>> int(np.linalg.matrix_rank(Z)), round(float(np.sum(Z**2)), 6)
    (2, 24.0)
    """
    shape = (positive_integer(n_features, "n_features"), positive_integer(n_labels, "n_labels"))
    if positive_integer(rank, "rank") > min(shape):
        raise ValueError(f"`rank` must not exceed min(d, L) = {min(shape)}, got {rank}.")
    left = generator(rng).normal(size=(shape[0], rank))
    return _scaled(left @ rng.normal(size=(rank, shape[1])))


def shared_coefficients(n_features: int, n_labels: int, rng: np.random.Generator) -> Array:
    """Draw z 1^T, one predictor for all labels, with |Z|_F = sqrt(d L).

    Paper: Section 4.

    Examples
    --------
    >>> import numpy as np
    >>> from simulations import shared_coefficients
    >>> Z = shared_coefficients(6, 4, np.random.default_rng(0))
    >>> bool((Z == Z[:, :1]).all()), round(float(np.sum(Z**2)), 6)
    (True, 24.0)
    """
    z = generator(rng).normal(size=positive_integer(n_features, "n_features"))
    return _scaled(np.outer(z, np.ones(positive_integer(n_labels, "n_labels"))))


def independent_coefficients(n_features: int, n_labels: int, rng: np.random.Generator) -> Array:
    """Draw independent predictors, one per label: a full-rank Gaussian with |Z|_F = sqrt(d L).

    Examples
    --------
    >>> import numpy as np
    >>> from simulations import independent_coefficients
    >>> Z = independent_coefficients(6, 4, np.random.default_rng(0))
    >>> int(np.linalg.matrix_rank(Z)), round(float(np.sum(Z**2)), 6)
    (4, 24.0)
    """
    shape = (positive_integer(n_features, "n_features"), positive_integer(n_labels, "n_labels"))
    return _scaled(generator(rng).normal(size=shape))
