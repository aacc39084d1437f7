"""Checks of Section 3: the factored problem, and where alternating minimisation ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from leml_solver import AlternatingOptions, FactorResult, TraceBall, fit_factors
from leml_solver.algorithms import balancing
from leml_solver.losses import LOSSES
from leml_solver.problem import Problem
from paper_checks.factor_worlds import SQUARED, FactorWorld, factor_world, vec
from paper_checks.facts import at_least, at_most, different, equal
from paper_checks.instances import Instance, ordinary
from paper_checks.registry import Effort, Outcome, check
from paper_checks.section_2 import soft_threshold

Array = NDArray[np.float64]

SMOOTH = ("squared", "logistic", "squared_hinge")
CONVERGED = "alternating minimisation to its rounding limit"


@check("A1")
def trace_norm_of_factors(effort: Effort) -> Outcome:
    """Half the squared norms is the trace norm for the best factorisation only."""
    U, V = (np.linalg.qr(effort.rng.standard_normal((size, 3)))[0] for size in (9, 8))
    roots = np.sqrt([4.0, 2.0, 1.0])
    W, H = U * roots, V * roots
    norm = TraceBall(1.0).norm(W @ H.T)
    others = []
    for _ in range(effort.pick(200, 2000)):
        T = effort.rng.standard_normal((3, 3))
        others.append(half_squares(W @ T, H @ np.linalg.inv(T).T) / norm)
    T, S = balancing(3 * W, H / 3)
    balanced = half_squares(3 * W @ T, H / 3 @ S)
    return Outcome(
        (
            at_least("median over random factorisations, over the norm", np.median(others), 1.5),
            at_least(
                "least over random factorisations, over the norm",
                min(others),
                1.0,
                1e-12,
                "rounding",
            ),
            equal("balanced factorisation, over the norm", balanced / norm, 1.0, 1e-10),
            different(
                "factors 3 W and H / 3, over the norm", half_squares(3 * W, H / 3) / norm, 1.0, 1.0
            ),
        )
    )


def half_squares(W: Array, H: Array) -> float:
    """Return (|W|^2 + |H|^2) / 2."""
    return float(np.square(W).sum() + np.square(H).sum()) / 2


@check("A2")
def factored_equals_convex(effort: Effort) -> Outcome:
    """With enough columns the factored minimum is the convex one; few are balanced."""
    data = ordinary(effort.rng)
    found, few = (_fit(data, rank, 3.0) for rank in (7, 2))
    convex = _proximal_gradient(data, 3.0)
    value = _convex_value(data, convex, 3.0)
    norm = TraceBall(1.0).norm(few.W @ few.H.T)
    gap = found.certificate.gap if found.certificate else np.inf
    return Outcome(
        (
            equal(
                "factored minimum against the convex one",
                found.objective,
                value,
                1e-8 * value,
                CONVERGED,
            ),
            at_most("certified gap", gap, 0.0, 1e-6 * value, CONVERGED),
            equal(
                "k = 2: penalty over trace norm",
                half_squares(few.W, few.H) / norm,
                1.0,
                1e-7,
                CONVERGED,
            ),
            at_least(
                "k = 2: minimum over the convex one", few.objective / value, 1.0, 1e-9, CONVERGED
            ),
        )
    )


def _fit(data: Instance, rank: int, penalty: float) -> FactorResult:
    """Run the solver to its rounding limit."""
    options = AlternatingOptions(max_iter=400, tol=0.0)
    return fit_factors(data.X, data.Y, rank=rank, penalty=penalty, options=options)


def _proximal_gradient(data: Instance, penalty: float, iterations: int = 3000) -> Array:
    """Minimise |Y - XZ|^2 / 2 + penalty |Z|_tr over all Z, without factors."""
    step = 1 / float(np.linalg.norm(data.X, 2)) ** 2
    Z = np.zeros((data.X.shape[1], data.Y.shape[1]))
    for _ in range(iterations):
        moved = soft_threshold(Z - step * data.X.T @ (data.X @ Z - data.Y), step * penalty)
        if np.abs(moved - Z).max() < 1e-13:
            break
        Z = moved
    return Z


def _convex_value(data: Instance, Z: Array, penalty: float) -> float:
    """Return |Y - XZ|^2 / 2 + penalty |Z|_tr."""
    return float(0.5 * np.square(data.Y - data.X @ Z).sum() + penalty * TraceBall(1.0).norm(Z))


@check("A3")
def convex_in_each_factor(effort: Effort) -> Outcome:
    """Both Hessians have no eigenvalue below the penalty; jointly the problem is not convex."""
    lowest = []
    for name in SMOOTH:
        world = factor_world(effort.rng, LOSSES[name])
        lowest.append(_lowest(world.feature_problem, world.W) - world.penalty)
        lowest.append(_lowest(world.label_problem, world.H) - world.penalty)
    world = factor_world(effort.rng, SQUARED, penalty=0.1)
    across = float(np.linalg.norm(world.X.T @ np.where(world.seen, world.Y, 0.0), 2))
    return Outcome(
        (
            at_least("least eigenvalue minus the penalty", min(lowest), 0.0, 1e-9, "rounding"),
            # At W = H = 0 the joint Hessian has blocks penalty I and -X^T Y: eigenvalues mix them.
            at_most("least joint eigenvalue at W = H = 0", world.penalty - across, -0.1),
        )
    )


def _lowest(problem: object, point: Array) -> float:
    """Return the least eigenvalue of the Hessian, from its products with unit matrices."""
    product = problem.hessian(problem.at(point))  # type: ignore[attr-defined]
    units = np.eye(point.size).reshape(point.size, *point.shape)
    H = np.array([np.asarray(product(unit.copy())).ravel() for unit in units])
    return float(np.linalg.eigvalsh((H + H.T) / 2)[0])


@check("A4")
def ends_at_a_stationary_point(effort: Effort) -> Outcome:
    """With a penalty the gradient vanishes at the end; without, a subproblem may not be unique."""
    left = []
    for name in SMOOTH:
        world = factor_world(effort.rng, LOSSES[name])
        options = AlternatingOptions(max_iter=300, tol=0.0, certify=False, start=(world.W, world.H))
        end = fit_factors(
            world.X, world.labels, rank=3, penalty=0.7, loss=world.loss, options=options
        )
        left.append(_gradient_norm(replace(world, W=end.W, H=end.H)) / _gradient_norm(world))
    A = factor_world(effort.rng, SQUARED).X @ effort.rng.standard_normal((7, 1)) @ np.ones((1, 2))
    curvatures = np.linalg.eigvalsh(A.T @ A)
    return Outcome(
        (
            equal("gradient at the end over that at the start", max(left), 0.0, 1e-5, CONVERGED),
            equal(
                "penalty 0, dependent columns of W: least curvature over largest",
                curvatures[0] / curvatures[1],
                0.0,
                1e-12,
            ),
        )
    )


def _gradient_norm(world: FactorWorld) -> float:
    """Return the norm of the gradient in W and H."""
    H_part = world.label_problem.gradient(world.H)
    return float(np.hypot(np.linalg.norm(world.gradient(vec(world.W))), np.linalg.norm(H_part)))


@check("A19")
def kernel_remark(effort: Effort) -> Outcome:
    """The trace norm of coefficients gives another problem than the linear one, unless K = I."""
    data = ordinary(effort.rng, n=20, d=5, n_labels=4)
    literal, corrected = (_kernel_change(data, power) for power in (1.0, 0.5))
    rows = Instance("orthonormal rows", np.linalg.qr(data.X[:5].T)[0].T, data.Y[:5], 3)
    reason = "two fits to their rounding limits"
    return Outcome(
        (
            at_least("change of predictions with |Z|_tr on coefficients", literal, 0.05),
            equal("change of predictions with |K^(1/2) Z|_tr", corrected, 0.0, 1e-5, reason),
            equal(
                "change with |Z|_tr where K is the identity",
                _kernel_change(rows, 1.0),
                0.0,
                1e-5,
                reason,
            ),
        )
    )


def _kernel_change(data: Instance, power: float, penalty: float = 3.0) -> float:
    """Return the relative change of predictions when features become the columns of K^power."""
    values, vectors = np.linalg.eigh(data.X @ data.X.T)
    features = (vectors * np.maximum(values, 0.0) ** power) @ vectors.T
    linear, kernel = (
        X @ found.W @ found.H.T
        for X in (data.X, features)
        for found in [_fit(replace(data, X=X), min(*X.shape, data.Y.shape[1]), penalty)]
    )
    return float(np.linalg.norm(kernel - linear) / np.linalg.norm(linear))


@check("A20")
def binary_relevance(effort: Effort) -> Outcome:
    """One ridge regression a label minimises (2) with |Z|^2 / 2, the rank constraint left out."""
    world = factor_world(effort.rng, SQUARED)
    Z = np.column_stack([_ridge(world, label) for label in range(world.Y.shape[1])])
    problem = Problem.from_dense(SQUARED, world.X, np.where(world.seen, world.Y, np.nan))
    joint = problem.gradient(Z) + world.penalty * Z
    k = 2
    U, sigma, Vt = np.linalg.svd(Z, full_matrices=False)
    low = _best_of_rank(problem, world.penalty, (U[:, :k] * sigma[:k], Vt[:k].T))
    least = problem.objective(Z) + 0.5 * world.penalty * np.square(Z).sum()
    scale = float(np.linalg.norm(problem.gradient(np.zeros_like(Z))))
    return Outcome(
        (
            equal("gradient of (2) at binary relevance", np.linalg.norm(joint) / scale, 0.0, 1e-12),
            at_least("its rank, with k = 2 allowed", np.linalg.matrix_rank(Z), k + 1),
            at_least("minimum with rank at most 2, over without", low / least, 1.001),
        )
    )


def _ridge(world: FactorWorld, label: int) -> Array:
    """Return the ridge regression of one label on its observed points."""
    rows = world.seen[:, label]
    X, y = world.X[rows], world.Y[rows, label]
    return np.asarray(np.linalg.solve(X.T @ X + world.penalty * np.eye(X.shape[1]), X.T @ y))


def _best_of_rank(problem: Problem, penalty: float, start: tuple[Array, Array]) -> float:
    """Minimise (2) with the squared Frobenius norm over Z = W H^T by a quasi-Newton method."""
    (W, H), (d, k) = start, start[0].shape

    def objective(point: Array) -> tuple[float, Array]:
        A, B = point[: d * k].reshape(d, k), point[d * k :].reshape(-1, k)
        Z = A @ B.T
        G = problem.gradient(Z) + penalty * Z
        value = problem.objective(Z) + 0.5 * penalty * np.square(Z).sum()
        return float(value), np.concatenate([(G @ B).ravel(), (G.T @ A).ravel()])

    found = minimize(objective, np.concatenate([W.ravel(), H.ravel()]), jac=True, method="L-BFGS-B")
    return float(found.fun)
