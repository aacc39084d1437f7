"""Printed numbers that stand out: impossible, empty, repeated, or tied to sizes of the data."""

import numpy as np
import pandas as pd

from leml_solver import Squared, SquaredHinge
from paper_checks import printed
from paper_checks.checking import PRINTED, Effort, Findings, Kind, Statement, Sure, Verdict
from paper_checks.checking.fact import CONDITION, CONTROL, GUESS, REFUTES, REPAIRED, SLACK, SUPPORTS
from paper_checks.printed import nothing_predicted, off_lattice, statistic

IMPOSSIBLE = frozenset({"9 autofood 80% BCS squared", "9 autofood 100% BCS squared"})
SILENT = frozenset(
    {f"9 autofood {ratio}% BCS squared" for ratio in (20, 40)}
    | {f"9 compphys {ratio}% BCS squared" for ratio in (20, 40, 60, 80, 100)}
)
DUPLICATES = frozenset({"10 autofood 20% CPLST squared", "10 compphys 60% CPLST squared"})
# Sizes of the public data sets: bibtex and delicious counted, the other two as commonly cited.
PUBLIC_SIZES = {"bibtex": 7395, "delicious": 16105, "eurlex": 19348, "nus-wide": 269648}
# CPLST's AUC on delicious at k/L of 20, 40 and 60 % with the two public splits and a random one of
# the same sizes, measured by us (least squares with intercept, centred labels). 60 % is full rank.
DELICIOUS_AUC = ((0.8830, 0.8808, 0.8807), (0.8826, 0.8806, 0.8805), (0.8870, 0.8851, 0.8850))


def hamming_ceiling(top_1: pd.Series, empty: pd.Series, n_labels: pd.Series) -> pd.Series:
    """Return the largest Hamming loss that a top-1 accuracy in per cent leaves possible.

    Where the highest score is a hit, either it rounds to 1, which is right, or every score rounds
    to 0, which is right at each absent label. So an entry of the row is right, unless the row has
    all labels; a share of at most `empty`, the loss of predicting nothing, of the rows has.
    """
    return 1 - (top_1 / 100 - empty) / n_labels


@Statement(
    id="D7",
    where="caption of Table 9",
    says="BCS has Hamming loss 1.0000 on autofood at k/L 80 % and 100 %.",
    kind=Kind.COUNTEREXAMPLE,
    verdict=Verdict.FALSE,
    refuted_by="A loss below that ceiling.",
    correct="With top-1 accuracies of 81.58 and 84.21 the loss is at most 0.9955. A loss of 1 is "
    "what scores that are not numbers would give, which may be the cause.",
    why="A prediction that is wrong in every entry has no hits, and BCS has them.",
    example="Three labels and one hit: a loss of at most 2/3.",
    sure=Sure.PROVED,
    matters=2,
)
def hamming_losses_above_their_ceiling(_: Effort) -> Findings:
    """A hit of the highest score makes an entry right: the loss is at most 1 - top-1 / L."""
    beside = printed.load(6)[[*printed.KEY, "value"]]
    frame = printed.load(9).merge(beside, on=printed.KEY, suffixes=("", "_top_1"))
    labels = statistic(frame, "n_labels")
    ceiling = hamming_ceiling(frame["value_top_1"] - 0.005, nothing_predicted(frame), labels)
    impossible = frame[frame["value"] - frame["half_unit"] > ceiling]
    least = float(impossible["value_top_1"].min())
    yield from REFUTES.cells("above the ceiling", printed.describe(impossible), IMPOSSIBLE)
    yield CONTROL.equal("top-1 accuracy beside a loss of 1", least, 81.58, 1e-9, PRINTED)
    yield REPAIRED.at_most("ceiling", ceiling[impossible.index].max(), 0.9955, 1e-4, PRINTED)


