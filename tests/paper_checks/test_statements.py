"""The table of statements, the checks and the references to the paper are in step."""

import ast
import dataclasses
import re
from pathlib import Path

import pytest

from paper_checks.checking import CHECKS, Bears, Effort, Fact, Outcome, Statement, Verdict
from paper_checks.statements import PAPER, PARTS

ROOT = Path(__file__).resolve().parents[2]
BEARS = Bears.SUPPORTS
PACKAGES = ("simulations", "leml_solver", "leml_theory", "paper_checks")
PLACE = re.compile(
    r"(?:(?:Theorem|Lemma|Claim|Table|Algorithm) \d+|Section \d+(?:\.\d+)*"
    r"|Equation \(?\d+\)?|Appendix [A-D](?:\.\d+)*)"
)


def references():
    """Yield the places that `Paper:` lines of docstrings name."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for line in re.findall(r"^\s*Paper: (.*)$", path.read_text(), re.MULTILINE):
                yield path, line, [full_name(place) for place in PLACE.findall(line)]


def full_name(place):
    """Return the place as the table spells it: 'Equation (5)', also where 'Equation 5' stands."""
    return re.sub(r"^Equation \(?(\d+)\)?$", r"Equation (\1)", place)


def is_covered(place):
    """Say whether a statement stands at a place or within it: Section 5.2 is within Section 5."""
    return any(s.place == place or s.place.startswith(f"{place}.") for s in PAPER.values())


def statements_in(path):
    """Return where a file calls `Statement`: all the lines, and those of decorators."""
    tree = ast.parse(path.read_text())
    decorators = [d for node in ast.walk(tree) for d in getattr(node, "decorator_list", ())]
    calls = [
        [n for n in nodes if isinstance(n, ast.Call)] for nodes in (ast.walk(tree), decorators)
    ]
    return [{n.lineno for n in found if ast.unparse(n.func) == "Statement"} for found in calls]


def test_each_statement_stands_by_keywords_on_its_check():
    assert all(field.kw_only for field in dataclasses.fields(Statement))
    counted = 0
    for path in sorted((ROOT / "paper_checks").rglob("*.py")):
        everywhere, decorators = statements_in(path)
        assert everywhere == decorators, path
        assert not decorators or path.parent.name == "statements", path
        counted += len(decorators)
    assert counted == len(PAPER) == len(CHECKS)


def test_statements_are_in_the_order_of_the_paper():
    assert tuple(dict.fromkeys(name[0] for name in PAPER)) == PARTS
    names = list(PAPER)
    assert names.index("A2") < names.index("A10") < names.index("A10.1") < names.index("A11")


def test_every_reference_is_in_the_table():
    listed = list(references())
    assert len(listed) > 30
    for path, line, places in listed:
        assert places, f"{path}: no place in 'Paper: {line}'"
        for place in places:
            assert is_covered(place), f"{path} refers to {place}, where no statement stands"


@pytest.mark.parametrize("statement", PAPER.values(), ids=list(PAPER))
def test_statements_are_complete(statement):
    assert PLACE.fullmatch(statement.place), statement.place
    assert full_name(statement.place) == statement.place
    for text in (statement.says, statement.how, statement.refuted_by):
        assert text.strip() == text
        assert text[-1] in ".?", text
    if statement.verdict is not Verdict.HOLDS:
        assert statement.correct, "what is not plainly right needs its correct form"


@pytest.mark.parametrize(
    "place",
    ["Theorem 3", "Theorem 4", "Theorem 5", "Theorem 6", "Lemma 1", "Lemma 2", "Lemma 3"]
    + [f"Claim {number}" for number in (1, 2, 7, 8)]
    + [f"Equation ({number})" for number in range(1, 14)]
    + [f"Algorithm {number}" for number in (1, 2, 3)],
)
def test_all_numbered_places_are_covered(place):
    assert is_covered(place)


def test_a_fact_holds_within_its_tolerance():
    fact = Fact("x", 1.0, 1.0 + 1e-12, "==", 1e-9, "rounding", BEARS)
    assert fact.holds
    assert not Fact("x", float("nan"), 1.0, "!=", 0.0, "exact", BEARS).holds


@pytest.mark.parametrize(
    ("relation", "measured", "holds"),
    [
        ("==", 1.2, False),
        ("==", 1.05, True),
        ("<=", 1.05, True),
        ("<=", 1.2, False),
        (">=", 0.95, True),
        (">=", 0.8, False),
        ("!=", 1.05, False),
        ("!=", 1.2, True),
    ],
)
def test_relations(relation, measured, holds):
    fact = Fact("x", measured, 1.0, relation, 0.1, "one tenth", BEARS)
    assert fact.holds is holds
    assert (fact.margin >= 0) is holds


def test_a_failing_fact_is_the_one_shown():
    good, bad = Fact("a", 0, 0, "==", 0, "exact", BEARS), Fact("b", 1, 0, "==", 0, "exact", BEARS)
    assert Outcome((good, bad)).shown is bad
    assert Outcome((good, good)).shown is good


def test_a_statement_is_recorded_once():
    with pytest.raises(ValueError, match="is recorded twice"):
        PAPER["F1"](CHECKS["F1"])


def test_effort_picks_the_size():
    assert Effort(True, None).pick(1, 2) == 1
    assert Effort(False, None).pick(1, 2) == 2
