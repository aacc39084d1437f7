"""Rademacher averages, and the same sums when several labels per point are seen."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from leml_theory import predictions as sharp
from leml_theory.bounds import BALLS
from leml_theory.measurements.records import Parameters, Record, record
from leml_theory.rademacher import Estimate, rademacher_averages, spectral_norms
from leml_theory.worlds import feature_law, observation_of
from simulations import (
    AllOnes,
    FeatureLaw,
    Observation,
    RandomSigns,
    Sample,
    Scenario,
    UniformLabels,
)

Array = NDArray[np.float64]

# Label counts over which a prediction is averaged; it varies little from one to the next.
_COUNT_DRAWS = 32
_LABEL_DRAWS = 8


def rademacher(parameters: Parameters, rng: np.random.Generator) -> list[Record]:
    """Measure the Rademacher averages of both unit balls.

    For a symmetric law, all-ones labels and the linear loss this is also the supremum deviation
    and the generalisation gap of the empirical minimiser.

    Paper: Theorem 3, Theorem 4, Theorem 6.
    """
    law = feature_law(parameters["law"], parameters["d"])
    seen = observation_of(parameters["skew"], parameters["L"])
    n = int(parameters["n"])
    measured = rademacher_averages(law, seen, n, draws=int(parameters["draws"]), rng=rng)
    predicted = predicted_averages(law, seen, n, rng)
    return [
        record("rademacher average", ball, parameters, measured[ball], predicted=predicted[ball])
        for ball in BALLS
    ]


def predicted_averages(
    law: FeatureLaw, seen: Observation, n: int, rng: np.random.Generator
) -> dict[str, float]:
    """Predict both averages where a sharp formula exists, NaN elsewhere."""
    moments = law.moments
    d, second = law.n_features, moments.second_moment
    isotropic = moments.top_eigenvalue * d <= second * (1 + 1e-12)
    rank_one = moments.top_eigenvalue >= second * (1 - 1e-12)
    if moments.proxy is None or not (isotropic or rank_one):
        return {"trace": math.nan, "frobenius": math.nan}
    overlap = float(np.square(seen.probabilities).sum()) / (d if isotropic else 1)
    frobenius = sharp.frobenius_norm(second, overlap, n) / n
    if rank_one:
        return {"trace": frobenius, "frobenius": frobenius}
    counts = [seen.counts(n, rng) for _ in range(_COUNT_DRAWS)]
    norms = [sharp.spectral_norm(d, np.asarray(moments.top_eigenvalue * c)) for c in counts]
    return {"trace": float(np.mean(norms)) / n, "frobenius": frobenius}


def slots(parameters: Parameters, rng: np.random.Generator) -> list[Record]:
    """Measure the deviation of the linear loss when s labels per point are seen, risk over n s.

    The labels are all ones (every slot of a point carries the same information) or
    independent signs (every slot carries new information).

    Paper: Appendix B, the case s > 1.
    """
    d, n_labels, n, s = (int(parameters[name]) for name in ("d", "L", "n", "s"))
    labels = AllOnes(n_labels) if parameters["labels"] == "all-ones" else RandomSigns(n_labels)
    world = Scenario(feature_law(parameters["law"], d), labels, UniformLabels(n_labels, s))
    sums = np.array([world.label_sums(n, rng) for _ in range(int(parameters["draws"]))])
    norms = {"trace": spectral_norms(sums), "frobenius": np.linalg.norm(sums, axis=(1, 2))}
    predicted = _predicted_slots(world, n, rng)
    return [
        record(
            "supremum deviation",
            ball,
            parameters,
            Estimate.of(norms[ball] / (n * s)),
            predicted=predicted[ball],
        )
        for ball in BALLS
    ]


def _predicted_slots(world: Scenario, n: int, rng: np.random.Generator) -> dict[str, float]:
    """Predict both deviations from the labels alone.

    V = X^T B with the observed labels B (n x L): for isotropic Gaussian X, given B, the columns of
    V behave like independent ones whose variances are the eigenvalues of B^T B over d.
    """
    d, s = world.features.n_features, world.observation.labels_per_point
    norms = []
    for _ in range(_LABEL_DRAWS):
        sample = world.sample(n, rng)
        variances = np.linalg.eigvalsh(_label_gram(sample)).clip(min=0) / d
        total, squares = d * float(variances.sum()), 2 * d * float(np.square(variances).sum())
        frobenius = math.sqrt(total) * (1 - squares / total**2 / 8)
        norms.append((sharp.spectral_norm(d, variances), frobenius))
    means = np.mean(norms, axis=0) / (n * s)
    return dict(zip(BALLS, means.tolist(), strict=True))


def _label_gram(sample: Sample) -> Array:
    """Return B^T B for the matrix B of observed labels, zero where none was seen."""
    weighted = sample.weights * sample.values
    shape = (sample.X.shape[0], sample.n_labels)
    B = sp.csr_array((weighted, (sample.rows, sample.columns)), shape=shape)
    return np.asarray((B.T @ B).toarray())
