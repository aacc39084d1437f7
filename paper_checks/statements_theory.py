"""Statements of Section 4 and of Appendices B and C, in the order of the paper."""

from __future__ import annotations

from paper_checks import statements_appendix_b, statements_appendix_c, statements_section_4
from paper_checks.registry import Statement

STATEMENTS: tuple[Statement, ...] = (
    *statements_section_4.STATEMENTS,
    *statements_appendix_b.STATEMENTS,
    *statements_appendix_c.STATEMENTS,
)
