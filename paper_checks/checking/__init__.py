"""What a check is made of: the statement it decorates, the facts it compares, its outcome."""

from argument_checks.wrong_types import errors_name_arguments
from paper_checks.checking.fact import EXACT, PRINTED, Bears, Fact, valid_value
from paper_checks.checking.statement import (
    CHECKS,
    STATEMENTS,
    Effort,
    Findings,
    Kind,
    Outcome,
    Statement,
    Sure,
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
    "Findings",
    "Kind",
    "Outcome",
    "Statement",
    "Sure",
    "Verdict",
    "valid_value",
]


errors_name_arguments(globals())
