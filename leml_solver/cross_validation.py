"""Penalty, rank and number of iterations chosen by cross-validation: LEML that tunes itself.

Importing this module loads scikit-learn.

Paper: Section 5.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, check_cv
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import check_is_fitted

from argument_checks import indices, positive, positive_integer, same_count, solver_seed
from leml_solver._estimation.blocks import dense, row_blocks
from leml_solver._estimation.defaults import default_penalty, default_rank
from leml_solver._estimation.targets import Targets, class_targets, number_targets
from leml_solver._factored.fit import AlternatingOptions
from leml_solver._progress import progress_bar
from leml_solver.estimators import LEMLClassifier, LEMLRegressor, LowRankEstimator, is_auto
from leml_solver.labels import Labels
from leml_solver.losses import Loss
from leml_solver.metrics import evaluate_scores
from leml_solver.model_selection import EntrySplit

__all__ = ["LEMLClassifierCV", "LEMLRegressorCV"]

Array = NDArray[Any]
# Penalties to try, as multiples of the one that follows the data.
_MULTIPLES = 2.0 ** np.arange(-2, 3)
# Fits that are only compared stop at this multiple of `tol`.
_COARSER = 10.0
# Known labels to which the logistic loss costs little, however few numbers X holds.
_FEW_LABELS = 1 << 18


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """What is fitted and what is held out in one part of a cross-validation."""

    X: Any
    targets: Targets
    X_held: Any
    held: Labels
    y_held: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class _Setting:
    """One point of the path."""

    rank: int
    penalty: float
    max_iter: int
    loss: str | Loss


@dataclass(eq=False, repr=False)
class _CrossValidated(LowRankEstimator):
    """Choose the settings of a low-rank estimator by its score on what was held out."""

    _single: ClassVar[Any]  # the estimator of one setting
    _targets: ClassVar[Any]  # how it takes y
    # Nothing here depends on a kernel, but rows and columns of kernels go together.
    kernel: ClassVar[Any] = None

    penalties: Sequence[float] | None = None
    _: KW_ONLY
    ranks: Sequence[int] | None = None
    iterations: Sequence[int] | None = None
    cv: Any = 5
    scoring: Any = None
    fit_intercept: bool = True
    max_iter: int = 100
    tol: float = 1e-4
    certify: bool | str | None = None
    options: AlternatingOptions | None = None
    random_state: Any = None
    verbose: bool = False

    def plot_path(self, *, ax: Any = None) -> Any:
        """Draw the mean score against the penalty, one line per rank and number of iterations.

        The bars are one standard error over the parts held out; the star is what was chosen.

        Returns
        -------
        matplotlib Axes
        """
        from matplotlib import pyplot as plt

        check_is_fitted(self)
        ax = plt.gca() if ax is None else ax
        table = self.cv_results_
        logistic = table["param_loss"] == "logistic"
        lines = np.column_stack([table["param_rank"], table["param_max_iter"], logistic])
        for rank, max_iter, other in np.unique(lines, axis=0):
            chosen = (lines == (rank, max_iter, other)).all(axis=1)
            error = table["std_test_score"][chosen] / np.sqrt(self.n_splits_)
            place = table["param_penalty"][chosen], table["mean_test_score"][chosen]
            label = f"rank {rank}, at most {max_iter} iterations" + ", logistic loss" * other
            ax.errorbar(*place, error, marker="o", label=label)
        ax.plot(self.penalty_, self.best_score_, "*", color="black", markersize=14, label="chosen")
        ax.set(xscale="log", xlabel="penalty", ylabel="mean score held out")
        ax.legend()
        return ax

    def fit(
        self, X: Any, y: Any, mask: Any = None, missing: Any = None, *, groups: Any = None
    ) -> Self:
        """Choose the settings and fit them to all rows; arguments as without cross-validation.

        As rows are held out, they have no weights. `groups`, one per row, are passed to `cv`.
        """
        targets, checked = self._targets(y, mask, missing), self._checked(X, reset=True)
        same_count(checked.shape[0], targets.n_rows, labels="y")
        known = _with_classes(checked, targets, *indexable(y, groups))
        settings = self._settings(known[0], targets.labels)
        parts = list(_parts(*known, self.cv))
        if not parts:
            raise ValueError("`cv` must give at least one split, got none.")
        seed = solver_seed(self.random_state)
        with progress_bar(len(parts) * len(settings), self.verbose, "fit") as bar:
            scores = [list(self._path_scores(part, settings, seed, bar)) for part in parts]
        self._keep_table(settings, np.array(scores).T)
        if self._may_be_logistic(known[0], targets.labels):
            self._race(settings, parts, np.array(scores).T, seed)
        self.best_estimator_ = self._estimator(settings[self.best_index_], self._solver_options())
        self.best_estimator_.fit(X, y, mask, missing)
        for name, value in vars(self.best_estimator_).items():
            if name.endswith("_"):
                setattr(self, name, value)
        return self

    def _settings(self, X: Any, labels: Labels) -> list[_Setting]:
        """Return the path: ranks from the largest, penalties and iterations from the smallest."""
        most = min(X.shape[1], labels.shape[1])
        for name in ("ranks", "iterations", "penalties"):
            given = getattr(self, name)
            if given is not None and (isinstance(given, str) or not np.iterable(given)):
                raise TypeError(f"`{name}` must be a list of numbers, got {given!r}.")
        ranks = [default_rank(X.shape[1], labels)] if self.ranks is None else self.ranks
        columns = sorted({min(positive_integer(k, "ranks"), most) for k in ranks}, reverse=True)
        numbers = [self.max_iter] if self.iterations is None else self.iterations
        counts = sorted({positive_integer(number, "iterations") for number in numbers})
        penalties, both = self.penalties, is_auto(self.unit_rows, "unit_rows")
        self._usual_penalty = np.nan
        self.unit_rows_ = not both and bool(self.unit_rows)
        loss = "squared" if self.loss == "auto" else self.loss
        if penalties is None:
            units = (False, True) if both else (self.unit_rows_,)
            self._usual_penalty, self.unit_rows_ = default_penalty(
                X.__getitem__, labels, loss, intercept=bool(self.fit_intercept), unit_rows=units
            )
            penalties = list(self._usual_penalty * _MULTIPLES)
        weights = sorted({positive(penalty, "penalties") for penalty in penalties})
        path = [_Setting(*point, loss) for point in product(columns, weights, counts)]
        if not path:
            raise ValueError("`penalties`, `ranks` and `iterations` must not be empty.")
        return sorted(path, key=lambda setting: (setting.penalty, -setting.rank))

    def _path_scores(
        self, part: _Part, settings: list[_Setting], seed: Any, bar: Any
    ) -> Iterator[float]:
        """Fit one setting after the other, each from the factors before it, and score it.

        The penalty grows along the path, as columns that reached zero could not grow again. A
        smaller rank starts from the first columns of balanced factors, the truncated singular
        value decomposition. Where the number of iterations is to be chosen, every fit starts
        afresh, as one from other factors would have had more of them.
        """
        widest: LowRankEstimator | None = None
        fitted: LowRankEstimator | None = None
        for setting in settings:
            first = setting.rank == settings[0].rank
            before = (widest if first else fitted) if self.iterations is None else None
            fitted = self._fit_part(part, setting, before, seed)
            widest = fitted if first else widest
            if bar is not None:
                bar.update()
            yield self._score(fitted, part)

    def _fit_part(
        self, part: _Part, setting: _Setting, before: LowRankEstimator | None, seed: Any
    ) -> LowRankEstimator:
        # The file of a checkpoint is that of the fit with the settings chosen.
        options = replace(self._solver_options(), checkpoint=None)
        if before is not None and before.W_.any():
            start = before.W_[:, : setting.rank], before.H_[:, : setting.rank]
            options = replace(options, start=start, warm_start_rows=None)
        model: LowRankEstimator = self._estimator(setting, options)
        model.certify, model.tol = False, _COARSER * self.tol
        model._fit_rows(part.X, part.targets, random_state=seed, options=model._solver_options())
        model.threshold_ = model._chosen_threshold(part.X, part.targets)
        return model

    def _score(self, model: LowRankEstimator, part: _Part) -> float:
        """Return the user's metric, or the default one, on what was held out."""
        if self.scoring is None:
            return float(self._default_score(model, part))
        scorer = check_scoring(model, self.scoring)
        try:
            return float(scorer(model, part.X_held, part.y_held()))
        except TypeError as error:
            raise TypeError(f"`scoring` must be a function giving a number ({error}).") from error

    def _may_be_logistic(self, X: Any, labels: Labels) -> bool:
        """Whether the logistic loss is possible too, and costs about what the squared one does."""
        free = self.penalties is None and isinstance(self.threshold, str | None)
        free = free and self.loss == "auto" and self._solver_options().certify != "rank"
        return free and labels.n_observed <= max(_FEW_LABELS, X.size)

    def _race(self, settings: list[_Setting], parts: list[_Part], scores: Array, seed: Any) -> None:
        """Add the logistic loss to the table if it is clearly better, ahead from part to part."""
        setting, rival = settings[self.best_index_], scores[self.best_index_]
        setting = replace(setting, penalty=self._usual_penalty, loss="logistic")
        row: list[float] = []
        for part in parts:
            row.append(self._score(self._fit_part(part, setting, None, seed), part))
            if not sum(row) > rival[: len(row)].sum():
                return
        if _clearly_better(np.array(row), rival):
            settings.append(setting)
            self._keep_table(settings, np.vstack([scores, row]))

    def _keep_table(self, settings: list[_Setting], scores: Array) -> None:
        self.n_splits_ = scores.shape[1]
        means = scores.mean(axis=1)
        columns = {x: np.array([getattr(one, x) for one in settings]) for x in _Setting.__slots__}
        self.cv_results_ = {
            **{f"param_{name}": column for name, column in columns.items()},
            **{f"split{j}_test_score": column for j, column in enumerate(scores.T)},
            "mean_test_score": means,
            "std_test_score": scores.std(axis=1),
        }
        if not np.isfinite(means).any():
            raise ValueError("`scoring` must give a number for some setting, got NaN for all.")
        self.best_index_ = self._chosen_index(scores)
        self.best_score_ = float(means[self.best_index_])

    def _chosen_index(self, scores: Array) -> int:
        """Return the setting of best mean score, of equal ones the last, so of largest penalty.

        The penalty that follows the data stays unless the best one beats it by more than one
        standard error of their difference: less may be chance.
        """
        means = scores.mean(axis=1)
        best = int(len(means) - 1 - np.nanargmax(means[::-1]))
        usual = np.flatnonzero(self.cv_results_["param_penalty"] == self._usual_penalty)
        if not usual.size or not np.isfinite(means[usual]).any():
            return best
        rival = int(usual[np.nanargmax(means[usual])])
        return best if _clearly_better(scores[best], scores[rival]) else rival

    def _estimator(self, setting: _Setting, options: AlternatingOptions) -> Any:
        """Return the estimator of one setting; parameters of the same name are handed on."""
        model = self._single()
        shared = model.get_params().keys() & self.get_params(deep=False).keys()
        model.set_params(**{name: getattr(self, name) for name in shared})
        chosen = {x: getattr(setting, x) for x in _Setting.__slots__ if x in shared or x != "loss"}
        model.set_params(**chosen, options=options, verbose=False)
        return model.set_params(unit_rows=self.unit_rows_) if "unit_rows" in shared else model


