"""What theory says about a real data set, and what is measured on it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from argument_checks import generator, same_count
from leml_theory.bounds import BoundValue
from leml_theory.diagnose.comparison import Comparison, Rows, compare, gap_bound
from leml_theory.diagnose.features import FeatureFacts, feature_facts
from leml_theory.diagnose.labels import KnownLabels, LabelFacts
from leml_theory.diagnose.points import Points
from leml_theory.diagnose.wording import sentences
from leml_theory.runs.cells import json_ready


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What the theory promises for a data set, and what both norms achieve there.

    Attributes
    ----------
    labels : LabelFacts
        Which labels are observed.
    unobserved : int
        Labels without any observed entry; they are left out.
    raw : FeatureFacts
        The features as they are.
    centred : FeatureFacts or None
        The features minus their mean; None where all points are equal.
    measured : Comparison or None
        Trace against Frobenius norm without intercept, which is the theory's class of models; None
        without held-out rows.
    measured_centred : Comparison or None
        The same with an unpenalised intercept, which is equivalent to centring.
    """

    labels: LabelFacts
    unobserved: int
    raw: FeatureFacts
    centred: FeatureFacts | None
    measured: Comparison | None = None
    measured_centred: Comparison | None = None

    @property
    def n(self) -> int:
        """Number of points."""
        return self.raw.setting.n

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return self.raw.setting.n_features

    @property
    def n_labels(self) -> int:
        """Number of labels L that are observed at all."""
        return self.raw.setting.n_labels

    @property
    def compared(self) -> list[Comparison]:
        """The comparisons that were made, without and with an intercept."""
        return [made for made in (self.measured, self.measured_centred) if made is not None]

    @property
    def scaled_averages(self) -> dict[str, float]:
        """Norm of the fitted Z times the average of the unit ball, models without intercept.

        The advantage is for balls of the same radius; here each ball has the size of its model.
        """
        if self.measured is None:
            return {}
        norms = {"trace": self.measured.trace.norm, "frobenius": self.measured.frobenius.norm}
        return {ball: norm * self.raw.averages[ball].value for ball, norm in norms.items()}

    @property
    def gap_bounds(self) -> dict[str, BoundValue]:
        """Data-dependent bounds on the generalisation gaps of the models without intercept."""
        if self.measured is None:
            return {}
        models = {"trace": self.measured.trace, "frobenius": self.measured.frobenius}
        return {ball: gap_bound(self.raw, ball, model) for ball, model in models.items()}

    def sentences(self) -> tuple[str, ...]:
        """Return the diagnosis in plain sentences: in short, at most ten findings, details."""
        return sentences(self)

    def record(self) -> dict[str, Any]:
        """Return everything as plain numbers, strings and lists; numbers that are infinite as None.

        The dictionary goes through `json.dumps` and back unchanged.
        """
        return {
            "n": self.n,
            "n_features": self.n_features,
            "n_labels": self.n_labels,
            "unobserved_labels": self.unobserved,
            "labels": json_ready(self.labels),
            "raw": _feature_record(self.raw),
            "centred": None if self.centred is None else _feature_record(self.centred),
            "measured": _comparison_record(self.measured),
            "measured_centred": _comparison_record(self.measured_centred),
            "scaled_averages": self.scaled_averages,
            "gap_bounds": _bounds_record(self.gap_bounds),
            "sentences": list(self.sentences()),
        }


def diagnose(
    X: Any,
    Y: Any,
    *,
    rng: np.random.Generator,
    test: tuple[Any, Any] | None = None,
    observed: float = 1.0,
    draws: int = 20,
    report: Callable[[str], object] | None = None,
) -> Diagnosis:
    """Say what the theory promises for a data set, and measure it where there are held-out rows.

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        Features of the training rows.
    Y : (n, L) array or sparse matrix of 0/1
        Labels; NaN in an array is missing, a sparse matrix is fully known.
    rng : Generator
        Source of the signs, of what is hidden, and of the rows on which penalties are chosen.
    test : pair of (m, d) features and (m, L) labels, optional
        Held-out rows, at least two.  Without them nothing is fitted, which is much faster.
    observed : float
        Share of each point's training labels that is kept, at least one label, drawn without
        replacement before anything else.
    draws : int
        Number of independent draws behind the Rademacher averages, at least 2; the bound on the
        gap asks for 10.
    report : callable, optional
        Called with a line of text before each stage.

    Paper: Theorem 3, Theorem 4, Theorem 6.
    """
    say = report or (lambda _: None)
    rows = _rows(X, Y, "X", "Y")
    if not Points(rows.X).second_moment():
        raise ValueError("`X` must have a feature that is not zero, got none.")
    held_out = None if test is None else _test_rows(test, rows)
    known = rows.labels.with_hidden(observed, generator(rng))
    seen = np.flatnonzero(known.observations)
    if not seen.size:
        raise ValueError("`Y` must have an observed label, got none.")
    train = Rows(rows.X, known.columns(seen))
    say("measuring moments and Rademacher averages")
    raw, centred = feature_facts(Points.of(train.X), train.labels, draws=draws, rng=rng)
    compared: list[Comparison | None] = [None, None]
    if held_out is not None:
        tested = Rows(held_out.X, held_out.labels.columns(seen))
        compared = [
            compare(train, tested, intercept=intercept, rng=rng, report=say)
            for intercept in (False, True)
        ]
    return Diagnosis(train.labels.facts, known.shape[1] - seen.size, raw, centred, *compared)


def _rows(X: Any, Y: Any, features: str, labels: str) -> Rows:
    """Check features and labels and return them together."""
    points, known = Points.of(X, features), KnownLabels.of(Y, labels)
    same_count(points.shape[0], known.shape[0], features, labels)
    return Rows(points.X, known)


def _test_rows(test: tuple[Any, Any], train: Rows) -> Rows:
    """Check the held-out rows, which must be as wide as the training rows."""
    rows = _rows(*test, "X_test", "Y_test")
    widths = (rows.X.shape[1], rows.labels.shape[1])
    expected = (train.X.shape[1], train.labels.shape[1])
    if widths != expected or rows.X.shape[0] < 2:
        raise ValueError(
            f"`test` must be at least 2 rows of {expected[0]} features and {expected[1]} labels, "
            f"got {rows.X.shape[0]} rows of {widths[0]} and {widths[1]}."
        )
    return rows


def _feature_record(facts: FeatureFacts) -> dict[str, Any]:
    """Return the facts with what follows from them."""
    promises = ("top_share", "ceiling", "gaussian_advantage", "theorem_4_advantage")
    more = (*promises, "promised_advantage", "points_needed")
    made = json_ready(facts) | {name: json_ready(getattr(facts, name)) for name in more}
    return {**made, "bounds": _bounds_record(facts.bounds)}


def _bounds_record(bounds: dict[str, BoundValue]) -> dict[str, Any]:
    """Return bounds with their failures in words."""
    return {
        name: {**json_ready(bound), "failures": [str(failure) for failure in bound.failures]}
        for name, bound in bounds.items()
    }


def _comparison_record(comparison: Comparison | None) -> dict[str, Any] | None:
    """Return a comparison with the gaps of its models."""
    if comparison is None:
        return None
    made: dict[str, Any] = json_ready(comparison)
    for ball in ("trace", "frobenius"):
        made[ball]["gap"] = getattr(comparison, ball).gap
    return made
