"""Laws, label models and losses of one's own work as those of the package do."""

import math

import numpy as np
import pytest
from extensions_example import (
    Autoregressive,
    Huber,
    Mystery,
    ProbitSigns,
    ThresholdSigns,
    UniformSphere,
)
from scipy.stats import norm

from leml_solver import (
    LOSSES,
    Absolute,
    AlternatingOptions,
    FrobeniusBall,
    Labels,
    Loss,
    Problem,
    Squared,
    TraceBall,
    fit_factors,
    minimise,
)
from leml_theory.bounds import (
    Bound,
    BoundValue,
    RiskSetting,
    Setting,
    complexity_bounds,
    expectation_bound,
)
from leml_theory.extensions import (
    register_bound,
    register_experiment,
    register_labels,
    register_law,
    register_loss,
    register_measurement,
    register_risk_bound,
)
from leml_theory.measurements import measure
from leml_theory.rademacher import Estimate, rademacher_averages
from leml_theory.risk import exact_risk, minimum_risk, population_risk
from leml_theory.risk.exact import ResidualGaussianRisk
from leml_theory.risk.population import gaussian_loss
from leml_theory.runs.cells import Cell
from leml_theory.sweep.__main__ import _cells, _parser
from leml_theory.sweep.experiments import Experiment
from leml_theory.sweep.experiments.custom import WORLDS
from leml_theory.worlds import LABELS, LAWS, feature_law, label_model
from simulations import (
    AllOnes,
    FeatureLaw,
    IsotropicGaussian,
    LabelModel,
    LinearLabels,
    LogisticLabels,
    RademacherVectors,
    RandomSigns,
    Scenario,
    UniformLabels,
    WeightedLabels,
    zipf,
)

D, L = 5, 4
SEEN = WeightedLabels(zipf(L, 1.0))
TRUTH = np.random.default_rng(0).normal(size=(D, L))
LAWS_OF_OUR_OWN = [UniformSphere(D), Autoregressive(D), Mystery(D)]
EVERY_LAW = pytest.mark.parametrize("law", LAWS_OF_OUR_OWN, ids=lambda law: type(law).__name__)
BALLS = pytest.mark.parametrize("ball", [TraceBall(1.5), FrobeniusBall(50.0)], ids=repr)


def brute_force(scenario, loss, Z, rng, n=60_000):
    """Average the loss over points with one observed label, as a learner would see them."""
    sample = scenario.sample(n, rng)
    predictions = np.sum(sample.X[sample.rows] * Z.T[sample.columns], axis=1)
    return Estimate.of(loss.value(loss.encode(sample.values), predictions))


def agree(first, second):
    """Compare two estimates: six standard errors are a false alarm once in 1e9 comparisons."""
    return abs(first.value - second.value) <= 6 * math.hypot(first.stderr, second.stderr) + 1e-12


@EVERY_LAW
@pytest.mark.parametrize(
    "labels",
    [
        AllOnes(L),
        RandomSigns(L),
        LinearLabels(TRUTH, 0.5),
        LogisticLabels(TRUTH),
        ProbitSigns(L),
        ThresholdSigns(L),
    ],
    ids=lambda labels: type(labels).__name__,
)
@pytest.mark.parametrize("loss", [*LOSSES.values(), Huber(0.7)], ids=lambda loss: loss.name)
def test_every_loss_has_a_risk_in_every_world(law, labels, loss):
    """Exact or by Monte Carlo, the risk agrees with samples; nothing is refused but real labels."""
    scenario, rng = Scenario(law, labels, SEEN), np.random.default_rng(1)
    Z = rng.normal(size=(D, L))
    if loss.binary and not labels.binary:
        with pytest.raises(ValueError, match="needs labels of two values, got LinearLabels"):
            population_risk(scenario, loss, Z, rng=rng)
        return
    found = population_risk(scenario, loss, Z, draws=60_000, rng=rng)
    assert agree(found, brute_force(scenario, loss, Z, rng))


