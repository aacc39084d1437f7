"""Checks of Appendix B, steps 1 to 3: from the excess risk to the Rademacher average."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from leml_solver import LOSSES, FrobeniusBall, Problem, TraceBall
from leml_theory.bounds import (
    BoundValue,
    RiskSetting,
    Setting,
    mcdiarmid_gap,
    paper_literal_excess,
    theorem_3,
)
from leml_theory.measurements.averages import slots
from leml_theory.rademacher import Estimate, rademacher_averages, spectral_norms
from leml_theory.risk import minimum_risk, population_risk
from paper_checks import lemma_1 as _lemma_1  # noqa: F401  (registers its checks)
from paper_checks import spectral_norm as _spectral_norm  # noqa: F401
from paper_checks import symmetrisation as _symmetrisation  # noqa: F401
from paper_checks import theorem_6 as _theorem_6  # noqa: F401
from paper_checks.facts import at_least, at_most, different, equal
from paper_checks.measured_facts import mean_at_most, mean_equal
from paper_checks.registry import Effort, Outcome, check
from paper_checks.small_worlds import atoms, sign_patterns, signed_sums
from simulations import (
    AllOnes,
    IsotropicGaussian,
    Planted,
    RademacherVectors,
    Scenario,
    UniformLabels,
    WeightedLabels,
    zipf,
)

Array = NDArray[np.float64]

LINEAR = LOSSES["linear"]


def supremum(points: Array) -> float:
    """Return sup over the unit ball of L - Lhat for d = L = 1, labels one, centred x: |mean|."""
    return TraceBall(1.0).dual_norm(np.atleast_2d(points.mean()))


@check("B1")
def one_point_changed(effort: Effort) -> Outcome:
    """Replacing one of n points moves the supremum by B/n at most, B the range of the loss."""
    n = effort.pick(6, 9)
    range_ = LINEAR.range_length(1.0, 1.0)
    patterns = sign_patterns(n)
    moved = patterns.copy()
    moved[:, 0] = -moved[:, 0]
    change = max(abs(supremum(a) - supremum(b)) for a, b in zip(patterns, moved, strict=True))
    outlier = np.r_[100.0, np.ones(n - 1)]
    far = abs(supremum(outlier) - supremum(np.ones(n)))
    gaussian = Setting.of(IsotropicGaussian(1), UniformLabels(1), n)
    bound = mcdiarmid_gap(gaussian, RiskSetting.of(LINEAR, gaussian), theorem_3(gaussian))
    return Outcome(
        (
            equal("largest change over all sign patterns", change, range_ / n, 1e-12),
            at_least("change by a point of size 100", far, 40 * range_ / n),
            equal("McDiarmid valid for Gaussian x, linear loss", bound.valid, False, 0),
        )
    )


def generalisation_gap(world: Scenario, problem: Problem, Z: Array) -> float:
    """Return L(Z) - Lhat(Z)."""
    return population_risk(world, problem.loss, Z).value - problem.risk(Z)


def excess_risk(world: Scenario, problem: Problem, Z: Array) -> float:
    """Return L(Z) minus the least risk in the unit trace ball."""
    least = minimum_risk(world, problem.loss, TraceBall(1.0))
    return population_risk(world, problem.loss, Z).value - least.lower


@check("B2")
def gap_and_excess(effort: Effort) -> Outcome:
    """The difference of training and population risk is the generalisation gap, not the excess."""
    world = Scenario(RademacherVectors(4), Planted(4, 0.5), UniformLabels(4))
    problem = world.sample(50, effort.rng).problem("linear")
    ball = TraceBall(1.0)
    Z = ball.linear_minimiser(problem.gradient(np.zeros((4, 4))))
    best = minimum_risk(world, LINEAR, ball).Z
    gap, excess = generalisation_gap(world, problem, Z), excess_risk(world, problem, Z)
    other = -generalisation_gap(world, problem, best)
    flat = Scenario(RademacherVectors(4), AllOnes(4), UniformLabels(4))
    ones = flat.sample(50, effort.rng).problem("linear")
    Z_flat = ball.linear_minimiser(ones.gradient(np.zeros((4, 4))))
    return Outcome(
        (
            at_least(
                "gap where nothing can be learnt", generalisation_gap(flat, ones, Z_flat), 0.01
            ),
            equal("excess there", excess_risk(flat, ones, Z_flat), 0.0, 1e-12),
            at_most("excess against gap plus the deviation at Z*", excess, gap + other, 1e-12),
            different("gap against excess, planted labels", gap, excess, 1e-6),
        )
    )


def expected_empirical_risk(world: Scenario, Z: Array, label_law: Array) -> float:
    """Return E Lhat(Z) by listing every (x, y, l), labels drawn from `label_law`."""
    world_atoms = atoms(world)
    predictions = np.einsum("kd,dk->k", world_atoms.x, Z[:, world_atoms.label])
    weights = world_atoms.probability / world.observation.probabilities[world_atoms.label]
    losses = LINEAR.value(world_atoms.y, predictions)
    return float(weights * label_law[world_atoms.label] @ losses)


@check("B3")
def any_label_law(effort: Effort) -> Outcome:
    """E Lhat = L for any law of the labels, not only the uniform one."""
    facts = []
    Z = effort.rng.normal(size=(3, 5))
    for name, seen in (("uniform", UniformLabels(5)), ("Zipf", WeightedLabels(zipf(5, 1.0)))):
        world = Scenario(RademacherVectors(3), Planted(5, 0.5), seen)
        expected = expected_empirical_risk(world, Z, seen.probabilities)
        risk = population_risk(world, LINEAR, Z).value
        facts.append(equal(f"expected empirical risk, {name} labels", expected, risk, 1e-12))
    other = expected_empirical_risk(world, Z, UniformLabels(5).probabilities)
    facts.append(different("the same with the law of the labels forgotten", other, risk, 1e-6))
    return Outcome(tuple(facts))


def squared_perturbations(n: int, s: int) -> float:
    """Return the sum of squares: s/n for each of n points, 1/n for each of n s labels."""
    return n * (s / n) ** 2 + n * s * (1 / n) ** 2


def claimed_squares(n: int, s: int) -> float:
    """Return what the paper says the sum of squares is at most."""
    return 2 * s**2 / n


@check("B6")
def several_labels_perturbed(effort: Effort) -> Outcome:  # noqa: ARG001
    """(s^2 + s)/n <= 2 s^2/n, with equality at s = 1; by blocks s^2/n."""
    n, sizes = 50, range(1, 65)
    ratios = [squared_perturbations(n, s) / claimed_squares(n, s) for s in sizes]
    setting = Setting.of(RademacherVectors(1), UniformLabels(64, 4), n)
    risk = RiskSetting.of(LINEAR, setting)
    zero = BoundValue("zero", 0.0)
    spread = paper_literal_excess(setting, risk, zero).value / (2 * risk.loss_range)
    expected = math.sqrt(squared_perturbations(n, 4) / 16 * math.log(2 / risk.delta) / 2)
    return Outcome(
        (
            at_most("sum of squares over the claim, largest", max(ratios), 1.0, 1e-12, "rounding"),
            equal("at s = 1", ratios[0], 1.0, 1e-12),
            equal("at s = 64, near the blocks' half", ratios[-1], 0.5 * (1 + 1 / 64), 1e-12),
            equal("spread that follows, s = 4", spread, expected, 1e-12),
            equal("largest change by a point of s = 4 labels", _point_change(4), 4 / 2, 1e-12),
        )
    )


def _point_change(s: int) -> float:
    """Return the largest change, over B, of the summed supremum by one of two points."""
    changes = []
    for x, other in sign_patterns(2):
        before, after = (np.full((1, 1), s * (a + other) / 2) for a in (x, -x))
        ball = TraceBall(1.0)
        changes.append(abs(ball.dual_norm(before) - ball.dual_norm(after)))
    return max(changes) / LINEAR.range_length(1.0, 1.0)


@check("B7")
def supremum_of_a_sum(effort: Effort) -> Outcome:
    """Averaged over s labels the deviation falls, down to s^(-1/2) for independent labels."""
    cell = {"law": "rademacher", "d": 16, "L": 16, "n": 64, "draws": effort.pick(60, 400)}
    one = slots({**cell, "labels": "signs", "s": 1}, effort.rng)[0]
    same, apart = (
        _estimate(slots({**cell, "labels": labels, "s": 16}, effort.rng)[0])
        for labels in ("all-ones", "signs")
    )
    return Outcome(
        (
            mean_at_most("equal labels, s = 16 against s = 1", same, one["value"]),
            mean_at_most("independent labels, s = 16 against s = 1", apart, one["value"]),
            at_least("factor lost, equal labels", one["value"] / same.value, 1.5),
            at_least("factor lost, independent labels", one["value"] / apart.value, 3.5),
        )
    )


def _estimate(row: dict[str, float]) -> Estimate:
    return Estimate(row["value"], row["stderr"], int(row["draws"]))


@check("B8")
def hoelder(effort: Effort) -> Outcome:
    """|Z|_tr |V|_F is above radius |V|_2, not below; with |V|_2 throughout the chain holds."""
    d = 9
    trace, frobenius = TraceBall(1.0), FrobeniusBall(1.0)
    identity = np.eye(d)
    V, Z = effort.rng.normal(size=(2, d, 5))
    Z /= trace.norm(Z)
    middle = trace.norm(Z) * frobenius.dual_norm(V)
    best = trace.linear_minimiser(-V)
    return Outcome(
        (
            equal(
                "printed middle over its bound, V = I", frobenius.dual_norm(identity), 3.0, 1e-12
            ),
            at_least("printed middle against its bound", middle, 1.1 * trace.dual_norm(V)),
            at_most("<Z, V> against |V|_2", float(np.sum(Z * V)), trace.dual_norm(V)),
            equal("attained", float(np.sum(best * V)), trace.dual_norm(V), 1e-11),
        )
    )


@check("B9")
def second_moment(effort: Effort) -> Outcome:
    """Over all signs, labels and points E|V|_F^2 = n Sigma, and both averages stay below it."""
    n, law, seen = effort.pick(3, 4), RademacherVectors(2), WeightedLabels((0.7, 0.3))
    V, chances, _ = signed_sums(law, seen, n)
    norms = np.linalg.norm(V, axis=(1, 2))
    exact = {
        "trace": float(chances @ spectral_norms(V)) / n,
        "frobenius": float(chances @ norms) / n,
    }
    bound = theorem_3(Setting.of(law, seen, n)).value
    measured = rademacher_averages(law, seen, n, draws=effort.pick(4000, 40_000), rng=effort.rng)
    second = law.moments.second_moment
    return Outcome(
        (
            equal("E|V|_F^2 over n Sigma", float(chances @ norms**2) / (n * second), 1.0, 1e-12),
            at_most("trace average", exact["trace"], bound),
            at_most("Frobenius average", exact["frobenius"], bound),
            at_least("Frobenius average over the bound", exact["frobenius"] / bound, 0.9),
            mean_equal("measured trace average", measured["trace"], exact["trace"]),
            mean_equal("measured Frobenius average", measured["frobenius"], exact["frobenius"]),
        )
    )


@check("B10")
def change_of_normalisation(effort: Effort) -> Outcome:
    """R_n of raw x is sqrt(Sigma) times R_n of x/sqrt(Sigma): no inequality between them."""
    d, seed = 25, int(effort.rng.integers(2**32))
    raw, normalised = (
        rademacher_averages(
            IsotropicGaussian(d, normalised=normal),
            UniformLabels(4),
            100,
            draws=20,
            rng=np.random.default_rng(seed),
        )["trace"].value
        for normal in (False, True)
    )
    scale = math.sqrt(IsotropicGaussian(d, normalised=False).moments.second_moment)
    return Outcome(
        (
            equal("raw over normalised average, same draws", raw / normalised, 5.0, 1e-9),
            equal("sqrt(Sigma)", scale, 5.0, 1e-12),
            at_least("R_n against the printed 'upper bound' R_n/sqrt(Sigma)", raw, 4 * raw / scale),
        )
    )
