"""What a check is made of: the statement it decorates, the facts it compares, its outcome."""

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
