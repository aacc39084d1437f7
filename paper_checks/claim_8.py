"""Check of Claim 8's second part: what it takes to tell the two balls apart."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from leml_solver import LOSSES, FrobeniusBall, TraceBall
from leml_theory.bounds import (
    BoundValue,
    RiskSetting,
    Setting,
    bousquet_linear_gap,
    mcdiarmid_gap,
    rademacher_chevet,
    theorem_3,
)
from paper_checks.exact_tails import sign_sum_mean
from paper_checks.facts import at_least, at_most, equal
from paper_checks.registry import Effort, Outcome, check
from simulations import RademacherVectors, RareOutlier, UniformLabels

Array = NDArray[np.float64]

LINEAR = LOSSES["linear"]


def centred_deviation(law: RareOutlier, n: int) -> tuple[float, float]:
    """Return E|mean of x| and E|mean of eps x| exactly, x with two values."""
    rare = np.arange(n + 1)
    chances = binom.pmf(rare, n, law.probability)
    plain = np.abs((n - rare) * law.typical - rare * law.outlier)
    signed = [_signed_mean(n - int(k), int(k), law) for k in rare]
    return float(chances @ plain) / n, float(chances @ signed) / n


def _signed_mean(typical: int, rare: int, law: RareOutlier) -> float:
    a, b = (2 * np.arange(k + 1) - k for k in (typical, rare))
    weights = np.outer(binom.pmf(np.arange(typical + 1), typical, 0.5), _coin(rare))
    return float((weights * np.abs(law.typical * a[:, None] - law.outlier * b)).sum())


def _coin(n: int) -> Array:
    return np.asarray(binom.pmf(np.arange(n + 1), n, 0.5))


@check("C8")
def claim_8(effort: Effort) -> Outcome:
    """As stated the trace bound's second term is above the Frobenius lower bound, for any radius.

    Bousquet's inequality separates them when d >= L; with one feature the balls are the same.
    """
    n, delta, size = 10**10, 0.25, 1024
    setting = Setting.of(RademacherVectors(size), UniformLabels(size), n)
    risk = RiskSetting.of(LINEAR, setting, delta=delta)
    lower = math.sqrt(0.5 / n)
    average = rademacher_chevet(setting)
    stated = mcdiarmid_gap(setting, risk, average).value - 2 * average.value
    repaired = bousquet_linear_gap(setting, risk, average, symmetric=True)
    narrow = Setting.of(RademacherVectors(1), UniformLabels(size), n)
    one = bousquet_linear_gap(
        narrow, RiskSetting.of(LINEAR, narrow, delta=delta), theorem_3(narrow), symmetric=True
    )
    exact = sign_sum_mean(400) / 400
    plain_gap = _one_label_gap(exact, 400, delta)
    V = RademacherVectors(1).signed_sums(np.full(8, 9), effort.rng)
    # E x = 0, so that every Z has risk zero, but x is not symmetric: the mean is not R_n.
    law = RareOutlier(0.01 / 0.99, 1.0, 0.01)
    plain, signed = centred_deviation(law, 20)
    return Outcome(
        (
            at_least("McDiarmid's term over the Frobenius lower bound", stated / lower, 1.0),
            at_most("Bousquet's bound over it, d = L = 1024", repaired.value / lower, 0.2),
            at_least("Bousquet's bound over it, d = 1", one.value / lower, 1.0),
            at_most("chance of a gap above it, d = L = 1, exact", _tail(plain_gap, 400), delta),
            at_least("chance of a gap above 0.4 of it", _tail(0.4 * plain_gap, 400), delta),
            equal("trace over Frobenius norm, d = 1", _norm_ratio(V), 1.0, 1e-12),
            at_least("E sup over R_n, centred but not symmetric", plain / signed, 1.5),
            at_most("and never above two", plain / signed, 2.0),
            equal("E x there", law.mean, 0.0, 1e-15),
        ),
        "The separation is true for d >= L and n of the order of L at least; as stated it is not "
        "proved, since the range of the linear loss is twice the radius. The mean R_n instead of "
        "2 R_n needs y x symmetric given the label.",
    )


def _one_label_gap(average: float, n: int, delta: float) -> float:
    """Return Bousquet's bound on the gap for one feature and one label, from the exact R_n."""
    setting = Setting.of(RademacherVectors(1), UniformLabels(1), n)
    risk = RiskSetting.of(LINEAR, setting, delta=delta)
    return bousquet_linear_gap(setting, risk, BoundValue("exact", average), symmetric=True).value


def _tail(gap: float, n: int) -> float:
    """Return the exact chance that |S_n|/n is above `gap`."""
    return float(2 * binom.sf(math.floor(n * (1 + gap) / 2), n, 0.5))


def _norm_ratio(V: Array) -> float:
    return TraceBall(1.0).dual_norm(V) / FrobeniusBall(1.0).dual_norm(V)
