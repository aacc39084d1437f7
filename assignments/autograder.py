"""What Gradescope gets: the grader's own modules, the tests as data, and what installs the rest."""

from __future__ import annotations

import shutil
from pathlib import Path

from assignments import grading
from assignments.bundles import bring_requirements, copy_script
from assignments.grading.specification import Specification

__all__ = ["write_autograder"]

_CONFTEST = '''"""Options and results of the autograder."""

from grading.pytest_plugin import (  # noqa: F401
    grader,
    pytest_addoption,
    pytest_configure,
    pytest_generate_tests,
)
'''
_TESTS = '''"""One test for each test cell of the assignment: see specification.json."""

from grading.pytest_plugin import test_answer  # noqa: F401
'''
_SETTINGS = "[pytest]\naddopts = -q -p no:cacheprovider --tb=short\n"


def write_autograder(folder: Path, specification: Specification, wheel: Path) -> None:
    """Write a folder that pytest runs; it needs the project's packages but not this repository.

    Parameters
    ----------
    folder : Path
        Made when it is not there.
    specification : Specification
        The tests.
    wheel : Path
        Of the project's packages; `setup.sh` installs it.
    """
    modules = sorted(Path(grading.__file__).parent.glob("*.py"))
    (folder / "grading").mkdir(parents=True, exist_ok=True)
    for module in modules:
        shutil.copy(module, folder / "grading" / module.name)
    specification.save(folder / "specification.json")
    files = {"conftest.py": _CONFTEST, "test_submission.py": _TESTS, "pytest.ini": _SETTINGS}
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    bring_requirements(folder, wheel, ["pytest"])
    copy_script("run_gradescope.sh", folder / "run_autograder")
