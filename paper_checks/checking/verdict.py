"""The one rule by which a verdict follows from what the facts of a check bear on."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from paper_checks.checking.fact import Bears, Fact


class Verdict(Enum):
    """What became of a statement when it was tried."""

    HOLDS = "holds"
    HIDDEN = "holds under a hidden assumption"
    MISPRINT = "misprint"
    FALSE = "false as stated"
    LOOSE = "loose"
    ANSWERED = "open question answered"
    CONJECTURE = "conjecture of ours"


@dataclass(frozen=True, slots=True)
class _Evidence:
    """The bearings that a verdict needs, and those that may stand beside them."""

    needed: frozenset[Bears]
    allowed: frozenset[Bears]

    def fits(self, found: frozenset[Bears]) -> bool:
        """Whether all that is needed was found, and nothing that is not allowed."""
        return self.needed <= found <= self.needed | self.allowed


def _evidence(*needed: Bears, beside: Iterable[Bears] = ()) -> _Evidence:
    """Return what a verdict needs; a control may stand beside anything."""
    return _Evidence(frozenset(needed), frozenset(beside) | {Bears.CONTROL})


# What refutes the printed form is followed by what becomes of it, and that names the verdict: a
# condition or the paper's own usage weighs more than a corrected form alone. A statement may hold
# in part and be refuted all the same, so that support may stand beside refutation.
RULE = {
    Verdict.HOLDS: _evidence(Bears.SUPPORTS),
    Verdict.LOOSE: _evidence(Bears.SUPPORTS, Bears.SLACK, beside=[Bears.REPAIRED]),
    Verdict.FALSE: _evidence(Bears.REFUTES, Bears.REPAIRED, beside=[Bears.SUPPORTS]),
    Verdict.MISPRINT: _evidence(
        Bears.REFUTES, Bears.MEANT, beside=[Bears.REPAIRED, Bears.SUPPORTS]
    ),
    Verdict.HIDDEN: _evidence(
        Bears.REFUTES, Bears.CONDITION, beside=[Bears.REPAIRED, Bears.SUPPORTS]
    ),
    Verdict.CONJECTURE: _evidence(Bears.GUESS, beside=[Bears.REFUTES, Bears.SUPPORTS]),
    Verdict.ANSWERED: _evidence(Bears.ANSWERS, beside=[Bears.SUPPORTS]),
}


def verdict_of(facts: Iterable[Fact]) -> Verdict:
    """Return the verdict that facts establish if all of them hold.

    Raises
    ------
    ValueError
        If no verdict follows from what the facts bear on.
    """
    found = frozenset(fact.bears for fact in facts)
    for verdict, evidence in RULE.items():
        if evidence.fits(found):
            return verdict
    names = ", ".join(sorted(bears.name for bears in found)) or "nothing"
    raise ValueError(
        f"facts must bear on their statement as one line of `RULE` asks, got {names}; "
        "add the comparison that is missing or mend a bearing."
    )
