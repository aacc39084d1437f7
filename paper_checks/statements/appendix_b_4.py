"""Checks of Appendix B.4: the spectral norm by Bernstein's inequality over a net."""

import math

import numpy as np
from scipy.stats import gamma

from leml_theory.arrays import Array
from leml_theory.bounds import complexity as bounds
from leml_theory.rademacher import spectral_norms
from paper_checks.checking import Effort, Findings, Kind, Statement, Sure, Verdict
from paper_checks.checking.fact import CONTROL, MEANT, REFUTES, REPAIRED, SLACK, SUPPORTS
from paper_checks.worlds.small import enumerated, signed_sums
from simulations import RademacherVectors, UniformLabels


def column_scale(proxy: float, share: float, n: int) -> float:
    """Return the paper's c = eta sqrt(2 P n), by which columns of V are divided."""
    return math.sqrt(proxy * 2 * share * n)


def log_mgf(d: int, v: Array, count: int) -> float:
    """Return log E exp <A_l, v> exactly: Rademacher features, `count` points, P n = 8."""
    law = RademacherVectors(d)
    values = enumerated(law)
    c = column_scale(law.moments.top_eigenvalue, 1 / 8, 64)  # the smallest proxy
    one = float(values.probabilities @ np.cosh(values.points @ v / c))
    return count * math.log(one)


@Statement(
    id="B15",
    place="Appendix B.4",
    says="On E_max the columns of A have E exp<A_l, v> <= exp(|v|^2/2).",
    kind=Kind.UPPER_BOUND,
    refuted_by="A logarithm of the moment above |v|^2/2 at n_l <= 2Pn.",
)
def exponential_moment_of_a_column(effort: Effort) -> Findings:
    """Rademacher features enumerated: exact exponential moments at many v."""
    d, directions = 4, effort.rng.normal(size=(effort.pick(20, 100), 4))
    sizes = np.geomspace(1e-3, 30, 30)
    rays = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    ratios = [log_mgf(d, t * u, 16) / (t * t / 2) for u in rays for t in sizes]
    beyond = log_mgf(d, 1e-3 * rays[0], 24) / (1e-6 / 2)
    yield SUPPORTS.at_most("log MGF over |v|^2/2 at n_l = 2Pn, largest", max(ratios), 1.0, 1e-8)
    yield CONTROL.at_least("the same, near v = 0", max(ratios), 1.0, 1e-4, "next term of a series")
    yield CONTROL.at_least("at n_l = 3Pn", beyond, 1.4)


def log_moment(p: int) -> float:
    """Bound log E|X|^p for E exp(tX) <= exp(t^2/2), all t.

    E X^2k <= (2k)! min over t of exp(t^2/2)/t^2k = (2k)! (e/2k)^k; the variance is at most one;
    odd moments lie between their neighbours on the logarithmic scale.
    """
    if p <= 2:
        return 0.0
    if p % 2:
        return (log_moment(p - 1) + log_moment(p + 1)) / 2
    return math.lgamma(p + 1) + p / 2 * math.log(math.e / p)


def moment_envelope(p: int) -> float:
    """Bound (E|X|^p)^(1/p)/sqrt(p), whose supremum over p is Vershynin's psi_2 norm."""
    return math.exp(log_moment(p) / p) / math.sqrt(p)


@Statement(
    id="B16",
    place="Appendix B.4",
    says="So the sub-Gaussian norm of A_l is at most one.",
    kind=Kind.UPPER_BOUND,
    refuted_by="An envelope above one.",
)
def sub_gaussian_norm(_: Effort) -> Findings:
    """Envelope of all moments up to 200 from the exponential moment, Vershynin's definition."""
    envelope = [moment_envelope(p) for p in range(1, 201)]
    orlicz = math.sqrt(8 / 3)  # E exp(g^2/K^2) = (1 - 2/K^2)^(-1/2) = 2
    yield SUPPORTS.at_most("sup over p of the moment envelope", max(envelope), 1.0, 1e-12)
    yield CONTROL.equal("attained at p = 1", envelope[0], 1.0, 1e-12)
    yield CONTROL.at_most("largest from p = 3 on", max(envelope[2:]), 0.92)
    yield CONTROL.equal("E exp(g^2/K^2) at K^2 = 8/3", (1 - 2 / orlicz**2) ** -0.5, 2.0, 1e-12)
    yield CONTROL.different("norm by E exp(X^2/K^2) <= 2, a Gaussian", orlicz, 1.0, 0.5)


