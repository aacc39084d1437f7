"""Files that are there whole or not at all, and a lock that one process holds at a time."""

import contextlib
import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from safe_files import LockedError, disk_error_text, locked, write_text, written_aside

ROOT = Path(__file__).resolve().parents[1]
HOLD = "import sys, safe_files\nwith safe_files.locked(sys.argv[1]): print('held', flush=True); {}"


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(TypeError), written_aside(path) as file:
        file.write("not bytes")
    assert path.read_text() == "old"
    with written_aside(path) as file:
        file.write(b"new")
    assert path.read_text() == "new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_nothing_is_seen_before_the_end(tmp_path):
    path = tmp_path / "file"
    with written_aside(path) as file:
        file.write(b"half")
        file.flush()
        assert not path.exists()
    assert path.read_bytes() == b"half"


def test_permissions_are_those_of_any_file(tmp_path):
    (tmp_path / "usual").write_text("")
    write_text(tmp_path / "ours", "Gauß")
    assert (tmp_path / "ours").read_text(encoding="utf-8") == "Gauß"
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode
    (tmp_path / "ours").chmod(0o600)
    write_text(tmp_path / "ours", "again")
    assert (tmp_path / "ours").stat().st_mode & 0o777 == 0o600


@contextlib.contextmanager
def holder(path, then):
    """A process of its own that takes the lock, says so and goes on with `then`."""
    command = [sys.executable, "-c", HOLD.format(then), str(path)]
    process = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("end", ["gently", "killed"])
def test_a_lock_ends_with_its_process(tmp_path, end):
    path = tmp_path / "lock"
    with holder(path, "sys.stdin.read()") as process:
        with pytest.raises(LockedError, match="locked by another run"), locked(path):
            pass
        if end == "killed":
            process.kill()
        process.communicate()
        with locked(path):
            assert process.returncode == (-9 if end == "killed" else 0)


def test_a_lock_is_held_within_one_process_too(tmp_path):
    with locked(tmp_path / "lock"):
        with pytest.raises(LockedError), locked(tmp_path / "lock"):
            pass
        with pytest.raises(LockedError), locked(tmp_path / "lock"):  # the refusal released nothing
            pass


def test_an_error_meanwhile_releases_the_lock(tmp_path):
    with pytest.raises(ZeroDivisionError), locked(tmp_path / "lock"):
        raise ZeroDivisionError
    with locked(tmp_path / "lock"):
        pass


def test_a_lock_that_cannot_be_made_is_an_error_of_the_disk(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"), locked(tmp_path / "file" / "lock"):
        pass


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ENOSPC, "free space"),
        (errno.EACCES, "Choose a folder that you may write to"),
        (errno.EIO, "Check the disk"),
    ],
)
def test_errors_of_the_disk_say_what_to_do(number, remedy):
    text = disk_error_text("write to `out`", OSError(number, os.strerror(number)))
    assert text.startswith(f"Could not write to `out`: {os.strerror(number)}. ")
    assert remedy in text


@pytest.mark.parametrize("module", ["leml_theory.sweep.__main__", "leml_theory.runs"])
def test_the_sweep_can_be_imported_where_there_is_no_fcntl(module):
    """As on Windows."""
    code = f"import sys; sys.modules['fcntl'] = None; import {module}"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
