"""The one table of the paper's checkable statements: PAPER, from id to statement."""

from __future__ import annotations

from collections.abc import Iterable

from paper_checks import (
    statements_algorithms,
    statements_sections,
    statements_tables,
    statements_theory,
)
from paper_checks.registry import Statement

_TABLES = (statements_sections, statements_algorithms, statements_theory, statements_tables)


def by_id(statements: Iterable[Statement]) -> dict[str, Statement]:
    """Return statements by id, in their order; an id may stand only once."""
    table: dict[str, Statement] = {}
    for statement in statements:
        if statement.id in table:
            raise ValueError(f"Statement {statement.id!r} is recorded twice; rename one.")
        table[statement.id] = statement
    return table


PAPER: dict[str, Statement] = by_id(s for table in _TABLES for s in table.STATEMENTS)
