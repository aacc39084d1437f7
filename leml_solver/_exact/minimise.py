"""The exact constrained empirical risk minimisers, behind one function."""

import time
from dataclasses import replace
from typing import Any

from argument_checks import one_of, positive, positive_integer
from leml_solver._exact.balls import Ball
from leml_solver._exact.certificate import certify
from leml_solver._exact.cvxpy_oracle import minimise_by_cvxpy
from leml_solver._exact.search import search_minimum
from leml_solver._linalg.threads import one_blas_thread
from leml_solver.problem import Problem
from leml_solver.result import SolverResult, Status

ENGINES = ("certified", "cvxpy")


def minimise(
    problem: Problem,
    ball: Ball,
    *,
    engine: str = "certified",
    tol: float = 1e-6,
    max_iter: int = 20_000,
    start: Any = None,
) -> SolverResult:
    """Minimise the empirical risk over a ball.

    Parameters
    ----------
    problem : Problem
        What to minimise.
    ball : TraceBall or FrobeniusBall
        Where to minimise it.
    engine : {"certified", "cvxpy"}
        Our own, for losses with a derivative, or cvxpy, for all losses.
    tol : float
        Relative gap to reach: gap over the objective at Z = 0.
    max_iter : int
        Gradient evaluations allowed (our engine only).
    start : (d, L) array, optional
        Where our engine starts; zero by default. Any matrix will do.

    Returns
    -------
    SolverResult
        A feasible Z with a certificate computed at it.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import Problem, TraceBall, minimise
    >>> problem = Problem("squared", np.eye(2), np.array([[2.0, 0.0], [0.0, 1.0]]))
    >>> result = minimise(problem, TraceBall(radius=2.0))
    >>> np.diag(result.Z).round(6)
    array([1.5, 0.5])
    >>> round(result.certificate.objective, 6)
    0.25
    """
    if not isinstance(problem, Problem):
        raise TypeError(f"`problem` must be a Problem, got {type(problem).__name__}.")
    if not hasattr(ball, "dual_norm"):
        raise TypeError(f"`ball` must be a TraceBall or a FrobeniusBall, got {ball!r}.")
    one_of(engine, "engine", ENGINES)
    positive(tol, "tol")
    positive_integer(max_iter, "max_iter")
    began = time.perf_counter()
    if engine == "cvxpy":
        answer = _ask_oracle(problem, ball, tol)
    else:
        _require_smooth(problem)
        # Small matrices are slower on many threads, and one thread gives the same bits everywhere.
        with one_blas_thread():
            Z = None if start is None else problem.check_shape(start, "start")
            answer = search_minimum(problem, ball, tol=tol, max_iter=max_iter, start=Z)
    return replace(answer, seconds=time.perf_counter() - began)


def _require_smooth(problem: Problem) -> None:
    """Refuse a loss with a kink, naming the engine that accepts it."""
    if not problem.loss.smooth:
        raise ValueError(
            f"`engine` must be 'cvxpy' for the {problem.loss.name} loss, which has a kink, "
            "got 'certified'."
        )


def _ask_oracle(problem: Problem, ball: Ball, tol: float) -> SolverResult:
    """Run cvxpy and certify its point ourselves."""
    found = minimise_by_cvxpy(problem, ball)
    certificate = certify(problem, ball, found.Z, found.dual)
    status = Status.GAP_ABOVE_TOL if found.solved else Status.ENGINE_FAILED
    if found.solved and certificate.relative_gap <= tol:
        status = Status.SOLVED
    return SolverResult(found.Z, status, certificate, (), found.iterations)
