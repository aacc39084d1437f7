"""Laws of the feature vector x, with exact moments and sums whose cost does not depend on n.

A law of your own derives from `FeatureLaw` and states what it knows about itself; risks, bounds
and Rademacher averages ask the law and never test its class.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from argument_checks import (
    finite_array,
    generator,
    open_probability,
    positive,
    positive_integer,
    truth_value,
)

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

# Rows drawn at once where a sum has to be simulated point by point: it bounds the memory only.
_CHUNK = 1 << 16
# Rademacher vectors are enumerated up to 2^14 points.
_LARGEST_CUBE = 14


@dataclass(frozen=True, slots=True)
class Moments:
    r"""What a bound may need to know about the law of x.

    Parameters
    ----------
    second_moment : float
        :math:`\Sigma = E|x|^2`.
    top_eigenvalue : float
        :math:`\sigma_1 = |E xx^T|_2`.
    proxy : float or None
        An :math:`\eta^2` with :math:`E\cosh\langle x, v\rangle \le \exp(\eta^2|v|^2/2)` for all v:
        the sub-Gaussian proxy of the symmetrised x.  None if there is none.
    radius : float
        Almost-sure bound on :math:`|x|`, infinity if there is none.
    centred : bool
        Whether :math:`E x = 0`.

    Notes
    -----
    Paper: Theorem 4, whose third condition is about x itself and so forces E x = 0; its proof
    needs the condition for the symmetrised x only.

    Examples
    --------
    >>> from simulations import RademacherVectors
    >>> RademacherVectors(n_features=4).moments
    Moments(second_moment=1.0, top_eigenvalue=0.25, proxy=0.25, radius=1.0, centred=True)
    """

    second_moment: float
    top_eigenvalue: float
    proxy: float | None
    radius: float
    centred: bool

    @property
    def rank_one(self) -> bool:
        """Whether x lies on one line, up to rounding."""
        return self.top_eigenvalue >= self.second_moment * (1 - 1e-12)


# Nothing is known: bounds are infinite, and risks are measured by sampling.
_UNKNOWN = Moments(math.inf, math.inf, None, math.inf, centred=False)


@dataclass(frozen=True, slots=True, eq=False)
class Support:
    """All values of x, shape (k, d), and their probabilities, shape (k,).

    Examples
    --------
    >>> from simulations import RankOne
    >>> support = RankOne(n_features=4).support
    >>> support.points
    array([[ 0.5,  0.5,  0.5,  0.5],
           [-0.5, -0.5, -0.5, -0.5]])
    >>> support.probabilities
    array([0.5, 0.5])
    """

    points: Array
    probabilities: Array


class FeatureLaw(ABC):
    """A law of x in R^d.

    A law must have `n_features`, the dimension d, and `sample`.  The rest has defaults that claim
    nothing or follow from `moments`; what a law does not know is sampled where it is needed.
    `leml_theory.checks.check_law` measures whether a law has the properties it claims.

    Attributes
    ----------
    kind : {"gaussian", "rademacher", "other"}
        Whether x is a centred Gaussian, a vector of independent signs over sqrt(d), or neither.
    symmetric : bool
        Whether x and -x have the same law, so that sums and signed sums do too.

    Examples
    --------
    >>> import numpy as np
    >>> from simulations import FeatureLaw
    >>> class Uniform(FeatureLaw):
    ...     n_features = 3
    ...     def sample(self, n, rng):
    ...         return rng.uniform(-1, 1, size=(n, self.n_features))
    >>> Uniform().signed_sums(np.array([10, 20]), np.random.default_rng(0)).shape
    (3, 2)
    """

    __slots__ = ()

    kind: str = "other"
    symmetric: bool = False

    # For the type checker only: a dataclass would take the property for the field's default.
    if TYPE_CHECKING:

        @property
        def n_features(self) -> int:
            """Dimension d."""

    @property
    def moments(self) -> Moments:
        """Exact moments, infinite where they are not known."""
        return _UNKNOWN

    @property
    def mean_vector(self) -> Array | None:
        """E x, shape (d,); None when it is not known."""
        return np.zeros(self.n_features) if self.moments.centred else None

    @property
    def second_moments(self) -> Array | None:
        """E xx^T, shape (d, d); None when it is not known."""
        moments, d = self.moments, self.n_features
        # A trace of d times the top eigenvalue leaves room for a multiple of the identity only.
        isotropic = math.isclose(moments.second_moment, d * moments.top_eigenvalue, rel_tol=1e-12)
        if not isotropic or math.isinf(moments.second_moment):
            return None
        return np.asarray(moments.top_eigenvalue * np.eye(d))

    @property
    def support(self) -> Support | None:
        """All values of x; None when there are too many or a continuum of them."""
        return None

    @abstractmethod
    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw n independent rows, shape (n, d)."""

    def signed_sums(self, counts: Counts, rng: np.random.Generator) -> Array:
        """Draw V, shape (d, L): column l is the signed sum of counts[l] independent points.

        This default works point by point, so its cost grows with sum(counts); a law that knows the
        distribution of its sums does better.
        """
        checked, source = _check_counts(counts), generator(rng)
        sums = np.zeros((checked.size, self.n_features))
        edges = np.cumsum(checked)
        for begin in range(0, int(edges[-1]), _CHUNK):
            end = min(begin + _CHUNK, int(edges[-1]))
            columns = np.searchsorted(edges, np.arange(begin, end), side="right")
            signs = source.choice([-1.0, 1.0], size=end - begin)
            np.add.at(sums, columns, signs[:, None] * self.sample(end - begin, source))
        return sums.T


