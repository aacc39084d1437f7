"""Figures in plain numbers."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from leml_theory.plots import describe_axes


@pytest.fixture
def axes():
    ax = Figure().subplots()
    ax.loglog([1, 10], [1.0, 0.1], label="measured")
    ax.axhline(0.5)
    ax.scatter([2.0, 3.0], [0.4, 0.3], label="points")
    ax.set(xlabel="n", ylabel="average", title="A figure", xlim=(1, 20))
    return ax


def test_a_description_says_what_is_drawn(axes):
    picture = describe_axes(axes)
    assert (picture.title, picture.x_label, picture.y_label) == ("A figure", "n", "average")
    assert (picture.x_scale, picture.y_scale) == ("log", "log")
    assert picture.x_limits == (1, 20)
    assert [line.label for line in picture.lines] == ["measured", ""]
    np.testing.assert_array_equal(picture.line("Measured").x, [1, 10])
    np.testing.assert_array_equal(picture.points[0].y, [0.4, 0.3])
    assert picture.legend == ()


def test_a_legend_is_read_as_it_stands(axes):
    axes.legend()
    assert describe_axes(axes).legend == ("measured", "points")


def test_a_curve_with_error_bars_keeps_its_label():
    """The label was lost once, and with it a student's marks: errorbar keeps it elsewhere."""
    ax = Figure().subplots()
    ax.errorbar([1.0, 2.0], [3.0, 4.0], yerr=0.1, capsize=2, label="measured")
    np.testing.assert_array_equal(describe_axes(ax).line("measured").y, [3, 4])


def test_a_description_describes_itself(axes):
    picture = describe_axes(axes)
    assert describe_axes(picture) is picture


def test_a_curve_that_is_not_there_is_named_with_those_that_are(axes):
    with pytest.raises(ValueError, match="no curve has 'bound' in its label; the curves are 'meas"):
        describe_axes(axes).line("bound")


@pytest.mark.parametrize(("value", "words"), [(Figure(), "a Figure: return one of"), (3, "int")])
def test_what_is_no_axes_is_refused(value, words):
    with pytest.raises(TypeError, match=f"an Axes is needed .* got {words}"):
        describe_axes(value)
