"""Checks of Appendix A: conjugate gradients for the W-problem with the squared loss."""

import numpy as np

from leml_solver import LOSSES
from leml_solver.algorithms import CGOptions, conjugate_gradient
from leml_theory.arrays import Array
from paper_checks.checking import Effort, Findings, Kind, Statement
from paper_checks.checking.fact import CONTROL, SUPPORTS
from paper_checks.worlds.factored import SQUARED, factor_world, vec


@Statement(
    id="A18",
    place="Algorithm 3",
    says="Conjugate gradients solve the W-problem with the squared loss.",
    kind=Kind.EQUALITY,
    refuted_by="Iterates that differ, or a limit that is not the solution.",
)
def conjugate_gradients(effort: Effort) -> Findings:
    """The solver's iterates against the printed recursion, and both against the dense solution."""
    world = factor_world(effort.rng, SQUARED, penalty=3.0)
    w = vec(world.W)
    H, r = world.hessian(w), -world.gradient(w)
    problem = world.feature_problem
    product = problem.hessian(problem.at(world.W))
    printed = algorithm_3(H, r, w.size + 10)
    apart = []
    for steps in (1, 2, 4):
        S = conjugate_gradient(
            product, r.reshape(world.W.shape, order="F").copy(), CGOptions(steps, 0.0)
        )
        apart.append(np.linalg.norm(vec(S) - printed[steps]) / np.linalg.norm(printed[steps]))
    exact = np.linalg.solve(H, r)
    errors = [np.linalg.norm(s - exact) / np.linalg.norm(exact) for s in printed]
    reason = "in exact arithmetic dk steps suffice; rounding takes a few more"
    yield CONTROL.equal("solver against the recursion, steps 1, 2 and 4", max(apart), 0.0, 1e-10)
    yield SUPPORTS.at_most("error after dk + 10 steps", errors[-1], 0.0, 1e-9, reason)
    yield SUPPORTS.at_most("error after dk / 2 steps over the first", errors[w.size // 2], 0.5)


def algorithm_3(H: Array, residual: Array, steps: int) -> list[Array]:
    """Return the iterates of the printed recursion, w_0 = 0 first."""
    r, d, w = residual.copy(), residual.copy(), np.zeros_like(residual)
    iterates = [w]
    for _ in range(steps):
        if np.linalg.norm(r) < 1e-14 * np.linalg.norm(residual):
            iterates.append(w)
            continue
        alpha = (r @ r) / (d @ H @ d)
        w = w + alpha * d
        following = r - alpha * H @ d
        d = following + (following @ following) / (r @ r) * d
        r = following
        iterates.append(w)
    return iterates


@Statement(
    id="A18.1",
    place="Appendix A.1",
    says="The Hessian does not depend on w for the squared loss.",
    kind=Kind.EQUALITY,
    refuted_by="A change with the squared loss.",
)
def hessian_does_not_move(effort: Effort) -> Findings:
    """Hessians at two points, for the squared and for the logistic loss."""
    changes = {}
    for name in ("squared", "logistic"):
        world = factor_world(effort.rng, LOSSES[name])
        first, second = (world.hessian(factor * vec(world.W)) for factor in (1.0, -0.5))
        changes[name] = float(np.linalg.norm(first - second) / np.linalg.norm(first))
    yield SUPPORTS.equal("squared loss: change of the Hessian", changes["squared"], 0.0, 1e-15)
    yield CONTROL.different("logistic loss: change of the Hessian", changes["logistic"], 0.0, 1e-2)
