"""Sharp predictions against simulation and against limits known in closed form."""

import math

import numpy as np
import pytest

from leml_theory import predictions as sharp


def spectral_norms(d, variances, draws, rng):
    """Draw spectral norms of Gaussian matrices with the given column variances."""
    scales = np.sqrt(variances)
    return np.array(
        [np.linalg.norm(rng.normal(size=(d, scales.size)) * scales, 2) for _ in range(draws)]
    )


def heavy(share, size=64):
    """Return column variances with one heavy column."""
    return np.array([share] + [(1 - share) / (size - 1)] * (size - 1))


@pytest.mark.parametrize(
    ("d", "variances"),
    [
        (64, np.ones(64)),
        (32, np.ones(512)),
        (128, np.ones(16)),
        (64, np.linspace(0.5, 1.5, 64)),
        (64, heavy(0.2)),
        (64, heavy(0.8)),
        (64, np.arange(1, 65) ** -1.5),
    ],
    ids=["square", "wide", "tall", "uneven", "outlier", "strong outlier", "zipf"],
)
def test_spectral_norm_is_sharp(d, variances):
    norms = spectral_norms(d, variances, 300, np.random.default_rng(1))
    error = norms.std(ddof=1) / math.sqrt(norms.size)
    predicted = sharp.spectral_norm(d, variances)
    # The formulas leave terms of relative size 1/min(d, L): half a per cent at these sizes.
    assert abs(norms.mean() - predicted) <= 4 * error + 0.005 * predicted


def test_spectral_norm_tends_to_the_bulk_edge():
    predicted = sharp.spectral_norm(4000, np.ones(4000))
    # Tracy-Widom's mean shifts the edge 2 sqrt(d) by a share of 0.3 d^(-2/3) here
    assert predicted == pytest.approx(2 * math.sqrt(4000), rel=2e-3)
    assert predicted < 2 * math.sqrt(4000)


def test_spectral_norm_of_one_column_is_exact():
    expected = math.sqrt(2) * math.exp(math.lgamma(3.5) - math.lgamma(3)) * math.sqrt(0.7)
    assert sharp.spectral_norm(6, np.array([0.7])) == pytest.approx(expected, rel=1e-12)


def test_columns_without_points_count_for_nothing():
    with_zeros = np.concatenate([np.ones(20), np.zeros(7)])
    assert sharp.spectral_norm(30, with_zeros) == sharp.spectral_norm(30, np.ones(20))


def test_chi_mean_has_its_expansion():
    for degrees in (8, 64, 1024):
        # the next term of the expansion is 1/(32 degrees^2)
        assert sharp.chi_mean(degrees) == pytest.approx(1 - 1 / (4 * degrees), abs=1 / degrees**2)


def test_worst_frobenius_excess_is_0_3003():
    limit = sharp.worst_frobenius_excess(1, 10**6)
    assert limit == pytest.approx(0.3003, abs=5e-5)  # the four digits of the audit
    u = math.sqrt((math.sqrt(5) - 1) / 2)
    assert sharp.worst_frobenius_excess(100, 10**6) == pytest.approx(
        (u - u**2 / math.sqrt(1 + u**2)) / 10, rel=1e-4
    )


@pytest.mark.parametrize("size", [1, 2, 16, 400])
def test_planted_frobenius_excess_is_exact_at_every_size(size):
    rng = np.random.default_rng(2)
    shift = 0.786 * math.sqrt(size)
    noise = rng.normal(size=(40_000, size))
    noise[:, 0] += shift
    cosines = noise[:, 0] / np.linalg.norm(noise, axis=1)
    measured = 0.786 * (1 - cosines)
    error = measured.std(ddof=1) / math.sqrt(measured.size)
    predicted = sharp.planted_frobenius_excess(0.786, 1, size)
    assert abs(measured.mean() - predicted) <= 4 * error + 1e-4  # 1e-4: 200 quantile nodes


def test_planted_trace_excess_is_the_signal_below_the_transition():
    assert sharp.planted_trace_excess(0.9 / 100, 100, 100, 100) == 0.9 / 100
    above = sharp.planted_trace_excess(2 / 100, 100, 100, 100)
    # for d = L the limit is 1/(n L theta) above the transition
    assert above == pytest.approx(1 / (100 * 100 * 0.02), rel=1e-9)


