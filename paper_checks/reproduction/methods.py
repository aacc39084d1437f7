"""How each method is trained under each protocol: training rows in, scores out."""

import functools
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leml_solver import AlternatingOptions, FactorResult, fit_factors
from leml_solver.baselines import (
    BayesianCSClassifier,
    BinaryRelevanceClassifier,
    CompressedSensingClassifier,
    CPLSTClassifier,
    LabelFrequencyClassifier,
    PLSTClassifier,
    WSABIEClassifier,
)
from leml_solver.metrics import loss_threshold
from paper_checks.reproduction.data import Rows
from paper_checks.reproduction.planning import Task, rank_of
from paper_checks.reproduction.selection import (
    Hits,
    Setting,
    best_setting,
    held_out_hits,
    leml_settings,
)

Array = NDArray[Any]
Options = tuple[tuple[str, Any], ...]

# What regularises is that few steps are made, hardly the penalty.
PRINTED_OPTIONS = AlternatingOptions(
    method="authors", order="WH", start="uniform", max_iter=5, tol=0, certify=False
)
# The penalties of the printed rows, in the scaling of our losses: the squared loss there is without
# its 1/2. With missing labels a hundred times that comes nearest to print for the squared loss.
_PRINTED_PENALTY = {"squared": 0.05, "logistic": 0.1, "squared_hinge": 0.1}
_MISSING_FACTOR = 100.0
# Penalty 1 beside losses of which the squared one is without its 1/2 comes nearest to print.
_BR_PRINTED_PENALTY = {"squared": 0.5, "logistic": 1.0, "squared_hinge": 1.0}
_BR_PENALTIES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
# The other methods have a handful of settings at most.
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


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """A fitted model: scores of any rows, the score from which a label counts, what was chosen."""

    scores: Callable[[Any], Array]
    threshold: float
    choice: dict[str, Any]


def trained(task: Task, rows: Rows, rng: np.random.Generator) -> Trained:
    """Train a method on training rows.

    Parameters
    ----------
    task : Task
        Method, loss, ratio and protocol.
    rows : Rows
        Training rows; test rows have no way in here.
    rng : numpy.random.Generator
        All randomness of the training.

    Paper: Section 5.
    """
    if task.method == "LEML":
        train = _early_stopped if task.protocol == "early-stopped" else _selected
        return train(task, rows, rng)
    if task.method == "BR":
        return _binary_relevance(task, rows, rng)
    return _estimator(task, rows, rng)


def _rank(task: Task, rows: Rows) -> int:
    return rank_of(task.ratio or 1.0, rows.shape[1])


def _early_stopped(task: Task, rows: Rows, rng: np.random.Generator) -> Trained:
    """Train LEML as the printed rows were made."""
    penalty = _PRINTED_PENALTY[task.loss] * (1.0 if rows.mask is None else _MISSING_FACTOR)
    result = fit_factors(
        rows.X,
        rows.labels(),
        loss=task.loss,
        rank=_rank(task, rows),
        penalty=penalty,
        random_state=rng,
        options=PRINTED_OPTIONS,
    )
    return Trained(result.scores, loss_threshold(task.loss), {})


def leml_path(
    rows: Rows, setting: Setting, *, loss: str, rank: int, seed: int
) -> Iterator[FactorResult]:
    """Yield LEML's factors after 1, 2, ... outer iterations of the fast solver."""
    labels, penalty = rows.labels(), setting.relative_penalty * rows.row_norm
    start: Any = "svd"
    options = AlternatingOptions(max_iter=1, tol=0, intercept=setting.intercept, certify=False)
    for _ in range(setting.iterations):
        result = fit_factors(
            rows.X,
            labels,
            rank=min(rank, rows.X.shape[1]),
            penalty=penalty,
            loss=loss,
            random_state=seed,
            options=replace(options, start=start),
        )
        yield result
        start = (result.W, result.H)


def _try_leml(
    task: Task, seed: int, fitted: Rows, held_out: Rows
) -> Iterator[tuple[Setting, Hits]]:
    """Yield the held-out hits of every setting after each of its iterations."""
    rank = _rank(task, fitted)
    for setting in leml_settings(task.loss, full=fitted.mask is None):
        train, judge = fitted.scaled(setting.unit_rows), held_out.scaled(setting.unit_rows)
        path = leml_path(train, setting, loss=task.loss, rank=rank, seed=seed)
        for number, result in enumerate(path, start=1):
            hits = held_out_hits(judge, result.scores(judge.X))
            yield replace(setting, iterations=number), hits


