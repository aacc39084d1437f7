"""Checks of Theorem 4: its hidden conditions, and the counterexamples without them."""

import math

import numpy as np
from scipy.special import ndtr

from leml_theory import predictions as sharp
from leml_theory.arrays import Array
from leml_theory.bounds import (
    Setting,
    chevet,
    paper_route,
    paper_route_as_printed,
    sub_gaussian_net,
    theorem_3,
)
from leml_theory.measurements.planted import clipped
from leml_theory.rademacher import Estimate, rademacher_average, rademacher_averages
from leml_theory.sweep.rates import Slope, log_log_slope
from paper_checks.checking import Effort, Findings, Kind, Statement, Sure, Verdict, valid_value
from paper_checks.checking.fact import CONDITION, CONTROL, REFUTES, REPAIRED, SLACK, SUPPORTS
from paper_checks.worlds.small import enumerated
from simulations import (
    AnisotropicGaussian,
    FeatureLaw,
    IsotropicGaussian,
    NonNegative,
    RademacherVectors,
    RareOutlier,
    Support,
    UniformLabels,
)


def claimed_rate(setting: Setting) -> float:
    """Return radius sqrt(d P (eta^2 + sigma_1)/(n Sigma)), the form of Theorem 4, constant one."""
    moments = setting.moments
    spread = (moments.proxy or math.nan) + moments.top_eigenvalue
    share = setting.max_probability * setting.n_features * spread / moments.second_moment
    return setting.radius * math.sqrt(share / setting.n)


@Statement(
    id="T4.1",
    place="Theorem 4",
    says="For features from a unit normal distribution the first term is of order radius/sqrt(nL).",
    kind=Kind.UPPER_BOUND,
    verdict=Verdict.HIDDEN,
    refuted_by="Raw N(0, I) features within the bound, constant c3 included.",
    correct="x must be divided by sqrt(E|x|^2) = sqrt(d), as Appendix B.3.2 says and the theorem "
    "does not; raw N(0, I) is off by sqrt(d).",
    why="For a unit normal x, E|x|^2 = d; the proof divides x by sqrt(d).",
    example="L = 1: R_n = E chi_d/sqrt(n), about sqrt(d/n), against radius/sqrt(n).",
    sure=Sure.PROVED,
    matters=2,
    where="Section 4, line 4 of the formulas",
)
def unit_normal_features(effort: Effort) -> Findings:
    """One label, d = 20,000, where R_n is exact; Monte Carlo at d = L = 32, raw and normalised."""
    n, d = 1000, 20_000
    raw = Setting.of(IsotropicGaussian(d, normalised=False), UniformLabels(1), n)
    exact = math.sqrt(d / n) * sharp.chi_mean(d)
    printed, right = paper_route_as_printed(raw), paper_route(raw)
    size, draws = 32, effort.pick(60, 400)
    averages = [
        rademacher_average(law, UniformLabels(size), 10**6, draws=draws, rng=effort.rng)
        for law in (IsotropicGaussian(size, normalised=False), IsotropicGaussian(size))
    ]
    scaled = [average.scaled(math.sqrt(10**6 * size)) for average in averages]
    yield REFUTES.at_least("exact average against the printed bound", exact, 1.05 * printed.value)
    yield REPAIRED.at_most("against the bound for raw x", exact, valid_value(right))
    yield CONTROL.equal("printed bound valid there", printed.valid, False, 0)
    yield REFUTES.mean_above("raw, d = L = 32, times sqrt(nL)", scaled[0], 9.0)
    yield CONDITION.mean_below("divided by sqrt(d)", scaled[1], 2.1)


