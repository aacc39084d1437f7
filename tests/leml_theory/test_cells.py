"""Cells: canonical JSON, keys and random numbers."""

import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leml_theory.runs.cells import Cell, canonical_json

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)
LOOK_ALIKES = st.dictionaries(
    st.sampled_from(["n", "x"]),
    st.sampled_from([0, 0.0, -0.0, False, None, "", "0", [], {}, [0], [0.0], [[0]], {"n": 0}]),
)
PARAMETERS = st.dictionaries(st.text(), VALUES, max_size=5)


def typed(value):
    """Tell apart what `==` does not: 1, 1.0 and True; 0.0 and -0.0."""
    if isinstance(value, dict):
        return {name: typed(item) for name, item in value.items()}
    if isinstance(value, list):
        return [typed(item) for item in value]
    return (type(value), repr(value))


@settings(deadline=None)  # A busy machine is not a failure.
@given(PARAMETERS)
def test_parameters_read_back_exactly(parameters):
    assert typed(Cell("kind", parameters, 0).parameters) == typed(parameters)


@settings(deadline=None)
@given(LOOK_ALIKES | PARAMETERS, LOOK_ALIKES)
def test_keys_are_equal_exactly_when_the_parameters_are(first, second):
    equal = typed(first) == typed(second)
    assert (Cell("kind", first, 0).key == Cell("kind", second, 0).key) == equal
    assert (Cell("kind", first, 0) == Cell("kind", second, 0)) == equal


@settings(deadline=None)
@given(PARAMETERS, st.randoms(use_true_random=False))
def test_the_order_of_the_names_does_not_matter(parameters, random):
    names = list(parameters)
    random.shuffle(names)
    shuffled = {name: parameters[name] for name in names}
    assert Cell("kind", shuffled, 3).key == Cell("kind", parameters, 3).key


@settings(deadline=None)
@given(VALUES)
def test_canonical_json_is_a_fixed_point(value):
    text = canonical_json(value)
    assert canonical_json(json.loads(text)) == text


@pytest.mark.parametrize(
    ("kind", "parameters", "seed"),
    [("other", {"n": 1}, 0), ("kind", {"n": 2}, 0), ("kind", {"n": 1.0}, 0), ("kind", {"n": 1}, 1)],
)
def test_kind_parameters_and_seed_all_enter_the_key(kind, parameters, seed):
    assert Cell(kind, parameters, seed).key != Cell("kind", {"n": 1}, 0).key


def test_the_key_is_the_same_in_every_version():
    # A stored number on purpose: a key that moves orphans every stored result.
    stored = "7c5493d780496f107a1e084db1900a765a06f95dd07979bb64b60f10444f9f7f"
    assert Cell("kind", {"n": 64, "x": 0.1}, 0).key == stored


def test_random_numbers_depend_on_the_cell_alone():
    cell, other = Cell("kind", {"n": 1}, 0), Cell("kind", {"n": 2}, 0)
    first = cell.rng().standard_normal(100)
    other.rng().standard_normal(7)
    assert first.tobytes() == Cell("kind", {"n": 1}, 0).rng().standard_normal(100).tobytes()
    assert not np.any(first == other.rng().standard_normal(100))


def test_numpy_scalars_and_tuples_are_their_plain_equals():
    exotic = Cell("kind", {"n": np.int64(3), "x": np.float64(0.1), "p": (1, True)}, np.int64(2))
    assert exotic.key == Cell("kind", {"n": 3, "x": 0.1, "p": [1, True]}, 2).key


def test_a_cell_cannot_be_changed():
    cell = Cell("kind", {"p": [1, 2]}, 0)
    cell.parameters["p"].append(3)
    assert cell.parameters == {"p": [1, 2]}
    with pytest.raises(AttributeError):
        cell.seed = 1


def test_cells_survive_pickling_and_show_their_parameters():
    cell = Cell("kind", {"n": 1}, 7)
    copy = pickle.loads(pickle.dumps(cell))
    assert copy == cell
    assert hash(copy) == hash(cell)
    assert repr(copy) == "Cell(kind='kind', parameters={'n': 1}, seed=7)"


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"x": math.nan}, ValueError, "`parameters.x` must be finite, got nan"),
        ({"x": [1.0, -math.inf]}, ValueError, r"`parameters.x\[1\]` must be finite, got -inf"),
        ({"x": {"y": np.float64("inf")}}, ValueError, "`parameters.x.y` must be finite"),
        ({"x": np.zeros(2)}, TypeError, "`parameters.x` must be a number.*ndarray"),
        ({"x": {1, 2}}, TypeError, "`parameters.x` must be a number.*set"),
        ({"x": 1j}, TypeError, "`parameters.x` must be a number.*complex"),
        ({1: 2}, TypeError, "Names in `parameters` must be strings, got 1"),
        ({"x": "\ud83d"}, ValueError, "`parameters.x` must be text that UTF-8 can encode"),
        ([1], TypeError, "`parameters` must map names to values, got"),
    ],
)
def test_parameters_that_json_cannot_hold_are_refused(parameters, error, message):
    with pytest.raises(error, match=message):
        Cell("kind", parameters, 0)


@pytest.mark.parametrize(
    ("kind", "seed", "error", "message"),
    [
        ("", 0, TypeError, "`kind` must be the name of a measurement, got ''"),
        (3, 0, TypeError, "`kind` must be the name of a measurement, got 3"),
        ("kind", 1.0, TypeError, "`seed` must be a whole number, got 1.0"),
        ("kind", True, TypeError, "`seed` must be a whole number, got True"),
        ("kind", -1, ValueError, "`seed` must not be negative, got -1"),
    ],
)
def test_kinds_and_seeds_are_checked(kind, seed, error, message):
    with pytest.raises(error, match=message):
        Cell(kind, {}, seed)
