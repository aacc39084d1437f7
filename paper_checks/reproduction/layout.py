"""What the tables of Section 5 show: which methods, at which k/L and shares of labels observed.

Paper: Section 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import pandas as pd

from paper_checks import printed

__all__ = ["EXTRA", "LARGE", "METHODS", "TABLES", "Method", "Row", "paper_values", "rows_of"]

LARGE = frozenset({4})  # a table of data sets that are not at hand
RATIOS = (0.2, 0.4, 0.6, 0.8, 1.0)
SHARES = (0.05, 0.1, 0.2, 0.4)


@dataclass(frozen=True, slots=True)
class Method:
    """What is known of a method before it is trained.

    Attributes
    ----------
    losses : tuple of str
        As `printed.load` calls them.
    protocols : tuple of str
        How its open parameters are found.
    low_rank : bool
        Whether it depends on k.
    takes_missing : bool
        Whether it stands in the tables with missing labels.
    repetitions : int
        Runs from other random numbers with all labels observed; 1 if it is deterministic.
    """

    losses: tuple[str, ...]
    protocols: tuple[str, ...]
    low_rank: bool = True
    takes_missing: bool = False
    repetitions: int = 1


_LOSSES = ("squared", "logistic", "squared_hinge")
METHODS = {
    "LEML": Method(_LOSSES, ("early-stopped", "selected"), takes_missing=True),
    "CPLST": Method(("squared",), ("closed form",)),
    "BCS": Method(("squared",), ("fixed", "selected"), takes_missing=True, repetitions=3),
    "BR": Method(_LOSSES, ("unit penalty", "selected"), low_rank=False, takes_missing=True),
    "WSABIE": Method(("weighted_rank",), ("selected",), repetitions=3),
    "PLST": Method(("squared",), ("closed form",)),
    "CS": Method(("squared",), ("fixed",), repetitions=3),
    "frequencies": Method(("none",), ("fixed",), low_rank=False, takes_missing=True),
}
EXTRA = frozenset({"PLST", "CS", "frequencies"})  # the paper prints no figures of them


@dataclass(frozen=True, slots=True)
class _Layout:
    """One table: metrics, k/L, shares observed, and the methods and losses it has room for."""

    metrics: tuple[str, ...]
    ratios: tuple[float, ...] = RATIOS
    shares: tuple[float, ...] = (1.0,)
    methods: tuple[str, ...] = tuple(METHODS)
    losses: tuple[str, ...] = (*_LOSSES, "weighted_rank", "none")


_TAKE_MISSING = tuple(name for name, method in METHODS.items() if method.takes_missing)
TABLES = {
    3: _Layout(("top-3", "auc"), (0.2, 0.4, 0.6), methods=("LEML", "WSABIE")),
    5: _Layout(("top-3", "hamming", "auc"), (0.4,), (0.2,), ("LEML", "BCS", "BR"), ("squared",)),
    **{6 + i: _Layout((metric,)) for i, metric in enumerate(printed.METRICS)},
    **{
        11 + i: _Layout((metric,), (0.2, 0.4, 0.6), SHARES, _TAKE_MISSING)
        for i, metric in enumerate(printed.METRICS)
    },
}


@dataclass(frozen=True, slots=True)
class Row:
    """One number of a table, by one protocol."""

    table: int
    dataset: str
    method: str
    loss: str
    ratio: float
    observed: float
    metric: str
    protocol: str


def rows_of(table: int, dataset: str, methods: frozenset[str]) -> Iterator[Row]:
    """Yield the rows of a table for a data set, whether the paper prints them or not.

    Paper: Section 5.
    """
    layout = TABLES[table]
    for method in (name for name in layout.methods if name in methods):
        how = METHODS[method]
        losses = [loss for loss in how.losses if loss in layout.losses]
        axes = (layout.metrics, losses, layout.ratios, layout.shares, how.protocols)
        for metric, loss, ratio, observed, protocol in product(*axes):
            if not (metric == "hamming" and loss == "weighted_rank"):  # it scores no threshold
                yield Row(table, dataset, method, loss, ratio, observed, metric, protocol)


def paper_values() -> pd.Series:
    """Return the printed values by table, data set, method, loss, ratio, observed and metric."""
    frame = printed.load(*TABLES)
    return frame.set_index(["table", *printed.KEY, "metric"])["value"]
