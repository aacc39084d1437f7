"""Checks of the constants in Theorem 3: the range of the loss and its Lipschitz constant."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.stats import binom

from leml_solver import LOSSES
from leml_solver.losses import Loss
from leml_theory.bounds import (
    BoundValue,
    RiskSetting,
    Setting,
    bousquet_excess,
    expectation_bound,
    mcdiarmid_excess,
    rademacher_chevet,
    theorem_3,
)
from paper_checks.exact_tails import turned_probability
from paper_checks.facts import at_least, at_most, equal
from paper_checks.measured_facts import valid_value
from paper_checks.registry import Effort, Outcome, check
from paper_checks.small_worlds import enumerated
from simulations import RademacherVectors, RareOutlier, UniformLabels

LINEAR = LOSSES["linear"]


@check("T3.5")
def range_of_the_loss(effort: Effort) -> Outcome:  # noqa: ARG001
    """The second term carries the range 2 radius |x| of the loss, and Bousquet's does not."""
    n, delta, radius = 10**4, 0.01, 1000.0
    setting = Setting.of(RademacherVectors(1), UniformLabels(1), n, radius=radius)
    risk = RiskSetting.of(LINEAR, setting, delta=delta)
    bias = 2 / math.sqrt(n)
    excess = 2 * radius * bias
    # Theorem 3 with 2 C R_n and a hundred times the second term, the range taken for one.
    taken = theorem_3(setting).value * 2 + 100 * math.sqrt(math.log(1 / delta) / n)
    wide = Setting.of(RademacherVectors(1024), UniformLabels(1024), 10**12)
    linear, average = RiskSetting.of(LINEAR, wide), rademacher_chevet(wide)
    bousquet, mcdiarmid = (f(wide, linear, average) for f in (bousquet_excess, mcdiarmid_excess))
    repaired = bousquet_excess(setting, risk, theorem_3(setting))
    return Outcome(
        (
            at_least("excess against the bound with range one", excess, taken),
            at_least("its exact chance against delta", turned_probability(n, bias), 2 * delta),
            at_most("against the true range", excess, valid_value(_mcdiarmid(setting, risk))),
            at_most("chance of an excess above Bousquet's bound", _chance(repaired, n), delta),
            at_least("above a quarter of it", _chance(repaired, n, 0.25), delta),
            equal("range of the linear loss", risk.loss_range, 2 * radius, 1e-9),
            at_least("McDiarmid over Bousquet, d = L = 1024", mcdiarmid.value / bousquet.value, 10),
        ),
        "For a loss that is not clipped the range is of the order of the radius, so McDiarmid's "
        "term swamps radius/sqrt(nL); Bousquet's inequality keeps the rate.",
    )


def _chance(bound: BoundValue, n: int, share: float = 1.0) -> float:
    """Return the largest exact chance, over the bias, of an excess above a share of the bound.

    At radius 1000 the excess is 2000 times the bias when the sign is wrong, which is the less
    likely the larger the bias.
    """
    return turned_probability(n, valid_value(bound) * share / 2000)


def _mcdiarmid(setting: Setting, risk: RiskSetting) -> BoundValue:
    return mcdiarmid_excess(setting, risk, theorem_3(setting))


def two_point_deviation(loss: Loss, law: RareOutlier, n: int, radius: float) -> float:
    """Return E sup over |z| <= radius of L - Lhat exactly: d = L = 1, two values of x, y = 1.

    L - Lhat = (share - share seen) times the difference of the two losses, a quadratic in z.
    """
    values = enumerated(law)
    (a,), (b,) = values.points
    vertex = (b - a) / (b * b - a * a)
    z = np.array([-radius, radius, np.clip(vertex, -radius, radius)])
    ones = np.ones(3)
    differences = loss.value(ones, b * z) - loss.value(ones, a * z)
    seen = np.arange(n + 1)
    shift = values.probabilities[1] - seen / n
    best = (shift[:, None] * differences).max(axis=1)
    return float(binom.pmf(seen, n, values.probabilities[1]) @ best)


@check("T3.7")
def lipschitz_constant_of_the_squared_loss(effort: Effort) -> Outcome:  # noqa: ARG001
    """With C = 1 the bound on the deviation fails, with C = 1 + radius R it holds."""
    n, radius, loss = 100, 100.0, LOSSES["squared"]
    law = RareOutlier(1.0, 0.5, 0.5)
    setting = Setting.of(law, UniformLabels(1), n, radius=radius)
    risk = RiskSetting.of(loss, setting)
    deviation = two_point_deviation(loss, law, n, radius)
    true = expectation_bound(setting, risk, theorem_3(setting))
    assumed = expectation_bound(setting, replace(risk, lipschitz=1.0), theorem_3(setting))
    slopes = loss.derivative(np.ones(2), np.array([-radius, radius]))
    return Outcome(
        (
            at_least("exact deviation against C = 1", deviation, 3 * assumed.value),
            at_most("against C = 1 + radius R", deviation, valid_value(true)),
            equal("largest slope on the ball", float(np.abs(slopes).max()), 1 + radius, 1e-12),
            equal("constant of the loss", risk.lipschitz, 1 + radius, 1e-12),
        )
    )
