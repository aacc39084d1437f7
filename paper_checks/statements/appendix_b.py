"""Checks of Appendix B up to step 3: deviations, symmetrisation, second moments."""

import math

import numpy as np

from leml_solver import LOSSES, FrobeniusBall, Problem, TraceBall
from leml_theory.arrays import Array
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
from paper_checks.checking import Effort, Findings, Kind, Statement, Sure, Verdict
from paper_checks.checking.fact import CONDITION, CONTROL, MEANT, REFUTES, REPAIRED, SLACK, SUPPORTS
from paper_checks.printed import QUOTED
from paper_checks.worlds.small import (
    Atoms,
    atoms,
    class_average,
    class_predictions,
    expected_deviation,
    samples,
    sign_patterns,
    signed_sums,
)
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

LINEAR = LOSSES["linear"]


def supremum(points: Array) -> float:
    """Return sup over the unit ball of L - Lhat for d = L = 1, labels one, centred x: |mean|."""
    return TraceBall(1.0).dual_norm(np.atleast_2d(points.mean()))


@Statement(
    id="B1",
    where="Appendix B.1, paragraph 5, sentence 1",
    says="Changing one training point moves the supremum deviation by O(1/n).",
    kind=Kind.UPPER_BOUND,
    verdict=Verdict.HIDDEN,
    refuted_by="A change above B/n for a bounded loss, or within it for an unbounded one.",
    correct="By B/n, B the range of the loss on the ball, which the theorems do not assume finite.",
    why="The change is B/n, B the range of the loss, which the theorems do not ask to be finite; "
    "the linear and the squared loss have no bound of their own.",
    example="n = 2, points 1 and 1; one becomes 100: the mean moves by 49.5.",
    sure=Sure.PROVED,
    matters=2,
)
def one_point_changed(effort: Effort) -> Findings:
    """All sign patterns of a small sample; one large outlier; McDiarmid refused for Gaussian x."""
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
    yield CONDITION.equal("largest change over all sign patterns", change, range_ / n, 1e-12)
    yield REFUTES.at_least("change by a point of size 100", far, 40 * range_ / n)
    yield CONTROL.equal("McDiarmid valid for Gaussian x, linear loss", bound.valid, False, 0)


def generalisation_gap(world: Scenario, problem: Problem, Z: Array) -> float:
    """Return L(Z) - Lhat(Z)."""
    return population_risk(world, problem.loss, Z).value - problem.risk(Z)


def excess_risk(world: Scenario, problem: Problem, Z: Array) -> float:
    """Return L(Z) minus the least risk in the unit trace ball."""
    least = minimum_risk(world, problem.loss, TraceBall(1.0))
    return population_risk(world, problem.loss, Z).value - least.lower


@Statement(
    id="B2",
    where="Appendix B.1, paragraph 4, sentence 1",
    says="The excess risk is the difference between training loss and population risk.",
    verdict=Verdict.MISPRINT,
    refuted_by="Gap and excess that agree.",
    correct="That difference is the generalisation gap; excess <= gap + Lhat(Z*) - L(Z*).",
    why="Training loss minus population risk is the generalisation gap; the excess is measured "
    "from the least population risk.",
    example="x = +-1, y = 1, linear loss: the excess is 0 for every Z, the gap of the minimiser is "
    "|mean of x|.",
    sure=Sure.PROVED,
    matters=2,
)
def gap_and_excess(effort: Effort) -> Findings:
    """Both for the same minimiser, where nothing can be learnt and with planted labels."""
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
    nothing = generalisation_gap(flat, ones, Z_flat)
    yield REFUTES.at_least("gap where nothing can be learnt", nothing, 0.01)
    yield REFUTES.equal("excess there", excess_risk(flat, ones, Z_flat), 0.0, 1e-12)
    start = "excess against gap plus the deviation at Z*, as Appendix B begins"
    yield MEANT.at_most(start, excess, gap + other, 1e-12)
    yield REFUTES.different("gap against excess, planted labels", gap, excess, 1e-6)


def expected_empirical_risk(world: Scenario, Z: Array, label_law: Array) -> float:
    """Return E Lhat(Z) by listing every (x, y, l), labels drawn from `label_law`."""
    world_atoms = atoms(world)
    predictions = np.einsum("kd,dk->k", world_atoms.x, Z[:, world_atoms.label])
    weights = world_atoms.probability / world.observation.probabilities[world_atoms.label]
    losses = LINEAR.value(world_atoms.y, predictions)
    return float(weights * label_law[world_atoms.label] @ losses)


