r"""Bounds on the Rademacher average of a ball, each with its constants and its assumptions.

:math:`R_n = (\mathrm{radius}/n) E\|V\|` with :math:`V = \sum_i \varepsilon_i x_i e_{l_i}^T`, one
sign and one label slot per point; spectral norm for the trace ball, Frobenius norm for the
Frobenius ball.  In the formulas :math:`\Sigma = E|x|^2`, :math:`\sigma_1 = \|E xx^T\|`, and P and p
are the largest and the smallest label probability.

Where a point shows a random number k of labels, s on average, V is the same sum for the law of
(k/s) x, whose moments the setting holds; bounds that go through label counts use the law of k.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np
from scipy.optimize import minimize_scalar

from argument_checks import nonnegative
from leml_theory.bounds.bound import Bound, BoundLook
from leml_theory.bounds.failures import FailedAssumption, Failures, bounded_features, law_is, unless
from leml_theory.bounds.setting import BoundValue, Setting
from leml_theory.rademacher import Estimate

# c1: Bernstein's inequality for a psi_1 norm K has the constant 1/(8 e^2) in
# exp(-c min(t^2/K^2, t/K)), from p! >= (p/e)^p in the exponential series; the proof has K = 4,
# and min(t^2/16, t/4) >= min(t^2, t)/16.
BERNSTEIN_CONSTANT = 1 / (128 * math.e**2)
# c2: makes 9^d exp(-c1 c2 d) = 1 for the union over a 1/4-net of the sphere.
NET_CONSTANT = math.log(9) / BERNSTEIN_CONSTANT
# With fewer draws than these the standard error cannot be trusted.
_ENOUGH_DRAWS = 10


def largest_count(setting: Setting) -> float:
    r"""Bound the expectation of the largest number of points that show the same label.

    :math:`E\max_l n_l \le nP + \sqrt{2nP\log L} + \log(L)/3`: each binomial is sub-gamma with
    variance factor at most nP and scale 1/3, and this is the maximal inequality for L of them
    (Boucheron, Lugosi, Massart, Corollary 2.6).  Never above n.

    Where a point shows a random number k of labels it counts w = (k/s)^2 times, and Chernoff's
    bound takes the place of the inequality: for every :math:`\lambda > 0` at most
    :math:`(\log L + n\log(1 + P(E e^{\lambda w} - 1)))/\lambda`.  Never above n E w.
    """
    log_labels, numbers = math.log(setting.n_labels), setting.label_numbers
    if numbers is None:
        mean = setting.n * setting.max_probability
        return min(float(setting.n), mean + math.sqrt(2 * mean * log_labels) + log_labels / 3)
    weights = np.square(np.array(numbers.values) / numbers.mean)

    def exponent(scale: float) -> float:
        growth = np.dot(numbers.probabilities, np.expm1(scale * weights))
        return log_labels + setting.n * math.log1p(setting.max_probability * growth)

    return min(setting.n * numbers.spread, _chernoff(exponent, float(weights.max())))


def largest_number(setting: Setting) -> float:
    """Bound the expected largest k/s, k being the number of labels that one of the n points shows.

    Chernoff's bound, (log n + log E exp(a k/s))/a for each a > 0; given the numbers, their largest.
    """
    numbers = setting.label_numbers
    if numbers is None or numbers.given:
        return 1.0 if numbers is None else numbers.largest_factor
    factors = np.array(numbers.values) / numbers.mean

    def exponent(scale: float) -> float:
        return math.log(setting.n * np.dot(numbers.probabilities, np.exp(scale * factors)))

    largest = float(factors.max())
    # The mean of k/s is one: of a single point nothing smaller can be said.
    return min(largest, max(1.0, _chernoff(exponent, largest)))


def _chernoff(exponent: Callable[[float], float], largest: float) -> float:
    """Return the smallest exponent(a)/a that is found; every a > 0 gives a valid bound.

    a times the largest value stays below 600: probabilities that are rounded to zero, below
    1e-323, then change nothing. It stays above 1e-6, as rounding of the exponent is divided by a.
    """
    end = math.log(600 / largest)
    found = minimize_scalar(
        lambda u: exponent(math.exp(u)) / math.exp(u), bounds=(end - 20, end), method="bounded"
    )
    return float(found.fun)


def theorem_3(setting: Setting) -> BoundValue:
    r"""Bound the Rademacher average of either ball by :math:`\mathrm{radius}\sqrt{\Sigma/n}`.

    Jensen's inequality and :math:`E\|V\|_F^2 = n\Sigma`; the factor :math:`\sqrt\Sigma` is kept,
    since x need not be scaled to E|x|^2 = 1.

    Paper: Theorem 3.
    """
    second = setting.moments.second_moment
    value = setting.radius * math.sqrt(second / setting.n)
    failures = unless(math.isfinite(second), "needs a finite E|x|^2", "it is infinite")
    return BoundValue("theorem_3", value, failures)


def theorem_3_as_printed(setting: Setting) -> BoundValue:
    r"""Bound the Rademacher average by :math:`\mathrm{radius}/\sqrt n`, which needs E|x|^2 <= 1.

    Paper: Theorem 3, whose 'without loss of generality' hides the factor.
    """
    value = setting.radius / math.sqrt(setting.n)
    return BoundValue("theorem_3_as_printed", value, _normalised(setting))


def chevet(setting: Setting) -> BoundValue:
    r"""Bound the trace ball's average for Gaussian x by Chevet's inequality.

    :math:`(\mathrm{radius}/n)(\sqrt{n\sigma_1} + \sqrt{\Sigma m})`, m being `largest_count`: given
    the labels :math:`V = S^{1/2} G\,\mathrm{diag}(\sqrt{n_l})`, and Chevet-Gordon has
    :math:`E\|AGB\| \le \|A\|\|B\|_F + \|A\|_F\|B\|`.  With random numbers of labels
    :math:`n_l` is the sum of (k/s)^2, and :math:`\Sigma` that of x itself.
    """
    gaussian = law_is(setting.feature_law, "gaussian", "centred Gaussian features")
    return BoundValue("chevet", _chevet_value(setting), _trace_ball(setting) + gaussian)


def rademacher_chevet(setting: Setting) -> BoundValue:
    r"""Bound the trace ball's average for x = r/sqrt(d), r of independent signs.

    :math:`\sqrt{\pi/2}` times the Gaussian bound: the entries of V are sums of independent signs,
    and a sign is :math:`\sqrt{\pi/2}` times the mean of a Gaussian of that sign, so Jensen's
    inequality replaces the signs by Gaussians.
    """
    needs = "features of independent signs over sqrt(d)"
    failures = _trace_ball(setting) + law_is(setting.feature_law, "rademacher", needs)
    value = math.sqrt(math.pi / 2) * _chevet_value(setting)
    return BoundValue("rademacher_chevet", value, failures)


def matrix_bernstein(setting: Setting) -> BoundValue:
    r"""Bound the trace ball's average for |x| <= R by Tropp's matrix Bernstein inequality.

    :math:`E\|V\| \le \sqrt{2v\log(d+L)} + R\log(d+L)/3` with
    :math:`v = \max(\|E VV^T\|, \|E V^TV\|) = n\max(\sigma_1, P\Sigma)`.  Random numbers of
    labels multiply R by `largest_number`: given the numbers it is the largest k/s.
    """
    moments = setting.moments
    log_size = math.log(setting.n_features + setting.n_labels)
    variance = max(moments.top_eigenvalue, setting.max_probability * moments.second_moment)
    spread = math.sqrt(2 * variance * log_size / setting.n)
    longest = setting.feature_moments.radius * largest_number(setting)
    value = setting.radius * (spread + longest * log_size / (3 * setting.n))
    failures = _trace_ball(setting) + bounded_features(setting.moments)
    return BoundValue("matrix_bernstein", value, failures)


def sub_gaussian_net(setting: Setting) -> BoundValue:
    r"""Bound the trace ball's average when the symmetrised x is sub-Gaussian with proxy eta^2.

    :math:`(\mathrm{radius}/n)(4/3)\eta\sqrt m(\sqrt L + q + 1/q)`, :math:`q = \sqrt{2d\log 9}`, m
    being `largest_count`.  For a unit u the L coordinates of :math:`V^Tu` are independent given the
    labels, so :math:`E\exp(t|V^Tu|^2)` is at most that of :math:`\eta^2\max_l n_l` times a chi
    square; Laurent-Massart, a union over a 1/4-net of :math:`9^d` points, the tail integrated by
    Mills' ratio (1/q), and :math:`\|V\| \le (4/3)\max_{net}|V^Tu|`.  It needs no d >= L, no
    condition on n and no centred x.
    """
    proxy = setting.feature_moments.proxy
    q = math.sqrt(2 * setting.n_features * math.log(9))
    size = math.sqrt(setting.n_labels) + q + 1 / q
    eta = math.inf if proxy is None else math.sqrt(proxy)
    value = setting.radius / setting.n * 4 / 3 * eta * math.sqrt(largest_count(setting)) * size
    return BoundValue("sub_gaussian_net", value, _trace_ball(setting) + _sub_gaussian(setting))


def paper_constant(n_features: int) -> float:
    r"""Return the paper's c3 in dimension d: :math:`\sqrt{4(c_2 + 1/(c_1 d)) + 1}`.

    :math:`E\|V\|^2 \le 4\eta^2Pn(L\sigma_1/\eta^2 + c_2d + 1/c_1) + nPd(\eta^2+\sigma_1)`, the
    second term from the event that some label is seen more than 2Pn times, and L <= d.

    Paper: Theorem 6.
    """
    return math.sqrt(4 * (NET_CONSTANT + 1 / (BERNSTEIN_CONSTANT * n_features)) + 1)


def paper_route(setting: Setting) -> BoundValue:
    r"""Bound the trace ball's average by the paper's proof with its constants tracked.

    :math:`c_3\,\mathrm{radius}\sqrt{Pd(\eta^2+\sigma_1)/n}`; the paper divides x by
    :math:`\sqrt\Sigma`, which is undone here.

    Paper: Theorem 6.
    """
    proxy = setting.moments.proxy
    spread = math.inf if proxy is None else proxy + setting.moments.top_eigenvalue
    rate = math.sqrt(setting.max_probability * setting.n_features * spread / setting.n)
    value = paper_constant(setting.n_features) * setting.radius * rate
    return BoundValue("paper_route", value, _trace_ball(setting) + _paper_conditions(setting))


def paper_route_as_printed(setting: Setting) -> BoundValue:
    r"""Bound the average by :math:`c_3\,\mathrm{radius}\sqrt{Pd(\eta^2+\sigma_1)/(n\Sigma)}`.

    Paper: Theorem 4, which holds in this form only where E|x|^2 <= 1.
    """
    bound = paper_route(setting)
    second = setting.moments.second_moment
    value = bound.value if math.isinf(second) else bound.value / math.sqrt(second)
    failures = bound.failures + _normalised(setting)
    return BoundValue("paper_route_as_printed", value, failures)


def monte_carlo(estimate: Estimate, *, radius: float = 1.0, z: float = 3.0) -> BoundValue:
    """Turn a measured average of the unit ball into a bound: its mean plus z standard errors.

    Holds up to the probability that a mean of `estimate.draws` draws is z standard errors too low.
    """
    margin = nonnegative(z, "z") * estimate.stderr
    enough = estimate.draws >= _ENOUGH_DRAWS
    failures = unless(enough, f"needs {_ENOUGH_DRAWS} draws", f"{estimate.draws}")
    return BoundValue("monte_carlo", radius * (estimate.value + margin), failures)


_PAPER_LOOK = BoundLook((0, (10, 3)), "#16365f")


def _of_trace_ball(
    formula: Callable[[Setting], BoundValue], label: str, phrase: str
) -> Bound[[Setting]]:
    """Return a bound of the trace ball alone: a shade of its colour, the best drawn for all."""
    return Bound(formula.__name__, f"{label}, trace ball", formula, drawn="if best", phrase=phrase)


COMPLEXITY_BOUNDS: dict[str, Bound[[Setting]]] = {
    bound.name: bound
    for bound in (
        Bound(
            "theorem_3", "Theorem 3, both balls", theorem_3, BoundLook("-", "black"), "if asked",
            "Theorem 3",
        ),
        _of_trace_ball(chevet, "Chevet (Gaussian)", "Chevet's inequality"),
        _of_trace_ball(
            rademacher_chevet, "Chevet (Rademacher)", "Chevet's inequality for signs"
        ),
        _of_trace_ball(matrix_bernstein, "matrix Bernstein", "the matrix Bernstein inequality"),
        _of_trace_ball(sub_gaussian_net, "sub-Gaussian net", "the net bound for sub-Gaussian x"),
        Bound(
            "paper_route", "Theorem 4/6, paper's constants", paper_route, _PAPER_LOOK, "if asked",
            "Theorem 4/6 with its constants",
        ),
    )
}  # fmt: skip

# The paper's statements in their printed form, for tables and pictures only: never the best bound.
PRINTED_BOUNDS: dict[str, Bound[[Setting]]] = {
    bound.name: bound
    for bound in (
        Bound(
            "theorem_3_as_printed", "Theorem 3 as printed", theorem_3_as_printed,
            BoundLook((0, (3, 1)), "black"), "if asked",
        ),
        Bound(
            "paper_route_as_printed", "Theorem 4/6 as printed", paper_route_as_printed,
            _PAPER_LOOK, "if asked",
        ),
    )
}  # fmt: skip


def tabled_bounds() -> dict[str, Bound[[Setting]]]:
    """Return the bounds shown in tables and pictures: all of them, and those as printed."""
    return {**COMPLEXITY_BOUNDS, **PRINTED_BOUNDS}


def complexity_bounds(setting: Setting) -> dict[str, BoundValue]:
    """Evaluate every bound on the Rademacher average, valid in this setting or not.

    Examples
    --------
    >>> from leml_theory import Setting, complexity_bounds
    >>> from simulations import IsotropicGaussian, UniformLabels
    >>> bounds = complexity_bounds(Setting.of(IsotropicGaussian(64), UniformLabels(64), n=10_000))
    >>> [name for name, bound in bounds.items() if bound.valid]
    ['theorem_3', 'chevet', 'sub_gaussian_net']
    """
    return {name: bound(setting) for name, bound in COMPLEXITY_BOUNDS.items()}


def best_bound(bounds: Mapping[str, BoundValue]) -> BoundValue:
    """Return the smallest valid bound; without one, infinity together with every failure.

    Examples
    --------
    >>> from leml_theory import Setting, best_bound, complexity_bounds
    >>> from simulations import IsotropicGaussian, UniformLabels
    >>> setting = Setting.of(IsotropicGaussian(64), UniformLabels(64), n=10_000)
    >>> best = best_bound(complexity_bounds(setting))
    >>> print(f"{best.name} {best.value:.5f}")
    chevet 0.00264
    """
    valid = [bound for bound in bounds.values() if bound.valid]
    if valid:
        return min(valid, key=lambda bound: bound.value)
    failures = tuple(f.taken_from(b.name) for b in bounds.values() for f in b.failures)
    return BoundValue("none", math.inf, failures or (_NO_BOUND,))


_NO_BOUND = FailedAssumption("needs a bound on the Rademacher average", "none was given")


def _chevet_value(setting: Setting) -> float:
    """Return the right-hand side of Chevet's inequality."""
    moments = setting.moments
    rows = math.sqrt(setting.n * moments.top_eigenvalue)
    columns = math.sqrt(setting.feature_moments.second_moment * largest_count(setting))
    return setting.radius / setting.n * (rows + columns)


