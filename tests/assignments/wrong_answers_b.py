"""Wrong answers to assignment (b), with what each of them keeps and what the student is told."""

from __future__ import annotations

from wrong import Wrong

_FORMULA = """
def frobenius_excess(theta, n):
    return theta * (1 - theta / math.sqrt(theta**2 + 1 / n))
"""

_WORST = """
def worst_signal(n):
    grid = np.linspace(0.0, 3.0, 3001) / math.sqrt(n)
    values = [frobenius_excess(theta, n) for theta in grid]
    return grid[int(np.argmax(values))], max(values)
"""

_SHARE = """
def share_of_theorem_3(features, p, n, draws, rng):
    seen = WeightedLabels(tuple(p))
    average = rademacher_averages(features, seen, n, draws=draws, rng=rng)["trace"]
    bound = math.sqrt(features.moments.second_moment / n)
    return average.value / bound, average.stderr / bound
"""

_UNEVEN = """
def uneven_rate(n, d, p, radius):
    return radius * (math.sqrt(max(p) / n) + 1 / math.sqrt(n * d))
"""


def _gap(answer: str) -> str:
    """Return an answer to question 1 that differs in gap or excess alone."""
    return f"""
def gap_and_excess(Z, V, n, M, radius, ball):
    risk, training = -np.sum(M * Z), -np.sum(V * Z) / n
    best = -radius * np.linalg.norm(M, 2 if ball == "trace" else "fro")
    return {answer}
"""


def _minimiser(trace: str, frobenius: str) -> str:
    """Return the first part of question 1 with the given minimisers."""
    return f"""
def empirical_minimiser(V, radius, ball):
    left, _, right = np.linalg.svd(V, full_matrices=False)
    return {trace} if ball == "trace" else {frobenius}
"""


_LEADING = "np.outer(left[:, 0], right[0])"
_SCALED = "V / np.linalg.norm(V)"
_MINIMISER = _minimiser(f"radius * {_LEADING}", f"radius * {_SCALED}")
_GAP = _gap("risk - training, risk - best")


def _moments(variance: str, *, chance: str = "", ratio: str = "") -> str:
    """Return an answer to question 2 with the given formulas."""
    return f"""
def rank_one_moments(n, p):
    p = np.array(p)
    return n, {variance}


def chebyshev_chance(n, variance):
    return {chance or "max(0.0, 1 - 4 * variance / n**2)"}


def attained_share(n, variance):
    return {ratio or "1 - variance / (8 * n**2)"}
"""


def _measured(
    *, M: str = "rho / (L * math.sqrt(d))", found: str = "", end: str = "", seed: str = ""
) -> str:
    """Return an answer to question 3 (c) with the given cross moments, value, end and seed."""
    return f"""
def measured_excess(n, d, L, rho, ball, draws, rng):
    {seed or "pass"}
    world = Scenario(RademacherVectors(d), Planted(L, rho), UniformLabels(L))
    M = np.zeros((d, L))
    M[0] = {M}
    values = np.empty(draws)
    for i in range(draws):
        V = world.label_sums(n, rng)
        left, _, right = np.linalg.svd(V, full_matrices=False)
        Z = np.outer(left[:, 0], right[0]) if ball == "trace" else V / np.linalg.norm(V)
        values[i] = {found or "np.linalg.norm(M) - np.sum(M * Z)"}
    return values.mean(), {end or "values.std(ddof=1) / math.sqrt(draws)"}
"""


def _slopes(slopes: str = "np.diff(y) / steps", errors: str = "", half: str = "") -> str:
    """Return an answer to question 4 with the given slopes, errors and place of a slope."""
    return f"""
def local_slopes(x, values, errors):
    x, values, errors = np.array(x), np.array(values), np.array(errors)
    steps, y, relative = np.diff(np.log(x)), np.log(values), errors / values
    return {slopes}, {errors or "np.hypot(relative[1:], relative[:-1]) / steps"}

def half_slope(x, values):
    x, values = np.array(x, dtype=float), np.array(values)
    slopes, _ = local_slopes(x, values, values)
    middles = {half or "np.sqrt(x[1:] * x[:-1])"}
    above = np.flatnonzero(np.array(slopes) >= -0.25)
    if above.size == 0 or above[0] == 0:
        return None
    pair = slice(above[0] - 1, above[0] + 1)
    return math.exp(np.interp(-0.25, slopes[pair], np.log(middles[pair])))
"""


