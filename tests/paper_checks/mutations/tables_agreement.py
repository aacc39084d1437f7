"""Bends of what the checks of `tables_agreement` rely on."""

from bent_tables import CELL, LOAD, bent, digit, dropped, flipped
from mutation import Mutation, constant


def mark(name, bold, /, **where):
    """Return the mutation that sets or removes a bold mark."""
    return Mutation(name, LOAD, bent({"bold": bold}, **where))


def forgotten(name, target, table=None):
    """Return the mutation that takes one cell from a recorded set of cells."""

    def without_one(cells):
        return frozenset(sorted(cells)[1:])

    def replacement(recorded):
        if table is None:
            return without_one(recorded)
        return {**recorded, table: without_one(recorded[table])}

    return Mutation(name, target, replacement)


BCS_20 = {"dataset": "bibtex", "method": "BCS", "observed": 0.2, "ratio": 0.4}
UNINFORMATIVE = Mutation("every count attainable", ".off_lattice", constant(lambda *_: (0, 0.0)))

MUTATIONS = {
    "D1": [
        digit("one digit of Table 3", 34.17, table=3, ratio=0.2, metric="top-3", **CELL),
        digit("one digit of Table 7", 34.61, table=7, ratio=0.2, **CELL),
        digit("two digits of Table 10 exchanged", 0.8190, table=10, ratio=0.2, **CELL),
        dropped("a lost number", table=3, ratio=0.2, metric="auc", **CELL),
    ],
    "D2": [
        dropped("a lost number", table=5, metric="auc", **BCS_20),
        digit("Table 5 corrected", 0.7817, table=5, metric="auc", **BCS_20),
        digit("another digit of Table 12", 23.85, table=12, **BCS_20),
        digit("a difference that is no exchange", 0.7872, table=5, metric="auc", **BCS_20),
        digit("Table 15 as unlikely as Table 5", 0.7187, table=15, **BCS_20),
    ],
    "D3": [
        dropped("a lost number", table=6, ratio=0.2, **CELL),
        digit("a top-1 between two counts", 68.40, table=6, value=68.42),
        digit("a top-3 between two counts", 80.10, table=7, value=80.00),
        digit("another test set", 39.0, table=2, dataset="autofood", metric="n_test"),
        UNINFORMATIVE,
    ],
    "D3.2": [
        UNINFORMATIVE,
        digit("a loss between two counts", 0.0548, table=9, value=0.0547),
        digit("another number of labels", 163.0, table=2, dataset="autofood", metric="n_labels"),
        dropped("a lost number", table=9, ratio=0.2, **CELL),
    ],
    "D4": [
        dropped("a lost row", ratio=0.2, observed=1.0, **CELL),
        digit("fewer hits among three", 19.0, table=7, ratio=0.2, **CELL),
        digit("more than two hits for two labels", 90.0, table=8, ratio=0.2, **CELL),
        digit("fewer labels than hits", 1.0, table=2, dataset="bibtex", metric="test_positives"),
    ],
    "D5": [
        dropped(
            "a lost series", table=11, dataset="bibtex", method="BR", observed=0.2, loss="squared"
        ),
        digit(
            "one BR number", 42.91, table=11, dataset="bibtex", method="BR", ratio=0.6, value=42.90
        ),
        Mutation("LEML for BR", LOAD, bent({"method": "BR"}, method="LEML", table=11)),
    ],
    "D6": [
        mark("a mark removed", False, table=15, ratio=0.2, observed=0.2, **CELL),
        mark("a mark too many", True, table=6, dataset="bibtex", method="CPLST", ratio=1.0),
        digit("another best", 67.17, table=6, dataset="delicious", ratio=0.2, method="CPLST"),
        flipped("seconds"),
        flipped("auc"),
    ],
    "D6.1": [
        mark("a mark too many", True, table=8, dataset="bibtex", method="CPLST", ratio=1.0),
        mark("the mark set", True, table=8, dataset="compphys", ratio=0.6, loss="squared_hinge"),
        digit("no tie", 73.5, table=8, dataset="compphys", ratio=0.6, loss="squared_hinge"),
        mark("a mark removed", False, table=8, ratio=0.2, **CELL),
        mark("ties not marked elsewhere", False, table=3, dataset="compphys", value=80.0),
    ],
    "D6.2": [
        mark("a mark removed", False, table=9, dataset="bibtex", ratio=0.2, method="CPLST"),
        digit("a tie made", 0.0126, table=9, dataset="bibtex", ratio=0.2, method="CPLST"),
        flipped("hamming"),
    ],
    "D6.3": [
        mark("ties marked", True, table=11, dataset="autofood", value=7.89),
        forgotten("one cell not recorded", ".MISMARKED", 11),
        mark("a mark too many", True, table=11, dataset="bibtex", method="BCS", ratio=0.2),
        mark("marks missing elsewhere", False, table=12, ratio=0.2, **CELL),
        digit(
            "a tie broken",
            10.53,
            table=11,
            dataset="autofood",
            ratio=0.6,
            observed=0.05,
            value=7.89,
        ),
    ],
    "D6.4": [
        mark("a mark set", True, table=14, dataset="autofood", ratio=0.2, observed=0.4),
        digit("a tie broken", 0.0556, table=14, dataset="compphys", method="BR", loss="logistic"),
        flipped("hamming"),
    ],
}
