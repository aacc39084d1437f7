"""A diagnosis knows the answer where there is one, and says what it cannot know."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from leml_solver.baselines import BinaryRelevanceClassifier
from leml_solver.readers import read
from leml_theory.bounds import complexity_bounds
from leml_theory.diagnose import diagnose, gap_bound
from leml_theory.diagnose import points as points_module
from leml_theory.diagnose.__main__ import main
from leml_theory.diagnose.comparison import ModelFacts
from leml_theory.diagnose.features import feature_facts
from leml_theory.diagnose.labels import KnownLabels
from leml_theory.diagnose.models import FrobeniusLearner, TraceLearner, row_losses
from leml_theory.diagnose.page import page
from leml_theory.diagnose.points import Points
from leml_theory.diagnose.wording import clear, details, findings
from leml_theory.plots.diagnosis import diagnosis_figure
from leml_theory.rademacher import (
    Estimate,
    Observed,
    conditional_rademacher_averages,
    rademacher_averages,
)
from simulations.features import IsotropicGaussian
from simulations.observation import UniformLabels

# Two sides of about this many standard errors differ by chance once in 10^4 comparisons.
Z = 4.0


def rng(seed=0):
    return np.random.default_rng(seed)


def labels(n, L, seed=1, rate=0.3):
    return (rng(seed).random((n, L)) < rate).astype(float)


def low_rank_data(n=600, d=20, L=12, seed=2):
    """Return centred Gaussian features and labels that hang together through one direction."""
    random = rng(seed)
    X = random.standard_normal((n, d)) / math.sqrt(d)
    scores = X @ np.outer(random.standard_normal(d), random.choice([-1.0, 1.0], L))
    return X, (scores + 0.5 * random.standard_normal((n, L)) > 0).astype(float)


def saved(folder, X, Y, name="data.npz", **more):
    path = folder / name
    np.savez(path, X=X, Y=Y, **more)
    return path


# What the features promise


def test_isotropic_gaussian_features_have_the_advantage_that_theory_knows():
    n, d, L = 20000, 16, 25
    X = rng().standard_normal((n, d)) / math.sqrt(d)
    found = diagnose(X, labels(n, L), rng=rng(3), draws=60)
    # the top eigenvalue of n Gaussian rows is within (1 + 2 sqrt(d/n))^2 of 1/d but for 1e-6
    assert 1 <= found.raw.top_share * d <= (1 + 2 * math.sqrt(d / n)) ** 2
    assert found.raw.moments.centred
    world = rademacher_averages(IsotropicGaussian(d), UniformLabels(L), n, draws=400, rng=rng(4))
    for ball, expected in world.items():
        ours = found.raw.averages[ball]
        # given the data the average is off by the sample's Sigma, by 1/sqrt(n d/2) of itself
        slack = Z * (
            math.hypot(ours.stderr, expected.stderr) + expected.value / math.sqrt(n * d / 2)
        )
        assert ours.value == pytest.approx(expected.value, abs=slack), ball
    exact = math.sqrt(L / (2 * found.raw.top_share * d))  # P = 1/L
    assert found.raw.theorem_4_advantage == pytest.approx(exact)
    moments = found.raw.moments
    spread = d * (np.square(X).sum(axis=1).max() + moments.top_eigenvalue)  # |x|^2 as the proxy
    points = math.log(L**2 * moments.second_moment / spread) * L**2 / 2  # p = P = 1/L
    assert found.raw.points_needed == pytest.approx(points)
    assert 1 < found.raw.gaussian_advantage < found.raw.advantage.value
    assert found.raw.advantage.value > 2


@pytest.mark.parametrize("as_matrix", [np.asarray, sparse.csr_matrix])
def test_features_on_one_line_gain_nothing(as_matrix):
    X = np.outer(rng().standard_normal(200), rng(1).standard_normal(7))
    found = diagnose(as_matrix(X), labels(200, 9), rng=rng())
    for facts in (found.raw, found.centred):
        # V has rank one: its two norms are equal up to rounding of squares
        assert facts.advantage.value == pytest.approx(1, abs=1e-7)
        assert facts.advantage.stderr < 1e-7  # both norms are the same in every draw
        assert facts.top_share == pytest.approx(1, abs=1e-9)
        assert facts.ceiling == pytest.approx(1, abs=1e-9)
    assert "gains nearly nothing" in " ".join(found.sentences())


@pytest.mark.parametrize("as_matrix", [np.asarray, sparse.csr_array])
def test_constant_features_gain_nothing_and_nothing_is_left_after_centring(as_matrix):
    found = diagnose(as_matrix(np.tile([0.1, 3.0, 0.7], (50, 1))), labels(50, 4), rng=rng())
    assert found.centred is None
    assert found.raw.mean_share == pytest.approx(1)
    assert found.raw.advantage.value == pytest.approx(1, abs=1e-7)
    assert found.record()["centred"] is None
    assert "All points are equal" in " ".join(found.sentences())
    assert "as they are" in page(found)


def test_a_large_constant_among_sparse_features_is_gone_after_centring():
    X = np.where(rng().random((200, 30)) < 0.3, rng(1).random((200, 30)) / 5, 0)
    expected = diagnose(X, labels(200, 8), rng=rng(2)).centred
    X = sparse.csr_matrix(np.column_stack([X, np.full(200, 1.7e9)]))
    centred = diagnose(X, labels(200, 8), rng=rng(2)).centred
    assert centred is not None
    assert centred.top_share == pytest.approx(expected.top_share)
    assert centred.advantage.value == pytest.approx(expected.advantage.value)


def test_nonnegative_features_lose_the_advantage_and_centring_restores_it():
    n, d = 3000, 64
    X = np.abs(rng().standard_normal((n, d))) / math.sqrt(d)
    found = diagnose(X, labels(n, 64), rng=rng(1))
    raw, centred = found.raw, found.centred
    assert raw.nonnegative
    assert not raw.moments.centred
    # the mean of |g| is sqrt(2/pi): its square is the share of the mean, and all but sigma_1
    assert raw.mean_share == pytest.approx(2 / math.pi, abs=0.02)
    assert raw.top_share == pytest.approx(2 / math.pi + (1 - 2 / math.pi) / d, abs=0.02)
    assert raw.advantage.value < 1.3
    assert centred.moments.centred
    assert centred.advantage.value > 3
    # |g| - E|g| is isotropic: 1/(sqrt(1/d) + sqrt(1/L)) = 4 up to edge corrections
    assert centred.advantage.value == pytest.approx(4, rel=0.1)


def test_moments_hold_the_scales_of_the_definitions():
    X = rng().standard_normal((40, 3)) + 1
    facts = diagnose(X, labels(40, 5), rng=rng()).raw
    second = np.mean(np.square(X).sum(axis=1))
    assert facts.moments.second_moment == pytest.approx(second)
    assert facts.moments.top_eigenvalue == pytest.approx(np.linalg.eigvalsh(X.T @ X / 40)[-1])
    assert facts.moments.radius == pytest.approx(np.linalg.norm(X, axis=1).max())
    assert facts.moments.proxy == pytest.approx(facts.moments.radius**2)
    assert facts.bounds["theorem_3"].value == pytest.approx(math.sqrt(second / 40))
    ours = facts.averages["frobenius"]
    assert ours.value - Z * ours.stderr <= facts.bounds["theorem_3"].value


@pytest.mark.parametrize("side", [1, 1024])
def test_sparse_features_are_centred_implicitly(side, monkeypatch):
    monkeypatch.setattr(points_module, "_DENSE_SIDE", side)  # 1: Lanczos, 1024: decompositions
    X = np.where(rng().random((60, 30)) < 0.3, rng(1).random((60, 30)), 0)
    dense, hidden = Points.of(X).centred(), Points.of(sparse.csr_matrix(X)).centred()
    assert dense.shift is None
    assert hidden.shift is not None
    S = KnownLabels.of(labels(60, 8)).sign_matrix(rng(2))
    V = S @ (X - X.mean(axis=0))
    expected = np.linalg.norm(V, 2), np.linalg.norm(V)
    for points in (dense, hidden):
        assert points.signed_norms(S, rng()) == pytest.approx(expected)
        assert points.second_moment() == pytest.approx(np.trace(np.cov(X.T, bias=True)))
        top = np.linalg.eigvalsh(np.cov(X.T, bias=True))[-1]
        assert points.top_eigenvalue(rng()) == pytest.approx(top)
        radius = np.linalg.norm(X - X.mean(axis=0), axis=1).max()
        assert points.squares().max() == pytest.approx(radius**2)


def test_the_law_of_the_signs_is_that_of_the_conditional_averages():
    X, Y = rng().standard_normal((80, 6)), labels(80, 10)
    Y[rng(1).random(Y.shape) < 0.6] = np.nan
    known = KnownLabels.of(Y)
    ours, _ = feature_facts(Points.of(X), known, draws=400, rng=rng(2))
    rows, columns = np.nonzero(np.isfinite(Y))
    data = Observed(X, rows, columns, np.ones(rows.size), 10, rows.size / 80)
    theirs = conditional_rademacher_averages(data, draws=400, rng=rng(3))
    for ball, expected in theirs.items():
        slack = Z * math.hypot(expected.stderr, ours.averages[ball].stderr)
        assert ours.averages[ball].value == pytest.approx(expected.value, abs=slack)


@pytest.mark.parametrize("seed", range(5))
def test_averages_lie_below_every_valid_bound_and_the_ceiling(seed):
    random = rng(seed)
    X = random.gamma(0.5, size=(300, 12)) * random.gamma(0.5, size=12)
    found = diagnose(X, labels(300, 9), rng=random, draws=60)
    for facts in (found.raw, found.centred):
        average = facts.averages["trace"]
        valid = [bound for bound in facts.bounds.values() if bound.valid]
        assert {"theorem_3", "matrix_bernstein", "sub_gaussian_net"} <= {b.name for b in valid}
        for bound in valid:
            assert average.value - Z * average.stderr <= bound.value, bound.name
        assert facts.promised_advantage >= 1
        # means of norms are below root mean squares by their own spread, a few per cent here
        assert 1 <= facts.advantage.value <= 1.1 * facts.ceiling


# Which labels are observed


def test_full_labels_are_seen_uniformly():
    found = diagnose(rng().standard_normal((30, 4)), labels(30, 8), rng=rng())
    assert found.labels.fixed
    assert found.labels.labels_per_point == 8
    assert found.labels.probability_range == (1 / 8, 1 / 8)
    assert found.labels.cardinality == pytest.approx(labels(30, 8).sum(axis=1).mean())
    assert found.labels.largest_frequency == pytest.approx(labels(30, 8).mean(axis=0).max())


def test_hidden_labels_leave_the_same_number_at_every_point():
    known = KnownLabels.of(labels(50, 10)).with_hidden(0.3, rng())
    np.testing.assert_array_equal(known.counts, 3)
    assert known.facts.fixed
    full = labels(50, 10)
    shown = known.mask.toarray()
    np.testing.assert_array_equal(known.Y.toarray(), np.where(shown, full, 0))


def test_hiding_more_of_missing_labels_keeps_some_of_those_that_are_known():
    Y = labels(40, 10)
    Y[rng(1).random(Y.shape) < 0.5] = np.nan
    before = KnownLabels.of(Y)
    after = before.with_hidden(0.5, rng(2))
    np.testing.assert_array_equal(
        after.counts, np.maximum(1, np.rint(0.5 * before.counts)) * (before.counts > 0)
    )
    assert not (after.mask.toarray() & ~before.mask.toarray()).any()


def test_labels_never_observed_are_left_out_and_uneven_numbers_are_said():
    X, Y = rng().standard_normal((60, 4)), labels(60, 6)
    Y[:, 2] = np.nan
    Y[0, 0] = np.nan
    found = diagnose(X, Y, rng=rng(), test=(X, labels(60, 6, seed=5)))
    assert (found.unobserved, found.n_labels) == (1, 5)
    assert not found.labels.fixed
    assert found.gap_bounds["trace"].valid  # given the numbers of labels
    text = " ".join(found.sentences())
    condition = "if the number of labels seen is independent of x and of which labels they are"
    assert f"Bounds on the trace average that apply {condition} (because that number varies" in text
    assert f"for points no longer than the longest here, {condition}:" in text
    assert "without any observed entry: 1." in text
    assert "different numbers of labels" in text


def test_bounds_count_points_by_their_labels():
    """Half of the points show 4 of 40 labels, drawn uniformly, and half show all."""
    X, Y = rng().standard_normal((400, 30)), labels(400, 40)
    hidden = rng(1).permuted(np.tile(np.arange(40), (200, 1)), axis=1)[:, :36]
    Y[np.arange(0, 400, 2)[:, None], hidden] = np.nan
    facts = diagnose(X, Y, rng=rng(), draws=60).raw
    spread = (0.5 * 4**2 + 0.5 * 40**2) / 22**2
    squares = np.square(X).sum(axis=1)
    assert facts.moments.second_moment == pytest.approx(squares.mean())
    counted = np.dot(np.where(np.arange(400) % 2, 40, 4) ** 2, squares) / 400 / 22**2
    theorem_3 = facts.bounds["theorem_3"]
    assert theorem_3.value == pytest.approx(math.sqrt(counted / 400))
    frobenius = facts.averages["frobenius"]
    # what Theorem 3 says of one number of labels is too little, by sqrt(1.67)
    assert frobenius.value - Z * frobenius.stderr > 1.2 * theorem_3.value / math.sqrt(spread)
    average = facts.averages["trace"]
    for bound in facts.bounds.values():
        assert not bound.valid or average.value - Z * average.stderr <= bound.value, bound.name
    assert theorem_3.valid
    assert frobenius.value - Z * frobenius.stderr <= theorem_3.value


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_theorem_3_holds_given_the_data_though_longer_points_show_more_labels(form):
    X, Y = rng().standard_normal((300, 6)), labels(300, 8)
    X[::3] *= 10
    Y[np.arange(300) % 3 > 0, 2:] = np.nan
    X = sparse.csr_array(np.where(rng(1).random(X.shape) < 0.5, X, 0.0))
    found = diagnose(form(X.toarray()), Y, rng=rng(), draws=60)
    for facts in (found.raw, found.centred):
        for ball in ("trace", "frobenius"):
            average = facts.averages[ball]
            for name in ("theorem_3", "matrix_bernstein"):
                bound = facts.bounds[name]
                assert average.value - Z * average.stderr <= bound.value, (ball, name)
        # what independence would give is too little
        spread, moments = facts.setting.label_numbers.spread, facts.moments
        blind = math.sqrt(spread * moments.second_moment / 300)
        average = facts.averages["frobenius"]
        assert average.value - Z * average.stderr > blind


@pytest.mark.parametrize("large", [30.0, 0.01])
def test_the_largest_label_is_that_of_the_signed_sum_where_lengths_go_with_labels(large):
    n, L = 2000, 64
    X, Y = rng().standard_normal((n, L)), np.full((n, L), np.nan)
    shown = np.where(np.arange(n) < n // 2, 0, np.arange(n) % L)  # half of the points show label 0
    Y[np.arange(n), shown] = 1
    X[shown == 0] *= large
    found = diagnose(X, Y, rng=rng(1), draws=20)
    assert found.labels.fixed
    for facts in (found.raw, found.centred):
        average = facts.averages["trace"]
        for bound in facts.bounds.values():
            assert not bound.valid or average.value - Z * average.stderr <= bound.value, bound.name
        # means of norms are below root mean squares by their own spread, a few per cent here
        assert 1 <= facts.advantage.value <= 1.1 * facts.ceiling
    squares = np.square(X).sum(axis=1)
    expected = np.bincount(shown, squares).max() / squares.sum()
    assert found.raw.label_share == pytest.approx(expected)


# What is measured


def test_rows_without_a_label_do_not_count_in_what_is_measured():
    X, Y = low_rank_data(200)
    Y[:20], Y[150:170] = np.nan, np.nan
    Y[170:, 1] = np.nan
    found = diagnose(X[:150], Y[:150], rng=rng(), test=(X[150:], Y[150:])).measured
    assert found.risk_difference.draws == found.top_1_difference.draws == 30
    assert found.zero_risk == pytest.approx(0.5 * np.nanmean(Y[170:]))  # squares of 0 and 1
    # one direction decides all labels but for noise, so nine of ten first labels hold
    assert found.trace.top_1 > 0.8


def test_penalties_are_chosen_without_a_look_at_the_test_rows():
    X, Y = low_rank_data(160)
    one, other = (
        diagnose(X[:100], Y[:100], rng=rng(), test=(X[100:], held_out))
        for held_out in (Y[100:], 1 - Y[100:])
    )
    for a, b in ((one.measured, other.measured), (one.measured_centred, other.measured_centred)):
        assert (a.trace.penalty, a.frobenius.penalty) == (b.trace.penalty, b.frobenius.penalty)
        assert a.trace.test_risk < b.trace.test_risk


def test_a_penalty_at_the_end_of_those_tried_is_said():
    X, Y = low_rank_data(40)
    found = diagnose(X, 0 * Y, rng=rng(), test=(X, 0 * Y))  # any penalty gives Z = 0
    assert found.measured.trace.at_end
    assert "read with care" in " ".join(found.sentences())


def test_a_difference_is_clear_from_two_standard_errors_on():
    assert clear(Estimate(-1.0, 0.49, 9))
    assert not clear(Estimate(-1.0, 0.51, 9))


def test_too_few_rows_with_a_label_are_refused():
    X, Y = low_rank_data(40)
    none = np.full_like(Y, np.nan)
    few = np.vstack([Y[:3], none[3:]])
    for train, test in ((few, Y), (Y, none)):
        with pytest.raises(ValueError, match="rows with a label"):
            diagnose(X, train, rng=rng(), test=(X, test))


def test_the_trace_norm_is_better_where_labels_share_one_direction():
    X, Y = low_rank_data(2600)
    train, test = slice(0, 600), slice(600, None)
    found = diagnose(X[train], Y[train], rng=rng(), test=(X[test], Y[test]), observed=0.25)
    for compared in (found.measured, found.measured_centred):
        assert compared.risk_difference.value > Z * compared.risk_difference.stderr
        assert compared.trace.gap < compared.frobenius.gap
        assert compared.trace.test_risk < compared.zero_risk
        assert not compared.trace.at_end
        expected = compared.frobenius.test_risk - compared.trace.test_risk
        assert compared.risk_difference.value == pytest.approx(expected)
    norm, average = found.measured.trace.norm, found.raw.averages["trace"].value
    assert found.scaled_averages["trace"] == pytest.approx(norm * average)
    text = " ".join(found.sentences())
    assert "lower with the trace norm" in text
    assert "trace better by" in page(found)


def test_risks_are_averages_over_observed_labels_with_half_squares():
    X, Y = low_rank_data(50)
    Y[rng(1).random(Y.shape) < 0.3] = np.nan
    known = KnownLabels.of(Y)
    model = FrobeniusLearner(intercept=True).fit(X, known, 1.0)
    made = row_losses(model, X, known)
    errors = 0.5 * np.square(Y - model.scores(X))
    assert made.losses.mean() == pytest.approx(np.nanmean(errors))
    best = np.where(np.isnan(Y), -np.inf, model.scores(X)).argmax(axis=1)
    np.testing.assert_array_equal(made.right, Y[np.arange(50), best])


@pytest.mark.parametrize("intercept", [False, True])
def test_the_path_of_ridge_solutions_is_binary_relevance(intercept):
    X, Y = low_rank_data(80)
    learner = FrobeniusLearner(intercept)
    for penalty in (0.1, 3.0):
        ours = learner.fit(X, KnownLabels.of(Y), penalty)
        theirs = BinaryRelevanceClassifier(penalty=penalty, fit_intercept=intercept).fit(X, Y)
        # theirs stops at a gradient of 1e-4 of that at the start
        np.testing.assert_allclose(ours.W, theirs.Z_, atol=1e-3)
        np.testing.assert_allclose(ours.offset, theirs.intercept_, atol=1e-3)


def test_the_trace_learner_ends_near_the_minimum():
    X, Y = low_rank_data(200)
    known, learner = KnownLabels.of(Y), TraceLearner(False, rng())
    for penalty in learner.penalties(X, known):
        model = learner.fit(X, known, float(penalty))
        gradient = X.T @ (Y - X @ model.W @ model.H.T)
        # at a minimum no singular value of the gradient exceeds the penalty; tol is 1e-4
        assert np.linalg.norm(gradient, 2) <= 1.05 * penalty
        assert model.norm == pytest.approx(np.linalg.norm(model.W @ model.H.T, "nuc"))


def test_the_bound_on_the_gap_is_for_the_next_power_of_two_and_every_such_radius():
    X, Y = low_rank_data(100)
    facts = diagnose(X, Y, rng=rng()).raw
    model = ModelFacts(1.0, False, 2.5, 0.1, 0.2, 0.5)
    bound, at_four = (gap_bound(facts, "trace", replace(model, norm=v)) for v in (2.5, 4.0))
    assert bound.valid
    assert bound == at_four
    R, n = facts.moments.radius, 100
    average = facts.averages["trace"].value + 3 * facts.averages["trace"].stderr
    concentration = 1.5 * (4 * R + 1) ** 2 * math.sqrt(math.log(2 * 64 / 0.05) / (2 * n))
    assert bound.value == pytest.approx(2 * (4 * R + 1) * 4 * average + concentration)
    assert not gap_bound(diagnose(X, Y, rng=rng(), draws=5).raw, "trace", model).valid
    assert gap_bound(facts, "trace", replace(model, norm=2.0**31)).valid
    beyond = gap_bound(facts, "trace", replace(model, norm=2.0**31 + 1))
    assert "norm of at most" in str(beyond.failures[-1])


def test_a_record_goes_through_json_and_repeats_with_the_seed():
    X, Y = low_rank_data(120)
    made = [
        diagnose(X[:80], Y[:80], rng=rng(7), test=(X[80:], Y[80:]), draws=5).record()
        for _ in range(2)
    ]
    text = json.dumps(made[0], allow_nan=False)
    assert json.loads(text) == made[0] == made[1]
    assert made[0]["measured"]["trace"]["gap"] == pytest.approx(
        made[0]["measured"]["trace"]["test_risk"] - made[0]["measured"]["trace"]["train_risk"]
    )


OUT_OF_BOUNDS = sparse.csr_array(np.eye(6, 2))
OUT_OF_BOUNDS.indices = OUT_OF_BOUNDS.indices + 1  # scipy looks at no index


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.zeros((6, 2))}, "must have a feature that is not zero"),
        ({"X": np.full((6, 2), np.nan)}, "must be finite"),
        ({"X": np.full((6, 2), 1e60)}, "rescale it"),
        ({"X": sparse.csr_array(np.full((6, 2), 1j))}, "`X` must hold real numbers, got complex"),
        ({"X": OUT_OF_BOUNDS}, "`X` is a damaged sparse matrix"),
        ({"X": np.ones((5, 2))}, "one per point, got 5 and 6"),
        ({"Y": np.full((6, 3), 0.5)}, "labels in"),
        ({"Y": np.full((6, 3), np.nan)}, "must have an observed label"),
        ({"Y": np.zeros((6, 0))}, "must not be empty"),
        ({"observed": 0.0}, r"`observed` must lie in \(0, 1\]"),
        ({"draws": 1}, "at least 2"),
        ({"test": (np.ones((4, 3)), np.ones((4, 3)))}, "4 rows of 3 and 3"),
        ({"test": (np.ones((1, 2)), np.ones((1, 3)))}, "at least 2 rows"),
    ],
)
def test_bad_input_is_refused_with_a_reason(change, message):
    X, Y = np.arange(12.0).reshape(6, 2), labels(6, 3)
    arguments = {"X": X, "Y": Y, "rng": rng(), **change}
    with pytest.raises(ValueError, match=message):
        diagnose(**arguments)


def test_labels_without_a_positive_and_rows_without_features_are_no_reason_to_fail():
    X = sparse.csr_array(np.vstack([np.eye(4), np.zeros((4, 4))]))
    found = diagnose(X, np.zeros((8, 3)), rng=rng(), test=(X[4:], np.zeros((4, 3))))
    assert found.measured.trace.test_risk == pytest.approx(0, abs=1e-12)
    assert found.gap_bounds["trace"].valid
    assert "no clear difference in test risk" in found.sentences()[0]


# The page


@pytest.fixture(scope="module")
def fitted():
    X, Y = low_rank_data(150)
    return diagnose(X[:100], Y[:100], rng=rng(), test=(X[100:], Y[100:]), draws=5)


@pytest.mark.parametrize(
    ("top_1", "words"),
    [
        (Estimate(-0.02, 0.004, 50), "top-1 is better with the Frobenius norm"),
        (Estimate(0.02, 0.004, 50), "top-1 is better with the trace norm"),
        (Estimate(-0.02, 0.02, 50), "there is no clear difference in top-1"),
    ],
)
@pytest.mark.parametrize("side", ["measured", "measured_centred"])
def test_in_short_tells_both_metrics_without_and_with_intercept(fitted, side, top_1, words):
    """Also where the metrics disagree: lower risk with one norm, better top-1 with the other."""
    risk = Estimate(1e-3, 1e-5, 50)
    made = replace(getattr(fitted, side), risk_difference=risk, top_1_difference=top_1)
    short = replace(fitted, **{side: made}).sentences()[0]
    assert short.startswith("In short: ")
    start = "without intercept, " if side == "measured" else "with an intercept, "
    part = short.split(start)[1].split(";")[0]
    assert "lower with the trace norm" in part
    assert words in part


def test_in_short_comes_first_then_at_most_ten_findings_then_details(fitted):
    lines = page(fitted).splitlines()
    assert lines[0].startswith("In short: ")
    places = [lines.index(head) for head in ("findings", "details", "notes")]
    assert places == sorted(places)
    X, Y = rng().standard_normal((60, 4)), labels(60, 6)
    Y[:, 2] = Y[0, 0] = np.nan  # every finding that there can be
    crowded = diagnose(X, Y, rng=rng(), test=(X, labels(60, 6, seed=5)))
    for found in (fitted, crowded):
        told = found.sentences()
        assert len(findings(found)) <= 10
        assert told == (told[0], *findings(found), *details(found))


def test_one_meaning_of_errors_on_page_and_picture(fitted):
    assert "+- is one standard error" in page(fitted)
    assert f"+- {fitted.raw.advantage.stderr:.5f}" in page(fitted)
    assert f"+- {fitted.raw.advantage.stderr:.1g}" in fitted.sentences()[0]
    (ax,) = diagnosis_figure(fitted).axes
    assert ax.get_yticklabels()[0].get_text() == "measured, ± 1 std. error"
    (start, end), *_ = ax.containers[0].lines[2][0].get_segments()
    assert (end - start)[0] == pytest.approx(2 * fitted.raw.advantage.stderr)


def test_one_number_of_points_for_theorem_6():
    X, Y = low_rank_data(60, d=3, L=40)
    found = diagnose(X, Y, rng=rng(), draws=5)
    needed = f"{found.raw.points_needed:.0f}"
    assert float(needed) > 0
    assert f"asks for more than {needed} points" in " ".join(found.sentences())
    line = next(line for line in page(found).splitlines() if line.startswith("points that"))
    assert line.split()[-2] == needed
    few = complexity_bounds(replace(found.raw.setting, n=1))["paper_route"]
    assert few.failures[-1].number == pytest.approx(found.raw.points_needed)


@pytest.mark.long
def test_bibtex_has_a_lower_risk_with_the_trace_norm_and_a_better_top_1_with_the_other(data_file):
    data = read(data_file("bibtex"))
    train, test = data.split(None)
    held_out = (test.X, test.targets())
    found = diagnose(train.X, train.targets(), rng=rng(), test=held_out, draws=20)
    part = found.sentences()[0].split("without intercept, ")[1].split(";")[0]
    assert "lower with the trace norm" in part
    assert "top-1 is better with the Frobenius norm" in part


def test_a_seed_is_not_a_generator():
    with pytest.raises(TypeError, match="default_rng"):
        diagnose(np.ones((4, 2)), labels(4, 3), rng=0)


# The command


def test_the_command_prints_a_page_and_writes_its_files(tmp_path, capsys):
    X, Y = low_rank_data(150)
    path = saved(tmp_path, X, Y, train_idx=np.arange(100), test_idx=np.arange(100, 150))
    assert main(["--data", str(path), "--out", str(tmp_path / "out"), "--draws", "5"]) == 0
    printed = capsys.readouterr()
    assert "100 of 150 (split: default)" in printed.out
    assert "In short:" in printed.out
    assert "fitting the trace norm" in printed.err
    folder = tmp_path / "out"
    assert (folder / "diagnosis.txt").read_text() == printed.out
    assert json.loads((folder / "diagnosis.json").read_text())["n"] == 100
    assert (folder / "advantage.png").read_bytes()[:4] == b"\x89PNG"
    assert (folder / "advantage.svg").read_text().startswith("<?xml")


def test_the_command_prints_json_alone_and_fits_nothing_if_asked(tmp_path, capsys):
    path = tmp_path / "toy.svm"
    path.write_text("".join(f"{i % 3} 1:{i + 1} {2 + i % 2}:1\n" for i in range(30)))
    assert main(["--data", str(path), "--no-fit", "--json", "--quiet"]) == 0
    printed = capsys.readouterr()
    record = json.loads(printed.out)
    assert (record["n"], record["n_labels"], record["measured"]) == (30, 3, None)
    assert printed.err == ""


def test_rows_are_held_out_at_random_where_the_file_has_no_split(tmp_path, capsys):
    path = saved(tmp_path, *low_rank_data(60))
    options = ["--data", str(path), "--quiet", "--draws", "3", "--json"]
    rows = []
    for split in ([], ["--split", "0.5"], ["--split", "all"]):
        assert main([*options, *split]) == 0
        record = json.loads(capsys.readouterr().out)
        rows.append((record["n"], record["measured"] is None))
    assert rows == [(48, False), (30, False), (60, True)]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (None, [], "cannot be read"),
        (b"", [], "empty file"),
        (b"PK\x03\x04 and nothing more", [], "not a sound npz"),
        (b"0 1:nan\n", [], "line 1"),
        (b"0 1:1\n1 1:2\n", ["--split", "mulan"], "no rows mulan_train_idx"),
        (b"0 1:1\n1 1:2\n", [], "too few to hold some out"),
        (b"0 1:1\n1 1:2\n0 1:3\n", [], "at least 4 rows"),
    ],
)
def test_bad_files_and_options_are_one_line_and_status_2(
    tmp_path, capsys, content, options, message
):
    path = tmp_path / "bad"
    if content is not None:
        path.write_bytes(content)
    assert main(["--data", str(path), "--quiet", *options]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--split", "1.5"], "strictly between 0 and 1"),
        (["--seed", "-1"], "a whole number of at least 0"),
        (["--observed", "2"], "--observed: expected a number from 1e-06 to 1"),
    ],
)
def test_numbers_out_of_range_are_wrong_usage(capsys, options, message):
    with pytest.raises(SystemExit) as stop:
        main(["--data", "any", *options])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def test_an_output_folder_that_cannot_be_made_is_said_before_the_work(tmp_path, capsys):
    path = saved(tmp_path, *low_rank_data(20))
    assert main(["--data", str(path), "--out", str(path / "inside")]) == 2
    assert "cannot be made" in capsys.readouterr().err


def test_bibtex_gains_half_of_what_it_would_when_centred(data_file, capsys):
    assert main(["--data", str(data_file("bibtex")), "--no-fit", "--json", "--quiet"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["n"], record["n_features"], record["n_labels"]) == (4880, 1836, 159)
    raw, centred = record["raw"], record["centred"]
    assert raw["setting"]["moments"]["second_moment"] == pytest.approx(68.7408, abs=1e-4)  # 0/1
    assert raw["nonnegative"]
    assert raw["top_share"] == pytest.approx(0.2243, abs=1e-4)
    assert centred["top_share"] == pytest.approx(0.0453, abs=1e-4)
    # standard errors of 0.02 and 0.04
    assert raw["advantage"]["value"] == pytest.approx(2.08, abs=Z * 0.02)
    assert centred["advantage"]["value"] == pytest.approx(4.41, abs=Z * 0.04)
    failures = " ".join(raw["bounds"]["paper_route"]["failures"])
    assert "not centred" in failures
    assert "needs n >" in failures


def test_labels_that_are_all_one_are_diagnosed():
    """Past crash: factors of rank one left a Gram matrix that rounding had made indefinite."""
    X = np.random.default_rng(0).standard_normal((400, 30))
    Y = np.ones((400, 40))
    found = diagnose(X[:300], Y[:300], rng=np.random.default_rng(1), test=(X[300:], Y[300:]))
    assert found.measured is not None


def test_few_counts_are_not_taken_for_centred_features():
    """So few points cannot tell their mean from zero, but no count is negative."""
    X = np.array([[1, 0.5], [0.2, 0], [0, 1], [1, 2], [0.1, 0], [0, 3]])
    found = diagnose(X, labels(6, 2), rng=rng())
    assert not found.raw.bounds["paper_route"].valid
    assert "No feature is negative, and the features are not centred" in found.sentences()[2]
    moved = diagnose(X - 1, labels(6, 2), rng=rng())
    assert "The features may be centred" in moved.sentences()[2]