def _selected(task: Task, rows: Rows, rng: np.random.Generator) -> Trained:
    """Train LEML with penalty, intercept, scaling and iterations chosen on training rows."""
    seed = int(rng.integers(2**31))
    tried = functools.partial(_try_leml, task, seed)
    setting, share = best_setting(rows, tried, folds=_folds(task), rng=rng)
    scaled = rows.scaled(setting.unit_rows)
    *_, result = leml_path(scaled, setting, loss=task.loss, rank=_rank(task, rows), seed=seed)
    choice = {**asdict(setting), "held_out": share}
    return Trained(lambda X: result.scores(_like(X, setting)), loss_threshold(task.loss), choice)


def _folds(task: Task) -> int:
    """Return one hold-out instead of folds where fits are slow."""
    return task.folds if task.loss == "squared" or task.observed < 1 else 1


def _like(X: Any, setting: Setting) -> Any:
    """Return points scaled as those that a model was fitted to."""
    return Rows(X, None).scaled(setting.unit_rows).X


def _relevance(rows: Rows, loss: str, penalty: float, **options: bool) -> BinaryRelevanceClassifier:
    # A gradient of a hundredth decides no ranking, and costs a fraction of the default.
    model = BinaryRelevanceClassifier(loss=loss, penalty=penalty, tol=1e-2, **options)
    return model.fit(rows.X, rows.Y, mask=rows.mask)


def _try_relevance(loss: str, fitted: Rows, held_out: Rows) -> Iterator[tuple[Setting, Hits]]:
    # As for LEML, rows of length one are tried where that costs little.
    for unit_rows in (False, True) if loss == "squared" and fitted.mask is None else (False,):
        train, judge = fitted.scaled(unit_rows), held_out.scaled(unit_rows)
        for penalty in _BR_PENALTIES:
            setting = Setting(unit_rows, intercept=True, relative_penalty=penalty)
            model = _relevance(train, loss, penalty * train.row_norm**2)
            yield setting, held_out_hits(judge, model.decision_function(judge.X))


def _binary_relevance(task: Task, rows: Rows, rng: np.random.Generator) -> Trained:
    """Train BR with its penalty chosen on training rows, or with that of the printed rows."""
    if task.protocol == "unit penalty":
        penalty = _BR_PRINTED_PENALTY[task.loss]
        plain = _relevance(rows, task.loss, penalty, fit_intercept=False)
        return Trained(plain.decision_function, 0.0, {})
    tried = functools.partial(_try_relevance, task.loss)
    setting, share = best_setting(rows, tried, folds=_folds(task), rng=rng)
    scaled = rows.scaled(setting.unit_rows)
    model = _relevance(scaled, task.loss, setting.relative_penalty * scaled.row_norm**2)
    choice = {**asdict(setting), "held_out": share}
    return Trained(lambda X: model.decision_function(_like(X, setting)), 0.0, choice)


def _estimator(task: Task, rows: Rows, rng: np.random.Generator) -> Trained:
    """Train a method with few settings or none, chosen on training rows if that is its protocol."""
    rank, seed = _rank(task, rows), int(rng.integers(2**31))
    options: Options = ()
    choice: dict[str, Any] = {}
    if task.protocol == "selected":
        tried = functools.partial(_try_options, task.method, rank, seed)
        options, share = best_setting(rows, tried, folds=1, rng=rng)
        choice = {**dict(options), "held_out": share}
    model = _fitted(task.method, rows, rank=rank, seed=seed, options=options)
    return Trained(model.decision_function, 0.0, choice)


def _fitted(method: str, rows: Rows, *, rank: int, seed: int, options: Options = ()) -> Any:
    """Return a fitted estimator, in its documented settings but for the options named."""
    random = {"random_state": seed} if method in _RANDOM else {}
    model = _MAKERS[method](rank, **random, **dict(options))
    return model.fit(rows.X, rows.Y, mask=rows.mask)


def _try_options(
    method: str, rank: int, seed: int, fitted: Rows, held_out: Rows
) -> Iterator[tuple[Options, Hits]]:
    """Yield the held-out hits of every setting of a method."""
    for options in _MENUS[method]:
        model = _fitted(method, fitted, rank=rank, seed=seed, options=options)
        yield options, held_out_hits(held_out, model.decision_function(held_out.X))
