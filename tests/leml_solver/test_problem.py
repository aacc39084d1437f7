"""Problems: objective and gradient against plain loops, every layout, every refusal."""

import numpy as np
import pytest
import scipy.sparse as sp

from leml_solver import (
    LOSSES,
    AlternatingOptions,
    Labels,
    Problem,
    TraceBall,
    fit_factors,
    fit_problem,
    minimise,
)

SQUARED = LOSSES["squared"]


def test_a_problem_does_not_change_with_the_array_it_was_made_from():
    Y = np.ones((3, 2))
    problem = Problem("squared", np.eye(3), Y)
    Y[:] = 5
    assert problem.objective(np.zeros((3, 2))) == 3.0


def by_hand(problem, Z):
    """Objective by a loop over entries."""
    total = 0.0
    for i, label, y, w in zip(
        problem.rows, problem.columns, problem.values, problem.weights, strict=True
    ):
        total += w * float(problem.loss.value(np.array(y), problem.X[i] @ Z[:, label]))
    return total


def drawn(loss, share, seed=0, n=12, d=4, n_labels=9):
    """Draw a problem with a share of its entries observed, some of them twice."""
    rng = np.random.default_rng(seed)
    size = max(1, int(share * n * n_labels))
    rows, columns = rng.integers(0, n, size), rng.integers(0, n_labels, size)
    values = rng.choice([-1.0, 1.0], size)
    X = rng.standard_normal((n, d))
    weights = rng.integers(1, 4, size)
    return Problem(loss, X, Labels.observed(rows, columns, values, (n, n_labels), weights))


# 0.1 runs the compiled loops over entries, 0.9 the dense products.
@pytest.mark.parametrize("share", [0.1, 0.9])
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())
def test_the_objective_is_the_weighted_sum_over_entries(loss, share):
    problem = drawn(loss, share)
    Z = np.random.default_rng(1).standard_normal(problem.shape)
    # Sums of at most a few hundred terms of size one.
    assert problem.objective(Z) == pytest.approx(by_hand(problem, Z), rel=1e-12)


