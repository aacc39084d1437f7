"""Checks of Section 1: sizes, gains and rates announced in the introduction."""

import math

import numpy as np
import scipy.sparse as sp

from leml_solver import Labels, Squared
from leml_solver.algorithms import CountingMatrix, FeatureProblem, entries_of
from leml_theory.measurements.planted import worst_planted
from paper_checks import printed
from paper_checks.checking import Effort, Findings, Kind, Statement, Sure, Verdict
from paper_checks.checking.fact import CONDITION, REFUTES, REPAIRED, SUPPORTS
from paper_checks.statements.section_3_costs import tally

ORDERS_OF_MAGNITUDE = 100.0  # the least that the plural can mean
STANDARD_ERRORS = 5.0


@Statement(
    id="F1",
    place="Section 1",
    says="A full linear model of 10^4 labels and 10^6 features takes about 100 gigabytes.",
    refuted_by="A size that is off by more than a factor of 1.5.",
)
def memory_of_a_full_model(_: Effort) -> Findings:
    """Count the numbers of the d x L matrix, eight bytes each: 80 GB."""
    n_labels, n_features, claimed = printed.QUOTED["size of a full model"].numbers
    ratio = claimed / model_gigabytes(n_features, n_labels, 8)
    reason = "'around' allows a factor of 1.5"
    name, room = "logarithm of claimed over computed", math.log(1.5)
    yield SUPPORTS.equal(name, math.log(ratio), 0.0, room, reason)


def model_gigabytes(n_features: float, n_labels: float, bytes_per_number: int) -> float:
    """Return the size of a dense d x L model."""
    return n_features * n_labels * bytes_per_number / 1e9


@Statement(
    id="F2",
    where="Section 1, paragraph 6, sentence 4",
    says="The fast operations are faster than direct computation by the average number of nonzero "
    "features of a point.",
    kind=Kind.RATE,
    verdict=Verdict.HIDDEN,
    refuted_by="A gain that differs from s d/(s + d), or one of order d for small s.",
    correct="The gain is s d/(s + d), of the order of the smaller of s = |Omega|/n and the number "
    "d of nonzeros; it is of order d only if |Omega| is at least nnz(X).",
    why="A gradient passes once over the d nonzeros of a point and once over its s observed "
    "labels, in place of their product, so that both limit the gain.",
    example="A point with 40 nonzeros and 2 observed labels: 40 x 2 = 80 products become 40 + 2 = "
    "42, a gain of 1.9 and not of 40.",
    sure=Sure.PROVED,
    matters=2,
)
def gain_of_the_fast_operations(effort: Effort) -> Findings:
    """Count multiplications of a gradient, direct and by Algorithm 1, for several s and d."""
    settings = [(2, 10), (10, 10), (40, 10), (2, 40), (10, 40), (40, 40)]
    gains = {pair: measured_gain(*pair, effort) for pair in settings}
    worst = max(abs(gain / predicted_gain(*pair) - 1) for pair, gain in gains.items())
    sizes = printed.statistics()
    nonzeros = float(sizes["train_nonzeros"]["bibtex"])
    bibtex = predicted_gain(0.2 * float(sizes["n_labels"]["bibtex"]), nonzeros)
    yield REPAIRED.equal("gain at s = 10, 40 nonzeros", gains[10, 40], predicted_gain(10, 40), 1e-9)
    yield REPAIRED.equal("worst relative error of s d/(s + d)", worst, 0.0, 1e-9)
    yield REFUTES.at_most("share of the claimed gain, s = 2, 40 nonzeros", gains[2, 40] / 40, 0.05)
    yield CONDITION.at_least("the same where |Omega| = nnz(X)", gains[40, 40] / 40, 0.5, 1e-12)
    yield REFUTES.at_most("the same for bibtex, a fifth observed", bibtex / nonzeros, 1 / 3)
    yield f"bibtex with a fifth of its labels: {bibtex:.1f} times, not {nonzeros:.1f}"


def predicted_gain(per_point: float, nonzeros: float) -> float:
    """Return s d/(s + d), which is of the order of the smaller of the two."""
    return per_point * nonzeros / (per_point + nonzeros)


def measured_gain(per_point: int, nonzeros: int, effort: Effort) -> float:
    """Return the operations of a gradient through all h_j (x) x_i over those of Algorithm 1."""
    n, d, n_labels, k = effort.pick(100, 400), 500, 60, 4
    columns = [effort.rng.choice(d, nonzeros, replace=False) for _ in range(n)]
    X = sp.csr_matrix(
        (np.ones(n * nonzeros), np.concatenate(columns), np.arange(0, n * nonzeros + 1, nonzeros)),
        shape=(n, d),
    )
    seen = np.concatenate([effort.rng.choice(n_labels, per_point, replace=False) for _ in range(n)])
    rows = np.repeat(np.arange(n), per_point)
    labels = Labels.observed(rows, seen, np.ones(rows.size), (n, n_labels))
    features = tally(X.toarray())
    H = effort.rng.standard_normal((n_labels, k))
    entries = entries_of(labels, Squared(), np.float64)
    problem = FeatureProblem(CountingMatrix(features), entries, H, None, 1.0, precondition=False)
    problem.gradient(problem.at(effort.rng.standard_normal((d, k))))
    direct = 2 * np.diff(X.indptr)[rows].sum() * k  # once to predict, once to sum up
    return float(direct / (sum(features.done) + 2 * rows.size * k))


