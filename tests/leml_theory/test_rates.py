"""Slopes, their standard errors, and the tests that declare a violation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leml_theory.sweep.rates import (
    curve_slope,
    exceeds,
    exceeds_too_often,
    family_t,
    family_z,
    local_slopes,
    log_log_slope,
    undecided,
)

X = np.array([10.0, 30.0, 100.0, 1000.0])


@given(slope=st.floats(-3, 3), scale=st.floats(1e-3, 1e3), noise=st.floats(1e-4, 0.3))
def test_an_exact_power_law_is_recovered(slope, scale, noise):
    value = scale * X**slope
    fit = log_log_slope(X, value, noise * value)
    assert fit.slope == pytest.approx(slope, abs=1e-9)
    # Equal relative errors: the textbook standard error of a slope.
    assert fit.stderr == pytest.approx(noise / (np.log(X).std() * 2), rel=1e-9)


def test_standard_error_matches_the_spread_of_fits():
    rng = np.random.default_rng(1)
    value, stderr = 3 * X**-0.5, 3 * X**-0.5 * np.array([0.01, 0.03, 0.02, 0.01])
    noisy = value + stderr * rng.normal(size=(4000, 4))
    fits = [log_log_slope(X, row, stderr) for row in noisy]
    slopes, expected = np.array([fit.slope for fit in fits]), fits[0].stderr
    # 4000 fits: the mean is known to 1.6 % of the standard error, the spread to 1.1 %;
    # five of each, and the bias of the logarithm.
    assert abs(slopes.mean() + 0.5) < 0.08 * expected + 1e-3 * 0.5
    assert slopes.std() == pytest.approx(expected, rel=0.06)


def test_a_precise_point_outweighs_a_vague_one():
    value = np.array([1.0, 0.1, 5.0])
    fit = log_log_slope([1, 10, 100], value, [1e-6, 1e-7, 10.0])
    assert fit.slope == pytest.approx(-1, abs=1e-6)


def test_differs_counts_standard_errors():
    fit = log_log_slope(X, X**-0.5, 0.01 * X**-0.5)
    assert fit.differs(fit.slope + 3.1 * fit.stderr)
    assert not fit.differs(fit.slope + 2.9 * fit.stderr)


def test_local_slopes_follow_a_bend():
    x = np.array([100.0, 1.0, 10.0])
    value = np.where(x <= 10, 1 / x, 0.1 * np.sqrt(10 / x))
    first, second = local_slopes(x, value, 0.01 * value)
    assert (first.slope, second.slope) == pytest.approx((-1, -0.5))
    assert first.stderr == pytest.approx(0.01 * math.sqrt(2) / math.log(10))
    assert local_slopes([1.0], [1.0], [0.1]) == ()


def test_curve_slope_uses_the_weights_of_the_measurement():
    curve = 1 / X + 0.01
    steep = curve_slope(X, curve, [1e-3, 1e-3, 1.0, 1.0])
    flat = curve_slope(X, curve, [1.0, 1.0, 1e-3, 1e-3])
    assert steep == pytest.approx(math.log(curve[1] / curve[0]) / math.log(3), abs=1e-3)
    assert steep < flat < 0


@pytest.mark.parametrize(
    ("x", "value", "stderr", "message"),
    [
        ([1, 2], [1, 0], [1, 1], "`value` must be positive everywhere for a logarithmic fit, got"),
        ([1, 2], [1, 1], [1, 0], "`stderr` must be positive"),
        ([2, 2], [1, 1], [1, 1], "at least two different values"),
        ([1, 2, 3], [1, 1], [1, 1], r"one size, got \[3, 2, 2\]"),
        ([1, 2], [1, math.nan], [1, 1], "`value` must be finite"),
    ],
)
def test_bad_input_to_a_fit(x, value, stderr, message):
    with pytest.raises(ValueError, match=message):
        log_log_slope(x, value, stderr)


def test_family_z():
    assert family_z(1, 0.025) == pytest.approx(1.95996, abs=1e-5)
    assert family_z(1) == pytest.approx(4.7534, abs=1e-4)
    assert family_z(10_000) > family_z(100) > family_z(1)


def test_exceeds():
    assert exceeds(1.1, 0.01, 1.0, z=5)
    assert not exceeds(1.04, 0.01, 1.0, z=5)
    assert not exceeds(1 + 1e-13, 0.0, 1.0, z=5)
    assert exceeds(1 + 1e-8, 1e-10, 1.0, z=5)
    assert not exceeds(1e9, 0.0, math.inf, z=5)
    with pytest.raises(ValueError, match="`stderr` must not be negative"):
        exceeds(1.0, -1.0, 1.0, z=5)


def test_false_alarms_have_the_level():
    rng = np.random.default_rng(2)
    z = family_z(1, 0.01)
    alarms = sum(exceeds(mean, 1.0, 0.0, z) for mean in rng.normal(size=20_000))
    # Binomial with mean 200 and standard deviation 14: five of them.
    assert abs(alarms - 200) < 70


def test_exceeding_too_often():
    assert not exceeds_too_often(60, 1000, 0.05)
    assert exceeds_too_often(120, 1000, 0.05)
    # one exceedance in one trial has the probability delta
    assert exceeds_too_often(1, 1, 0.05, level=0.051)
    assert not exceeds_too_often(1, 1, 0.05, level=0.049)
    assert not exceeds_too_often(1, 1, 0.05, level=0.051, n_tests=2)
    assert not exceeds_too_often(0, 10, 0.05, level=0.999)
    with pytest.raises(ValueError, match=r"`exceedances` must lie in \[0, 10\], got 11"):
        exceeds_too_often(11, 10, 0.05)


def test_few_draws_do_not_cry_wolf():
    """Two draws once made 24 false alarms in 300; Student's quantile makes none."""
    rng = np.random.default_rng(12)
    for draws in (2, 3, 5, 8):
        values = rng.normal(size=(2000, draws))
        z = family_t(100, draws)
        stderr = values.std(axis=1, ddof=1) / np.sqrt(draws)
        alarms = sum(
            exceeds(m, s, 0.0, z) for m, s in zip(values.mean(axis=1), stderr, strict=True)
        )
        # the chance of a single one among 2000 is 2000 * 1e-8
        assert alarms == 0


def test_student_tends_to_the_normal_quantile_from_above():
    values = [family_t(100, draws) for draws in (2, 5, 20, 100, 10**6)]
    assert values == sorted(values, reverse=True)
    assert values[-1] == pytest.approx(family_z(100), rel=1e-4)  # terms of 1/draws are left out
    assert family_t(100, 1) == math.inf


def test_draws_that_are_all_equal_are_no_evidence():
    assert not exceeds(1.0, 0.0, 0.7071, 5.0)
    assert undecided(1.0, 0.0, 0.7071)
    assert exceeds(1.0, 1e-6, 0.7071, 5.0)
    assert not undecided(1.0, 1e-6, 0.7071)


def test_a_deterministic_quantity_violates_what_it_is_above():
    assert exceeds(1.0, 0.0, 0.7071, 5.0, deterministic=True)
    assert not undecided(1.0, 0.0, 0.7071, deterministic=True)
    assert not exceeds(1 + 1e-13, 0.0, 1.0, 5.0, deterministic=True)  # rounding
    assert not undecided(0.7, 0.0, 0.7071)
