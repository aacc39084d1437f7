"""otter's files: its student notebook and the zip for its own grader or Gradescope."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from assignments.assignment import Assignment
from assignments.notebooks import otter_notebook, write

__all__ = ["OtterError", "write_otter_files"]

_ANY_DAY = (2000, 1, 1, 0, 0, 0)  # one date for all files: the same source gives the same zip


class OtterError(RuntimeError):
    """otter could not read the assignment; the message is its own."""


def write_otter_files(
    folder: Path, assignment: Assignment, term: int, *, check: bool = False
) -> None:
    """Write NAME.ipynb and NAME-autograder.zip.

    Parameters
    ----------
    folder : Path
        Made when it is not there.
    assignment : Assignment
        What to write.
    term : int
        Seeds the hidden tests.
    check : bool
        Whether otter grades the solution too, and full marks are required.
    """
    folder.mkdir(parents=True, exist_ok=True)
    name = assignment.name
    with tempfile.TemporaryDirectory() as temporary:
        master, made = Path(temporary) / f"{name}.ipynb", Path(temporary) / "made"
        made.mkdir()  # otter wants it there
        write(master, otter_notebook(assignment, term))
        _assign(master, made, check)
        student = json.loads((made / "student" / master.name).read_text(encoding="utf-8"))
        for number, cell in enumerate(student["cells"], start=1):
            cell["id"] = f"otter-{number:03d}"  # otter draws them at random
        write(folder / master.name, student)
        (archive,) = (made / "autograder").glob("*.zip")  # its name has the time of day
        _copy_zip(archive, folder / f"{name}-autograder.zip")


def _assign(master: Path, made: Path, check: bool) -> None:
    command = [sys.executable, "-m", "otter", "assign", "--no-pdfs"]
    command += [] if check else ["--no-run-tests"]
    done = subprocess.run(
        [*command, str(master), str(made)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise OtterError(f"otter assign failed on {master.name}:\n{done.stderr.strip()[-2000:]}")


def _copy_zip(source: Path, target: Path) -> None:
    with zipfile.ZipFile(source) as read, zipfile.ZipFile(target, "w") as written:
        for name in sorted(read.namelist()):
            entry = zipfile.ZipInfo(name, _ANY_DAY)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = read.getinfo(name).external_attr
            written.writestr(entry, read.read(name))
