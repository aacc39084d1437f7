"""Checks of Section 6: an open question on the risk bounds (that on convergence is A6)."""

import math

import numpy as np

from leml_theory.measurements.planted import fixed_planted, worst_planted
from leml_theory.rademacher import Estimate
from paper_checks.checking import Effort, Findings, Kind, Statement, Sure, Verdict
from paper_checks.checking.fact import ANSWERS

SIZE = 16  # features and labels
WORST_FROBENIUS = 0.3003  # largest t (1 - t/sqrt(t^2 + 1)), the limit of many features times labels


@Statement(
    id="T11",
    where="Section 6, paragraph 1, sentence 7",
    says="Open question: can the risk bounds be improved by avoiding uniform convergence?",
    kind=Kind.RATE,
    verdict=Verdict.ANSWERED,
    refuted_by="An excess that falls as 1/sqrt(n) at a fixed signal, or faster at the worst one.",
    correct="Not for the worst distribution, by more than a constant: there the excess risk itself "
    "is of order 1/sqrt(nL) for the trace ball and 0.30/sqrt(n) for the Frobenius ball, as the "
    "bounds have it. For a fixed one yes: the excess risk falls as 1/n.",
    why="The bounds are uniform over distributions, and the worst distribution for each n attains "
    "them; a fixed one is easier the larger n.",
    example="One label, one feature, x = 1, y = +1 or -1 with P(y = 1) = (1 + m)/2, loss -y z, |z| "
    "<= 1: the excess risk is 2 m times the chance of a wrong sign, of order 1/sqrt(n) for m = "
    "1/sqrt(n) and exponentially small in n for a fixed m.",
    sure=Sure.MEASURED,
    matters=2,
)
def fast_and_slow_rates(effort: Effort) -> Findings:
    """Planted signals, linear loss, d = L = 16: one that stays as n grows, and the worst at n."""
    sizes, draws = (2**12, 2**18), effort.pick(60, 400)
    shape = {"d": SIZE, "L": SIZE, "draws": draws}
    fixed = [fixed_planted({**shape, "n": n, "rho": 0.5}, effort.rng) for n in sizes]
    slopes = [_slope(sizes, (few, many)) for few, many in zip(*fixed, strict=True)]
    worst = worst_planted({**shape, "n": sizes[0], "skew": "uniform", "signals": 6}, effort.rng)
    trace, frobenius = (
        Estimate(row["value"], row["stderr"], draws).scaled(math.sqrt(sizes[0])) for row in worst
    )
    yield ANSWERS.mean_equal("fixed signal, trace ball: slope in n", slopes[0], -1.0, slack=0.05)
    yield ANSWERS.mean_below("fixed signal, Frobenius ball: slope in n", slopes[1], -0.9)
    scaled = trace.scaled(math.sqrt(SIZE))
    yield ANSWERS.mean_above("worst signal, trace ball: excess times sqrt(nL)", scaled, 0.5)
    name = "worst signal, Frobenius ball: excess times sqrt(n)"
    yield ANSWERS.mean_equal(name, frobenius, WORST_FROBENIUS, slack=0.02)


def _slope(sizes: tuple[int, int], rows: tuple[dict[str, float], dict[str, float]]) -> Estimate:
    """Return the slope of log excess in log n between two sizes, with its standard error."""
    values, errors = (np.array([row[name] for row in rows]) for name in ("value", "stderr"))
    span = math.log(sizes[1] / sizes[0])
    error = float(np.linalg.norm(errors / values)) / span
    return Estimate(math.log(values[1] / values[0]) / span, error, int(rows[0]["draws"]))
