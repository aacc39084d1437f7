"""Solvers: arrays in, a certified Z out; LEML itself, and its scikit-learn interface.

The names of the second group load numba or scikit-learn, so they are imported when first asked for.

Examples
--------
>>> from leml_solver import LOSSES
>>> LOSSES["squared_hinge"].curvature
2.0
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from argument_checks.wrong_types import errors_name_arguments
from leml_solver._exact.balls import Ball, FrobeniusBall, TraceBall
from leml_solver._exact.certificate import certify, dual_bound
from leml_solver._exact.cvxpy_oracle import minimise_by_cvxpy
from leml_solver._exact.minimise import minimise
from leml_solver._linalg.threads import available_threads, limit_threads
from leml_solver.labels import Labels
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

if TYPE_CHECKING:
    from leml_solver._factored.certificate import FactorCertificate
    from leml_solver._factored.fit import (
        AlternatingOptions,
        FactorResult,
        FitStatus,
        fit_factors,
        fit_problem,
        minimise_rank,
    )
    from leml_solver._factored.rank_ascent import RankSearch
    from leml_solver.cross_validation import LEMLClassifierCV, LEMLRegressorCV
    from leml_solver.estimators import LEMLClassifier, LEMLRegressor
    from leml_solver.metrics import average_auc, evaluate_scores, hamming_loss, top_k_accuracy
    from leml_solver.model_selection import EntrySplit, MultiLabelScorer, evaluate_estimator
    from leml_solver.persistence import ModelFileError, load_model, save_model

__all__ = [
    "LOSSES",
    "Absolute",
    "AlternatingOptions",
    "Ball",
    "Certificate",
    "EntrySplit",
    "FactorCertificate",
    "FactorResult",
    "FitStatus",
    "FrobeniusBall",
    "Hinge",
    "LEMLClassifier",
    "LEMLClassifierCV",
    "LEMLRegressor",
    "LEMLRegressorCV",
    "Labels",
    "Linear",
    "Logistic",
    "Loss",
    "ModelFileError",
    "MultiLabelScorer",
    "Problem",
    "RankSearch",
    "SolverResult",
    "Squared",
    "SquaredHinge",
    "Status",
    "TraceBall",
    "available_threads",
    "average_auc",
    "certify",
    "dual_bound",
    "evaluate_estimator",
    "evaluate_scores",
    "fit_factors",
    "fit_problem",
    "hamming_loss",
    "limit_threads",
    "load_model",
    "minimise",
    "minimise_by_cvxpy",
    "minimise_rank",
    "save_model",
    "top_k_accuracy",
]

_ROOMS = (
    "_factored.fit", "metrics", "estimators", "persistence", "model_selection", "cross_validation",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a name of the second group when it is first asked for."""
    for room in _ROOMS if name in __all__ else ():
        found = vars(import_module(f"{__name__}.{room}"))
        if name in found:
            made = {name: found[name], "__all__": [name]}
            errors_name_arguments(made)
            return made[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


errors_name_arguments(globals())
