"""Whether Tables 3 to 15 agree with each other, with arithmetic and with their own marks."""

import pandas as pd

from paper_checks import printed
from paper_checks.checking import PRINTED, Effort, Findings, Statement, Sure, Verdict
from paper_checks.checking.fact import CONTROL, MEANT, REFUTES, SUPPORTS
from paper_checks.printed import off_lattice, statistic

RIGHTLY_MARKED = (3, 4, 5, 6, 7, 10, 12, 13, 15)
MISMARKED = {
    8: frozenset({"8 compphys 60% LEML squared_hinge"}),
    9: frozenset(
        {
            "9 bibtex 20% CPLST squared",
            "9 delicious 20% CPLST squared",
            "9 delicious 40% CPLST squared",
        }
    ),
    11: frozenset(
        {
            "11 autofood 20%@40% LEML logistic",
            "11 autofood 40%@5% LEML logistic",
            "11 autofood 40%@5% BR logistic",
            "11 autofood 60%@5% LEML logistic",
            "11 autofood 60%@5% BR logistic",
            "11 autofood 60%@5% LEML squared_hinge",
            "11 autofood 60%@5% BR squared_hinge",
        }
    ),
    14: frozenset({"14 autofood 20%@40% LEML logistic", "14 compphys 40%@5% BR logistic"}),
}


def disagreements(summary: int, *detailed: int) -> pd.DataFrame:
    """Return the cells of a summary table that differ from the detailed tables, beside those."""
    place = [*printed.KEY, "metric"]
    source = printed.load(*detailed)[[*place, "value"]]
    both = printed.load(summary).merge(source, how="left", on=place, suffixes=("", "_detailed"))
    return both[both["value"] != both["value_detailed"]]


@Statement(
    id="D1",
    place="Table 3",
    says="The top-3 accuracies and AUCs are those of Table 7 and Table 10.",
    refuted_by="A number that differs.",
)
def table_3_repeats_tables_7_and_10(_: Effort) -> Findings:
    """Each of the 96 numbers is compared with its source."""
    apart = disagreements(3, 7, 10)
    compared = len(printed.load(3))
    yield SUPPORTS.count("numbers that differ", len(apart), 0)
    yield CONTROL.count("compared", compared, 96)


@Statement(
    id="D2",
    where="Table 5, row 2",
    says="The numbers are those of Table 12, Table 14 and Table 15 at k = 0.4 L and 20 % observed.",
    verdict=Verdict.MISPRINT,
    refuted_by="No difference, or another one than the AUC of BCS on bibtex.",
    correct="BCS on bibtex has AUC 0.7817 (Table 15); 0.7871 has two digits exchanged. The order "
    "of the methods does not depend on it.",
    why="Two tables print one number differently.",
    example="0.7871 in Table 5, 0.7817 in Table 15.",
    sure=Sure.EXACT,
)
def table_5_repeats_tables_12_14_15(_: Effort) -> Findings:
    """Each of 27 numbers against its source; of two spellings the rise with k/L decides."""
    apart = disagreements(5, 12, 14, 15)
    cell = frozenset({"5 bibtex 40%@20% BCS squared"})
    summary, detailed = (float(apart[c].sum()) for c in ("value", "value_detailed"))
    swapped = sorted(f"{summary:.4f}") == sorted(f"{detailed:.4f}")
    low, high, start = rises_beside()
    inside = "the rise from k/L 20 % lies between those at 10 % and 40 % observed"
    yield from REFUTES.cells("disagreement", printed.describe(apart), cell)
    yield CONTROL.count("numbers compared", len(printed.load(5)), 27)
    yield MEANT.count("the same digits in another order", swapped, 1)
    yield MEANT.at_most(f"Table 15: {inside}", detailed - start, high, 0.0, PRINTED)
    yield MEANT.at_least(f"Table 15: {inside}, below", detailed - start, low, 0.0, PRINTED)
    yield REFUTES.at_least("Table 5: the rise exceeds both", summary - start, high, 0.0, PRINTED)


def rises_beside() -> tuple[float, float, float]:
    """Return BCS's rise in AUC from k/L 20 to 40 % at 10 and 40 % observed; its start at 20 %."""
    rows = printed.only(printed.load(15), dataset="bibtex", method="BCS")
    wide = printed.spread(rows, ["observed"], "ratio")
    rise = wide[0.4] - wide[0.2]
    return float(rise[0.1]), float(rise[0.4]), float(wide[0.2][0.2])


