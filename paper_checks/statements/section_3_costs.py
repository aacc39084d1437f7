"""Checks of what the operations of Sections 3, 3.1 and 3.2 cost, by counting multiplications."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leml_solver.algorithms import Counted, DenseMatrix, FullSquared
from paper_checks.checking import (
    Bears,
    Effort,
    Kind,
    Outcome,
    Statement,
    Sure,
    Verdict,
    at_least,
    at_most,
    different,
    equal,
)
from paper_checks.statements.section_3_operations import THOROUGH
from paper_checks.worlds.factored import SQUARED, factor_world

Array = NDArray[np.float64]

CONSTANT = 2.0  # of the O() of Algorithm 1: two products with X, two passes over the entries


@Statement(
    id="A8",
    place="Section 3",
    says="The average number of nonzeros is the sum over i of |x|_0 / n.",
    kind=Kind.CONSISTENCY,
    verdict=Verdict.MISPRINT,
    how="Evaluate the printed sum for every choice of x.",
    refuted_by="One value whatever x is.",
    correct="|x_i|_0 under the sum.",
    why="The summand does not depend on the index of the sum.",
    example="Two points with 1 and 3 nonzeros: the average is 2, the printed sum is 1 or 3.",
    sure=Sure.PROVED,
    matters=1,
    where="Section 3, paragraph 7, sentence 5",
    anchor="9dca5c5325bb",
)
def average_number_of_nonzeros(effort: Effort) -> Outcome:
    """The printed sum has no index under it; with x_i it is nnz(X) / n."""
    X = effort.rng.random((50, 40)) < np.linspace(0.05, 0.9, 50)[:, None]
    X[0], X[-1] = np.arange(40) < 1, True
    printed = [printed_average(X, i) for i in range(len(X))]
    return Outcome.of(
        different(
            "spread of the printed value over the choice of x",
            np.ptp(printed),
            0.0,
            1.0,
            "exact",
            bears=Bears.REFUTES,
        ),
        equal("with x_i", X.sum(axis=1).mean(), X.sum() / len(X), 1e-12, bears=Bears.MEANT),
    )


def printed_average(X: NDArray[np.bool_], i: int) -> float:
    """Return the sum over i of |x|_0 / n as printed, the same x in every term."""
    return float(sum(np.count_nonzero(X[i]) for _ in range(len(X))) / len(X))


@Statement(
    id="A9",
    place="Section 3",
    says="The design has O(|Omega| d k) nonzeros, d the average number of nonzero features.",
    kind=Kind.RATE,
    verdict=Verdict.HIDDEN,
    how="Count, with labels spread independently of density, and with one dense point that has "
    "most labels.",
    refuted_by="A count within a constant of the formula for the dense point.",
    correct="The count is k sum_i |Omega_i| |x_i|_0; the formula holds if points with more labels "
    "seen are not the denser ones.",
    why="The count is a sum of products over the points, which is the product of the averages only "
    "if density and number of labels are uncorrelated.",
    example="One of n points has n nonzeros and n labels, the others none: n^2 k nonzeros, against "
    "|Omega| d k = n k.",
    sure=Sure.PROVED,
    matters=1,
    where="Section 3, paragraph 7, sentence 6",
    anchor="7982be00df1f",
)
def nonzeros_of_the_design(effort: Effort) -> Outcome:
    """|Omega| times the average needs points with more labels not to be the denser ones."""
    n, d, k = 1000, 4000, 3
    even, dense = np.full(n, 4), np.r_[d, np.full(n - 1, 4)]
    seen = effort.rng.permutation(np.repeat([1, 3], n // 2))
    uneven = np.r_[200, np.ones(n - 1, dtype=int)]
    facts = []
    for name, nonzeros, counts in (("independent", even, seen), ("one dense point", dense, uneven)):
        exact = k * int((nonzeros * counts).sum())
        facts.append((name, exact / printed_design_nonzeros(nonzeros, counts, k)))
    world = factor_world(effort.rng, SQUARED)
    sparse = replace(world, X=world.X * (effort.rng.random(world.X.shape) < 0.4))
    counted = int(sparse.H.shape[1] * ((sparse.X != 0).sum(axis=1) * sparse.seen.sum(axis=1)).sum())
    return Outcome.of(
        at_least(f"{facts[1][0]}: nonzeros over the formula", facts[1][1], 50, bears=Bears.REFUTES),
        equal(
            f"{facts[0][0]}: nonzeros over the formula",
            facts[0][1],
            1.0,
            1e-12,
            bears=Bears.CONDITION,
        ),
        equal(
            "count against a design written out",
            counted,
            np.count_nonzero(sparse.design),
            0,
            "exact",
            bears=Bears.CONTROL,
        ),
    )


def printed_design_nonzeros(nonzeros: Array, counts: Array, k: int) -> float:
    """Return |Omega| d k with d the average number of nonzeros."""
    return float(counts.sum() * nonzeros.mean() * k)


@dataclass(frozen=True, eq=False)
class Tally:
    """A dense matrix that counts multiplications by its nonzeros, as a sparse one would do them."""

    inner: DenseMatrix
    done: list[int]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def times(self, B: Array) -> Array:
        """Return the product with B and count it."""
        self.done.append(np.count_nonzero(self.inner.array) * B.shape[1])
        return self.inner.times(B)

    def adjoint(self, A: Array) -> Array:
        """Return the product of the transpose with A and count it."""
        self.done.append(np.count_nonzero(self.inner.array) * A.shape[1])
        return self.inner.adjoint(A)


def tally(A: Array) -> Tally:
    """Return a matrix that counts."""
    return Tally(DenseMatrix(A), [])


@Statement(
    id="A15",
    place="Algorithm 1",
    says="Gradient and Hessian product cost O((nnz(X) + |Omega| + d) k).",
    kind=Kind.RATE,
    verdict=Verdict.HOLDS,
    how="Count multiplications with X in the solver, plus two passes over the entries, for three "
    "densities.",
    refuted_by="A count above twice the formula.",
)
def cost_of_algorithm_1(effort: Effort) -> Outcome:
    """Two products with X and two passes over the entries a gradient, whatever the sizes."""
    gradients, images = [], []
    for share in (0.1, 0.5, 0.9):
        world = factor_world(effort.rng, SQUARED, share=share)
        world = replace(world, X=world.X * (effort.rng.random(world.X.shape) < share))
        k, d = world.W.shape[1], world.W.shape[0]
        X = tally(world.X)
        problem = replace(world.feature_problem, features=Counted(X))
        entries = 2 * int(world.seen.sum()) * k  # predictions or b_i . h_j, and D H or U H
        unit = (np.count_nonzero(world.X) + int(world.seen.sum()) + d) * k
        point = problem.at(world.W)
        problem.gradient(point)
        gradients.append((sum(X.done) + entries + d * k) / unit)
        X.done.clear()
        problem.hessian(point)(world.W.copy())
        images.append((sum(X.done) + entries + d * k) / unit)
    return Outcome.of(
        at_most(
            "operations of a gradient over (nnz(X) + |Omega| + d) k",
            max(gradients),
            CONSTANT,
            bears=Bears.SUPPORTS,
        ),
        at_most(
            "operations of a Hessian product over the same",
            max(images),
            CONSTANT,
            bears=Bears.SUPPORTS,
        ),
        at_least("the same, least", min(*gradients, *images), 1.0, bears=Bears.CONTROL),
    )


@Statement(
    id="A16",
    place="Section 3.2",
    says="Algorithm 2 takes O((nnz(X) + nnz(Y)) k + (n + L) k^2) time.",
    kind=Kind.RATE,
    verdict=Verdict.HIDDEN,
    how="Count multiplications in the solver's Algorithm 2, for d below and far above nnz(X).",
    refuted_by="A count within a constant of the formula for d far above nnz(X).",
    correct="Add d k, needed for lambda w and for the result itself; it is covered by nnz(X) k "
    "only if X has no more columns than nonzeros.",
    why="The result is a d x k matrix, to which lambda w is added.",
    example="X with one nonzero, d = 10^6, k = 10: 10 products with X, but 10^7 numbers to write.",
    sure=Sure.PROVED,
    matters=1,
    where="Section 3.2, paragraph 3, sentence 4",
    anchor="577a6ccf8549",
)
def cost_of_algorithm_2(effort: Effort) -> Outcome:
    """The printed cost leaves out dk, which is most of it when X has more columns than nonzeros."""
    many, few = (_algorithm_2(effort, d) for d in (6, 20_000))
    return Outcome.of(
        at_most(
            "operations over the printed count, d < nnz(X)", many[0], 3.0, bears=Bears.CONDITION
        ),
        at_least("the same, d = 20,000 and 40 nonzeros", few[0], 20.0, bears=Bears.REFUTES),
        at_most("the same with dk added", few[1], 3.0, bears=Bears.REPAIRED),
    )


def _algorithm_2(effort: Effort, d: int) -> tuple[float, float]:
    """Return the operations of one W-step over twice the printed count, without and with dk."""
    n, n_labels, k = 20, 8, 3
    X = np.zeros((n, d))
    X[np.repeat(np.arange(n), 2), effort.rng.integers(d, size=2 * n)] = 1.0
    Y = (effort.rng.random((n, n_labels)) < 0.3).astype(float)
    Y[0] = 1.0
    features, labels = tally(X), tally(Y)
    one_step = replace(THOROUGH, cg_steps=1)
    iterate = FullSquared(Counted(features), labels, 1.0, one_step, False)
    iterate.start(effort.rng.standard_normal((d, k)), effort.rng.standard_normal((n_labels, k)))
    features.done.clear()
    iterate.update_W()
    # A gradient, one Hessian product and X W afresh; each writes or reads d k numbers besides.
    done = sum(features.done) + sum(labels.done) + (2 * n + n_labels) * k**2 + 2 * d * k
    unit = printed_cost(int(X.sum()), int(Y.sum()), n, n_labels, k)
    return done / (2 * unit), done / (2 * (unit + d * k))


def printed_cost(nnz_X: int, nnz_Y: int, n: int, n_labels: int, k: int) -> float:
    """Return (nnz(Y) + nnz(X)) k + (n + L) k^2."""
    return (nnz_Y + nnz_X) * k + (n + n_labels) * k**2
