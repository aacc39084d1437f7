"""Small factored problems, and the same done the long way: every h_j (x) x_i written out.

The long way is the paper's own definition, Equations (5) to (9); what `leml_solver` computes by
Algorithms 1 to 3 is compared with it.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from leml_solver import Labels, Loss, Squared, minimise_rank
from leml_solver.algorithms import (
    CountingMatrix,
    FeatureProblem,
    FullSquared,
    LabelProblem,
    Plan,
    as_matrix,
    entries_of,
)
from leml_theory.arrays import Array
from paper_checks.worlds.instances import adversarial

EXACT = Plan(columnwise=False, precondition=False, balance=False, factorise=True)
"""Alternating minimisation as the paper writes it, each subproblem solved exactly."""
# Of the runs whose ends are compared with what is proved.
PENALTY, ITERATIONS = 0.5, 300


@dataclass(frozen=True, eq=False)
class FactorWorld:
    """Data with missing labels, a loss, a penalty, and a point (W, H)."""

    loss: Loss
    X: Array
    Y: Array
    seen: NDArray[np.bool_]
    W: Array
    H: Array
    penalty: float

    @cached_property
    def labels(self) -> Labels:
        """The labels as the solver takes them."""
        return Labels.masked(self.Y, self.seen)

    @cached_property
    def feature_problem(self) -> FeatureProblem:
        """The W-problem of the solver."""
        entries = entries_of(self.labels, self.loss, np.float64)
        features = CountingMatrix(as_matrix(self.X))
        return FeatureProblem(features, entries, self.H, None, self.penalty, precondition=False)

    @cached_property
    def label_problem(self) -> LabelProblem:
        """The H-problem of the solver."""
        entries = entries_of(self.labels, self.loss, np.float64)
        penalties = np.full(self.H.shape[1], self.penalty)
        return LabelProblem(entries, self.X @ self.W, penalties, precondition=False)

    @cached_property
    def design(self) -> Array:
        """The |Omega| x dk matrix of all h_j (x) x_i."""
        pairs = zip(*np.nonzero(self.seen), strict=True)
        return np.array([np.kron(self.H[j], self.X[i]) for i, j in pairs])

    @cached_property
    def targets(self) -> Array:
        """The observed labels, in the order of the design."""
        return self.Y[self.seen]

    def value(self, w: Array) -> float:
        """Return g(w) of Equation (7)."""
        fitted = self.design @ w
        return float(self.loss.value(self.targets, fitted).sum() + 0.5 * self.penalty * w @ w)

    def gradient(self, w: Array) -> Array:
        """Return the gradient of g by Equation (8)."""
        slopes = self.loss.derivative(self.targets, self.design @ w)
        return np.asarray(self.design.T @ slopes + self.penalty * w)

    def hessian(self, w: Array) -> Array:
        """Return the Hessian of g by Equation (9)."""
        bends = self.loss.second_derivative(self.targets, self.design @ w)
        square = self.design.T @ (bends[:, None] * self.design)
        return np.asarray(square + self.penalty * np.eye(w.size))


def vec(A: Array) -> Array:
    """Return the columns of A, one below the other."""
    return A.ravel(order="F")


def factor_world(
    rng: np.random.Generator, loss: Loss, *, share: float = 0.6, penalty: float = 0.7
) -> FactorWorld:
    """Return a world with n = 15, d = 7, L = 6, k = 3 and labels that the loss can use."""
    n, d, n_labels, k = 15, 7, 6, 3
    X, W, H = (rng.standard_normal(shape) for shape in ((n, d), (d, k), (n_labels, k)))
    Y = rng.standard_normal((n, n_labels))
    seen = rng.random(Y.shape) < share
    seen[0, :] = True
    return FactorWorld(loss, X, np.sign(Y) if loss.binary else Y, seen, W, H, penalty)


def alternation(X: Array, Y: Array, penalty: float, W: Array) -> FullSquared:
    """Return alternating minimisation for squared loss and full labels, about to start from W."""
    iterate = FullSquared(CountingMatrix(as_matrix(X)), as_matrix(Y), penalty, EXACT, False)
    iterate.start(W, np.zeros((Y.shape[1], W.shape[1])))
    return iterate


def alternate(X: Array, Y: Array, penalty: float, W: Array, iterations: int) -> FullSquared:
    """Return the iterate after a number of exact updates of H and W."""
    iterate = alternation(X, Y, penalty, W)
    for _ in range(iterations):
        iterate.update_H()
        iterate.update_W()
    return iterate


def factored_objective(iterate: FullSquared) -> float:
    """Return the sum of losses plus penalty (|W|^2 + |H|^2) / 2."""
    squares = np.square(iterate.W).sum() + np.square(iterate.H).sum()
    return float(iterate.loss() + 0.5 * iterate.penalty * squares)


SQUARED = Squared()


def proved_bound(
    X: NDArray[np.float64], Y: NDArray[np.float64], rank: int, penalty: float
) -> float:
    """Return a lower bound on the minimum of (5)."""
    certificate = minimise_rank(X, Y, rank, penalty).certificate
    bound = None if certificate is None else certificate.rank_lower_bound
    return 0.0 if bound is None else bound


def proved_gaps(rng: np.random.Generator) -> dict[str, float]:
    """Return, by data set, (end of a random start - bound) over the objective at Z = 0."""
    gaps = {}
    for data in adversarial(rng):
        if data.Y.any():
            W = rng.standard_normal((data.X.shape[1], data.rank))
            end = factored_objective(alternate(data.X, data.Y, PENALTY, W, ITERATIONS))
            gap = end - proved_bound(data.X, data.Y, data.rank, PENALTY)
            gaps[data.name] = gap / (0.5 * float(np.square(data.Y).sum()))
    return gaps