@Statement(
    id="B3",
    place="Appendix B.1",
    says="For uniform labels the population risk is the expectation of the empirical risk.",
    kind=Kind.EQUALITY,
    refuted_by="An expected empirical risk other than the population risk for some law.",
)
def any_label_law(effort: Effort) -> Findings:
    """Every (x, y, l) of a small world listed, uniform and Zipf labels."""
    Z = effort.rng.normal(size=(3, 5))
    for name, seen in (("uniform", UniformLabels(5)), ("Zipf", WeightedLabels(zipf(5, 1.0)))):
        world = Scenario(RademacherVectors(3), Planted(5, 0.5), seen)
        expected = expected_empirical_risk(world, Z, seen.probabilities)
        risk = population_risk(world, LINEAR, Z).value
        yield SUPPORTS.equal(f"expected empirical risk, {name} labels", expected, risk, 1e-12)
    other = expected_empirical_risk(world, Z, UniformLabels(5).probabilities)
    yield CONTROL.different("the same with the law of the labels forgotten", other, risk, 1e-6)


# Symmetrising the triples (x, y, l) at once; the paper does it twice and has 4.
SYMMETRISATION = 2.0
SYMMETRISATION_PRINTED = QUOTED["symmetrisation"].numbers[0]


def predictor_class(radius: float, rng: np.random.Generator) -> Array:
    """Draw 24 points on the sphere of radius `radius` in R^2, as a stack of 1 x 2 matrices."""
    angles = 2 * math.pi * (np.arange(24) + rng.random()) / 24
    return radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)[:, None, :]


def small_world() -> Scenario:
    """Return one feature, two labels, eight triples (x, y, l)."""
    return Scenario(RademacherVectors(1), Planted(2, 0.3), UniformLabels(2))


def loss_average(world: Atoms, name: str, Z: Array, n: int) -> float:
    """Return the exact Rademacher average of the losses of a class."""
    loss = LOSSES[name]
    return class_average(world, loss.value(loss.encode(world.y), class_predictions(world, Z)), n)


@Statement(
    id="B4",
    where="Appendix B.2, line 13 of the formulas",
    says="The expected supremum deviation is at most four Rademacher averages of the losses.",
    kind=Kind.UPPER_BOUND,
    verdict=Verdict.LOOSE,
    refuted_by="A deviation above two averages.",
    correct="Two suffice: symmetrise the triples (x, y, l) at once, so 2 C R_n for 4 C R_n.",
    why="The triples (x, y, l) are independent and may be exchanged at once; the paper exchanges "
    "labels and points one after the other.",
    example="n = 1, x = +-1, predictors x and -x with the linear loss: the deviation is 1 and so "
    "is the average.",
    sure=Sure.PROVED,
)
def symmetrisation(effort: Effort) -> Findings:
    """Every sample and sign pattern of a small world, 24 predictors, four losses: no sampling."""
    n, Z = effort.pick(3, 4), predictor_class(1.5, effort.rng)
    for name in ("absolute", "logistic", "hinge", "linear"):
        deviation = expected_deviation(small_world(), LOSSES[name], Z, n)
        average = loss_average(atoms(small_world()), name, Z, n)
        sharper, claimed = SYMMETRISATION * average, SYMMETRISATION_PRINTED * average
        yield REPAIRED.at_most(f"E sup (L - Lhat), {name}", deviation, sharper, 1e-12)
        yield CONTROL.at_least(f"against half of it, {name}", deviation, average / 2)
        yield SUPPORTS.at_most(f"against four, {name}", deviation, claimed)
        yield SLACK.at_least(f"claimed over exact, {name}", claimed / deviation, 2.0)


@Statement(
    id="B5",
    place="Appendix B.2",
    says="Contraction: the average of the losses is at most C times that of the predictions.",
    kind=Kind.UPPER_BOUND,
    refuted_by="An average of losses above C times that of the predictions.",
)
def contraction(effort: Effort) -> Findings:
    """The same enumeration, six losses; equality for the linear one."""
    n, Z = effort.pick(3, 4), predictor_class(1.5, effort.rng)
    world = atoms(small_world())
    predictions = class_average(world, class_predictions(world, Z), n)
    linear = loss_average(world, "linear", Z, n)
    yield SUPPORTS.equal("average of the linear loss", linear, predictions, 1e-12)
    for name in ("absolute", "logistic", "hinge", "squared", "squared_hinge"):
        average = loss_average(world, name, Z, n)
        bound = LOSSES[name].lipschitz(1.5, 1.0) * predictions
        yield SUPPORTS.at_most(f"average of the losses, {name}", average, bound, 1e-12)


LABEL_LOSSES = ("squared", "logistic")  # of the first and of the second label


def label_wise_losses(world: Atoms, Z: Array) -> Array:
    """Return the losses of a stack of predictors at each atom, each label with its own loss."""
    predictions = class_predictions(world, Z)
    losses = [LOSSES[name] for name in LABEL_LOSSES]
    first, second = (loss.value(loss.encode(world.y), predictions) for loss in losses)
    return np.asarray(np.where(world.label == 0, first, second))


