"""The same problems solved by cvxpy: slow, general and independent, so a check on our engine."""

import warnings
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from leml_solver._exact.balls import Ball, FrobeniusBall
from leml_solver.problem import Problem

Array = NDArray[np.float64]

# CLARABEL factorises a system of the size of the semidefinite cone: minutes above this.
_CLARABEL_LARGEST = 500
SOLVERS: dict[str, dict[str, Any]] = {
    "CLARABEL": {},
    "SCS": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 200_000},
}


@dataclass(frozen=True, eq=False)
class OracleAnswer:
    """What cvxpy found: a feasible Z, one dual number per entry, and its iteration count."""

    Z: Array
    dual: Array | None
    iterations: int
    solved: bool


def minimise_by_cvxpy(
    problem: Problem, ball: Ball, *, solver: str | None = None, **options: Any
) -> OracleAnswer:
    """Minimise the objective over the ball with a cvxpy solver.

    Parameters
    ----------
    problem, ball
        What to minimise, and where.
    solver : str, optional
        "CLARABEL" or "SCS"; by default the first for small problems, the second for larger ones.
    **options
        Passed to the solver instead of the settings in `SOLVERS`.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import FrobeniusBall, Problem, minimise_by_cvxpy
    >>> problem = Problem("absolute", np.ones((3, 1)), np.array([[0.0], [1.0], [5.0]]))
    >>> minimise_by_cvxpy(problem, FrobeniusBall(radius=10.0)).Z.round(4)
    array([[1.]])
    """
    cp: Any = import_module("cvxpy")  # takes a second to import
    d, L = problem.shape
    chosen = solver or ("CLARABEL" if d * L <= _CLARABEL_LARGEST else "SCS")
    Z = cp.Variable((d, L))
    f, links = _predictions(problem, Z)
    norm = cp.norm(Z, "fro") if isinstance(ball, FrobeniusBall) else cp.normNuc(Z)
    objective = problem.loss.cvxpy_expression(problem.values, f, problem.weights)
    program = cp.Problem(cp.Minimize(objective), [*links, norm <= ball.radius])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # our certificate measures how "inaccurate"
            program.solve(solver=chosen, **(options or SOLVERS[chosen]))
    except cp.error.SolverError:
        return OracleAnswer(np.zeros((d, L)), None, 0, False)
    return _answer(problem, ball, program, Z.value, [link.dual_value for link in links])


def _answer(
    problem: Problem, ball: Ball, program: Any, Z: Any, multipliers: list[Any]
) -> OracleAnswer:
    """Return cvxpy's point moved into the ball, and its dual candidate."""
    iterations = int(program.solver_stats.num_iters or 0) if program.solver_stats else 0
    if Z is None or not np.isfinite(Z).all():
        return OracleAnswer(np.zeros(problem.shape), None, iterations, False)
    # Stationarity of the Lagrangian in f: w l'(f) + multiplier = 0. The smooth losses do better
    # with the derivative at the point itself.
    dual = -np.asarray(multipliers[0]) / problem.weights if multipliers else None
    return OracleAnswer(ball.project(Z), dual, iterations, True)


def _predictions(problem: Problem, Z: Any) -> tuple[Any, list[Any]]:
    """Return the predictions, one per entry, and the constraints that define them.

    The plain expression is the fastest for cvxpy; for a loss with a kink the dual candidate is the
    multiplier of a separate constraint.
    """
    cp: Any = import_module("cvxpy")
    if problem.is_full:
        plain = cp.vec(problem.X @ Z, order="F")
    else:
        d, m = problem.X.shape[1], problem.rows.size
        columns = (problem.columns[:, None] * d + np.arange(d)).ravel()
        cells = (problem.X[problem.rows].ravel(), columns, np.arange(0, m * d + 1, d))
        plain = csr_array(cells, shape=(m, d * problem.n_labels)) @ cp.vec(Z, order="F")
    if problem.loss.smooth:
        return plain, []
    f = cp.Variable(problem.rows.size)
    return f, [f == plain]
