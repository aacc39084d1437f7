"""Submissions that fail, misbehave or cheat: a clear line each, and the rest is graded.

Many bad answers are handed in at once: that the good ones among them count is the point.
"""

import json
import re
import socket

import pytest
from outcomes import messages, points

from assignments.grading import sandbox
from assignments.grading.answers import GraderError
from assignments.grading.runner import grade
from assignments.grading.sandbox import Limits
from assignments.grading.specification import Question, Specification, Test
from assignments.grading.submission import read_submission

# Ten times what an honest cell here needs, on a busy machine too.
LIMITS = Limits(seconds=3.0, total_seconds=120.0, memory=2 * 2**30)
SETUP = "import numpy as np\n"
START = "import ctypes, gc, os, subprocess, sys\nimport numpy as np\n"


def doubling(name, function):
    """Return a question that wants twice as much."""
    code = (
        "x = np.arange(4.0)\n"
        "expected_secret = 2.0 * x\n"
        f'assert np.allclose({function}(x), expected_secret), "Not twice as much."\n'
    )
    return Question(name, (function,), (Test(f"{name} twice", 3, True, code),))


def specification(n_questions):
    questions = [doubling(f"q{i}", f"f{i}") for i in range(n_questions)]
    return Specification("example", "An example", SETUP, tuple(questions))


def notebook(*cells):
    code = [{"cell_type": "code", "source": text, "metadata": {}} for text in cells]
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": code}


def function(i, body):
    return f"def f{i}(x):\n    {body}\n"


def graded(folder, bodies, *cells, limits=LIMITS):
    """Grade one submission with a function for each body, an honest one at the end."""
    answers = [function(i, body) for i, body in enumerate([*bodies, "return 2 * x"])]
    path = folder / "student.ipynb"
    path.write_text(json.dumps(notebook(START, *cells, *answers)))
    return grade(specification(len(answers)), path, limits)


def said(patterns, texts):
    return any(re.search(patterns, text, re.DOTALL) for text in texts)


BODIES = {  # what a function does -> what the feedback says
    "while True: pass": "`f0` ran longer than 3 s and was stopped",
    "os._exit(0)": r"ended the Python process \(exit code 0\)",
    "ctypes.string_at(0)": "crashed the Python process",
    "os.closerange(0, 99)": "ended the Python process",
    "sys.exit(3)": "raised SystemExit: 3",
    "return f5(x)": "raised RecursionError",
    "return np.ones(10**10)": "raised .*MemoryError",
    "return (2 * v for v in x)": "returned a generator, .* return a list, not a generator",
    "return lambda: x": "returned a function",
    "return np.broadcast_to(0.0, 10**9)": "returned 7,629 MB, more than the 64 MB",
    "return [0.0] * 10**7": "returned .* MB, more than the 64 MB",
    "return np.array([f5])": "returned an array of type object",
    "a = []; a.append(a); return a": "nested more than 40 deep",
    "return 10 ** 5000": "raised ValueError",
    "return 1 / 0": r"raised ZeroDivisionError: division by zero \(cell 16, line 2: return 1 / 0\)",
    "return input()": "raised EOFError",
    "...": "^`f16` returns nothing: not answered yet, or without",
    "return ...": "is still `...`: not answered yet",
    "return 3 * x": "^Not twice as much.$",
    "return 'text'": "The test could not use the answer",
    "raise Exception('x' * 10**6)": r"raised Exception: x{600} \(cell",
    "raise type('E', (Exception,), {'__str__': lambda s: 1 / 0})()": "message cannot be shown",
    "raise ValueError('\\ud800 \\x1b[2J')": r"ValueError: \\ud800 \\x1b\[2J",
}


def test_functions_that_fail_lose_their_points_and_say_why(tmp_path):
    """Four of them end the process; it is started anew, and the honest answer counts."""
    result = graded(tmp_path, list(BODIES))
    for i, (body, pattern) in enumerate(BODIES.items()):
        (message,) = messages(result, f"q{i}")
        assert re.search(pattern, message, re.DOTALL), f"{body}: {message}"
        assert len(message) < 1000
    assert result.total == points(result, f"q{len(BODIES)}") == 3
    assert not said("refused", result.remarks)


CELLS = {  # a cell -> what the remarks say
    "while True: pass": "cell 2 ran longer than 3 s",
    "os._exit(7)": r"cell 3 ended the Python process \(exit code 7\)",
    "sys.exit()": "cell 4 stopped: SystemExit",
    "def broken(:": r"cell 5 stopped: SyntaxError: invalid syntax \(cell 5, line 1\)",
    "nothing + 1": "cell 6 stopped: NameError: name 'nothing' is not defined",
    "%matplotlib inline\n!pip install numpy": "cell 7: the line '%matplotlib inline' was skipped",
    "%%bash\nrm -rf .": "cell 8 was skipped: it begins with %%bash",
    "%%time\nx = 1\n": "cell 9: the line '%%time' was skipped",
    "import matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()\nf99": "cell 10 .*'f99'",
    "for _ in range(64): print('x' * 2**24)": "it printed [0-9,]{11,} bytes; only",
}


