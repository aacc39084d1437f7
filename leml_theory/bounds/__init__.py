"""Bounds with explicit constants, each with the region where it is valid.

To read in this order: `failures` (why a bound may not be valid), `setting` (what a bound is given
and what it returns), `bound` (how tables and pictures show it), `complexity` (bounds on Rademacher
averages), `risk` (from averages to risks), `offset` (fast rates of the squared loss), `minimax`
(what no method can beat).
"""

from argument_checks.wrong_types import errors_name_arguments
from leml_theory.bounds.bound import Bound, BoundLook
from leml_theory.bounds.complexity import (
    BERNSTEIN_CONSTANT,
    COMPLEXITY_BOUNDS,
    NET_CONSTANT,
    PRINTED_BOUNDS,
    best_bound,
    chevet,
    complexity_bounds,
    largest_count,
    largest_number,
    matrix_bernstein,
    monte_carlo,
    paper_constant,
    paper_points,
    paper_route,
    paper_route_as_printed,
    rademacher_chevet,
    sub_gaussian_net,
    tabled_bounds,
    theorem_3,
    theorem_3_as_printed,
)
from leml_theory.bounds.failures import FailedAssumption, failures_from_json, failures_to_json
from leml_theory.bounds.minimax import minimax_excess
from leml_theory.bounds.offset import OFFSET, offset_excess, offset_supremum, shown_bounds
from leml_theory.bounds.risk import (
    RISK_BOUNDS,
    bousquet_excess,
    bousquet_linear_gap,
    data_dependent_gap,
    expectation_bound,
    gaussian_excess,
    gaussian_linear_gap,
    mcdiarmid_excess,
    mcdiarmid_gap,
    paper_literal_excess,
)
from leml_theory.bounds.setting import LAWS, BoundValue, RiskSetting, Setting
from leml_theory.rademacher import BALLS

__all__ = [
    "BALLS",
    "BERNSTEIN_CONSTANT",
    "COMPLEXITY_BOUNDS",
    "LAWS",
    "NET_CONSTANT",
    "OFFSET",
    "PRINTED_BOUNDS",
    "RISK_BOUNDS",
    "Bound",
    "BoundLook",
    "BoundValue",
    "FailedAssumption",
    "RiskSetting",
    "Setting",
    "best_bound",
    "bousquet_excess",
    "bousquet_linear_gap",
    "chevet",
    "complexity_bounds",
    "data_dependent_gap",
    "expectation_bound",
    "failures_from_json",
    "failures_to_json",
    "gaussian_excess",
    "gaussian_linear_gap",
    "largest_count",
    "largest_number",
    "matrix_bernstein",
    "mcdiarmid_excess",
    "mcdiarmid_gap",
    "minimax_excess",
    "monte_carlo",
    "offset_excess",
    "offset_supremum",
    "paper_constant",
    "paper_literal_excess",
    "paper_points",
    "paper_route",
    "paper_route_as_printed",
    "rademacher_chevet",
    "shown_bounds",
    "sub_gaussian_net",
    "tabled_bounds",
    "theorem_3",
    "theorem_3_as_printed",
]

errors_name_arguments(globals())
