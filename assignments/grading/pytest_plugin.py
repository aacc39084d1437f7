"""The autograder as pytest tests: one test per test cell, and results.json at the end.

The built autograder's conftest.py and test file take everything from here.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .results import gradescope, write_json
from .runner import Grader
from .sandbox import Limits
from .specification import Question, Specification, Test

_HERE = Path(__file__).resolve().parents[1]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the autograder."""
    group = parser.getgroup("autograder")
    group.addoption("--submission", type=Path, help="the notebook to grade")
    group.addoption("--results", type=Path, help="where to write results.json")
    group.addoption("--limit", type=float, default=Limits.seconds, help="seconds per cell or call")
    group.addoption("--weak-fence", action="store_true", help="grade even if the fence is down")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse to run without a submission."""
    path = config.getoption("--submission")
    if path is None or not Path(path).is_file():
        raise pytest.UsageError(f"name the notebook to grade: --submission FILE (got {path}).")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test of each test cell."""
    tests = Specification.load(_HERE / "specification.json").tests()
    metafunc.parametrize(("question", "test"), tests, ids=[test.name for _, test in tests])


@pytest.fixture(scope="session")
def grader(request: pytest.FixtureRequest) -> Iterator[Grader]:
    """Start the student's process; write the results when all tests have run."""
    options = request.config.option
    specification = Specification.load(_HERE / "specification.json")
    limits = Limits.of(options.limit, weak_fence=options.weak_fence)
    with Grader(specification, options.submission, limits) as running:
        yield running
        result = running.result()
        # Without all outcomes the grader itself has failed: no file is better than a wrong mark.
        if options.results is not None and len(result.outcomes) == len(specification.tests()):
            write_json(options.results, gradescope(result, specification))


def test_answer(grader: Grader, question: Question, test: Test) -> None:
    """Fail with the message that the student is to read."""
    outcome = grader.run(question, test)
    if not outcome.passed:
        pytest.fail(outcome.message, pytrace=False)
