"""From measured cells to the table of results, ours beside the paper's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from paper_checks import printed
from paper_checks.reproduction.layout import paper_values
from paper_checks.reproduction.measuring import row_hits
from paper_checks.reproduction.planning import Plan, Task

__all__ = ["COLUMNS", "Difference", "Measured", "digits_of", "numbers", "results_table"]

COLUMNS = [
    "table",
    "dataset",
    "method",
    "loss",
    "ratio",
    "observed",
    "metric",
    "protocol",
    "ours",
    "stderr",
    "paper",
]
Records = Mapping[str, Sequence[Mapping[str, Any]]]


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
        return f"{self.value:+.{digits}f} ± {self.stderr:.{digits}f}"


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
        return Difference(float(gaps.mean()), float(gaps.std(ddof=1) / np.sqrt(gaps.size)))

    def over_patterns(self, first: Task, second: Task, metric: str) -> Difference:
        """Return first - second in a metric, paired by observation pattern."""
        gaps = self.values(first, metric) - self.values(second, metric)
        return Difference(float(gaps.mean()), _stderr(gaps))


def _stderr(values: NDArray[np.float64]) -> float:
    """Return the standard error of a mean; NaN from one value, which shows no spread."""
    return float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else float("nan")


def results_table(measured: Measured) -> pd.DataFrame:
    """Return one row a number: ours, its standard error over repetitions, and the paper's.

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
        rows.append(
            {
                **asdict(row),
                "ours": float(values.mean()),
                "stderr": _stderr(values),
                "paper": float(paper.get(key, np.nan)),
            }
        )
    return pd.DataFrame(rows, columns=COLUMNS)


def numbers(frame: pd.DataFrame) -> Iterator[Any]:
    """Yield the rows of a table, each with its columns as attributes."""
    yield from frame.itertuples(index=False)


def digits_of(metric: str) -> int:
    """Return the decimals with which the paper prints a metric."""
    return 4 if metric in (*printed.LOWER_IS_BETTER, "auc") else 2
