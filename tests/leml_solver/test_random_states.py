"""Where random numbers come from."""

import numpy as np
import pytest

from argument_checks import solver_seed


@pytest.mark.parametrize("value", ["a", 1.5, True, np.random])
def test_what_is_no_seed_is_refused(value):
    with pytest.raises(TypeError, match="`random_state` must be None, a whole number"):
        solver_seed(value)


def test_a_negative_seed_is_refused():
    with pytest.raises(ValueError, match="must not be negative, got -1"):
        solver_seed(-1)


def test_seeds_and_generators_are_taken():
    rng = np.random.default_rng(0)
    assert solver_seed(np.int64(7)) == 7
    assert solver_seed(rng) is rng
    assert solver_seed(np.random.RandomState(3)) == solver_seed(np.random.RandomState(3))
