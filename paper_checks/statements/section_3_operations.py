"""Checks of Equations (6) to (13): gradients and Hessian products by Algorithms 1 and 2."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leml_solver import LOSSES
from leml_solver.algorithms import (
    CountingMatrix,
    FullSquared,
    GeneralLoss,
    GeneralOptions,
    Plan,
    as_matrix,
)
from leml_theory.arrays import Array
from paper_checks.checking import Effort, Findings, Kind, Statement
from paper_checks.checking.fact import CONTROL, SUPPORTS
from paper_checks.worlds.factored import SQUARED, FactorWorld, factor_world, vec

SMOOTH = ("squared", "logistic", "squared_hinge")
THOROUGH = Plan(False, False, False, False, cg_steps=200, newton_steps=50, cg_tol=1e-13)
CG = "conjugate gradients to 1e-13"
NEWTON = "trust-region stopping rule"
DIFFERENCE = "central differences with step 1e-5: truncation 1e-10, rounding 1e-11"


def _worlds(effort: Effort) -> list[FactorWorld]:
    """Return one world per loss."""
    return [factor_world(effort.rng, LOSSES[name]) for name in SMOOTH]


def _relative(found: NDArray[Any], expected: NDArray[Any]) -> float:
    """Return the relative deviation."""
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


@Statement(
    id="A7",
    place="Equation (6)",
    says="For fixed W each row of H is a regression on the k features X W of its own points.",
    kind=Kind.EQUALITY,
    refuted_by="A row that is not the minimiser of its own problem.",
)
def rows_of_H_are_independent(effort: Effort) -> Findings:
    """One update of H by the solver against a ridge regression per label, with missing labels."""
    world = factor_world(effort.rng, SQUARED)
    A = world.X @ world.W
    rows = [
        label_regression(A[seen], y[seen], world.penalty)
        for seen, y in zip(world.seen.T, world.Y.T, strict=True)
    ]
    apart = _relative(updated(world).H, np.array(rows))
    logistic = factor_world(effort.rng, LOSSES["logistic"])
    slope = logistic.label_problem.gradient
    left = np.linalg.norm(slope(updated(logistic).H)) / np.linalg.norm(slope(logistic.H))
    yield SUPPORTS.equal("relative distance to the rows' regressions", apart, 0, 1e-9, CG)
    name = "logistic: gradient of the rows at the end, over the start"
    yield SUPPORTS.equal(name, left, 0.0, 1e-2, NEWTON)


def label_regression(A: Array, y: Array, penalty: float) -> Array:
    """Return the minimiser of Equation (6) for one label and the squared loss."""
    return np.asarray(np.linalg.solve(A.T @ A + penalty * np.eye(A.shape[1]), A.T @ y))


def updated(world: FactorWorld, letter: str = "H") -> GeneralLoss:
    """Return the solver's iterate after one thorough update of a factor."""
    problem = world.feature_problem
    options = GeneralOptions(quadratic=world.loss.name == "squared")
    iterate = GeneralLoss(problem.features, problem.entries, world.penalty, THOROUGH, options)
    iterate.start(world.W.copy(), world.H.copy())
    {"H": iterate.update_H, "W": iterate.update_W}[letter]()
    return iterate


@Statement(
    id="A7.1",
    place="Equation (7)",
    says="For fixed H, W is one regression with the |Omega| points h_j (x) x_i.",
    kind=Kind.EQUALITY,
    refuted_by="Different objectives or minimisers.",
)
def W_is_one_regression(effort: Effort) -> Findings:
    """Write the design out; compare objective and minimiser with the solver's."""
    apart = [
        abs(world.value(vec(world.W)) / float(problem.values(problem.at(world.W))[0, 0]) - 1)
        for world in _worlds(effort)
        for problem in [world.feature_problem]
    ]
    world = factor_world(effort.rng, SQUARED)
    distance = _relative(vec(updated(world, "W").W), _solution(world))
    yield SUPPORTS.equal("relative difference of objectives", max(apart), 0.0, 1e-12)
    yield SUPPORTS.equal("relative distance of minimisers", distance, 0.0, 1e-8, CG)