def _check_counts(counts: Counts) -> Counts:
    array = np.asarray(counts)
    if array.ndim != 1 or array.size == 0 or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(
            f"`counts` must be a non-empty vector of whole numbers, got shape {array.shape} "
            f"of {array.dtype}."
        )
    if (array < 0).any():
        raise ValueError(f"`counts` must not be negative, got {array.min()}.")
    return array.astype(np.int64)


def _sign_sums(counts: Counts, n_rows: int, rng: np.random.Generator) -> Array:
    """Draw, for each row, the sum of counts[l] independent signs, shape (n_rows, L)."""
    heads = rng.binomial(counts, 0.5, size=(n_rows, counts.size))
    return np.asarray(2.0 * heads - counts)


@dataclass(frozen=True, slots=True)
class IsotropicGaussian(FeatureLaw):
    """Gaussian x with covariance I/d, so that E|x|^2 = 1; covariance I when not `normalised`.

    Paper: Theorem 4.

    Examples
    --------
    >>> import numpy as np
    >>> from simulations import IsotropicGaussian
    >>> law = IsotropicGaussian(n_features=4)
    >>> law.sample(3, np.random.default_rng(0)).shape
    (3, 4)
    >>> law.moments.top_eigenvalue
    0.25
    """

    n_features: int
    normalised: bool = True

    kind = "gaussian"
    symmetric = True

    def __post_init__(self) -> None:
        positive_integer(self.n_features, "n_features")
        truth_value(self.normalised, "normalised")

    @property
    def _variance(self) -> float:
        return 1 / self.n_features if self.normalised else 1.0

    @property
    def moments(self) -> Moments:
        """Exact moments; the proxy of a Gaussian is its variance."""
        variance = self._variance
        return Moments(variance * self.n_features, variance, variance, math.inf, centred=True)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw n independent rows, shape (n, d)."""
        size = (positive_integer(n, "n"), self.n_features)
        return generator(rng).normal(scale=math.sqrt(self._variance), size=size)

    def signed_sums(self, counts: Counts, rng: np.random.Generator) -> Array:
        """Draw V = G diag(sqrt(counts)), shape (d, L), at a cost independent of n."""
        scales = np.sqrt(self._variance * _check_counts(counts))
        noise = generator(rng).normal(size=(self.n_features, scales.size))
        return np.asarray(noise * scales)


@dataclass(frozen=True, slots=True)
class AnisotropicGaussian(FeatureLaw):
    """Gaussian x with independent coordinates whose variances are `spectrum`.

    Examples
    --------
    >>> from simulations import AnisotropicGaussian
    >>> law = AnisotropicGaussian((0.5, 0.25, 0.25))
    >>> law.moments.second_moment, law.moments.top_eigenvalue
    (1.0, 0.5)
    """

    spectrum: tuple[float, ...]

    kind = "gaussian"
    symmetric = True

    def __post_init__(self) -> None:
        values = finite_array(self.spectrum, "spectrum", 1)
        if (values <= 0).any():
            raise ValueError(f"`spectrum` must be positive everywhere, got {values.min()!r}.")
        object.__setattr__(self, "spectrum", tuple(values.tolist()))

    @property
    def n_features(self) -> int:
        """Dimension d."""
        return len(self.spectrum)

    @property
    def moments(self) -> Moments:
        """Exact moments; the proxy is the largest variance."""
        top = max(self.spectrum)
        return Moments(math.fsum(self.spectrum), top, top, math.inf, centred=True)

    @property
    def second_moments(self) -> Array:
        """E xx^T, shape (d, d)."""
        return np.diag(self.spectrum)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw n independent rows, shape (n, d)."""
        size = (positive_integer(n, "n"), self.n_features)
        return generator(rng).normal(size=size) * np.sqrt(self.spectrum)

    def signed_sums(self, counts: Counts, rng: np.random.Generator) -> Array:
        """Draw V = S^(1/2) G diag(sqrt(counts)), shape (d, L), at a cost independent of n."""
        scales = np.sqrt(_check_counts(counts))
        noise = generator(rng).normal(size=(self.n_features, scales.size))
        return np.sqrt(self.spectrum)[:, None] * noise * scales


