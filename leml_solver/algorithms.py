"""The paper's algorithms one by one, for those who check or study them; `fit_factors` runs them.

Paper: Algorithm 1, Algorithm 2, Algorithm 3, Section 3.1, Appendix A.
"""

from argument_checks.wrong_types import errors_name_arguments
from leml_solver._exact.steps import accelerated
from leml_solver._factored.algorithm_1 import (
    FeatureProblem,
    GeneralLoss,
    GeneralOptions,
    LabelProblem,
)
from leml_solver._factored.algorithm_2 import FullSquared
from leml_solver._factored.certificate import certify_factors
from leml_solver._factored.cg import CGOptions, conjugate_gradient
from leml_solver._factored.closed_forms import (
    CPLST,
    Compression,
    compress,
    cplst,
    low_rank_least_squares,
)
from leml_solver._factored.entry_sums import entries_of
from leml_solver._factored.fit import expected_seconds
from leml_solver._factored.kernel_method import fit_kernel_factors, kernel_features
from leml_solver._factored.plan import AUTHORS, FAST, PLAIN, Plan
from leml_solver._factored.tron import TronOptions, tron
from leml_solver._linalg.factors import Groups, balancing
from leml_solver._linalg.matrices import CountingMatrix, DenseMatrix, as_matrix

__all__ = [
    "AUTHORS",
    "CPLST",
    "FAST",
    "PLAIN",
    "CGOptions",
    "Compression",
    "CountingMatrix",
    "DenseMatrix",
    "FeatureProblem",
    "FullSquared",
    "GeneralLoss",
    "GeneralOptions",
    "Groups",
    "LabelProblem",
    "Plan",
    "TronOptions",
    "accelerated",
    "as_matrix",
    "balancing",
    "certify_factors",
    "compress",
    "conjugate_gradient",
    "cplst",
    "entries_of",
    "expected_seconds",
    "fit_kernel_factors",
    "kernel_features",
    "low_rank_least_squares",
    "tron",
]


errors_name_arguments(globals())