def _trace_ball(setting: Setting) -> Failures:
    needs = "bounds a spectral norm, so it needs the trace ball"
    return unless(setting.ball == "trace", needs, f"the {setting.ball} ball")


def _normalised(setting: Setting) -> Failures:
    """Refuse E|x|^2 > 1, up to rounding, each point counted k/s times."""
    second = setting.moments.second_moment
    return unless(second <= 1 + 1e-12, "needs E|x|^2 <= 1", f"it is {second:.6g}")


def _sub_gaussian(setting: Setting) -> Failures:
    known = setting.moments.proxy is not None
    return unless(known, "needs x, symmetrised, to be sub-Gaussian", "there is no proxy")


def _paper_conditions(setting: Setting) -> Failures:
    """Collect what the paper's proof assumes: condition 3, d >= L, and enough points."""
    d, n_labels, numbers = setting.n_features, setting.n_labels, setting.label_numbers
    centred = "needs E x = 0, which its condition 3 forces"
    return (
        _sub_gaussian(setting)
        + ((setting.different_numbers,) if numbers and numbers.given else ())
        + unless(setting.moments.centred, centred, "x is not centred")
        + unless(d >= n_labels, "needs d >= L", f"d = {d} and L = {n_labels}")
        + _enough_points(setting)
    )


def paper_points(setting: Setting) -> float:
    r"""Return the n above which the paper's proof works, infinite without a sub-Gaussian proxy.

    :math:`\log(L\Sigma/(Pd(\eta^2+\sigma_1)))/(2p^2)`, which is negative where any n will do.

    Paper: Theorem 6.
    """
    moments = setting.moments
    if moments.proxy is None:
        return math.inf
    share = setting.max_probability * setting.n_features * (moments.proxy + moments.top_eigenvalue)
    ratio = setting.n_labels * moments.second_moment / share
    return math.log(ratio) / (2 * setting.min_probability**2)


def _enough_points(setting: Setting) -> Failures:
    """Refuse too few points; without a proxy another assumption has failed already."""
    needed = paper_points(setting)
    if setting.n > needed or math.isinf(needed):
        return ()
    here = f"n = {setting.n} and p = {setting.min_probability:.4g}"
    return (FailedAssumption("needs n > {}", here, needed),)
