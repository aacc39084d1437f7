"""What checks take from the paper's text is what its sentences print."""

import ast
from pathlib import Path

import pytest
from paper_text import checksum, sentence

from paper_checks import statements
from paper_checks.printed import QUOTED, Quoted

FILES = sorted(Path(statements.__file__).parent.glob("*.py"))


@pytest.mark.parametrize("name", list(QUOTED))
def test_what_is_quoted_stands_in_its_sentence(name):
    text, start = sentence(QUOTED[name].checksum), 0
    for part in QUOTED[name].written:
        found = text.find(part, start)
        assert found >= 0, f"{part} is not in the sentence of {name}, in this order"
        start = found + len(part)


@pytest.mark.parametrize(
    ("written", "value"), [("7,000", 7e3), ("10^4", 1e4), ("1M", 1e6), ("200K", 2e5), ("3/4", 0.75)]
)
def test_numbers_as_they_are_written(written, value):
    assert Quoted("Section 1", "", (written,)).numbers == (value,)


def test_a_checksum_is_of_letters_and_digits_alone():
    assert checksum("Let $x_1$ be 2.") == checksum("let X1 be 2") == checksum("letx1be2")
    assert checksum("letx1be2") != checksum("letx1be3")


def test_formulas_as_printed_are_quoted():
    """A function that computes what the paper prints has its formula in the table."""
    names = [
        node.name
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("printed_")
    ]
    assert len(names) > 10
    assert set(names) <= set(QUOTED), sorted(set(names) - set(QUOTED))
