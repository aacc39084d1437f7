"""Bends of what the checks of `section_5_2` rely on."""

from bent_tables import CELL, digit, dropped, flipped
from mutation import Mutation, returning, scaled


def raised(gains):
    """Bend every comparison in favour of LEML."""
    return lambda frame, rival: gains(frame, rival) + 1


MUTATIONS = {
    "A20": [
        Mutation("another penalty", "._ridge", scaled(1.01)),
        Mutation("rank free of charge", "._best_of_rank", returning(0.0)),
    ],
    "D13": [
        Mutation("all gains raised", "paper_checks.printed.gains", raised),
        digit("BR ahead", 28.51, table=5, dataset="bibtex", metric="top-3", method="BR"),
        digit("BCS level", 0.8332, table=5, dataset="bibtex", metric="auc", method="BCS"),
        flipped("hamming"),
    ],
    "D14": [
        digit("one win more", 26.00, table=12, ratio=0.2, observed=0.1, **CELL),
        digit("a win on bibtex", 40.0, table=12, dataset="bibtex", method="LEML", loss="logistic"),
        digit(
            "a defeat elsewhere", 20.0, table=12, dataset="compphys", method="LEML", loss="logistic"
        ),
        flipped("auc"),
    ],
    "D14.2": [
        digit("ahead at 5 %", 42.91, table=11, ratio=0.4, observed=0.05, **CELL),
        digit("behind at 20 %", 46.07, table=11, ratio=0.4, observed=0.2, **CELL),
        digit("ahead of BCS", 39.18, table=11, ratio=0.4, observed=0.05, **CELL),
        flipped("top-5"),
    ],
    "D14.3": [
        dropped("a lost number", table=14, ratio=0.2, observed=0.2, **CELL),
        digit("behind BR once", 0.0194, table=14, ratio=0.2, observed=0.2, **CELL),
        digit("level with BCS", 27.05, table=12, ratio=0.6, observed=0.2, **CELL),
    ],
}