@Statement(
    id="D7.2",
    place="Table 9",
    says="Hamming loss considers overall performance; here BCS's on autofood and compphys.",
    verdict=Verdict.HIDDEN,
    refuted_by="Other cells than the seven recorded equal to predicting nothing.",
    correct="If some scores reach 1/2. On autofood at k/L 20 % and 40 % (0.0846) and on compphys "
    "at every k/L (0.0569) the losses are those of predicting no label, whatever the ranking; on "
    "bibtex and delicious none is.",
    why="Where no score reaches 1/2, rounding predicts no label, whatever the ranking.",
    example="Scores (0.4, 0.1), labels (1, 0): the ranking is right, the Hamming loss 1/2.",
    sure=Sure.EXACT,
    where="Section 5, paragraph 9, sentence 1",
)
def hamming_losses_of_predicting_nothing(_: Effort) -> Findings:
    """The losses are compared with the mean number of labels over L (Table 2)."""
    frame = printed.load(9)
    # The mean number of labels is itself rounded to two decimals.
    allowance = frame["half_unit"] + 0.005 / statistic(frame, "n_labels")
    silent = frame[(frame["value"] - nothing_predicted(frame)).abs() <= allowance]
    bcs = silent[silent["method"] == "BCS"]
    other = int(bcs["dataset"].isin(["bibtex", "delicious"]).sum())
    yield from REFUTES.cells("equal to predicting nothing", printed.describe(silent), SILENT)
    yield CONDITION.count("of them BCS on bibtex or delicious, of 10", other, 0)


@Statement(
    id="D8",
    where="caption of Table 14",
    says="With missing labels LEML has a lower Hamming loss than BCS (said of Table 5, which "
    "repeats three rows of Table 14).",
    verdict=Verdict.LOOSE,
    refuted_by="A row in which BCS is ahead, or losses of BCS near those of predicting nothing.",
    correct="True in every row, but predicting no label at all is ahead of BCS as well, by a "
    "factor of 1.5 to 27: BCS's losses grow with k/L in all 12 series, about as 0.65 k/L, while "
    "with all labels they fall on bibtex. Its scores do not seem to fit the threshold 1/2, so that "
    "the comparison says little about BCS.",
    why="BCS's losses are far above that of predicting no label, which does not rank labels at "
    "all.",
    example="bibtex, k/L 40 %, 20 % observed: BCS 0.2496, no label 2.40/159 = 0.0151, LEML 0.0136.",
    sure=Sure.EXACT,
)
def bcs_hamming_losses_of_table_14(_: Effort) -> Findings:
    """All 36 rows; BCS's losses beside those of predicting nothing, along k/L, and in Table 9."""
    gain = printed.gains(printed.only(printed.load(14), loss="squared"), "BCS")
    rows = printed.only(printed.load(14), method="BCS").reset_index(drop=True)
    wide = printed.spread(rows, ["dataset", "observed"], "ratio")
    growing = (wide.diff(axis=1).iloc[:, 1:] > 0).all(axis=1).sum()
    full = printed.only(printed.load(9), method="BCS", dataset="bibtex")["value"].to_numpy()
    times = rows["value"] / nothing_predicted(rows)
    slope = rows["value"] / rows["ratio"]
    yield SUPPORTS.count("LEML ahead of BCS, of 36", (gain > 0).sum(), 36)
    yield SLACK.at_least("BCS's least loss, over predicting nothing", times.min(), 1.5)
    yield SLACK.count("series growing with k/L", growing, 12)
    yield SLACK.equal("mean loss over k/L", slope.mean(), 0.65, 0.05, "two figures quoted")
    yield SLACK.at_most("bibtex, all labels: largest step", np.diff(full).max(), 0)
    yield f"loss over k/L from {slope.min():.2f} to {slope.max():.2f}"


