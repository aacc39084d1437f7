r"""Rademacher averages of the two balls, measured by Monte Carlo.

:math:`R_n = (\mathrm{radius}/n) E\|V\|` with :math:`V = \sum_i \varepsilon_i x_i e_{l_i}^T`: *one*
sign and *one* label slot per point, spectral norm for the trace ball, Frobenius norm for the
Frobenius ball.  The supremum over a ball is a dual norm, so the Monte Carlo error is the only one.
Where a point shows a random number k of labels, s on average, its x counts k/s times.

Paper: Theorem 3, Theorem 6.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from argument_checks import finite_array, generator, indices, one_of, positive, positive_integer
from argument_checks.wrong_types import errors_name_arguments
from leml_solver.problem import Problem, checked_features
from leml_theory.arrays import Array, Index
from simulations.features import FeatureLaw
from simulations.observation import Observation
from simulations.scenario import Sample

__all__ = [
    "BALLS",
    "Estimate",
    "Observed",
    "conditional_rademacher_averages",
    "rademacher_average",
    "rademacher_averages",
    "spectral_norms",
]


BALLS = ("trace", "frobenius")

# Numbers held at once: bounds the memory (32 MB), not the law.
_BATCH = 1 << 22
# From this size on, one top eigenvalue per matrix is cheaper than all of them in one batch.
_SUBSET_SIZE = 48


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over independent draws with its standard error; exact values have none.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_theory import Estimate
    >>> Estimate.of(np.array([1.0, 1.0, 3.0, 3.0])).value
    2.0
    """

    value: float
    stderr: float
    draws: int

    @classmethod
    def of(cls, values: Array) -> Estimate:
        """Return mean and standard error of independent values."""
        checked = finite_array(values, "values", 1)
        if checked.size < 2:
            raise ValueError(f"`values` must hold at least 2 draws, got {checked.size}.")
        stderr = checked.std(ddof=1) / math.sqrt(checked.size)
        return cls(float(checked.mean()), float(stderr), checked.size)

    def scaled(self, factor: float) -> Estimate:
        """Return the estimate of `factor` times the quantity."""
        return Estimate(factor * self.value, abs(factor) * self.stderr, self.draws)


def spectral_norms(V: Array) -> Array:
    """Return the largest singular value of each matrix of a stack, shape (k, d, L) to (k,).

    Taken from the smaller Gram matrix, which gives the *largest* singular value to rounding.
    """
    stack = finite_array(V, "V", 3)
    tall = stack.shape[1] > stack.shape[2]
    other = stack.transpose(0, 2, 1)
    grams = other @ stack if tall else stack @ other
    size = grams.shape[1]
    if size < _SUBSET_SIZE:
        tops = np.linalg.eigvalsh(grams)[:, -1]
    else:
        last = {"eigvals_only": True, "subset_by_index": [size - 1, size - 1]}
        tops = np.array([scipy.linalg.eigh(gram, **last)[0] for gram in grams])
    return np.asarray(np.sqrt(np.maximum(tops, 0.0)))


