"""Answers that look for the expected values instead of computing them; and forged replies."""

import json
import os
from dataclasses import dataclass

import numpy as np
import pytest
from outcomes import points
from test_sandbox import LIMITS, START, graded, notebook

from assignments.grading.sandbox import Sandbox, StoppedError
from assignments.grading.transport import decode, encode, frame_length, pack, unpack
from leml_theory.plots import describe_axes

PRELUDE = """
class Agreeable(float):
    def __eq__(self, other): return True
    def __sub__(self, other): return 0.0
    __hash__ = float.__hash__

class Eager(np.ndarray):
    def __array_function__(self, *_): return True
    def __array_ufunc__(self, *_, **__): return np.zeros(4)

class Bomb:
    def __reduce__(self): return os.system, ("touch OUTSIDE/exploded",)

def frames():
    frame = sys._getframe()
    while frame is not None:
        yield frame
        frame = frame.f_back
"""
CHEATS = (
    "return next((f.f_locals['expected_secret'] for f in frames() "
    "if 'expected_secret' in f.f_locals), 0)",
    "return next((d['expected_secret'] for d in gc.get_objects() "
    "if isinstance(d, dict) and 'expected_secret' in d), 0)",
    "return next((m.expected_secret for m in list(sys.modules.values()) "
    "if hasattr(m, 'expected_secret')), 0)",
    "np.allclose = np.isclose = np.array_equal = lambda *a, **k: True; return 0",
    "import builtins; builtins.AssertionError = builtins.Exception = Warning; return 0",
    "return Agreeable(7)",
    "return np.zeros(4).view(Eager)",
    "return Bomb()",
    "return [Bomb()]",
    "raise Bomb()",
    "[os.write(i, b'no frame at all' * 9) for i in os.listdir('/proc/self/fd')]",
)


def test_no_cheat_gets_a_point(tmp_path):
    prelude = PRELUDE.replace("OUTSIDE", str(tmp_path))
    result = graded(tmp_path, CHEATS, prelude)
    assert [points(result, f"q{i}") for i in range(len(CHEATS))] == [0] * len(CHEATS)
    assert not (tmp_path / "exploded").exists()
    # The honest answer at the end still counts: the patches above stay in the student's process.
    assert result.total == 3


def started(folder):
    path = folder / "student.ipynb"
    path.write_text(json.dumps(notebook(START)))
    running = Sandbox(path, (), LIMITS)
    running.ask("cell", (1, START))
    return running


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory):
    with started(tmp_path_factory.mktemp("student")) as running:
        yield running


def look(sandbox, code, name="found"):
    """Run a cell and return what a name is afterwards."""
    reply = sandbox.ask("cell", (2, code))
    assert reply.kind == "done", reply.value
    return sandbox.ask("look", name).value


def test_the_process_sees_its_folder_and_nothing_of_the_grader(sandbox):
    found = look(sandbox, "found = sorted(os.listdir('.'))")
    assert set(found) - {".cache"} == {".matplotlib", "student.ipynb"}  # a cache of older libraries
    assert look(sandbox, "found = os.path.realpath('.')") == os.path.realpath(sandbox.folder)
    names = look(sandbox, "found = sorted(os.environ)")
    assert "PYTHONPATH" not in names
    assert len(names) < 20
    assert look(sandbox, "found = [m for m in sys.modules if 'assignments' in m]") == []


def test_files_inside_the_folder_may_be_written(sandbox):
    code = "open('own.txt', 'w').write('mine')\nfound = open('own.txt').read()"
    assert look(sandbox, code) == "mine"
    assert sandbox.refused == []