@Statement(
    id="D10",
    where="caption of Table 10",
    says="BCS and CPLST both have AUC 0.7599 on autofood at 20 %, and 0.7705 on compphys at 60 %.",
    verdict=Verdict.CONJECTURE,
    refuted_by="Other equal entries than the two recorded, or equal entries that chance explains.",
    correct="One of each pair is probably a copy: all other measures of these rows differ, and "
    "chance would give 0.05 equal pairs or fewer.",
    why="Two methods agree to four digits in one measure and in no other.",
    example="autofood, 20 %: AUC 0.7599 twice.",
    sure=Sure.CONJECTURE,
)
def bcs_and_cplst_agree_to_four_digits(_: Effort) -> Findings:
    """Look for equal entries in Table 6 to Table 10, and compare their number with chance.

    Chance: the differences of the table near zero, taken as evenly spread over 0.02.
    """
    frame = printed.only(printed.full_label_tables(), loss="squared")
    index = ["table", "dataset", "ratio"]
    wide = printed.spread(frame, index, "method")
    apart = (wide["BCS"] - wide["CPLST"]).abs().round(6)
    equal = apart.index[apart == 0]
    near = int((apart.loc[10] <= 0.01).sum()) - len(equal)
    rows = printed.only(frame, method="CPLST").set_index(index, drop=False)
    chance = near / 200
    yield from GUESS.cells("equal", printed.describe(rows.loc[equal]), DUPLICATES)
    yield GUESS.at_most("equal pairs by chance", chance, 0.05, 0.0, "rough; two were found")


@Statement(
    id="D10.2",
    where="caption of Table 11",
    says="Binary relevance with squared and with squared hinge loss are listed as two methods "
    "(Table 11 to Table 15).",
    verdict=Verdict.HIDDEN,
    refuted_by="Margins above one in the ridge fit, or other counts.",
    correct="With far more features than points (autofood, compphys) every margin stays below one, "
    "where the losses coincide: 33 of 40 cells are equal, against none of 20 on bibtex.",
    why="Below the margin the two losses are the same up to a factor, so that they have the same "
    "minimiser.",
    example="Label 1, score 0.3: (1 - 0.3)^2 is the squared hinge loss and twice the squared one.",
    sure=Sure.EXACT,
)
def squared_and_hinge_coincide_where_features_abound(effort: Effort) -> Findings:
    """Count equal cells; put a ridge fit with many features into the other loss's derivative.

    With many more features than points the ridge fit leaves every margin below one, where the two
    losses have proportional derivatives, so the minimisers agree at twice the penalty.
    """
    n_points, n_features, penalty = 30, effort.pick(3000, 9000), 1.0
    X = effort.rng.standard_normal((n_points, n_features)) / np.sqrt(n_features)
    y = effort.rng.choice(np.array([-1.0, 1.0]), size=n_points)
    fitted = y - penalty * np.linalg.solve(X @ X.T + penalty * np.eye(n_points), y)
    apart = SquaredHinge().derivative(y, fitted) - 2 * Squared().derivative(y, fitted)
    same = coinciding()
    wide = int(same[same.index != "bibtex"].sum())
    yield REFUTES.count("autofood, compphys: equal cells of 40", wide, 33)
    yield CONDITION.count("bibtex: equal cells of 20", same["bibtex"], 0)
    yield REFUTES.equal("derivatives apart", abs(apart).max(), 0, 1e-12)


def coinciding() -> pd.Series:
    """Return, by data set, how many BR cells are equal for squared and squared-hinge loss."""
    rows = printed.only(printed.missing_label_tables(), method="BR", ratio=0.2)
    wide = printed.spread(rows, ["table", "dataset", "observed"], "loss")
    return (wide["squared"] == wide["squared_hinge"]).groupby(level="dataset").sum()


@Statement(
    id="D17",
    place="Table 2",
    says="The sizes are those of the public data sets and agree with the text.",
    refuted_by="A total that differs, or an average that no whole total gives.",
)
def sizes_of_the_data_sets(_: Effort) -> Findings:
    """The splits added up beside the public data sets; averages times points must be whole."""
    table = printed.statistics()
    pages, labels = printed.QUOTED["sizes of wiki"].numbers
    total = table["n_train"] + table["n_test"]
    wrong = sum(total[name] != size for name, size in PUBLIC_SIZES.items())
    averages = printed.load(2)
    averages = averages[averages["metric"].str.contains("_nonzeros|_positives")].reset_index()
    part = averages["metric"].str.partition("_")[0]
    points = [table.loc[d, f"n_{p}"] for d, p in zip(averages["dataset"], part, strict=True)]
    missed, chance = off_lattice(averages, pd.Series(points))
    abundant = set(table.index[table["n_features"] > 50 * table["n_labels"]])
    yield SUPPORTS.count("splits that miss the public size", wrong, 0)
    yield SUPPORTS.count("averages that are no whole total", missed, 0)
    yield CONTROL.at_least("missed if drawn at random", chance, 2, 0.0, "informative at all")
    yield SUPPORTS.count("more than 50 features per label", abundant == {"autofood", "compphys"}, 1)
    millions = total["wiki"] / 1e6
    yield SUPPORTS.equal("wiki: pages in millions", millions, pages / 1e6, 0.15, "'about'")
    yield SUPPORTS.equal("wiki: labels", table["n_labels"]["wiki"], labels, labels / 10, "rounded")