def _solution(world: FactorWorld) -> Array:
    """Return the solution of the dk x dk system of the W-problem, for the squared loss."""
    return np.asarray(np.linalg.solve(world.hessian(vec(world.W)), world.design.T @ world.targets))


@Statement(
    id="A10",
    place="Equation (8)",
    says="The gradient of g is the sum of l' times h_j (x) x_i, plus lambda w.",
    kind=Kind.EQUALITY,
    refuted_by="A slope that differs.",
)
def gradient_formula(effort: Effort) -> Findings:
    """Against central differences of g, three losses."""
    errors = []
    for world in _worlds(effort):
        w, s = vec(world.W), effort.rng.standard_normal(world.W.size)
        slope = (world.value(w + 1e-5 * s) - world.value(w - 1e-5 * s)) / 2e-5
        errors.append(abs(world.gradient(w) @ s - slope) / np.linalg.norm(world.gradient(w)))
    yield SUPPORTS.equal("worst error of a slope", max(errors), 0.0, 1e-5, DIFFERENCE)


@Statement(
    id="A10.1",
    place="Equation (9)",
    says="The Hessian of g is the sum of l'' times the outer products, plus lambda I.",
    kind=Kind.EQUALITY,
    refuted_by="A slope of the gradient that differs.",
)
def hessian_formula(effort: Effort) -> Findings:
    """Against central differences of the gradient, three losses, away from the hinge's kinks."""
    errors = []
    for world in _worlds(effort):
        w, s = vec(world.W), effort.rng.standard_normal(world.W.size)
        step = (
            min(1e-6, _to_the_kink(world, w, s) / 2) if world.loss.name == "squared_hinge" else 1e-6
        )
        slope = (world.gradient(w + step * s) - world.gradient(w - step * s)) / (2 * step)
        errors.append(_relative(world.hessian(w) @ s, slope))
    yield SUPPORTS.equal("worst error of a slope", max(errors), 0.0, 1e-5, DIFFERENCE)


def _to_the_kink(world: FactorWorld, w: Array, s: Array) -> float:
    """Return the smallest step along s at which a margin reaches one."""
    distance = np.abs(1 - world.targets * (world.design @ w))
    return float((distance / np.maximum(np.abs(world.design @ s), 1e-300)).min())


@Statement(
    id="A10.2",
    place="Section 3.1",
    says="(B^T (x) A) vec(S) = vec(A S B), and h (x) x = vec(x h^T).",
    kind=Kind.EQUALITY,
    refuted_by="A difference beyond rounding.",
)
def kronecker_identity(effort: Effort) -> Findings:
    """Random matrices, columns stacked; rows stacked for comparison."""
    A, S, B = (effort.rng.standard_normal(shape) for shape in ((4, 5), (5, 3), (3, 6)))
    x, h = A[0], B[0]
    columns = _relative(np.kron(B.T, A) @ vec(S), vec(A @ S @ B))
    single = _relative(np.kron(h, x), vec(np.outer(x, h)))
    rows = _relative(np.kron(B.T, A) @ S.ravel(), (A @ S @ B).ravel())
    yield SUPPORTS.equal("error of the product rule", columns, 0, 1e-13)
    yield SUPPORTS.equal("error of h (x) x = vec(x h^T)", single, 0, 1e-15)
    yield CONTROL.different("error with rows stacked", rows, 0.0, 0.1, "exact")


@Statement(
    id="A10.3",
    place="Equation (10)",
    says="The gradient is vec(X^T D H) + lambda w, D the derivatives at the observed entries.",
    kind=Kind.EQUALITY,
    refuted_by="A difference beyond rounding.",
)
def gradient_by_algorithm_1(effort: Effort) -> Findings:
    """The solver's Algorithm 1 against the sum of Equation (8), three losses, missing labels."""
    errors = []
    for world in _worlds(effort):
        problem = world.feature_problem
        errors.append(
            _relative(vec(problem.gradient(problem.at(world.W))), world.gradient(vec(world.W)))
        )
    yield SUPPORTS.equal("worst relative difference", max(errors), 0.0, 1e-12)


