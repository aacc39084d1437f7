"""The pictures: which panels each experiment has; what they find is derived in `titles`."""

from leml_theory.plots.compose import Picture
from leml_theory.plots.panel import Guide, Panel, diagonal, regimes, slope_guide
from leml_theory.plots.style import MINUS
from leml_theory.sweep.experiments.phases import LABEL_MAP, SHARE_MAP

AVERAGE = "rademacher average"
DEVIATION = "supremum deviation"


_X1 = Picture(
    (
        Panel("X1", ("n",), "n", "Averages against n", AVERAGE),
        Panel("X1", ("L",), "L", "Averages against L", AVERAGE),
    ),
    {("X1", "n"): "", ("X1", "L"): ""},
    "Both balls give the same norm for rank-one features, so their points coincide.",
)

_X2 = Picture(
    (
        Panel("X2", ("few points", "n"), "n", "Against n", AVERAGE, fit_from=1024),
        Panel("X2", ("L = d, gaussian",), "L", "Against L = d", AVERAGE),
        Panel("X2", ("L = d, rademacher",), "L", "Against L = d", AVERAGE),
    ),
    {("X2", "n"): "", ("X2", "L = d, gaussian"): "L = d: "},
    columns=3,
)  # fmt: skip

_X3 = Picture(
    (
        Panel(
            "X3", ("L", "L >> d"), "L", "Averages against L, d fixed", AVERAGE,
            guides=(slope_guide(f"claimed by Theorem 4: slope {MINUS}1/2", "L", -0.5, start=32),),
            marks=diagonal, fit_from=512,
        ),
        Panel(
            "X3", ("d",), "d", "Averages against d, L fixed", AVERAGE,
            guides=(slope_guide("claimed by Theorem 4: slope 0", "d", 0.0),),
            marks=diagonal,
        ),
        Panel(
            "X3", ("planted, d = 8",), "L", "Excess, worst planted signal",
            guides=(slope_guide(f"claimed by Theorem 4: slope {MINUS}1/2", "L", -0.5),),
        ),
        Panel(
            "X3", ("counterexample, d = 1",), "L", "Counterexample, one feature",
            guides=(slope_guide("claimed by Theorem 4: slope 0", "L", 0.0),),
            times_root_n=True,
        ),
    ),
    {
        ("X3", "L >> d"): "averages: ",
        ("X3", "counterexample, d = 1"): "counterexample, excess \N{MULTIPLICATION SIGN} √n: ",
    },
)  # fmt: skip

_X4 = Picture(
    (
        Panel("X4", ("one heavy label",), "P", "One heavy label", AVERAGE),
        Panel("X4", ("Zipf",), "P", "Zipf laws", AVERAGE),
        Panel(
            "X4", ("planted on the head",), "P", "Excess, signal on that label",
            guides=(
                Guide("0.3003 √(P/n), limit as P → 1", lambda r: 0.3003 * (r["P"] / r["n"]) ** 0.5),
            ),
        ),
    ),
    {("X4", "one heavy label"): "averages: ", ("X4", "planted on the head"): "excess: "},
    columns=3,
)  # fmt: skip

_X5 = Picture(
    (
        Panel("X5", ("n",), "n", "Worst planted signal, against n", strip="ratio"),
        Panel("X5", ("L = d",), "L", "Worst planted signal, L = d", strip="ratio"),
        Panel("X5", ("gap",), "series", "Gap of Claim 8 (linear loss)", AVERAGE, kind="categories"),
    ),
    {("X5", "n"): "", ("X5", "L = d"): "L = d: "},
    columns=3,
)  # fmt: skip

_X6 = Picture(
    (Panel("X6", ("L = d",), "L", "Worst planted signal, radius √L", strip="ratio"),),
    {("X6", "L = d"): ""},
)  # fmt: skip

_X7 = Picture(
    (
        Panel("X7", ("all-ones",), "s", "All labels equal", DEVIATION),
        Panel("X7", ("independent",), "s", "Independent labels", DEVIATION),
    ),
    {("X7", "all-ones"): "equal labels: ", ("X7", "independent"): "independent ones: "},
    "Risks are averages over the n s labels seen; the bounds know one label slot per point.",
)

