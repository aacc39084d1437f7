"""A verdict follows from its facts by one rule, and the one on record is only compared with it."""

from dataclasses import replace
from itertools import chain, combinations

import pytest

from paper_checks.__main__ import main
from paper_checks.checking import STATEMENTS, Bears, Fact, Outcome, Verdict
from paper_checks.checking.running import Result, run
from paper_checks.checking.verdict import RULE, verdict_of
from paper_checks.statements import PAPER


def fact(bears, *, holds=True):
    """Return a fact of one bearing."""
    return Fact("x", float(holds), 1.0, "==", 0.0, "exact", bears)


def facts(*bearings):
    return tuple(fact(bears) for bears in bearings)


@pytest.mark.parametrize(
    ("bearings", "verdict"),
    [
        ((Bears.SUPPORTS,), Verdict.HOLDS),
        ((Bears.SUPPORTS, Bears.CONTROL), Verdict.HOLDS),
        ((Bears.SUPPORTS, Bears.SLACK), Verdict.LOOSE),
        ((Bears.SUPPORTS, Bears.SLACK, Bears.REPAIRED), Verdict.LOOSE),
        ((Bears.REFUTES, Bears.REPAIRED), Verdict.FALSE),
        ((Bears.REFUTES, Bears.MEANT), Verdict.MISPRINT),
        ((Bears.REFUTES, Bears.REPAIRED, Bears.MEANT), Verdict.MISPRINT),
        ((Bears.REFUTES, Bears.CONDITION), Verdict.HIDDEN),
        ((Bears.REFUTES, Bears.CONDITION, Bears.SUPPORTS), Verdict.HIDDEN),
        ((Bears.REFUTES, Bears.CONDITION, Bears.REPAIRED), Verdict.HIDDEN),
        ((Bears.GUESS,), Verdict.CONJECTURE),
        ((Bears.REFUTES, Bears.GUESS), Verdict.CONJECTURE),
        ((Bears.ANSWERS,), Verdict.ANSWERED),
    ],
)
def test_the_rule(bearings, verdict):
    assert verdict_of(facts(*bearings)) is verdict
    assert verdict_of(facts(*reversed(bearings))) is verdict  # the order does not matter


@pytest.mark.parametrize(
    "bearings",
    [
        (),
        (Bears.CONTROL,),
        (Bears.REFUTES,),
        (Bears.REPAIRED,),
        (Bears.MEANT, Bears.REPAIRED),
        (Bears.SLACK,),
        (Bears.REFUTES, Bears.SLACK),
        (Bears.REFUTES, Bears.MEANT, Bears.CONDITION),
        (Bears.REFUTES, Bears.ANSWERS),
        (Bears.SUPPORTS, Bears.REFUTES),
    ],
)
def test_facts_from_which_nothing_follows_are_refused(bearings):
    with pytest.raises(ValueError, match="must bear on their statement"):
        Outcome(facts(*bearings))


def test_no_facts_fit_two_verdicts():
    sets = chain.from_iterable(combinations(Bears, size) for size in range(len(Bears) + 1))
    assert max(sum(e.fits(frozenset(s)) for e in RULE.values()) for s in sets) == 1
    assert set(RULE) == set(Verdict)


def test_a_printed_form_is_called_wrong_only_where_it_was_compared():
    wrong = {Verdict.FALSE, Verdict.MISPRINT, Verdict.HIDDEN}
    assert {v for v, evidence in RULE.items() if Bears.REFUTES in evidence.needed} == wrong
    assert all(len(RULE[verdict].needed) == 2 for verdict in wrong)  # and what becomes of it


def test_one_failing_fact_leaves_no_verdict():
    assert Outcome(facts(Bears.SUPPORTS)).verdict is Verdict.HOLDS
    assert Outcome((fact(Bears.SUPPORTS), fact(Bears.CONTROL, holds=False))).verdict is None


@pytest.fixture(scope="module")
def results():
    """Return the results of all statements at the small size, run once."""
    return {r.statement.id: r for r in run(PAPER.values(), quick=True, seed=0)}


@pytest.mark.parametrize("statement_id", list(PAPER))
def test_any_other_verdict_on_record_is_noticed(statement_id, results):
    result = results[statement_id]
    assert result.as_recorded, result.objection
    for verdict in set(Verdict) - {result.statement.verdict}:
        flipped = replace(result, statement=replace(result.statement, verdict=verdict))
        assert not flipped.as_recorded
        assert result.statement.verdict.value in flipped.objection


@pytest.mark.parametrize("verdict", [v for v in Verdict if v is not Verdict.MISPRINT])
def test_the_command_says_what_the_facts_say(verdict, capsys, monkeypatch):
    flipped = replace(PAPER["A12"], verdict=verdict)
    monkeypatch.setitem(PAPER, "A12", flipped)
    assert main(["--quick", "--only", "A12"]) == 1
    printed = capsys.readouterr().out
    assert "NOT AS RECORDED: the facts say 'misprint'" in printed
    assert main(["show", "A12"]) == 1
    assert STATEMENTS["A12"].verdict is Verdict.MISPRINT


def test_a_result_says_why_it_is_not_as_recorded():
    statement = PAPER["F1"]
    assert Result(statement, None, 0.0, "no convergence").objection == "broke down: no convergence"
    failing = Outcome((fact(Bears.SUPPORTS, holds=False),))
    assert Result(statement, failing, 0.0).objection == "x"
    assert Result(statement, Outcome(facts(Bears.SUPPORTS)), 0.0).objection == ""