@dataclass(frozen=True, slots=True)
class RademacherVectors(FeatureLaw):
    """x = r/sqrt(d) with independent signs r: isotropic, |x| = 1, sub-Gaussian with proxy 1/d.

    Paper: Claim 8, whose 2/d for the proxy is twice the smallest one.

    Examples
    --------
    >>> import numpy as np
    >>> from simulations import RademacherVectors
    >>> RademacherVectors(n_features=4).sample(2, np.random.default_rng(0))
    array([[-0.5,  0.5,  0.5,  0.5],
           [ 0.5,  0.5, -0.5,  0.5]])
    """

    n_features: int

    kind = "rademacher"
    symmetric = True

    def __post_init__(self) -> None:
        positive_integer(self.n_features, "n_features")

    @property
    def moments(self) -> Moments:
        """Exact moments; the proxy follows from cosh(t) <= exp(t^2/2) and equals the variance."""
        return Moments(1.0, 1 / self.n_features, 1 / self.n_features, 1.0, centred=True)

    @property
    def support(self) -> Support | None:
        """All 2^d sign vectors over sqrt(d), up to d = 14."""
        d = self.n_features
        if d > _LARGEST_CUBE:
            return None
        points = np.array(list(product((-1.0, 1.0), repeat=d))) / math.sqrt(d)
        return Support(points, np.full(2**d, 0.5**d))

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw n independent rows, shape (n, d)."""
        size = (positive_integer(n, "n"), self.n_features)
        signs = generator(rng).integers(0, 2, size=size, dtype=np.int8)
        return np.asarray((2.0 * signs - 1) / math.sqrt(self.n_features))

    def signed_sums(self, counts: Counts, rng: np.random.Generator) -> Array:
        """Draw V, whose entries are centred binomials over sqrt(d), at a cost independent of n."""
        sums = _sign_sums(_check_counts(counts), self.n_features, generator(rng))
        return sums / math.sqrt(self.n_features)


@dataclass(frozen=True, slots=True)
class RankOne(FeatureLaw):
    """x = zeta mu with a random sign zeta and the fixed unit vector mu = (1, ..., 1)/sqrt(d).

    Paper: Claim 7.

    Examples
    --------
    >>> from simulations import RankOne
    >>> RankOne(n_features=4).direction
    array([0.5, 0.5, 0.5, 0.5])
    >>> RankOne(n_features=4).moments.top_eigenvalue
    1.0
    """

    n_features: int

    symmetric = True

    def __post_init__(self) -> None:
        positive_integer(self.n_features, "n_features")

    @property
    def direction(self) -> Array:
        """The unit vector mu."""
        return np.full(self.n_features, 1 / math.sqrt(self.n_features))

    @property
    def moments(self) -> Moments:
        """Exact moments: all of E|x|^2 = 1 lies in one direction."""
        return Moments(1.0, 1.0, 1.0, 1.0, centred=True)

    @property
    def second_moments(self) -> Array:
        """E xx^T = mu mu^T."""
        return np.outer(self.direction, self.direction)

    @property
    def support(self) -> Support:
        """The two values mu and -mu."""
        return Support(np.outer([1.0, -1.0], self.direction), np.full(2, 0.5))

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw n independent rows, shape (n, d)."""
        signs = generator(rng).choice([-1.0, 1.0], size=positive_integer(n, "n"))
        return np.outer(signs, self.direction)

    def signed_sums(self, counts: Counts, rng: np.random.Generator) -> Array:
        """Draw V = mu v^T with v_l a sum of counts[l] signs, at a cost independent of n."""
        return np.outer(self.direction, _sign_sums(_check_counts(counts), 1, generator(rng))[0])


