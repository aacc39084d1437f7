"""Checks of Section 2: the formulation around Claims 1 and 2."""

from itertools import product

import numpy as np
from numpy.typing import NDArray

from leml_solver import AlternatingOptions, Problem, Squared, TraceBall, fit_factors, minimise
from leml_solver.algorithms import low_rank_least_squares
from leml_theory.arrays import Array
from paper_checks import printed
from paper_checks.checking import Effort, Findings, Statement, Sure, Verdict
from paper_checks.checking.fact import CONDITION, MEANT, REFUTES, REPAIRED, SUPPORTS
from paper_checks.worlds.instances import Instance, ordinary

# Two bicliques, with 9 and with 4 edges.
TWO_BLOCKS = np.asarray(np.kron(np.eye(2), np.ones((3, 3)))[:5, :5], dtype=np.float64)


@Statement(
    id="F5",
    where="Section 2, paragraph 1, sentence 3",
    says="y_i^j = 1 says that the l-th label is present.",
    verdict=Verdict.MISPRINT,
    refuted_by="A sentence that binds l.",
    correct="It says that the j-th label is present; the sentence begins with 'for any j'.",
    why="The sentence binds j and then speaks of l.",
    example="y_i^3 = 1: is the third label present, or the l-th?",
    sure=Sure.PROVED,
)
def label_index(_: Effort) -> Findings:
    """Compare the index that the sentence binds with the one that its words use."""
    binding, formula, words = printed.QUOTED["index of a label"].written
    bound, spoken, used = binding[0], words[0], formula.partition("^")[2][0]
    yield REFUTES.count("the words speak of the bound index", spoken == bound, 0)
    yield MEANT.count("the formula uses the bound index", used == bound, 1)


@Statement(
    id="F6",
    place="Equation (1)",
    says="Section 4 analyses Equation (2), but for its rank constraint, as the minimiser over the "
    "ball r(Z) <= lambda, with the letter that weighs the penalty in Equations (1) and (2).",
    verdict=Verdict.HIDDEN,
    refuted_by="Equal predictors for penalty 2 and radius 2.",
    correct="If the radius is the trace norm of the penalised minimiser: two quantities, which "
    "need two names.",
    why="A penalty weight and a radius are different quantities; the two problems have the same "
    "minimiser only if the radius is the norm of the penalised one.",
    example="Minimise (z - 3)^2/2: with penalty 2|z| the minimiser is 1, with radius 2 it is 2.",
    sure=Sure.PROVED,
    matters=2,
    where="Section 4, paragraph 4, sentence 2",
)
def one_letter_for_two_quantities(effort: Effort) -> Findings:
    """One problem with penalty 2, with radius 2, and with the radius of the penalised solution."""
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
    reason = "certified gaps"
    yield REFUTES.different("distance of the two predictors", apart, 0.0, 10 * room, reason)
    yield CONDITION.equal("the same with the penalised one's radius", near, 0.0, room, reason)


def penalised_predictor(data: Instance, penalty: float, tol: float = 1e-14) -> Array:
    """Return the minimiser of |Y - XZ|^2 / 2 + penalty |Z|_tr by factors of full size."""
    options = AlternatingOptions(max_iter=400, tol=tol, certify=False)
    size = min(data.X.shape[1], data.Y.shape[1])
    found = fit_factors(data.X, data.Y, rank=size, penalty=penalty, options=options)
    return np.asarray(found.W @ found.H.T)


