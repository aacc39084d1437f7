"""What Gradescope gets: the grader's own modules, the tests as data, and what installs the rest."""

from __future__ import annotations

import shutil
from pathlib import Path

from assignments import grading
from assignments.bundles import bring_requirements, copy_script
from assignments.grading.specification import Specification


def write_autograder(folder: Path, specification: Specification, wheel: Path) -> None:
    """Write a folder that pytest runs; it needs the project's packages but not this repository.

    `setup.sh` in it installs the wheel.
    """
    modules = sorted(Path(grading.__file__).parent.glob("*.py"))
    (folder / "grading").mkdir(parents=True, exist_ok=True)
    for module in modules:
        shutil.copy(module, folder / "grading" / module.name)
    specification.save(folder / "specification.json")
    for name in ("conftest.py.txt", "test_submission.py.txt", "pytest.ini"):
        copy_script(name, folder / name.removesuffix(".txt"))
    bring_requirements(folder, wheel, ["pytest"])
    copy_script("run_gradescope.sh", folder / "run_autograder")
