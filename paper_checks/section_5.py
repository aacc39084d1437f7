"""What Section 5 says about its tables, against the tables."""

from __future__ import annotations

import math

import pandas as pd

from paper_checks import printed
from paper_checks.registry import Effort, Fact, Outcome, check
from paper_checks.table_facts import PRINTED, cells, count, nothing_predicted, statistic

HOUR, DAY = 3600.0, 86400.0
EPOCHS = (7000.0, 16000.0, 36000.0)  # seconds named for WSABIE on wiki
SIGNIFICANT = 1.96
COMPETITIVE = 0.02  # an AUC this much lower still counts as competitive
BEHIND_CPLST_OR_BCS = frozenset(
    {
        "6 autofood 100% LEML squared",
        "10 delicious 60% LEML squared",
        "10 delicious 80% LEML squared",
        "10 delicious 100% LEML squared",
    }
)
TIED_WITH_CPLST = frozenset(f"9 delicious {ratio}% LEML squared" for ratio in (60, 80, 100))
NEVER_SIGNIFICANT = frozenset(
    {f"6 autofood {ratio}% LEML squared" for ratio in (40, 60, 100)}
    | {f"6 delicious {ratio}% LEML squared" for ratio in (60, 80, 100)}
)


def worse_than_nothing(frame: pd.DataFrame) -> pd.Series:
    """Return which Hamming losses exceed that of predicting no label, rounding allowed for."""
    rounding = 0.005 / statistic(frame, "n_labels") + frame["half_unit"]
    return frame["value"] - rounding > nothing_predicted(frame)


def named(gain: pd.Series) -> frozenset[str]:
    """Return the names of the LEML cells that a series of gains compares."""
    return printed.describe(gain.index.to_frame(index=False).assign(method="LEML"))


@check("D9")
def leml_beats_predicting_nothing(_: Effort) -> Outcome:
    """Compare LEML's Hamming losses with those of the empty prediction.

    Paper: Section 5.1.
    """
    full, missing = (printed.only(printed.load(table), method="LEML") for table in (9, 14))
    full = full.assign(worse=worse_than_nothing(full))
    missing = missing.assign(worse=worse_than_nothing(missing))
    other = full[full["loss"].ne("squared") & full["dataset"].isin(["bibtex", "delicious"])]
    bibtex = printed.only(missing, dataset="bibtex").groupby("loss")["worse"].sum()
    return Outcome(
        (
            count(
                "squared loss, all labels: worse, of 20",
                full[full["loss"] == "squared"]["worse"].sum(),
                0,
            ),
            count("other losses on bibtex, delicious: worse, of 20", other["worse"].sum(), 19),
            count("bibtex, missing labels, squared: worse, of 12", bibtex["squared"], 3),
            count("logistic, of 12", bibtex["logistic"], 6),
            count("squared hinge, of 12", bibtex["squared_hinge"], 12),
        )
    )


@check("D11")
def leml_is_better_at_all_ratios(_: Effort) -> Outcome:
    """Count where LEML with squared loss is behind CPLST or BCS.

    Paper: Section 5.1.
    """
    frame = printed.only(printed.full_label_tables(), loss="squared")
    gain = pd.concat([printed.gains(frame, rival) for rival in ("BCS", "CPLST")])
    return Outcome(
        (
            *cells("behind", named(gain[gain < 0]), BEHIND_CPLST_OR_BCS),
            *cells("level", named(gain[gain == 0]), TIED_WITH_CPLST),
            count("ahead, of 200", (gain > 0).sum(), 193),
        )
    )


def against_wsabie(frame: pd.DataFrame, loss: str) -> pd.Series:
    """Return LEML's gain over WSABIE with one loss."""
    chosen = frame[(frame["loss"] == loss) | (frame["method"] == "WSABIE")]
    return printed.gains(chosen.assign(loss=loss), "WSABIE")


@check("D12")
def leml_is_competitive_with_wsabie(_: Effort) -> Outcome:
    """Count where WSABIE is ahead of LEML, loss by loss.

    Paper: Table 3.
    """
    gain = {
        loss: against_wsabie(printed.load(3), loss)
        for loss in ("squared", "logistic", "squared_hinge")
    }
    squared = gain["squared"]
    behind = squared[squared < 0].index.to_frame(index=False)
    where = set(zip(behind["dataset"], behind["metric"], strict=True))
    auc = against_wsabie(printed.load(10), "squared").xs("bibtex", level="dataset")
    return Outcome(
        (
            count("squared loss: behind, of 24", len(behind), 3),
            count("all of them AUC on bibtex", where == {("bibtex", "auc")}, 1),
            count("logistic loss: behind", (gain["logistic"] < 0).sum(), 8),
            count("squared hinge: behind", (gain["squared_hinge"] < 0).sum(), 6),
            count("Table 10, bibtex: behind, of 5", (auc < 0).sum(), 5),
            Fact("largest shortfall in AUC", -float(auc.min()), COMPETITIVE, "<=", 0.0, PRINTED),
        )
    )


