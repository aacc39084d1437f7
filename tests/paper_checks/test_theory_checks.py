"""Section 4 and Appendices B and C: the statements, the exact tools behind the checks, any seed."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from leml_solver import LOSSES
from leml_theory.bounds import RiskSetting, Setting, expectation_bound, theorem_3
from leml_theory.rademacher import rademacher_average, spectral_norms
from leml_theory.risk import population_risk
from paper_checks.checking import CHECKS, Effort, Verdict, valid_value
from paper_checks.statements import PAPER, appendix_b, appendix_b_4, lemma_1
from paper_checks.statements.claim_7 import exact_variance
from paper_checks.worlds.exact_tails import (
    largest_count_chance,
    largest_count_tail,
    sign_sum_mean,
    squared_norm_chance,
    turned_probability,
)
from paper_checks.worlds.small import atoms, expected_deviation, sign_patterns, signed_sums
from simulations import Planted, RademacherVectors, RareOutlier, Scenario, UniformLabels

STATEMENTS = [statement for name, statement in PAPER.items() if name[0] in "TBC"]
IDS = [statement.id for statement in STATEMENTS]


# Statements ------------------------------------------------------------------------------------


def test_all_statements_of_these_parts_are_there():
    theorems = {f"T3.{i}" for i in range(1, 8)} | {f"T4.{i}" for i in range(1, 9)}
    others = {"T1", "T2", "T3", "T5", "T6", "T7", "T8"}
    appendices = {f"B{i}" for i in range(1, 26)} | {f"C{i}" for i in range(1, 9)}
    assert set(IDS) >= theorems | others | appendices
    assert len(IDS) == len(set(IDS))


def test_theorems_lemmas_and_claims_have_a_place():
    named = {"Theorem 3", "Theorem 4", "Theorem 5", "Theorem 6", "Lemma 1", "Lemma 2", "Lemma 3"}
    assert {statement.place for statement in STATEMENTS} >= named | {"Claim 7", "Claim 8"}


@pytest.mark.parametrize("statement", STATEMENTS, ids=IDS)
def test_a_statement_says_all_that_a_reader_needs(statement):
    assert all((statement.says, statement.how, statement.refuted_by))
    # What does not simply hold has a correct form.
    assert bool(statement.correct) == (statement.verdict is not Verdict.HOLDS)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("statement_id", IDS)
def test_the_verdict_is_found_again_with_any_seed(statement_id, seed):
    outcome = CHECKS[statement_id](Effort(True, np.random.default_rng(seed)))
    assert outcome.verdict is PAPER[statement_id].verdict, outcome.shown
    assert all(fact.reason for fact in outcome.facts)


# Exact tails against brute force ---------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_mean_of_a_sign_sum(n):
    assert sign_sum_mean(n) == pytest.approx(np.abs(sign_patterns(n).sum(axis=1)).mean(), rel=1e-12)


def test_chance_of_a_wrong_sign():
    n, bias = 5, 0.3
    heads = (1 + bias) / 2
    wrong = sum(binom.pmf(k, n, heads) for k in range(3))
    assert turned_probability(n, bias) == pytest.approx(wrong, rel=1e-12)
    # With an even number of points a tie counts half.
    assert turned_probability(2, 0.0) == pytest.approx(0.5, rel=1e-12)


def test_largest_count_by_listing_all_label_sequences():
    probabilities, n, limit = np.array([0.5, 0.3, 0.2]), 6, 3
    chance = 0.0
    for labels in product(range(3), repeat=n):
        counts = np.bincount(labels, minlength=3)
        chance += math.prod(probabilities[list(labels)]) * (counts.max() <= limit)
    assert largest_count_chance(n, probabilities, limit) == pytest.approx(chance, rel=1e-10)


def test_the_union_bound_is_above_the_exact_chance():
    probabilities = np.full(5, 0.2)
    for n in (10, 20, 40):
        exact = 1 - largest_count_chance(n, probabilities, math.floor(0.4 * n))
        assert exact <= largest_count_tail(n, probabilities) + 1e-12


@pytest.mark.parametrize(("n", "n_labels", "d"), [(3, 2, 1), (4, 3, 1), (3, 2, 2), (5, 1, 2)])
def test_chance_of_a_large_norm_by_enumeration(n, n_labels, d):
    V, chances, _ = signed_sums(RademacherVectors(d), UniformLabels(n_labels), n)
    large = np.square(V).sum(axis=(1, 2)) >= n / 2 - 1e-9
    # The convolutions by FFT are exact to about 1e-13.
    assert squared_norm_chance(n, n_labels, d) == pytest.approx(float(chances @ large), abs=1e-10)


def test_lemma_2_fails_at_five_labels_where_the_simulations_of_n_200_do_not_look():
    """With 7 points and 5 labels the chance is below 3/4; with 200 points it is above."""
    assert squared_norm_chance(7, 5) == pytest.approx(0.723045, abs=1e-6)
    assert squared_norm_chance(200, 5) > 0.78


def test_exact_need_of_lemma_1_is_a_sawtooth():
    """At n = 2,900 the tail is below 0.05, yet above it again just below n = 3,200."""
    uniform = np.full(200, 1 / 200)
    assert largest_count_tail(2900, uniform) < 0.05 < largest_count_tail(3199, uniform)
    assert lemma_1.exact_points(uniform, 0.05, 5000) == 3200


# Small worlds ----------------------------------------------------------------------------------


def test_atoms_carry_the_population_risk():
    world, rng = Scenario(RademacherVectors(2), Planted(3, 0.4), UniformLabels(3)), np.random
    Z = rng.default_rng(0).normal(size=(2, 3))
    listed = atoms(world)
    assert listed.probability.sum() == pytest.approx(1, rel=1e-12)
    losses = -listed.y * np.einsum("kd,dk->k", listed.x, Z[:, listed.label])
    risk = population_risk(world, LOSSES["linear"], Z).value
    assert float(listed.probability @ losses) == pytest.approx(risk, abs=1e-12)


def test_enumerated_sums_agree_with_sampled_ones():
    law, seen, n = RareOutlier(1.0, 0.5, 0.3), UniformLabels(2), 4
    V, chances, counts = signed_sums(law, seen, n)
    assert chances.sum() == pytest.approx(1, rel=1e-12)
    assert (counts.sum(axis=1) == n).all()
    measured = rademacher_average(law, seen, n, draws=4000, rng=np.random.default_rng(1))
    exact = float(chances @ spectral_norms(V)) / n
    assert abs(measured.value - exact) < 5 * measured.stderr


def test_the_deviation_of_one_predictor_is_zero_in_the_mean():
    world = appendix_b.small_world()
    Z = np.array([[[0.3, -0.8]]])
    assert expected_deviation(world, LOSSES["logistic"], Z, 3) == pytest.approx(0, abs=1e-12)


def test_variance_of_the_squared_norm_by_hand():
    # n = 2: W = 2 <x_1, x_2> if the labels agree, so E W^2 = 4/(L d).
    assert exact_variance(2, 3, 5) == pytest.approx(4 / 15, rel=1e-12)


# Findings --------------------------------------------------------------------------------------


def test_with_its_constants_the_proof_holds_up_to_c2_labels_per_feature():
    """Both steps that use d >= L go through up to L = c2 d; the bound says so with the same c3."""
    for d, ratio in product((1, 7, 500), (0.0, 0.3, 1.0)):
        assert appendix_b_4.last_step(d, 2078 * d, ratio) <= 1 + 1e-12
        assert appendix_b_4.net_deviation(d, 2078 * d) >= 1
    assert appendix_b_4.bare_last_step(1, 2, 1.0) > 1


def test_a_bound_that_is_not_valid_never_passes_for_one():
    """Facts take the value of a bound only where it is valid."""
    setting = Setting.of(RademacherVectors(2), UniformLabels(2), 10)
    risk = RiskSetting("absolute", math.inf)
    assert math.isnan(valid_value(expectation_bound(setting, risk, theorem_3(setting))))
