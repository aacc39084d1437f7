"""Bounds on Rademacher averages: constants, scaling, and refusal outside their assumptions."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leml_theory.bounds import (
    BERNSTEIN_CONSTANT,
    COMPLEXITY_BOUNDS,
    NET_CONSTANT,
    BoundValue,
    FailedAssumption,
    Setting,
    best_bound,
    complexity_bounds,
    largest_count,
    matrix_bernstein,
    monte_carlo,
    paper_constant,
    paper_route,
    paper_route_as_printed,
    sub_gaussian_net,
    theorem_3,
    theorem_3_as_printed,
)
from leml_theory.rademacher import Estimate
from simulations.features import (
    HeavyTailed,
    IsotropicGaussian,
    Moments,
    NonNegative,
    RademacherVectors,
    RankOne,
)
from simulations.observation import UniformLabels, WeightedLabels, heavy_label, zipf

LAWS = {
    "chevet": IsotropicGaussian,
    "rademacher_chevet": RademacherVectors,
    "matrix_bernstein": RademacherVectors,
    "sub_gaussian_net": RademacherVectors,
    "paper_route": RademacherVectors,
}


def square(size, n=10**18, law=RademacherVectors, **options):
    """Return the setting d = L = size with uniform labels."""
    return Setting.of(law(size), UniformLabels(size), n, **options)


def smallest_winner(name, low=1, high=20_000):
    """Return the smallest d = L at which a bound beats Theorem 3 as n goes to infinity."""
    law, bound = LAWS[name], COMPLEXITY_BOUNDS[name]

    def beats(size):
        setting = square(size, law=law)
        return bound(setting).value < theorem_3(setting).value

    # Doubling, then every size below: the ratio need not be monotone at the smallest sizes.
    while not beats(low):
        low *= 2
    first = low // 2 if low > 64 else 1
    return next(size for size in range(first, high) if beats(size))


def test_tracked_constants():
    assert pytest.approx(1.0573e-3, rel=1e-4) == BERNSTEIN_CONSTANT
    assert pytest.approx(2078.1, abs=0.05) == NET_CONSTANT
    assert paper_constant(10**9) == pytest.approx(91.2, abs=0.05)
    assert paper_constant(64) == pytest.approx(91.5, abs=0.05)
    assert paper_constant(1) == pytest.approx(110, abs=0.05)


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("chevet", 5),
        ("rademacher_chevet", 7),
        ("matrix_bernstein", 5),
        ("sub_gaussian_net", 18),
        ("paper_route", 16_628),
    ],
)
def test_smallest_size_that_beats_theorem_3(name, size):
    # The paper's route crosses just above 2 c3^2 = 16627.07.
    assert smallest_winner(name) == size


def test_values_by_hand():
    setting = Setting.of(RademacherVectors(4), UniformLabels(2), 100, radius=3)
    count = 50 + math.sqrt(100 * math.log(2)) + math.log(2) / 3
    assert largest_count(setting) == pytest.approx(count, rel=1e-14)
    bounds = complexity_bounds(setting)
    assert bounds["theorem_3"].value == pytest.approx(0.3, rel=1e-14)
    chevet = 0.03 * (math.sqrt(25) + math.sqrt(count))
    assert bounds["chevet"].value == pytest.approx(chevet, rel=1e-14)
    assert bounds["rademacher_chevet"].value == pytest.approx(
        math.sqrt(math.pi / 2) * chevet, rel=1e-14
    )
    # v/n = max(1/4, 1/2) and R = 1.
    bernstein = 3 * (math.sqrt(math.log(6) / 100) + math.log(6) / 300)
    assert bounds["matrix_bernstein"].value == pytest.approx(bernstein, rel=1e-14)
    q = math.sqrt(8 * math.log(9))
    net = 0.03 * 4 / 3 * 0.5 * math.sqrt(count) * (math.sqrt(2) + q + 1 / q)
    assert bounds["sub_gaussian_net"].value == pytest.approx(net, rel=1e-14)
    # P d (eta^2 + sigma_1) = (1/2) 4 (1/4 + 1/4) = 1.
    assert bounds["paper_route"].value == pytest.approx(0.3 * paper_constant(4), rel=1e-14)


def test_largest_count_bounds_the_measured_one():
    rng = np.random.default_rng(0)
    for probabilities in (zipf(30, 1.5), heavy_label(12, 0.4), zipf(100, 0.0)):
        for n in (1, 7, 100, 10_000):
            setting = Setting.of(RankOne(2), WeightedLabels(probabilities), n)
            largest = rng.multinomial(n, probabilities, size=4000).max(axis=1)
            stderr = largest.std() / math.sqrt(4000)
            assert largest.mean() - 6 * stderr <= largest_count(setting) * (1 + 1e-12)


@pytest.mark.parametrize("name", COMPLEXITY_BOUNDS)
def test_radius_scales_and_n_decreases(name):
    bound = COMPLEXITY_BOUNDS[name]
    values = []
    for n in (1, 2, 5, 10, 100, 10**4, 10**6, 10**9):
        setting = square(12, n)
        values.append(bound(setting).value)
        doubled = bound(replace(setting, radius=2.0)).value
        assert doubled == pytest.approx(2 * values[-1], rel=1e-14)
    assert all(later < earlier for earlier, later in pairwise(values))


@given(
    scale=st.floats(1e-3, 1e3),
    n=st.integers(1, 10**9),
    d=st.integers(1, 50),
    L=st.integers(1, 50),
)
def test_bounds_are_homogeneous_in_x(scale, n, d, L):
    """Multiplying x by a number multiplies every bound by it: Sigma is nowhere taken for one."""
    moments = RademacherVectors(d).moments
    larger = Moments(
        moments.second_moment * scale**2,
        moments.top_eigenvalue * scale**2,
        moments.proxy * scale**2,
        moments.radius * scale,
        centred=True,
    )
    setting = Setting.of(RademacherVectors(d), UniformLabels(L), n)
    before, after = complexity_bounds(setting), complexity_bounds(replace(setting, moments=larger))
    for name in before:
        assert after[name].value == pytest.approx(scale * before[name].value, rel=1e-9)
        assert after[name].valid == before[name].valid


def test_theorem_3_keeps_the_factor_that_the_printed_form_drops():
    raw = Setting.of(IsotropicGaussian(64, normalised=False), UniformLabels(64), 10**9)
    assert theorem_3(raw).value == pytest.approx(8 / math.sqrt(10**9))
    assert theorem_3(raw).valid
    for printed in (theorem_3_as_printed, paper_route_as_printed):
        bound = printed(raw)
        assert not bound.valid
        assert "needs E|x|^2 <= 1, here it is 64" in map(str, bound.failures)
        assert printed(square(64)).valid
    assert paper_route_as_printed(raw).value == pytest.approx(paper_route(raw).value / 8)


def failures(name, setting):
    bound = COMPLEXITY_BOUNDS[name](setting)
    assert bound.valid == (bound.failures == ())
    return tuple(map(str, bound.failures))


@pytest.mark.parametrize(
    ("name", "setting", "sentence"),
    [
        (
            "chevet",
            square(8),
            "needs centred Gaussian features, here the law is 'rademacher'",
        ),
        (
            "rademacher_chevet",
            square(8, law=IsotropicGaussian),
            "needs features of independent signs over sqrt(d), here the law is 'gaussian'",
        ),
        (
            "matrix_bernstein",
            square(8, law=IsotropicGaussian),
            "needs |x| <= R almost surely, here |x| is unbounded",
        ),
        (
            "sub_gaussian_net",
            square(8, law=HeavyTailed),
            "needs x, symmetrised, to be sub-Gaussian, here there is no proxy",
        ),
        (
            "paper_route",
            square(8, law=HeavyTailed),
            "needs x, symmetrised, to be sub-Gaussian, here there is no proxy",
        ),
        (
            "paper_route",
            square(8, law=NonNegative),
            "needs E x = 0, which its condition 3 forces, here x is not centred",
        ),
        (
            "paper_route",
            Setting.of(RademacherVectors(32), UniformLabels(64), 10**9),
            "needs d >= L, here d = 32 and L = 64",
        ),
        (
            # log(L Sigma/(P d (eta^2 + sigma_1)))/(2 p^2) = log(64 * 64/2)/(2/64^2) = 15615.2.
            "paper_route",
            square(64, 15_615),
            "needs n > 15615.2, here n = 15615 and p = 0.01562",
        ),
        (
            "theorem_3",
            replace(square(8), moments=Moments(math.inf, math.inf, None, math.inf, True)),
            "needs a finite E|x|^2, here it is infinite",
        ),
    ],
)
def test_a_broken_assumption_is_named(name, setting, sentence):
    assert failures(name, setting) == (sentence,)


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("chevet", square(8, law=IsotropicGaussian)),
        ("rademacher_chevet", square(8)),
        ("matrix_bernstein", square(8)),
        ("sub_gaussian_net", square(8, law=NonNegative)),
        ("paper_route", Setting.of(RademacherVectors(64), UniformLabels(64), 10**9)),
        ("paper_route", square(64, 15_616)),
        ("theorem_3", square(8, law=HeavyTailed)),
    ],
)
def test_the_same_bound_is_valid_where_the_assumption_holds(name, setting):
    assert failures(name, setting) == ()
    assert math.isfinite(COMPLEXITY_BOUNDS[name](setting).value)


@pytest.mark.parametrize("name", COMPLEXITY_BOUNDS)
def test_the_frobenius_ball_has_theorem_3_only(name):
    found = failures(name, square(8, ball="frobenius"))
    refused = "bounds a spectral norm, so it needs the trace ball, here the frobenius ball"
    assert (refused in found) == (name != "theorem_3")


def test_the_n_condition_uses_the_smallest_probability():
    """A rare label breaks the paper's condition although P, and so the bound, is unchanged."""
    common = square(16, 10**5)
    rare = replace(common, probability_range=(1e-4, 1 / 16))
    assert paper_route(common).valid
    assert not paper_route(rare).valid
    assert paper_route(rare).value == paper_route(common).value


