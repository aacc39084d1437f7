"""A scenario joins a feature law, a label model and an observation pattern."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from argument_checks import generator, positive_integer
from simulations.features import FeatureLaw
from simulations.labels import LabelModel
from simulations.observation import Observation

if TYPE_CHECKING:
    from leml_solver import Loss, Problem

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """n points and their observed labels: entry e is label columns[e] of point rows[e].

    Examples
    --------
    >>> import numpy as np
    >>> from simulations import IsotropicGaussian, RandomSigns, Scenario, UniformLabels
    >>> scenario = Scenario(IsotropicGaussian(3), RandomSigns(4), UniformLabels(4, 2))
    >>> sample = scenario.sample(5, np.random.default_rng(0))
    >>> sample.X.shape, sample.values.size
    ((5, 3), 10)
    >>> sample.problem("squared").shape
    (3, 4)
    """

    X: Array
    rows: Counts
    columns: Counts
    values: Array
    weights: Array
    n_labels: int
    labels_per_point: float

    def label_matrix(self) -> sp.csr_array:
        """Return the observed labels times their weights, (n, L), zero where none was seen."""
        weighted, shape = self.weights * self.values, (self.X.shape[0], self.n_labels)
        return sp.csr_array((weighted, (self.rows, self.columns)), shape=shape)

    def problem(self, loss: Loss | str) -> Problem:
        """Return the empirical risk of the sample, which both solvers of `leml_solver` take."""
        from leml_solver import Labels, Problem  # only here: simulating needs no solver

        shape = (self.X.shape[0], self.n_labels)
        labels = Labels.observed(self.rows, self.columns, self.values, shape, self.weights)
        return Problem(loss, self.X, labels, self.labels_per_point)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, eq=False)
class Scenario:
    """A synthetic world: x from `features`, y given x from `labels`, seen through `observation`.

    Examples
    --------
    >>> import numpy as np
    >>> from simulations import IsotropicGaussian, LinearLabels, Scenario, UniformLabels
    >>> from simulations import low_rank_coefficients
    >>> rng = np.random.default_rng(0)
    >>> labels = LinearLabels(low_rank_coefficients(8, 5, rank=2, rng=rng), noise=0.1)
    >>> scenario = Scenario(IsotropicGaussian(8), labels, UniformLabels(5, labels_per_point=2))
    >>> scenario.sample(100, rng).X.shape
    (100, 8)
    >>> scenario.label_sums(100, rng).shape
    (8, 5)
    """

    features: FeatureLaw
    labels: LabelModel
    observation: Observation

    def __post_init__(self) -> None:
        for name, needed in (("features", FeatureLaw), ("labels", LabelModel)):
            found = getattr(self, name)
            if not isinstance(found, needed):
                raise TypeError(
                    f"`{name}` must be a {needed.__name__}, got {found!r}; derive its class from "
                    f"simulations.{needed.__name__}."
                )
        if self.labels.n_labels != self.observation.n_labels:
            raise ValueError(
                f"`labels` and `observation` must agree on the number of labels, got "
                f"{self.labels.n_labels} and {self.observation.n_labels}."
            )
        self.labels.check_features(self.features)

    def sample(self, n: int, rng: np.random.Generator) -> Sample:
        """Draw n points and their observed labels."""
        X = self.features.sample(positive_integer(n, "n"), generator(rng))
        rows, columns, weights = self.observation.draw(n, rng)
        values = self.labels.draw(X, rows, columns, rng)
        n_labels, per_point = self.labels.n_labels, float(self.observation.labels_per_point)
        return Sample(X, rows, columns, values, weights, n_labels, per_point)

    def label_sums(self, n: int, rng: np.random.Generator) -> Array:
        """Draw V = sum over observed entries of w y x e_l^T, shape (d, L).

        It is all that the linear loss needs of a sample.  With one label per point the cost does
        not depend on n if the label model has a `sum_sampler`, as planted labels have, and all-ones
        labels with a symmetric law of x.
        """
        if self.observation.fixed and self.observation.labels_per_point == 1:
            draw = self.labels.sum_sampler(self.features)
            if draw is not None:
                return draw(self.observation.counts(n, rng), rng)
        sample = self.sample(n, rng)
        return np.asarray(sample.label_matrix().T @ sample.X).T
