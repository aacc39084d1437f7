"""WSABIE: its steps against differences, its sampled ranks against enumeration, its constraints."""

import numpy as np
import pytest
from scipy import sparse

from leml_solver.baselines import WSABIEClassifier
from leml_solver.baselines.wsabie import (
    Factors,
    Pairs,
    Point,
    Violation,
    find_violator,
    rank_weights,
    step,
)
from leml_solver.labels import Labels
from leml_solver.metrics import average_auc, evaluate_scores
from leml_solver.readers import read


def separable(seed=0, n=120, d=6, L=8):
    """Return points near one of L directions, and its label with that of the next direction."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((L, d))
    kind = rng.integers(L, size=n)
    Y = np.eye(L)[kind] + np.eye(L)[(kind + 1) % L]
    return centres[kind] + 0.05 * rng.standard_normal((n, d)), Y


def no_past(*factors):
    return Factors(*(np.zeros((len(factor), 0)) for factor in factors))


def test_a_step_follows_the_gradient_of_the_pair_loss():
    rng = np.random.default_rng(0)
    W, H, x = rng.standard_normal((5, 3)), rng.standard_normal((4, 3)), np.array([0, 1.5, 0, -2, 0])
    weight, rate, p, n = 1.7, 1e-3, 2, 0

    def loss(W, H):
        return weight * (1 - x @ W @ H[p] + x @ W @ H[n])

    moved = Factors(W.copy(), H.copy())
    point = Point(x[x != 0], np.flatnonzero(x))
    step(point, x @ W, Violation(p, n, weight), moved, no_past(W, H), rate)
    for which, before in enumerate((W, H)):
        ours = (before - moved[which]) / rate
        for at in np.ndindex(before.shape):
            up, down = [W.copy(), H.copy()], [W.copy(), H.copy()]
            up[which][at] += 0.5
            down[which][at] -= 0.5
            # the loss is linear in each factor: differences are exact up to rounding / rate
            assert ours[at] == pytest.approx(loss(*up) - loss(*down), abs=1e-10)


def test_adagrad_divides_by_the_root_of_the_mean_squared_gradients():
    rng = np.random.default_rng(1)
    W, H, x = rng.standard_normal((2, 3)), rng.standard_normal((2, 3)), np.array([2.0, 0.0])
    moved, past = Factors(W.copy(), H.copy()), Factors(np.zeros((2, 1)), np.zeros((2, 1)))
    expected, total = W[0].copy(), 0.0
    for _ in range(3):
        gradient = 2.0 * (moved[1][1] - moved[1][0])
        total += np.mean(gradient**2)
        expected -= 0.1 * gradient / np.sqrt(total)
        step(Point(x[:1], np.array([0])), x @ moved.W, Violation(0, 1, 1.0), moved, past, 0.1)
        assert moved[0][0] == pytest.approx(expected, abs=1e-14)
    assert np.array_equal(moved[0][1], W[1])  # a feature that is 0 does not move


def test_the_expected_rank_estimate_is_that_of_the_enumerated_draws():
    """5 negatives, 2 above the margin: N is geometric with success 2/5, cut off after 5 draws."""
    z, H = np.ones(1), np.array([[9.0], [3.0], [1.0], [2.5], [0.0], [0.5]])
    is_positive = np.array([True, False, False, False, False, False])
    exact = sum((3 / 5) ** (draws - 1) * (2 / 5) * (5 // draws) for draws in range(1, 6))
    rng, runs = np.random.default_rng(2), 10_000
    for candidates in (np.empty(0, np.int64), np.array([1, 2, 3, 4, 5])):
        found = [find_violator(z, H, 2.0, candidates, is_positive, 5, rng) for _ in range(runs)]
        labels, ranks = map(np.array, zip(*found, strict=True))
        assert set(labels.tolist()) == {-1, 1, 3}
        assert np.mean(labels == -1) == pytest.approx(0.6**5, abs=4 * 0.27 / np.sqrt(runs))
        error = ranks.std() / np.sqrt(runs)
        assert ranks.mean() == pytest.approx(exact, abs=4 * error)  # four standard errors


def test_rank_weights_are_harmonic_numbers():
    assert rank_weights(4) == pytest.approx([0, 1, 1.5, 11 / 6, 25 / 12])


@pytest.mark.parametrize("schedule", ["adagrad", "constant"])
@pytest.mark.parametrize("max_norm", [0.3, 1.0])
def test_norms_never_exceed_the_radius(schedule, max_norm):
    X, Y = separable()
    model = WSABIEClassifier(
        4, schedule=schedule, max_norm=max_norm, epochs=3, random_state=0
    ).fit(X, Y)  # fmt: skip
    norms = np.concatenate([np.linalg.norm(F, axis=1) for F in (model.W_, model.H_)])
    assert norms.max() <= max_norm * (1 + 1e-12)  # rounding of one division
    assert norms.max() == pytest.approx(max_norm)  # the constraint is felt


@pytest.mark.parametrize(
    "options", [{}, {"schedule": "constant", "learning_rate": 0.02, "epochs": 100}]
)
def test_separable_labels_are_ranked_without_mistake(options):
    X, Y = separable()
    model = WSABIEClassifier(6, **{"max_norm": 10.0, "epochs": 60, "random_state": 0, **options})
    scores = model.fit(X, Y).decision_function(X)
    assert average_auc(Y, scores) == 1
    assert model.violations_[-1] < 0.05 < model.violations_[0]  # of the margin, that is


def test_same_seed_same_model_and_sparse_is_dense():
    X, Y = separable()
    X[X < 0] = 0
    one, two, other, cut = (
        WSABIEClassifier(4, epochs=2, random_state=seed).fit(points, Y)
        for seed, points in ((0, X), (0, X), (1, X), (0, sparse.csr_matrix(X)))
    )
    assert np.array_equal(one.W_, two.W_)
    assert np.array_equal(one.H_, cut.H_)
    assert np.abs(one.W_ - other.W_).max() > 0.1


def test_only_observed_labels_are_used():
    X, Y = separable()
    mask = np.random.default_rng(3).random(Y.shape) < 0.5
    flipped = np.where(mask, Y, 1 - Y)
    ours = [WSABIEClassifier(4, epochs=2, random_state=0).fit(X, y, mask) for y in (Y, flipped)]
    assert np.array_equal(ours[0].W_, ours[1].W_)
    pairs = Pairs.of(Labels.masked(Y, mask))
    labels, pointers, rows = pairs.labels, pairs.pointers, pairs.rows
    assert mask[rows, labels].all()
    assert Y[rows, labels].all()
    assert labels.size == (mask & (Y > 0)).sum()
    for i in range(len(X)):
        ends = pairs.negative_pointers[i : i + 2]
        own = pairs.negative_labels[slice(*ends)]
        assert np.array_equal(own, np.flatnonzero(mask[i] & (Y[i] == 0)))
        assert (rows[pointers[i] : pointers[i + 1]] == i).all()


def test_one_label_is_ranked_against_its_absence():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((80, 3))
    y = (X[:, 0] > 0.3).astype(int)
    model = WSABIEClassifier(2, epochs=30, random_state=0).fit(X, y)
    assert model.H_.shape == (2, 2)
    assert (model.predict(X) == y).mean() > 0.95  # separable up to the points near the boundary


def test_predictions_are_as_many_as_labels():
    X, Y = separable()
    model = WSABIEClassifier(4, random_state=0).fit(X, Y)
    assert model.predict(X).sum() == pytest.approx(Y.sum(), abs=1)  # a quantile of distinct scores


def test_rows_whose_labels_are_all_positive_or_all_negative_teach_nothing():
    X, Y = np.eye(4), np.array([[1, 1], [0, 0], [1, 1], [0, 0]])
    model = WSABIEClassifier(2, epochs=3, random_state=0).fit(X, Y)
    assert model.violations_ == [0.0] * 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rank": 0}, "`rank`"),
        ({"learning_rate": 0}, "`learning_rate` must be positive, got 0"),
        ({"schedule": "cosine"}, "`schedule`"),
        ({"max_norm": -1}, "`max_norm`"),
        ({"margin": -1}, "`margin`"),
        ({"epochs": 0}, "`epochs`"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        WSABIEClassifier(**{"rank": 2, **options}).fit(*separable())


def test_bibtex_is_at_least_as_good_as_print(data_file):
    """k/L = 40 %: 52.37, 30.05, 22.47, AUC 0.9092 in print."""
    train, test = read(data_file("bibtex")).split()
    model = WSABIEClassifier(64, epochs=5, random_state=0).fit(train.X, train.Y)
    found = evaluate_scores(test.Y, model.decision_function(test.X))
    # starts move top-1 by about half a point
    assert 100 * found.top_k[1] > 52.37 + 1
    assert 100 * found.top_k[5] > 22.47 + 1
    assert found.auc > 0.9092
