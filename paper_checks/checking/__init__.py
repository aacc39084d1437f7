"""What a check is made of: the statement it decorates, the facts it compares, its outcome."""

from paper_checks.checking.facts import (
    EXACT,
    PRINTED,
    Bears,
    Fact,
    at_least,
    at_most,
    cells,
    count,
    different,
    equal,
    mean_above,
    mean_at_most,
    mean_below,
    mean_equal,
    valid_value,
)
from paper_checks.checking.statement import (
    CHECKS,
    STATEMENTS,
    Effort,
    Kind,
    Outcome,
    Statement,
)
from paper_checks.checking.verdict import Verdict

__all__ = [
    "CHECKS",
    "EXACT",
    "PRINTED",
    "STATEMENTS",
    "Bears",
    "Effort",
    "Fact",
    "Kind",
    "Outcome",
    "Statement",
    "Verdict",
    "at_least",
    "at_most",
    "cells",
    "count",
    "different",
    "equal",
    "mean_above",
    "mean_at_most",
    "mean_below",
    "mean_equal",
    "valid_value",
]
