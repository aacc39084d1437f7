"""The page `tables.md` and the lines of the terminal: ours, the paper's, and the difference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from paper_checks.reproduction.tables import digits_of, numbers

__all__ = ["page", "terminal_lines"]

_PROTOCOLS = {
    "early-stopped": "LEML as the printed rows were made: features as they are, no intercept, "
    "uniform start, five outer iterations (W, then H), a penalty that hardly matters; mean over "
    "starts.",
    "unit penalty": "BR with penalty 1 (1/2 beside our squared loss) and no intercept, which comes "
    "nearest to the printed rows.",
    "selected": "penalty, outer iterations, intercept and scaling of rows (LEML, BR), the prior's "
    "variance (BCS), rate and epochs (WSABIE) chosen on held-out training rows (top-1 accuracy; "
    "top-3 of the observed entries if labels are missing), then fitted to all training rows.",
    "closed form": "nothing is chosen: least squares with intercept, labels centred.",
    "fixed": "the documented settings of the method; mean over random numbers.",
}
# No choice within a run looks at test rows; what the program offers was not written blind.
_IN_VIEW = (
    "Set once with test rows of bibtex or the printed figures in view: the early-stopped and the "
    "unit-penalty protocol as a whole (they imitate print), BCS's noise, WSABIE's schedule and "
    "radius, and which settings are on the menus of the selected protocol."
)
_HEADS = (
    *("data", "method", "loss", "protocol", "k/L", "observed", "metric"),
    *("ours", "s.e.", "paper", "diff"),
)
_METRICS = {
    "top-1": "top-1 accuracy (%)",
    "top-3": "top-3 accuracy (%)",
    "top-5": "top-5 accuracy (%)",
    "hamming": "Hamming loss",
    "auc": "average AUC",
}


def page(frame: pd.DataFrame, sentences: Sequence[str], notes: Sequence[str], run: str) -> str:
    """Return the page.

    Parameters
    ----------
    frame : pandas.DataFrame
        As `results_table` returns it.
    sentences : sequence of str
        The findings.
    notes : sequence of str
        What was left out.
    run : str
        How the numbers were made.
    """
    lines = ["# The tables of Section 5, ours beside the paper's", "", run, ""]
    lines += [f"* {text}" for text in notes]
    lines += ["", "## What was found", "", *(f"* {text}" for text in sentences), ""]
    lines += ["## Protocols", "", *(f"* **{name}**: {text}" for name, text in _PROTOCOLS.items())]
    lines += ["", _IN_VIEW]
    for table, part in frame.groupby("table"):
        lines += ["", f"## Table {table}", "", *_table(part)]
    return "\n".join(lines) + "\n"


def _table(part: pd.DataFrame) -> Iterator[str]:
    """Yield a table as Markdown."""
    yield f"| {' | '.join(_HEADS)} |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for row in numbers(part):
        yield f"| {' | '.join(_fields(row))} |"


def _fields(row: Any) -> list[str]:
    """Return the fields of a row as text."""
    digits, gap = digits_of(row.metric), row.ours - row.paper
    shown = [_number(value, digits) for value in (row.ours, row.stderr, row.paper)]
    shown.append("" if np.isnan(gap) else f"{gap:+.{digits}f}")
    shares = (f"{row.ratio:.0%}", f"{row.observed:.0%}")
    return [row.dataset, row.method, row.loss, row.protocol, *shares, _METRICS[row.metric], *shown]


def _number(value: float, digits: int) -> str:
    """Return a number as text, nothing for NaN."""
    return "" if np.isnan(value) else f"{value:.{digits}f}"


def terminal_lines(frame: pd.DataFrame) -> Iterator[str]:
    """Yield one aligned line a number, a heading a table."""
    widths = (12, 12, 14, 14, 6, 9, 19, 9, 8, 9, 9)
    for table, part in frame.groupby("table"):
        yield f"Table {table}"
        yield _aligned(_HEADS, widths)
        yield from (_aligned(_fields(row), widths) for row in numbers(part))


def _aligned(fields: Sequence[str], widths: Sequence[int]) -> str:
    """Return fields in columns, numbers to the right."""
    left = "".join(f"{text:<{width}}" for text, width in zip(fields[:7], widths[:7], strict=True))
    return left + "".join(
        f"{text:>{width}}" for text, width in zip(fields[7:], widths[7:], strict=True)
    )
