"""From measured cells to the table of results, ours beside the paper's, and to its text."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from command_line import table_lines
from paper_checks import printed
from paper_checks.reproduction.measuring import row_hits
from paper_checks.reproduction.planning import Plan, Row, Task, paper_values

COLUMNS = [*(field.name for field in fields(Row)), "ours", "stderr", "paper"]
Records = Mapping[str, Sequence[Mapping[str, Any]]]
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
METRIC_TITLES = {
    "top-1": "top-1 accuracy (%)",
    "top-3": "top-3 accuracy (%)",
    "top-5": "top-5 accuracy (%)",
    "hamming": "Hamming loss",
    "auc": "average AUC",
}


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference of two means with its standard error."""

    value: float
    stderr: float

    @property
    def clear(self) -> bool:
        """Whether it is more than two standard errors from zero."""
        return abs(self.value) > 2 * self.stderr

    def shown(self, digits: int = 2) -> str:
        """The difference as text."""
        return f"{self.value:+z.{digits}f} ± {self.stderr:.{digits}f}"


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """What a run has measured so far.

    Attributes
    ----------
    plan : Plan
        What was to be measured.
    records : mapping of str to list of records
        By the key of the cell, as the store loads them.
    """

    plan: Plan
    records: Records

    def values(self, task: Task, metric: str) -> NDArray[np.float64]:
        """Return a metric in the repetitions that are done."""
        return np.array([record[metric] for record in self._of(task)], dtype=np.float64)

    def _of(self, task: Task) -> list[dict[str, Any]]:
        keys = [cell.key for cell in self.plan.cells(task)]
        return [dict(self.records[key][0]) for key in keys if key in self.records]

    def done(self, task: Task) -> bool:
        """Whether every repetition is there."""
        return len(self._of(task)) == self.plan.repetitions[task]

    def choices(self, task: Task) -> list[str]:
        """Return what was chosen in each repetition, as JSON."""
        return [record["choice"] for record in self._of(task)]

    def row_means(self, task: Task, k: int) -> NDArray[np.float64]:
        """Return each test row's top-k accuracy, averaged over repetitions, in per cent."""
        hits = [row_hits(record, k) for record in self._of(task)]
        return np.asarray(np.mean(hits, axis=0))

    def over_test_rows(self, first: Task, second: Task, k: int) -> Difference:
        """Return first - second in top-k accuracy, paired by test row."""
        gaps = self.row_means(first, k) - self.row_means(second, k)
        return Difference(float(gaps.mean()), _stderr(gaps))

    def over_patterns(self, first: Task, second: Task, metric: str) -> Difference:
        """Return first - second in a metric, paired by observation pattern."""
        gaps = self.values(first, metric) - self.values(second, metric)
        return Difference(float(gaps.mean()), _stderr(gaps))


def _stderr(values: NDArray[np.float64]) -> float:
    """Return the standard error of a mean; NaN from one value, which shows no spread."""
    return float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else float("nan")


def results_table(measured: Measured) -> pd.DataFrame:
    """Return one row per number: ours, its standard error over repetitions, and the paper's.

    `stderr` is over starts (early-stopped), random measurements, or observation patterns; it is NaN
    where there is no randomness or one repetition. `paper` is NaN where nothing is printed.

    Paper: Section 5.
    """
    paper, rows = paper_values(), []
    for row, task in measured.plan.rows:
        values = measured.values(task, row.metric)
        if not measured.done(task):
            continue
        key = (row.table, row.dataset, row.method, row.loss, row.ratio, row.observed, row.metric)
        found = {"ours": float(values.mean()), "stderr": _stderr(values)}
        rows.append({**asdict(row), **found, "paper": float(paper.get(key, np.nan))})
    return pd.DataFrame(rows, columns=COLUMNS)


def numbers(frame: pd.DataFrame) -> Iterator[Any]:
    """Yield the rows of a table, each with its columns as attributes."""
    yield from frame.itertuples(index=False)


def digits_of(metric: str) -> int:
    """Return the decimals with which the paper prints a metric."""
    return 4 if metric in (*printed.LOWER_IS_BETTER, "auc") else 2


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
    shown.append("" if np.isnan(gap) else f"{gap:+z.{digits}f}")
    names = (row.dataset, row.method, row.loss, row.protocol)
    shares = (f"{row.ratio:.0%}", f"{row.observed:.0%}")
    return [*names, *shares, METRIC_TITLES[row.metric], *shown]


def _number(value: float, digits: int) -> str:
    """Return a number as text, nothing for NaN."""
    return "" if np.isnan(value) else f"{value:.{digits}f}"


def terminal_lines(frame: pd.DataFrame) -> Iterator[str]:
    """Yield one aligned line per number, below a heading per table, within the terminal."""
    for table, part in frame.groupby("table"):
        yield f"Table {table}"
        yield from table_lines(_HEADS, [_fields(row) for row in numbers(part)])