@Statement(
    id="T4.2",
    place="Theorem 4",
    says="The rate radius/sqrt(nL) is stated without a relation of d and L.",
    kind=Kind.RATE,
    verdict=Verdict.HIDDEN,
    refuted_by="A slope near -1/2 in L at fixed d < L.",
    correct="It needs L = O(d). Appendix B.4 asks for d >= L; with its constants kept its proof "
    "holds up to L = c2 d, c2 = 2078 (B20). At fixed d the average saturates at radius/sqrt(nd).",
    why="The proof assumes d >= L (Appendix B.4); without that |V| is at least the norm of each of "
    "its d rows, of order sqrt(n/d) whatever L is.",
    example="d = 1, x = +-1: V is a row of L sums of signs, E|V|^2 = n for every L.",
    sure=Sure.PROVED,
    matters=3,
    where="Section 4, line 3 of the formulas",
)
def more_labels_than_features(effort: Effort) -> Findings:
    """R_n at d = 1, L = 65,536, n = 10^11 against the bound; slopes in L at fixed d and d = L."""
    n_labels, n = 65_536, 10**11
    setting = Setting.of(RademacherVectors(1), UniformLabels(n_labels), n)
    route = paper_route(setting)
    draws = effort.pick(10, 25)
    average = rademacher_average(
        RademacherVectors(1), UniformLabels(n_labels), n, draws=draws, rng=effort.rng
    )
    sizes = [512, 2048] if effort.quick else [512, 1024, 2048, 4096]
    wide = [_rate(RademacherVectors(32), size, draws, effort.rng) for size in sizes]
    square = [_rate(RademacherVectors(size), size, 3 * draws, effort.rng) for size in (16, 128)]
    fixed, diagonal = _slope(sizes, wide), _slope([16, 128], square)
    yield REFUTES.mean_above(
        "average, d = 1, against the paper's bound", average, 1.5 * route.value
    )
    yield CONTROL.equal("conditions that fail there", len(route.failures), 1, 0)
    yield REFUTES.at_least("slope in L at d = 32", fixed.slope, -0.15, -6 * fixed.stderr, "6 s.e.")
    yield CONDITION.at_most("slope in L = d", diagonal.slope, -0.4, -6 * diagonal.stderr, "6 s.e.")
    yield CONDITION.mean_below("d = L = 128, times sqrt(nL)", square[1].scaled(math.sqrt(128)), 2.2)


def _rate(law: FeatureLaw, n_labels: int, draws: int, rng: np.random.Generator) -> Estimate:
    """Return the trace average times sqrt(n) at n = 10^7."""
    average = rademacher_average(law, UniformLabels(n_labels), 10**7, draws=draws, rng=rng)
    return average.scaled(math.sqrt(10**7))


def _slope(sizes: list[int], averages: list[Estimate]) -> Slope:
    """Fit the averages against the sizes."""
    return log_log_slope(sizes, [a.value for a in averages], [a.stderr for a in averages])


def required_points(n_labels: int) -> int:
    """Return the n that the paper's proof asks for when d = 1 and labels are uniform."""
    return math.ceil(n_labels**2 * math.log(n_labels**2 / 2))


def clipped_excess(n: int, n_labels: int) -> float:
    """Return the exact excess, times sqrt(n), in the world with bias sqrt(L/n)."""
    return sharp.clipped_excess(n, n_labels, math.sqrt(n_labels / n)) * math.sqrt(n)


@Statement(
    id="T4.3",
    place="Theorem 4",
    says="The bound on the excess risk is stated for any d and L, so for L far above d too.",
    kind=Kind.COUNTEREXAMPLE,
    verdict=Verdict.FALSE,
    refuted_by="An excess times sqrt(n) that stays bounded as L grows.",
    correct="For L above a multiple of d only radius/sqrt(nd) can hold; here the excess is 2 "
    "Phi(-1) sqrt(L/n), against a claim of order 1/sqrt(n), with a loss bounded by one. Appendix "
    "B.4 assumes d >= L, the theorem does not.",
    why="With few features the labels are learnt one by one, each from n/L points.",
    example="d = 1, x = +-1, y x of mean sqrt(L/n), loss -clip(y f, -1, 1), radius sqrt(L): each "
    "label's sign is wrong with probability Phi(-1) = 0.159 for large n/L, so that the excess is "
    "0.317 sqrt(L/n), against a promise of order 1/sqrt(n).",
    sure=Sure.EXACT,
    matters=3,
    where="Section 4, line 3 of the formulas",
)
def excess_with_more_labels_than_features(effort: Effort) -> Findings:
    """Exact binomial sums at d = 1, y = x with chance (1 + sqrt(L/n))/2, loss -clip(y f)."""
    sizes = [16, 1024, effort.pick(16_384, 2**18)]
    excess = [clipped_excess(required_points(size), size) for size in sizes]
    slope = math.log(excess[2] / excess[1]) / math.log(sizes[2] / sizes[1])
    limit = 2 * float(ndtr(-1.0))
    n = required_points(1024)
    row = clipped({"n": n, "L": 1024, "draws": effort.pick(40, 400)}, effort.rng)[0]
    measured = Estimate(row["value"], row["stderr"], row["draws"]).scaled(math.sqrt(n))
    setting = Setting.of(RademacherVectors(1), UniformLabels(1024), n, radius=32.0)
    claimed = (claimed_rate(setting) + math.sqrt(math.log(20) / n)) * math.sqrt(n)
    yield REFUTES.at_least("exact excess over the claim, L = 1024", excess[1] / claimed, 3)
    yield REFUTES.equal("slope of the exact excess in L", slope, 0.5, 0.002, "finite size")
    last = excess[2] / sizes[2] ** 0.5
    yield REPAIRED.equal("excess over sqrt(L/n), largest L", last, limit, 1e-3, "ties")
    yield CONTROL.mean_equal("measured excess, times sqrt(n)", measured, excess[1])
    yield CONTROL.equal("conditions that fail there", len(paper_route(setting).failures), 1, 0)
    bound = 2 * theorem_3(setting).value * n**0.5
    yield REPAIRED.at_most("excess against Theorem 3", excess[1], bound)


