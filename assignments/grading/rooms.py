"""A room of its own for a student's process: bubblewrap, where it is installed and works.

In it there is nothing but what the fence lets be read and the process's own folder: no other
processes, no network, no names of other students. The limits of `kernel` hold inside it as well.
"""

import functools
import os
import shutil
import subprocess
from pathlib import Path

from .confinement import NOBODY, Fence
from .fences import readable_folders

_OWN = ("/proc", "/dev")  # made anew in each room
_ALONE = ("--unshare-all", "--die-with-parent", "--uid", str(NOBODY), "--gid", str(NOBODY))


@functools.cache
def _bubblewrap() -> str:
    """Return the program, or nothing where it is not installed or may not do its work."""
    program = shutil.which("bwrap")
    if program is None:
        return ""
    trial = [program, *_ALONE, "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true"]
    return "" if subprocess.run(trial, capture_output=True, check=False).returncode else program


def room(fence: Fence) -> list[str]:
    """Return the words that begin the command of a process in its own room; none without one."""
    program = _bubblewrap()
    if not program:
        return []
    here = str(Path(__file__).resolve().parent)
    places = {*readable_folders(), *fence.readable, here}
    command = [program, *_ALONE, "--proc", "/proc", "--dev", "/dev"]
    for place in sorted(place for place in places if not place.startswith(_OWN)):
        command += ["--ro-bind-try", os.path.realpath(place), place]
    return [*command, "--bind", fence.home, fence.home, "--chdir", fence.home]
