r"""Weights of points, classes and recorded positives, as the solver takes them.

A positive that is recorded with probability p counts 1/p times ("reweighted"). For the squared loss
there is an estimate of the loss on all positives that is unbiased and convex: up to a constant,
:math:`\tfrac12 (z - 1/p)^2` at a recorded positive and :math:`\tfrac12 z^2` elsewhere.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from argument_checks import nonnegative, one_of, one_weight_each
from leml_solver._estimation.targets import Targets
from leml_solver._factored.fit import AlternatingOptions, FactorResult, fit_factors
from leml_solver.labels import EntryList, Labels
from leml_solver.losses import Loss
from leml_solver.metrics import checked_propensities, label_propensities

Array = NDArray[Any]
# Entries that are listed to give each its weight (some gigabytes).
_LONGEST_LIST = 1 << 27
# Entries of X that may be made dense to centre it.
_LARGEST_DENSE = 1 << 25


def fit_weighted_factors(
    X: Any, targets: Targets, *, loss: str | Loss, **arguments: Any
) -> FactorResult:
    """Fit factors to labels of which some count more than others, the rest as in `fit_factors`."""
    labels, name = targets.labels, loss if isinstance(loss, str) else loss.name
    weights = targets.weights
    if targets.entries is not None and targets.known_values is not None:
        labels = targets.entries.applied(labels, targets.known_values, name)
    if weights is None:
        return fit_factors(X, labels, loss=loss, **arguments)
    if name == "squared" and labels.is_full and X.shape[0] * X.shape[1] <= _LARGEST_DENSE:
        return _fit_scaled(X, labels, weights, **arguments)
    return fit_factors(X, _weighted(labels, weights), loss=loss, **arguments)


def _fit_scaled(
    X: Any, labels: Labels, weights: Array, *, options: AlternatingOptions, **arguments: Any
) -> FactorResult:
    """Fit the squared loss to rows times the roots of their weights, centred for an intercept."""
    roots = np.sqrt(weights)[:, None]
    X, Y = (A.toarray() if sparse.issparse(A) else A for A in (X, labels.complete))
    share = weights / weights.sum() if options.intercept else np.zeros(len(weights))
    x, y = share @ X, share @ Y
    scaled = (roots * (X - x)).astype(X.dtype)
    plain = replace(options, intercept=False)
    made = fit_factors(scaled, Labels.full(roots * (Y - y)), options=plain, **arguments)
    if made.certificate is not None:
        scale = 0.5 * float(np.square(roots * Y).sum())
        made = replace(made, certificate=replace(made.certificate, scale=scale))
    if not options.intercept:
        return made
    return replace(made, intercept=y - (x @ made.W.astype(np.float64)) @ made.H.T)


def point_weights(sample_weight: Any, class_weight: Any, targets: Targets) -> Array | None:
    """Return one weight per row of y, or None: those given times those of a vector's classes."""
    weights = None
    if sample_weight is not None:
        weights = one_weight_each(sample_weight, "sample_weight", targets.n_rows)
    if class_weight is None or targets.known_values is None or targets.kind == "multilabel":
        return weights
    from sklearn.utils.class_weight import compute_sample_weight

    rows = np.arange(targets.n_rows) if targets.rows is None else targets.rows
    of_class = np.ones(targets.n_rows)
    given = _class_weights(class_weight)
    made = compute_sample_weight(given, targets.known_values[_codes(targets)])
    of_class[rows] = one_weight_each(made, "class_weight", rows.size)
    return of_class if weights is None else weights * of_class


def _class_weights(given: Any) -> Any:
    """Return "balanced", or a dict of finite weights."""
    if isinstance(given, str):
        return one_of(given, "class_weight", ("balanced",))
    if not isinstance(given, dict):
        raise TypeError(f"`class_weight` must be None, 'balanced' or a dict, got {given!r}.")
    return {name: nonnegative(weight, "class_weight") for name, weight in given.items()}


def _codes(targets: Targets) -> Array:
    """Return the number of the class of each row of a vector."""
    Y = targets.labels.complete
    if targets.kind == "binary":
        Y = Y.toarray() if sparse.issparse(Y) else Y
        return np.asarray(Y.ravel(), dtype=np.intp)
    return np.asarray(Y.argmax(axis=1)).ravel()


