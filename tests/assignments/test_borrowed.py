"""Answers that call the functions with which tests compute what they expect."""

import pytest

from assignments.grading.borrowed import borrowed
from assignments.grading.specification import Question, Specification, Test

BORROWED = {  # a cell -> what it takes from the package; the test takes chi_mean and TraceBall
    "from leml_theory.predictions import chi_mean as own": ["chi_mean"],
    "import leml_theory.predictions as s\nf = s.chi_mean": ["chi_mean"],
    "import leml_solver\nf = getattr(leml_solver, 'TraceBall')": ["TraceBall"],
    "from leml_theory.predictions import *\nf = chi_mean": ["chi_mean"],
    "def chi_mean(n): return n\nf = chi_mean(3)": [],
    "from leml_solver import FrobeniusBall": [],
    "def broken(:": [],
}


@pytest.mark.parametrize("cell", BORROWED)
def test_a_function_that_only_tests_should_need_is_named(cell):
    code = "from leml_solver import TraceBall\nfrom leml_theory.predictions import chi_mean\n"
    question = Question("q1", ("f",), (Test("q1 one", 1, True, code), Test("q1 two", 1, True, "")))
    (remark,) = borrowed(Specification("a", "A", "", (question,)), (cell,)) or [""]
    assert [name for name in ("TraceBall", "chi_mean") if name in remark] == BORROWED[cell]


def test_what_the_setup_offers_is_not_borrowed():
    code = "from leml_solver import TraceBall\n"
    question = Question("q1", ("f",), (Test("q1 one", 1, True, code),))
    assert borrowed(Specification("a", "A", code, (question,)), (code,)) == []
