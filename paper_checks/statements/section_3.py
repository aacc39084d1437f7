"""Checks of Section 3: the factored problem, and where alternating minimisation ends."""

from dataclasses import replace

import numpy as np

from leml_solver import LOSSES, AlternatingOptions, FactorResult, TraceBall, fit_factors
from leml_solver.algorithms import balancing
from leml_theory.arrays import Array
from paper_checks.checking import Effort, Findings, Kind, Statement, Sure, Verdict
from paper_checks.checking.fact import CONDITION, CONTROL, REFUTES, REPAIRED, SUPPORTS
from paper_checks.cplst import squared_error
from paper_checks.statements.section_2 import soft_threshold
from paper_checks.worlds.factored import SQUARED, FactorWorld, factor_world, vec
from paper_checks.worlds.instances import Instance, ordinary

SMOOTH = ("squared", "logistic", "squared_hinge")
LIMIT = "alternating minimisation to its rounding limit"


@Statement(
    id="A1",
    where="Section 3, paragraph 1, sentence 5",
    says="The trace norm of W H^T is (|W|_F^2 + |H|_F^2) / 2.",
    kind=Kind.EQUALITY,
    verdict=Verdict.HIDDEN,
    refuted_by="A factorisation below the trace norm, or a balanced one above it.",
    correct="It is the minimum over factorisations with at least rank(Z) columns, attained by the "
    "balanced one; any other is larger.",
    why="It is a minimum over factorisations; every unbalanced one is larger.",
    example="1 = 2 x (1/2): (4 + 1/4)/2 = 2.125, the trace norm is 1.",
    sure=Sure.PROVED,
)
def trace_norm_of_factors(effort: Effort) -> Findings:
    """Many random factorisations of one Z, and the balanced one."""
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
    yield REFUTES.at_least("median of random factorisations, over the norm", np.median(others), 1.5)
    yield REPAIRED.at_least("least of random factorisations over the norm", min(others), 1.0, 1e-12)
    yield CONDITION.equal("balanced factorisation, over the norm", balanced / norm, 1.0, 1e-10)
    scaled = half_squares(3 * W, H / 3) / norm
    yield REFUTES.different("factors 3 W and H / 3, over the norm", scaled, 1.0, 1.0)


def half_squares(W: Array, H: Array) -> float:
    """Return (|W|^2 + |H|^2) / 2."""
    return float(np.square(W).sum() + np.square(H).sum()) / 2


@Statement(
    id="A2",
    place="Equation (5)",
    says="Minimising over W and H is minimising over Z of rank at most k.",
    kind=Kind.EQUALITY,
    refuted_by="Minima that differ by more than the certified gap.",
)
def factored_equals_convex(effort: Effort) -> Findings:
    """Factors for k = min(d, L) against proximal gradients; penalty and trace norm at k = 2."""
    data = ordinary(effort.rng)
    found, few = (_fit(data, rank, 3.0) for rank in (7, 2))
    convex = _proximal_gradient(data, 3.0)
    error = squared_error(data.X, data.Y, convex)
    value = 0.5 * error + 3.0 * TraceBall(1.0).norm(convex)
    ratio = half_squares(few.W, few.H) / TraceBall(1.0).norm(few.W @ few.H.T)
    gap = found.certificate.gap if found.certificate else np.inf
    least = found.objective
    yield SUPPORTS.equal("factored minimum against the convex", least, value, 1e-8 * value, LIMIT)
    yield SUPPORTS.at_most("certified gap", gap, 0.0, 1e-6 * value, LIMIT)
    yield SUPPORTS.equal("k = 2: penalty over trace norm", ratio, 1.0, 1e-7, LIMIT)
    above = few.objective / value
    yield SUPPORTS.at_least("k = 2: minimum over the convex one", above, 1.0, 1e-9, LIMIT)


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