@Statement(
    id="F3",
    where="Section 1, paragraph 7, sentence 4",
    says="For isotropic data the trace norm gives excess risk of order 1/sqrt(nL).",
    kind=Kind.RATE,
    verdict=Verdict.FALSE,
    refuted_by="Excess risk times sqrt(nL) that stays bounded as L grows beyond d.",
    correct="Of order (1/sqrt(L) + 1/sqrt(d))/sqrt(n) in expectation, for n of at least order L "
    "log L: the rate stops improving at L = d. With probability 1 - delta Theorem 4 adds a term "
    "sqrt(log(1/delta)/n), larger by sqrt(L log(1/delta)) for a radius of 1.",
    why="Theorem 4, which it summarises, has a second term sqrt(log(1/delta)/n) without 1/sqrt(L), "
    "and its first term needs L = O(d).",
    example="Radius 1, L = 10^4, delta = 0.05: the first term is 0.01/sqrt(n), the second "
    "1.7/sqrt(n).",
    sure=Sure.PROVED,
    matters=3,
)
def announced_rate(effort: Effort) -> Findings:
    """Excess at the worst planted signal, d = 8, L = 8 and 2048; both terms of Theorem 4."""
    n, draws = 10**6, effort.pick(12, 60)
    square, wide = (
        worst_planted(
            {"n": n, "d": 8, "L": L, "skew": "uniform", "draws": draws, "signals": 6}, effort.rng
        )[0]
        for L in (8, 2048)
    )
    scaled = [row["value"] * math.sqrt(n * row["L"]) for row in (square, wide)]
    errors = [STANDARD_ERRORS * row["stderr"] * math.sqrt(n * row["L"]) for row in (square, wide)]
    corrected = [
        row["value"] * math.sqrt(n) / (row["L"] ** -0.5 + row["d"] ** -0.5)
        for row in (square, wide)
    ]
    first, second = theorem_4_terms(n, 10**4, radius=1.0, delta=0.05)
    room = max(errors[0] / 2, errors[1] * (8 / 2048) ** 0.5)
    reason = "five standard errors"
    both = "excess risk over (1/sqrt(L) + 1/sqrt(d))/sqrt(n), the larger of both"
    name = "excess risk times sqrt(nL), d = 8, L = 2048"
    yield REFUTES.at_least(name, scaled[1], 3.0, errors[1], reason)
    yield SUPPORTS.at_most("the same at L = d = 8", scaled[0], 1.2, errors[0], reason)
    yield REFUTES.at_least("second over first term of Theorem 4, L = 10^4", second / first, 100.0)
    yield REPAIRED.at_most(both, max(corrected), 0.5, room, reason)


def theorem_4_terms(n: int, n_labels: int, *, radius: float, delta: float) -> tuple[float, float]:
    """Return the two terms of Theorem 4 for isotropic features, constants one."""
    return radius / math.sqrt(n * n_labels), math.sqrt(math.log(1 / delta) / n)


@Statement(
    id="F4",
    where="Section 1, paragraph 8, sentence 5",
    says="On the Wikipedia data training takes orders of magnitude less time than with several "
    "existing methods.",
    verdict=Verdict.FALSE,
    refuted_by="A ratio of ten or more in Table 4, the only table with training times.",
    correct="LEML is 1.6 to 8.2 times as fast as WSABIE in Table 4, each at its own accuracy; no "
    "other times are printed, and Figure 2a, accuracy against time, is not in the text.",
    why="The only training times are those of Table 4, and none of their ratios reaches ten.",
    example="nus-wide, k = 50, the largest ratio: 4,705 s against 574 s, 8.2 times.",
    sure=Sure.EXACT,
    matters=2,
)
def orders_of_magnitude_faster(_: Effort) -> Findings:
    """Divide the training times of WSABIE by those of LEML in Table 4."""
    times = printed.only(printed.load(4), metric="seconds")
    wide = printed.spread(times, ["dataset", "rank"], "method")
    ratios = wide["WSABIE"] / wide["LEML"]
    yield REFUTES.at_most("largest ratio of training times", ratios.max(), ORDERS_OF_MAGNITUDE / 10)
    yield REPAIRED.at_least("smallest ratio of training times", ratios.min(), 1.0)
    yield "WSABIE over LEML: " + ", ".join(f"{ratio:.1f}" for ratio in ratios)