def test_what_is_known_is_not_sampled():
    """The sphere knows its second moments, the autoregressive Gaussian everything."""
    linear, logistic = LinearLabels(TRUTH), LogisticLabels(TRUTH)
    methods = {
        (UniformSphere(D), linear, "squared"): "closed form",
        (Autoregressive(D), linear, "squared"): "closed form",
        (Autoregressive(D), logistic, "logistic"): "quadrature",
        (Autoregressive(D), ThresholdSigns(L), "logistic"): "quadrature",
        (Autoregressive(D), linear, "absolute"): "quadrature",
        (UniformSphere(D), logistic, "logistic"): "Monte Carlo, 100 draws",
        (Mystery(D), linear, "squared"): "Monte Carlo, 100 draws",
        (RademacherVectors(D), ThresholdSigns(L), "hinge"): "enumeration",
    }
    for (law, labels, name), method in methods.items():
        found = population_risk(
            Scenario(law, labels, SEEN),
            LOSSES[name],
            np.zeros((D, L)),
            draws=100,
            rng=np.random.default_rng(2),
        )
        assert found.method == method


@BALLS
@pytest.mark.parametrize(
    ("labels", "name"),
    [
        (LinearLabels(TRUTH, 0.5), "squared"),
        (LogisticLabels(TRUTH), "logistic"),
        (ThresholdSigns(L), "logistic"),
        (LinearLabels(TRUTH, 0.5), "absolute"),
    ],
    ids=["squared", "logistic", "thresholds", "absolute"],
)
def test_minimum_over_a_ball_with_autoregressive_features(labels, name, ball):
    scenario, rng = Scenario(Autoregressive(D), labels, SEEN), np.random.default_rng(3)
    bracket = minimum_risk(scenario, LOSSES[name], ball, tol=1e-5)
    scale = population_risk(scenario, LOSSES[name], np.zeros((D, L))).value
    # The width that was asked for, and the accuracy of the quadrature.
    assert -1e-9 <= bracket.width <= 2e-5 * scale
    assert ball.norm(bracket.Z) <= ball.radius * (1 + 1e-9)
    for _ in range(20):
        other = ball.project(bracket.Z + 0.3 * rng.normal(size=(D, L)))
        assert population_risk(scenario, LOSSES[name], other).value >= bracket.lower - 1e-8


class Silent(FeatureLaw):
    """A Gaussian that does not know what it is."""

    n_features = D

    def sample(self, n, rng):
        return IsotropicGaussian(D).sample(n, rng)


@BALLS
@pytest.mark.parametrize("name", ["squared", "logistic"])
def test_sampled_brackets_hold_the_exact_minimum(name, ball):
    labels = LinearLabels(TRUTH) if name == "squared" else LogisticLabels(TRUTH)
    exact = minimum_risk(Scenario(IsotropicGaussian(D), labels, SEEN), LOSSES[name], ball)
    rng = np.random.default_rng(4)
    found = minimum_risk(Scenario(Silent(), labels, SEEN), LOSSES[name], ball, rng=rng)
    assert found.stderr > 0
    assert found.method == "10 samples of 10000 points"
    # Six standard errors; the samples' minima are too low by about d L/(2 n) = 0.001 of the noise.
    assert found.lower <= exact.upper + 6 * found.stderr
    assert found.upper >= exact.lower - 6 * found.stderr
    assert abs(found.width) <= 6 * found.stderr + 0.01
    assert ball.norm(found.Z) <= ball.radius * (1 + 1e-9)


def test_without_a_generator_an_unknown_minimum_is_refused():
    scenario = Scenario(Mystery(D), LinearLabels(TRUTH), SEEN)
    with pytest.raises(ValueError, match="or give `rng` for a bracket with standard errors"):
        minimum_risk(scenario, LOSSES["squared"], TraceBall(1.0))