@dataclass(frozen=True, slots=True)
class NonNegative(FeatureLaw):
    r"""x = |g|/sqrt(d) with g standard normal, non-negative as counts are: a negative control.

    Notes
    -----
    :math:`E xx^T = ((1-2/\pi) I + (2/\pi) 11^T)/d`.  With :math:`2\Phi(a) \le
    \exp(a\sqrt{2/\pi})`, the symmetrised x has the proxy :math:`1/d + 2/\pi`; x itself, not
    being centred, has none.

    Examples
    --------
    >>> from simulations import NonNegative
    >>> NonNegative(n_features=2).mean_vector.round(3)
    array([0.564, 0.564])
    >>> NonNegative(n_features=2).moments.centred
    False
    """

    n_features: int

    def __post_init__(self) -> None:
        positive_integer(self.n_features, "n_features")

    @property
    def moments(self) -> Moments:
        """Exact moments; the top eigenvalue is about 0.64 whatever d is."""
        bulk = (1 - 2 / math.pi) / self.n_features
        return Moments(
            1.0, bulk + 2 / math.pi, 1 / self.n_features + 2 / math.pi, math.inf, centred=False
        )

    @property
    def mean_vector(self) -> Array:
        """E x, sqrt(2/(pi d)) everywhere."""
        return np.full(self.n_features, math.sqrt(2 / (math.pi * self.n_features)))

    @property
    def second_moments(self) -> Array:
        """E xx^T, shape (d, d)."""
        d = self.n_features
        return ((1 - 2 / math.pi) * np.eye(d) + 2 / math.pi * np.ones((d, d))) / d

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw n independent rows, shape (n, d)."""
        size = (positive_integer(n, "n"), self.n_features)
        return np.abs(generator(rng).normal(size=size)) / math.sqrt(self.n_features)


@dataclass(frozen=True, slots=True)
class HeavyTailed(FeatureLaw):
    """Independent Student coordinates scaled to E|x|^2 = 1: a negative control with no proxy.

    Parameters
    ----------
    n_features : int
        Dimension d.
    degrees : float
        Degrees of freedom, above 2 so that the second moment exists.

    Examples
    --------
    >>> from simulations import HeavyTailed
    >>> law = HeavyTailed(n_features=4, degrees=3.0)
    >>> law.moments.second_moment, law.moments.proxy
    (1.0, None)
    """

    n_features: int
    degrees: float = 3.0

    symmetric = True

    def __post_init__(self) -> None:
        positive_integer(self.n_features, "n_features")
        if positive(self.degrees, "degrees") <= 2:
            raise ValueError(
                f"`degrees` must be above 2, or E|x|^2 does not exist, got {self.degrees!r}."
            )

    @property
    def moments(self) -> Moments:
        """Exact moments; no exponential moment exists."""
        return Moments(1.0, 1 / self.n_features, None, math.inf, centred=True)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw n independent rows, shape (n, d)."""
        size = (positive_integer(n, "n"), self.n_features)
        variance = self.degrees / (self.degrees - 2)
        scale = 1 / math.sqrt(variance * self.n_features)
        return generator(rng).standard_t(self.degrees, size=size) * scale


@dataclass(frozen=True, slots=True)
class RareOutlier(FeatureLaw):
    """x in R^1 is `typical`, but -`outlier` with a small `probability`: breaks Theorem 3 as stated.

    With E|x|^2 about 1 and the linear loss, one outlier in n points reverses the minimiser, and
    outliers come more often than a sub-Gaussian tail would allow.

    Paper: Theorem 3.

    Examples
    --------
    >>> from simulations import RareOutlier
    >>> law = RareOutlier(typical=0.5, outlier=8.0, probability=0.01)
    >>> round(law.mean, 3), round(law.moments.second_moment, 4)
    (0.415, 0.8875)
    """

    typical: float
    outlier: float
    probability: float

    def __post_init__(self) -> None:
        positive(self.typical, "typical")
        positive(self.outlier, "outlier")
        open_probability(self.probability, "probability")

    @property
    def n_features(self) -> int:
        """Dimension: one."""
        return 1

    @property
    def mean(self) -> float:
        """E x."""
        return (1 - self.probability) * self.typical - self.probability * self.outlier

    @property
    def moments(self) -> Moments:
        """Exact moments; the squared radius of a bounded x is a proxy."""
        second = (1 - self.probability) * self.typical**2 + self.probability * self.outlier**2
        radius = max(self.typical, self.outlier)
        return Moments(second, second, radius**2, radius, centred=self.mean == 0)

    @property
    def mean_vector(self) -> Array:
        """E x, shape (1,)."""
        return np.array([self.mean])

    @property
    def support(self) -> Support:
        """The typical value and the outlier."""
        rare = self.probability
        return Support(np.array([[self.typical], [-self.outlier]]), np.array([1 - rare, rare]))

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw n independent rows, shape (n, 1)."""
        rare = generator(rng).random((positive_integer(n, "n"), 1)) < self.probability
        return np.where(rare, -self.outlier, self.typical)

    def signed_sums(self, counts: Counts, rng: np.random.Generator) -> Array:
        """Draw V from the numbers of outliers and of signs, at a cost independent of n."""
        checked = _check_counts(counts)
        rare = generator(rng).binomial(checked, self.probability)
        sums = _sign_sums(checked - rare, 1, rng) * self.typical
        return np.asarray(sums - _sign_sums(rare, 1, rng) * self.outlier)