@dataclass(eq=False, repr=False)
class _CrossValidatedClassifier(_CrossValidated):
    """The parameters that a classifier has besides."""

    _: KW_ONLY
    unit_rows: bool | str = "auto"
    loss: str | Loss = "auto"
    threshold: float | str | None = None


class LEMLClassifierCV(_CrossValidatedClassifier, LEMLClassifier):  # type: ignore[misc]
    """`LEMLClassifier` with penalty, rank and iterations chosen by cross-validation.

    Rows are held out; entries of Y instead where some are missing. The path over penalties is
    warm-started, and smaller ranks start from larger ones.

    Paper: Section 5.

    Parameters
    ----------
    penalties : sequence of float, optional
        To choose from, by the best mean score. By default five in factors of two around
        `LEMLClassifier`'s "auto", which stays unless another is better by more than one standard
        error of the difference.
    ranks : sequence of int, optional
        To choose from; `LEMLClassifier`'s "auto" alone by default.
    iterations : sequence of int, optional
        Numbers of outer iterations to choose from, as a means of early stopping; every fit then
        starts afresh. By default every fit runs until `tol` or `max_iter`.
    cv : int, EntrySplit, splitter of rows, iterable of (train, test), or None
        Number of parts, dealt out by a fixed seed (None: 5), or how to hold out.
    scoring : callable, str or None
        score(estimator, X, y), such as a `MultiLabelScorer`, or a name of scikit-learn's, none of
        which takes missing labels, NaN in y; larger is better. By default top-1 accuracy over
        held-out labels (precision of the best one), accuracy for classes and for a single label.
    unit_rows : bool or "auto"
        As for `LEMLClassifier`; "auto" decides where `penalties` are not given.
    loss : str or Loss
        "auto" is "squared" or, if better by more than one standard error, "logistic". That is tried
        at the penalty that follows the data, unless `penalties`, a number as `threshold` or
        certify="rank" are given or the known labels are more than 2^18 and the numbers in X.
    threshold, fit_intercept, max_iter, tol, certify, options, random_state, verbose
        As for `LEMLClassifier`.

    Attributes
    ----------
    cv_results_ : dict of arrays
        The whole path in the columns of `GridSearchCV`; `pandas.DataFrame` takes it.
    best_index_, best_score_ : int, float
        The setting chosen, a row of it, and its mean score.
    best_estimator_ : LEMLClassifier
        Fitted to everything; `save_model` takes it. All its attributes are attributes here too.
    penalty_, rank_, n_iter_, W_, H_, intercept_, certificate_, ...
        As for `LEMLClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import LEMLClassifierCV
    >>> X = np.tile(np.eye(4), (5, 1))
    >>> Y = np.tile([[1, 0], [1, 0], [0, 1], [0, 1]], (5, 1))
    >>> model = LEMLClassifierCV(random_state=0).fit(X, Y)
    >>> model.rank_, model.best_score_
    (2, 1.0)
    """

    _single, _targets = LEMLClassifier, staticmethod(class_targets)

    def _default_score(self, model: LowRankEstimator, part: _Part) -> float:
        Y, mask = (part.held.complete, None) if part.held.is_full else part.held.known_matrices()
        found = evaluate_scores(Y, model._block_scores(part.X_held), ks=(1,), mask=mask)
        return found.top_k[1] if part.held.shape[1] > 1 else 1 - found.hamming


