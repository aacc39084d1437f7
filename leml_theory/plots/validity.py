"""Where a bound is valid, and why not elsewhere, as the results frame says it."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leml_theory.bounds import FailedAssumption, failures_from_json, shown_bounds
from leml_theory.plots.ticks import number
from leml_theory.sweep.frame import bounds_in, is_above, is_valid


def short_reason(rows: pd.DataFrame, bound: str) -> str:
    """Return in a few words why `bound` is not valid on some of `rows`.

    What is the case ('here n = 32') is left out, since the axis shows it; of conditions that differ
    in their number alone the range of numbers is given.
    """
    failures = [f for text in rows["failures"] for f in failures_from_json(text, bound)]
    groups: dict[str, list[FailedAssumption]] = {}
    for failure in failures:
        groups.setdefault(failure.needs, []).append(failure)
    text = "; ".join(_ranged(group) for group in groups.values()) or "no reason recorded"
    return text.replace(">=", "≥").replace("<=", "≤").replace("^2", "²")


def _ranged(failures: list[FailedAssumption]) -> str:
    """Return what one kind of failure needs, with the range of its number where it has one."""
    needs = failures[0].needs
    spread = sorted({f.number for f in failures if f.number is not None})
    ends = dict.fromkeys(_short(value) for value in (spread[0], spread[-1])) if spread else {}
    return needs.format(" to ".join(ends)) if ends else needs


def _short(value: float) -> str:
    """Return a number in three digits, or as a whole number where that is short enough."""
    return f"{value:.0f}" if 100 <= value < 1e5 else number(value)


def drawn_bounds(rows: pd.DataFrame, drawn: str) -> list[str]:
    """Return the bounds of the frame that are drawn 'always', 'if best' or 'if asked'."""
    bounds = shown_bounds()
    return [name for name in bounds_in(rows) if bounds[name].drawn == drawn]


def best_of_family(rows: pd.DataFrame) -> str:
    """Return the bound of the trace ball that is valid most often, the smallest of these."""

    def merit(name: str) -> tuple[int, float]:
        values = rows[name].to_numpy(float)
        size = float(np.median(values[np.isfinite(values)])) if np.isfinite(values).any() else 0.0
        return int(is_valid(rows, name).sum()), -size

    return max(drawn_bounds(rows, "if best"), key=merit)


def best_valid(rows: pd.DataFrame) -> NDArray[np.float64]:
    """Return the smallest valid bound of every row, NaN where there is none."""
    names = bounds_in(rows)
    table = [np.where(is_valid(rows, name), rows[name].to_numpy(float), np.inf) for name in names]
    smallest = np.min(table, axis=0)
    return np.where(np.isfinite(smallest), smallest, np.nan)


def above(rows: pd.DataFrame, n_tests: int) -> NDArray[np.bool_]:
    """Return which measured means violate the smallest valid bound, among `n_tests` comparisons."""
    pairs = zip(rows.iterrows(), best_valid(rows), strict=True)
    return np.array(
        [np.isfinite(best) and is_above(row, best, n_tests) for (_, row), best in pairs], dtype=bool
    )
