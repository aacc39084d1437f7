"""The advantage measured: both learners with chosen penalties, compared on held-out rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from leml_solver.losses import Squared
from leml_theory.bounds import (
    BoundValue,
    FailedAssumption,
    RiskSetting,
    data_dependent_gap,
    monte_carlo,
)
from leml_theory.diagnose.features import FeatureFacts
from leml_theory.diagnose.labels import KnownLabels
from leml_theory.diagnose.models import (
    FrobeniusLearner,
    Learner,
    LinearModel,
    TraceLearner,
    row_losses,
)
from leml_theory.rademacher import Estimate

# Radii 2^-32 to 2^31 are fixed before the data; the bound holds for all of them at once.
_RADII = 64
_DELTA = 0.05
_VALIDATION_SHARE = 0.25
_FEWEST_ROWS = 4
_MORE_STEPS = 8  # by a factor of four each: features in unusual units need unusual penalties


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Features, dense or CSR, and their labels."""

    X: Any
    labels: KnownLabels

    def some(self, index: Any) -> Rows:
        """Return some of the rows."""
        return Rows(self.X[index], self.labels.rows(index))

    def labelled(self) -> Rows:
        """Return the rows that have an observed label, these if all have."""
        counts = self.labels.counts
        return self if counts.all() else self.some(np.flatnonzero(counts))


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """The model that one norm leads to, and how it performs.

    Attributes
    ----------
    penalty : float
        Chosen on some of the training rows by the squared loss on the others.
    at_end : bool
        Whether it is the smallest or the largest penalty tried.
    norm : float
        Trace or Frobenius norm of Z.
    train_risk, test_risk : float
        Squared loss with its 1/2, averaged over observed labels.
    top_1 : float
        Share of test rows whose label of largest score is positive.
    """

    penalty: float
    at_end: bool
    norm: float
    train_risk: float
    test_risk: float
    top_1: float

    @property
    def gap(self) -> float:
        """Generalisation gap: risk on new rows minus risk on the training rows."""
        return self.test_risk - self.train_risk


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both norms on the same held-out rows.

    Attributes
    ----------
    intercept : bool
        Whether each label has an unpenalised intercept, which is what centring x amounts to.
    trace, frobenius : ModelFacts
        The two models.
    risk_difference, top_1_difference : Estimate
        By how much the trace norm is better: Frobenius minus trace risk, and trace minus Frobenius
        top-1, with paired standard errors over the held-out rows.
    zero_risk : float
        Test risk of predicting 0, or the training frequencies where there is an intercept.
    """

    intercept: bool
    trace: ModelFacts
    frobenius: ModelFacts
    risk_difference: Estimate
    top_1_difference: Estimate
    zero_risk: float


def compare(
    train: Rows,
    test: Rows,
    *,
    intercept: bool,
    rng: np.random.Generator,
    report: Callable[[str], object],
) -> Comparison:
    """Fit both norms with penalties chosen on the training rows and compare them on the others.

    Rows without an observed label carry no information and are left out.
    """
    train, test = train.labelled(), test.labelled()
    order = rng.permutation(train.labels.shape[0])
    if order.size < _FEWEST_ROWS or test.labels.shape[0] < 2:
        raise ValueError(
            f"`X` must have at least {_FEWEST_ROWS} rows with a label, some of them to choose a "
            f"penalty on, and `test` at least 2, got {order.size} and {test.labels.shape[0]}; "
            "leave out `test`."
        )
    cut = max(1, round(_VALIDATION_SHARE * order.size))
    parts = train.some(np.sort(order[cut:])), train.some(np.sort(order[:cut]))
    with_intercept = "with an intercept" if intercept else "without intercept"
    facts, losses = {}, {}
    for learner in (TraceLearner(intercept, rng), FrobeniusLearner(intercept)):
        report(f"fitting the {learner.ball} norm {with_intercept}")
        penalty, at_end = _chosen_penalty(learner, *parts)
        model = learner.fit(train.X, train.labels, penalty)
        losses[learner.ball] = row_losses(model, test.X, test.labels)
        trained, tested = row_losses(model, train.X, train.labels), losses[learner.ball]
        train_risk, test_risk = (float(one.losses.mean()) for one in (trained, tested))
        top_1 = float(tested.right.mean())
        facts[learner.ball] = ModelFacts(penalty, at_end, model.norm, train_risk, test_risk, top_1)
    trace, frobenius = losses["trace"], losses["frobenius"]
    return Comparison(
        intercept=intercept,
        trace=facts["trace"],
        frobenius=facts["frobenius"],
        risk_difference=Estimate.of(frobenius.losses - trace.losses),
        top_1_difference=Estimate.of(trace.right - frobenius.right),
        zero_risk=_constant_risk(train, test, intercept),
    )


def gap_bound(facts: FeatureFacts, ball: str, model: ModelFacts) -> BoundValue:
    """Bound the gap of every model whose norm is at most the next power of two above this one's.

    From the average given the data, its Monte Carlo error of three standard errors included, at
    level 0.05; the powers of two are fixed beforehand, so the radius may depend on the data. The
    largest |x| of the training rows stands for that of the law.
    """
    smallest, largest = 2.0 ** (-_RADII // 2), 2.0 ** (_RADII // 2 - 1)
    radius = 2.0 ** math.ceil(math.log2(max(model.norm, smallest)))
    setting = replace(facts.setting, radius=radius, ball=ball)
    risk = RiskSetting.of(Squared(), setting, delta=_DELTA / _RADII)
    bound = data_dependent_gap(setting, risk, monte_carlo(facts.averages[ball], radius=radius))
    if radius <= largest:
        return bound
    why = FailedAssumption(
        f"needs a norm of at most {largest:.4g}", f"it is {model.norm:.4g}; rescale X"
    )
    return replace(bound, failures=(*bound.failures, why))


def _chosen_penalty(learner: Learner, fitted: Rows, held_out: Rows) -> tuple[float, bool]:
    """Choose in steps of four, beyond the ends if needed, then in between; say if it is an end."""

    def risk(penalty: float) -> float:
        model = learner.fit(fitted.X, fitted.labels, penalty)
        return float(row_losses(model, held_out.X, held_out.labels).losses.mean())

    grid = learner.penalties(fitted.X, fitted.labels)
    risks = {penalty: risk(penalty) for penalty in grid.tolist()}
    for _ in range(_MORE_STEPS):
        best = _lowest(risks)
        if min(risks) < best < max(risks):
            break
        further = best / 4 if best == min(risks) else best * 4
        risks[further] = risk(further)
    best = _lowest(risks)
    risks |= {penalty: risk(penalty) for penalty in (best / 2, best * 2)}
    chosen = _lowest(risks)
    return chosen, chosen in (min(risks), max(risks))


def _lowest(risks: dict[float, float]) -> float:
    """Return the penalty of lowest risk, the largest of those that share it."""
    return min(risks, key=lambda penalty: (risks[penalty], -penalty))


def _constant_risk(train: Rows, test: Rows, intercept: bool) -> float:
    """Return the test risk of the best constant, or of zero."""
    n_labels = train.labels.shape[1]
    seen = np.maximum(train.labels.observations, 1)
    offset = train.labels.Y.sum(axis=0) / seen if intercept else np.zeros(n_labels)
    zero = np.zeros((train.X.shape[1], 1)), np.zeros((n_labels, 1))
    model = LinearModel(*zero, offset, 0.0)
    return float(row_losses(model, test.X, test.labels).losses.mean())