@EVERY_LAW
def test_rademacher_averages_are_below_the_valid_bounds(law):
    averages = rademacher_averages(law, SEEN, 50, draws=400, rng=np.random.default_rng(5))
    setting = Setting.of(law, SEEN, 50)
    valid = {name: bound for name, bound in complexity_bounds(setting).items() if bound.valid}
    expected = {
        "UniformSphere": {"theorem_3", "matrix_bernstein", "sub_gaussian_net"},
        "Autoregressive": {"theorem_3", "chevet", "sub_gaussian_net"},
        "Mystery": set(),
    }
    assert set(valid) - {"paper_route"} == expected[type(law).__name__]
    for bound in valid.values():
        assert averages["trace"].value - 5 * averages["trace"].stderr <= bound.value


def test_signed_sums_of_a_law_of_our_own_have_its_second_moments():
    law, rng = Autoregressive(3), np.random.default_rng(6)
    V = law.signed_sums(np.full(20_000, 7), rng)
    # A second moment of a Gaussian over 20,000 draws: relative standard error sqrt(2/20,000) = 1%.
    np.testing.assert_allclose(V @ V.T / 20_000, 7 * law.second_moments, atol=5 * 0.01 * 7 / 3)


# The Huber loss ----------------------------------------------------------------------------------


def huber_problem(seed=7, n=200):
    scenario = Scenario(Autoregressive(D), LinearLabels(TRUTH, 2.0), UniformLabels(L, 2))
    return scenario, scenario.sample(n, np.random.default_rng(seed)).problem(Huber(0.7))


@BALLS
def test_huber_is_solved_and_certified_by_both_engines(ball):
    _, problem = huber_problem()
    ours = minimise(problem, ball, tol=1e-8)
    oracle = minimise(problem, ball, engine="cvxpy")
    assert ours.certificate.relative_gap <= 1e-8
    # Both are within their gaps of one minimum.
    gaps = ours.certificate.gap + oracle.certificate.gap
    assert abs(ours.certificate.objective - oracle.certificate.objective) <= gaps
    assert oracle.certificate.relative_gap <= 1e-4


def test_huber_is_fitted_with_factors():
    _, problem = huber_problem()
    labels = Labels.observed(problem.rows, problem.columns, problem.values, (200, L))
    options = AlternatingOptions(tol=1e-7, max_iter=2000)
    fit = fit_factors(problem.X, labels, rank=L, penalty=0.5, loss=Huber(0.7), options=options)
    # The trace ball whose radius is the fit's own norm has the same minimiser.
    Z = fit.W @ fit.H.T
    best = minimise(problem, TraceBall(TraceBall(1.0).norm(Z)), tol=1e-8)
    assert problem.objective(Z) == pytest.approx(best.certificate.objective, rel=1e-4)
    assert fit.certificate.lower_bound <= fit.certificate.objective


def test_a_minimum_without_a_step_is_bracketed_widely_and_at_once():
    """A kink, no noise and no Lipschitz constant leave no step, but the Frank-Wolfe gap holds."""

    class Unbounded(Absolute):
        def lipschitz(self, prediction_bound, label_bound):
            return math.inf

    scenario, ball = Scenario(Autoregressive(D), LinearLabels(TRUTH), SEEN), TraceBall(0.5)
    wide = minimum_risk(scenario, Unbounded(), ball)
    narrow = minimum_risk(scenario, LOSSES["absolute"], ball, tol=1e-6)
    assert wide.lower <= narrow.upper
    assert narrow.lower <= wide.upper
    assert wide.width > narrow.width


@BALLS
def test_huber_has_an_excess_risk(ball):
    scenario, problem = huber_problem()
    Z = minimise(problem, ball, tol=1e-8).Z
    risk = population_risk(scenario, problem.loss, Z)
    assert risk.method == "quadrature"
    assert agree(risk, brute_force(scenario, problem.loss, Z, np.random.default_rng(8)))
    least = minimum_risk(scenario, problem.loss, ball, tol=1e-6)
    assert least.width <= 1e-6
    assert risk.value > least.upper


def test_huber_has_its_bounds():
    scenario = Scenario(UniformSphere(D), LinearLabels(TRUTH), SEEN)
    setting = Setting.of(scenario.features, SEEN, 100, radius=2.0)
    risk = RiskSetting.of(Huber(0.7), setting, label_bound=math.inf)
    assert (risk.lipschitz, risk.loss_range) == (0.7, math.inf)
    average = complexity_bounds(setting)["sub_gaussian_net"]
    bound = expectation_bound(setting, risk, average)
    assert bound.valid
    assert bound.value == pytest.approx(2 * 0.7 * average.value)


