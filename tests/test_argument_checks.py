"""Every check accepts what it promises and says what was wrong with the rest."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import argument_checks as checks
from argument_checks import wrong_types
from argument_checks.wrong_types import errors_name_arguments
from leml_solver import AlternatingOptions, Labels, LEMLClassifier, Squared, fit_factors
from leml_theory import Setting
from leml_theory.plots import grid_quantities
from leml_theory.plugins import add_plugin
from leml_theory.predictions import frobenius_norm
from simulations import AllOnes, LinearLabels, UniformLabels

REALS = (checks.positive, checks.nonnegative, checks.probability, checks.open_probability)


@given(st.floats(min_value=1e-300, max_value=1e300))
def test_positive_numbers_pass_unchanged(value):
    assert checks.positive(value, "x") == value
    assert checks.nonnegative(value, "x") == value


@pytest.mark.parametrize("check", REALS)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_must_be_finite(check, value):
    with pytest.raises(ValueError, match="`x` must be finite, got"):
        check(value, "x")


@pytest.mark.parametrize("check", REALS)
@pytest.mark.parametrize("value", ["1", None, True, 1j, [1.0]])
def test_numbers_must_be_real(check, value):
    with pytest.raises(TypeError, match="`x` must be a real number, got"):
        check(value, "x")


@pytest.mark.parametrize(
    ("check", "value", "message"),
    [
        (checks.positive, 0.0, "positive"),
        (checks.positive, -0.5, r"positive, got -0\.5"),
        (checks.nonnegative, -1e-300, "not be negative"),
        (checks.probability, 0.0, r"\(0, 1\]"),
        (checks.probability, 1.5, r"\(0, 1\]"),
        (checks.open_probability, 1.0, "strictly between"),
        (checks.positive_integer, 0, "at least 1"),
    ],
)
def test_range_errors_name_the_range_and_the_value(check, value, message):
    with pytest.raises(ValueError, match=message):
        check(value, "x")


@pytest.mark.parametrize("value", [1.0, "3", True, np.float64(2)])
def test_whole_numbers_are_not_guessed_from_others(value):
    with pytest.raises(TypeError, match="whole number"):
        checks.positive_integer(value, "n")


@pytest.mark.parametrize("value", [1, 0.0, "no", None])
def test_truth_values_are_not_guessed_from_others(value):
    with pytest.raises(TypeError, match="True or False"):
        checks.truth_value(value, "replace")
    assert checks.truth_value(np.True_, "replace") is True


def test_numpy_integers_are_whole_numbers():
    assert checks.positive_integer(np.int32(7), "n") == 7


@pytest.mark.parametrize(
    ("value", "ndim", "message"),
    [
        ([[1.0]], 1, "must have 1 axes"),
        ([], 1, "must not be empty"),
        ([1.0, math.nan], 1, "1 NaN or infinite"),
    ],
)
def test_arrays_are_refused_by_reason(value, ndim, message):
    with pytest.raises(ValueError, match=message):
        checks.finite_array(value, "X", ndim)


def test_arrays_of_words_are_refused():
    with pytest.raises(TypeError, match="array of numbers"):
        checks.finite_array(["a"], "X", 1)


@given(st.lists(st.floats(min_value=1e-3, max_value=1), min_size=1, max_size=50))
def test_a_normalised_vector_is_a_distribution(weights):
    law = np.array(weights) / np.sum(weights)
    assert checks.distribution(law, "p") == pytest.approx(law, rel=1e-12)  # normalised once more


@pytest.mark.parametrize(
    ("law", "message"), [([0.5, 0.6], "sum to 1"), ([1.0, 0.0], "positive everywhere")]
)
def test_other_vectors_are_no_distribution(law, message):
    with pytest.raises(ValueError, match=message):
        checks.distribution(law, "p")


def test_choices_are_listed():
    with pytest.raises(ValueError, match="one of 'a', 'b', got 'c'"):
        checks.one_of("c", "letter", ["a", "b"])


@pytest.mark.parametrize("rng", [0, None, np.random.RandomState(0)])
def test_only_a_generator_is_a_source_of_randomness(rng):
    with pytest.raises(TypeError, match="default_rng"):
        checks.generator(rng)


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ([0, 1], ValueError, "one index per value"),
        ([0.0, 1.0, 2.0], TypeError, "integers"),
        ([0, 1, 3], ValueError, r"\[0, 3\)"),
        ([-1, 1, 2], ValueError, r"\[0, 3\)"),
    ],
)
def test_indices_are_refused_by_reason(value, error, message):
    with pytest.raises(error, match=message):
        checks.indices(value, "rows", 3, 3)


def test_scales_out_of_range_ask_to_be_rescaled():
    assert checks.moderate(1e-50, "radius") == 1e-50
    assert not checks.moderate_array([0.0, 0.0], "X", 1).any()
    for value in (1e-51, 1e51):
        with pytest.raises(ValueError, match="rescale"):
            checks.moderate(value, "radius")
        with pytest.raises(ValueError, match="rescale"):
            checks.moderate_array([value], "X", 1)


def test_a_sparse_matrix_where_a_number_is_expected_is_named():
    """Scipy raises NotImplementedError when a number is added to a sparse matrix."""
    with pytest.raises(TypeError, match="`overlap`"):
        frobenius_norm(1.0, sp.csr_array(np.eye(2)), 100)


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        ("Array | None", "Array | None"),  # as in a module that does not evaluate annotations
        (NDArray[np.float64] | None, "Array | None"),
        (int | Setting, "int | Setting"),
        (Callable[[int], Setting], "Callable[[int], Setting]"),
        (tuple[float, ...], "tuple[float, ...]"),
    ],
)
def test_types_are_named_as_in_the_source(annotation, text):
    assert wrong_types._words(annotation) == text


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: AllOnes(3).cross_moments("law"), "`features` must be of type FeatureLaw"),
        (lambda: Labels.observed(1, 2, 3, 4), "`rows` must be an array"),
        (lambda: Squared().second_derivative(None, "x"), "`y` must be an array"),
        (lambda: AllOnes(3).outcomes(None), "`X` must be an array"),
        (lambda: LinearLabels(np.ones((3, 2)), noise=0.5).check_features(3), "`features` must be"),
        (lambda: grid_quantities(3), "`frame` must be of type DataFrame"),
        (lambda: add_plugin(3), "`parser` must be of type ArgumentParser"),
        (
            lambda: Setting.of("law", UniformLabels(3), 9, radius=1, ball="trace"),
            "`features` must be",
        ),
    ],
)
def test_methods_of_public_dataclasses_name_their_arguments(call, named):
    with pytest.raises(TypeError, match=named):
        call()


def test_an_error_without_arguments_is_nobodys_argument():
    @dataclass
    class Law:
        def sample(self):
            return {}["key"]

    names = {"__all__": ["Law"], "Law": Law}
    errors_name_arguments(names)
    with pytest.raises(KeyError, match="key"):
        Law().sample()


def test_fits_refuse_seeds_that_are_none_and_forget_those_that_failed():
    """numpy recurses without end when it is given a matrix as a seed."""
    with pytest.raises(TypeError, match="`random_state` must be"):
        fit_factors(np.eye(3), np.eye(3), rank=1, penalty=1.0, random_state=np.eye(3))
    model = LEMLClassifier(1)
    for call in (lambda: model.fit(np.eye(3), "labels"), lambda: model.predict(np.eye(3))):
        with pytest.raises(ValueError, match=r"`y` must|not fitted"):
            call()
    with pytest.raises(TypeError, match="`blocks` must be"):
        model.fit_blocks([None])


def test_an_array_in_place_of_a_name_is_named():
    """numpy says that its truth is ambiguous, and no more."""
    with pytest.raises(TypeError, match=r"`order` must be of type .*, got array"):
        AlternatingOptions(order=np.array(["HW", "WH"]))
    with pytest.raises(ValueError, match=r"`order` must be one of"):
        AlternatingOptions(order="HH")


def test_numbers_beyond_all_floats_are_not_finite():
    """Python's own words were 'int too large to convert to float', without a name."""
    for check in (checks.real, checks.positive, checks.probability):
        with pytest.raises(ValueError, match="`x` must be finite, got inf"):
            check(10**400, "x")
    assert checks.real(2**1022, "x") == 2.0**1022