@Statement(
    id="T4.4",
    place="Theorem 4",
    says="The rate radius/sqrt(nL) is stated without a condition on n.",
    kind=Kind.RATE,
    verdict=Verdict.HIDDEN,
    refuted_by="An average times sqrt(nL) that stays the same down to n = 1 or at n = L, or one "
    "that grows at n = L log L.",
    correct="n >= c L log L. At n = c L the fullest label holds about log L/log log L points, so "
    "that R_n sqrt(nL) grows without end, if slowly; a fullest label of at most K times the mean "
    "needs n >= L log L/(K log K - K + 1). The proof's n of the order of L^2 log L is not "
    "necessary.",
    why="Counts vary about n/L, and the fullest column of V alone has norm sqrt(max n_l).",
    example="n = 1: |V| = |x| = 1, so that R_1 = radius, against radius/sqrt(L).",
    sure=Sure.PROVED,
    matters=2,
    where="Section 4, line 3 of the formulas",
)
def fewer_points_than_labels(effort: Effort) -> Findings:
    """Exact at n = 1, d = L = 20,000; n = L/16, L, L log L and 64 L; the fullest of 10^6 labels."""
    d = 20_000
    x = RademacherVectors(d).sample(1, effort.rng)
    bound = paper_route(Setting.of(RademacherVectors(d), UniformLabels(d), 1))
    draws, large = effort.pick(150, 1000), effort.pick(192, 256)
    few, many, small = (scaled_average(32, n, draws, effort.rng) for n in (2, 2048, 32))
    square, enough = (
        scaled_average(large, n, effort.pick(60, 100), effort.rng)
        for n in (large, math.ceil(large * math.log(large)))
    )
    root = math.sqrt(fullest_label(10**6, effort.rng))
    yield REFUTES.at_least("average at n = 1 over the paper's bound", _norm(x) / bound.value, 1.05)
    yield CONTROL.equal("paper's bound valid at n = 1", bound.valid, False, 0)
    yield REFUTES.mean_above("n = L/16, times sqrt(nL)", few, 2 * many.value)
    yield REFUTES.mean_above("n = L, larger L against L = 32", square, small.value + 0.05)
    # |V| is at least the norm of its fullest column, sqrt(n_l) when d is large.
    yield REFUTES.at_least("root of the fullest count, n = L = 10^6", root, 1.25 * many.value)
    yield CONDITION.mean_below("n = L log L, times sqrt(nL)", enough, 2.2)
    yield CONDITION.mean_below("n = 64 L, times sqrt(nL)", many, 2.1)
    yield (
        "R_n sqrt(nL) at n = L = 16, 64, 256, 1024: 2.17, 2.47, 2.61, 2.73; at n = L log L: "
        "1.99, 2.11, 2.13, 2.13."
    )


def scaled_average(size: int, n: int, draws: int, rng: np.random.Generator) -> Estimate:
    """Return the trace average of signs/sqrt(d) at d = L = size, times sqrt(nL)."""
    law, seen = RademacherVectors(size), UniformLabels(size)
    average = rademacher_average(law, seen, n, draws=draws, rng=rng)
    return average.scaled(math.sqrt(n * size))


def fullest_label(size: int, rng: np.random.Generator) -> int:
    """Return how many of n = L points the fullest of L uniform labels gets."""
    return int(np.bincount(rng.integers(size, size=size)).max())