@Statement(
    id="F7",
    place="Equation (2)",
    says="The rank-constrained problem is NP-hard in general.",
    refuted_by="A weighted rank-one fit whose least error is not edges minus largest biclique.",
)
def hardness_by_bicliques(effort: Effort) -> Findings:
    """By citation; on small graphs the best rank-one fit must find the largest biclique."""
    graph = (effort.rng.random((effort.pick(4, 6), 6)) < 0.6).astype(np.float64)
    graph[0, 0] = 1.0
    values, blocks = rank_one_values(graph), rank_one_values(TWO_BLOCKS)
    predicted = float(graph.sum()) - largest_biclique(graph)
    reason = "the weight on non-edges is 1e6, not infinite"
    yield SUPPORTS.equal("least weighted error, random graph", min(values), predicted, 0.02, reason)
    yield SUPPORTS.equal("least weighted error, two blocks", min(blocks), 4.0, 0.02, reason)
    yield SUPPORTS.equal("worst local minimum, two blocks", max(blocks), 9.0, 0.02, reason)
    yield (
        "NP-hardness is by citation (Gillis and Glineur, weighted low-rank approximation); "
        "the check runs its reduction: the best rank-one fit finds the largest biclique."
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


@Statement(
    id="F14",
    where="Section 2, paragraph 1, sentence 4",
    says="The methods easily extend to labels with more than two values, 1 to C.",
    verdict=Verdict.HIDDEN,
    refuted_by="Predictions from the numbers that do not depend on the order of the names.",
    correct="With one column of Z for each class of each label (L C in all) and the largest score "
    "chosen. One column per label, as in Equation (1), takes the names of the classes for numbers.",
    why="With one column of Z per label, the names 1 to C of the classes are taken for numbers, "
    "and another order of the names gives another fit.",
    example="Three points x = -1, 0, 1, a class each. Named 3, 1, 2, the best line predicts 2.5, "
    "2, 1.5, wrong at x = 0; named 1, 2, 3, the line x + 2 is exact.",
    sure=Sure.PROVED,
    matters=2,
)
def more_than_two_classes(effort: Effort) -> Findings:
    """Four classes in the plane: squared loss on their numbers and on indicators, also renamed."""
    classes = effort.rng.integers(4, size=effort.pick(300, 3000))
    angles = 2 * np.pi * classes / 4 + effort.rng.uniform(-0.3, 0.3, classes.size)
    X = np.column_stack([np.cos(angles), np.sin(angles), np.ones(classes.size)])
    order = np.array([2, 1, 0, 3])
    by_number, by_column = (
        [rule(X, classes), order.argsort()[rule(X, order[classes])]]
        for rule in (class_by_number, class_by_column)
    )
    changed, moved = np.mean(by_number[0] != by_number[1]), np.sum(by_column[0] != by_column[1])
    right = np.mean(by_column[0] == classes)
    reason = "the sectors do not overlap"
    share = np.mean(by_number[0] == classes)
    yield REFUTES.at_most("one column per label: share right", share, 0.8)
    yield REFUTES.at_least("one column per label: share changed by other names", changed, 0.1)
    yield CONDITION.equal("one column per class: share right", right, 1.0, 0.0, reason)
    yield CONDITION.count("one column per class: points changed by other names", moved, 0)


def class_by_number(X: Array, classes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the classes that least squares on the class numbers 1 to 4 predicts, from 0."""
    Z = np.linalg.lstsq(X, classes + 1.0, rcond=None)[0]
    return np.asarray(np.clip(np.rint(X @ Z), 1, 4), dtype=np.int64) - 1


def class_by_column(X: Array, classes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the classes that least squares on one indicator per class predicts."""
    Z = low_rank_least_squares(X, np.eye(4)[classes], 3)
    return np.asarray(np.argmax(X @ Z, axis=1))


@Statement(
    id="F12",
    where="Section 2.1, paragraph 1, sentence 1",
    says="The squared loss is |y - f|^2, and in Table 1 half of it.",
    verdict=Verdict.MISPRINT,
    refuted_by="A gradient (12) that belongs to |y - f|^2.",
    correct="Equations (12) and (13) belong to |y - f|^2 / 2; without the half, lambda doubles.",
    why="Two losses that differ by a factor of two share one lambda.",
    example="x = y = 1, penalty z^2/2: (z - 1)^2 gives z = 2/3, (z - 1)^2/2 gives z = 1/2.",
    sure=Sure.PROVED,
)
def one_half_or_not(effort: Effort) -> Findings:
    """Equation (12) beside exact slopes of both, and the minimisers with penalties 2 and 1."""
    data = ordinary(effort.rng)
    W, H = effort.rng.standard_normal((8, 3)), effort.rng.standard_normal((7, 3))
    direction = effort.rng.standard_normal((8, 3))
    slope = np.sum((data.X.T @ (data.X @ W @ H.T - data.Y) @ H) * direction)
    with_half, without = (_directional(data, W, H, direction, half) for half in (0.5, 1.0))
    Q = np.linalg.qr(data.X)[0]
    unit = Instance("orthonormal", Q, data.Y * 5, 3)
    Z = penalised_predictor(unit, 1.0)
    doubled, other = (
        np.linalg.norm(Z - soft_threshold(Q.T @ unit.Y, penalty)) for penalty in (2.0 / 2, 2.0)
    )
    size = float(np.linalg.norm(Z))
    reason = "alternating minimisation to the rounding limit"
    ratio = slope / with_half
    yield MEANT.equal("slope (12) over that of half the squared error", ratio, 1.0, 1e-10)
    yield REFUTES.equal("slope (12) over that of the squared error", slope / without, 0.5, 1e-10)
    name = "penalty 2 without 1/2 against penalty 1 with it"
    yield REPAIRED.equal(name, doubled, 0.0, 1e-5 * size, reason)
    yield REFUTES.different("penalty 2 in both", other, 0.0, 1e-2 * size, reason)


def _directional(data: Instance, W: Array, H: Array, direction: Array, half: float) -> float:
    """Return the slope of half * |Y - X W H^T|^2 along a direction by a complex step, exactly."""
    R = data.Y - data.X @ (W + 1e-30j * direction) @ H.T
    return float(half * np.sum(R * R).imag / 1e-30)


def soft_threshold(A: Array, level: float) -> Array:
    """Return A with its singular values lowered by `level`, the minimiser for orthonormal X."""
    U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
    return np.asarray((U * np.maximum(sigma - level, 0.0)) @ Vt)


@Statement(
    id="F13",
    place="Section 2.1",
    says="CPLST overfits when there are many features, and a penalty prevents that.",
    refuted_by="No gain from a penalty at d = 50.",
)
def overfitting_without_penalty(effort: Effort) -> Findings:
    """Rank 2 with noise, n = 60: excess of the closed form over a penalised fit, d = 50 and 3."""
    many, few = (_excess_ratio(effort, n=60, d=d) for d in (50, 3))
    # The logarithm of a ratio has deviation 0.37 at d = 50 (mean 0.6) and 0.25 at d = 3 (mean
    # -0.1): both thresholds are more than five standard errors of 24 draws away.
    yield SUPPORTS.at_least("excess of CPLST over that with a penalty, d = 50, n = 60", many, 1.2)
    yield SUPPORTS.at_most("the same at d = 3", few, 1.2)


def _excess_ratio(effort: Effort, n: int, d: int) -> float:
    """Return |Z - Z*|^2 of the closed form over that with a penalty, geometric mean of draws."""
    rng, k, n_labels = effort.rng, 2, 20
    # The spectral norm of X^T noise is about sqrt(n) (sqrt(d) + sqrt(L)), the scale of penalties.
    penalty = 0.4 * np.sqrt(n) * (np.sqrt(d) + np.sqrt(n_labels))
    logarithms = []
    for _ in range(effort.pick(24, 60)):
        Z = rng.standard_normal((d, k)) @ rng.standard_normal((k, n_labels)) / np.sqrt(d * k)
        X = rng.standard_normal((n, d))
        data = Instance("planted", X, X @ Z + rng.standard_normal((n, n_labels)), k)
        fits = (low_rank_least_squares(X, data.Y, k), penalised_predictor(data, penalty, tol=1e-6))
        bare, penalised = (np.square(fit - Z).sum() for fit in fits)
        logarithms.append(np.log(bare / penalised))
    return float(np.exp(np.mean(logarithms)))