def test_an_uncomputable_bound_is_infinite_and_never_best():
    setting = square(30, law=HeavyTailed)
    bounds = complexity_bounds(setting)
    assert matrix_bernstein(setting).value == math.inf
    assert sub_gaussian_net(setting).value == math.inf
    assert best_bound(bounds) == bounds["theorem_3"]


def test_best_bound_is_the_smallest_valid_one():
    loose, tight = BoundValue("loose", 2.0), BoundValue("tight", 1.0)
    broken = BoundValue("broken", 0.5, (FailedAssumption("needs luck", "there is none"),))
    assert best_bound({"a": loose, "b": tight, "c": broken}) == tight
    none = best_bound({"c": broken})
    assert none.value == math.inf
    assert [str(f) for f in none.failures] == ["broken needs luck, here there is none"]
    assert not best_bound({}).valid


def test_monte_carlo_bound_adds_its_standard_errors():
    assert monte_carlo(Estimate(2.0, 0.1, 50), radius=3, z=4).value == pytest.approx(7.2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": 0}, "`n` must be at least 1, got 0"),
        ({"radius": -0.5}, "`radius` must be positive, got -0.5"),
        ({"ball": "spectral"}, "`ball` must be one of 'trace', 'frobenius', got 'spectral'"),
        ({"law": "student"}, "`law` must be one of"),
        ({"probability_range": (0.5, 0.9)}, "`probability_range` must hold the smallest and the"),
        ({"moments": Moments(1.0, 2.0, 2.0, 9.0, True)}, "top_eigenvalue <= second_moment"),
        ({"moments": Moments(1.0, 0.01, 1.0, 9.0, True)}, "second_moment <= d top_eigenvalue"),
        ({"moments": Moments(1.0, 0.5, 1.0, 0.5, True)}, "second_moment <= radius"),
        ({"moments": Moments(1.0, 0.5, 0.1, 2.0, True)}, "proxy >= top_eigenvalue"),
    ],
)
def test_impossible_settings_are_refused(change, message):
    with pytest.raises(ValueError, match=message.replace("|", r"\|")):
        replace(square(8, 100), **change)