@Statement(
    id="A3",
    place="Section 3",
    says="For fixed W the objective is convex in H, and for fixed H in W.",
    refuted_by="An eigenvalue below the penalty.",
)
def convex_in_each_factor(effort: Effort) -> Findings:
    """Least eigenvalues of both Hessians for the losses of Table 1, its derivatives corrected."""
    lowest = []
    for name in SMOOTH:
        world = factor_world(effort.rng, LOSSES[name])
        lowest.append(_lowest(world.feature_problem, world.W) - world.penalty)
        lowest.append(_lowest(world.label_problem, world.H) - world.penalty)
    world = factor_world(effort.rng, SQUARED, penalty=0.1)
    across = float(np.linalg.norm(world.X.T @ np.where(world.seen, world.Y, 0.0), 2))
    yield SUPPORTS.at_least("least eigenvalue minus the penalty", min(lowest), 0.0, 1e-9)
    # At W = H = 0 the joint Hessian has blocks penalty I and -X^T Y: eigenvalues mix them.
    yield CONTROL.at_most("least joint eigenvalue at W = H = 0", world.penalty - across, -0.1)


def _lowest(problem: object, point: Array) -> float:
    """Return the least eigenvalue of the Hessian, from its products with unit matrices."""
    product = problem.hessian(problem.at(point))  # type: ignore[attr-defined]
    units = np.eye(point.size).reshape(point.size, *point.shape)
    H = np.array([np.asarray(product(unit.copy())).ravel() for unit in units])
    return float(np.linalg.eigvalsh((H + H.T) / 2)[0])


@Statement(
    id="A4",
    place="Section 3",
    says="Alternation converges to a stationary point if both subproblems have unique minimisers.",
    refuted_by="A gradient that does not vanish.",
)
def ends_at_a_stationary_point(effort: Effort) -> Findings:
    """Gradients at the end, three losses, missing labels; dependent columns without a penalty."""
    left = []
    for name in SMOOTH:
        world = factor_world(effort.rng, LOSSES[name])
        options = AlternatingOptions(max_iter=300, tol=0.0, certify=False, start=(world.W, world.H))
        end = fit_factors(
            world.X, world.labels, rank=3, penalty=0.7, loss=world.loss, options=options
        )
        left.append(_gradient_norm(replace(world, W=end.W, H=end.H)) / _gradient_norm(world))
    A = factor_world(effort.rng, SQUARED).X @ effort.rng.standard_normal((7, 1)) @ np.ones((1, 2))
    least, largest = np.linalg.eigvalsh(A.T @ A)
    flatness = least / largest
    yield SUPPORTS.equal("gradient at the end over that at the start", max(left), 0.0, 1e-5, LIMIT)
    yield CONTROL.equal("penalty 0, dependent columns of W: the same", flatness, 0.0, 1e-12)


def _gradient_norm(world: FactorWorld) -> float:
    """Return the norm of the gradient in W and H."""
    H_part = world.label_problem.gradient(world.H)
    return float(np.hypot(np.linalg.norm(world.gradient(vec(world.W))), np.linalg.norm(H_part)))


@Statement(
    id="A19",
    where="Section 3.2, paragraph 7, sentence 5",
    says="Kernels: with f = Z^T k(x) the same trace norm is imposed on the coefficients Z; here it "
    "is asked whether a linear kernel gives back the linear method.",
    kind=Kind.EQUALITY,
    verdict=Verdict.HIDDEN,
    refuted_by="Equal predictions with |Z|_tr for a general Gram matrix.",
    correct="The method carried over to kernels has the penalty |K^(1/2) Z|_tr, K the Gram matrix; "
    "on coefficients |Z|_tr is another method, the same only if K is the identity.",
    why="The weights in feature space are Phi^T Z, whose trace norm is |K^(1/2) Z|_tr.",
    example="One point x = 2, linear kernel, K = 4: the coefficient z is the weight 2z, whose "
    "penalty is 2|z| and not |z|.",
    sure=Sure.PROVED,
    matters=2,
)
def kernel_remark(effort: Effort) -> Findings:
    """Linear kernel against the linear method, by |Z|_tr and |K^(1/2) Z|_tr; K the identity."""
    data = ordinary(effort.rng, n=20, d=5, n_labels=4)
    rows = Instance("orthonormal rows", np.linalg.qr(data.X[:5].T)[0].T, data.Y[:5], 3)
    literal, corrected = (_kernel_change(data, power) for power in (1.0, 0.5))
    same = _kernel_change(rows, 1.0)
    reason = "two fits to their rounding limits"
    yield REFUTES.at_least("change of predictions with |Z|_tr on coefficients", literal, 0.05)
    yield REPAIRED.equal("change of predictions with |K^(1/2) Z|_tr", corrected, 0.0, 1e-5, reason)
    yield CONDITION.equal("change with |Z|_tr where K is the identity", same, 0.0, 1e-5, reason)


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
