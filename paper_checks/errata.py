"""The errata: everything that is not plainly right, with its correct form and its evidence."""

from __future__ import annotations

from collections.abc import Sequence

from paper_checks.registry import Fact, Verdict
from paper_checks.running import Result

_TITLES = {
    Verdict.FALSE: "False as stated",
    Verdict.MISPRINT: "Misprints",
    Verdict.HIDDEN: "True under an assumption that is not stated",
    Verdict.LOOSE: "True, with room to spare",
}
_WORDS = {"==": "=", "<=": "at most", ">=": "at least", "!=": "different from"}


def evidence(result: Result) -> list[str]:
    """Return the facts of a result, one line each: name, both sides, tolerance and its reason."""
    facts = result.outcome.facts if result.outcome else ()
    return [_fact_line(fact) for fact in facts] or [f"no evidence: {result.error or 'no facts'}"]


def _fact_line(fact: Fact) -> str:
    """Return one comparison in words."""
    mark = "" if fact.holds else "FAILS: "
    tolerance = f" (tolerance {fact.tolerance:.2g}: {fact.reason})" if fact.reason else ""
    sides = f"{fact.measured:.6g}, expected {_WORDS[fact.relation]} {fact.predicted:.6g}"
    return f"{mark}{fact.name}: {sides}{tolerance}"


def errata(results: Sequence[Result]) -> str:
    """Return the errata as Markdown, the gravest first."""
    parts = ["# Errata of the paper, each with its evidence"]
    for verdict, title in _TITLES.items():
        chosen = [result for result in results if result.statement.verdict is verdict]
        if chosen:
            parts += [f"## {title}", *(_entry(result) for result in chosen)]
    return "\n\n".join(parts)


def _entry(result: Result) -> str:
    """Return one erratum."""
    s = result.statement
    lines = [f"### {s.place} ({s.id})", "", f"**The paper says:** {s.statement}", ""]
    if s.correct:
        lines += [f"**Correct form:** {s.correct}", ""]
    lines += [f"**How it was checked:** {s.how}", ""]
    if not result.as_recorded:
        lines += ["**This run does not confirm it.**", ""]
    lines += ["Evidence:", "", *(f"- {text}" for text in evidence(result))]
    if result.outcome and result.outcome.note:
        lines += ["", result.outcome.note]
    return "\n".join(lines)