@Statement(
    id="D3",
    place="Table 6",
    says="Top-K accuracies (Table 3 to Table 8, Table 11 to Table 13) are shares of K n_test.",
    refuted_by="An accuracy that no number of hits gives.",
)
def accuracies_are_counts(_: Effort) -> Findings:
    """Each of 1,197 numbers must be what whole hits round to; random ones would fail 850 times."""
    frame = printed.load(3, 4, 5, 6, 7, 8, 11, 12, 13)
    frame = frame[frame["metric"].str.startswith("top")].reset_index(drop=True)
    kept = frame["metric"].str[-1].astype(int)
    missed, chance = off_lattice(frame, kept * statistic(frame, "n_test") / 100)
    yield SUPPORTS.count("unattainable accuracies", missed, 0)
    yield CONTROL.at_least("unattainable if drawn at random", chance, 100, 0, "informative at all")
    yield CONTROL.count("accuracies tested", len(frame), 360 + 756 + 48 + 24 + 9)


@Statement(
    id="D3.2",
    place="Table 9",
    says="Hamming losses (Table 5, Table 9, Table 14) are shares of L n_test.",
    refuted_by="A loss that no number of errors gives.",
)
def hamming_losses_are_counts(_: Effort) -> Findings:
    """Each of 361 numbers must be what whole errors round to; random ones would fail 60 times."""
    frame = printed.only(printed.load(5, 9, 14), metric="hamming").reset_index(drop=True)
    units = statistic(frame, "n_test") * statistic(frame, "n_labels")
    missed, chance = off_lattice(frame, units)
    yield SUPPORTS.count("unattainable losses", missed, 0)
    yield CONTROL.at_least("unattainable if drawn at random", chance, 20, 0.0, "informative at all")
    yield CONTROL.count("losses tested", len(frame), 100 + 252 + 9)


def hits(*tables: int) -> pd.DataFrame:
    """Return the mean number of hits among the first 1, 3 and 5 labels, one column each."""
    frame = printed.load(*tables)
    frame = frame.assign(kept=frame["metric"].str[-1].astype(int))
    frame = frame.assign(value=frame["value"] * frame["kept"] / 100)
    return printed.spread(frame, printed.KEY, "kept")


@Statement(
    id="D4",
    place="Table 8",
    says="Top-1, top-3 and top-5 accuracies (Table 6 to 8, Table 11 to 13) are of one ranking.",
    refuted_by="Fewer hits among more labels, or more than two for two.",
)
def hits_grow_with_k(_: Effort) -> Findings:
    """In 372 rows hits may grow by 0 to 2 for two more labels, up to the mean number of labels."""
    counted = pd.concat([hits(6, 7, 8), hits(11, 12, 13)])
    added = pd.concat([counted[3] - counted[1], counted[5] - counted[3]])
    present = statistic(counted.index.to_frame(), "test_positives")
    rounding = 0.005 * (5 + 3) / 100
    reason = "two accuracies rounded to 0.005 per cent, times K"
    yield SUPPORTS.at_least("fewest hits added by two labels", added.min(), 0, rounding, reason)
    yield SUPPORTS.at_most("most hits added by two labels", added.max(), 2, rounding, reason)
    yield SUPPORTS.at_most("hits over labels", (counted[5] / present).max(), 1, 0.01, reason)
    yield CONTROL.count("rows tested", len(counted), 120 + 252)


@Statement(
    id="D5",
    place="Table 11",
    says="Binary relevance has no k: its numbers (Table 11 to Table 15) do not change with k/L.",
    refuted_by="A series with two values.",
)
def binary_relevance_does_not_depend_on_k(_: Effort) -> Findings:
    """The 180 series over k/L are compared."""
    rows = printed.only(printed.missing_label_tables(), method="BR")
    series = rows.groupby(["table", "dataset", "loss", "observed"])["value"].nunique()
    yield SUPPORTS.count("series that vary", (series > 1).sum(), 0)
    yield CONTROL.count("of", len(series), 180)


