"""Checks of Section 2: the formulation around Claims 1 and 2."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from leml_solver import AlternatingOptions, TraceBall, fit_factors, minimise
from leml_solver.losses import Squared
from leml_solver.problem import Problem
from paper_checks.facts import at_least, different, equal
from paper_checks.instances import Instance, ordinary
from paper_checks.registry import Effort, Outcome, check

Array = NDArray[np.float64]

# Two bicliques, with 9 and with 4 edges.
TWO_BLOCKS = np.asarray(np.kron(np.eye(2), np.ones((3, 3)))[:5, :5], dtype=np.float64)
PRINTED_INDICES = ("ij", "l")  # the label's index in the formula and in the words around it
CORRECT_INDICES = ("ij", "j")


@check("F5")
def label_index(effort: Effort) -> Outcome:  # noqa: ARG001
    """The words speak of an index that the formula does not bind."""
    unbound = [
        len(set(words) - set(formula)) for formula, words in (PRINTED_INDICES, CORRECT_INDICES)
    ]
    return Outcome(
        (
            at_least("unbound indices as printed", unbound[0], 1),
            equal("unbound indices with the j-th label", unbound[1], 0, 0, "exact"),
        )
    )


@check("F6")
def one_letter_for_two_quantities(effort: Effort) -> Outcome:
    """Penalty 2 and radius 2 give different predictors; the trace norm is the link."""
    data = ordinary(effort.rng)
    penalised = penalised_predictor(data, 2.0)
    problem = Problem.from_dense(Squared(), data.X, data.Y)
    radius = TraceBall(1.0).norm(penalised)
    Z = minimise(problem, TraceBall(2.0), tol=1e-10).Z
    linked = minimise(problem, TraceBall(radius), tol=1e-10)
    # The objective is strongly convex: a gap g leaves |Z - Z*| <= sqrt(2 g / smallest eigenvalue).
    smallest = float(np.linalg.eigvalsh(data.X.T @ data.X)[0])
    room = 2 * np.sqrt(2 * 1e-8 * problem.scale / smallest)
    apart = float(np.linalg.norm(Z - penalised))
    near = float(np.linalg.norm(linked.Z - penalised))
    return Outcome(
        (
            different("distance of the two predictors", apart, 0.0, 10 * room, "certified gaps"),
            equal(
                "distance with the radius of the penalised one", near, 0.0, room, "certified gaps"
            ),
        )
    )


def penalised_predictor(data: Instance, penalty: float, tol: float = 1e-14) -> Array:
    """Return the minimiser of |Y - XZ|^2 / 2 + penalty |Z|_tr by factors of full size."""
    options = AlternatingOptions(max_iter=400, tol=tol, certify=False)
    size = min(data.X.shape[1], data.Y.shape[1])
    found = fit_factors(data.X, data.Y, rank=size, penalty=penalty, options=options)
    return np.asarray(found.W @ found.H.T)


@check("F7")
def hardness_by_bicliques(effort: Effort) -> Outcome:
    """Run the reduction behind the hardness result on small bipartite graphs."""
    graph = (effort.rng.random((effort.pick(4, 6), 6)) < 0.6).astype(np.float64)
    graph[0, 0] = 1.0
    values, blocks = rank_one_values(graph), rank_one_values(TWO_BLOCKS)
    predicted = float(graph.sum()) - largest_biclique(graph)
    reason = "the weight on non-edges is 1e6, not infinite"
    return Outcome(
        (
            equal("least weighted error, random graph", min(values), predicted, 0.02, reason),
            equal("least weighted error, two blocks", min(blocks), 4.0, 0.02, reason),
            equal("worst local minimum, two blocks", max(blocks), 9.0, 0.02, reason),
        ),
        note="NP-hardness is by citation (Gillis and Glineur, weighted low-rank approximation); "
        "the check runs its reduction: the best rank-one fit finds the largest biclique.",
    )


def rank_one_values(graph: Array) -> list[float]:
    """Return the local minima of the weighted rank-one fit, started from every set of rows."""
    weights = np.where(graph > 0, 1.0, 1e6)
    starts = (np.array(bits, dtype=float) for bits in product((0, 1), repeat=len(graph)))
    return [weighted_rank_one(graph, weights, u) for u in starts if u.any()]


def weighted_rank_one(target: Array, weights: Array, u: Array) -> float:
    """Alternate between u and v in sum w (a - u v)^2 and return the value reached."""
    for _ in range(100):
        v = (weights * target).T @ u / np.maximum(weights.T @ (u * u), 1e-300)
        u = (weights * target) @ v / np.maximum(weights @ (v * v), 1e-300)
    return float((weights * np.square(target - np.outer(u, v))).sum())


def largest_biclique(adjacency: Array) -> int:
    """Return the number of edges of the largest complete bipartite subgraph, by enumeration."""
    rows = (np.array(bits, dtype=bool) for bits in product((0, 1), repeat=len(adjacency)))
    return max(int(r.sum() * adjacency[r].all(axis=0).sum()) for r in rows if r.any())


@check("F12")
def one_half_or_not(effort: Effort) -> Outcome:
    """Equation (12) is the gradient of half the squared error; the penalty halves with it."""
    data = ordinary(effort.rng)
    W, H = effort.rng.standard_normal((8, 3)), effort.rng.standard_normal((7, 3))
    direction = effort.rng.standard_normal((8, 3))
    slope = np.sum((data.X.T @ (data.X @ W @ H.T - data.Y) @ H) * direction)
    with_half, without = (_directional(data, (W, H), direction, half) for half in (0.5, 1.0))
    Q = np.linalg.qr(data.X)[0]
    unit = Instance("orthonormal", Q, data.Y * 5, 3)
    doubled = soft_threshold(Q.T @ unit.Y, 2.0 / 2)
    Z = penalised_predictor(unit, 1.0)
    other = soft_threshold(Q.T @ unit.Y, 2.0)
    size = float(np.linalg.norm(Z))
    reason = "alternating minimisation to the rounding limit"
    return Outcome(
        (
            equal("slope (12) over that of half the squared error", slope / with_half, 1.0, 1e-10),
            equal("slope (12) over that of the squared error", slope / without, 0.5, 1e-10),
            equal(
                "penalty 2 without 1/2 against penalty 1 with it",
                np.linalg.norm(Z - doubled),
                0.0,
                1e-5 * size,
                reason,
            ),
            different("penalty 2 in both", np.linalg.norm(Z - other), 0.0, 1e-2 * size, reason),
        )
    )


def _directional(
    data: Instance, factors: tuple[Array, Array], direction: Array, half: float
) -> float:
    """Return the slope of half * |Y - X W H^T|^2 along a direction by a complex step, exactly."""
    W, H = factors
    R = data.Y - data.X @ (W + 1e-30j * direction) @ H.T
    return float(half * np.sum(R * R).imag / 1e-30)


def soft_threshold(A: Array, level: float) -> Array:
    """Return A with its singular values lowered by `level`, the minimiser for orthonormal X."""
    U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
    return np.asarray((U * np.maximum(sigma - level, 0.0)) @ Vt)