_SUM = "radius * (1 / math.sqrt(n * L) + 1 / math.sqrt(n * d))"


def _validity(applies: str, rate: str = _SUM) -> str:
    """Return an answer to question 5 with the given condition and rate."""
    return f"""
def theorem_4_applies(n, d, L):
    return bool({applies})

def corrected_rate(n, d, L, radius):
    return {rate}
"""


_ENOUGH = "n > L**2 * math.log(L**2 / 2) / 2"


def _figure(
    *,
    height: str = "average * math.sqrt(n)",
    inside: str = "np.array(curve['applies'])",
    bound: str = "2 / np.sqrt(labels[inside])",
    names: tuple[str, str] = ("d = {d}", "Theorem 4, d = {d}"),
    scales: str = 'xscale="log", yscale="log"',
    look: str = 'f"{next(marks)}-"',
) -> str:
    """Return an answer to question 6 with the given heights, region, bound, names and scales."""
    return f"""
def transition_figure(curves, n):
    _, ax = plt.subplots()
    marks = iter("os^Dv<>")
    for d, curve in curves.items():
        labels, average = np.array(curve["labels"]), np.array(curve["average"])
        inside = {inside}
        ax.plot(labels, {height}, {look}, label=f"{names[0]}")
        if inside.any():
            ax.plot(labels[inside], {bound}, "--", label=f"{names[1]}")
    ax.set({scales}, xlabel="labels L", ylabel="average times sqrt(n)")
    ax.legend()
    return ax
"""


