"""Rademacher averages, and the same sums when several labels per point are seen."""

import math

import numpy as np

from leml_theory import predictions as sharp
from leml_theory.arrays import Array
from leml_theory.bounds import BALLS
from leml_theory.measurements.records import Parameters, Record, record
from leml_theory.rademacher import Estimate, rademacher_averages, spectral_norms
from leml_theory.risk import cross_moments
from leml_theory.worlds import feature_law, observation_of
from simulations import AllOnes, FeatureLaw, Observation, RandomSigns, Scenario

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
    return _records("rademacher average", parameters, measured, predicted)


def _records(
    quantity: str,
    parameters: Parameters,
    measured: dict[str, Estimate],
    predicted: dict[str, float] | str,
) -> list[Record]:
    """Return a row for each ball; `predicted` holds values, or the reason why there are none."""
    rows = []
    for ball in BALLS:
        if isinstance(predicted, str):
            more: Record = {"predicted": math.nan, "unpredicted": predicted}
        else:
            more = {"predicted": predicted[ball]}
        rows.append(record(quantity, ball, parameters, measured[ball], **more))
    return rows


def _is_isotropic(law: FeatureLaw) -> bool:
    """Return whether the second moments of x are a multiple of the identity."""
    moments = law.moments
    return moments.top_eigenvalue * law.n_features <= moments.second_moment * (1 + 1e-12)


def predicted_averages(
    law: FeatureLaw, seen: Observation, n: int, rng: np.random.Generator
) -> dict[str, float] | str:
    """Predict both averages, or return the reason why no formula holds."""
    moments, d, isotropic = law.moments, law.n_features, _is_isotropic(law)
    if moments.proxy is None:
        return "needs sub-Gaussian features, but there is no proxy"
    if not (isotropic or moments.rank_one):
        return "needs isotropic features or features on one line"
    overlap = float(np.square(seen.probabilities).sum()) / (d if isotropic else 1)
    second = seen.label_numbers.spread * moments.second_moment
    frobenius = sharp.frobenius_norm(second, overlap, n) / n
    if moments.rank_one:
        return {"trace": frobenius, "frobenius": frobenius}
    counts = [_squared_counts(seen, n, rng) for _ in range(_COUNT_DRAWS)]
    shown = [np.asarray(moments.top_eigenvalue * c) for c in counts if c.any()]
    norms = [sharp.spectral_norm(d, c) for c in shown] + [0.0] * (_COUNT_DRAWS - len(shown))
    return {"trace": float(np.mean(norms)) / n, "frobenius": frobenius}


def _squared_counts(seen: Observation, n: int, rng: np.random.Generator) -> Array:
    """Draw for every label the sum of (k/s)^2 over the points whose slot shows it."""
    numbers = seen.label_numbers
    sizes = rng.multinomial(n, numbers.probabilities)
    groups = [(k, m) for k, m in zip(numbers.values, sizes, strict=True) if k and m]
    counts = [(k / numbers.mean) ** 2 * seen.counts(m, rng) for k, m in groups]
    return np.asarray(np.sum([np.zeros(seen.n_labels), *counts], axis=0))


def slots(parameters: Parameters, rng: np.random.Generator) -> list[Record]:
    """Measure the supremum of L - Lhat, linear loss, several labels per point, divided by n s.

    The labels are all ones (every slot of a point carries the same information) or
    independent signs (every slot carries new information).

    Paper: Appendix B, the case s > 1.
    """
    d, n_labels, n = (int(parameters[name]) for name in ("d", "L", "n"))
    seen = observation_of(parameters.get("skew", "uniform"), n_labels, int(parameters["s"]))
    labels = AllOnes(n_labels) if parameters["labels"] == "all-ones" else RandomSigns(n_labels)
    world = Scenario(feature_law(parameters["law"], d), labels, seen)
    mean = cross_moments(world)  # of a sum over n s; zero where x is centred
    if mean is None:
        raise ValueError(
            f"`law` must know its mean for a deviation from it, got {parameters['law']!r}; give "
            "the law a `mean_vector`."
        )
    s = seen.labels_per_point
    sums = np.array([world.label_sums(n, rng) for _ in range(int(parameters["draws"]))])
    sums -= n * s * mean
    norms = {"trace": spectral_norms(sums), "frobenius": np.linalg.norm(sums, axis=(1, 2))}
    measured = {ball: Estimate.of(norms[ball] / (n * s)) for ball in BALLS}
    return _records("supremum deviation", parameters, measured, _predicted_slots(world, n, rng))


def _predicted_slots(world: Scenario, n: int, rng: np.random.Generator) -> dict[str, float] | str:
    """Predict both deviations from the labels alone, or say why no formula holds.

    V = X^T B with the observed labels B (n x L): for isotropic Gaussian X, given B, the columns of
    V behave like independent ones whose variances are the eigenvalues of B^T B times that of x.
    """
    law = world.features
    if law.moments.proxy is None or not law.moments.centred or not _is_isotropic(law):
        return "needs centred, isotropic and sub-Gaussian features"
    d, s = law.n_features, world.observation.labels_per_point
    norms = []
    for _ in range(_LABEL_DRAWS):
        sample = world.sample(n, rng)
        B = sample.label_matrix()
        variances = np.linalg.eigvalsh((B.T @ B).toarray()).clip(min=0) / d
        variances *= law.moments.second_moment
        total, squares = d * float(variances.sum()), 2 * d * float(np.square(variances).sum())
        frobenius = math.sqrt(total) * (1 - squares / total**2 / 8)
        norms.append((sharp.spectral_norm(d, variances), frobenius))
    means = np.mean(norms, axis=0) / (n * s)
    return dict(zip(BALLS, means.tolist(), strict=True))
