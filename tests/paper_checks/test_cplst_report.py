"""Claims 1 and 2 on adversarial data, through the report that users call on their own."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from paper_checks.cplst import cplst_report, least_squared_error, squared_error
from paper_checks.worlds.instances import adversarial, ill_conditioned, ordinary, shaped, tied

SEEDS = range(8)
NAMES = [instance.name for instance in adversarial(np.random.default_rng(0))]


@pytest.mark.parametrize("name", NAMES)
def test_closed_forms_agree(name):
    for seed in SEEDS:
        data = next(i for i in adversarial(np.random.default_rng(seed)) if i.name == name)
        report = cplst_report(data.X, data.Y, data.rank)
        assert report.agrees, report


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("fewer points than features", "as good for every N"),
        ("rank-deficient X", "X has rank 4 < d = 9"),
        ("repeated features", "X has rank 3 < d = 9"),
        ("rank above that of X", "does not bind"),
        ("rank above the number of labels", "exceeds L = 3"),
        ("tied singular values", "sigma_2 = sigma_3"),
        ("ill-conditioned X", "ill-conditioned"),
        ("labels of zeros", "does not bind"),
    ],
)
def test_what_is_special_is_said(name, word):
    data = next(i for i in adversarial(np.random.default_rng(3)) if i.name == name)
    report = cplst_report(data.X, data.Y, data.rank)
    assert any(word in remark for remark in report.remarks)
    assert word in str(report)


def test_nothing_is_said_about_ordinary_data():
    data = ordinary(np.random.default_rng(0))
    report = cplst_report(data.X, data.Y, data.rank)
    assert report.remarks == ()
    assert report.unique
    assert "they agree" in str(report)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_ties_are_seen_at_every_scale(scale):
    for seed in SEEDS:
        data = tied(np.random.default_rng(seed))
        assert cplst_report(data.X, scale * data.Y, data.rank).tied
        assert not cplst_report(data.X, scale * data.Y, 1).tied


def test_a_gap_of_one_in_a_million_is_no_tie():
    data = shaped(np.random.default_rng(0), [5.0, 2.0 + 2e-6, 2.0, 1.0, 0.5], 2)
    report = cplst_report(data.X, data.Y, 2)
    assert not report.tied
    assert report.gap == pytest.approx(2e-6, rel=1e-6)  # singular values to rounding of 5


def test_the_minimum_does_not_come_from_the_closed_form():
    """Every random matrix of that rank has a larger error than the minimum says."""
    rng = np.random.default_rng(0)
    data = ordinary(rng)
    least = least_squared_error(data.X, data.Y, 2)
    for _ in range(200):
        Z = 0.1 * rng.standard_normal((8, 2)) @ rng.standard_normal((2, 7))
        assert squared_error(data.X, data.Y, Z) > least


def test_a_wrong_closed_form_is_not_excused(monkeypatch):
    """Were the report's tolerance too wide, a predictor off by 1e-7 would pass."""
    from leml_solver.algorithms import low_rank_least_squares

    monkeypatch.setattr(
        "paper_checks.cplst.low_rank_least_squares",
        lambda *args: low_rank_least_squares(*args) * (1 + 1e-7),
    )
    data = ordinary(np.random.default_rng(0))
    report = cplst_report(data.X, data.Y, data.rank)
    assert not report.agrees
    assert "NOT" in str(report)


def test_ill_conditioning_costs_digits_of_Z_not_of_the_objective():
    data = ill_conditioned(np.random.default_rng(0))
    report = cplst_report(data.X, data.Y, data.rank)
    assert report.condition == pytest.approx(1e8, rel=1e-3)
    # Z is of size |Y| / 1e-8; its error may be large, that of the objective is near rounding.
    assert abs(report.objective - report.minimum) < 1e-9 * report.minimum


def test_centring_matters_as_much_as_the_mean():
    data = ordinary(np.random.default_rng(0))
    shifts = [cplst_report(data.X, data.Y + mean, 3).centring_shift for mean in (0.0, 1.0, 10.0)]
    assert shifts[0] < shifts[1] < shifts[2]
    report = cplst_report(data.X, data.Y - data.Y.mean(axis=0), 3)
    assert report.centring_shift < 1e-12  # rounding
    assert report.centred_objective == pytest.approx(report.objective)


@given(
    seed=st.integers(0, 10**6),
    shape=st.tuples(st.integers(1, 15), st.integers(1, 15), st.integers(1, 10)),
    rank=st.integers(1, 12),
    density=st.floats(0.05, 1.0),
)
@settings(max_examples=80, deadline=None)
def test_sparse_labels_of_any_shape(seed, shape, rank, density):
    n, d, n_labels = shape
    rng = np.random.default_rng(seed)
    Y = sp.csr_matrix((rng.random((n, n_labels)) < density).astype(float))
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    assert cplst_report(X, Y, rank).agrees


@pytest.mark.parametrize(
    ("X", "Y", "rank"),
    [(np.ones((3, 2)), np.ones((4, 2)), 1), (np.ones((3, 2)), np.ones((3, 2)), 0)],
)
def test_bad_input_is_refused(X, Y, rank):
    with pytest.raises(ValueError, match="must"):
        cplst_report(X, Y, rank)