AROUND = {  # calls of the C library, which no hook sees -> the limit that stops them
    "ctypes.CDLL(None).fork()": "processes and network",
    "ctypes.CDLL(None).socket(2, 1, 0)": "processes and network",
    "ctypes.CDLL(None).kill(os.getppid(), 9)": "processes and network",
    "ctypes.CDLL(None).execl(b'/bin/true', b'true', None)": "processes and network",
    "ctypes.CDLL(None).open(b'SECRET', 0)": "files",
    "ctypes.CDLL(None).open(b'MADE', 0o101, 0o600)": "files",
    "ctypes.CDLL(None).unlink(b'SECRET')": "files",
    # What Landlock does not see, and calls that reach other processes by other ways than kill.
    "ctypes.CDLL(None).chmod(b'SECRET', 0)": "processes and network",
    "ctypes.CDLL(None).utimes(b'SECRET', None)": "processes and network",
    "ctypes.CDLL(None).setxattr(b'SECRET', b'user.a', b'b', 1, 0)": "processes and network",
    "ctypes.CDLL(None).fchmod(os.open(np.__file__, 0), 0o644)": "processes and network",
    "ctypes.CDLL(None).syscall(234, os.getppid(), os.getppid(), 0)": "processes and network",
    "ctypes.CDLL(None).syscall(302, os.getppid(), 7, None, None)": "processes and network",
    "ctypes.CDLL(None).setpriority(0, os.getppid(), 0)": "processes and network",
    "ctypes.CDLL(None).shmget(0, 4096, 0o600)": "processes and network",
    "ctypes.CDLL(None).memfd_create(b'a', 0)": "processes and network",
    # Five thousand MB in no time, past the limit on the size of files.
    "ctypes.CDLL(None).fallocate(os.open('big', 0o102), 1, 0, 5 << 30)": "processes and network",
    "ctypes.CDLL(None).inotify_init()": "processes and network",  # names of what others open
    "ctypes.CDLL(None).unshare(0x10000000)": "processes and network",
    "ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)": "processes and network",
}


@pytest.mark.parametrize("call", AROUND)
def test_the_kernel_stops_what_goes_around_python(sandbox, tmp_path, call):
    if AROUND[call] not in sandbox.held:
        pytest.skip(f"this kernel offers no limits on {AROUND[call]}")
    (tmp_path / "secret").write_text("the hidden tests")
    call = call.replace("SECRET", str(tmp_path / "secret")).replace("MADE", str(tmp_path / "made"))
    assert look(sandbox, f"found = {call}") == -1
    assert (tmp_path / "secret").exists()
    assert not (tmp_path / "made").exists()


def test_root_is_an_ordinary_user_there(sandbox):
    code = "found = next(s for s in open('/proc/self/status') if s.startswith('CapEff')).split()[1]"
    assert int(look(sandbox, code), 16) in (0, 1 << 2)  # the bit: it may read what others own


def test_the_limits_are_those_asked_for(sandbox):
    code = "import resource as r\nfound = [r.getrlimit(k)[0] for k in (r.RLIMIT_CPU, r.RLIMIT_AS)]"
    assert look(sandbox, code) == [LIMITS.total_seconds + 1, LIMITS.memory]


UNSEEN = """
held, found = [], 0
try:
    while found < 2000:
        held.append(open("unseen", "wb", buffering=0))
        os.unlink("unseen")
        os.ftruncate(held[-1].fileno(), 2**24 + (found == 0))
        found += 16
except OSError as error:
    refused = error
del held
"""


def test_files_without_a_name_take_little_room(sandbox):
    """The folder's watch counts names: 256 unlinked files of 64 MB were 16 GB."""
    assert look(sandbox, UNSEEN) == 0  # a file of 16 MB and a byte is too large
    assert 100 < look(sandbox, UNSEEN.replace(" + (found == 0)", "")) <= 1024  # MB


def test_threads_may_still_be_started(sandbox):
    code = "import threading\nt = threading.Thread(target=print)\nt.start()\nt.join()\nfound = 1"
    assert look(sandbox, code) == 1


def forged(message, arrays=b""):
    text = json.dumps(message).encode()
    return (len(text + arrays)).to_bytes(8) + len(text).to_bytes(4) + text + arrays


def received(frame):
    """Return what a frame holds, as the grader reads it."""
    frame_length(frame)
    message, arrays = unpack(frame)
    return decode(message["value"], arrays)


def npy(kind, shape):
    """Return an array in numpy's format that says what it is and has no content."""
    header = f"{{'descr': {kind!r}, 'fortran_order': False, 'shape': {shape}}}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00\x76\x00" + header.encode()