def bernstein_from_moments(norm: float) -> float:
    """Return the c with P(sum >= eps N) <= exp(-c min(eps^2, eps) N) for psi_1 norms <= norm.

    E exp(tX) <= exp(2 e^2 t^2 K^2) for t K <= 1/(2e), from p! >= (p/e)^p; Markov at the best t
    gives min(eps^2/(8 e^2 K^2), eps/(4 e K)), and K >= 1.
    """
    return min(1 / (8 * math.e**2), 1 / (4 * math.e)) / norm**2


def moment_series(u: float) -> float:
    """Return the sum over p >= 2 of (u p)^p/p!, which bounds E exp(tX) - 1 at t K = u."""
    p = np.arange(2, 400)
    return float(np.exp(p * np.log(u * p) - np.cumsum(np.log(np.arange(1, 400)))[1:]).sum())


@Statement(
    id="B17",
    place="Theorem 5",
    says="Bernstein's inequality for sub-exponential variables, with an absolute constant c1.",
    kind=Kind.UPPER_BOUND,
    refuted_by="A tail above the bound, or a series above the Gaussian form it is replaced by.",
)
def bernstein(_: Effort) -> Findings:
    """The constant derived again from the moment series; exact gamma tails beside the bound."""
    grid = np.linspace(1e-4, 1 / (2 * math.e), 200)
    series = max(moment_series(u) / (2 * math.e**2 * u * u) for u in grid)
    c = bernstein_from_moments(1.0)
    # Centred exponentials: E|X|^p <= 1/(p+1) + p!/e, from either side of the mean.
    norm = max((1 / (p + 1) + math.factorial(p) / math.e) ** (1 / p) / p for p in range(1, 60))
    tails = [
        gamma.logsf(N * (1 + eps), N) + c * min(eps, eps**2) * N
        for N in (1, 5, 50, 500)
        for eps in np.geomspace(0.01, 20, 40)
    ]
    c1 = bernstein_from_moments(4.0)
    yield CONTROL.equal("tracked constant", bounds.BERNSTEIN_CONSTANT, c1, 1e-15)
    yield SUPPORTS.at_most("series over 2 e^2 u^2, largest", series, 1.0)
    yield CONTROL.at_most("psi_1 norm of a centred exponential", norm, 1.0)
    yield SUPPORTS.at_most("log of exact tail over bound, exponentials", max(tails), 0.0)
    yield CONTROL.equal("c2 = log 9/c1", bounds.NET_CONSTANT * c1, math.log(9), 1e-12)


def squared_projection(d: int, count: int, n: int, share: float) -> float:
    """Return E <A_l, v>^2 exactly for Rademacher features and unit v: count sigma_1/c^2."""
    top = RademacherVectors(d).moments.top_eigenvalue
    return count * top / column_scale(1 / d, share, n) ** 2


