"""What is left of a student's process and its folder: nothing, however it ends."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_sandbox import notebook

from assignments.grading import folder
from assignments.grading.sandbox import Limits, Sandbox, StoppedError

LIMITS = Limits(seconds=60.0, total_seconds=60.0)  # far from what is tested, on a busy machine too


def started(place):
    path = place / "student.ipynb"
    path.write_text(json.dumps(notebook("import os\n")))
    running = Sandbox(path, (), LIMITS)
    running.ask("cell", (1, "import os"))
    return running


GROWING = {  # what a cell does without end -> how it is stopped; the limits are lowered for it
    "open(str(os.urandom(1)[0] % 20), 'wb').write(b'x' * 2**20)": "wrote more than 8 MB to",
    "open(os.urandom(9).hex(), 'w').close()": "made more than 50 files or folders",
    "os.mkdir('d'); os.chdir('d')": "made more than 50 files or folders",
}


@pytest.mark.parametrize("deed", GROWING)
def test_a_folder_that_grows_without_end_is_stopped(deed, tmp_path, monkeypatch):
    monkeypatch.setattr(folder, "_LARGEST", 8 * 2**20)
    monkeypatch.setattr(folder, "_MOST", 50)
    with started(tmp_path) as running:
        with pytest.raises(StoppedError, match=GROWING[deed]):
            running.ask("cell", (2, f"import time\nwhile True: {deed}; time.sleep(0.002)"))
        assert not running.folder.exists()


def test_folders_in_folders_are_removed_however_deep(tmp_path):
    """Deeper than Python's own recursion goes."""
    with started(tmp_path) as running:
        reply = running.ask("cell", (2, "for _ in range(1500): os.mkdir('d'); os.chdir('d')"))
        assert reply.kind == "done", reply.value
    assert not running.folder.exists()


def test_a_process_can_still_end_itself(tmp_path):
    """To abort is a signal that a process sends to itself."""
    with started(tmp_path) as running, pytest.raises(StoppedError, match="SIGABRT"):
        running.ask("cell", (2, "os.abort()"))


ORPHAN = """
import pathlib, sys
from assignments.grading.sandbox import Limits, Sandbox
running = Sandbox(pathlib.Path(sys.argv[1]), (), Limits(seconds=60.0))
print(running._process.pid, running.folder, flush=True)
running.ask("cell", (1, "import time; open('asleep', 'w').close(); time.sleep(50)"))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells of a death")
def test_a_grader_that_is_killed_leaves_nobody_behind(tmp_path):
    (tmp_path / "s.ipynb").write_text("{}")
    command = [sys.executable, "-c", ORPHAN, str(tmp_path / "s.ipynb")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as grader:
        pid, folder = grader.stdout.readline().split()
        assert within_seconds(Path(folder, "asleep").exists)
        grader.kill()
    assert within_seconds(lambda: not alive(int(pid)))
    shutil.rmtree(folder)


def within_seconds(fact):
    """Wait for a fact; it takes milliseconds, on a busy machine a second."""
    end = time.monotonic() + 10.0
    while not fact() and time.monotonic() < end:
        time.sleep(0.05)
    return fact()


def alive(pid):
    """Tell whether a process runs: one that has ended may still be listed as a zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
