"""Every loss under one contract: derivatives, conjugate, constants, label encoding."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leml_solver import LOSSES

EVERY = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())
SMOOTH = pytest.mark.parametrize(
    "loss", [loss for loss in LOSSES.values() if loss.smooth], ids=lambda loss: loss.name
)


def labels_of(loss, bound=1.0):
    """Labels that the loss takes: signs, or a grid up to a bound."""
    return np.array([-1.0, 1.0]) if loss.binary else np.linspace(-bound, bound, 5)


def grid(loss, prediction_bound=3.0, label_bound=1.0, n=601):
    """All pairs of a label and a prediction, as two flat arrays."""
    y, f = np.meshgrid(
        labels_of(loss, label_bound), np.linspace(-prediction_bound, prediction_bound, n)
    )
    return y.ravel(), f.ravel()


@SMOOTH
def test_the_derivative_is_the_slope_of_the_value(loss):
    y, f = grid(loss)
    h = 1e-6
    slope = (loss.value(y, f + h) - loss.value(y, f - h)) / (2 * h)
    # Central differences: truncation below h^2 = 1e-12 (h at the squared hinge's kink of slope),
    # rounding below 16 eps / h = 4e-9.
    np.testing.assert_allclose(loss.derivative(y, f), slope, atol=3e-6)


@SMOOTH
def test_the_second_derivative_is_the_slope_of_the_derivative(loss):
    y, f = grid(loss)
    kink = np.abs(y * f - 1) < 1e-5 if loss.name == "squared_hinge" else np.zeros(f.shape, bool)
    y, f, h = y[~kink], f[~kink], 1e-6
    slope = (loss.derivative(y, f + h) - loss.derivative(y, f - h)) / (2 * h)
    # Rounding of the derivative (at most 8) over h.
    np.testing.assert_allclose(loss.second_derivative(y, f), slope, atol=1e-8)


@EVERY
def test_the_derivative_is_a_subgradient(loss):
    y, f = grid(loss, n=61)
    for other in np.linspace(-4, 4, 33):
        above = loss.value(y, np.full_like(f, other))
        # Values are below 25: rounding of the two sides.
        assert (above >= loss.value(y, f) + loss.derivative(y, f) * (other - f) - 1e-12).all()


@EVERY
def test_curvature_is_the_largest_second_derivative(loss):
    largest = loss.second_derivative(*grid(loss)).max()
    if loss.curvature is None:
        assert not loss.smooth
    else:
        # The grid contains f = 0, where the logistic curvature is largest.
        assert largest == pytest.approx(loss.curvature, abs=1e-12)


# The linear loss's conjugate is finite at one point only: Fenchel and Young below test it.
@pytest.mark.parametrize("name", sorted(set(LOSSES) - {"linear"}))
def test_the_conjugate_is_the_largest_of_u_f_minus_the_loss(name):
    loss = LOSSES[name]
    f = np.linspace(-60, 60, 240_001)
    for y in labels_of(loss):
        for share in (0.1, 0.5, 0.9):
            u = float(loss.clip_dual(np.array(y), np.array(-y * share if loss.binary else share)))
            by_grid = (u * f - loss.value(np.full_like(f, y), f)).max()
            # The grid has spacing 5e-4; the maximand has curvature at most 2.
            assert loss.conjugate(np.array(y), np.array(u)) == pytest.approx(by_grid, abs=1e-6)


@EVERY
def test_fenchel_and_young(loss):
    y, f = grid(loss)
    u = loss.derivative(y, f)
    value, conjugate = loss.value(y, f), loss.conjugate(y, u)
    # Equality at the derivative, up to rounding of terms below 25.
    np.testing.assert_allclose(value + conjugate, u * f, atol=1e-12)


@EVERY
@given(u=st.floats(-5, 5), f=st.floats(-5, 5), positive=st.booleans())
def test_fenchel_and_young_inequality_anywhere(loss, u, f, positive):
    y, u, f = (np.array(v) for v in (1.0 if positive else -1.0, u, f))
    assert loss.value(y, f) + loss.conjugate(y, u) >= u * f - 1e-12


@EVERY
@given(u=st.floats(-5, 5), positive=st.booleans())
def test_clipping_enters_the_domain_and_keeps_what_is_inside(loss, u, positive):
    y, u = np.array([1.0 if positive else -1.0]), np.array([u])
    clipped = loss.clip_dual(y, u)
    assert np.isfinite(loss.conjugate(y, clipped)).all()
    if np.isfinite(loss.conjugate(y, u)).all():
        np.testing.assert_array_equal(clipped, u)


@EVERY
def test_scales_end_where_the_domain_ends(loss):
    y, f = grid(loss, n=31)
    u = loss.derivative(y, f)
    low, high = loss.dual_scales(y, u)
    assert low <= 1 <= high * (1 + 1e-15)
    assert np.isfinite(loss.conjugate(y, loss.clip_dual(y, low * u))).all()
    if low < high < np.inf:
        assert np.isinf(loss.conjugate(y, 1.01 * high * u)).any()


@EVERY
@pytest.mark.parametrize("prediction_bound", [0.4, 1.0, 2.5])
@pytest.mark.parametrize("label_bound", [1.0, 2.0])
def test_lipschitz_constant_and_range_are_those_of_a_grid(loss, prediction_bound, label_bound):
    y, f = grid(loss, prediction_bound, label_bound)
    steepest = np.abs(loss.derivative(y, f)).max()
    values = loss.value(y, f)
    # The extremes lie at the ends of the grid, which contains them exactly (up to rounding).
    assert loss.lipschitz(prediction_bound, label_bound) == pytest.approx(steepest, rel=1e-12)
    length = values.max() - values.min()
    # The smallest value may lie between two grid points 1e-2 apart, where the slope vanishes
    # (below 1e-4) or is one (below 1e-2 for the absolute loss, hit exactly by label 0 at f = 0).
    assert loss.range_length(prediction_bound, label_bound) == pytest.approx(length, abs=1e-4)


@EVERY
def test_unbounded_predictions_have_no_constant_unless_the_slope_is_bounded(loss):
    bounded = {"linear", "logistic", "absolute", "hinge"}
    assert np.isfinite(loss.lipschitz(np.inf, 1.0)) == (loss.name in bounded)
    assert loss.range_length(np.inf, 1.0) == np.inf


@pytest.mark.parametrize("name", ["logistic", "squared_hinge", "hinge"])
def test_binary_losses_understand_zeros_and_ones(name):
    loss = LOSSES[name]
    np.testing.assert_array_equal(loss.encode(np.array([0.0, 1.0])), [-1, 1])
    np.testing.assert_array_equal(loss.encode(np.array([-1.0, 1.0])), [-1, 1])


@pytest.mark.parametrize("values", [[0.5, 1.0], [-1.0, 0.0, 1.0], [2.0]])
def test_binary_losses_refuse_other_labels(values):
    with pytest.raises(ValueError, match=r"`values` must be in \{0, 1\} or in \{-1, \+1\}"):
        LOSSES["logistic"].encode(np.array(values))


@pytest.mark.parametrize("name", ["linear", "squared", "absolute"])
def test_other_losses_leave_labels_alone(name):
    values = np.array([0.0, 0.5, -3.0])
    np.testing.assert_array_equal(LOSSES[name].encode(values), values)