@Statement(
    id="B18",
    place="Appendix B.4",
    says="E Z_l^2 <= sigma_1/eta^2, and the centred squares have sub-exponential norm at most 4.",
    kind=Kind.UPPER_BOUND,
    refuted_by="A second moment or an envelope above the claim.",
)
def sub_exponential_norm(_: Effort) -> Findings:
    """Exact second moment by enumeration; envelope of the moments of the square."""
    d, n, share = 3, 4, 0.5
    V, chances, counts = signed_sums(RademacherVectors(d), UniformLabels(1), n)
    exact = float(chances @ np.square(V[:, 0, 0])) / column_scale(1 / d, share, n) ** 2
    p = np.arange(1, 60)
    # E|g|^2p = 2^p Gamma(p + 1/2)/sqrt(pi): the largest moments that a unit proxy allows, but for
    # the envelope's factor.
    logs = p * math.log(2) + np.array([math.lgamma(k + 0.5) for k in p]) - math.log(math.pi) / 2
    gaussian = float((np.exp(logs / p) / p).max())
    envelope = max(2 * moment_envelope(2 * k) ** 2 for k in range(1, 101))
    formula = squared_projection(d, n, n, share)
    yield CONTROL.equal("E Z_l^2 by enumeration, n_l = 2Pn", exact, formula, 1e-12)
    yield SUPPORTS.at_most("E Z_l^2 against sigma_1/eta^2", formula, 1.0, 1e-12)
    yield SUPPORTS.at_most("psi_1 norm of Z^2, any law, at most 2", envelope, 2.0)
    yield SUPPORTS.at_most("twice that, centred, at most 4", 2 * envelope, 4.0)
    yield CONTROL.equal("psi_1 norm of g^2", gaussian, 1.0, 1e-9)
    yield CONTROL.equal("label counts in the enumeration", counts.max(), n, 0)


def net_of_the_circle(radius: float) -> Array:
    """Return equally spaced unit vectors such that every unit vector is within `radius` of one."""
    size = math.ceil(math.pi / (2 * math.asin(radius / 2)))
    angles = 2 * math.pi * np.arange(size) / size
    return np.stack([np.cos(angles), np.sin(angles)])


def net_bound(d: int, radius: float) -> float:
    """Return (1 + 2/radius)^d, the volume bound on the size of a net of the sphere."""
    return (1 + 2 / radius) ** d


@Statement(
    id="B19",
    where="Appendix B.4, line 12 of the formulas",
    says="|A v|^2 = sum of <A_l, v>^2 holds over a 1/4-net of 9^d points with probability 'at "
    "most' 1 - 9^d exp(...), and |A|^2 is at most twice the maximum over the net.",
    verdict=Verdict.MISPRINT,
    refuted_by="|A v|^2 equal to the sum, a net above 9^d points, or a norm above twice its max.",
    correct="A^T v in place of A v, 'at least' in place of 'at most'; net and factor are right.",
    why="A is d x L and v has d entries; and the failures of the union have probability at most "
    "the subtracted term.",
    example="A = (1, 0)^T, v = (1, 0)^T: A^T v = 1, A v does not exist.",
    sure=Sure.PROVED,
)
def net_argument(effort: Effort) -> Findings:
    """Both products for a square A; a sure event against 'at most'; a net of the circle."""
    A = effort.rng.normal(size=(effort.pick(300, 3000), 2, 2))
    net = net_of_the_circle(0.25)
    over_net = np.linalg.norm(A.transpose(0, 2, 1) @ net, axis=1).max(axis=1) ** 2
    v = net[:, 3]
    columns = np.square(A[0].T @ v).sum()
    # The inequality holds surely for d = L = 1 and eps as large as this: 'at most' is 'at least'.
    eps = math.log(9 / 0.01) / bounds.BERNSTEIN_CONSTANT
    largest = 1 / column_scale(1.0, 1.0, 1) ** 2
    yield MEANT.equal("sum of <A_l, v>^2 is |A^T v|^2", _sum_of_squares(A[0], v), columns, 1e-12)
    yield REFUTES.different("against the printed |A v|^2", np.square(A[0] @ v).sum(), columns, 1e-6)
    yield REFUTES.at_least("chance (one) against 'at most' 0.99", largest <= 1 + eps, 0.995)
    yield SUPPORTS.at_most("points of a 1/4-net of the circle", net.shape[1], net_bound(2, 0.25))
    yield CONTROL.equal("9^d", net_bound(2, 0.25), 81.0, 1e-9)
    ratios = spectral_norms(A) ** 2 / over_net
    yield SUPPORTS.at_most("|A|^2 over the net's maximum", ratios.max(), 2.0)


def _sum_of_squares(A: Array, v: Array) -> float:
    return float(sum(float(A[:, column] @ v) ** 2 for column in range(A.shape[1])))


def net_deviation(d: int, n_labels: int) -> float:
    """Return the eps = c2 d/L at which the union over the net is spent; it must reach one."""
    return bounds.NET_CONSTANT * d / n_labels