class LEMLRegressorCV(_CrossValidated, LEMLRegressor):  # type: ignore[misc]
    """`LEMLRegressor` with penalty, rank and iterations chosen by cross-validation.

    Paper: Section 5.

    Parameters
    ----------
    penalties, ranks, iterations, cv, fit_intercept, max_iter, tol, certify, options
        As for `LEMLClassifierCV`.
    random_state, verbose
        As for `LEMLClassifierCV`.
    scoring : callable, str or None
        As there; by default the negative mean squared error over held-out entries.

    Attributes
    ----------
    cv_results_, best_index_, best_score_, best_estimator_, penalty_, rank_, ...
        As for `LEMLClassifierCV`.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import LEMLRegressorCV
    >>> X = np.arange(20.0)[:, None] % 7
    >>> model = LEMLRegressorCV(penalties=[1e-3, 1e3], random_state=0).fit(X, X @ [[1.0, 2.0]])
    >>> model.penalty_, model.predict([[2.0]]).round(2).tolist()
    (0.001, [[2.0, 4.0]])
    """

    _single, _targets = LEMLRegressor, staticmethod(number_targets)

    def _default_score(self, model: LowRankEstimator, part: _Part) -> float:
        scores, held, total = model._block_scores(part.X_held), part.held, 0.0
        values, mask = (held.complete, None) if held.is_full else held.known_matrices()
        for start, stop in row_blocks(scores.shape):
            errors = dense(values[start:stop]) - scores.block(start, stop)
            errors = errors if mask is None else errors[dense(mask[start:stop])]
            total += float(np.square(errors).sum())
        return -total / held.n_observed