def test_worst_trace_excess_saturates_in_the_number_of_labels():
    values = [sharp.worst_trace_excess(1, 8, n_labels) for n_labels in (8, 64, 2**20, 2**22)]
    assert values[0] == pytest.approx(8**-0.5)
    assert values[1] == pytest.approx(512**-0.25)
    # The limit of many labels; at L = 2^20 the rest is of the order sqrt(d/L) = 0.003.
    assert values[2:] == pytest.approx([0.300283 / math.sqrt(8)] * 2, rel=1e-3)
    assert values[2] > values[3] > 0.300283 / math.sqrt(8)


def test_worst_trace_excess_is_the_largest_over_all_signals():
    """Between the two ends the peak is beyond the transition: .1113 at d = 8, L = 1024."""
    assert sharp.worst_trace_excess(1, 8, 1024) == pytest.approx(0.1113, abs=5e-5)  # four digits
    for d, n_labels in ((8, 300), (8, 1024), (3, 5000), (64, 2), (500, 16)):
        strengths = np.geomspace((d * n_labels) ** -0.25, 8, 4001)
        excesses = [sharp.planted_trace_excess(t, 1, d, n_labels) for t in strengths]
        # A grid of steps of 0.2 % misses a smooth peak by the square of that.
        assert sharp.worst_trace_excess(1, d, n_labels) == pytest.approx(max(excesses), rel=1e-5)


@pytest.mark.parametrize(("d", "n_labels"), [(8, 1), (1, 8)])
def test_the_balls_coincide_with_one_label_or_one_feature(d, n_labels):
    """The excess at the worst signal, drawn; the former value was (dL)^(-1/4) = .59."""
    rng = np.random.default_rng(6)
    predicted = sharp.worst_trace_excess(1, d, n_labels)
    assert predicted == sharp.worst_frobenius_excess(1, 8)
    measured = []
    for theta in np.linspace(0.6, 1.0, 9):
        noise = rng.normal(size=(40_000, 8))
        noise[:, 0] += theta * math.sqrt(8)
        measured.append(float((theta * (1 - noise[:, 0] / np.linalg.norm(noise, axis=1))).mean()))
    # A cosine's standard deviation is below 0.3: 0.0015 over 40,000 draws, four of them.
    assert max(measured) == pytest.approx(predicted, abs=0.006)


@pytest.mark.parametrize(
    ("d", "variances"),
    [
        (4, np.ones(8)),
        (8, np.linspace(0.75, 1.25, 5)),
        (2, np.ones(16)),
        (12, heavy(0.2, 16)),
        (12, np.arange(1, 33) ** -1.0),
        (16, np.array([1.0, 1.0, *[0.1] * 30])),
    ],
    ids=["small", "ramp", "two rows", "one heavy", "zipf", "two heavy"],
)
def test_sharp_means_within_three_per_cent(d, variances):
    assert sharp.spectral_norm_is_sharp(d, variances)
    norms = spectral_norms(d, variances, 6000, np.random.default_rng(7))
    error = norms.std(ddof=1) / math.sqrt(norms.size)
    predicted = sharp.spectral_norm(d, variances)
    assert abs(norms.mean() - predicted) <= 4 * error + 0.03 * norms.mean()


@pytest.mark.parametrize(
    ("d", "variances"),
    [(2, np.ones(4)), (4, np.ones(4)), (2, heavy(0.2)), (4, heavy(0.1))],
)
def test_the_region_of_three_per_cent_is_not_too_small(d, variances):
    """What is called a limit is low by more than 3 %: 12, 5, 10 and 5.6 % here."""
    assert not sharp.spectral_norm_is_sharp(d, variances)
    norms = spectral_norms(d, variances, 6000, np.random.default_rng(8))
    error = norms.std(ddof=1) / math.sqrt(norms.size)
    assert sharp.spectral_norm(d, variances) < 0.97 * (norms.mean() - 4 * error)