@Statement(
    id="A10.4",
    place="Equation (11)",
    says="The Hessian times s is vec(X^T U H) + lambda s.",
    kind=Kind.EQUALITY,
    refuted_by="A difference beyond rounding.",
)
def hessian_product_by_algorithm_1(effort: Effort) -> Findings:
    """The solver's Algorithm 1 against the Hessian of Equation (9) written out, three losses."""
    errors = []
    for world in _worlds(effort):
        problem, S = world.feature_problem, effort.rng.standard_normal(world.W.shape)
        image = problem.hessian(problem.at(world.W))(S)
        errors.append(_relative(vec(image), world.hessian(vec(world.W)) @ vec(S)))
    yield SUPPORTS.equal("worst relative difference", max(errors), 0.0, 1e-12)


def gradient_12(world: FactorWorld) -> Array:
    """Return Equation (12) as printed."""
    X, W, H = world.X, world.W, world.H
    return vec(X.T @ X @ W @ H.T @ H - X.T @ world.Y @ H) + world.penalty * vec(W)


def hessian_product_13(world: FactorWorld, S: Array) -> Array:
    """Return Equation (13) as printed."""
    return vec(world.X.T @ world.X @ S @ world.H.T @ world.H) + world.penalty * vec(S)


def _full(effort: Effort) -> FactorWorld:
    """Return a world whose labels are all seen."""
    return factor_world(effort.rng, SQUARED, share=1.1)


@Statement(
    id="A17",
    place="Equation (12)",
    says="Squared loss, full labels: the gradient is vec(X^T X W H^T H - X^T Y H) + lambda w.",
    kind=Kind.EQUALITY,
    refuted_by="A difference beyond rounding with full labels.",
)
def gradient_with_full_labels(effort: Effort) -> Findings:
    """Against the sum of Equation (8); with half of the labels missing it must differ."""
    world = _full(effort)
    missing = factor_world(effort.rng, SQUARED, share=0.5)
    error = _relative(gradient_12(world), world.gradient(vec(world.W)))
    wrong = _relative(gradient_12(missing), missing.gradient(vec(missing.W)))
    yield SUPPORTS.equal("relative difference", error, 0.0, 1e-12)
    yield CONTROL.different("the same with half of the labels missing", wrong, 0.0, 1e-3)


@Statement(
    id="A17.1",
    place="Equation (13)",
    says="Squared loss, full labels: the Hessian times s is vec(X^T X S H^T H) + lambda s.",
    kind=Kind.EQUALITY,
    refuted_by="A difference beyond rounding.",
)
def hessian_with_full_labels(effort: Effort) -> Findings:
    """Against the Hessian of Equation (9) written out."""
    world, S = _full(effort), effort.rng.standard_normal((7, 3))
    error = _relative(hessian_product_13(world, S), world.hessian(vec(world.W)) @ vec(S))
    yield SUPPORTS.equal("relative difference", error, 0.0, 1e-12)


@Statement(
    id="A17.2",
    place="Algorithm 2",
    says="The algorithm for squared loss and full labels solves the W-problem.",
    kind=Kind.EQUALITY,
    refuted_by="Another solution.",
)
def algorithm_2_solves_the_W_problem(effort: Effort) -> Findings:
    """The solver's Algorithm 2 with conjugate gradients to the end, against the dk x dk system."""
    world = _full(effort)
    iterate = FullSquared(
        CountingMatrix(as_matrix(world.X)), as_matrix(world.Y), world.penalty, THOROUGH, False
    )
    iterate.start(world.W.copy(), world.H.copy())
    iterate.update_W()
    distance = _relative(vec(iterate.W), _solution(world))
    loss = 0.5 * np.square(world.Y - world.X @ iterate.W @ world.H.T).sum()
    yield SUPPORTS.equal("relative distance to the solution", distance, 0.0, 1e-8, CG)
    ratio = iterate.loss() / loss
    yield CONTROL.equal("its sum of losses over the sum written out", ratio, 1.0, 1e-11)
