"""The fence: it holds with bubblewrap and without, and says so where it does not."""

import json
import os
import resource

import pytest
from outcomes import messages
from test_sandbox import LIMITS, START, graded, notebook, specification

from assignments import grade as command
from assignments.grading import rooms
from assignments.grading.answers import GraderError
from assignments.grading.kernel import LIMITS as HELD
from assignments.grading.runner import grade
from assignments.grading.sandbox import Limits, Sandbox, StoppedError

PATIENT = Limits(60.0, 120.0, 2 * 2**30)  # far from what is tested, on a busy machine too


@pytest.fixture(scope="module", params=["bubblewrap", "without"])
def sandbox(request, tmp_path_factory):
    """Return a process in a room of its own, and one that the kernel's limits alone hold."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "without":
            patch.setattr(rooms, "_bubblewrap", lambda: "")
        elif not rooms._bubblewrap():
            pytest.skip("bubblewrap is not installed, or may not make namespaces here")
        path = tmp_path_factory.mktemp("class") / "ann.ipynb"
        path.with_name("bob.ipynb").write_text("{}")
        path.write_text(json.dumps(notebook(START)))
        with Sandbox(path, ("leml_theory.plots",), PATIENT) as running:
            if running.missing:
                pytest.skip(f"this machine keeps no limits on {running.missing}")
            running.ask("cell", (1, START))
            yield running


def look(sandbox, code):
    reply = sandbox.ask("cell", (2, code))
    assert reply.kind == "done", reply.value
    return sandbox.ask("look", "found").value


LISTED = """
found = []
for place in PLACES:
    # Past the hook of Python, by the C library: what the kernel says.
    handle = ctypes.CDLL(None).open(place.encode(), 0o200000)
    try:
        found += [name for name in os.listdir(handle)] if handle >= 0 else []
    except OSError:
        pass
"""


def test_neither_the_checkout_nor_classmates_can_be_listed(sandbox):
    places = [os.getcwd(), "/tmp", "/", "/home", "/root", "/etc", os.path.dirname(sandbox.folder)]
    names = look(sandbox, LISTED.replace("PLACES", repr(places)))
    secret = ("assignments", "tests", "README.md", "bob.ipynb", "passwd", "shadow", "hostname")
    assert [name for name in names if name in secret] == []


@pytest.mark.parametrize("path", ["/etc/passwd", "/etc/hostname", "/etc/group", "/etc/hosts"])
def test_of_etc_only_what_python_needs_can_be_read(sandbox, path):
    code = f"found = ctypes.CDLL(None).open({path.encode()!r}, 0)"
    assert look(sandbox, code) == -1


def test_nobody_is_root_there(sandbox):
    assert 0 not in look(sandbox, "found = [os.getuid(), os.geteuid(), os.getgid()]")


def test_packages_can_still_be_imported(sandbox):
    code = "import leml_solver.losses, leml_theory.bounds, scipy.optimize, decimal, sklearn.svm"
    assert look(sandbox, f"{code}\nfound = 1") == 1


MANY_THREADS = """
import threading
wait, found = threading.Event(), 0
try:
    for found in range(1000):
        threading.Thread(target=wait.wait, daemon=True).start()
except RuntimeError:
    pass
wait.set()
"""


def test_threads_are_limited(sandbox):
    assert 8 <= look(sandbox, MANY_THREADS) < 300


def forging(frame):
    """Return a cell that writes bytes where the grader reads replies."""
    write = f"for i in range(3, 30):\n    try:\n        os.write(i, {frame})\n"
    return f"frame = {frame}\n" + write.replace(frame, "frame") + "    except OSError: pass\n"


def test_a_reply_of_millions_of_lists_costs_the_grader_little(tmp_path):
    """Without a limit, 24 MB of it cost 760 MB and 211 s."""
    path = tmp_path / "student.ipynb"
    path.write_text(json.dumps(notebook(START)))
    text = "b'{\"kind\": \"value\", \"value\": [' + b'[],' * 8_000_000 + b'[]]}'"
    body = f"text = {text}\n"
    frame = "len(text).to_bytes(8) + len(text).to_bytes(4) + text"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with Sandbox(path, (), PATIENT) as running:
        running.ask("cell", (1, START))
        with pytest.raises(StoppedError, match="sent a reply that cannot be read"):
            running.ask("cell", (2, body + forging(frame)))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 200_000  # kB: the bytes themselves are held two or three times


def test_a_long_list_is_refused_with_advice(tmp_path):
    result = graded(tmp_path, ["return [0.0] * 10**6"])
    (message,) = messages(result, "q0")
    assert "returned more than 250,000 values in lists; return an array" in message


@pytest.fixture
def no_fence(monkeypatch):
    """Make a machine without Landlock, seccomp and bubblewrap of this one."""
    monkeypatch.setattr(Sandbox, "missing", [HELD[0], HELD[1]])


def test_answers_are_not_run_where_the_fence_is_down(tmp_path, no_fence):
    with pytest.raises(GraderError, match="the fence is down: this machine does not limit f"):
        graded(tmp_path, [])


def test_a_weak_fence_stands_in_every_result(tmp_path, no_fence):
    limits = Limits(30.0, 120.0, 2 * 2**30, weak_fence=True)
    result = graded(tmp_path, [], limits=limits)
    assert result.total == 3
    assert result.remarks[0].startswith("WEAK FENCE: graded without the kernel's limits on files")


def test_the_command_refuses_before_it_grades(tmp_path, no_fence, capsys):
    (tmp_path / "s.ipynb").write_text("{}")
    table = tmp_path / "marks.csv"
    assert command.main([str(tmp_path / "s.ipynb"), "--out", str(table)]) == 2
    assert "the fence is down" in capsys.readouterr().err
    assert not table.exists()
    assert command.main([str(tmp_path / "s.ipynb"), "--out", str(table), "--weak-fence"]) == 0
    assert "WEAK FENCE" in capsys.readouterr().err


def test_a_byte_order_mark_and_lost_tags_cost_nothing(tmp_path):
    path = tmp_path / "student.ipynb"
    cells = [START, "# Check: q0\nassert False", "def f0(x):\n    return 2 * x\n"]
    path.write_text(json.dumps(notebook(*cells)), encoding="utf-8-sig")
    result = grade(specification(1), path, LIMITS)
    assert (result.total, result.remarks) == (3, ())