def class_deviation(world: Atoms, values: Array, n: int) -> float:
    """Return E max over the rows of `values` (c, k) of mean minus mean over n atoms, exactly."""
    indices, chances = samples(world.probability, n)
    means = values @ world.probability
    return float(chances @ (means[:, None] - values[:, indices].mean(axis=2)).max(axis=0))


@Statement(
    id="B5.1",
    place="Appendix B.2",
    says="The analysis allows each label a loss of its own, all of them bounded and C-Lipschitz.",
    kind=Kind.UPPER_BOUND,
    refuted_by="A deviation above four averages, or losses above C times the predictions, C the "
    "larger constant.",
)
def losses_of_the_labels(effort: Effort) -> Findings:
    """All samples and signs of a small world; squared loss for one label, logistic for one."""
    n, Z = effort.pick(3, 4), predictor_class(1.5, effort.rng)
    world = atoms(small_world())
    values = label_wise_losses(world, Z)
    deviation, average = (f(world, values, n) for f in (class_deviation, class_average))
    predictions = class_average(world, class_predictions(world, Z), n)
    squared, logistic = (LOSSES[name].lipschitz(1.5, 1.0) for name in LABEL_LOSSES)
    yield SUPPORTS.at_most("E sup (L - Lhat)", deviation, SYMMETRISATION_PRINTED * average, 1e-12)
    yield SUPPORTS.at_most("average of the losses", average, squared * predictions, 1e-12)
    yield CONTROL.at_least("against the smaller C", average, logistic * predictions)
    yield CONTROL.at_least("deviation, not void", deviation, average / 2)


def squared_perturbations(n: int, s: int) -> float:
    """Return the sum of squares: s/n for each of n points, 1/n for each of n s labels."""
    return n * (s / n) ** 2 + n * s * (1 / n) ** 2


def claimed_squares(n: int, s: int) -> float:
    """Return what the paper says the sum of squares is at most."""
    return 2 * s**2 / n


@Statement(
    id="B6",
    place="Appendix B.2",
    says="With s labels per point the squared perturbations sum to 2 s^2/n at most.",
    kind=Kind.UPPER_BOUND,
    refuted_by="A sum above 2 s^2/n.",
)
def several_labels_perturbed(_: Effort) -> Findings:
    """The sum for s = 1 to 64, and the largest change by one point."""
    n, sizes = 50, range(1, 65)
    ratios = [squared_perturbations(n, s) / claimed_squares(n, s) for s in sizes]
    setting = Setting.of(RademacherVectors(1), UniformLabels(64, 4), n)
    risk = RiskSetting.of(LINEAR, setting)
    zero = BoundValue("zero", 0.0)
    spread = paper_literal_excess(setting, risk, zero).value / (2 * risk.loss_range)
    expected = math.sqrt(squared_perturbations(n, 4) / 16 * math.log(2 / risk.delta) / 2)
    yield SUPPORTS.at_most("sum of squares over the claim, largest", max(ratios), 1.0, 1e-12)
    yield CONTROL.equal("at s = 1", ratios[0], 1.0, 1e-12)
    yield CONTROL.equal("at s = 64, near the blocks' half", ratios[-1], 0.5 * (1 + 1 / 64), 1e-12)
    yield CONTROL.equal("spread that follows, s = 4", spread, expected, 1e-12)
    yield CONTROL.equal("largest change by a point of s = 4 labels", _point_change(4), 4 / 2, 1e-12)


def _point_change(s: int) -> float:
    """Return the largest change, over B, of the summed supremum by one of two points."""
    changes = []
    for x, other in sign_patterns(2):
        before, after = (np.full((1, 1), s * (a + other) / 2) for a in (x, -x))
        ball = TraceBall(1.0)
        changes.append(abs(ball.dual_norm(before) - ball.dual_norm(after)))
    return max(changes) / LINEAR.range_length(1.0, 1.0)