def _clearly_better(scores: Array, rivals: Array) -> bool:
    """Whether scores are better by more than one standard error of the difference."""
    difference = scores - rivals
    error = difference.std(ddof=min(1, difference.size - 1)) / np.sqrt(difference.size)
    return bool(difference.mean() > error)


def _with_classes(X: Any, targets: Targets, y: Any, groups: Any) -> tuple[Any, Targets, Any, Any]:
    """Return data without the rows of a vector of classes that have none."""
    if targets.rows is None:
        return X, targets, y, groups
    kept = replace(targets, rows=None, n_rows=targets.rows.size)
    groups = None if groups is None else _safe_indexing(groups, targets.rows)
    return X[targets.rows], kept, _safe_indexing(y, targets.rows), groups


def _parts(X: Any, targets: Targets, y: Any, groups: Any, cv: Any) -> Iterator[_Part]:
    """Yield what to fit and what to hold out: entries if some are missing, otherwise rows."""
    cv = 5 if cv is None else cv
    counted = isinstance(cv, int | np.integer)
    if isinstance(cv, EntrySplit) or (counted and not targets.labels.is_full):
        yield from _entry_parts(X, targets, EntrySplit(cv) if counted else cv)
        return
    if counted and not 2 <= cv <= X.shape[0]:
        n = X.shape[0]
        raise ValueError(f"`cv` must be from 2 to the number of rows, n_samples={n}, got {cv}.")
    rows = KFold(cv, shuffle=True, random_state=0) if counted else check_cv(cv)
    try:
        pairs = [(train, test) for train, test in rows.split(X, y, groups)]
    except (TypeError, ValueError) as error:
        raise ValueError(f"`cv` must give pairs (train, test) of rows: {error}") from error
    for split in pairs:
        kept, held = (_row_numbers(part, X.shape[0]) for part in split)
        fitted = replace(targets, labels=targets.labels.take(kept), n_rows=kept.size)
        y_held = partial(_safe_indexing, y, held)
        yield _Part(X[kept], fitted, X[held], targets.labels.take(held), y_held)


def _row_numbers(rows: Any, n: int) -> Array:
    """Return the rows of a part, given by numbers or by a mask, in increasing order."""
    given = np.asarray(rows)
    if given.dtype.kind == "b" and given.shape == (n,):
        given = np.flatnonzero(given)
    found = np.unique(indices(given, "cv", given.size, n)) if given.size else given
    if not found.size or found.size < given.size:
        raise ValueError("`cv` must give parts with at least one row, and no row twice.")
    return found


def _entry_parts(X: Any, targets: Targets, split: EntrySplit) -> Iterator[_Part]:
    """Yield parts that hold out observed entries."""
    if targets.labels.is_full:
        raise ValueError("`cv` must split rows, as no label is missing; write cv=5.")
    values, mask = targets.labels.known_matrices()
    for kept, held in split.split_mask(mask):
        fitted = replace(targets, labels=Labels.masked(values, kept))

        def y_held(held: Any = held) -> Array:
            return np.where(held.toarray(), values.toarray(), np.nan)

        yield _Part(X, fitted, X, Labels.masked(values, held), y_held)