def test_one_column_is_exact_at_every_size():
    assert sharp.spectral_norm_is_sharp(1, np.array([0.0, 2.0]))


def test_the_frobenius_norm_of_one_direction_is_a_limit():
    """E|g| = 0.798 for a standard normal g; the first correction gives 3/4."""
    assert not sharp.frobenius_norm_is_sharp(1.0, 10**6)
    assert sharp.frobenius_norm(1.0, 1.0, 10**9) / math.sqrt(10**9) == pytest.approx(0.75)
    assert sharp.frobenius_norm_is_sharp(0.25, 100)


def test_clipped_excess_grows_like_the_root_of_the_labels():
    n_labels = 4096
    n = math.ceil(n_labels**2 * math.log(n_labels**2 / 2))
    excess = sharp.clipped_excess(n, n_labels, math.sqrt(n_labels / n))
    # 2 Phi(-1) = 0.3173; each label's count of 65,000 leaves a share of 0.4 %
    assert excess * math.sqrt(n / n_labels) == pytest.approx(0.3173, rel=5e-3)


def test_clipped_excess_is_exact_for_few_points():
    """One label, three points: the majority is wrong with probability q^3 + 3 q^2 p."""
    bias = 0.4
    p, q = (1 + bias) / 2, (1 - bias) / 2
    assert sharp.clipped_excess(3, 1, bias) == pytest.approx(2 * bias * (q**3 + 3 * q**2 * p))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sharp.spectral_norm(0, np.ones(2)), "at least 1"),
        (lambda: sharp.spectral_norm(2, np.zeros(2)), "not all zero"),
        (lambda: sharp.spectral_norm(2, -np.ones(2)), "negative"),
        (lambda: sharp.planted_trace_excess(-1.0, 1, 1, 1), "not be negative"),
        (lambda: sharp.chi_mean(0.0), "positive"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_planted_trace_excess_is_the_overlap_of_singular_vectors():
    """For d other than L, against the singular vectors of a large Gaussian matrix."""
    d, n_labels, n = 300, 600, 10**6
    rng = np.random.default_rng(3)
    theta = 2.2 * (d * n_labels) ** -0.25 / math.sqrt(n)
    overlaps = []
    for _ in range(12):
        V = rng.normal(size=(d, n_labels)) / math.sqrt(n * d * n_labels)
        V[0] += theta / math.sqrt(n_labels)
        U, _, Vt = np.linalg.svd(V, full_matrices=False)
        overlaps.append(U[0, 0] * Vt[0].sum() / math.sqrt(n_labels))
    measured = theta * (1 - np.array(overlaps))
    error = measured.std(ddof=1) / math.sqrt(measured.size)
    predicted = sharp.planted_trace_excess(theta, n, d, n_labels)
    # the limit leaves terms of 1/min(d, L)
    assert abs(measured.mean() - predicted) <= 4 * error + predicted / 300


def test_clipped_excess_counts_ties_by_half():
    """One label, two points: both wrong with q^2, a tie with 2 p q."""
    bias = 0.4
    p, q = (1 + bias) / 2, (1 - bias) / 2
    assert sharp.clipped_excess(2, 1, bias) == pytest.approx(2 * bias * (q**2 + p * q))


def test_half_integers_correct_the_size():
    """At (8, 8) they move the prediction by two per cent; 4000 draws tell that apart."""
    norms = spectral_norms(8, np.ones(8), 4000, np.random.default_rng(4))
    plain = math.sqrt(8) * 2 * (1 - 1.2065 * 2 ** (4 / 3) / 8 ** (2 / 3) / 4 / 2)
    predicted = sharp.spectral_norm(8, np.ones(8))
    assert abs(norms.mean() - predicted) < abs(norms.mean() - plain)
    assert abs(norms.mean() / predicted - 1) < 0.02  # what is left of order 1/8^2


def test_predictions_for_worlds_too_large_to_draw_are_refused():
    """Memory filled up first, or numpy said 'Maximum allowed dimension exceeded'."""
    for d, L in ((32, 10**8), (10**5, 2), (2**64, 3)):
        with pytest.raises(ValueError, match="`n_features` times itself or `n_labels`"):
            sharp.predict(100, d, L)
