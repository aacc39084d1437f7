"""Whether Tables 3 to 15 agree with each other, with arithmetic and with their own marks."""

from __future__ import annotations

import pandas as pd

from paper_checks import printed
from paper_checks.registry import Effort, Fact, Outcome, check
from paper_checks.table_facts import PRINTED, cells, count, off_lattice, statistic

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


@check("D1")
def table_3_repeats_tables_7_and_10(_: Effort) -> Outcome:
    """Compare each number of the summary with its source.

    Paper: Table 3.
    """
    apart = disagreements(3, 7, 10)
    compared = len(printed.load(3))
    return Outcome((count("numbers that differ", len(apart), 0), count("compared", compared, 96)))


@check("D2")
def table_5_repeats_tables_12_14_15(_: Effort) -> Outcome:
    """Compare each number of the summary with its source, and ask which of two spellings fits.

    Paper: Table 5.
    """
    apart = disagreements(5, 12, 14, 15)
    cell = frozenset({"5 bibtex 40%@20% BCS squared"})
    summary, detailed = (float(apart[c].sum()) for c in ("value", "value_detailed"))
    swapped = sorted(f"{summary:.4f}") == sorted(f"{detailed:.4f}")
    low, high, start = rises_beside()
    inside = "the rise from k/L 20 % lies between those at 10 % and 40 % observed"
    return Outcome(
        (
            *cells("disagreement", printed.describe(apart), cell),
            count("numbers compared", len(printed.load(5)), 27),
            count("the same digits in another order", swapped, 1),
            Fact(f"Table 15: {inside}", detailed - start, high, "<=", 0.0, PRINTED),
            Fact(f"Table 15: {inside}, below", detailed - start, low, ">=", 0.0, PRINTED),
            Fact("Table 5: the rise exceeds both", summary - start, high, ">=", 0.0, PRINTED),
        ),
        note=f"Table 5 prints {summary:.4f}, Table 15 prints {detailed:.4f}.",
    )


def rises_beside() -> tuple[float, float, float]:
    """Return BCS's rise in AUC from k/L 20 to 40 % at 10 and 40 % observed; its start at 20 %."""
    rows = printed.only(printed.load(15), dataset="bibtex", method="BCS")
    wide = printed.spread(rows, ["observed"], "ratio")
    rise = wide[0.4] - wide[0.2]
    return float(rise[0.1]), float(rise[0.4]), float(wide[0.2][0.2])


@check("D3")
def accuracies_are_counts(_: Effort) -> Outcome:
    """See that each top-K accuracy is a whole number of hits over K n_test.

    Paper: Table 6.
    """
    frame = printed.load(3, 4, 5, 6, 7, 8, 11, 12, 13)
    frame = frame[frame["metric"].str.startswith("top")].reset_index(drop=True)
    kept = frame["metric"].str[-1].astype(int)
    missed, chance = off_lattice(frame, kept * statistic(frame, "n_test") / 100)
    return Outcome(
        (
            count("unattainable accuracies", missed, 0),
            Fact("unattainable if drawn at random", chance, 100, ">=", 0.0, "informative at all"),
            count("accuracies tested", len(frame), 360 + 756 + 48 + 24 + 9),
        )
    )


@check("D3.2")
def hamming_losses_are_counts(_: Effort) -> Outcome:
    """See that each Hamming loss is a whole number of errors over L n_test.

    Paper: Table 9.
    """
    frame = printed.only(printed.load(5, 9, 14), metric="hamming").reset_index(drop=True)
    units = statistic(frame, "n_test") * statistic(frame, "n_labels")
    missed, chance = off_lattice(frame, units)
    return Outcome(
        (
            count("unattainable losses", missed, 0),
            Fact("unattainable if drawn at random", chance, 20, ">=", 0.0, "informative at all"),
            count("losses tested", len(frame), 100 + 252 + 9),
        )
    )