def test_gaussian_residuals_are_integrated_along_two_routes():
    """The squared loss by quadrature and in closed form; gradients against differences."""
    scenario, rng = (
        Scenario(Autoregressive(D), LinearLabels(TRUTH, 0.5), SEEN),
        np.random.default_rng(9),
    )
    squared = exact_risk(scenario, Squared())
    Z = rng.normal(size=(D, L))
    truth = np.broadcast_to(TRUTH, Z.shape)
    parts = (squared.M, squared.S, squared.probabilities, squared.labels, truth)
    # The rule is accurate to a relative 1e-9 even with kinks, of which there are none.
    assert ResidualGaussianRisk(Squared(), *parts).value(Z) == pytest.approx(
        squared.value(Z), rel=1e-12
    )
    step = 1e-5 * rng.normal(size=Z.shape)
    for loss in (Huber(0.7), LOSSES["absolute"]):
        risk = ResidualGaussianRisk(loss, *parts)
        slope = risk.value(Z + step) - risk.value(Z - step)
        # Third derivatives times steps cubed, and the rounding of two values.
        assert slope == pytest.approx(2 * np.sum(risk.gradient(Z) * step), abs=1e-12)


def test_gaussian_expectations_of_losses_with_kinks():
    """Closed forms of E loss(tau g) for the Huber and the absolute loss."""
    scales = np.geomspace(0.05, 50, 300)
    ends = 0.7 / scales
    inner = np.square(scales) * (norm.cdf(ends) - 0.5 - ends * norm.pdf(ends))
    outer = 0.7 * (2 * scales * norm.pdf(ends) - 0.7 * norm.sf(ends))
    # A kink inside a panel costs at most 2e-9; one at zero, where panels end, rounding.
    np.testing.assert_allclose(gaussian_loss(Huber(0.7), scales), inner + outer, rtol=2e-9)
    means = scales * math.sqrt(2 / math.pi)
    np.testing.assert_allclose(gaussian_loss(LOSSES["absolute"], scales), means, rtol=1e-13)


def test_a_loss_too_rough_for_the_quadrature_is_sampled():
    class Bumpy(Huber):
        def value(self, y, f):
            return super().value(y, f) * (1 + (np.floor(1e4 * np.abs(y - f)) % 2))

    scenario = Scenario(Autoregressive(D), LinearLabels(TRUTH), SEEN)
    found = population_risk(scenario, Bumpy(), TRUTH, draws=50, rng=np.random.default_rng(10))
    assert found.method == "Monte Carlo, 50 draws"


def test_a_namesake_is_not_taken_for_the_loss_of_the_package():
    class Namesake(Squared):
        value, derivative = Huber(1.0).value, Huber(1.0).derivative

    scenario = Scenario(Autoregressive(D), LinearLabels(TRUTH), SEEN)
    found = population_risk(scenario, Namesake(), np.zeros((D, L)))
    assert found == population_risk(scenario, Huber(1.0), np.zeros((D, L)))


def test_without_an_expression_cvxpy_is_refused_by_name():
    class Bare(Huber):
        cvxpy_expression = Loss.cvxpy_expression

    _, problem = huber_problem()
    bare = Problem(Bare(), problem.X, problem.labels, problem.labels_per_point)
    with pytest.raises(NotImplementedError, match="huber loss has no `cvxpy_expression`"):
        minimise(bare, TraceBall(1.0), engine="cvxpy")


# Names -------------------------------------------------------------------------------------------


@pytest.fixture
def names():
    """Take back what a test registers."""
    tables = (LAWS, LABELS, LOSSES, WORLDS)
    before = [dict(table) for table in tables]
    yield
    for table, entries in zip(tables, before, strict=True):
        table.clear()
        table.update(entries)