@Statement(
    id="D20",
    where="caption of Table 10",
    says="By Claim 1 CPLST cannot change once k reaches the rank of the data (60 % on delicious, "
    "80 % on compphys; Table 6 to Table 10).",
    kind=Kind.EQUALITY,
    verdict=Verdict.HIDDEN,
    refuted_by="Another series that changes, or a change that ties do not explain.",
    correct="Up to ties: labels that never occur in training get scores equal but for rounding, so "
    "AUC may move: 0.7806 and 0.7804 on compphys. The other nine series are constant.",
    why="Equal scores are told apart by rounding errors.",
    example="compphys, 80 % and 100 %: AUC 0.7806 and 0.7804.",
    sure=Sure.EXACT,
)
def cplst_stops_changing_at_full_rank(_: Effort) -> Findings:
    """The rank is at most min(n_train, d, L); the entries beyond it are compared."""
    table = printed.statistics()
    rank = table[["n_features", "n_train", "n_labels"]].min(axis=1)
    rows = printed.only(printed.full_label_tables(), method="CPLST")
    beyond = (rows["ratio"] * statistic(rows, "n_labels")).round() >= rows["dataset"].map(rank)
    series = rows[beyond & rows["dataset"].isin(["delicious", "compphys"])].groupby(
        ["dataset", "table"]
    )["value"]
    spread = (series.max() - series.min()).round(6)
    reason = "labels absent from training tie in exact arithmetic, and rounding orders them"
    yield SUPPORTS.count("series that stay constant, of 10", (spread == 0).sum(), 9)
    moved = spread.loc[("compphys", 10)]
    yield REFUTES.different("compphys AUC", moved, 0, 1e-4, "one printed unit")
    yield CONDITION.equal("compphys AUC", spread.loc[("compphys", 10)], 0, 5e-4, reason)


@Statement(
    id="D23",
    where="caption of Table 10",
    says="CPLST's AUC on delicious is 0.8833, 0.8814 and 0.8834 at k/L 20, 40 and from 60 % on.",
    verdict=Verdict.CONJECTURE,
    refuted_by="A change from 40 to 60 % of the size seen on the data.",
    correct="AUC falls by 0.0019 to 0.0022 from 20 to 40 % and moves by 0.0001 after that: 0.8814 "
    "from 60 % on would fit, which is also what LEML has there.",
    why="A curve that falls and comes back to where it was is unlike what this data set gives.",
    example="0.8833, 0.8814, 0.8834; we measured a fall of about 0.002 and no change after it.",
    sure=Sure.CONJECTURE,
)
def cplst_auc_on_delicious(_: Effort) -> Findings:
    """The printed changes beside those we measured, with two public splits and a random one."""
    rows = printed.only(printed.load(10), dataset="delicious", method="CPLST")
    auc = rows.set_index("ratio")["value"]
    early, late = (np.diff(DELICIOUS_AUC, axis=1)[:, step].mean() for step in (0, 1))
    reason = "splits differ by 0.0003, printing adds 0.0001"
    repaired = float(auc[0.4] + late)
    yield REFUTES.different("change from 40 to 60 %", auc[0.6] - auc[0.4], late, 1e-3, reason)
    yield SUPPORTS.equal("change from 20 to 40 %", auc[0.4] - auc[0.2], early, 5e-4, reason)
    yield GUESS.equal("AUC at 60 % by our change", repaired, 0.8813, 1e-4, reason)
    yield CONTROL.count("60, 80 and 100 % printed alike", auc[auc.index >= 0.6].nunique(), 1)
    yield "If so, LEML and CPLST are level in the three rows that D11 counts as behind."