@dataclass(frozen=True, slots=True)
class EntryWeights:
    """How much the entries of a label matrix count."""

    # Weights of negative and positive entries by their values; "balanced" makes the positives and
    # the negatives of each label count the same.
    class_weight: Any
    # (L,): probability that a positive is recorded; "jain" estimates it from the labels.
    propensities: Any
    propensity_loss: str  # "reweighted" or "unbiased"

    def applied(self, labels: Labels, values: Array, loss: str) -> Labels:
        """Return labels 0 and 1 with the weights of their entries, for a loss of this name.

        `values` are what negatives and positives are called in `class_weight`.
        """
        p, kinds = self._propensities(labels), ("reweighted", "unbiased")
        if one_of(self.propensity_loss, "propensity_loss", kinds) == "unbiased" and p is not None:
            if loss != "squared":
                raise ValueError(
                    "`propensity_loss='unbiased'` needs loss='squared', got "
                    f"{loss!r}, whose unbiased form is not convex or has no minimum; take "
                    "'reweighted'."
                )
            labels, p = _divided(labels, p), None
        if p is None and self.class_weight is None:
            return labels
        listed = _listed(labels)
        weights = np.ones(listed.values.size)
        if self.class_weight is not None:
            weights *= self._of_class(listed, values, labels.shape[1])
        if p is not None:
            weights *= np.where(listed.values > 0, 1 / p[listed.columns], 1.0)
        return Labels.observed(*listed[:3], labels.shape, weights)

    def _propensities(self, labels: Labels) -> Array | None:
        if self.propensities is None:
            return None
        if isinstance(self.propensities, str):
            one_of(self.propensities, "propensities", ("jain",))
            return label_propensities(_positives(labels))
        return checked_propensities(self.propensities, labels.shape[1])

    def _of_class(self, listed: EntryList, names: Array, n_labels: int) -> Array:
        positive, given = listed.values > 0, _class_weights(self.class_weight)
        if isinstance(given, dict):
            if unknown := [name for name in given if name not in names.tolist()]:
                raise ValueError(
                    "`class_weight` must have as keys the values of a label matrix, "
                    f"{names.tolist()}, which are the same for all labels, got {unknown}."
                )
            both = [given.get(name, 1.0) for name in names.tolist()]
            pair = one_weight_each(both, "class_weight", 2, "value")
            return pair[positive.astype(np.intp)]
        each = 2 * listed.columns.astype(np.intp) + positive
        counts = np.bincount(each, minlength=2 * n_labels).reshape(-1, 2)
        halves = 0.5 * counts.sum(axis=1, keepdims=True)
        # A label with one class only has nothing to balance.
        mixed = counts.min(axis=1, keepdims=True) > 0
        factors = np.where(mixed, halves / np.maximum(counts, 1), 1.0)
        return np.asarray(factors.ravel()[each])


def _weighted(labels: Labels, weights: Array) -> Labels:
    listed = _listed(labels)
    of_rows = weights[listed.rows]
    total = of_rows if listed.weights is None else of_rows * listed.weights
    return Labels.observed(*listed[:3], labels.shape, total)


def _positives(labels: Labels) -> Any:
    if labels.listed is None:
        return labels.complete
    kept = labels.listed.values > 0
    ones = np.ones(int(kept.sum()))
    places = (labels.listed.rows[kept], labels.listed.columns[kept])
    return sparse.csr_array((ones, places), shape=labels.shape)


def _divided(labels: Labels, p: Array) -> Labels:
    if labels.listed is not None:
        listed = labels.listed
        return replace(labels, listed=listed._replace(values=listed.values / p[listed.columns]))
    Y = labels.complete
    divided = sparse.csr_matrix(Y @ sparse.diags_array(1 / p)) if sparse.issparse(Y) else Y / p
    return replace(labels, complete=divided)


def _listed(labels: Labels) -> EntryList:
    """Return the known entries one by one."""
    if labels.known is not None:
        return labels.known
    n, L = labels.shape
    if n * L > _LONGEST_LIST:
        raise ValueError(
            f"weights of single entries need a list of all {n * L} of them, more than "
            f"{_LONGEST_LIST}; use fewer labels, or weights of rows with the squared loss."
        )
    Y = labels.complete
    values = (Y.toarray() if sparse.issparse(Y) else Y).ravel().astype(np.float64)
    rows, columns = np.divmod(np.arange(n * L), L)
    return EntryList(rows, columns, values, None)