def rank_one_labels(d, n_labels, rng):
    return LinearLabels(np.outer(rng.normal(size=d), np.ones(n_labels)), 2.0)


@pytest.mark.usefixtures("names")
def test_registered_names_are_measured_in_cells():
    register_law("autoregressive", Autoregressive)
    register_loss(Huber(0.7))
    register_labels("noisy", rank_one_labels, loss="huber")
    assert feature_law("autoregressive", 3) == Autoregressive(3)
    assert isinstance(label_model("noisy", 3, 2, np.random.default_rng(11)), LinearLabels)
    options = _parser().parse_args(["--law", "autoregressive", "--world", "noisy"])
    assert (options.law, options.world) == (["autoregressive"], ["noisy"])
    parameters = {
        "law": "autoregressive",
        "labels": "noisy",
        "loss": "huber",
        "skew": "uniform",
        "radius": 1.0,
        "n": 80,
        "d": 3,
        "L": 2,
        "s": 1,
        "draws": 3,
    }
    rows = measure(Cell("erm", parameters, 0))
    excess = [row["value"] for row in rows if row["quantity"] == "excess risk"]
    assert len(excess) == 2
    assert min(excess) > 0


class Hidden(ProbitSigns):
    """A label model without coefficients and moments."""


@pytest.mark.usefixtures("names")
def test_worlds_without_closed_forms_are_measured_too():
    register_law("mystery", Mystery)
    register_labels("probit", lambda d, n_labels, rng: Hidden(n_labels), loss="logistic")
    parameters = {"law": "mystery", "labels": "probit", "loss": "logistic", "skew": "uniform"}
    parameters |= {"radius": 1.0, "n": 50, "d": 2, "L": 2, "s": 1, "draws": 2}
    rows = measure(Cell("erm", parameters, 0))
    assert {row["ball"] for row in rows} == {"trace", "frobenius"}
    assert all(math.isfinite(row["value"]) for row in rows)


@pytest.mark.usefixtures("names")
def test_a_name_stands_for_one_thing():
    register_law("sphere", UniformSphere)
    register_law("sphere", UniformSphere)
    with pytest.raises(ValueError, match="got 'sphere', which is a law already"):
        register_law("sphere", Autoregressive)
    with pytest.raises(ValueError, match="got 'rank-1', which is a label model already"):
        register_labels("rank-1", rank_one_labels)
    with pytest.raises(ValueError, match="got 'planted', which is a world already"):
        register_labels("planted", rank_one_labels)
    assert "planted" not in LABELS
    with pytest.raises(ValueError, match="a word without spaces and commas, got 'a,b'"):
        register_law("a,b", UniformSphere)
    with pytest.raises(ValueError, match="`loss` must be one of"):
        register_labels("noisy", rank_one_labels, loss="hubert")

    class Namesake(Huber):
        name = "squared"

    with pytest.raises(ValueError, match="got 'squared', which is a loss already"):
        register_loss(Namesake())


def test_classes_that_only_look_alike_are_refused_by_name():
    class Lookalike:
        n_features, n_labels = 3, 2

    with pytest.raises(TypeError, match=r"derive its class from simulations.FeatureLaw"):
        Scenario(Lookalike(), AllOnes(2), UniformLabels(2))
    with pytest.raises(TypeError, match=r"derive its class from simulations.LabelModel"):
        Scenario(UniformSphere(3), Lookalike(), UniformLabels(2))
    assert issubclass(ProbitSigns, LabelModel)


def test_a_loss_that_borrows_a_built_in_name_is_solved_as_what_it_is():
    """The solvers once asked for the name, and minimised the squared loss in place of this one."""

    class Namesake(Huber):
        name = "squared"

    rng = np.random.default_rng(5)
    X, Y = rng.normal(size=(30, D)), 3 * rng.normal(size=(30, L))
    own, huber = (minimise(Problem(loss(), X, Y), TraceBall(4.0)).Z for loss in (Namesake, Huber))
    np.testing.assert_array_equal(own, huber)
    options = AlternatingOptions(max_iter=3)
    first, second = (
        fit_factors(X, Y, rank=2, penalty=1.0, loss=loss(), options=options).W
        for loss in (Namesake, Huber)
    )
    np.testing.assert_array_equal(first, second)


