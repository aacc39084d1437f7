"""Excess risk with the linear and the clipped linear loss, in worlds where it has a closed form."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from leml_solver import LOSSES
from leml_theory import predictions as sharp
from leml_theory.arrays import Array
from leml_theory.bounds import BALLS, RiskSetting, Setting
from leml_theory.measurements.records import Parameters, Record, exceedances, record
from leml_theory.rademacher import Estimate
from leml_theory.worlds import observation_of
from simulations import Observation, Planted, RademacherVectors, RareOutlier, UniformLabels


@dataclass(frozen=True, slots=True)
class _Signal:
    """A planted signal: the population risk is -<M, Z> with M = strength e_1 direction^T."""

    labels: Planted
    strength: float
    direction: Array


def _signal(rho: float, d: int, seen: Observation, head: bool) -> _Signal:
    """Return the signal with correlation rho, on all labels or on the first one alone."""
    weights = np.array(seen.probabilities)
    if head:
        weights[1:] = 0.0
    size = float(np.linalg.norm(weights))
    labels = Planted(seen.n_labels, rho, head=head)
    return _Signal(labels, rho * size / math.sqrt(d), weights / size)


def _excesses(V: Array, signal: _Signal) -> tuple[float, float]:
    """Return the excess risk of the trace-ball and of the Frobenius-ball minimiser, radius 1.

    Where the signs cancel to V = 0 every Z minimises the empirical risk, and Z = 0 is taken.
    """
    if not V.any():
        return signal.strength, signal.strength
    if V.shape[0] <= V.shape[1]:
        gram = V @ V.T
        top, u = _top_pair(gram)
        overlap = u[0] * float(u @ (V @ signal.direction)) / math.sqrt(top)
    else:
        gram = V.T @ V
        top, v = _top_pair(gram)
        overlap = float(V[0] @ v) * float(v @ signal.direction) / math.sqrt(top)
    along = float(V[0] @ signal.direction) / math.sqrt(float(np.trace(gram)))
    return signal.strength * (1 - overlap), signal.strength * (1 - along)


def _top_pair(gram: Array) -> tuple[float, Array]:
    """Return the largest eigenvalue of a Gram matrix with its eigenvector."""
    last = gram.shape[0] - 1
    values, vectors = eigh(gram, subset_by_index=[last, last], check_finite=False)
    return float(values[0]), vectors[:, 0]


def _excess_draws(
    signals: list[_Signal], seen: Observation, parameters: Parameters, rng: np.random.Generator
) -> Array:
    """Draw excess risks of both minimisers for every signal, shape (draws, signals, 2).

    All signals of a draw share the noise; only the first row of V depends on the signal.
    """
    n, d = int(parameters["n"]), int(parameters["d"])
    noise = Planted(seen.n_labels, 0.0)
    draws = np.empty((int(parameters["draws"]), len(signals), 2))
    for i in range(draws.shape[0]):
        counts = seen.counts(n, rng)
        V = noise.label_sums(d, counts, rng)
        for j, signal in enumerate(signals):
            V[0] = signal.labels.label_sums(1, counts, rng)[0] / math.sqrt(d)
            draws[i, j] = _excesses(V, signal)
    return draws


def worst_planted(parameters: Parameters, rng: np.random.Generator) -> list[Record]:
    """Measure the excess risk at the worst planted signal of each ball.

    The signal is chosen on other draws than those it is evaluated on, so that the largest of many
    noisy means is never reported as a mean.

    Paper: Claim 8, whose statement about excess risk needs this model; with centred labels the
    excess risk of the linear loss is zero.
    """
    n, d, n_labels = (int(parameters[name]) for name in ("n", "d", "L"))
    seen = observation_of(parameters["skew"], n_labels)
    head = parameters["skew"] != "uniform"
    unit = _signal(1.0, d, seen, head).strength
    rows = []
    for j, ball in enumerate(BALLS):
        strengths = np.minimum(_candidates(ball, parameters) / math.sqrt(n), unit)
        signals = [_signal(theta / unit, d, seen, head) for theta in strengths]
        choice = _excess_draws(signals, seen, parameters, rng)[:, :, j].mean(axis=0)
        worst = signals[int(choice.argmax())]
        draws = _excess_draws([worst], seen, parameters, rng)[:, 0, j]
        more = {"labels": "worst planted", "signal": float(worst.strength)}
        more |= _predicted_worst(ball, parameters, head) | _exceedances(ball, d, seen, n, draws)
        rows.append(record("excess risk", ball, parameters, Estimate.of(draws), **more))
    return rows


def _candidates(ball: str, parameters: Parameters) -> Array:
    """Return the signal strengths to choose from, times sqrt(n)."""
    number = int(parameters["signals"])
    if ball == "frobenius":  # the worst one is known to be near 0.786
        return np.asarray(0.786 * np.geomspace(0.6, 1.7, number))
    size = int(parameters["d"]) * int(parameters["L"])
    return np.geomspace(0.4 * size**-0.25, 1.5, number)


def _predicted_worst(ball: str, parameters: Parameters, head: bool) -> Record:
    """Return the worst planted excess, or the reason why no formula is known."""
    n, d, n_labels = (int(parameters[name]) for name in ("n", "d", "L"))
    if head:
        return {"predicted": math.nan, "unpredicted": "needs uniform labels"}
    if n < d * n_labels:  # the worst signal, about 0.8/sqrt(n), would need a correlation above one
        reason = f"needs n >= d L, here n = {n} and d L = {d * n_labels}"
        return {"predicted": math.nan, "unpredicted": reason}
    if ball == "frobenius":
        return {"predicted": sharp.worst_frobenius_excess(n, d * n_labels)}
    return {"predicted": sharp.worst_trace_excess(n, d, n_labels)}


def fixed_planted(parameters: Parameters, rng: np.random.Generator) -> list[Record]:
    """Measure the excess risk for a planted signal that does not change with n: a fast rate."""
    n, d, n_labels = (int(parameters[name]) for name in ("n", "d", "L"))
    seen = UniformLabels(n_labels)
    signal = _signal(float(parameters["rho"]), d, seen, head=False)
    draws = _excess_draws([signal], seen, parameters, rng)[:, 0]
    predicted = {
        "trace": sharp.planted_trace_excess(signal.strength, n, d, n_labels),
        "frobenius": sharp.planted_frobenius_excess(signal.strength, n, d * n_labels),
    }
    rows = []
    for ball, values in zip(BALLS, draws.T, strict=True):
        more = {"labels": "planted", "signal": signal.strength, "predicted": predicted[ball]}
        more |= _exceedances(ball, d, seen, n, values)
        rows.append(record("excess risk", ball, parameters, Estimate.of(values), **more))
    return rows


def _exceedances(ball: str, d: int, seen: Observation, n: int, draws: Array) -> Record:
    """Count the draws above the 1 - delta bound for the linear loss and Rademacher features."""
    setting = Setting.of(RademacherVectors(d), seen, n, ball=ball)
    return exceedances(setting, RiskSetting.of(LOSSES["linear"], setting), draws)


def clipped(parameters: Parameters, rng: np.random.Generator) -> list[Record]:
    """Measure the excess risk in the world where Theorem 4 fails for L > d.

    x = +-1 in one dimension, y agrees with x with probability (1+mu)/2, mu = sqrt(L/n), the loss
    -clip(y f, -1, 1) is bounded by one, the radius sqrt(L) leaves every label free.

    Paper: Theorem 4.
    """
    n, n_labels = int(parameters["n"]), int(parameters["L"])
    bias = math.sqrt(n_labels / n)
    seen, labels = UniformLabels(n_labels), Planted(n_labels, bias)
    draws = np.empty(int(parameters["draws"]))
    for i in range(draws.size):
        signs = np.sign(labels.label_sums(1, seen.counts(n, rng), rng)[0])
        draws[i] = bias * float(1 - signs.mean())
    place = {**parameters, "d": 1, "radius": math.sqrt(n_labels)}
    more = {"labels": "planted", "loss": "clipped linear", "signal": bias}
    more["predicted"] = sharp.clipped_excess(n, n_labels, bias)
    return [record("excess risk", "trace", place, Estimate.of(draws), **more)]


def outlier(parameters: Parameters, rng: np.random.Generator) -> list[Record]:
    """Measure how often the excess risk is above what Theorem 3 promises, for an unbounded loss.

    One rare outlier flips the sign of the minimiser.  The record's value is the frequency; its
    column `signal` holds the ratio of the excess to what Theorem 3 promises with unit constants.

    Paper: Theorem 3.
    """
    n, delta = int(parameters["n"]), float(parameters["delta"])
    law = RareOutlier(0.9 / math.sqrt(n * delta), math.sqrt(n / delta), delta / n)
    rare = rng.binomial(n, law.probability, size=int(parameters["draws"]))
    turned = (n - rare) * law.typical < rare * law.outlier
    promised = (1 + math.sqrt(math.log(1 / delta))) / math.sqrt(n)
    excess = 2 * law.mean
    exceeds = (turned & (excess > promised)).astype(np.float64)
    place, quantity = {**parameters, "d": 1, "L": 1}, "frequency above Theorem 3"
    more = {"delta": delta, "law": "rare outlier", "signal": excess / promised}
    more["predicted"] = 1 - (1 - law.probability) ** n
    return [record(quantity, "trace", place, Estimate.of(exceeds), **more)]