@pytest.mark.parametrize("share", [0.1, 0.9])
@pytest.mark.parametrize("name", ["linear", "squared", "logistic", "squared_hinge"])
def test_the_gradient_is_the_slope_of_the_objective(name, share):
    problem, rng = drawn(LOSSES[name], share), np.random.default_rng(2)
    Z, E = rng.standard_normal(problem.shape), rng.standard_normal(problem.shape)
    h = 1e-6
    slope = (problem.objective(Z + h * E) - problem.objective(Z - h * E)) / (2 * h)
    # Central differences: h^2 times third derivatives, and rounding of an objective below 1e4.
    assert np.vdot(problem.gradient(Z), E) == pytest.approx(slope, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("share", [0.1, 0.9])
def test_the_adjoint_is_the_transpose_of_the_predictions(share):
    problem, rng = drawn(SQUARED, share), np.random.default_rng(3)
    Z, slopes = rng.standard_normal(problem.shape), rng.standard_normal(problem.rows.size)
    left = problem.predictions(Z) @ slopes
    assert np.vdot(problem.adjoint(slopes), Z) == pytest.approx(left, rel=1e-10, abs=1e-10)
    curved = problem.adjoint(slopes * problem.predictions(Z))
    np.testing.assert_allclose(problem.curve(Z, slopes), curved, atol=1e-12)


def test_risk_is_the_average_over_observed_labels():
    X, Y = np.eye(2), np.array([[1.0, np.nan], [3.0, 5.0]])
    problem = Problem.from_dense(SQUARED, X, Y)
    assert problem.objective(np.zeros((2, 2))) == 0.5 * (1 + 9 + 25)
    assert problem.risk(np.zeros((2, 2))) == pytest.approx(0.5 * 35 / 3, rel=1e-15)
    fixed = Problem.from_dense(SQUARED, X, Y, labels_per_point=1)
    assert fixed.risk(np.zeros((2, 2))) == 0.5 * 35 / 2


def test_an_entry_seen_twice_counts_twice():
    # A set of entries would lose the second observation, which sampling with replacement makes.
    X = np.array([[1.0], [2.0]])
    repeated = Labels.observed([0, 0, 1], [0, 0, 0], [1.0, 1.0, 2.0], (2, 1))
    counted = Labels.observed([0, 1], [0, 0], [1.0, 2.0], (2, 1), [2.0, 1.0])
    listed, weighted = Problem(SQUARED, X, repeated), Problem(SQUARED, X, counted)
    Z = np.array([[0.3]])
    assert listed.objective(Z) == pytest.approx(weighted.objective(Z), rel=1e-15)
    assert (listed.multiplicity, weighted.multiplicity) == (2, 1)
    assert not listed.is_full


def test_entries_of_weight_zero_are_dropped():
    labels = Labels.observed([0, 1], [0, 0], [1.0, 9.0], (2, 1), [1.0, 0.0])
    problem = Problem(SQUARED, np.eye(2), labels)
    assert problem.rows.tolist() == [0]
    assert problem.scale == 0.5


def test_missing_entries_contribute_nothing():
    X = np.random.default_rng(4).standard_normal((3, 2))
    Y = np.array([[1.0, np.nan], [np.nan, 2.0], [0.0, np.nan]])
    problem = Problem.from_dense(SQUARED, X, Y)
    Z = np.ones((2, 2))
    D = np.where(np.isnan(Y), 0.0, X @ Z - Y)
    np.testing.assert_allclose(problem.gradient(Z), X.T @ D, atol=1e-14)


def test_full_labels_are_recognised_and_returned():
    Y = np.arange(6.0).reshape(3, 2)
    problem = Problem.from_dense(SQUARED, np.ones((3, 1)), Y)
    assert problem.is_full
    np.testing.assert_array_equal(problem.label_matrix, Y)


def make(**changes):
    entries = {
        "rows": np.array([0, 1]),
        "columns": np.array([0, 1]),
        "values": np.array([1.0, 2.0]),
        "shape": (2, 2),
        "weights": None,
    }
    listed = {name: changes.pop(name, value) for name, value in entries.items()}
    arguments = {"loss": SQUARED, "features": np.eye(2), "labels": Labels.observed(**listed)}
    return Problem(**(arguments | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"features": np.array([[np.nan, 1.0]])}, "`X` must be finite, got 1 NaN"),
        ({"features": np.ones(3)}, "`X` must have 2 axes"),
        ({"features": sp.csr_matrix([[np.inf, 1.0]])}, "`X` must be finite"),
        ({"features": sp.csr_matrix((0, 2))}, "`X` must not be empty"),
        ({"features": np.ones((3, 2))}, "same number of rows, one per point, got 3 and 2"),
        ({"values": np.array([1.0, np.inf])}, "`values` must be finite"),
        ({"values": np.array([])}, "`Y` must have an observed entry"),
        ({"rows": np.array([0])}, r"`rows` must have one index per value, \(2,\), got \(1,\)"),
        ({"rows": np.array([0, 2])}, r"`rows` must lie in \[0, 2\), got 0 to 2"),
        ({"columns": np.array([-1, 0])}, r"`columns` must lie in \[0, 2\)"),
        ({"weights": np.array([1.0, -1.0])}, "`weights` must not be negative, got"),
        ({"weights": np.array([0.0, 0.0])}, "`weights` must have a positive entry"),
        ({"weights": np.ones(3)}, "`weights` must have one weight per value"),
        ({"shape": (2, 0)}, r"`Y` must have rows and columns, got shape \(2, 0\)"),
        ({"labels_per_point": 0}, "`labels_per_point` must be positive, got 0"),
        ({"loss": LOSSES["logistic"]}, r"`values` must be in \{0, 1\}"),
    ],
)
def test_what_cannot_be_a_problem_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        make(**changes)


def test_indices_must_be_integers():
    with pytest.raises(TypeError, match="`rows` must be integers, got float64"):
        make(rows=np.array([0.0, 1.0]))