def test_a_loss_with_negative_values_is_certified_by_its_own_least_value():
    """Zero was taken for a lower bound of every loss."""

    class Shifted(Squared):
        name = "shifted"
        binary = False

        def value(self, y, f):
            return f * f / 2 - y * f

        def derivative(self, y, f):
            return f - y

        def conjugate(self, y, u):
            return np.square(u + y) / 2

    rng = np.random.default_rng(6)
    X, Y = rng.normal(size=(40, D)), rng.normal(size=(40, L))
    shift = np.square(Y).sum() / 2
    options = AlternatingOptions(max_iter=200, tol=1e-12)
    own, squared = (
        fit_factors(X, Y, rank=4, penalty=1.0, loss=loss, options=options).certificate
        for loss in (Shifted(), Squared())
    )
    # The two objectives differ by a constant, so their minima and valid bounds do.
    assert own.lower_bound <= squared.objective - shift
    assert own.objective >= own.lower_bound
    found = minimise(Problem(Shifted(), X, Y), TraceBall(1.0))
    best = minimise(Problem(Squared(), X, Y), TraceBall(1.0))
    room = best.certificate.gap + found.certificate.gap + 1e-9 * shift  # gaps and rounding
    assert abs(found.certificate.objective + shift - best.certificate.objective) <= room
    assert found.certificate.gap <= 1e-4 * shift


METHODS = ("name", "value", "derivative", "second_derivative", "conjugate")
BARE = type("Bare", (Loss,), {name: vars(Huber)[name] for name in METHODS})()


@pytest.mark.parametrize(
    ("register", "given", "message"),
    [
        (register_law, ("mine", UniformSphere(3)), r"`factory` must be callable with \(d\): "),
        (
            register_labels,
            ("mine", RandomSigns),
            r"`factory` must be callable with \(d, L, rng\): ",
        ),
        (register_loss, (Huber,), "`loss` must be an instance of a subclass of Loss"),
        (register_loss, (BARE,), "`loss` must be .* with a `curvature`"),
        (register_bound, (lambda setting: setting,), "`bound` must be of type Bound"),
        (register_bound, (Bound("mine", "mine", lambda setting: setting.nn),), "`bound` .* 'nn'"),
        (register_bound, (Bound("mine", "mine", lambda a, b: a),), "`bound` .* argument: 'b'"),
        (register_risk_bound, (Bound("mine", "mine", lambda a: a),), "`bound` .* 1 positional"),
        (register_measurement, ("mine", len), r"`run` must be callable with \(parameters, rng\): "),
        (register_experiment, (3,), "`experiment` must be of type Experiment"),
        (
            register_experiment,
            (Experiment("MINE", "mine", lambda: []),),
            r"The plan of `experiment` must be callable with \(preset\): ",
        ),
    ],
)
def test_what_cannot_work_is_refused_when_it_is_registered(register, given, message):
    with pytest.raises(TypeError, match=f"^{message}"):
        register(*given)


@pytest.mark.parametrize("plan", [[], [3], 3])
def test_a_plan_without_cells_is_refused(plan):
    with pytest.raises(TypeError, match="The plan of MINE must return a list of Planned, got "):
        _cells({"MINE": plan}, 0)


def test_a_bound_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match="`value` must be a number, infinity for no bound"):
        BoundValue("mine", math.nan)


def test_a_look_is_a_look():
    with pytest.raises(
        TypeError, match=r"`look` must be BoundLook\(line, colour\), got \('-', 'red'\)"
    ):
        Bound("mine", "mine", lambda setting: BoundValue("mine", 1.0), ("-", "red"))


@pytest.mark.usefixtures("own_names")
def test_a_factory_that_makes_no_law_is_named():
    register_law("number", lambda d: d)
    with pytest.raises(ValueError, match="law 'number' must return a FeatureLaw, got 3"):
        feature_law("number", 3)
