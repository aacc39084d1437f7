"""The two learners that theory compares, at one penalty each, and their losses row by row."""

import warnings
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from leml_solver import AlternatingOptions, FactorResult, Labels, fit_factors
from leml_solver.algorithms import Compression
from leml_solver.baselines.binary_relevance import BinaryRelevanceClassifier
from leml_solver.baselines.regression import Centred
from leml_solver.losses import Squared
from leml_solver.metrics import TrueLabels, row_blocks
from leml_theory.arrays import Array
from leml_theory.diagnose.labels import KnownLabels

# Factors this wide lose nothing that counts; with missing labels their cost is that of the entries.
_MAX_RANK = {"full": 256, "missing": 64}


@dataclass(frozen=True, slots=True, eq=False)
class LinearModel:
    """Scores X W H^T + offset, or X W + offset where H is None; `norm` is that of the ball."""

    W: Array
    H: Array | None
    offset: Array
    norm: float

    def scores(self, X: Any) -> Array:
        """Return the scores of some rows, (m, L)."""
        scores = np.asarray(X @ self.W)
        return (scores if self.H is None else scores @ self.H.T) + self.offset


class Learner(Protocol):
    """A way to fit, and the penalties worth trying."""

    @property
    def ball(self) -> str:
        """Name of the penalised norm."""

    def penalties(self, X: Any, labels: KnownLabels) -> Array:
        """Return penalties in steps of four, ascending, from hardly any to nearly Z = 0."""

    def fit(self, X: Any, labels: KnownLabels, penalty: float) -> LinearModel:
        """Minimise the sum of squared losses plus the penalty."""


class TraceLearner:
    """LEML with the squared loss: penalty times the trace norm, from warm starts."""

    ball = "trace"

    def __init__(self, intercept: bool, rng: np.random.Generator) -> None:
        self.intercept, self._rng = intercept, rng
        self._fits: dict[float, FactorResult] = {}

    def penalties(self, X: Any, labels: KnownLabels) -> Array:
        """Return shares of the norm of X^T Y, above which Z = 0."""
        return np.asarray(_power_norm(X, labels.Y, self._rng) * 4.0 ** np.arange(-5, 0))

    def fit(self, X: Any, labels: KnownLabels, penalty: float) -> LinearModel:
        """Fit from the nearest smaller penalty: a larger one has lost directions for good."""
        smaller = [key for key, made in self._fits.items() if key <= penalty and made.W.any()]
        start: Any = "svd"
        if smaller:
            nearest = self._fits[max(smaller)]
            start = (nearest.W, nearest.H)
        widest = _MAX_RANK["full" if labels.mask is None else "missing"]
        rank = min(widest, X.shape[1], labels.shape[1])
        options = AlternatingOptions(
            intercept=self.intercept, start=start, max_iter=50, dtype="float64", certify=False
        )
        known = (
            Labels.full(labels.Y) if labels.mask is None else Labels.masked(labels.Y, labels.mask)
        )
        made = fit_factors(X, known, rank=rank, penalty=penalty, random_state=0, options=options)
        self._fits[penalty] = made
        offset = np.zeros(labels.shape[1]) if made.intercept is None else made.intercept
        return LinearModel(made.W, made.H, offset, made.trace_norm)


class FrobeniusLearner:
    """Binary relevance with the squared loss: penalty times half the squared Frobenius norm."""

    ball = "frobenius"

    def __init__(self, intercept: bool) -> None:
        self.intercept = intercept
        self._decomposed: tuple[Centred, Compression] | None = None

    def penalties(self, X: Any, labels: KnownLabels) -> Array:  # noqa: ARG002
        """Return shares of the sum of |x|^2, which is the trace of X^T X."""
        return np.asarray((float((X * X).sum()) or 1.0) * 4.0 ** np.arange(-9, -1))

    def fit(self, X: Any, labels: KnownLabels, penalty: float) -> LinearModel:
        """Fit every label on its own."""
        solve = self._ridge if labels.mask is None else self._separate
        Z, offset = solve(X, labels, penalty)
        return LinearModel(Z, None, offset, float(np.linalg.norm(Z)))

    def _ridge(self, X: Any, labels: KnownLabels, penalty: float) -> tuple[Array, Array]:
        """Return Z and intercept for full labels; one decomposition of X serves all penalties."""
        if self._decomposed is None or self._decomposed[0].X is not X:
            data = Centred(X, labels.Y, self.intercept, self.intercept)
            self._decomposed = data, data.compression()
        data, compression = self._decomposed
        Z = compression.predictor(compression.M, penalty)
        return Z, np.asarray(data.Y_means - data.X_means @ Z)

    def _separate(self, X: Any, labels: KnownLabels, penalty: float) -> tuple[Array, Array]:
        """Return Z and intercept where labels are missing."""
        model = BinaryRelevanceClassifier(
            loss="squared", penalty=penalty, fit_intercept=self.intercept
        )
        # Some rows may lack a label, and a tiny penalty converges slowly: the held-out rows show
        # what such models are worth.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model.fit(X, labels.Y, labels.mask)
        return model.Z_, model.intercept_


@dataclass(frozen=True, slots=True, eq=False)
class RowLosses:
    """Row by row: its contribution, whose mean is the risk, and whether the top label is positive.

    Attributes
    ----------
    losses : (m,) array
        Sum of losses over a row's observed labels, divided by their number on average.
    right : (m,) array
        1 where the observed label of largest score is positive, else 0.
    """

    losses: Array
    right: Array


def row_losses(model: LinearModel, X: Any, labels: KnownLabels) -> RowLosses:
    """Return the squared losses and the successes of the top label, in blocks of rows."""
    losses, right = np.zeros((2, X.shape[0]))
    true_labels = TrueLabels(labels.Y, labels.mask)
    for start, stop in row_blocks(labels.shape):
        known, scores = true_labels.block(start, stop), model.scores(X[start:stop])
        values = Squared().value(known.astype(np.float64), scores)
        losses[start:stop] = np.where(known >= 0, values, 0.0).sum(axis=1)
        best = np.where(known >= 0, scores, -np.inf).argmax(axis=1)
        right[start:stop] = np.take_along_axis(known, best[:, None], axis=1).ravel() == 1
    return RowLosses(losses / labels.counts.mean(), right)


def _power_norm(X: Any, Y: Any, rng: np.random.Generator) -> float:
    """Return the norm of X^T Y to a few per cent, which is all that a grid needs."""
    v = rng.standard_normal(Y.shape[1])
    for _ in range(20):
        size = np.linalg.norm(v)
        if size == 0:
            return 1.0  # Z = 0 is best whatever the penalty
        v = Y.T @ (X @ (X.T @ (Y @ (v / size))))
    return float(np.sqrt(np.linalg.norm(v)))