COLLIDING = [[i * (2**61 - 1), 0] for i in range(1001)]  # keys whose hashes are all 0
FORGERIES = (
    forged({"kind": "value", "value": {"dict": COLLIDING}}),
    forged({"kind": "value", "value": {"set": [key for key, _ in COLLIDING]}}),
    forged({"kind": "value", "value": {"array": 0}}, npy("<f8", (10**9,))),
    forged({"kind": "value", "value": {"array": 0}}, npy("|S0", (10**9,))),
    forged({"kind": "value", "value": 1}, npy("<f8", (0,)) * 20_001),
    b"\xff" * 40,
    forged([]),
    forged({"kind": "value"}),
    forged({"kind": "value", "value": {"unheard": 1}}),
    forged({"kind": "value", "value": {"array": 5}}),
    forged({"kind": "value", "value": {"axes": {"dict": []}}}),
    forged({"kind": "value", "value": {"array": 0}}, b"\x93NUMPY\x01\x00\x06\x00{1:2}\n"),
    pack({"kind": "value", "value": 1}, [])[:-1] + b"\x00",
)


@pytest.mark.parametrize("frame", FORGERIES)
def test_a_forged_reply_cannot_be_read(frame):
    with pytest.raises((ValueError, LookupError, TypeError, AttributeError)):
        received(frame)


def test_a_forged_reply_ends_the_process_and_leaves_nothing_behind(tmp_path):
    write = f"""
for i in map(int, os.listdir('/proc/self/fd')):
    try:
        i > 2 and os.write(i, {FORGERIES[0]!r})
    except OSError:
        pass
"""
    with started(tmp_path) as running:
        with pytest.raises(StoppedError, match="sent a reply that cannot be read"):
            running.ask("cell", (2, write))
        assert running._process.returncode is not None
        assert not running.folder.exists()


def test_an_array_of_objects_in_a_reply_is_not_unpickled():
    blob = b"\x93NUMPY\x01\x00\x46\x00" + b"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}"
    with pytest.raises(ValueError, match="not all there"):
        unpack(forged({"value": {"array": 0}}, blob.ljust(80) + b"cos\nsystem\n(S'true'\ntR."))


VALUES = (
    None,
    True,
    3,
    -2.5,
    float("inf"),
    "text",
    1 + 2j,
    [1, (2, "a")],
    {"key": {1: 2.0}},
    {1, 2},
    frozenset({"b"}),
    Ellipsis,
)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_plain_data_come_back_as_they_were(value):
    tree, arrays = encode(value)
    back = received(pack({"value": tree}, arrays))
    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "bool", "complex128", "U5"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)])
def test_arrays_come_back_bit_by_bit(dtype, shape):
    array = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    tree, arrays = encode(array.T)
    back = received(pack({"value": tree}, arrays))
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array.T)


def test_a_numpy_number_comes_back_as_one():
    tree, arrays = encode(np.float32(0.5))
    assert isinstance(decode(tree, arrays), np.float32)


def test_axes_come_back_as_their_description():
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    ax.semilogy([1, 2], [3.0, 4.0], label="measured")
    ax.scatter([1.0], [5.0], label="point")
    ax.set(xlabel="n", ylabel="risk", title="A figure")
    ax.legend()
    tree, arrays = encode({"figure": ax})
    back = received(pack({"value": tree}, arrays))["figure"]
    assert describe_axes(back) is back
    assert (back.x_label, back.y_label, back.title) == ("n", "risk", "A figure")
    assert (back.x_scale, back.y_scale) == ("linear", "log")
    np.testing.assert_array_equal(back.line("MEAS").y, [3.0, 4.0])
    np.testing.assert_array_equal(back.points[0].y, [5.0])
    assert back.legend == ("measured", "point")
    with pytest.raises(ValueError, match="no curve has 'bound' in its label; the curves are"):
        back.line("bound")


@dataclass
class Package:
    """A class that the student's process need not know."""

    size: int


def test_a_class_is_not_plain_data():
    with pytest.raises(TypeError, match="returned a Package, which is not plain data"):
        encode([Package(3)])
