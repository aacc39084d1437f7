"""otter's files: its student notebook and the zip for its own grader or Gradescope."""

import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from assignments.assignment import Assignment
from assignments.bundles import BundleError, bring_requirements, copy_script, zip_folder
from assignments.notebooks import otter_notebook, write


def write_otter_files(
    student: Path,
    archive: Path,
    assignment: Assignment,
    term: int,
    wheel: Path,
    *,
    check: bool = False,
) -> None:
    """Write the notebook of students who use otter, and the zip with all that its grader needs.

    With `check`, otter grades the solution too, and full marks are required.
    """
    with tempfile.TemporaryDirectory() as temporary:
        made = _assigned(Path(temporary), assignment, term, check=check)
        notebook = json.loads((made / "student" / f"{assignment.name}.ipynb").read_text("utf-8"))
        for number, cell in enumerate(notebook["cells"], start=1):
            cell["id"] = f"otter-{number:03d}"  # otter draws them at random
        write(student, notebook)
        (theirs,) = (made / "autograder").glob("*.zip")  # its name has the time of day
        with zipfile.ZipFile(theirs) as content:
            content.extractall(made / "content")
        _complete(made / "content", wheel)
        archive.parent.mkdir(parents=True, exist_ok=True)
        zip_folder(made / "content", archive)


def _complete(folder: Path, wheel: Path) -> None:
    """Add what otter leaves out: the packages, and a way to install them without conda.

    The name of the assignment is taken out: otter would refuse a notebook that lost its metadata.
    """
    config = json.loads((folder / "otter_config.json").read_text("utf-8"))
    config.pop("assignment_name", None)
    (folder / "otter_config.json").write_text(json.dumps(config), encoding="utf-8")
    bring_requirements(folder, wheel, ["otter-grader", "ipykernel"])
    copy_script("run_otter.sh", folder / "run_autograder")
    copy_script("environment.yml", folder / "environment.yml")
    copy_script("q0_about.py.txt", folder / "tests" / "q0_about.py")


def _assigned(place: Path, assignment: Assignment, term: int, *, check: bool) -> Path:
    master, made = place / f"{assignment.name}.ipynb", place / "made"
    made.mkdir()  # otter wants it there
    write(master, otter_notebook(assignment, term))
    command = [sys.executable, "-m", "otter", "assign", "--no-pdfs"]
    command += [] if check else ["--no-run-tests"]
    done = subprocess.run(
        [*command, str(master), str(made)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise BundleError(f"otter assign failed on {master.name}:\n{done.stderr.strip()[-2000:]}")
    return made
