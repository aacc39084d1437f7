"""The pictures: which panels each experiment has and what they show."""

from __future__ import annotations

import pandas as pd

from leml_theory.plots.compose import Picture
from leml_theory.plots.panel import Guide, Panel, diagonal, regimes, slope_guide
from leml_theory.plots.style import MINUS

AVERAGE = "rademacher average"
DEVIATION = "supremum deviation"


def _excess_guide(label: str, count: str, ball: str) -> Guide:
    """Return the excess (parameters)/(2n) of a squared-loss fit with so many parameters."""

    def curve(rows: pd.DataFrame) -> pd.Series[float]:
        d, n_labels = rows["d"], rows["L"]
        return (d + n_labels if count == "d+L" else d * n_labels) / (2 * rows["n"])

    return Guide(label, curve, ball)


def _head(rows: pd.DataFrame) -> pd.Series[float]:
    """Return 0.3003 sqrt(P/n), the limit of the planted trace excess as P tends to one."""
    limit: pd.Series[float] = 0.3003 * (rows["P"] / rows["n"]) ** 0.5
    return limit


_X1 = Picture(
    "Theorem 3 is attained: with rank-one features neither ball does better than the bound",
    (
        Panel("X1", ("n",), "n", "Both averages fall as 1/√n, on the bound", AVERAGE),
        Panel("X1", ("L",), "L", "More labels change nothing", AVERAGE),
    ),
    "Both balls give the same norm for rank-one features, so their points coincide.",
)

_X2 = Picture(
    "Theorem 4's rate holds: averages fall as 1/√(nL) for trace, as 1/√n for Frobenius",
    (
        Panel(
            "X2", ("few points", "n"), "n", "Against n: steeper for n < 2L",
            AVERAGE, fit_from=1024,
        ),
        Panel("X2", ("L = d, gaussian",), "L", "Against L = d: trace gains", AVERAGE),
        Panel("X2", ("L = d, rademacher",), "L", "Against L = d: the same", AVERAGE),
    ),
    columns=3,
)  # fmt: skip

_X3 = Picture(
    "Beyond L = d the trace ball's advantage saturates: the claimed rate 1/√L is rejected",
    (
        Panel(
            "X3", ("L", "L >> d"), "L", "Averages: level beyond L = d", AVERAGE,
            guides=(slope_guide(f"claimed by Theorem 4: slope {MINUS}1/2", "L", -0.5, start=32),),
            marks=diagonal, fit_from=512,
        ),
        Panel(
            "X3", ("d",), "d", "Averages do depend on d when L > d", AVERAGE,
            guides=(slope_guide("claimed by Theorem 4: slope 0", "d", 0.0),),
            marks=diagonal,
        ),
        Panel(
            "X3", ("planted, d = 8",), "L", "Excess of the worst planted signal",
            guides=(slope_guide(f"claimed by Theorem 4: slope {MINUS}1/2", "L", -0.5),),
            prediction="limit",
        ),
        Panel(
            "X3", ("counterexample, d = 1",), "L", "Counterexample: the excess grows with L",
            guides=(slope_guide("claimed by Theorem 4: slope 0", "L", 0.0),),
            times_root_n=True,
        ),
    ),
)  # fmt: skip

_X4 = Picture(
    "Theorem 6: one frequent label takes the trace ball's advantage away, as √P",
    (
        Panel("X4", ("one heavy label",), "P", "One heavy label", AVERAGE),
        Panel("X4", ("Zipf",), "P", "Zipf laws", AVERAGE),
        Panel(
            "X4", ("planted on the head",), "P", "Excess, signal on that label",
            guides=(Guide("0.3003 √(P/n), limit as P → 1", _head),),
        ),
    ),
    columns=3,
)  # fmt: skip

_X5 = Picture(
    "Claim 8 for excess risk: the worst signal costs 1/√(nL) for trace, 1/√n for Frobenius",
    (
        Panel(
            "X5", ("n",), "n", "Against n: both as 1/√n", strip="ratio", prediction="limit",
        ),
        Panel(
            "X5", ("L = d",), "L", "Against L = d: only trace gains", strip="ratio",
            prediction="limit",
        ),
        Panel(
            "X5", ("gap",), "series", "Gap of Claim 8 (linear loss)", AVERAGE, kind="categories",
        ),
    ),
    "The dashes of the trace ball's excess: its limit for many labels, approached from below.",
    columns=3,
)  # fmt: skip

_X6 = Picture(
    "With radius √L the trace ball's excess is level in L, the Frobenius ball's grows as √L",
    (
        Panel(
            "X6", ("L = d",), "L", "Worst planted signal, radius √L", strip="ratio",
            prediction="limit",
        ),
    ),
)  # fmt: skip

_X7 = Picture(
    "s labels per point help as 1/√s if independent; equal ones stop helping the trace ball",
    (
        Panel("X7", ("all-ones",), "s", "All labels equal", DEVIATION),
        Panel("X7", ("independent",), "s", "Independent labels", DEVIATION),
    ),
    "Risks are averages over the n s labels seen; the bounds know one label slot per point.",
)