def hits(*tables: int) -> pd.DataFrame:
    """Return the mean number of hits among the first 1, 3 and 5 labels, one column each."""
    frame = printed.load(*tables)
    frame = frame.assign(kept=frame["metric"].str[-1].astype(int))
    frame = frame.assign(value=frame["value"] * frame["kept"] / 100)
    return printed.spread(frame, printed.KEY, "kept")


@check("D4")
def hits_grow_with_k(_: Effort) -> Outcome:
    """See that two more labels add between no and two hits, and hits never exceed the labels.

    Paper: Table 8.
    """
    counted = pd.concat([hits(6, 7, 8), hits(11, 12, 13)])
    added = pd.concat([counted[3] - counted[1], counted[5] - counted[3]])
    present = statistic(counted.index.to_frame(), "test_positives")
    rounding = 0.005 * (5 + 3) / 100
    reason = "two accuracies rounded to 0.005 per cent, times K"
    return Outcome(
        (
            Fact("fewest hits added by two labels", added.min(), 0, ">=", rounding, reason),
            Fact("most hits added by two labels", added.max(), 2, "<=", rounding, reason),
            Fact("hits over labels", float((counted[5] / present).max()), 1, "<=", 0.01, reason),
            count("rows tested", len(counted), 120 + 252),
        )
    )


@check("D5")
def binary_relevance_does_not_depend_on_k(_: Effort) -> Outcome:
    """See that BR, which has no k, is printed alike in the rows of each k.

    Paper: Table 11.
    """
    rows = printed.only(printed.missing_label_tables(), method="BR")
    series = rows.groupby(["table", "dataset", "loss", "observed"])["value"].nunique()
    return Outcome(
        (count("series that vary", (series > 1).sum(), 0), count("of", len(series), 180))
    )


def mismarked(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the cells whose bold mark is not what 'best of its group, ties included' would give.

    The groups are the rows of a table, within one loss in the tables with missing labels.
    """
    by_loss = frame["loss"].where(frame["table"] >= 11, "")
    signed = frame["value"].where(~frame["metric"].isin(printed.LOWER_IS_BETTER), -frame["value"])
    group = [frame[c] for c in ("table", "dataset", "ratio", "observed", "rank", "metric")]
    best = signed == signed.groupby([*group, by_loss], dropna=False).transform("max")
    return frame[best != frame["bold"]]


def marks_of(table: int, misplaced: int) -> Outcome:
    """Return the comparison of a table's wrong marks with those recorded.

    `misplaced` counts the cells marked though not best; the others are best and not marked.
    """
    wrong = mismarked(printed.load(table))
    return Outcome(
        (
            *cells("missing or misplaced marks", printed.describe(wrong), MISMARKED[table]),
            count("marked though not best", wrong["bold"].sum(), misplaced),
        ),
        note="; ".join(sorted(printed.describe(wrong))),
    )


@check("D6")
def bold_marks_the_best(_: Effort) -> Outcome:
    """See that bold marks the best of each group, ties included, in the nine tables where it does.

    Paper: Table 3.
    """
    frame = printed.load(3, 4, 5, 6, 7, 10, 12, 13, 15)
    wrong = len(mismarked(frame))
    return Outcome((count("wrong marks", wrong, 0), count("marks", frame["bold"].sum(), 455)))


@check("D6.1")
def bold_marks_of_table_8(_: Effort) -> Outcome:
    """Find the tie that is marked on one side only.

    Paper: Table 8.
    """
    return marks_of(8, misplaced=0)


@check("D6.2")
def bold_marks_of_table_9(_: Effort) -> Outcome:
    """Find the marked losses that are not the lowest.

    Paper: Table 9.
    """
    return marks_of(9, misplaced=3)


@check("D6.3")
def bold_marks_of_table_11(_: Effort) -> Outcome:
    """Find the best accuracies that are not marked.

    Paper: Table 11.
    """
    return marks_of(11, misplaced=0)


@check("D6.4")
def bold_marks_of_table_14(_: Effort) -> Outcome:
    """Find the lowest losses that are not marked.

    Paper: Table 14.
    """
    return marks_of(14, misplaced=0)
