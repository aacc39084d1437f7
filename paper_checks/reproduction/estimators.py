"""The methods that are estimators with a handful of settings at most, and which are tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from leml_solver.baselines import (
    BayesianCSClassifier,
    CompressedSensingClassifier,
    CPLSTClassifier,
    LabelFrequencyClassifier,
    PLSTClassifier,
    WSABIEClassifier,
)
from paper_checks.reproduction.data import Rows
from paper_checks.reproduction.selection import Hits, held_out_hits

__all__ = ["Options", "fitted_estimator", "try_options"]

Options = tuple[tuple[str, Any], ...]

_MAKERS: dict[str, Callable[..., Any]] = {
    "CPLST": CPLSTClassifier,
    "PLST": PLSTClassifier,
    "CS": CompressedSensingClassifier,
    "BCS": BayesianCSClassifier,
    "WSABIE": WSABIEClassifier,
    "frequencies": lambda _rank: LabelFrequencyClassifier(),
}
_RANDOM = frozenset({"CS", "BCS", "WSABIE"})
_MENUS: dict[str, tuple[Options, ...]] = {
    "BCS": tuple((("weight_variance", value),) for value in (1.0, 1e-1, 1e-2, 1e-3, 1e-4)),
    "WSABIE": tuple(
        (("epochs", epochs), ("learning_rate", rate)) for epochs in (5, 10) for rate in (0.03, 0.1)
    ),
}


def fitted_estimator(
    method: str, rows: Rows, *, rank: int, seed: int, options: Options = ()
) -> Any:
    """Return a fitted estimator, in its documented settings but for the options named."""
    random = {"random_state": seed} if method in _RANDOM else {}
    model = _MAKERS[method](rank, **random, **dict(options))
    return model.fit(rows.X, rows.Y, mask=rows.mask)


def try_options(
    method: str, rank: int, seed: int, fitted: Rows, held_out: Rows
) -> Iterator[tuple[Options, Hits]]:
    """Yield the held-out hits of every setting of a method."""
    for options in _MENUS[method]:
        model = fitted_estimator(method, fitted, rank=rank, seed=seed, options=options)
        yield options, held_out_hits(held_out, model.decision_function(held_out.X))
