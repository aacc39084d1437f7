"""Label models and scenarios: means, agreement, and sums free of n."""

import math

import numpy as np
import pytest

from simulations import (
    AllOnes,
    BernoulliEntries,
    IsotropicGaussian,
    LinearLabels,
    LogisticLabels,
    Planted,
    RademacherVectors,
    RandomSigns,
    RankOne,
    Scenario,
    UniformLabels,
    WeightedLabels,
    heavy_label,
    independent_coefficients,
    low_rank_coefficients,
    shared_coefficients,
)


def entries(n, n_labels):
    """Return all entries of an n x L matrix."""
    return np.repeat(np.arange(n), n_labels), np.tile(np.arange(n_labels), n)


def test_linear_labels_are_predictions_plus_noise_of_the_given_size():
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(3, 4))
    X = rng.normal(size=(5000, 3))
    rows, columns = entries(5000, 4)
    residual = LinearLabels(Z, noise=0.5).draw(X, rows, columns, rng) - (X @ Z)[rows, columns]
    assert abs(residual.mean()) <= 5 * 0.5 / math.sqrt(residual.size)
    # relative standard error of a variance over 20,000 draws is 0.01
    assert residual.var() == pytest.approx(0.25, rel=0.05)


def test_sparse_and_dense_prediction_paths_agree():
    """Few entries are predicted one by one, many by one product: the numbers must not differ."""
    rng = np.random.default_rng(2)
    Z, X = rng.normal(size=(3, 50)), rng.normal(size=(20, 3))
    few = LinearLabels(Z, noise=0.0).draw(X, np.array([3, 7]), np.array([49, 0]), rng)
    assert few == pytest.approx([X[3] @ Z[:, 49], X[7] @ Z[:, 0]], rel=1e-12)


def test_logistic_labels_have_their_log_odds():
    rng = np.random.default_rng(3)
    X = np.ones((40_000, 1))
    rows, columns = entries(40_000, 2)
    values = LogisticLabels(np.array([[0.0, 2.0]])).draw(X, rows, columns, rng)
    assert set(np.unique(values)) == {0.0, 1.0}
    for label, chance in ((0, 0.5), (1, 1 / (1 + math.exp(-2)))):
        error = math.sqrt(chance * (1 - chance) / 40_000)
        assert abs(values[columns == label].mean() - chance) <= 5 * error


@pytest.mark.parametrize("head", [False, True])
def test_planted_labels_agree_as_often_as_asked(head):
    rng = np.random.default_rng(4)
    X = RademacherVectors(3).sample(20_000, rng)
    rows, columns = entries(20_000, 2)
    values = Planted(2, 0.3, head=head).draw(X, rows, columns, rng)
    agreement = (values == np.sign(X[rows, 0])).reshape(-1, 2).mean(axis=0)
    expected = [0.65, 0.5 if head else 0.65]
    assert np.abs(agreement - expected).max() <= 5 * 0.5 / math.sqrt(20_000)


@pytest.mark.parametrize(
    "make",
    [
        shared_coefficients,
        independent_coefficients,
        lambda d, L, r: low_rank_coefficients(d, L, 2, r),
    ],
)
def test_coefficients_give_predictions_of_order_one(make):
    Z = make(6, 5, np.random.default_rng(5))
    assert np.linalg.norm(Z) == pytest.approx(math.sqrt(30), rel=1e-12)


def test_ranks_are_as_asked():
    rng = np.random.default_rng(6)
    assert np.linalg.matrix_rank(low_rank_coefficients(8, 9, 3, rng)) == 3
    assert np.linalg.matrix_rank(shared_coefficients(8, 9, rng)) == 1
    assert np.linalg.matrix_rank(independent_coefficients(8, 9, rng)) == 8


WORLDS = {
    "all ones": Scenario(RademacherVectors(3), AllOnes(4), UniformLabels(4)),
    "rank one": Scenario(RankOne(3), AllOnes(4), UniformLabels(4)),
    "gaussian": Scenario(IsotropicGaussian(3), AllOnes(4), UniformLabels(4)),
    "planted": Scenario(RademacherVectors(3), Planted(4, 0.6), UniformLabels(4)),
    "planted head": Scenario(
        RademacherVectors(3), Planted(4, 0.6, head=True), WeightedLabels(heavy_label(4, 0.7))
    ),
}