def _norm(x: Array) -> float:
    return float(np.linalg.norm(x))


def required_proxy(values: Support, direction: Array, *, symmetrised: bool) -> float:
    """Return the eta^2 that condition 3 asks for at one v: 2 log E exp(<x, v>)/|v|^2."""
    projections = values.points @ direction
    growth = np.cosh(projections) - 1 if symmetrised else np.expm1(projections)
    return 2 * math.log1p(float(values.probabilities @ growth)) / float(direction @ direction)


@Statement(
    id="T4.5",
    where="Section 4, paragraph 12, sentence 1",
    says="Any distribution of compact support satisfies the conditions of Theorem 4.",
    kind=Kind.COUNTEREXAMPLE,
    verdict=Verdict.FALSE,
    refuted_by="A finite eta^2 for a bounded x with E x != 0.",
    correct="Condition 3 forces E x = 0, which no non-negative feature has. Ask it of the "
    "symmetrised x, E cosh<x, v> <= exp(eta^2 |v|^2/2): then eta = sup|x| will do and the proof is "
    "unchanged.",
    why="For small v condition 3 compares <E x, v> with |v|^2, which forces E x = 0.",
    example="x = 1 always: exp(v) <= exp(eta^2 v^2/2) fails for 0 < v < 2/eta^2.",
    sure=Sure.PROVED,
    matters=3,
)
def compact_support(_: Effort) -> Findings:
    """The eta^2 asked for at small v, for x of two values and positive mean, and symmetrised."""
    law = RareOutlier(1.0, 0.5, 0.1)
    values, proxy = enumerated(law), law.moments.radius**2
    grid = [np.array([t]) for t in np.geomspace(1e-4, 30, 60)]
    plain = required_proxy(values, grid[0], symmetrised=False)
    worst = max(required_proxy(values, v, symmetrised=True) for v in grid)
    setting = Setting.of(NonNegative(64), UniformLabels(64), 10**9)
    refused = [f for f in paper_route(setting).failures if "E x = 0" in f.needs]
    yield REFUTES.at_least("eta^2 that condition 3 asks for at |v| = 1e-4", plain, 1e4 * proxy)
    yield REPAIRED.at_most("eta^2 for the symmetrised x, largest over v", worst, proxy)
    yield CONTROL.equal("paper's bound names E x = 0 (non-negative x)", len(refused), 1, 0)
    valid = sub_gaussian_net(setting).valid
    yield REPAIRED.equal("net bound valid for non-negative x", valid, True, 0)


@Statement(
    id="T4.6",
    place="Theorem 4",
    says="The bound grows with eta^2 + sigma_1.",
    kind=Kind.UPPER_BOUND,
    verdict=Verdict.LOOSE,
    refuted_by="A law with eta^2 below sigma_1.",
    correct="Condition 3 implies sigma_1 <= eta^2, so 2 eta^2 serves: a factor sqrt(2) at most.",
    why="To second order in v condition 3 says sigma_1 <= eta^2.",
    example="Signs/sqrt(d): eta^2 = sigma_1 = 1/d.",
    sure=Sure.PROVED,
    where="Section 4, line 3 of the formulas",
)
def redundant_eigenvalue(effort: Effort) -> Findings:
    """Small-v limit of condition 3 by enumeration."""
    d, t = 6, 1e-3
    u = effort.rng.normal(size=d)
    u /= np.linalg.norm(u)
    needed = required_proxy(enumerated(RademacherVectors(d)), t * u, symmetrised=False)
    top = RademacherVectors(d).moments.top_eigenvalue
    laws = (RademacherVectors(8), IsotropicGaussian(8), AnisotropicGaussian((3.0, 1.0)))
    shares = [law.moments.top_eigenvalue / law.moments.proxy for law in laws if law.moments.proxy]
    settings = [Setting.of(law, UniformLabels(2), 100) for law in laws]
    factors = [claimed_rate(s) / math.sqrt(_proxy_only(s)) for s in settings]
    square = Setting.of(laws[0], UniformLabels(8), 10**4)
    average = rademacher_average(laws[0], UniformLabels(8), 10**4, draws=50, rng=effort.rng)
    yield SUPPORTS.mean_at_most("average, d = L = 8", average, valid_value(paper_route(square)))
    yield REPAIRED.equal("smallest eta^2, Rademacher", needed, top, 1e-6, "next term, order |v|^2")
    yield REPAIRED.at_most("sigma_1/eta^2, largest", max(shares), 1.0, 1e-12)
    yield SLACK.equal("rate over the rate without sigma_1", max(factors), math.sqrt(2), 1e-9)