WRONG: tuple[Wrong, ...] = (
    # Question 1: 0.5 by hand, 0.75 trace ball, 0.75 Frobenius ball, 0.5 no signal, 0.75 gap,
    # 0.75 excess.
    Wrong(
        "q1",
        "gives the Frobenius-ball minimiser for both balls",
        _minimiser(f"radius * {_SCALED}", f"radius * {_SCALED}") + _GAP,
        2.75,
        r"outside the ball: what is its trace norm",
    ),
    Wrong(
        "q1",
        "returns the excess where the gap is asked for, and the other way round",
        _MINIMISER + _gap("risk - best, risk - training"),
        2.0,
        r"check the definition",
    ),
    Wrong(
        "q1",
        "measures both risks of the gap on the training sample",
        _MINIMISER + _gap("training - training, risk - best"),
        2.75,
        r"which risk is taken on the sample",
    ),
    Wrong(
        "q1",
        "takes the risk for the excess: forgets the best Z of the ball",
        _MINIMISER + _gap("risk - training, risk"),
        3.25,
        r"compare with the best Z",
    ),
    Wrong(
        "q1",
        "forgets the 1/n of the training loss",
        _MINIMISER + _gap("risk - n * training, risk - best"),
        2.75,
        r"the division by n",
    ),
    Wrong(
        "q1",
        "forgets the radius, and compares with the Frobenius norm of M for both balls",
        _minimiser(_LEADING, _SCALED) + _gap("risk - training, risk + radius * np.linalg.norm(M)"),
        1.75,
        r"does it use all of the radius",
    ),
    # Question 2: 0.5 two points, 1 variance, 0.75 chance, 0.75 ratio.
    Wrong(
        "q2",
        "takes the labels for uniform",
        _moments("2 * n * (n - 1) / p.size"),
        2.0,
        r"how likely do two points share a label",
    ),
    Wrong(
        "q2",
        "counts each pair of points once",
        _moments("n * (n - 1) * np.sum(p**2)"),
        1.5,
        r"variance of \|v\|\^2 is wrong for two points",
    ),
    Wrong(
        "q2",
        "reports the paper's upper bound 2 n^2 for 2 n (n - 1)",
        _moments("2 * n**2 * np.sum(p**2)"),
        1.5,
        r"what does n = 1 give",
    ),
    Wrong(
        "q2",
        "leaves a negative probability",
        _moments("2 * n * (n - 1) * np.sum(p**2)", chance="1 - 4 * variance / n**2"),
        2.25,
        r"a probability is never negative",
    ),
    Wrong(
        "q2",
        "expands the root with 1/4 for 1/8",
        _moments("2 * n * (n - 1) * np.sum(p**2)", ratio="1 - variance / (4 * n**2)"),
        1.75,
        r"put E t",
    ),
    Wrong(
        "q2",
        "hard-codes the visible case",
        _moments("2.0", ratio="0.9375"),
        1.25,
        r"not that of all outcomes listed",
    ),
    Wrong(
        "q2",
        "takes n for n - 1 in the share: 1 - sum p^2/4 whatever the variance is",
        _moments("2 * n * (n - 1) * np.sum(p**2)", ratio="1 - variance / (8 * n * (n - 1))"),
        1.75,
        r"put E t",
    ),
    # Question 3: 0.5 no signal, 0.5 formula, 0.5 worst, 0.75 Frobenius, 0.75 trace.
    Wrong(
        "q3",
        "measures the gap instead of the excess",
        _FORMULA + _WORST + _measured(found="np.sum(V * Z) / n - np.sum(M * Z)"),
        1.5,
        r"is it an excess",
    ),
    Wrong(
        "q3",
        "pastes a fixed seed in",
        _FORMULA + _WORST + _measured(seed="rng = np.random.default_rng(0)"),
        1.5,
        r"on the samples drawn from rng",
    ),
    Wrong(
        "q3",
        "takes 1/sqrt(n) for the squared length of the noise",
        "def frobenius_excess(theta, n):\n"
        "    return theta * (1 - theta / math.sqrt(theta**2 + 1 / math.sqrt(n)))\n"
        + _WORST
        + _measured(),
        2.0,
        r"how much of it is noise",
    ),
    Wrong(
        "q3",
        "gives the worst strength for n = 1 at every n",
        _FORMULA
        + "def worst_signal(n):\n    return 0.786, frobenius_excess(0.786, n)\n"
        + _measured(),
        2.5,
        r"not the largest over all signals",
    ),
    Wrong(
        "q3",
        "forgets that a label is seen with probability 1/L in M",
        _FORMULA + _WORST + _measured(M="rho / math.sqrt(d)"),
        1.5,
        r"with the M of this world",
    ),
    Wrong(
        "q3",
        "returns the standard deviation for the standard error",
        _FORMULA + _WORST + _measured(end="values.std(ddof=1)"),
        2.25,
        r"not the standard error of a mean",
    ),
    # Question 4: 0.5 power law, 0.75 slopes, 0.75 errors, 1 half slope.
    Wrong(
        "q4",
        "fits the values, not their logarithms, against log x",
        _slopes("np.diff(values) / steps"),
        0.75,
        r"A power law has one slope",
    ),
    Wrong(
        "q4",
        "adds the relative errors instead of their squares",
        _slopes(errors="(relative[1:] + relative[:-1]) / steps"),
        2.25,
        r"how do the errors of two independent logarithms add",
    ),
    Wrong(
        "q4",
        "takes absolute errors for those of a logarithm",
        _slopes(errors="np.hypot(errors[1:], errors[:-1]) / steps"),
        2.25,
        r"what are they divided by",
    ),
    Wrong(
        "q4",
        "puts a slope at the arithmetic mean of its points",
        _slopes(half="(x[1:] + x[:-1]) / 2"),
        2.0,
        r"to which x does a slope belong",
    ),
    Wrong(
        "q4",
        "takes logarithms to base 10 on one axis only",
        _slopes("np.diff(np.log10(values)) / steps"),
        0.75,
        r"A power law has one slope",
    ),
    Wrong(
        "q4",
        "fits one line through all points and repeats its slope",
        _slopes("np.full(steps.size, np.polyfit(np.log(x), y, 1)[0])"),
        1.25,
        r"not those between neighbours",
    ),
    # Question 5: 0.5 the paper's case, 0.75 where it applies, 0.75 few labels, 1 many labels.
    Wrong(
        "q5",
        "believes the statement as printed",
        _validity(_ENOUGH, "radius / math.sqrt(n * L)"),
        1.25,
        r"fix d and let L grow",
    ),
    Wrong(
        "q5",
        "turns the condition round: d for L",
        _validity(f"{_ENOUGH} and d <= L", "radius * math.sqrt(1 / n / max(d, L))"),
        0.5,
        r"look at the half slopes",
    ),
    Wrong(
        "q5",
        "finds the condition on d and forgets the one on n",
        _validity("d >= L"),
        1.75,
        r"A thousand points are too few",
    ),
    Wrong(
        "q5",
        "leaves the radius out",
        _validity(f"{_ENOUGH} and d >= L", "1 / math.sqrt(n * min(d, L))"),
        1.75,
        r"half the radius",
    ),
    Wrong(
        "q5",
        "falls back on Theorem 3, which holds everywhere",
        _validity(f"{_ENOUGH} and d >= L", "radius / math.sqrt(n)"),
        1.25,
        r"not within a factor of 2.5",
    ),
    Wrong(
        "q5",
        "allows d = L only, the case of the visible check",
        _validity(f"{_ENOUGH} and d == L"),
        2.25,
        r"Wrong for some d and L",
    ),
    # Question 6: 0.5 axes and names, 0.75 measured lines, 0.75 Theorem 4.
    Wrong(
        "q6",
        "draws the bound at every L",
        _figure(inside="np.full(labels.size, True)"),
        1.25,
        r"other L than those where it applies|for a d for which it applies nowhere",
    ),
    Wrong(
        "q6",
        "leaves the vertical axis linear",
        _figure(scales='xscale="log"'),
        1.5,
        r"Both axes should be logarithmic",
    ),
    Wrong(
        "q6",
        "draws the average itself, not times sqrt(n)",
        _figure(height="average"),
        1.25,
        r"which power of n",
    ),
    Wrong(
        "q6",
        "takes d >= L for the region and forgets that points may be too few",
        _figure(inside="labels <= d"),
        1.25,
        r"other L than those where it applies",
    ),
    Wrong(
        "q6",
        "draws the bound in other units than the measurements",
        _figure(bound="2 / np.sqrt(n * labels[inside])"),
        1.25,
        r"is it in the units",
    ),
    Wrong(
        "q6",
        "gives the lines other names",
        _figure(names=("measured", "bound")),
        0.0,
        r"No line is labelled",
    ),
    Wrong(
        "q6",
        "draws the measured lines of all d alike, in different colours",
        _figure(look='"o-"'),
        1.25,
        r"In black and white two of the lines look the same",
    ),
    # Question 7: 0.5 one label, 0.5 measured share, 1 rate.
    Wrong(
        "q7",
        "keeps the number of labels in the rate",
        _SHARE + _UNEVEN.replace("max(p)", "1 / len(p)"),
        1.0,
        r"how long are the columns",
    ),
    Wrong(
        "q7",
        "takes the rarest label for the most frequent one",
        _SHARE + _UNEVEN.replace("max(p)", "min(p)"),
        1.0,
        r"For some label law",
    ),
    Wrong(
        "q7",
        "takes the chance that two points share a label for the largest probability",
        _SHARE + _UNEVEN.replace("max(p)", "sum(q * q for q in p)"),
        1.0,
        r"For some label law",
    ),
    Wrong(
        "q7",
        "divides by Theorem 3 for E|x|^2 = 1 whatever x is",
        _SHARE.replace("features.moments.second_moment / n", "1 / n") + _UNEVEN,
        1.5,
        r"which E\|x\|\^2",
    ),
    Wrong(
        "q7",
        "takes the Frobenius ball",
        _SHARE.replace('"trace"', '"frobenius"') + _UNEVEN,
        1.5,
        r"which ball",
    ),
    Wrong(
        "q7",
        "leaves the standard error in other units than the ratio",
        _SHARE.replace("average.stderr / bound", "average.stderr") + _UNEVEN,
        1.5,
        r"not in the units of the ratio",
    ),
)
