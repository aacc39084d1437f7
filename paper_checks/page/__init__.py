"""The statements of the paper as a page: verdicts, filters and the evidence behind each."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from documents import check_target, interactive_page, packaged
from paper_checks.checking.running import Result
from paper_checks.checking.verdict import Verdict
from safe_files import write_text

__all__ = ["check_page", "write_page"]

_TITLE = "The paper, statement by statement"
_TOLD = ("id", "place", "says", "how", "refuted_by", "correct", "why", "example", "where")


def check_page(path: str) -> Path:
    """Return the path of a page that can be written, or say what is wrong with it."""
    if Path(path).suffix != ".html":
        raise ValueError(f"--html needs a file named *.html, got {path!r}.")
    return check_target(path)


def write_page(results: Sequence[Result], path: str, *, quick: bool, seed: int) -> Path:
    """Write the page, one file that needs no network, and return its path.

    Parameters
    ----------
    results : sequence of Result
        As `run` yields them.
    path : str
        A name that ends in .html.
    quick, seed : bool, int
        How the results were made; the page says so.
    """
    target = check_page(path)
    data = {
        "how": f"{'quick' if quick else 'full'} run, seed {seed}",
        "verdicts": [verdict.value for verdict in Verdict],
        "statements": [_statement(result) for result in results],
    }
    scripts = [packaged(__name__, "statements.js")]
    body = packaged(__name__, "statements.html")
    write_text(target, interactive_page(_TITLE, data, body=body, scripts=scripts))
    return target


def _statement(result: Result) -> dict[str, Any]:
    """Return everything about one statement as JSON values."""
    statement = result.statement
    return {
        **result.record(),
        **{name: getattr(statement, name) for name in _TOLD},
        "sure": statement.sure.value if statement.sure else "",
        "matters": 0 if statement.verdict is Verdict.HOLDS else statement.matters,
        "objection": result.objection,
        "note": result.outcome.note if result.outcome else result.error,
        "relation": result.outcome.shown.relation if result.outcome else "",
        "facts": _facts(result),
    }


def _facts(result: Result) -> list[dict[str, Any]]:
    """Return the comparisons behind a verdict."""
    facts = result.outcome.facts if result.outcome else ()
    return [{**asdict(f), "bears": f.bears.value, "holds": f.holds} for f in facts]
