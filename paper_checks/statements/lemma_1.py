"""Checks of Lemma 1 and of the conditioning in Appendix B.4, by exact binomial tails."""

import math

import numpy as np
from numpy.typing import NDArray

from leml_theory.arrays import Array
from leml_theory.rademacher import spectral_norms
from paper_checks.checking import Effort, Findings, Kind, Statement, Sure, Verdict
from paper_checks.checking.fact import CONTROL, MEANT, REFUTES, REPAIRED, SLACK, SUPPORTS
from paper_checks.worlds.exact_tails import (
    largest_count_chance,
    largest_count_tail,
    largest_count_tails,
)
from paper_checks.worlds.small import signed_sums
from simulations import RademacherVectors, UniformLabels, WeightedLabels, heavy_label, zipf


def paper_points(probabilities: Array, delta: float) -> int:
    """Return the n of Lemma 1, log(L/delta)/(2 p^2) with p the smallest probability."""
    return math.ceil(math.log(probabilities.size / delta) / (2 * float(probabilities.min()) ** 2))


def repaired_points(probabilities: Array, delta: float) -> int:
    """Return (3/P) log(L/delta): Chernoff for Bin(n, P), which dominates every label's count."""
    return math.ceil(3 * math.log(probabilities.size / delta) / float(probabilities.max()))


def exact_points(probabilities: Array, delta: float, limit: int) -> int:
    """Return the smallest n from which, up to `limit`, the union of tails stays below delta."""
    tails = largest_count_tails(np.arange(1.0, limit + 1), probabilities)
    above = np.flatnonzero(tails > delta)
    return int(above[-1]) + 2 if above.size else 1


LABEL_LAWS = {
    "uniform, L = 200": np.full(200, 1 / 200),
    "Zipf 1, L = 100": np.array(zipf(100, 1.0)),
    "heavy .3, L = 20": np.array(heavy_label(20, 0.3)),
}


@Statement(
    id="B11",
    where="Appendix B.4, line 2 of the formulas",
    says="E|V|^2 is split by P[E_min] and the complement of E_max; p = min p_t; root of a norm of "
    "an expectation.",
    verdict=Verdict.MISPRINT,
    refuted_by="The printed split equal to E|V|^2.",
    correct="E_max throughout; p = min p_l; the expectation is a number and needs no norm.",
    why="The law of total expectation needs one event and its complement.",
    example="If E_min were certain and E_max had probability 1/2, the weights would add up to 3/2.",
    sure=Sure.PROVED,
)
def event_names(_: Effort) -> Findings:
    """Law of total expectation over all signs, labels and points, with one event and with two.

    E_min is taken for the event that its name suggests, every label seen at least half as often as
    expected.
    """
    n, law, seen = 3, RademacherVectors(2), UniformLabels(3)
    V, chances, counts = signed_sums(law, seen, n)
    squares = spectral_norms(V) ** 2
    often = (counts <= 2 * seen.probabilities.max() * n).all(axis=1)
    least = (counts >= seen.probabilities.min() * n / 2).all(axis=1)
    whole = float(chances @ squares)
    inside, outside = (_conditional(squares, chances, event) for event in (often, ~often))
    share, other = float(chances @ often), float(chances @ least)
    probabilities = LABEL_LAWS["Zipf 1, L = 100"]
    yield MEANT.equal("both terms with E_max", inside * share + outside * (1 - share), whole, 1e-12)
    printed = inside * other + outside * (1 - share)
    yield REFUTES.different("with P[E_min] as printed", printed, whole, 0.1)
    yield CONTROL.equal("p as the smallest p_l", probabilities.min(), probabilities[-1], 0)
    yield "Also: the index under min is l, and the root is that of a number, not of a norm."


def _conditional(values: Array, chances: Array, event: NDArray[np.bool_]) -> float:
    return float(chances[event] @ values[event]) / float(chances[event].sum())


def probability_of_the_event(n: int) -> float:
    """Return P[E_max] for five uniform labels: a number, with nothing random left in it."""
    return largest_count_chance(n, np.full(5, 0.2), math.floor(0.4 * n))