def _proxy_only(setting: Setting) -> float:
    """Return d P eta^2/(n Sigma)."""
    proxy = setting.moments.proxy or math.nan
    size = setting.n_features * setting.max_probability * proxy
    return size / (setting.n * setting.moments.second_moment)


@Statement(
    id="T4.7",
    place="Theorem 4",
    says="For all sub-Gaussian features, isotropic or not, the bound is of order radius sqrt(d "
    "(eta^2 + sigma_1)/(n L Sigma)).",
    kind=Kind.UPPER_BOUND,
    verdict=Verdict.LOOSE,
    refuted_by="A measured average above half of the paper's form.",
    correct="Sharp up to constants: (sqrt(sigma_1) + sqrt(Sigma/L))/sqrt(n). With the trivial eta "
    "= sup|x| the paper's form is never below Theorem 3's when d >= L.",
    why="The factor d counts every direction as if it had the largest variance.",
    example="One eigenvalue 1 and d - 1 zeros: the form is radius sqrt(2d/(nL)), for d > L/2 above "
    "the radius/sqrt(n) of Theorem 3.",
    sure=Sure.PROVED,
    where="Section 4, line 3 of the formulas",
)
def anisotropic_features(effort: Effort) -> Findings:
    """Gaussian x, eigenvalues 1/i: Monte Carlo, Chevet's bound, the paper's form, Theorem 3."""
    d, n_labels, n = effort.pick(256, 512), effort.pick(32, 64), 16_384
    spectrum = 1 / np.arange(1, d + 1)
    law = AnisotropicGaussian(tuple(spectrum / spectrum.sum()))
    seen = UniformLabels(n_labels)
    setting = Setting.of(law, seen, n)
    average = rademacher_average(law, seen, n, draws=effort.pick(40, 200), rng=effort.rng)
    trivial = Setting.of(RademacherVectors(d), seen, n)
    compact = math.sqrt(trivial.moments.radius**2 * d / n_labels / n)
    claimed, bound = claimed_rate(setting), theorem_3(setting).value
    yield SUPPORTS.mean_at_most("average against the claimed form", average, claimed)
    yield SLACK.at_least("claimed form over Theorem 3", claimed / bound, 1.2)
    yield REPAIRED.mean_at_most("average against Chevet", average, chevet(setting).value)
    yield SLACK.mean_below("average against half the claimed form", average, claimed / 2)
    yield REPAIRED.mean_above("average against half of Chevet", average, chevet(setting).value / 2)
    other = theorem_3(trivial).value
    yield SLACK.at_least("claimed form with eta = R over Theorem 3", compact, other)


@Statement(
    id="T4.8",
    place="Section 4",
    says="For certain distributions, near isotropic ones, the trace ball has superior bounds.",
    kind=Kind.RATE,
    refuted_by="An average of signs/sqrt(d) near that of the Frobenius ball.",
)
def non_negative_features(effort: Effort) -> Findings:
    """Rademacher averages for x = |g|/sqrt(d) and for signs/sqrt(d)."""
    size, n = 48, effort.pick(400, 2000)
    seen = UniformLabels(size)
    draws = effort.pick(60, 300)
    averages = [
        rademacher_averages(law, seen, n, draws=draws, rng=effort.rng)["trace"].scaled(math.sqrt(n))
        for law in (NonNegative(size), RademacherVectors(size))
    ]
    moments = NonNegative(size).moments
    yield CONTROL.mean_above("average of |g|/sqrt(d), times sqrt(n)", averages[0], 0.65)
    yield SUPPORTS.mean_below("average of signs/sqrt(d), times sqrt(n)", averages[1], 0.36)
    yield CONTROL.at_least("sigma_1/Sigma of |g|/sqrt(d)", moments.top_eigenvalue, 2 / math.pi)
    yield CONTROL.equal("|g| is centred", moments.centred, False, 0)
    yield (
        "Non-negative features are not among them: their sigma_1 is above 0.63 E|x|^2, and "
        "the advantage nearly disappears."
    )
