"""Comparisons that checks of the printed tables share."""

from __future__ import annotations

import numpy as np
import pandas as pd

from paper_checks import printed
from paper_checks.registry import Fact

EXACT = "a count is exact"
PRINTED = "printed decimals are compared as they stand"


def count(name: str, measured: float, predicted: float) -> Fact:
    """Return the comparison of two counts."""
    return Fact(name, float(measured), float(predicted), "==", 0.0, EXACT)


def cells(name: str, found: frozenset[str], recorded: frozenset[str]) -> tuple[Fact, Fact]:
    """Return the comparison of the cells found with those recorded: the same, not just as many."""
    other = count(f"{name}: cells not as recorded", len(found ^ recorded), 0)
    return count(f"{name}: cells", len(found), len(recorded)), other


def statistic(frame: pd.DataFrame, name: str) -> pd.Series:
    """Return a statistic of Table 2 for the data set of each row."""
    return frame["dataset"].map(printed.statistics()[name])


def nothing_predicted(frame: pd.DataFrame) -> pd.Series:
    """Return the Hamming loss of predicting no label at all, for the data set of each row."""
    return statistic(frame, "test_positives") / statistic(frame, "n_labels")


def off_lattice(frame: pd.DataFrame, units: pd.Series) -> tuple[int, float]:
    """Return how many numbers no multiple of 1/`units` rounds to, and how many chance would give.

    A number printed to half a unit h is attainable if a multiple lies within h of it; one drawn at
    random would be missed with probability 1 - 2 h units where that is positive.
    """
    half, slack = frame["half_unit"], 1e-9  # ties may round either way
    first = np.ceil((frame["value"] - half) * units - slack)
    last = np.floor((frame["value"] + half) * units + slack)
    return int((first > last).sum()), float((1 - 2 * half * units).clip(lower=0).sum())