@pytest.mark.parametrize(
    ("Y", "message"),
    [
        (np.full((2, 2), np.nan), "`Y` must have an observed entry"),
        (np.ones((3, 2)), "same number of rows, one per point, got 2 and 3"),
        (np.ones(2), "`Y` must have two axes"),
        (np.array([[np.inf, 1.0], [1.0, 1.0]]), "`Y` must be finite"),
        (np.array([[np.inf, np.nan], [1.0, 1.0]]), "`values` must be finite"),
    ],
)
def test_dense_labels_that_cannot_be_read_are_refused(Y, message):
    with pytest.raises(ValueError, match=message):
        Problem.from_dense(SQUARED, np.eye(2), Y)


def test_full_labels_are_the_same_problem_however_they_are_listed():
    rng = np.random.default_rng(5)
    X, Y = rng.standard_normal((7, 3)), rng.choice([0.0, 1.0], (7, 4), p=[0.8, 0.2])
    rows, columns = np.divmod(rng.permutation(28), 4)
    listed = Labels.observed(rows, columns, Y[rows, columns], Y.shape)
    problems = [Problem("logistic", X, labels) for labels in (Y, sp.csc_matrix(Y), listed)]
    Z = rng.standard_normal((3, 4))
    assert [p.is_full for p in problems] == [True] * 3
    assert len({p.labels_per_point for p in problems}) == 1
    for name in ("rows", "columns", "values", "weights"):
        first, *others = (getattr(problem, name) for problem in problems)
        for other in others:
            np.testing.assert_array_equal(first, other)
    assert len({problem.objective(Z) for problem in problems}) == 1


def test_both_solvers_take_the_same_problem():
    rng = np.random.default_rng(6)
    X, Y = rng.standard_normal((30, 5)), rng.standard_normal((30, 4))
    Y[rng.random(Y.shape) < 0.3] = np.nan
    problem = Problem("squared", sp.csr_matrix(X), Y)
    options = AlternatingOptions(max_iter=2000, tol=1e-13)
    factors = fit_problem(problem, rank=4, penalty=2.0, options=options)
    Z = factors.W @ factors.H.T
    ball = TraceBall(float(np.linalg.svd(Z, compute_uv=False).sum()))
    exact = minimise(problem, ball, tol=1e-9)
    # The penalised minimiser is the constrained one at its own radius; both gaps are below 1e-5.
    assert problem.objective(Z) == pytest.approx(exact.certificate.objective, rel=1e-5)
    same = fit_factors(X, Y, rank=4, penalty=2.0, options=options)
    assert same.objective == pytest.approx(factors.objective, rel=1e-9)


def test_features_keep_their_precision_and_their_sparsity():
    X = sp.random(20, 6, 0.3, format="csr", dtype=np.float32, random_state=0)
    problem = Problem("squared", X, np.ones((20, 2)))
    assert problem.features.dtype == problem.matrix.dtype == np.float32
    assert np.shares_memory(problem.features.data, X.data)
    assert problem.X.dtype == np.float64
    assert problem.astype(None) is problem.astype("float32") is problem
    assert problem.astype("float64").matrix.dtype == np.float64


@pytest.mark.parametrize("kind", ["full", "sparse", "missing", "weighted"])
def test_some_rows_of_a_problem_are_a_problem(kind):
    rng = np.random.default_rng(8)
    X, Y = rng.standard_normal((9, 3)), rng.standard_normal((9, 4))
    seen = rng.random(Y.shape) < 0.6
    rows, columns = np.nonzero(seen)
    labels = {
        "full": lambda: Labels.full(Y),
        "sparse": lambda: Labels.full(sp.csr_matrix(Y * (Y > 1))),
        "missing": lambda: Labels.masked(Y, seen),
        "weighted": lambda: Labels.observed(rows, columns, Y[seen], Y.shape, 1.0 + rows),
    }[kind]()
    problem, Z = Problem("squared", X, labels), rng.standard_normal((3, 4))
    first, rest = np.array([0, 3, 4]), np.array([1, 2, 5, 6, 7, 8])
    parts = sum(problem.take(part).objective(Z) for part in (first, rest))
    assert parts == pytest.approx(problem.objective(Z), rel=1e-12)  # the same terms
    assert problem.take(first).labels.shape == (3, 4)
