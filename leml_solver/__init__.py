"""Solvers: arrays in, a certified Z out."""

from leml_solver.balls import Ball, FrobeniusBall, TraceBall
from leml_solver.certificate import certify, dual_bound
from leml_solver.erm import minimise
from leml_solver.losses import (
    LOSSES,
    Absolute,
    Hinge,
    Linear,
    Logistic,
    Loss,
    Squared,
    SquaredHinge,
)
from leml_solver.problem import Problem
from leml_solver.result import Certificate, SolverResult, Status

__all__ = [
    "LOSSES",
    "Absolute",
    "Ball",
    "Certificate",
    "FrobeniusBall",
    "Hinge",
    "Linear",
    "Logistic",
    "Loss",
    "Problem",
    "SolverResult",
    "Squared",
    "SquaredHinge",
    "Status",
    "TraceBall",
    "certify",
    "dual_bound",
    "minimise",
]
