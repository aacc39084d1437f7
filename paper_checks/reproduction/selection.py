"""Open parameters chosen by cross-validation; nothing here ever receives a test row.

The measure is fixed beforehand: top-1 accuracy of the held-out rows when all labels are observed,
top-3 accuracy, the first column of Table 5, when some are missing. Of the labels that a model ranks
first only the observed ones can be judged; as entries are observed at random, their share of
positives is an unbiased estimate.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from leml_solver.metrics import top_k
from paper_checks.reproduction.data import Rows

Array = NDArray[Any]
Choice = TypeVar("Choice")


@dataclass(frozen=True, slots=True)
class Setting:
    """Open parameters of a linear method.

    Attributes
    ----------
    unit_rows : bool
        Divide each point by its length first.
    intercept : bool
        Fit an intercept.
    relative_penalty : float
        Penalty in units of the mean length of a point (LEML) or its square (BR), which makes it
        free of the features' scale.
    iterations : int
        Outer iterations, if the method has them.
    """

    unit_rows: bool
    intercept: bool
    relative_penalty: float
    iterations: int = 1


@dataclass(frozen=True, slots=True)
class Hits:
    """Labels ranked first that could be judged, and those of them that are positive."""

    positive: int = 0
    judged: int = 0

    def __add__(self, other: Hits) -> Hits:
        return Hits(self.positive + other.positive, self.judged + other.judged)

    @property
    def share(self) -> float:
        """Estimated accuracy."""
        return self.positive / self.judged if self.judged else 0.0


def held_out_hits(rows: Rows, scores: Array) -> Hits:
    """Count what a model's first labels (one, or three if labels are missing) are worth."""
    n, n_labels = rows.shape
    depth = 1 if rows.mask is None else min(3, n_labels)
    labels = top_k(scores, depth)[0]
    where = (np.repeat(np.arange(n), depth), labels.ravel())
    positive = np.asarray(rows.Y[where]).ravel() > 0
    if rows.mask is None:
        return Hits(int(positive.sum()), positive.size)
    seen = np.asarray(rows.mask[where]).ravel() > 0
    return Hits(int((positive & seen).sum()), int(seen.sum()))


def folds_of(rows: Rows, folds: int, rng: np.random.Generator) -> Iterator[tuple[Rows, Rows]]:
    """Yield rows to fit and rows to judge by, each row judged once; one fold holds out a quarter.

    Parameters
    ----------
    rows : Rows
        Training rows.
    folds : int
        1 for a single hold-out.
    rng : numpy.random.Generator
        Shuffles the rows.
    """
    order = rng.permutation(rows.shape[0])
    parts = np.array_split(order, folds) if folds > 1 else [order[: max(1, len(order) // 4)]]
    for part in parts:
        yield rows.take(np.setdiff1d(order, part)), rows.take(np.sort(part))


def leml_settings(loss: str, *, full: bool) -> tuple[Setting, ...]:
    """Return the settings tried for LEML, each along its iterations up to the number named.

    Other losses with full labels cost most, so least is tried there.
    """
    cheap = loss == "squared" or not full
    axes = (
        (False, True) if loss == "squared" and full else (False,),
        (False, True),
        (0.03, 0.1, 0.3, 1.0) if cheap else (0.1, 0.3, 1.0),
        (6 if cheap else 5,),
    )
    return tuple(itertools.starmap(Setting, itertools.product(*axes)))


def best_setting(
    rows: Rows,
    tried: Callable[[Rows, Rows], Iterable[tuple[Choice, Hits]]],
    *,
    folds: int,
    rng: np.random.Generator,
) -> tuple[Choice, float]:
    """Return the setting of largest accuracy over the folds, and that accuracy.

    Parameters
    ----------
    rows : Rows
        Training rows.
    tried : callable
        From rows to fit and held-out rows to the hits of every setting tried.
    folds : int
        Number of folds; 1 holds out a quarter.
    rng : numpy.random.Generator
        Shuffles the rows.
    """
    total: dict[Choice, Hits] = {}
    for fitted, held_out in folds_of(rows, folds, rng):
        for setting, hits in tried(fitted, held_out):
            total[setting] = total.get(setting, Hits()) + hits
    best = max(total, key=lambda setting: total[setting].share)
    return best, total[best].share