@Statement(
    id="B7",
    where="Appendix B.2, line 22 of the formulas",
    says="With s labels per point the deviation of the summed risk is at most s times one label's.",
    kind=Kind.UPPER_BOUND,
    verdict=Verdict.LOOSE,
    refuted_by="A deviation at s = 16 above 16 times that at s = 1.",
    correct="True; but the summed deviation grows like sqrt(s) for independent labels, and for "
    "equal ones like s with a constant that falls from 2 to 1 as s goes from 1 to L (d = L).",
    why="The supremum of a sum is below the sum of the suprema unless one Z attains them all.",
    example="d = L = 1, independent signs: a sum of s means of n signs is of order sqrt(s/n), not "
    "s/sqrt(n).",
    sure=Sure.PROVED,
)
def supremum_of_a_sum(effort: Effort) -> Findings:
    """Deviations of the linear loss at s = 1 and s = 16, labels all equal and independent."""
    cell = {"law": "rademacher", "d": 16, "L": 16, "n": 64, "draws": effort.pick(60, 400)}
    one = slots({**cell, "labels": "signs", "s": 1}, effort.rng)[0]
    same, apart = (
        Estimate(row["value"], row["stderr"], row["draws"])
        for labels in ("all-ones", "signs")
        for row in slots({**cell, "labels": labels, "s": 16}, effort.rng)[:1]
    )
    yield SUPPORTS.mean_at_most("equal labels, s = 16 against s = 1", same, one["value"])
    yield SUPPORTS.mean_at_most("independent labels, s = 16 against s = 1", apart, one["value"])
    yield SLACK.at_least("factor lost, equal labels", one["value"] / same.value, 1.5)
    yield SLACK.at_least("factor lost, independent labels", one["value"] / apart.value, 3.5)


@Statement(
    id="B8",
    where="Appendix B.3.1, line 1 of the formulas",
    says="<Z, V> <= |Z|_tr |V|_F <= radius |V|_2.",
    verdict=Verdict.MISPRINT,
    refuted_by="A middle term below the last.",
    correct="The Frobenius norm in the middle must be the spectral norm; as printed the second "
    "inequality points the wrong way.",
    why="|V|_F is at least |V|_2, so that the second inequality points the wrong way.",
    example="V = I of size 9: |V|_F = 3, |V|_2 = 1.",
    sure=Sure.PROVED,
)
def hoelder(effort: Effort) -> Findings:
    """V = I and random V: the middle term against the last."""
    d = 9
    trace, frobenius = TraceBall(1.0), FrobeniusBall(1.0)
    identity = np.eye(d)
    V, Z = effort.rng.normal(size=(2, d, 5))
    Z /= trace.norm(Z)
    middle = trace.norm(Z) * frobenius.dual_norm(V)
    inner, best = np.sum(Z * V), np.sum(trace.linear_minimiser(-V) * V)
    ratio = frobenius.dual_norm(identity)
    yield REFUTES.equal("printed middle over its bound, V = I", ratio, 3.0, 1e-12)
    yield REFUTES.at_least("printed middle against its bound", middle, 1.1 * trace.dual_norm(V))
    yield MEANT.at_most("<Z, V> against |V|_2, as Appendix B.3.2 has it", inner, trace.dual_norm(V))
    yield REPAIRED.equal("attained", best, trace.dual_norm(V), 1e-11)


@Statement(
    id="B9",
    place="Appendix B.3.1",
    says="E|V|_F^2 <= n, so R_n <= radius/sqrt(n) for both balls.",
    kind=Kind.UPPER_BOUND,
    refuted_by="A second moment other than n E|x|^2, or an average above its root over n.",
)
def second_moment(effort: Effort) -> Findings:
    """All signs, labels and points of a small world, and the measured averages beside them."""
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
    share = float(chances @ norms**2) / (n * second)
    yield SUPPORTS.equal("E|V|_F^2 over n Sigma", share, 1.0, 1e-12)
    yield SUPPORTS.at_most("trace average", exact["trace"], bound)
    yield SUPPORTS.at_most("Frobenius average", exact["frobenius"], bound)
    yield CONTROL.at_least("Frobenius average over the bound", exact["frobenius"] / bound, 0.9)
    yield CONTROL.mean_equal("measured trace average", measured["trace"], exact["trace"])
    yield CONTROL.mean_equal("Frobenius average", measured["frobenius"], exact["frobenius"])


@Statement(
    id="B10",
    where="Appendix B.3.2, line 2 of the formulas",
    says="R_n is at most the average divided by sqrt(Sigma).",
    verdict=Verdict.MISPRINT,
    refuted_by="Raw and normalised averages in a ratio other than sqrt(Sigma).",
    correct="An equality for the normalised features, not a bound: R_n(x) = sqrt(Sigma) "
    "R_n(x/sqrt(Sigma)).",
    why="Dividing x by sqrt(Sigma) is another quantity, not a bound.",
    example="Sigma = 25: R_n of the raw x is five times the right-hand side.",
    sure=Sure.PROVED,
)
def change_of_normalisation(effort: Effort) -> Findings:
    """The same draws of V for raw and normalised Gaussian x."""
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
    yield MEANT.equal("raw over normalised average, same draws", raw / normalised, 5.0, 1e-9)
    yield CONTROL.equal("sqrt(Sigma)", scale, 5.0, 1e-12)
    yield REFUTES.at_least("R_n against the printed bound R_n/sqrt(Sigma)", raw, 4 * raw / scale)
