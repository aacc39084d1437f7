"""The autograder folder: the grader's own modules, the tests as data, and what pytest needs."""

from __future__ import annotations

import shutil
from pathlib import Path

from assignments import grading
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
_SETUP = """#!/usr/bin/env bash
# Gradescope runs this once. Put a wheel of the project beside this file before zipping the folder.
python3 -m pip install pytest /autograder/source/*.whl
"""
_RUN = """#!/usr/bin/env bash
# Gradescope runs this for each submission.
cd /autograder/source || exit 1
results=/autograder/results/results.json
notebook=$(find /autograder/submission -name '*.ipynb' | sort | head -n 1)
if [ -z "$notebook" ]; then
  echo '{"score": 0, "output": "No notebook was found in the submission."}' > "$results"
else
  python3 -m pytest . --submission "$notebook" --results "$results"
fi
"""


def write_autograder(folder: Path, specification: Specification) -> None:
    """Write a folder that pytest runs; it needs the project's packages but not this repository."""
    modules = sorted(Path(grading.__file__).parent.glob("*.py"))
    (folder / "grading").mkdir(parents=True, exist_ok=True)
    for module in modules:
        shutil.copy(module, folder / "grading" / module.name)
    specification.save(folder / "specification.json")
    files = {"conftest.py": _CONFTEST, "test_submission.py": _TESTS, "pytest.ini": _SETTINGS}
    scripts = {"setup.sh": _SETUP, "run_autograder": _RUN}
    for name, text in (files | scripts).items():
        (folder / name).write_text(text, encoding="utf-8")
    for name in scripts:
        (folder / name).chmod(0o755)