def last_step(d: int, n_labels: int, ratio: float) -> float:
    """Return L r + c2 d + 1/c1 over (c2 d + 1/c1)(1 + r), r = sigma_1/eta^2.

    The last step takes it to be at most one.
    """
    net = bounds.NET_CONSTANT * d + 1 / bounds.BERNSTEIN_CONSTANT
    return (n_labels * ratio + net) / (net * (1 + ratio))


def bare_last_step(d: int, n_labels: int, ratio: float) -> float:
    """Return the same with the constants left out: (d + L r)/(d (1 + r))."""
    return (d + n_labels * ratio) / (d * (1 + ratio))


@Statement(
    id="B20",
    where="Appendix B.4, paragraph 16, sentence 1",
    says="d >= L makes eps >= 1 and lets the last step absorb L sigma_1 into d (eta^2 + sigma_1).",
    kind=Kind.UPPER_BOUND,
    verdict=Verdict.LOOSE,
    refuted_by="A step that fails at d = L, or at L = c2 d.",
    correct="L <= c2 d suffices, c2 = log 9/c1 = 2078 with c1 = 1/(128 e^2): L = O(d).",
    why="eps = c2 d/L is at least one up to L = c2 d, and the last step has the same c2 to spare.",
    example="d = 1, L = 2078: eps = 2078.1/2078 > 1.",
    sure=Sure.PROVED,
    matters=2,
)
def where_d_and_labels_meet(_: Effort) -> Findings:
    """Both steps with the constants tracked, at L = d, at L = c2 d and beyond."""
    ratios = (0.01, 0.5, 1.0)
    sizes = (1, 10, 1000)
    within = [last_step(d, 2078 * d, r) for d in sizes for r in ratios]
    yield SUPPORTS.at_least("eps at d = L", net_deviation(64, 64), 1.0)
    yield SLACK.at_least("eps at L = 2078 d", net_deviation(1, 2078), 1.0)
    yield REPAIRED.at_most("eps at L = 2079 d", net_deviation(1, 2079), 1.0)
    bare = bare_last_step(9, 9, 1.0)
    yield SUPPORTS.at_most("last step without constants, d = L", bare, 1.0, 1e-12)
    yield CONTROL.at_least("last step without constants, L = 9 d", bare_last_step(9, 81, 1.0), 2.0)
    yield SLACK.at_most("last step with them, L = 2078 d, largest", max(within), 1.0, 1e-12)
    yield CONTROL.at_least("last step with them, L = 5000 d", last_step(1000, 5_000_000, 1.0), 1.5)


@Statement(
    id="B21",
    where="Appendix B.4, line 20 of the formulas",
    says="E[Y] equals the integral of P[Y > eps] over eps > 0.",
    verdict=Verdict.MISPRINT,
    refuted_by="A mean of Y equal to the integral of its tail.",
    correct="E[Y] <= the integral, since Y can be negative, and nearly always is.",
    why="The integral is E max(Y, 0).",
    example="Y = -1 always: E[Y] = -1, the integral is 0.",
    sure=Sure.PROVED,
)
def tail_integral(effort: Effort) -> Findings:
    """Y of the proof over all signs, labels and points of a small world."""
    n, d, n_labels = effort.pick(3, 4), 2, 2
    law = RademacherVectors(d)
    V, chances, _ = signed_sums(law, UniformLabels(n_labels), n)
    squares = spectral_norms(V / column_scale(1 / d, 1 / n_labels, n)) ** 2
    Y = squares / 2 - n_labels - bounds.NET_CONSTANT * d
    mean, positive = float(chances @ Y), float(chances @ np.maximum(Y, 0.0))
    yield REFUTES.different("E[Y] against the integral of its tail", mean, positive, 1.0)
    yield REPAIRED.at_most("E[Y] against the integral", mean, positive)
    yield MEANT.at_most("integral against 1/c1", positive, 1 / bounds.BERNSTEIN_CONSTANT)
    yield CONTROL.equal("E|A|_F^2", chances @ np.square(V).sum(axis=(1, 2)), n, 1e-12)
