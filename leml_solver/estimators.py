"""LEML as scikit-learn estimators: a classifier and a regressor; some labels may be missing.

`LowRankEstimator` holds what does not depend on the task. Importing this module loads scikit-learn.

Paper: Section 3.
"""

import os
import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, RegressorMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from argument_checks import one_of, one_weight_each, positive, positive_integer, real, solver_seed
from leml_solver._estimation.blocks import BlockScores, matching_threshold
from leml_solver._estimation.defaults import default_penalty, default_rank
from leml_solver._estimation.scored import LabelClassifier, ScoredEstimator
from leml_solver._estimation.targets import Targets, class_targets, dense_numbers, number_targets
from leml_solver._estimation.weights import EntryWeights, fit_weighted_factors, point_weights
from leml_solver._factored.fit import AlternatingOptions, FactorResult, FitStatus
from leml_solver._factored.kernel_method import Kernel, fit_kernel_factors
from leml_solver._linalg.threads import matmul, one_blas_thread
from leml_solver.labels import Labels
from leml_solver.losses import Loss
from leml_solver.metrics import loss_threshold

__all__ = ["LEMLClassifier", "LEMLRegressor", "LowRankEstimator", "is_auto"]

Array = NDArray[Any]

_MAX_ITER = 20  # fewer outer iterations are a way to stop early, and end without a warning


class LowRankEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ScoredEstimator):  # type: ignore[misc]
    """Fit Z = W H^T by alternating minimisation; the parts that do not depend on the task.

    Paper: Equation (5).
    """

    # Of the parameters, which subclasses declare, those that some do without.
    unit_rows: bool | str = False
    warm_start: bool = False
    threshold: float | str | None = 0.0
    loss: str | Loss = "squared"
    # What `fit` sets.
    unit_rows_: bool
    W_: Array
    H_: Array
    intercept_: Array
    penalty_: float
    threshold_: float

    def transform(self, X: Any) -> Array:
        """Return X W, the points in the latent space; K(X, training rows) W with a kernel.

        Rows of X are divided by their norms first where `unit_rows_` says so.

        Parameters
        ----------
        X : (n, d) array, DataFrame or sparse matrix
            Features.

        Returns
        -------
        (n, rank_) array
        """
        check_is_fitted(self)
        return self._latent(self._checked(X))

    @property
    def coef_(self) -> Array:
        """H W^T, one row per label as in scikit-learn's linear models; made when asked for.

        They apply to rows of X divided by their norms if `unit_rows_` is true.
        """
        check_is_fitted(self)
        if self.kernel is not None:
            raise AttributeError("coef_ needs a linear model, got a kernel.")
        return np.asarray(self.H_ @ self.W_.T)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str)
        tags.transformer_tags.preserves_dtype = ["float64"]
        if self.kernel is None:
            tags.transformer_tags.preserves_dtype += ["float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        """The number of columns that `transform` returns, for scikit-learn."""
        return int(self.W_.shape[1])

    def _number_types(self) -> tuple[type, ...]:
        # Kernel matrices of float32 points are not positive semidefinite to working accuracy.
        return (np.float64, np.float32) if self.kernel is None else (np.float64,)

    def _fit_targets(self, X: Any, targets: Targets) -> Self:
        self._check_targets(X, targets)
        fit = self._fit_rows if self.kernel is None else self._fit_kernel
        fit(
            X,
            _of_positive_weight(targets),
            random_state=solver_seed(self.random_state),
            options=self._solver_options(),
        )
        if self.status_ is FitStatus.MAX_ITER and self.max_iter >= _MAX_ITER and self.tol > 0:
            warnings.warn(
                f"The objective was still falling after {self.max_iter} iterations: raise "
                "`max_iter`, or set tol=0 if exactly that many are wanted.",
                ConvergenceWarning,
                stacklevel=3,  # the caller of `fit`
            )
        self.threshold_ = self._chosen_threshold(X, targets)
        return self

    def _fit_rows(self, X: Any, targets: Targets, **arguments: Any) -> None:
        """Fit to the rows that have labels; `arguments` are those of `fit_factors`."""
        used = X if targets.rows is None else X[targets.rows]
        chosen = self._chosen(lambda rows: used[rows], X.shape[1], targets)
        used = normalize(used) if self.unit_rows_ else used
        if self.warm_start and hasattr(self, "W_") and self.W_.any():
            k, options = chosen["rank"], arguments["options"]
            W, H = start = self.W_[:, :k], self.H_[:, :k]  # columns to be added could not grow
            if (*W.shape, *H.shape) == (X.shape[1], k, targets.labels.shape[1], k):
                arguments["options"] = replace(options, start=start, warm_start_rows=None)
        made = fit_weighted_factors(used, targets, loss=self.loss, **chosen, **arguments)
        self._keep(made, targets)

    def _fit_kernel(self, X: Any, targets: Targets, **arguments: Any) -> None:
        """Fit functions of the kernel with the training rows, of which those with labels count."""
        given = isinstance(self.kernel, str) and one_of(self.kernel, "kernel", ("precomputed",))
        used = slice(None) if targets.rows is None else targets.rows
        points = (X.toarray() if sparse.issparse(X) else X)[:, used][used] if given else X[used]
        chosen = self._chosen(
            lambda rows: (
                points[rows][:, rows] if given else self.kernel(points[rows], points[rows])
            ),
            X.shape[0],
            targets,
        )
        made = fit_kernel_factors(
            points,
            targets.labels,
            loss=self.loss,
            kernel=self.kernel,
            fit=lambda Phi, _, **rest: fit_weighted_factors(Phi, targets, **rest),
            **chosen,
            **arguments,
        )
        self._keep(made.fit, targets)
        self.W_ = np.zeros((X.shape[0], made.V.shape[1]))
        self.W_[used] = made.V
        self.X_fit_ = None if given else X

    def _chosen(self, features: Callable[..., Any], width: int, targets: Targets) -> dict[str, Any]:
        """Return rank and penalty, and keep the scale of rows: as given, or as the data say."""
        labels = targets.labels
        rank = default_rank(width, labels) if is_auto(self.rank, "rank") else self.rank
        penalty, unit = self.penalty, self.unit_rows
        both = is_auto(unit, "unit_rows")
        if both:
            unit = False
        if is_auto(penalty, "penalty"):
            penalty, unit = default_penalty(
                features,
                labels,
                self.loss,
                intercept=bool(self.fit_intercept),
                weights=targets.weights,
                kernel=self.kernel is not None,
                unit_rows=(False, True) if both and self.kernel is None else (bool(unit),),
            )
        self.unit_rows_ = bool(unit)
        self.penalty_ = positive(penalty, "penalty")
        rank = min(positive_integer(rank, "rank"), width, labels.shape[1])
        return {"rank": rank, "penalty": self.penalty_}

    def _solver_options(self) -> AlternatingOptions:
        """Return the solver's options with those that are parameters of the estimator."""
        if not isinstance(self.options, AlternatingOptions | None):
            raise TypeError(
                "`options` must be None or AlternatingOptions(...), got "
                f"{type(self.options).__name__}; write AlternatingOptions(method='plain')."
            )
        options = self.options or AlternatingOptions()
        return replace(
            options,
            certify=options.certify if self.certify is None else self.certify,
            max_iter=self.max_iter,
            tol=self.tol,
            intercept=bool(self.fit_intercept),
            progress=bool(self.verbose),
        )

    def _keep(self, result: FactorResult, targets: Targets) -> None:
        self.W_, self.H_ = result.W, result.H
        zeros = np.zeros(result.H.shape[0])
        self.intercept_ = zeros if result.intercept is None else result.intercept
        self.rank_ = result.W.shape[1]
        self.n_iter_ = max(1, result.iterations)
        self.objective_ = result.objective
        self.trace_, self.status_ = result.trace, result.status
        self.certificate_ = result.certificate
        self._keep_targets(targets)

    def _chosen_threshold(self, X: Any, targets: Targets) -> float:
        """Return what is subtracted from the scores."""
        if self.threshold is None:
            return loss_threshold(self.loss)
        if not isinstance(self.threshold, str):
            return real(self.threshold, "threshold")
        one_of(self.threshold, "threshold", ("cardinality",))
        self.threshold_ = 0.0
        rows = X if targets.rows is None else X[targets.rows]
        return matching_threshold(self._block_scores(rows), targets.labels)

    @one_blas_thread()
    def _latent(self, X: Any) -> Array:
        """Return X W for checked X, with the kernel in place of X if there is one."""
        if getattr(self, "X_fit_", None) is not None:
            X = np.asarray(self.kernel(X, self.X_fit_), dtype=np.float64)
            if X.shape[1:] != self.W_.shape[:1]:
                raise ValueError(f"`kernel` must give {len(self.W_)} columns, got shape {X.shape}.")
        if self.unit_rows_:
            X = normalize(X)
        return np.asarray(X @ self.W_) if sparse.issparse(X) else matmul(X, self.W_)

    def _block_scores(self, X: Any) -> BlockScores:
        """Return X W H^T + intercept - threshold, to be made block by block."""
        offset = self.intercept_ - self.threshold_

        def block(start: int, stop: int) -> Array:
            scores = matmul(self._latent(X[start:stop]), self.H_.T)
            scores += offset
            return scores

        return BlockScores(block, (X.shape[0], self.H_.shape[0]))


def _of_positive_weight(targets: Targets) -> Targets:
    """Return targets without the rows of weight zero, and the weights of the others."""
    if targets.weights is None:
        return targets
    weights = targets.weights if targets.rows is None else targets.weights[targets.rows]
    kept = np.flatnonzero(weights)
    if kept.size == weights.size:
        return replace(targets, weights=weights)
    if not kept.size:
        raise ValueError("`sample_weight` must be positive for a row with a label, got zeros.")
    rows = kept if targets.rows is None else targets.rows[kept]
    return replace(targets, labels=targets.labels.take(kept), rows=rows, weights=weights[kept])


def is_auto(value: Any, name: str) -> bool:
    """Whether a setting is "auto"; other words are refused."""
    return isinstance(value, str) and bool(one_of(value, name, ("auto",)))


@dataclass(eq=False, repr=False)
class LEMLClassifier(LabelClassifier, LowRankEstimator):
    r"""Low-rank multi-label classifier; labels may be missing.

    Minimises :math:`\sum_{(i,l) \in \Omega} \ell(y_{il}, x_i^T W h_l) + \frac{\mu}{2}
    (\|W\|_F^2 + \|H\|_F^2)` over W (d, k) and H (L, k), which is penalty :math:`\mu` times the
    trace norm of Z = W H^T if k is large enough.

    A label matrix gives one score per label; a label is predicted where its score is above 0. A
    vector of classes is fitted one class against the rest; the class of largest score is predicted.

    Memory in `fit` beyond X and Y is a few copies of W, H and X W; `decision_function`, `predict`
    of a dense Y and `predict_proba` return n x L numbers and hold little more; `predict_topk`,
    `score`, and `predict` after a sparse Y hold one block of 32 MiB for any n and L.

    Paper: Equation (5).

    Parameters
    ----------
    rank : int or "auto"
        k; at most min(d, L) columns are used, as more would add nothing; "auto" is
        min(d, L, 500), of which those beyond 200 only while W, H and X W hold at most 2^24 numbers.
    penalty : float or "auto"
        Weight of the trace norm relative to the *sum* of losses. "auto" pulls the ridge
        regression of least leave-one-out error towards zero as strongly as ridge regression does
        itself; predictions then do not depend on the scale of X.
    unit_rows : bool or "auto"
        Divide each row of X by its norm, which suits word counts. "auto" does so if the penalty is
        "auto" too and it lowers the leave-one-out error of ridge regression. Not for kernels.
    loss : str or Loss
        "squared", "logistic", "squared_hinge", or a smooth loss of your own.
    fit_intercept : bool
        Fit an unpenalised intercept for each label.
    max_iter : int
        Outer iterations. Fewer than 20 act as early stopping; 20 or more that did not suffice end
        with a `ConvergenceWarning`, unless `tol` is 0.
    tol : float
        Stop when the objective falls by less than this share of itself.
    kernel : callable or "precomputed", optional
        A function of two sets of points such as `sklearn.metrics.pairwise.rbf_kernel`; with
        "precomputed", X is the matrix of kernels with the training rows. The penalty is that of the
        functions, |K^(1/2) Z|_tr; W_ then has one row per training row. Memory is O(n^2).
    certify : bool or "rank", optional
        Whether to certify the result; "rank" also bounds the distance to the best Z of the same
        rank and, for the squared loss with every label known, continues to that point: see
        `RankSearch`. None leaves it to `options`.
    options : AlternatingOptions, optional
        Everything else about the solver; the parameters above replace its max_iter, tol, intercept
        and progress.
    class_weight : dict, "balanced" or None
        For a vector, weights of its classes as everywhere in scikit-learn. For a label matrix,
        weights of its two values; "balanced" lets the positives and the negatives of each label
        count the same. Unlike with `sample_weight`, a label matrix then costs n L k.
    propensities : (L,) array, "jain" or None
        Probability that a positive of each label is recorded, where others look like negatives;
        "jain" takes `label_propensities` of the training labels.
    propensity_loss : str
        "reweighted": a recorded positive of propensity p counts 1/p times. "unbiased": for the
        squared loss, the estimate (z - 1/p)^2 / 2 of the loss with all positives recorded.
    threshold : float, "cardinality" or None
        Score above which a label is predicted. None takes that of the loss, see `threshold_`;
        "cardinality" predicts as many labels of the training rows as they have.
    warm_start : bool
        Start from the factors of the last `fit`, if its data had the same columns and its rank was
        not smaller; not for kernels. Columns that a large penalty brought to zero hardly grow
        again, so let penalties increase.
    random_state : int, RandomState, Generator or None
        Where the start comes from.
    verbose : bool
        Show a progress bar.

    Attributes
    ----------
    W_ : (d, rank_) array
    H_ : (L, rank_) array
    intercept_ : (L,) array
        Zeros without an intercept.
    threshold_ : float
        Value of x^T W h + intercept above which a label is positive: unless chosen otherwise, 0.5
        for the squared loss, whose labels are 0 and 1, and 0 for losses on signs. It is subtracted
        from the scores.
    classes_ : array
        The classes of a vector; the numbers of the labels, 0 to L - 1, for a label matrix.
    label_values_ : array
        The classes of a vector; the two values, 0 and 1 or -1 and 1, of a label matrix.
    certificate_ : FactorCertificate or None
        How far the objective is from that of the best Z of any rank, `relative_gap`, and, if
        certify is "rank", of the same rank, `rank_relative_gap`.
    status_ : FitStatus
        How the fit ended, and what to do next.
    trace_ : tuple of TracePoint
        Objective and time after each outer iteration.
    objective_, n_iter_, rank_, penalty_, unit_rows_ : float, int, int, float, bool
    unobserved_labels_ : int array
        Labels without any observed entry.
    label_names_ : pandas Index or None
        Columns of a DataFrame of labels; predictions are then DataFrames.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    With a whole number for `cv`, scikit-learn looks at y and refuses NaN in an array of numbers
    before this class sees it: pass ``Y.astype(object)``, a masked array with numbers other than NaN
    under the mask, or ``cv=KFold(5)``. To hold out entries instead of rows, see
    `EntrySplit.stacked`.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver.estimators import LEMLClassifier
    >>> X = np.eye(4)
    >>> Y = np.array([[1, 0], [1, np.nan], [0, 1], [np.nan, 1]])
    >>> LEMLClassifier(rank=2, penalty=0.01, random_state=0).fit(X, Y).predict(X[:3])
    array([[1, 0],
           [1, 0],
           [0, 1]])
    """

    rank: int | str = "auto"
    _: KW_ONLY
    penalty: float | str = "auto"
    unit_rows: bool | str = "auto"
    loss: str | Loss = "squared"
    fit_intercept: bool = True
    max_iter: int = 100
    tol: float = 1e-4
    kernel: Kernel | str | None = None
    certify: bool | str | None = None
    options: AlternatingOptions | None = None
    class_weight: Any = None
    propensities: Any = None
    propensity_loss: str = "reweighted"
    threshold: float | str | None = None
    warm_start: bool = False
    random_state: Any = None
    verbose: bool = False

    def fit(
        self, X: Any, y: Any, mask: Any = None, missing: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit the factors.

        Parameters
        ----------
        X : (n, d) array, DataFrame or sparse matrix
            Features; float32 is kept, anything else becomes float64.
        y : (n, L) array, DataFrame or sparse matrix of 0/1, or (n,) classes
            NaN (pandas' NA, None) is a missing label, 0 never is. A sparse matrix is full.
        mask : (n, L) boolean array or sparse matrix, optional
            Which entries of y are observed; in a sparse matrix this or `missing` marks those that
            are not.
        missing : (n, L) boolean array or sparse matrix, optional
            Which entries of y are missing, instead of `mask`: for a sparse y with few of them.
        sample_weight : (n,) array, optional
            How much each row counts; a whole number m counts the row as if it occurred m times.
        """
        checked = self._checked(X, reset=True)
        targets = class_targets(y, mask, missing)
        entries = None
        if targets.kind == "multilabel":
            entries = EntryWeights(self.class_weight, self.propensities, self.propensity_loss)
        weights = point_weights(sample_weight, self.class_weight, targets)
        targets = replace(targets, weights=weights, entries=entries)
        return self._fit_targets(checked, targets)

    def fit_blocks(self, blocks: Any, *, client: Any = None) -> Self:
        """Fit to rows in blocks, in memory that does not grow with their number.

        Rows are taken as they are (`unit_rows` does not apply), all of the same weight.

        Parameters
        ----------
        blocks : path, BlockFolder or sequence of Dataset
            A folder that ``python -m leml_solver convert`` wrote, or blocks in memory.
        client : distributed.Client, optional
            A cluster whose workers hold the blocks; see `leml_solver.distributed`.
        """
        from leml_solver.blocks import BlockFolder, fit_blocks, known_counts, sampled

        given = (self.kernel, self.class_weight, self.propensities)
        whole = self.unit_rows is True or self.warm_start or isinstance(self.threshold, str)
        whole |= hasattr(self, "cv")
        if whole or any(value is not None for value in given):
            raise ValueError(
                "blocks must go with kernel, class_weight and propensities None, unit_rows 'auto' "
                "or False, warm_start False, no word as threshold, and no cv."
            )
        if isinstance(blocks, str | os.PathLike):
            blocks = BlockFolder.open(blocks)
        some, rows = sampled(blocks), blocks
        labels = Labels.with_missing(some.Y, some.hidden)
        alone, targets = clone(self).set_params(unit_rows=False), Targets(labels, 0, "multilabel")
        chosen = alone._chosen(lambda i: some.X[i], some.X.shape[1], targets)
        self.unit_rows_, self.penalty_ = False, alone.penalty_
        arguments: dict[str, Any] = {
            "loss": self.loss,
            "random_state": solver_seed(self.random_state),
            "options": self._solver_options(),
        }
        if not isinstance(rows, BlockFolder):
            rows = [(data.X, Labels.with_missing(data.Y, data.hidden)) for data in rows]
        if client is None:
            made = fit_blocks(rows, **chosen, **arguments)
        else:
            from leml_solver.distributed import fit_factors as fit_on

            made = fit_on(client, rows, **chosen, **arguments)
        self.n_features_in_ = some.X.shape[1]
        self.unobserved_labels_ = np.flatnonzero(known_counts(blocks) == 0)
        self._keep(made, replace(targets, known_values=np.array([0, 1], np.int32), sparse=True))
        self.threshold_ = self._chosen_threshold(None, targets)
        return self


@dataclass(eq=False, repr=False)
class LEMLRegressor(RegressorMixin, LowRankEstimator):  # type: ignore[misc]
    r"""Low-rank multi-output regression; targets may be missing.

    Minimises :math:`\frac12 \sum_{(i,l) \in \Omega} (y_{il} - x_i^T W h_l)^2 + \frac{\mu}{2}
    (\|W\|_F^2 + \|H\|_F^2)`: reduced-rank regression with a trace-norm penalty.

    Paper: Equation (5).

    Parameters
    ----------
    rank, penalty, fit_intercept, max_iter, tol, kernel, certify, options
        As for `LEMLClassifier`.
    warm_start, random_state, verbose
        As for `LEMLClassifier`.

    Attributes
    ----------
    W_, H_, intercept_, certificate_, status_, trace_, objective_, n_iter_, rank_, penalty_
        As for `LEMLClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import LEMLRegressor
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> Y = np.array([[1.0, 2.0], [np.nan, 4.0], [3.0, 6.0]])
    >>> model = LEMLRegressor(rank=1, penalty=1e-6, fit_intercept=False, random_state=0).fit(X, Y)
    >>> model.predict(np.array([[0.0, 1.0]])).round(3)
    array([[2., 4.]])
    """

    rank: int | str = "auto"
    _: KW_ONLY
    penalty: float | str = "auto"
    fit_intercept: bool = True
    max_iter: int = 100
    tol: float = 1e-4
    kernel: Kernel | str | None = None
    certify: bool | str | None = None
    options: AlternatingOptions | None = None
    warm_start: bool = False
    random_state: Any = None
    verbose: bool = False

    def fit(
        self, X: Any, y: Any, mask: Any = None, missing: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit the factors.

        Parameters
        ----------
        y : (n,) or (n, L) array, DataFrame or sparse matrix of numbers
            NaN is missing; a sparse matrix is full.
        X, mask, missing, sample_weight
            As in `LEMLClassifier.fit`.
        """
        checked = self._checked(X, reset=True)
        targets = number_targets(y, mask, missing)
        targets = replace(targets, weights=point_weights(sample_weight, None, targets))
        return self._fit_targets(checked, targets)

    def predict(self, X: Any) -> Any:
        """Return X W H^T + intercept.

        Returns
        -------
        (n, L) array or DataFrame; (n,) array for a vector of targets
        """
        scores = self._all_scores(X)
        return scores.ravel() if self.target_kind_ == "vector" else self._framed(scores, X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R squared over observed entries, averaged over targets with at least two."""
        values = dense_numbers(y)
        if sample_weight is not None:
            sample_weight = one_weight_each(sample_weight, "sample_weight", len(values))
        if not np.isnan(values).any():
            return float(super().score(X, values, sample_weight))
        made = np.asarray(self.predict(X))
        if values.shape != made.shape:
            raise ValueError(f"`y` must have shape {made.shape}, got {values.shape}.")
        known = ~np.isnan(values.reshape(len(values), -1).T)
        columns = zip(known, np.atleast_2d(values.T), np.atleast_2d(made.T), strict=True)
        scores = [
            r2_score(y[i], z[i], sample_weight=None if sample_weight is None else sample_weight[i])
            for i, y, z in columns
            if i.sum() > 1
        ]
        return float(np.mean(scores)) if scores else float("nan")
