"""The bound for a rank: never too large, tight where theory says so, and what becomes of it."""

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.certificate import best_of_starts, random_problem
from leml_solver import (
    AlternatingOptions,
    FitStatus,
    LEMLClassifier,
    LEMLRegressor,
    Problem,
    RankSearch,
    fit_factors,
    load_model,
    minimise_rank,
    save_model,
)
from leml_solver._factored import certificate as spectral_norm
from leml_solver._factored import rank_ascent
from leml_solver._factored.rank_ascent import Frame, largest_shrinking, search_rank, spectral_map
from leml_solver._factored.rank_bound import FullData, cheapest_bound, rank_bound
from leml_solver.algorithms import PLAIN, fit_kernel_factors

X_SPURIOUS, Y_SPURIOUS = np.diag([1.0, 3.0]), np.diag([3.0, 13 / 6])
SECOND_AXIS = np.array([[0.0], [1.0]])


def _data(n=40, d=6, L=5, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    Y = X @ rng.standard_normal((d, 2)) @ rng.standard_normal((2, L))
    return X, Y + noise * rng.standard_normal((n, L)) + 1.0


def _full(X, Y, intercept=False):
    return FullData.of(Problem("squared", X, Y), intercept)


def _objective(X, Y, Z, penalty):
    return 0.5 * np.square(Y - X @ Z).sum() + penalty * np.linalg.svd(Z, compute_uv=False).sum()


def _check_random(seeds):
    """Return relative gaps to the best known point; no bound may be above it."""
    gaps = []
    for seed in seeds:
        problem = random_problem(seed)
        found, best = minimise_rank(*problem).certificate, best_of_starts(*problem)
        assert found.rank_lower_bound <= best * (1 + 1e-12), seed  # objectives are rounded
        gaps.append((min(best, found.objective) - found.rank_lower_bound) / found.scale)
    return np.array(gaps)


def test_no_bound_is_above_the_best_of_many_starts():
    gaps = _check_random(range(1000, 1008))
    # Of 500 such problems all but a few are tight (the long test below); most of eight must be.
    assert np.sum(gaps < 1e-6) >= 6


@pytest.mark.long
def test_five_hundred_bounds_are_valid_and_nearly_all_are_tight():
    gaps = _check_random(range(500))
    assert np.mean(gaps <= 1e-4) >= 0.95


@pytest.mark.parametrize("block", [4, 50])  # entries: less than a row of X and Y, four rows
def test_blocks_of_rows_are_all_rows(block, monkeypatch):
    monkeypatch.setattr("leml_solver._factored.rank_bound._BLOCK", block)
    X, Y = _data()
    parts = list(_full(X, Y).blocks())
    assert len(parts) == {4: 40, 50: 10}[block]
    assert np.array_equal(np.vstack([np.hstack(part) for part in parts]), np.hstack([X, Y]))


@pytest.mark.parametrize("seed", range(5))
def test_every_candidate_bounds_every_point_of_the_rank(seed):
    """Weak duality for candidates and points at random, not only for those of the ascent."""
    rng = np.random.default_rng(seed)
    X, Y = _data(seed=seed)
    C = np.linalg.lstsq(X, Y)[0] + 0.05 * rng.standard_normal((6, 5))
    for rank in (1, 2, 4):
        bound = rank_bound(_full(X, Y), C, rank)
        penalty = bound.norm  # the smallest for which the candidate is feasible
        exact = 0.5 * np.square(Y).sum()
        exact -= 0.5 * np.square(np.linalg.svd(X @ C, compute_uv=False)[:rank]).sum()
        assert bound.value <= exact
        assert bound.value == pytest.approx(exact, rel=1e-9)  # rounding, 4 (n + d + L) of it
        assert bound.norm == pytest.approx(np.linalg.norm(X.T @ (Y - X @ C), 2), rel=1e-6)
        for size in (0.01, 0.3, 1.0, 3.0):
            Z = rng.standard_normal((6, rank)) @ rng.standard_normal((rank, 5)) * size
            assert _objective(X, Y, Z, penalty) >= bound.value


def _exact_means(values, intercept):
    mean = sum(values) / len(values) if intercept else Fraction(0)
    return [value - mean for value in values]


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_rounding_is_allowed_for_in_exact_arithmetic(size, intercept):
    """One feature, one label: the gradient is made nearly to cancel, so that rounding is all."""
    rng = np.random.default_rng(24)
    for _ in range(10):
        x, y = size * rng.normal(size=(60, 1)) + size, rng.normal(size=(60, 1)) - 1
        slope = np.linalg.lstsq(x - intercept * x.mean(), y - intercept * y.mean())[0]
        exact_x = _exact_means([Fraction(float(v)) for v in x[:, 0]], intercept)
        exact_y = _exact_means([Fraction(float(v)) for v in y[:, 0]], intercept)
        c = Fraction(float(slope[0, 0]))
        gradient = sum(a * (b - a * c) for a, b in zip(exact_x, exact_y, strict=True))
        squares = [sum(v * v for v in values) for values in (exact_x, exact_y)]
        bound = rank_bound(_full(x, y, intercept), slope, 1)
        assert Fraction(bound.norm) >= abs(gradient)
        value = (squares[1] - c * c * squares[0]) / 2
        assert Fraction(bound.value) <= value
        assert bound.value == pytest.approx(float(value), rel=1e-10)  # no more than roundings


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("step", [0.1, 1.0, 10.0])
def test_the_proximal_map_of_the_largest_squares_is_optimal(rank, step):
    rng = np.random.default_rng(rank)
    for y in (rng.random(5), np.array([1.0, 1.0, 1.0, 0.5, 0.0]), np.array([2.0, 1.9, 0, 0, 0])):

        def value(z, y=y):
            largest = np.sort(np.square(z))[-rank:].sum()
            return 0.5 * np.square(z - y).sum() + 0.5 * step * largest

        z = y * largest_shrinking(y, rank, step)
        moves = rng.standard_normal((200, 5)) * 10 ** rng.uniform(-6, 0, (200, 1))
        # The function is strongly convex: at its minimum every move costs half its square.
        for move in moves:
            assert value(z + move) >= value(z) + 0.49 * np.square(move).sum() - 1e-15


def test_a_spectral_map_acts_on_singular_values():
    A = np.random.default_rng(0).standard_normal((4, 7))
    for B in (A, A.T):
        U, sigma, Vt = np.linalg.svd(B, full_matrices=False)
        assert spectral_map(B, np.exp) == pytest.approx((U * sigma * np.exp(sigma)) @ Vt)


def test_the_frame_has_the_same_objective_and_updates_descend():
    X, Y = _data()
    frame, rng = Frame.of(_full(X, Y)), np.random.default_rng(0)
    W, H = rng.standard_normal((6, 2)), rng.standard_normal((5, 2))
    outside = 0.5 * np.square(Y - X @ W @ H.T).sum() + 0.35 * (np.sum(W**2) + np.sum(H**2))
    values = [frame.objective(frame.V.T @ W, H, 0.7)]
    assert values[0] == pytest.approx(outside, rel=1e-12)
    for steps in (1, 2, 100):
        values.append(frame.objective(*frame.alternated(frame.V.T @ W, H, 0.7, steps), 0.7))
    assert values == sorted(values, reverse=True)
    fit = fit_factors(X, Y, rank=2, penalty=0.7, options=AlternatingOptions(max_iter=500, tol=0.0))
    assert values[-1] == pytest.approx(fit.objective, rel=1e-10)  # 100 and 500 exact steps


def test_the_global_minimum_is_found_where_alternating_minimisation_stops_elsewhere():
    found = minimise_rank(X_SPURIOUS, Y_SPURIOUS, 1, 1.0)
    # The gap is a bound on the objective; it is quadratic in Z around the minimum.
    assert np.abs(found.Z - np.diag([2.0, 0.0])).max() < 1e-4
    assert found.certificate.objective == pytest.approx(0.5 + 2 + 0.5 * (13 / 6) ** 2, rel=1e-12)
    assert -1e-14 < found.certificate.rank_gap < 1e-8
    assert found.status is FitStatus.BEST_OF_RANK
    assert found.certificate.relative_gap > 0.2  # and the rank costs that much


@pytest.mark.parametrize("restart", [False, True])
def test_a_fit_at_a_spurious_minimum_is_told_so(restart):
    options = AlternatingOptions(
        start=(SECOND_AXIS, SECOND_AXIS),
        max_iter=500,
        tol=1e-14,
        certify="rank",
        rank_search=RankSearch(restart=restart),
    )
    fit = fit_factors(X_SPURIOUS, Y_SPURIOUS, rank=1, penalty=1.0, options=options)
    plain = fit_factors(
        X_SPURIOUS,
        Y_SPURIOUS,
        rank=1,
        penalty=1.0,
        options=AlternatingOptions(start=(SECOND_AXIS, SECOND_AXIS), max_iter=500, tol=1e-14),
    )
    assert plain.certificate.rank_gap is None
    if restart:
        assert fit.status is FitStatus.BEST_OF_RANK
        assert fit.objective == pytest.approx(4.847222, abs=1e-6)
        assert fit.iterations == plain.iterations + 1
    else:
        assert fit.status is FitStatus.NOT_BEST_OF_RANK
        assert np.array_equal(fit.Z, plain.Z)
        assert fit.certificate.rank_gap == pytest.approx(31 / 6 - 4.847222, abs=1e-5)


def test_a_search_that_finds_nothing_better_adds_no_iteration():
    X, Y = _data()
    settings = {"max_iter": 3, "tol": 0.0, "method": PLAIN}  # not balanced: equal to the last bit
    search = RankSearch(max_steps=0, restart=True)
    searched = AlternatingOptions(**settings, certify="rank", rank_search=search)
    one, other = (
        fit_factors(X, Y, rank=2, penalty=1.0, options=options)
        for options in (searched, AlternatingOptions(**settings))
    )
    assert one.certificate.rank_lower_bound is not None
    assert one.iterations == other.iterations == 3
    assert np.array_equal(one.W, other.W)


def test_a_tie_of_two_minimisers_need_not_be_a_gap():
    found = minimise_rank(X_SPURIOUS, np.diag([3.0, 7 / 3]), 1, 1.0).certificate
    assert found.objective == pytest.approx(5.222222, abs=1e-6)
    assert found.rank_relative_gap < 1e-8


def test_a_true_gap_is_left_open():
    """The envelope is not exact here: two singular values of the dual tie, its Z has rank 3."""
    X = np.diag([1.0, 2.0, 5.0])
    Y = [
        [3.19686, -0.378261, -0.208337],
        [0.127608, 2.753377, 0.033071],
        [0.29844, -0.23171, 2.23704],
    ]
    problem = X, np.array(Y), 2, 1.2693158599
    found = minimise_rank(*problem)
    assert 2e-4 < found.certificate.rank_relative_gap < 3e-4
    assert found.certificate.objective == pytest.approx(best_of_starts(*problem), rel=1e-9)
    assert found.status is not FitStatus.BEST_OF_RANK


def _stationary(rank, noise, penalty=0.5, seed=0):
    """Return data and a stationary point of alternating minimisation."""
    X, Y = _data(seed=seed, noise=noise)
    Y = Y - 1.0
    options = AlternatingOptions(max_iter=3000, tol=0.0)
    return X, Y, fit_factors(X, Y, rank=rank, penalty=penalty, options=options), penalty


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("noise", [0.1, 1.0])
def test_the_theorem_for_stationary_points(rank, noise):
    X, Y, fit, penalty = _stationary(rank, noise)
    U = np.linalg.svd(X, full_matrices=False)[0]
    V, P = np.linalg.qr(fit.H)[0], U @ U.T
    residual, B = Y - X @ fit.Z, P @ Y @ (np.eye(5) - V @ V.T)
    D = Y - P @ Y + P @ residual @ V @ V.T
    # Feasible unscaled; after 3000 steps the fit is stationary to six digits or better.
    assert np.linalg.norm(X.T @ D, 2) == pytest.approx(penalty, rel=1e-5)
    inside, outside = (np.linalg.svd(M, compute_uv=False) for M in (X @ fit.Z, B))
    largest = np.sort(np.concatenate([inside, outside]))[::-1][:rank]
    value = 0.5 * np.square(Y).sum() - 0.5 * np.square(largest).sum()
    direct = np.linalg.svd(Y - D, compute_uv=False)[:rank]
    assert value == pytest.approx(0.5 * np.sum(Y**2) - 0.5 * np.sum(direct**2), rel=1e-6)
    if outside[0] <= inside[rank - 1]:
        assert value == pytest.approx(fit.certificate.objective, rel=1e-6)
    else:
        assert value < fit.certificate.objective


def test_the_cheapest_candidate_proves_what_the_theorem_says():
    X, Y, fit, penalty = _stationary(2, 0.1)
    V = np.linalg.qr(fit.H)[0]
    outside = np.linalg.norm(X @ np.linalg.lstsq(X, Y)[0] @ (np.eye(5) - V @ V.T), 2)
    assert outside < np.linalg.svd(X @ fit.Z, compute_uv=False)[1]
    data, objective = _full(X, Y), fit.certificate.objective
    bound = cheapest_bound(data, fit.W, fit.H, penalty)
    assert bound.norm <= penalty
    # The ridge in place of a projection costs a square of a twentieth of the penalty at most.
    assert objective - 3e-3 * penalty * fit.trace_norm <= bound.value <= objective * (1 + 1e-12)


@pytest.mark.parametrize("iterations", [1, 3, 30])
@pytest.mark.parametrize("intercept", [False, True])
def test_the_cheapest_candidate_is_valid_before_the_fit_is_stationary(iterations, intercept):
    X, Y = _data(noise=1.0)
    best = minimise_rank(X, Y, 2, 3.0, intercept=intercept).certificate.objective
    options = AlternatingOptions(max_iter=iterations, tol=0.0, start="normal", intercept=intercept)
    fit = fit_factors(X, Y, rank=2, penalty=3.0, options=options)
    bound = cheapest_bound(_full(X, Y, intercept), fit.W, fit.H, 3.0)
    assert bound.norm <= 3.0
    assert 0.4 * best < bound.value <= best


def test_steps_of_zero_take_the_cheapest_candidate_and_keep_the_fit():
    X, Y, fit, penalty = _stationary(2, 0.1)
    options = AlternatingOptions(
        max_iter=3000, tol=0.0, certify="rank", rank_search=RankSearch(max_steps=0)
    )
    again = fit_factors(X, Y, rank=2, penalty=penalty, options=options)
    assert np.array_equal(again.Z, fit.Z)
    certificate = again.certificate
    assert 0 < certificate.rank_relative_gap < 1e-3
    assert certificate.lower_bound < certificate.rank_lower_bound  # the rank has its price


def test_norms_of_large_problems_state_their_failure_probability(monkeypatch):
    monkeypatch.setattr(spectral_norm, "EXACT_SIDE", 10)
    X, Y = _data(n=120, d=80, L=70)
    fit = fit_factors(X, Y, rank=3, penalty=5.0, options=AlternatingOptions(max_iter=200, tol=0.0))
    data = _full(X, Y)
    bounds = cheapest_bound(data, fit.W, fit.H, 5.0), rank_bound(data, fit.Z, 3)
    assert bounds[0].failure_probability == 2e-9  # two norms
    assert bounds[1].failure_probability == 1e-9
    monkeypatch.setattr(spectral_norm, "EXACT_SIDE", 1000)
    assert cheapest_bound(data, fit.W, fit.H, 5.0).value >= bounds[0].value


def test_an_intercept_is_the_problem_with_centred_data():
    X, Y = _data()
    one = minimise_rank(X, Y, 2, 2.0, intercept=True)
    two = minimise_rank(X - X.mean(axis=0), Y - Y.mean(axis=0), 2, 2.0)
    assert one.certificate.rank_relative_gap < 1e-8
    assert one.certificate.objective == pytest.approx(two.certificate.objective, rel=1e-8)
    assert one.certificate.rank_lower_bound == pytest.approx(
        two.certificate.rank_lower_bound, rel=1e-7
    )
    scores = one.scores(X)
    losses = 0.5 * np.square(Y - scores).sum() + 2.0 * one.trace_norm
    assert losses == pytest.approx(one.certificate.objective, rel=1e-12)
    without = minimise_rank(X, Y, 2, 2.0).certificate
    assert without.objective > one.certificate.objective * 1.05  # the labels have mean 1


def test_the_kernel_form_is_the_linear_one_for_a_linear_kernel():
    X, Y = _data(n=25)
    options = AlternatingOptions(certify="rank", rank_search=RankSearch(tol=1e-9))
    made = fit_kernel_factors(X @ X.T, Y, rank=2, penalty=2.0, options=options).fit.certificate
    linear = minimise_rank(X, Y, 2, 2.0).certificate
    assert made.rank_relative_gap < 1e-8
    assert made.rank_lower_bound == pytest.approx(linear.rank_lower_bound, rel=1e-7)
    # A kernel of full rank, where nothing of Y is out of reach.
    squares = np.square(X).sum(axis=1)
    K = np.exp(-0.2 * (squares[:, None] + squares - 2 * X @ X.T))
    full = fit_kernel_factors(K, Y, rank=2, penalty=1.0, options=options).fit.certificate
    assert full.rank_relative_gap < 1e-8


@pytest.mark.parametrize("shape", [(8, 30, 5), (30, 8, 12), (12, 12, 1)])
@pytest.mark.parametrize("intercept", [False, True])
def test_wide_and_degenerate_problems_are_solved(shape, intercept):
    n, d, L = shape
    X, Y = _data(n, d, L)
    X[:, -1] = X[:, 0]  # not of full rank
    found = minimise_rank(sp.csr_matrix(X), sp.csr_matrix(Y), 2, 0.5, intercept=intercept)
    assert found.certificate.rank_relative_gap < 1e-8
    assert found.W.shape == (d, 2)


def test_a_rank_that_does_not_bind_gives_the_convex_minimum():
    X, Y = _data()
    found = minimise_rank(X, Y, 9, 5.0).certificate
    assert found.relative_gap < 1e-6
    assert found.rank_relative_gap <= found.relative_gap + 1e-12  # what is allowed for rounding


@pytest.mark.parametrize("steps", [0, 40])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("which", ["features", "labels", "all but one row"])
def test_nothing_to_learn_is_certified(which, intercept, steps):
    X, Y = _data()
    X, Y = {"features": (0 * X, Y), "labels": (X, 0 * Y), "all but one row": (X[:1], Y[:1])}[which]
    search = RankSearch(max_steps=steps)
    found = minimise_rank(X, Y, 2, 1.0, intercept=intercept, search=search).certificate
    assert found.rank_relative_gap < 1e-5  # the start has not converged where there are no steps
    assert found.rank_lower_bound <= found.objective


def test_a_penalty_above_the_gradient_leaves_nothing():
    X, Y = _data()
    found = minimise_rank(X, Y, 2, 1.01 * np.linalg.norm(X.T @ Y, 2))
    assert np.abs(found.Z).max() < 1e-6
    assert found.certificate.rank_relative_gap < 1e-8


@pytest.mark.parametrize("steps", [0, 40])
def test_sparse_labels_are_never_made_dense(steps):
    """A whole n x L array would be 48 MB; what is held is d x L, and blocks of rows of it."""
    rng = np.random.default_rng(0)
    X = sp.random(20_000, 20, 0.2, format="csr", rng=rng)
    Y = sp.random(20_000, 300, 0.01, format="csr", rng=rng)
    data = _full(X, Y, True)
    W, H = rng.standard_normal((20, 2)), rng.standard_normal((300, 2))
    search_rank(data, W, H, 1.0, RankSearch(max_steps=1), progress=False)  # compiles
    tracemalloc.start()
    found = search_rank(data, W, H, 1.0, RankSearch(max_steps=steps), progress=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.bound is not None
    assert found.bound.norm <= 1.0
    assert peak < 24e6


def test_data_too_large_for_the_ascent_get_the_cheapest_bound(monkeypatch):
    X, Y, fit, penalty = _stationary(2, 0.1)
    data = _full(X, Y)
    cheap = cheapest_bound(data, fit.W, fit.H, penalty)
    for name in ("_LARGEST_SIDE", "_LARGEST_SIZE", "_LARGEST_WORK"):
        with monkeypatch.context() as patch:
            patch.setattr(rank_ascent, name, 4)
            found = search_rank(data, fit.W, fit.H, penalty, RankSearch(), progress=False)
        assert found.bound == cheap
        assert found.improvement == 0
    monkeypatch.setattr("leml_solver._factored.rank_bound._CANDIDATE_SIZE", 4)
    assert cheapest_bound(data, fit.W, fit.H, penalty) is None


def test_time_ends_a_search_with_a_valid_bound():
    X, Y = _data(noise=1.0)
    best = minimise_rank(X, Y, 2, 1.0).certificate
    short = RankSearch(tol=0.0, seconds=1e-9)
    fit = minimise_rank(X, Y, 2, 1.0, search=short)
    assert 0 < fit.certificate.rank_lower_bound <= best.objective
    assert fit.certificate.rank_lower_bound <= best.rank_lower_bound + 1e-8 * best.scale


def test_the_gap_asked_for_ends_a_search(monkeypatch):
    looks = []
    look = rank_ascent.Ascent.look
    monkeypatch.setattr(rank_ascent.Ascent, "look", lambda self: (looks.append(1), look(self)))
    X, Y = _data(n=60, d=20, L=15, noise=2.0)
    counts = []
    for tol in (1.0, 1e-3, 1e-9):
        looks.clear()
        fit = minimise_rank(X, Y, 3, 1.0, search=RankSearch(tol=tol))
        assert fit.status is FitStatus.BEST_OF_RANK
        counts.append(len(looks))
    assert counts[0] == 1 <= counts[1] <= counts[2]


def test_progress_is_shown(capfd):
    X, Y = _data()
    minimise_rank(X, Y, 2, 1.0, progress=True)
    assert "gap=" in capfd.readouterr().err


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_other_losses_are_refused(loss):
    X, Y = _data()
    with pytest.raises(ValueError, match=rf"needs the squared loss.*got the loss {loss}: no bound"):
        fit_factors(
            X,
            (Y > 1).astype(float),
            rank=2,
            penalty=1.0,
            loss=loss,
            options=AlternatingOptions(certify="rank"),
        )


def test_missing_labels_are_refused():
    X, Y = _data()
    Y[0, 0] = np.nan
    with pytest.raises(ValueError, match=r"squared, labels missing or .*take certify=True"):
        minimise_rank(X, Y, 2, 1.0)


def test_weights_of_labels_are_not_called_missing_labels():
    X, Y = _data()
    model = LEMLClassifier(2, penalty=1.0, class_weight="balanced", certify="rank")
    with pytest.raises(ValueError, match="labels missing or weighted one by one"):
        model.fit(X, Y > 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AlternatingOptions(certify="best"), "`certify` must be one of"),
        (lambda: RankSearch(tol=-1), "`tol` must"),
        (lambda: RankSearch(max_steps=-1), "`max_steps` must"),
        (lambda: RankSearch(seconds=0), "`seconds` must"),
        (lambda: RankSearch(restart=2), "`restart` must"),
    ],
)
def test_bad_settings_are_refused(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()


def test_estimators_pass_the_wish_on(tmp_path):
    X, Y = _data()
    labels = (Y > 1).astype(int)
    model = LEMLClassifier(2, penalty=2.0, certify="rank", random_state=0).fit(X, labels)
    assert model.certificate_.rank_relative_gap < 1e-6 < model.certificate_.relative_gap
    assert model.status_ is FitStatus.BEST_OF_RANK
    save_model(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.certificate_ == model.certificate_
    assert again.certify == "rank"
    assert LEMLRegressor(2, certify=False).fit(X, Y).certificate_ is None
    quiet = AlternatingOptions(certify=False)
    assert LEMLRegressor(2, options=quiet).fit(X, Y).certificate_ is None
    assert LEMLRegressor(2, certify=True, options=quiet).fit(X, Y).certificate_.rank_gap is None


def test_single_precision_features_are_certified_as_they_are():
    X, Y = _data()
    options = AlternatingOptions(certify="rank")
    fit = fit_factors(X.astype(np.float32), Y, rank=2, penalty=1.0, options=options)
    exact = minimise_rank(X.astype(np.float32).astype(float), Y, 2, 1.0).certificate
    assert fit.W.dtype == np.float32
    assert fit.certificate.rank_lower_bound <= exact.objective
    assert 0 <= fit.certificate.rank_relative_gap < 1e-5  # single precision of the factors


def test_a_bound_on_real_data_is_tight(data_file):
    from leml_solver.readers import read

    data = read(data_file("emotions"))
    data = data.rows(data.splits["train_idx"])
    X = data.X / np.sqrt(data.X.multiply(data.X).sum() / data.X.shape[0])
    found = minimise_rank(X, data.Y.astype(float), 2, 0.1).certificate
    assert found.rank_relative_gap < 1e-6 < 0.01 < found.relative_gap  # what rank 2 costs


def test_a_point_of_the_ascent_beyond_the_penalty_is_drawn_back():
    """A bound holds only where the norm of its G is at most the penalty."""
    rng = np.random.default_rng(0)
    X, Y, penalty = rng.normal(size=(30, 6)), rng.normal(size=(30, 5)), 2.0
    data = FullData.of(Problem("squared", X, Y), False)
    frame, W, H = Frame.of(data), rng.normal(size=(6, 2)), rng.normal(size=(5, 2))
    ascent = rank_ascent.Ascent(frame, *frame.balanced(frame.V.T @ W, H), penalty)
    for _ in range(20):
        ascent.step()
        ascent.look()
    ascent.best_G = 1.5 * ascent.best_G
    assert rank_ascent._proved(data, ascent).norm <= penalty


def test_no_gap_is_negative_where_the_rank_does_not_bind():
    """The bound over all ranks has no allowance for rounding: 12 of these 300 were above 0."""
    for seed in range(300):
        rng = np.random.default_rng(seed)
        n, d, L = rng.integers(2, 12), rng.integers(1, 6), rng.integers(1, 6)
        X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-2, 2, size=d)
        Y, penalty = rng.normal(size=(n, L)), 10.0 ** rng.uniform(-6, 1)
        found = minimise_rank(X, Y, min(d, L), penalty, intercept=bool(seed % 2))
        assert found.certificate.rank_gap >= 0


def test_labels_that_are_all_zero_have_a_certificate():
    """A penalty of 1e6 relative to nothing was an infinite ridge."""
    found = minimise_rank(np.eye(4, 3), np.zeros((4, 2)), 1, 1e6)
    assert not found.W.any() or not found.H.any()
    assert found.certificate.rank_gap >= 0
