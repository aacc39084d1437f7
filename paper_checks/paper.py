"""The one table of the paper's checkable statements: PAPER, from id to statement."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from paper_checks.registry import Statement

TABLES = (
    "statements_sections",
    "statements_algorithms",
    "statements_theory",
    "statements_tables",
)


def _statements() -> dict[str, Statement]:
    """Return all statements by id, in the order of the paper."""
    table: dict[str, Statement] = {}
    for name in TABLES:
        if find_spec(f"paper_checks.{name}") is None:
            continue
        for statement in import_module(f"paper_checks.{name}").STATEMENTS:
            if statement.id in table:
                raise ValueError(f"Statement {statement.id!r} is recorded twice; rename one.")
            table[statement.id] = statement
    return table


PAPER: dict[str, Statement] = _statements()