_X8 = Picture(
    (Panel("X8", ("fixed signal",), "n", "Excess against n", strip="slopes", fitted=False),),
    {("X8", "fixed signal"): ""},
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
    tuple(
        Panel("X9", (series,), "n", title, marks=regimes, strip="slopes", fitted=False)
        for series, title in _SERIES_9.items()
    ),
    remark="Faster than the bound's rate is consistent with the theorem.",
    columns=3,
    shared_legend=True,
)

_X10 = Picture(
    tuple(
        Panel(
            "X10", (f"L = {2**k}",), "n", f"L = {2**k}", marks=regimes, strip="slopes",
            fitted=False,
            guides=(
                Guide("order (d+L)/2n", lambda r: (r["d"] + r["L"]) / (2 * r["n"])),
                Guide("order dL/2n", lambda r: r["d"] * r["L"] / (2 * r["n"]), "frobenius"),
            ),
        )
        for k in range(3, 9)
    ),
    columns=3,
    shared_legend=True,
)  # fmt: skip

_X11 = Picture(
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
)  # fmt: skip

_X14 = Picture(
    (
        Panel("X14", ("averages",), "observed", "Averages, points count k/s times", AVERAGE),
        Panel(
            "X14", ("all-ones",), "observed", "Linear loss, all labels equal", DEVIATION,
            guides=(Guide("2/√n, for one number of labels", lambda rows: 2 / rows["n"] ** 0.5),),
        ),
        Panel("X14", ("logistic",), "observed", "Logistic loss, fitted", noted=(), fitted=False),
    ),
    {("X14", "all-ones"): "deviation: "},
    "Each label of each point is seen with this probability: k labels of a point, s on average.",
    columns=3,
)  # fmt: skip

_RIVALS = {
    "frobenius": "the Frobenius ball",
    "pooled": "pooled least squares",
    "separate": "separate least squares",
}
_X12 = Picture(
    tuple(
        Panel(
            "X12", (series,), axis, f"Trace ball against {name}",
            kind="map", against=rival, also="X13",
        )
        for series, axis in ((LABEL_MAP, "L"), (SHARE_MAP, "s"))
        for rival, name in _RIVALS.items()
    ),
    remark="Shades and contours: how many times smaller the trace ball's excess is predicted to be "
    "than the rival's; radii are the norms of the true Z. Circles: the same, measured (X13).",
    columns=3,
    shared_legend=True,
)  # fmt: skip

_X13 = Picture(
    (
        Panel("X13", (LABEL_MAP,), "predicted", "One label per point", fitted=False),
        Panel("X13", (SHARE_MAP,), "predicted", "Several labels per point", fitted=False),
    )
)

PICTURES = {
    "X1": _X1, "X2": _X2, "X3": _X3, "X4": _X4, "X5": _X5, "X6": _X6, "X7": _X7, "X8": _X8,
    "X9": _X9, "X10": _X10, "X11": _X11, "X12": _X12, "X13": _X13, "X14": _X14,
}  # fmt: skip


# what Appendix C attains with the trace ball
_ATTAINED = (
    Guide(
        "attained rate of Appendix C, 2/√(nL)",
        lambda rows: 2 * rows["radius"] / (rows["n"] * rows["L"]) ** 0.5,
    ),
)
_ALL = ("theorem_3", "rademacher_chevet", "paper_route")
_GAUSSIAN = ("theorem_3", "chevet", "paper_route")


def _headline(topic: str, axis: str, risk: str, averages: tuple[str, ...]) -> Picture:
    """Return excess risks of X5 and averages of X2 along one axis, beside the bounds."""
    return Picture(
        (
            Panel(
                "X5", (risk,), axis, "Excess risk, worst planted signal",
                bounds=_ALL, noted=(), strip="ratio",
            ),
            Panel(
                "X2", averages, axis, "Rademacher averages of both balls", AVERAGE,
                guides=_ATTAINED, bounds=_GAUSSIAN, noted=(), strip="ratio",
                fit_from=1024 if axis == "n" else 0.0,
            ),
        ),
        {("X5", risk): "excess: ", ("X2", averages[-1]): "averages: "},
        topic=topic,
    )  # fmt: skip


RISK_AGAINST_N = _headline("Risk against n beside the bounds", "n", "n", ("few points", "n"))
RISK_AGAINST_LABELS = _headline(
    "Risk against L = d beside the bounds", "L", "L = d", ("L = d, gaussian",)
)