@check("D13")
def leml_outperforms_bcs_and_br(_: Effort) -> Outcome:
    """Compare LEML with the two methods that can be meant, and with itself.

    Paper: Section 5.2.
    """
    frame = printed.load(5)
    return Outcome(
        (
            count("better than itself, of 9", (printed.gains(frame, "LEML") > 0).sum(), 0),
            count("better than BCS, of 9", (printed.gains(frame, "BCS") > 0).sum(), 9),
            count("better than BR, of 9", (printed.gains(frame, "BR") > 0).sum(), 9),
        )
    )


@check("D14")
def leml_against_br_depends_on_the_loss(_: Effort) -> Outcome:
    """Count where LEML is ahead of BR, by loss.

    Paper: Section 5.2.
    """
    ahead = printed.gains(printed.missing_label_tables(), "BR") > 0
    wins = ahead.groupby(level=["table", "loss"]).sum()
    bibtex = ahead.xs("bibtex", level="dataset").groupby(level=["table", "loss"]).sum()
    other = ["logistic", "squared_hinge"]
    return Outcome(
        (
            count("top-3, squared loss: ahead, of 36", wins[12, "squared"], 26),
            count(
                "top-3, bibtex, other losses: ahead, of 24", sum(bibtex[12, o] for o in other), 0
            ),
            count(
                "top-3, elsewhere, other losses: ahead, of 48", sum(wins[12, o] for o in other), 48
            ),
            count(
                "bibtex, other losses, all measures: ahead, of 120", bibtex.loc[:, other].sum(), 3
            ),
        )
    )


def bibtex_gains(**wanted: object) -> pd.Series:
    """Return LEML's gains over BR and BCS on bibtex with squared loss, in the wanted rows."""
    frame = printed.only(printed.missing_label_tables(), dataset="bibtex", loss="squared", **wanted)
    gain: pd.Series = pd.concat({rival: printed.gains(frame, rival) for rival in ("BR", "BCS")})
    return gain


@check("D14.2")
def leml_at_every_observed_share(_: Effort) -> Outcome:
    """Compare LEML with BR and BCS on bibtex as fewer labels are seen.

    Paper: Section 5.2.
    """
    gain = bibtex_gains(ratio=0.4)
    share = gain.index.get_level_values("observed")
    few, many = gain[share < 0.2], gain[share >= 0.2]
    return Outcome(
        (
            count("5 and 10 % seen: behind BR, of 10", (few.loc["BR"] < 0).sum(), 9),
            count("5 and 10 % seen: behind BCS, of 10", (few.loc["BCS"] < 0).sum(), 2),
            count("20 and 40 % seen: ahead of both, of 20", (many > 0).sum(), 20),
            Fact("most points of top-1 behind", -few.min(), 8, ">=", 0.0, "8.55 printed"),
        )
    )


@check("D14.3")
def leml_at_every_ratio(_: Effort) -> Outcome:
    """Compare LEML with BR and BCS on bibtex at 20 % of the labels seen.

    Paper: Section 5.2.
    """
    gain = bibtex_gains(observed=0.2)
    return Outcome((count("ahead, of 30", (gain > 0).sum(), 30), count("of", len(gain), 30)))


def _seconds(method: str) -> float:
    """Return the training time on wiki with k = 500."""
    rows = printed.only(printed.load(4), dataset="wiki", rank=500, metric="seconds", method=method)
    return float(rows["value"].item())


@check("D15")
def training_times_on_wiki(_: Effort) -> Outcome:
    """Convert the times to the hours and days of the text.

    Paper: Table 4.
    """
    reason = "one decimal named"
    return Outcome(
        (
            Fact("WSABIE, days", _seconds("WSABIE") / DAY, 1.6, "==", 0.05, reason),
            Fact("LEML, hours", _seconds("LEML") / HOUR, 6, "<=", 0.0, PRINTED),
            Fact("LEML, hours", _seconds("LEML") / HOUR, 5, ">=", 0.0, "six would be generous"),
        )
    )


def growth_for(total: float) -> float:
    """Return g with EPOCHS + third epoch * (g + g^2) = total: how later epochs may grow."""
    left = (total - sum(EPOCHS)) / EPOCHS[2]
    return (math.sqrt(1 + 4 * left) - 1) / 2


@check("D16")
def five_epochs_in_two_days(_: Effort) -> Outcome:
    """Extrapolate the three named times to five epochs, read as durations and as clock times.

    Paper: Section 5.1.
    """
    growth = EPOCHS[2] / EPOCHS[1]
    clock = EPOCHS[2] * growth**2
    durations = sum(EPOCHS) + EPOCHS[2] * (growth + growth**2)
    reason = "'almost', and an extrapolation"
    return Outcome(
        (
            Fact("durations: days for five epochs", durations / DAY, 3, ">=", 0.0, "two claimed"),
            Fact("clock times: days at the fifth", clock / DAY, 2, "==", 0.2, reason),
            Fact("growth that durations allow", growth_for(2 * DAY), 1.4, "<=", 0.0, "2.25 so far"),
        ),
        note=f"Times grew by {EPOCHS[1] / EPOCHS[0]:.2f}, {growth:.2f}. Four epochs as durations "
        f"take {sum(EPOCHS) + EPOCHS[2] * growth:,.0f} s, near the {_seconds('WSABIE'):,.0f} s of "
        "Table 4, which speaks for durations, and then the fifth is not done in two days.",
    )


