"""The errata: everything that is not plainly right, as a document that one could send."""

import re
from collections import Counter
from collections.abc import Sequence

from paper_checks.checking.fact import Bears, Fact
from paper_checks.checking.running import Result
from paper_checks.checking.statement import Statement
from paper_checks.checking.verdict import Verdict

TITLE = "Large-scale Multi-label Learning with Missing Labels: errata and remarks"
# Statement.matters -> the heading of those entries.
_HEADINGS = {
    3: "What changes a result or a program",
    2: "Conditions that a reader needs",
    1: "Smaller matters",
}
_MEANINGS = {
    Verdict.FALSE: "fails as printed, and another form is right",
    Verdict.HIDDEN: "right under a condition that is not stated where it stands",
    Verdict.MISPRINT: "a slip; the paper itself uses the right form elsewhere",
    Verdict.LOOSE: "right, with room to spare",
    Verdict.CONJECTURE: "probably misprinted, as we guess",
    Verdict.ANSWERED: "left open by the paper; we give an answer",
}
_DECISIVE = (Bears.REFUTES, Bears.SLACK, Bears.ANSWERS, Bears.GUESS)
_WORDS = {"==": "=", "<=": "at most", ">=": "at least", "!=": "different from"}


def errata(results: Sequence[Result], n_checked: int) -> str:
    """Return the errata as Markdown: a page of summary, then the entries that matter most first.

    Parameters
    ----------
    results : sequence of Result
        Of the statements that are not plainly right, in the order of the paper.
    n_checked : int
        How many statements they were chosen from.
    """
    parts = _summary(results, n_checked)
    numbers = {result.statement.id: number for number, result in enumerate(ordered(results), 1)}
    for matters, heading in _HEADINGS.items():
        chosen = [result for result in results if result.statement.matters == matters]
        if chosen:
            parts.append(f"## {heading}")
            parts += [_entry(result, numbers[result.statement.id]) for result in chosen]
    return "\n\n".join(parts) + "\n"


def ordered(results: Sequence[Result]) -> list[Result]:
    """Return the results with those that matter most first, else in the order of the paper."""
    return sorted(results, key=lambda result: -result.statement.matters)


def _summary(results: Sequence[Result], n_checked: int) -> list[str]:
    """Return what stands on the first page: counts, the gravest, how to read the entries."""
    counts = Counter(result.statement.verdict for result in results)
    rows = [f"| {v.value} | {counts[v]} | {text} |" for v, text in _MEANINGS.items() if counts[v]]
    gravest = [result.statement for result in results if result.statement.matters == 3]
    unconfirmed = [result.statement.id for result in results if not result.as_recorded]
    parts = [
        f"# {TITLE}",
        "On the paper by H.-F. Yu, P. Jain, P. Kar and I. S. Dhillon (ICML 2014). Each statement "
        f"was checked by a program; of {n_checked} statements {n_checked - len(results)} hold as "
        f"they stand, and the other {len(results)} are listed here.",
        "\n".join(["| verdict | entries | meaning |", "|---|---|---|", *rows]),
    ]
    if unconfirmed:
        parts.append(f"**This run does not confirm: {', '.join(unconfirmed)}.**")
    if gravest:
        parts += ["The most serious:", "\n".join(map(_headline, gravest))]
    return [
        *parts,
        "What the paper says is given in our words. Sentences are counted within paragraphs, "
        "paragraphs and lines of formulas within their section, rows of a table below its head. "
        "`python -m paper_checks show ID` prints all numbers behind an entry. The radius is the "
        "lambda of Section 4; V is the matrix of signed sums of Appendix B.2, R_n its Rademacher "
        "average; P is the largest probability of a label; C and B are the Lipschitz constant and "
        "the range of the loss.",
    ]


def _headline(statement: Statement) -> str:
    """Return a line on an entry: what is said, and why it is not so."""
    said, why = _plain(statement.says), _plain(statement.why)
    return f"- **{statement.place}** ({statement.id}). {said} *But:* {why}"


def _entry(result: Result, number: int) -> str:
    """Return one entry."""
    s = result.statement
    verdict = "" if result.as_recorded else f" (this run does not confirm it: {result.objection})"
    parts = {
        "Where": f"{s.where}." if s.where else s.place,
        "The paper says, in our words": s.says,
        "Why": s.why,
        "Example": s.example,
        "Correct form": s.correct,
        "How sure": f"{s.sure.value}." if s.sure else "",
        "Checked": f"{s.how} {_found(result)}",
    }
    lines = [f"*{name}:* {_plain(text)}" for name, text in parts.items() if text]
    return "\n\n".join([f"### {number}. {s.place} ({s.id}): {s.verdict.value}{verdict}", *lines])


def _found(result: Result) -> str:
    """Return the number on which the entry rests."""
    if result.outcome is None:
        return f"No number: {result.error}."
    facts = result.outcome.facts
    decisive = (fact for bears in _DECISIVE for fact in facts if fact.bears is bears)
    return f"Found {compared(next(decisive, result.outcome.shown))}."


def compared(fact: Fact) -> str:
    """Return one comparison in words."""
    sides = f"{fact.measured:.6g}, expected {_WORDS[fact.relation]} {fact.predicted:.6g}"
    return f"{fact.name}: {sides}"


def _plain(text: str) -> str:
    """Return text in which Markdown sees no marks: Z*, |Z|_tr and <Z, V> stay as they are."""
    return re.sub(r"[\\*`<]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", r"\\\g<0>", text)
