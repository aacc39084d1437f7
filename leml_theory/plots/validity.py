"""Where a bound is valid, and why not elsewhere, as the results frame says it."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leml_theory.plots.ticks import number
from leml_theory.sweep.frame import BOUNDS
from leml_theory.sweep.rates import exceeds, family_t

# Bounds of the trace ball that replace the paper's constants by smaller ones.
FAMILY = ("chevet", "rademacher_chevet", "matrix_bernstein", "sub_gaussian_net")

_NUMBER = re.compile(r"\d+\.?\d*(?:e[+-]?\d+)?")


def is_valid(rows: pd.DataFrame, bound: str) -> NDArray[np.bool_]:
    """Return where the bound is valid; a row that no bound speaks of counts as not valid."""
    told = [str(flag) == "True" for flag in rows[f"{bound}_valid"]]  # NaN and text after a CSV
    valid: NDArray[np.bool_] = np.array(told, bool) & np.isfinite(rows[bound].to_numpy(float))
    return valid


def refusals(refused: object, bound: str) -> list[str]:
    """Return the assumptions of `bound` that fail, from one value of the column `refused`."""
    if not isinstance(refused, str) or not refused:
        return []
    # A sentence may hold '; ' itself: cut only where the name of a bound follows.
    names = "|".join(sorted(BOUNDS, key=len, reverse=True))
    starts = [m.start() for m in re.finditer(rf"(?:(?<=^)|(?<=; ))(?:{names})\b", refused)]
    parts = [refused[a:b].rstrip("; ") for a, b in pairwise([*starts, len(refused)])]
    own = [part for part in parts if part.split(" ", 1)[0] == bound]
    return [part.removeprefix(f"{bound} ").removeprefix(f"{bound} ") for part in own]


def short_reason(rows: pd.DataFrame, bound: str) -> str:
    """Return in a few words why `bound` is not valid on some of `rows`.

    What is the case ('here n = 32') is left out, since the axis shows it; of conditions that differ
    in their numbers alone the range of numbers is given.
    """
    texts = [_needed(text) for refused in rows["refused"] for text in refusals(refused, bound)]
    groups: dict[str, list[str]] = {}
    for text in dict.fromkeys(texts):
        groups.setdefault(_NUMBER.sub("#", text), []).append(text)
    text = "; ".join(_ranged(group) for group in groups.values()) or "no reason recorded"
    return text.replace(">=", "≥").replace("<=", "≤").replace("^2", "²")


def _needed(text: str) -> str:
    """Return what a refusal asks for, without what is the case here."""
    return re.split(r", here | at p = ", text)[0].strip()


def _ranged(texts: list[str]) -> str:
    """Return one text for conditions that differ in one number: its range, shortened."""
    spread = sorted({float(found[-1]) for text in texts if (found := _NUMBER.findall(text))})
    if not spread:
        return texts[0]
    if len(spread) == 1:
        return _NUMBER.sub(lambda found: _short(float(found[0])), texts[0])
    ends = f"{_short(spread[0])} to {_short(spread[-1])}"
    return ends.join(texts[0].rsplit(_NUMBER.findall(texts[0])[-1], 1))


def _short(value: float) -> str:
    """Return a number in three digits, or as a whole number where that is short enough."""
    return f"{value:.0f}" if 100 <= value < 1e5 else number(value)


def best_of_family(rows: pd.DataFrame) -> str:
    """Return the bound of the trace ball that is valid most often, the smallest of these."""

    def merit(name: str) -> tuple[int, float]:
        values = rows[name].to_numpy(float)
        size = float(np.median(values[np.isfinite(values)])) if np.isfinite(values).any() else 0.0
        return int(is_valid(rows, name).sum()), -size

    return max(FAMILY, key=merit)


def best_valid(rows: pd.DataFrame) -> NDArray[np.float64]:
    """Return the smallest valid bound of every row, NaN where there is none."""
    table = [np.where(is_valid(rows, name), rows[name].to_numpy(float), np.inf) for name in BOUNDS]
    smallest = np.min(table, axis=0)
    return np.where(np.isfinite(smallest), smallest, np.nan)


def above(rows: pd.DataFrame, n_tests: int) -> NDArray[np.bool_]:
    """Return which measured means violate the smallest valid bound, among `n_tests` comparisons."""
    errors, draws = rows["stderr"].fillna(0.0), rows["draws"].astype(int)
    cells = zip(rows["value"], errors, best_valid(rows), draws, strict=True)
    return np.array(
        [b == b and exceeds(v, s, b, family_t(n_tests, k)) for v, s, b, k in cells], dtype=bool
    )