@check("D18")
def leml_against_wsabie_on_large_data(_: Effort) -> Outcome:
    """Compare the two methods row by row.

    Paper: Table 4.
    """
    gain = printed.gains(printed.load(4).assign(loss=""), "WSABIE")
    wiki = gain.xs("wiki", level="dataset")
    small = wiki.xs(250.0, level="rank").drop(index="seconds", level="metric")
    reason = "points of accuracy; 'similar'"
    return Outcome(
        (
            count(
                "eurlex, nus-wide: ahead, of 16",
                (gain.drop(index="wiki", level="dataset") > 0).sum(),
                16,
            ),
            Fact("wiki, k = 250: largest difference", abs(small).max(), 1, "<=", 0.0, reason),
            count("wiki, k = 250: behind (top-3)", (small < 0).sum(), 1),
            count("wiki, k = 500: ahead, of 4", (wiki.xs(500.0, level="rank") > 0).sum(), 4),
        )
    )


@check("D19")
def cplst_dips_where_features_abound(_: Effort) -> Outcome:
    """Compare LEML's lead over CPLST on autofood and compphys with that on the other two.

    Paper: Section 5.1.
    """
    frame = printed.only(printed.load(6, 7, 8, 10), loss="squared")
    gain = printed.gains(frame, "CPLST")
    dips = gain.index.get_level_values("dataset").isin(["autofood", "compphys"])
    least = gain[dips].groupby(level="metric").min()
    most = gain[~dips].groupby(level="metric").max()
    ratio = least / most
    return Outcome(
        (
            Fact(
                "least lead there over largest elsewhere", ratio.min(), 4, ">=", 0.0, "a clear dip"
            ),
            Fact("least lead in top-1", least["top-1"], 20, ">=", 0.0, "points of accuracy"),
            count("rows", dips.sum(), 40),
        )
    )


def largest_z(gain: pd.Series) -> pd.Series:
    """Return the largest z-value that a lead in top-1 accuracy can have in a paired test.

    A lead of h hits needs at least h test points on which the methods differ, so that McNemar's
    h / sqrt(differing points) is at most sqrt(h). Rounding may hide two half-units.
    """
    points = statistic(gain.index.to_frame(), "n_test")
    hits: pd.Series = ((gain + 0.01).clip(lower=0) * points / 100) // 1
    return hits**0.5


@check("D21")
def leads_that_cannot_be_significant(_: Effort) -> Outcome:
    """Find the rows in which LEML's lead in top-1 is too few test points for any paired test.

    Paper: Section 1.
    """
    frame = printed.only(printed.load(6), loss="squared")
    gain = pd.concat([printed.gains(frame, "BCS"), printed.gains(frame, "CPLST")])
    gain = pd.concat([gain, against_wsabie(printed.load(6), "squared")])
    least = gain.groupby(level=list(range(gain.index.nlevels)), dropna=False).min()
    bound = largest_z(least)
    return Outcome(
        (
            *cells("never significant", named(least[bound < SIGNIFICANT]), NEVER_SIGNIFICANT),
            count("rows", len(least), 20),
        )
    )


@check("D22")
def leml_outperforms_regression_on_bibtex(_: Effort) -> Outcome:
    """Compare LEML with CPLST at k = L, which is BR by least squares without a penalty.

    Paper: Section 5.1.
    """
    frame = printed.only(printed.full_label_tables(), loss="squared")
    rows = frame[frame["method"].isin(["LEML", "CPLST"])]
    full = rows[(rows["method"] == "CPLST") & (rows["ratio"] == 1)].drop(columns="ratio")
    ratios = rows[rows["method"] == "LEML"][["table", "dataset", "ratio"]]
    rows = pd.concat([rows[rows["method"] == "LEML"], full.merge(ratios, on=["table", "dataset"])])
    ahead = (printed.gains(rows, "CPLST") > 0).groupby(level=["dataset", "metric"]).sum()
    return Outcome(
        (
            count("compphys: ahead, of 25", ahead.xs("compphys", level="dataset").sum(), 25),
            count("bibtex, top-1: ratios ahead, of 5", ahead["bibtex", "top-1"], 2),
            count("bibtex, top-3: ratios ahead, of 5", ahead["bibtex", "top-3"], 3),
            count("bibtex, AUC: ratios ahead, of 5", ahead["bibtex", "auc"], 5),
        )
    )