def mismarked(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the cells whose bold mark is not what 'best of its group, ties included' would give.

    The groups are the rows of a table, within one loss in the tables with missing labels.
    """
    by_loss = frame["loss"].where(frame["table"] >= 11, "")
    signed = frame["value"].where(~frame["metric"].isin(printed.LOWER_IS_BETTER), -frame["value"])
    group = [frame[c] for c in ("table", "dataset", "ratio", "observed", "rank", "metric")]
    best = signed == signed.groupby([*group, by_loss], dropna=False).transform("max")
    return frame[best != frame["bold"]]


def marks_of(table: int, misplaced: int) -> Findings:
    """Compare a table's wrong marks with those recorded.

    `misplaced` counts the cells marked though not best; the others are best and not marked.
    """
    wrong = mismarked(printed.load(table))
    recorded = MISMARKED[table]
    elsewhere = mismarked(printed.load(*RIGHTLY_MARKED))
    yield from REFUTES.cells("missing or misplaced marks", printed.describe(wrong), recorded)
    yield CONTROL.count("marked though not best", wrong["bold"].sum(), misplaced)
    yield MEANT.count("wrong marks in nine other tables", len(elsewhere), 0)
    yield "; ".join(sorted(printed.describe(wrong)))


@Statement(
    id="D6",
    place="Table 3",
    says="Bold marks the best of each group, ties included (Table 3 to 7, 10, 12, 13, 15).",
    refuted_by="A mark missing or misplaced.",
)
def bold_marks_the_best(_: Effort) -> Findings:
    """The marks against the best values of each row, within one loss where labels are missing."""
    frame = printed.load(*RIGHTLY_MARKED)
    wrong = len(mismarked(frame))
    yield SUPPORTS.count("wrong marks", wrong, 0)
    yield CONTROL.count("marks", frame["bold"].sum(), 455)


@Statement(
    id="D6.1",
    where="caption of Table 8",
    says="Bold marks the best top-5 accuracy of each row, ties included.",
    verdict=Verdict.MISPRINT,
    refuted_by="Other cells than the one recorded.",
    correct="compphys, k/L 60 %: squared hinge, 74.00, ties with logistic and should be bold too.",
    why="A tie is marked once.",
    example="compphys, 60 %: 74.00 stands twice in the row, once in bold.",
    sure=Sure.EXACT,
)
def bold_marks_of_table_8(_: Effort) -> Findings:
    """The marks are compared with the best values."""
    return marks_of(8, misplaced=0)


@Statement(
    id="D6.2",
    where="caption of Table 9",
    says="Bold marks the lowest Hamming loss of each row, ties included.",
    verdict=Verdict.MISPRINT,
    refuted_by="Other cells than the three recorded.",
    correct="CPLST should not be bold on bibtex at 20 % (0.0127 against 0.0126), nor on delicious "
    "at 20 % and 40 % (0.0182 against 0.0181).",
    why="A value that is not the lowest is marked.",
    example="bibtex, 20 %: 0.0127 is bold, 0.0126 is in the same row.",
    sure=Sure.EXACT,
)
def bold_marks_of_table_9(_: Effort) -> Findings:
    """The marks are compared with the lowest values."""
    return marks_of(9, misplaced=3)


@Statement(
    id="D6.3",
    where="caption of Table 11",
    says="Bold marks the best top-1 accuracy of each loss, ties included.",
    verdict=Verdict.MISPRINT,
    refuted_by="Other cells than the seven recorded.",
    correct="On autofood, logistic LEML at k/L 20 %, 40 % observed (81.58) should be bold; so "
    "should the ties at 7.89 with 5 % observed: logistic at 40 % and 60 %, squared hinge at 60 %.",
    why="The best value is not marked.",
    example="autofood, k/L 20 %, 40 % observed, logistic: 81.58 against 68.42, not bold.",
    sure=Sure.EXACT,
)
def bold_marks_of_table_11(_: Effort) -> Findings:
    """The marks are compared with the best values."""
    return marks_of(11, misplaced=0)


@Statement(
    id="D6.4",
    where="caption of Table 14",
    says="Bold marks the lowest Hamming loss of each loss function, ties included.",
    verdict=Verdict.MISPRINT,
    refuted_by="Other cells than the two recorded.",
    correct="Logistic LEML on autofood at k/L 20 %, 40 % observed (0.0655) should be bold, as "
    "should logistic BR on compphys at 40 %, 5 % observed (0.0555), which ties.",
    why="The lowest value is not marked.",
    example="autofood, k/L 20 %, 40 % observed, logistic: 0.0655 against 0.0838, not bold.",
    sure=Sure.EXACT,
)
def bold_marks_of_table_14(_: Effort) -> Findings:
    """The marks are compared with the lowest values."""
    return marks_of(14, misplaced=0)
