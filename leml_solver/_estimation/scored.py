"""What all estimators share: scores of rows and labels, made block by block, and answers from them.

`ScoredEstimator` is the base class of everything with scores. `LabelClassifier` adds, as a mixin
before it, what turns scores into classes and labels.
"""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from argument_checks import moderate_array, not_huge, one_weight_each, real_input, same_count
from leml_solver._estimation.blocks import BlockScores, TrueLabels, row_blocks, top_k
from leml_solver._estimation.targets import Targets, known_classes

Array = NDArray[Any]


class ScoredEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator with a score for each row and label.

    A subclass provides `_block_scores`; its `fit` calls a method that calls
    `_check_targets` first and `_keep_targets` last.
    """

    target_kind_: str
    sparse_output_: bool
    label_names_: Any
    classes_: Array
    label_values_: Array
    unobserved_labels_: NDArray[np.int64]

    def __sklearn_is_fitted__(self) -> bool:
        """Whether a fit has ended: the threshold is what it sets last."""
        return hasattr(self, "threshold_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags

    def _number_types(self) -> tuple[type, ...]:
        """Return the types that X may keep; others become the first."""
        return (np.float64,)

    def _checked(self, X: Any, *, reset: bool = False) -> Any:
        """Return X as a float array or CSR matrix with as many columns as in `fit`.

        Entries of a sparse matrix that are stored in parts are added up, in a copy.
        """
        X = real_input(X, "X")
        try:
            types = self._number_types()
            rows = validate_data(self, X, accept_sparse="csr", dtype=types, reset=reset)
        except (TypeError, ValueError, OverflowError) as error:
            if isinstance(error, ValueError) and not str(error).startswith("could not convert"):
                raise
            raise TypeError(f"`X` must be an array of numbers: {error}.") from error
        stored = rows.data if sparse.issparse(rows) else rows
        if reset and stored.size:
            moderate_array(stored, "X", stored.ndim, stored.dtype)
        not_huge(stored, "X")
        return rows if sparse.issparse(rows) else np.require(rows, None, ["C", "A"])

    def _block_scores(self, X: Any) -> BlockScores:
        """Return the scores of checked rows, to be made block by block."""
        raise NotImplementedError

    def _all_scores(self, X: Any) -> Array:
        """Return the scores of all rows and labels in one array."""
        check_is_fitted(self)
        checked = self._checked(X)
        return self._block_scores(checked).block(0, checked.shape[0])

    def _framed(self, values: Array, X: Any) -> Any:
        """Return a DataFrame if the labels were one, with the row names of X if it has any."""
        if self.label_names_ is None:
            return values
        from pandas import DataFrame

        return DataFrame(values, index=getattr(X, "index", None), columns=self.label_names_)

    def _check_targets(self, X: Any, targets: Targets) -> None:
        """Raise unless X and y have equally many rows; warn of labels without an observed entry."""
        same_count(X.shape[0], targets.n_rows, labels="y")
        self.unobserved_labels_ = unobserved = targets.labels.unobserved_labels
        if count := unobserved.size:
            shown = ", ".join(map(str, unobserved[:5])) + ", ..." * (count > 5)
            warnings.warn(
                f"Labels without an observed entry: {count} (columns {shown}); "
                "their scores mean nothing. They are listed in `unobserved_labels_`.",
                UserWarning,
                stacklevel=4,  # the caller of `fit`, which calls a method that calls this
            )

    def _keep_targets(self, targets: Targets) -> None:
        """Store how the labels were given, so that answers can have the same form."""
        self.target_kind_, self.sparse_output_ = targets.kind, targets.sparse
        self.label_names_ = targets.names
        if targets.kind == "multilabel":
            # scikit-learn's cross_val_predict wants one class per column of scores.
            self.classes_ = np.arange(targets.labels.shape[1])
        elif targets.known_values is not None:
            self.classes_ = targets.known_values
        if targets.known_values is not None:
            self.label_values_ = targets.known_values


def _has_probabilities(estimator: Any) -> bool:
    """Whether the loss gives probabilities; if not, the error names the one that does."""
    loss = getattr(getattr(estimator, "best_estimator_", estimator), "loss", None)
    if getattr(loss, "name", loss) != "logistic":
        raise AttributeError(
            f"predict_proba needs loss='logistic', got {loss!r}: other losses do not estimate "
            "probabilities."
        )
    return True


class LabelClassifier(ClassifierMixin):  # type: ignore[misc]
    """Classes and labels from the scores of a `ScoredEstimator`, the base class after it.

    The threshold is subtracted from the scores: a label is predicted where they are above 0.
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def decision_function(self, X: Any) -> Any:
        """Return the score of each label, above 0 where it is predicted.

        Returns
        -------
        (n, L) array or DataFrame
            (n,) for a vector of two classes, whose second one has scores above 0.
        """
        scores = self._all_scores(X)
        return scores.ravel() if self.target_kind_ == "binary" else self._framed(scores, X)

    def predict(self, X: Any) -> Any:
        """Return the labels with a score above 0, or the class of largest score.

        Returns
        -------
        (n, L) array, DataFrame or CSR matrix like the labels in `fit`; (n,) array for classes
        """
        check_is_fitted(self)
        if self.target_kind_ == "multiclass":
            return self.classes_[self.predict_topk(X, 1).ravel()]
        if self.sparse_output_:
            return self._sparse_predictions(X)
        predicted = self.label_values_[(self._all_scores(X) > 0).astype(np.intp)]
        return predicted.ravel() if self.target_kind_ == "binary" else self._framed(predicted, X)

    def _sparse_predictions(self, X: Any) -> Any:
        scores = self._block_scores(self._checked(X))
        parts = [sparse.csr_matrix(scores.block(*ends) > 0) for ends in row_blocks(scores.shape)]
        return sparse.vstack(parts, format="csr", dtype=self.label_values_.dtype)

    def predict_topk(self, X: Any, k: int = 5, *, return_scores: bool = False) -> Any:
        """Return the k labels of largest score in each row, best first, without n x L memory.

        Parameters
        ----------
        X : (n, d) array, DataFrame or sparse matrix
            Features.
        k : int
            At most L.
        return_scores : bool
            Return the scores as well.

        Returns
        -------
        labels : (n, k) int array
            Numbers of labels; of equal scores the lower number comes first.
        scores : (n, k) array
            Only if asked for.
        """
        check_is_fitted(self)
        labels, scores = top_k(self._block_scores(self._checked(X)), k)
        return (labels, scores) if return_scores else labels

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return accuracy: the share of rows whose observed labels are all predicted correctly.

        That is scikit-learn's convention, and strict; see `leml_solver.model_selection` for others.
        """
        check_is_fitted(self)
        n_rows = _num_samples(X)
        counts = np.ones(n_rows)
        if sample_weight is not None:
            counts = one_weight_each(sample_weight, "sample_weight", n_rows)
        if self.target_kind_ != "multilabel":
            classes, rows = known_classes(y)
            same_count(n_rows, len(classes), labels="y")
            if not rows.any():
                return float("nan")
            found = self.predict(X)[rows]
            return float(accuracy_score(classes[rows], found, sample_weight=counts[rows]))
        scores = self._block_scores(self._checked(X))
        labels, right, counted = TrueLabels.of(y, shape=scores.shape), 0.0, 0.0
        for ends in row_blocks(scores.shape):
            known = labels.block(*ends)
            wrong = (known >= 0) & ((scores.block(*ends) > 0) != (known == 1))
            seen = (known >= 0).any(axis=1)
            right += float(counts[slice(*ends)][seen & ~wrong.any(axis=1)].sum())
            counted += float(counts[slice(*ends)][seen].sum())
        return right / counted if counted else float("nan")

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Return probabilities, for the logistic loss.

        Returns
        -------
        (n, L) array or DataFrame
            Probability of each label. For a vector of C classes, (n, C) rows that sum to one.
        """
        scores = self._all_scores(X)
        positive = expit(scores, out=scores)
        if self.target_kind_ == "multilabel":
            return self._framed(positive, X)
        if self.target_kind_ == "binary":
            return np.hstack([1 - positive, positive])
        total = positive.sum(axis=1, keepdims=True)
        total[total == 0] = 1
        return positive / total

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithms of what `predict_proba` returns; that of 0 is minus infinity."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