def test_cells_that_fail_are_named_and_the_others_run(tmp_path):
    result = graded(tmp_path, [], *CELLS)
    for cell, pattern in CELLS.items():
        assert said(pattern, result.remarks), f"{cell}: {result.remarks}"
    assert result.total == 3
    assert len(result.output) < 30_000
    assert re.search("output cut here: [0-9,]+ more bytes", result.output)
    assert not said("refused", result.remarks)


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        yield server


@pytest.fixture
def outside(tmp_path):
    """Return a folder with something to steal and to spoil."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "specification.json").write_text("the hidden tests")
    return folder


ATTACKS = {  # what is tried -> what the remarks say; OUTSIDE and PORT are filled in
    "open('OUTSIDE/made', 'w')": "refused: it tried to write .*/made outside its folder",
    "os.rename('OUTSIDE/specification.json', 'here')": "tried to change .* outside its folder",
    "os.remove('OUTSIDE/specification.json')": r"tried to change \(os.remove\)",
    "open('OUTSIDE/specification.json').read()": "tried to read .*specification.json",
    "os.listdir('OUTSIDE')": "tried to list",
    "os.symlink('OUTSIDE', 'link')": r"tried to change \(os.symlink\)",
    "open('/proc/%d/mem' % os.getppid(), 'rb')": "tried to read /proc/[0-9]+/mem",
    "subprocess.run(['touch', 'OUTSIDE/made'])": r"start another process \(subprocess.Popen",
    "os.system('touch OUTSIDE/made')": r"start another process \(os.system",
    "os.fork()": r"start another process \(os.fork",
    "os.kill(os.getppid(), 9)": r"touch another process \(os.kill",
    "import socket; socket.create_connection(('127.0.0.1', PORT))": "use the network",
    "import urllib.request as u; u.urlopen('http://127.0.0.1:PORT')": "use the network",
    "import assignments.grading.runner": "tried to import assignments",
    "import assignments": "tried to import assignments",
}


def test_attempts_are_refused_and_reported_and_the_rest_is_graded(tmp_path, listener, outside):
    port = str(listener.getsockname()[1])
    cells = [a.replace("OUTSIDE", str(outside)).replace("PORT", port) for a in ATTACKS]
    result = graded(tmp_path, [], *cells)
    for attack, pattern in ATTACKS.items():
        assert said(pattern, result.remarks), f"{attack}: {result.remarks}"
    assert result.total == 3
    assert [path.name for path in outside.iterdir()] == ["specification.json"]
    with pytest.raises(TimeoutError):
        listener.accept()


def test_a_submission_that_takes_too_long_in_all_is_stopped(tmp_path):
    slow = "import time; time.sleep(1); return 2 * x"
    limits = Limits(seconds=3.0, total_seconds=5.0, memory=2 * 2**30)
    result = graded(tmp_path, [slow] * 6, limits=limits)
    assert result.total < 3 * 7
    assert messages(result, "q6") == ["not run: the submission took 5 s in all."]


NOT_NOTEBOOKS = {  # the content of a file -> what is said of it
    b"": "its JSON does not parse",
    b"Dear professor": "its JSON does not parse",
    b"\x80\x04\x95": "its JSON does not parse",
    b"[" * 10**5: "its JSON does not parse",
    b"[1, 2]": "it has no list of cells",
    b'{"cells": 3}': "it has no list of cells",
    b'{"cells": [1, {"cell_type": "markdown"}]}': "has no code cells",
    # A hundred megabytes of these took 2.4 GB of the process that grades the class.
    b'{"cells": [' + b"[]," * 10**6 + b"1]}": "more than 1,000,000 values; clear its outputs",
    b'{"cells": [{"cell_type": "code", "source": "' + b"x\\n" * 10**6 + b'"}]}': (
        "more than 1,000,000 characters of code"
    ),
}


@pytest.mark.parametrize("content", NOT_NOTEBOOKS, ids=lambda content: str(content[:20]))
def test_a_file_that_is_no_notebook_gets_zero_and_one_line(content, tmp_path):
    path = tmp_path / "student.ipynb"
    path.write_bytes(content)
    result = grade(specification(2), path)
    assert result.total == 0
    assert len(result.outcomes) == 2
    (remark,) = result.remarks
    assert NOT_NOTEBOOKS[content] in remark
    assert all(outcome.message == remark for outcome in result.outcomes)


def test_a_continued_line_that_begins_with_a_percent_sign_is_python(tmp_path):
    path = tmp_path / "student.ipynb"
    path.write_text(json.dumps(notebook("x = (7\n% 4)")))
    assert read_submission(path).cells == ("x = (7\n% 4)",)
    assert read_submission(path).remarks == ()


def test_a_grader_that_cannot_start_blames_no_student(tmp_path, monkeypatch):
    monkeypatch.setattr(sandbox, "_BOOT", "raise SystemExit(4)")
    with pytest.raises(GraderError, match=r"it ended the Python process \(exit code 4\)"):
        graded(tmp_path, [])


def test_processor_time_is_limited_too(tmp_path):
    path = tmp_path / "student.ipynb"
    path.write_text("{}")
    with (
        sandbox.Sandbox(path, (), Limits(seconds=60.0, total_seconds=6.0)) as running,
        pytest.raises(sandbox.StoppedError, match="used more processor time than allowed"),
    ):
        running.ask("cell", (1, "while True: pass"))