@Statement(
    id="B12",
    place="Lemma 1",
    says="With probability 1 - delta, P[E_max] >= 1 - delta.",
    verdict=Verdict.MISPRINT,
    refuted_by="A probability of an event that is itself random.",
    correct="P[E_max] >= 1 - delta, with nothing before it.",
    why="The probability of an event is a number, with nothing random left in it.",
    example="'With probability 0.9, heads has probability 1/2' says no more than that heads has "
    "probability 1/2.",
    sure=Sure.PROVED,
    where="Appendix B.4, paragraph 2, sentence 1",
)
def doubled_probability(_: Effort) -> Findings:
    """P[E_max] for five labels, exactly."""
    delta = 0.1
    n = paper_points(np.full(5, 0.2), delta)
    chance = probability_of_the_event(n)
    always = float(chance >= 1 - delta)
    union = 1 - largest_count_tail(n, np.full(5, 0.2))
    yield REFUTES.different("chance that P[E_max] >= 1 - delta", always, 1 - delta, 0.05)
    yield MEANT.at_least("P[E_max], exact", chance, 1 - delta)
    yield CONTROL.at_least("P[E_max] against the union bound", chance, union, 1e-9)


@Statement(
    id="B13",
    place="Lemma 1",
    says="n >= log(L/delta)/(2 p^2) makes every label be seen at most 2Pn times with probability 1 "
    "- delta, p the smallest label probability.",
    kind=Kind.UPPER_BOUND,
    verdict=Verdict.LOOSE,
    refuted_by="A tail above delta at either n.",
    correct="n >= (3/P) log(L/delta), P the largest probability: Bin(n, P) dominates every count.",
    why="The proof takes Hoeffding's inequality for the rarest label; every count is dominated by "
    "one of probability P, for which Chernoff's does.",
    example="200 uniform labels, delta = 0.05: 20,000 log 4,000 = 165,881 points, against 600 log "
    "4,000 = 4,977.",
    sure=Sure.PROVED,
    where="Appendix B.4, paragraph 2, sentence 1",
)
def points_for_lemma_1(effort: Effort) -> Findings:
    """Exact binomial tails for uniform, Zipf and one heavy label, at the lemma's n and at ours."""
    delta, uniform = 0.05, LABEL_LAWS["uniform, L = 200"]
    paper, repaired = paper_points(uniform, delta), repaired_points(uniform, delta)
    needed = exact_points(uniform, delta, 5000)
    half = largest_count_tail(repaired // 2, uniform)
    yield SLACK.at_least("lemma's n over the exact need, uniform, L = 200", paper / needed, 50)
    yield CONTROL.equal("lemma's n, uniform, L = 200", paper, 165_881, 0)
    yield REPAIRED.at_most("exact need against the repaired n", needed, repaired)
    yield CONTROL.at_least("tail at half of the repaired n", half, delta)
    for name, law in LABEL_LAWS.items():
        paper, repaired = paper_points(law, delta), repaired_points(law, delta)
        tail = largest_count_tail(paper, law)
        tails = largest_count_tails(np.arange(float(repaired), effort.pick(2, 4) * repaired), law)
        yield SUPPORTS.at_most(f"tail at the lemma's n, {name}", tail, delta)
        yield REPAIRED.at_most(f"largest tail from (3/P) log(L/delta), {name}", max(tails), delta)
        yield SLACK.at_least(f"lemma's n over the repaired one, {name}", paper / repaired, 1.2)
    yield f"Exact need for 200 uniform labels at delta = 0.05: n = {needed:,}."


@Statement(
    id="B14",
    place="Appendix B.4",
    says="E[|V|^2 | labels] <= n Sigma, so that conditioning on E_max costs n Sigma P[not E_max].",
    kind=Kind.UPPER_BOUND,
    refuted_by="A conditional mean above n Sigma.",
)
def conditioning(effort: Effort) -> Findings:
    """All signs, labels and points of a small world, grouped by label counts."""
    n, law = effort.pick(3, 4), RademacherVectors(2)
    seen = WeightedLabels((0.4, 0.35, 0.25))
    V, chances, counts = signed_sums(law, seen, n)
    squares, frobenius = spectral_norms(V) ** 2, np.square(V).sum(axis=(1, 2))
    keys, groups = np.unique(counts, axis=0, return_inverse=True)
    given = [
        [_conditional(values, chances, groups.ravel() == group) for group in range(len(keys))]
        for values in (squares, frobenius)
    ]
    often = (counts <= 2 * seen.probabilities.max() * n).all(axis=1)
    rest = n * law.moments.second_moment * float(chances @ ~often)
    bound = _conditional(squares, chances, often) + rest
    yield SUPPORTS.at_most("E[|V|_2^2 | l], largest over l", max(given[0]), n, 1e-12)
    yield CONTROL.equal("E[|V|_F^2 | l], smallest over l", min(given[1]), n, 1e-12)
    yield CONTROL.equal("E[|V|_F^2 | l], largest over l", max(given[1]), n, 1e-12)
    yield SUPPORTS.at_most("E|V|_2^2 against the bound by conditioning", chances @ squares, bound)
    yield CONTROL.at_least("chance of the complement", chances @ ~often, 1e-3)
