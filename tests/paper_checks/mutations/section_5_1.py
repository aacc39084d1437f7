"""Bends of what the checks of `section_5_1` rely on."""

from bends import QUOTED, requoted, shifted
from bent_tables import CELL, digit, dropped, flipped
from mutation import Mutation, constant, scaled

WIKI = {"table": 4, "dataset": "wiki", "rank": 500.0}

MUTATIONS = {
    "D9": [
        digit("squared loss worse too", 0.0152, table=9, ratio=0.2, **CELL),
        digit("logistic loss better", 0.0150, table=9, dataset="bibtex", loss="logistic"),
        digit(
            "one more row with missing labels", 0.0153, table=14, ratio=0.2, observed=0.1, **CELL
        ),
        Mutation("twice the loss", ".nothing_predicted", scaled(2)),
    ],
    "D11": [
        digit("never behind BCS", 84.22, table=6, dataset="autofood", ratio=1.0, method="LEML"),
        digit("behind once more", 66.54, table=6, dataset="bibtex", ratio=1.0, method="CPLST"),
        digit(
            "a tie broken",
            0.0181,
            table=9,
            dataset="delicious",
            ratio=0.6,
            loss="squared",
            method="LEML",
        ),
        flipped("hamming"),
    ],
    "D12": [
        digit("hinge ahead", 30.0, table=3, dataset="bibtex", loss="squared_hinge", metric="top-3"),
        digit("ahead on bibtex in Table 10", 0.9183, table=10, ratio=1.0, **CELL),
        digit("ahead on bibtex", 0.9093, table=3, ratio=0.4, metric="auc", **CELL),
        digit(
            "behind elsewhere",
            66.66,
            table=3,
            dataset="autofood",
            loss="squared",
            ratio=0.2,
            metric="top-3",
        ),
        digit(
            "logistic loss ahead",
            0.8600,
            table=3,
            dataset="delicious",
            loss="logistic",
            metric="auc",
        ),
        Mutation("competitive to 0.01", ".COMPETITIVE", scaled(0.5)),
    ],
    "D15": [
        digit("a shorter time", 12000.0, metric="seconds", method="LEML", **WIKI),
        digit("another time", 22000.0, metric="seconds", method="LEML", **WIKI),
        digit("a day more", 225690.0, metric="seconds", method="WSABIE", **WIKI),
        Mutation("minutes for hours", ".HOUR", scaled(1 / 60)),
        digit("another AUC of LEML", 0.9375, metric="auc", method="LEML", **WIKI),
        Mutation("another AUC of WSABIE", QUOTED, requoted("times on wiki", 3, "0.9057")),
    ],
    "D16": [
        Mutation("slower growth", ".EPOCHS", constant((7000.0, 16000.0, 20000.0))),
        Mutation("a longer day", ".DAY", scaled(1.5)),
        Mutation("durations may grow", ".growth_for", scaled(2)),
    ],
    "D24": [
        Mutation("level on bibtex", ".lead_over_regression", shifted(4.69)),
        digit("behind on delicious", 0.5, table=10, dataset="delicious", ratio=0.2, method="LEML"),
        digit("another value at 40 %", 50.0, table=6, ratio=0.4, **CELL),
    ],
    "D25": [
        digit("a longer time", 1574.0, table=4, dataset="nus-wide", rank=50.0, value=574.0),
        digit("WSABIE ahead once", 0.78, table=4, dataset="nus-wide", value=0.7597),
    ],
    "D18": [
        digit(
            "behind on eurlex",
            25.00,
            table=4,
            dataset="eurlex",
            rank=250.0,
            method="LEML",
            metric="top-3",
        ),
        digit(
            "ahead at k = 250",
            14.66,
            table=4,
            dataset="wiki",
            rank=250.0,
            method="LEML",
            metric="top-3",
        ),
        digit(
            "far ahead at k = 250",
            29.56,
            table=4,
            dataset="wiki",
            rank=250.0,
            method="LEML",
            metric="top-1",
        ),
        digit("behind at k = 500", 0.9057, metric="auc", method="LEML", **WIKI),
        flipped("seconds"),
    ],
    "D19": [
        dropped(
            "a lost number", table=6, dataset="autofood", ratio=0.6, loss="squared", method="LEML"
        ),
        digit("no dip in one row", 70.0, table=6, dataset="autofood", ratio=0.6, method="CPLST"),
        digit("a dip elsewhere too", 30.0, table=6, dataset="bibtex", ratio=0.6, method="CPLST"),
    ],
    "D21": [
        dropped("a lost number", table=6, ratio=0.2, **CELL),
        digit(
            "a lead of many points",
            70.0,
            table=6,
            dataset="delicious",
            ratio=1.0,
            loss="squared",
            method="LEML",
        ),
        digit("a lead of one point", 63.90, table=6, ratio=1.0, dataset="bibtex", method="CPLST"),
        Mutation("another level", ".SIGNIFICANT", scaled(0.5)),
        digit("a larger test set", 31850.0, table=2, dataset="delicious", metric="n_test"),
    ],
    "D22": [
        digit("ahead from 60 %", 63.10, table=6, ratio=0.6, **CELL),
        digit(
            "behind on compphys",
            49.0,
            table=6,
            dataset="compphys",
            loss="squared",
            ratio=0.2,
            method="LEML",
        ),
        digit("a better regression", 0.8950, table=10, dataset="bibtex", ratio=1.0, method="CPLST"),
        flipped("top-3"),
    ],
}