@pytest.mark.parametrize("name", WORLDS)
def test_sums_free_of_n_have_the_law_of_summed_samples(name):
    """First and second moments of every entry, against samples drawn point by point."""
    world, n, draws = WORLDS[name], 30, 4000
    rng = np.random.default_rng(7)

    def summed():
        sample = world.sample(n, rng)
        V = np.zeros((3, 4))
        np.add.at(
            V.T, sample.columns, (sample.weights * sample.values)[:, None] * sample.X[sample.rows]
        )
        return V

    free = np.array([world.label_sums(n, rng) for _ in range(draws)])
    direct = np.array([summed() for _ in range(draws)])
    for power in (1, 2):
        a, b = free**power, direct**power
        error = np.sqrt((a.var(axis=0) + b.var(axis=0)) / draws)
        assert (np.abs(a.mean(axis=0) - b.mean(axis=0)) <= 5 * error).all()


def test_entries_seen_at_random_once_on_average_are_not_one_label_a_point():
    """A mean of one label a point once was taken for exactly one: 204 where 350 is true."""
    world = Scenario(RankOne(1), AllOnes(4), BernoulliEntries(4, 0.25))
    rng = np.random.default_rng(11)
    squares = np.array([world.label_sums(200, rng).sum() ** 2 for _ in range(3000)])
    # a point's signed count of labels has the second moment 4 (1/4) (3/4) + 1 = 1.75
    error = squares.std(ddof=1) / math.sqrt(squares.size)
    assert abs(squares.mean() - 350) <= 5 * error


def test_several_slots_are_summed_point_by_point():
    world = Scenario(RankOne(1), AllOnes(3), UniformLabels(3, 3))
    V = world.label_sums(50, np.random.default_rng(8))
    # every point shows all labels, so the three columns are one sum of the same fifty signs
    assert pytest.approx(np.full((1, 3), V[0, 0])) == V
    assert V[0, 0] % 2 == 0


def test_a_sample_holds_what_was_seen():
    world = Scenario(IsotropicGaussian(2), RandomSigns(5), UniformLabels(5, 2))
    sample = world.sample(10, np.random.default_rng(9))
    assert sample.X.shape == (10, 2)
    assert sample.rows.size == 20
    assert sample.labels_per_point == 2
    assert set(np.unique(sample.values)) == {-1.0, 1.0}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Scenario(RankOne(2), AllOnes(3), UniformLabels(4)), "got 3 and 4"),
        (
            lambda: Scenario(RankOne(2), LinearLabels(np.ones((3, 4))), UniformLabels(4)),
            r"one row per feature \(2\), got 3",
        ),
        (
            lambda: Scenario(IsotropicGaussian(2), Planted(4, 0.5), UniformLabels(4)),
            "RademacherVectors",
        ),
        (lambda: Planted(3, 1.5), r"\[0, 1\]"),
        (lambda: LinearLabels(np.array([[np.nan]])), "NaN"),
        (lambda: low_rank_coefficients(2, 3, 3, np.random.default_rng()), "min"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_the_problem_of_a_sample_has_all_its_entries_and_weights():
    world = Scenario(IsotropicGaussian(3), LinearLabels(np.ones((3, 4))), UniformLabels(4, 2))
    sample = world.sample(9, np.random.default_rng(0))
    problem = sample.problem("squared")
    assert (problem.labels_per_point, problem.n_labels) == (2, 4)
    order = np.lexsort((sample.rows, sample.columns))
    for name in ("rows", "columns", "values", "weights"):
        np.testing.assert_array_equal(getattr(problem, name), getattr(sample, name)[order])
    Z = np.zeros((3, 4))
    assert problem.risk(Z) == 0.5 * np.square(problem.values).sum() / (9 * 2)