_X8 = Picture(
    "A signal that does not shrink with n is learnt at a fast rate, well inside the bounds",
    (
        Panel(
            "X8", ("fixed signal",), "n", "Fixed signal: excess as 1/n (fast rate)",
            strip="slopes", fitted=False,
        ),
    ),
    "Faster than the bound is consistent with the theorem, which is an inequality.",
)  # fmt: skip

_SERIES_9 = {
    "rank 1, radius 1|Z*|": "Rank 1, radius |Z*|",
    "rank 1, radius 2|Z*|": "Rank 1, radius 2|Z*|",
    "rank 1, radius 4|Z*|": "Rank 1, radius 4|Z*|",
    "rank 1, radius 0.5|Z*|": "Rank 1, radius |Z*|/2",
    "full rank, radius |Z*|": "Full rank, radius |Z*|",
    "logistic, radius |Z*|": "Logistic loss, radius |Z*|",
    "d = L = 48, radius 1|Z*|": "Rank 1, radius |Z*|",
    "d = L = 48, radius 2|Z*|": "Rank 1, radius 2|Z*|",
    "d = L = 48, radius 4|Z*|": "Rank 1, radius 4|Z*|",
}

_X9 = Picture(
    "Squared and logistic loss: the excess risk follows regimes, not one slope",
    tuple(
        Panel("X9", (series,), "n", title, marks=regimes, strip="slopes", fitted=False)
        for series, title in _SERIES_9.items()
    ),
    "Vertical lines: below n = d+L nothing is learnt, at n = dL a fit whose radius "
    "does not bind interpolates, "
    f"beyond n_c = 0.72 d²L/(radius/|Z*| {MINUS} 1)² the radius does not bind. Faster than the "
    "bound's rate is consistent with the theorem.",
    columns=3,
    shared_legend=True,
)

_X10 = Picture(
    "One predictor shared by all labels: pooled beats trace, trace beats Frobenius",
    tuple(
        Panel(
            "X10", (f"L = {2**k}",), "n", f"L = {2**k}", marks=regimes, strip="slopes",
            fitted=False,
            guides=(
                _excess_guide("order (d+L)/2n", "d+L", "trace"),
                _excess_guide("order dL/2n", "dL", "frobenius"),
            ),
        )
        for k in range(3, 9)
    ),
    "Vertical lines: n = d+L, n = dL. The dashes of the pooled oracle: its exact mean.",
    columns=3,
    shared_legend=True,
)  # fmt: skip

_X11 = Picture(
    "Negative controls: where an assumption fails, the bound is refused with its reason",
    (
        Panel(
            "X11", ("heavy tails", "non-centred", "n < L", "raw N(0, I)"), "series",
            "Worlds outside an assumption", AVERAGE, kind="categories",
        ),
        Panel(
            "X11", ("rare outlier",), "delta", "Unbounded loss: one rare outlier",
            "frequency above Theorem 3", kind="outlier",
        ),
    ),
    "Grey crosses: the refused bounds; black dashes: the smallest bound that is valid there.",
)  # fmt: skip

PICTURES = {
    "X1": _X1, "X2": _X2, "X3": _X3, "X4": _X4, "X5": _X5, "X6": _X6, "X7": _X7, "X8": _X8,
    "X9": _X9, "X10": _X10, "X11": _X11,
}  # fmt: skip


def _attained(rows: pd.DataFrame) -> pd.Series[float]:
    """Return 2/sqrt(nL), the rate that Appendix C attains with the trace ball."""
    rate: pd.Series[float] = 2 * rows["radius"] / (rows["n"] * rows["L"]) ** 0.5
    return rate


_ATTAINED = (Guide("attained rate of Appendix C, 2/√(nL)", _attained),)
_ALL = ("theorem_3", "rademacher_chevet", "paper_route")
_GAUSSIAN = ("theorem_3", "chevet", "paper_route")

RISK_AGAINST_N = Picture(
    "Risk against n: the bounds predict the rate; measured ÷ bound tells the constant",
    (
        Panel(
            "X5", ("n",), "n", "Excess risk, worst planted signal",
            bounds=_ALL, noted=(), strip="ratio", prediction="limit",
        ),
        Panel(
            "X2", ("few points", "n"), "n", "Rademacher averages of both balls",
            AVERAGE, guides=_ATTAINED, bounds=_GAUSSIAN, noted=(), strip="ratio", fit_from=1024,
        ),
    ),
)  # fmt: skip

RISK_AGAINST_LABELS = Picture(
    "Risk against L = d: only the trace ball gains from more labels, as its bounds predict",
    (
        Panel(
            "X5", ("L = d",), "L", "Excess risk, worst planted signal",
            bounds=_ALL, noted=(), strip="ratio", prediction="limit",
        ),
        Panel(
            "X2", ("L = d, gaussian",), "L", "Rademacher averages of both balls",
            AVERAGE, guides=_ATTAINED, bounds=_GAUSSIAN, noted=(), strip="ratio",
        ),
    ),
)  # fmt: skip