def rademacher_averages(
    features: FeatureLaw, observation: Observation, n: int, *, draws: int, rng: np.random.Generator
) -> dict[str, Estimate]:
    """Measure the Rademacher averages of both unit balls from the same draws.

    The cost does not depend on n for laws of x whose signed sums have a closed form.

    Parameters
    ----------
    features, observation : FeatureLaw, Observation
        Laws of x and of the observed label.
    n : int
        Number of points.
    draws : int
        Number of independent matrices V, at least 2.
    rng : Generator
        Source of randomness.

    Returns
    -------
    dict of str to Estimate
        Under "trace" and "frobenius".

    Examples
    --------
    >>> import numpy as np
    >>> from leml_theory import rademacher_averages
    >>> from simulations import IsotropicGaussian, UniformLabels
    >>> laws = IsotropicGaussian(16), UniformLabels(16)
    >>> averages = rademacher_averages(*laws, 400, draws=50, rng=np.random.default_rng(0))
    >>> averages["trace"].value < averages["frobenius"].value
    True
    """
    size = features.n_features * observation.n_labels
    batch = max(1, _BATCH // size)
    stacks = (
        _signed_sums(features, observation, n, min(batch, draws - begin), generator(rng))
        for begin in range(0, check_draws(draws), batch)
    )
    return norm_averages(stacks, positive_integer(n, "n"))


def rademacher_average(
    features: FeatureLaw,
    observation: Observation,
    n: int,
    ball: str = "trace",
    *,
    radius: float = 1.0,
    draws: int,
    rng: np.random.Generator,
) -> Estimate:
    """Measure the Rademacher average of one ball of the given radius.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_theory import rademacher_average
    >>> from simulations import RademacherVectors, UniformLabels
    >>> laws = RademacherVectors(4), UniformLabels(1)  # |x| = 1, so one point has |V| = 1
    >>> found = rademacher_average(*laws, 1, radius=3.0, draws=10, rng=np.random.default_rng(0))
    >>> round(found.value, 9)
    3.0
    """
    one_of(ball, "ball", BALLS)
    both = rademacher_averages(features, observation, n, draws=draws, rng=rng)
    return both[ball].scaled(positive(radius, "radius"))


def check_draws(draws: int) -> int:
    """Return `draws`, which must be at least 2 for a standard error."""
    if positive_integer(draws, "draws") < 2:
        raise ValueError(f"`draws` must be at least 2 for a standard error, got {draws}.")
    return draws


def _signed_sums(
    features: FeatureLaw, observation: Observation, n: int, draws: int, rng: np.random.Generator
) -> Array:
    """Draw a stack of V: columns are independent given the counts, so one call draws them all.

    Points with k labels count k/s times; those with the same k are drawn together.
    """
    numbers = observation.label_numbers
    sizes = rng.multinomial(n, numbers.probabilities, size=draws)
    none = np.zeros(observation.n_labels, dtype=np.int64)
    columns = np.zeros((features.n_features, draws * observation.n_labels))
    for value, points in zip(numbers.values, sizes.T, strict=True):
        if value and points.any():
            counts = [observation.counts(m, rng) if m else none for m in points]
            sums = features.signed_sums(np.concatenate(counts), rng)
            columns += sums if observation.fixed else value / numbers.mean * sums
    return columns.reshape(features.n_features, draws, -1).transpose(1, 0, 2)


def norm_averages(stacks: Iterator[Array], n: int) -> dict[str, Estimate]:
    """Average both norms over the stacks and divide by n."""
    spectral, frobenius = [], []
    for stack in stacks:
        spectral.append(spectral_norms(stack))
        frobenius.append(np.sqrt(np.einsum("kdl,kdl->k", stack, stack)))
    return {
        "trace": Estimate.of(np.concatenate(spectral) / n),
        "frobenius": Estimate.of(np.concatenate(frobenius) / n),
    }


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
    data: Observed | Sample | Problem,
    *,
    signs: str = "points",
    draws: int,
    rng: np.random.Generator,
) -> dict[str, Estimate]:
    r"""Measure the Rademacher averages of both unit balls given the data: only signs are random.

    With `signs` = "points" each point has one sign and one of its observed labels, drawn afresh;
    a point with k observed labels counts k/s times, as it does in the risk.  With "entries" each
    entry has its own sign, and Maurer's vector contraction puts the factor :math:`\sqrt{2/s}` on
    the sum (it is included): without that factor, signs per entry give no valid bound.

    Parameters
    ----------
    data : Observed, Sample or Problem
        X of an `Observed` may be sparse.
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

    Examples
    --------
    >>> import numpy as np
    >>> from leml_theory import conditional_rademacher_averages
    >>> from simulations import AllOnes, IsotropicGaussian, Scenario, UniformLabels
    >>> rng = np.random.default_rng(0)
    >>> data = Scenario(IsotropicGaussian(8), AllOnes(8), UniformLabels(8)).sample(100, rng)
    >>> averages = conditional_rademacher_averages(data, draws=20, rng=rng)
    >>> averages["trace"].value < averages["frobenius"].value
    True
    """
    draw = {"points": _point_signs, "entries": _entry_signs}[
        one_of(signs, "signs", ("points", "entries"))
    ]
    sorted_data = _sorted_by_row(data)
    stacks = (
        _product(draw(sorted_data, generator(rng)), sorted_data.X)
        for _ in range(check_draws(draws))
    )
    return norm_averages(stacks, sorted_data.X.shape[0])


def _sorted_by_row(data: Observed | Sample | Problem) -> Observed:
    """Check the data and sort its entries by point."""
    X, weights = checked_features(data.X, np.float64), finite_array(data.weights, "weights", 1)
    if (weights <= 0).any():
        raise ValueError(f"`weights` must be positive, got {weights.min()!r}; drop that entry.")
    n_labels = positive_integer(data.n_labels, "n_labels")
    rows = indices(data.rows, "rows", weights.size, X.shape[0])
    columns = indices(data.columns, "columns", weights.size, n_labels)
    order = np.argsort(rows, kind="stable")
    labels_per_point = positive(data.labels_per_point, "labels_per_point")
    return Observed(X, rows[order], columns[order], weights[order], n_labels, labels_per_point)


def _point_signs(data: Observed, rng: np.random.Generator) -> sp.csr_array:
    """Draw one sign and one slot per point, as a sparse matrix of shape (L, n)."""
    points, begins = np.unique(data.rows, return_index=True)
    totals = np.add.reduceat(data.weights, begins)
    ends = np.cumsum(data.weights)
    targets = ends[begins] - data.weights[begins] + totals * rng.random(points.size)
    last = np.append(begins[1:], data.rows.size) - 1
    # Rounding of the running sum must not push a target into the next point.
    chosen = np.clip(np.searchsorted(ends, targets, side="right"), begins, last)
    signs = rng.choice([-1.0, 1.0], size=points.size) * totals / data.labels_per_point
    return _sign_matrix(data, signs, data.columns[chosen], points)


def _entry_signs(data: Observed, rng: np.random.Generator) -> sp.csr_array:
    """Draw one sign per entry, scaled by sqrt(2 m_i)/s at a point with m_i entries (Maurer)."""
    entries = np.bincount(data.rows)[data.rows]
    scales = data.weights * np.sqrt(2 * entries) / data.labels_per_point
    signs = rng.choice([-1.0, 1.0], size=data.rows.size)
    return _sign_matrix(data, signs * scales, data.columns, data.rows)


def _sign_matrix(data: Observed, values: Array, labels: Index, points: Index) -> sp.csr_array:
    """Return the sparse matrix of shape (L, n) that holds a value at each label and point."""
    return sp.csr_array((values, (labels, points)), shape=(data.n_labels, data.X.shape[0]))


def _product(signs: sp.csr_array, X: Any) -> Array:
    """Return V^T = S X as a stack of one, S being the matrix of signs."""
    V = signs @ X
    dense = V.toarray() if sp.issparse(V) else V
    return np.asarray(dense, dtype=np.float64)[None]


errors_name_arguments(globals())
