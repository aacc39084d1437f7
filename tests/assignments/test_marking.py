"""The marking is held by mutants: slips in reference answers cost points, rewrites cost none."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from marking import TERMS, every, lost, question_of, reference, slips
from marking_exceptions import EQUIVALENT, REWRITES

CAMPAIGN = str(Path(__file__).with_name("marking.py"))
QUESTIONS = list(every(""))


def campaign(*arguments):
    """Run a campaign in a process of its own; return its exit status and what it printed."""
    command = [sys.executable, CAMPAIGN, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_a_sample_of_slips_loses_points_and_rewrites_lose_none():
    status, said = campaign("--sample", "63")
    assert status == 0, said
    assert "63 of 63 mutants caught" in said


@pytest.mark.long
@pytest.mark.parametrize("letter", ["a", "b", "c"])
def test_every_slip_loses_points_in_every_term(letter):
    status, said = campaign("--only", f"{letter}:")
    assert status == 0, said


@pytest.mark.parametrize(("letter", "name"), QUESTIONS)
def test_a_question_has_twenty_slips_and_a_rewrite(letter, name):
    found = [slip for slip, _ in slips(letter, name, TERMS[0]) if slip.key not in EQUIVALENT]
    assert len(found) >= 20
    assert REWRITES[f"{letter}:{name}"]


def test_slips_that_are_excused_can_still_be_made():
    """A statement that has changed must be looked at again."""
    made = {s.key for pair in QUESTIONS for term in TERMS[:6] for s, _ in slips(*pair, term)}
    assert set(EQUIVALENT) <= made


def test_slips_change_norms_balls_signs_seeds_estimators_and_counts():
    after = "\n".join(s.after for pair in QUESTIONS for s, _ in slips(*pair, TERMS[0]))
    for word in ("'nuc'", "'frobenius'", "default_rng(0)", ".median(", "+ 1", "return -", "ddof=0"):
        assert word in after


def test_terms_ask_different_questions():
    """Of two terms in a row each has a variant of its own, and a variant has its own answer."""
    varied = [
        (letter, name)
        for letter, name in QUESTIONS
        if len({reference(letter, name, term) for term in TERMS}) > 1
    ]
    expected = {"a": (1, 2, 3, 4, 7), "b": (2, 3, 4, 6), "c": (1, 2, 3, 5, 6)}
    assert varied == [(letter, f"q{n}") for letter, numbers in expected.items() for n in numbers]


@pytest.mark.parametrize(("letter", "name"), [("a", "q3"), ("a", "q7"), ("b", "q2"), ("c", "q1")])
def test_the_answer_of_last_term_does_not_do(letter, name):
    from marking import lost

    for term in TERMS[:3]:
        assert lost(letter, name, reference(letter, name, term + 1), term)


VARIED = [(x, q) for x, q in QUESTIONS if len({reference(x, q, t) for t in range(6)}) > 1]


def test_half_of_the_questions_vary_with_the_term():
    assert len(VARIED) >= len(QUESTIONS) / 2


@pytest.mark.parametrize(("letter", "name"), VARIED)
def test_the_answer_to_another_variant_loses_points(letter, name):
    """Terms 6 and 7 differ in what comes in twos and in threes."""
    assert lost(letter, name, reference(letter, name, 7), 7, stop=True) == {}
    assert lost(letter, name, reference(letter, name, 6), 7, stop=True)


NONE = "np.zeros((0, 1))"  # `np.allclose` finds nothing in it that differs
PAIRS = ", ".join(f"'{key}': ({NONE}, {NONE})" for key in ("trace", "frobenius"))
EMPTY = (NONE, *(f"({NONE},) * {count}" for count in (2, 3, 4)), f"{{{PAIRS}}}")


@pytest.mark.parametrize(("letter", "name"), QUESTIONS)
@pytest.mark.parametrize("value", EMPTY)
def test_arrays_without_numbers_earn_nothing(letter, name, value):
    question = question_of(letter, name, TERMS[0])
    functions = [answer for answer in question.answers if answer != "misprints"]
    code = "\n".join(f"{function} = lambda *_, **__: {value}" for function in functions)
    failed = lost(letter, name, f"misprints = []\n{code}", TERMS[0], stop=False)
    assert set(failed) == {test.name for test in question.tests if test.points}


PARTS = [  # an earlier part that is not answered, a later one, and the tests of the later one
    ("a:q4", "limit_share", "labels_needed", {"q4 labels needed"}),
    ("a:q5", "rms_floor", "largest_gain", {"q5 gain"}),
    ("a:q7", "risk_bound", "smallest_n", {"q7 smallest n", "q7 the very first n"}),
    ("b:q3", "frobenius_excess", "worst_signal", {"q3 worst signal"}),
    ("c:q1", "lower_bound", "best_multiple", {"q1 best multiple"}),
    ("c:q5", "table_1", "gradients", {"q5 gradients"}),
    ("c:q6", "h_step", "alternate", {"q6 never climbs"}),
    ("c:q7", "ceilings", "figure_q7", {"q7 picture", "q7 curves"}),
]


@pytest.mark.parametrize(("question", "earlier", "later", "kept"), PARTS)
@pytest.mark.parametrize("term", TERMS[:2])
def test_a_right_part_needs_no_other(question, earlier, later, kept, term):
    letter, _, name = question.partition(":")
    whole = textwrap.indent(reference(letter, name, term), "    ")
    code = f"def whole():\n{whole}\n    return {later}\n\n{later} = whole()\n"
    failed = lost(letter, name, f"{code}{earlier} = lambda *_: None", term, stop=False)
    assert failed
    assert not kept & set(failed), failed


NONSENSE = {  # an earlier part made up so that the later one follows from it
    "limit_share = lambda L: 0.5 if L == 1 else 1 - 1e-6 / L\nlabels_needed = lambda _: 2": (
        "a:q4",
        "q4 labels needed",
    ),
    "risk_bound = lambda R, n, *_: 1e9 * (n < 2)\nsmallest_n = lambda *_: 2": (
        "a:q7",
        "q7 smallest n",
    ),
    "table_1 = lambda name, a, b: (a, 0 * b, b)\n"
    "gradients = lambda name, X, Y, W, H, mu: (mu * W, mu * H)": ("c:q5", "q5 gradients"),
}


@pytest.mark.parametrize("code", NONSENSE)
def test_what_follows_from_nonsense_earns_nothing(code):
    question, test = NONSENSE[code]
    letter, _, name = question.partition(":")
    assert test in lost(letter, name, code, 2028, stop=False)
