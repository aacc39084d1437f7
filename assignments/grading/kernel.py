"""Limits that the Linux kernel keeps: Landlock for files, seccomp for processes and the network.

Both bind the process that asks for them, for good, and need no privilege. Where the kernel or the
machine does not offer one, it is left out and the names of those that hold say so.
"""

import contextlib
import ctypes
import os
import platform
import re
import struct
import sys

from .confinement import NOBODY, Fence

LIMITS = ("files", "processes and network", "the user's rights")

_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2
_PARENT_DEATH_SIGNAL, _KILL, _KEEP_CAPABILITIES = 1, 9, 8
_CAPABILITIES, _READ_ANYWHERE = 0x20080522, 1 << 2  # the version of the call; one bit to keep
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every machine
_VERSION, _PATH_BENEATH = 1, 1
# Landlock's rights, bit by bit: execute 0, write 1, read 2, list 3, then remove, make, ...
_READ, _LIST, _TRUNCATE, _DEVICE_CONTROL = 1 << 2, 1 << 3, 1 << 14, 1 << 15
_EXECUTE, _WRITE = 1, 1 << 1
_FILE_RIGHTS = _EXECUTE | _WRITE | _READ | _TRUNCATE | _DEVICE_CONTROL
_RIGHTS_BY_VERSION = {1: 13, 2: 14, 3: 15, 4: 15}  # how many bits; 16 from version 5
_NETWORK, _SIGNALS = (4, 3), (6, 3)  # from which version on, and bits: all of TCP; scopes

# Calls of the 64-bit PC, by number; all are refused with "operation not permitted".
_REFUSED = {
    "memory and disk that outlive the process or that no limit counts": (
        "shmget 29, semget 64, msgget 68, mq_open 240, add_key 248, keyctl 250, memfd_create 319, "
        "memfd_secret 447, fallocate 285"
    ),
    "names of files that others open": "inotify_init 253, inotify_init1 294, fanotify_init 300",
    "the network": "socket 41, socketpair 53, io_uring_setup 425",
    "new processes": "fork 57, vfork 58, execve 59, execveat 322, unshare 272, setns 308",
    "other processes": (
        "kill 62, tkill 200, ptrace 101, rt_sigqueueinfo 129, rt_tgsigqueueinfo 297, "
        "process_vm_readv 310, process_vm_writev 311, pidfd_open 434, pidfd_send_signal 424, "
        "setpriority 141, sched_setparam 142, sched_setscheduler 144, sched_setattr 314, "
        "ioprio_set 251"
    ),
    "what is said of files, which Landlock does not see": (
        "truncate 76, chmod 90, fchmod 91, chown 92, fchown 93, lchown 94, fchownat 260, "
        "fchmodat 268, fchmodat2 452, utime 132, utimes 235, futimesat 261, utimensat 280, "
        "setxattr 188, lsetxattr 189, fsetxattr 190, setxattrat 463, removexattr 197, "
        "lremovexattr 198, fremovexattr 199, removexattrat 466, open_by_handle_at 304"
    ),
}
_CLONE, _CLONE3, _THREAD = 56, 435, 0x10000
_PRCTL, _SET_AFFINITY, _TGKILL, _PRLIMIT = 157, 203, 234, 302
_PC, _ALLOW, _ERRNO = 0xC000003E, 0x7FFF0000, 0x50000
_NOT_PERMITTED, _NOT_THERE = 1, 38
# Instructions of the filter: load a word, jump if equal, jump if a bit is set, jump if >=, return.
_LOAD, _EQUAL, _BIT, _AT_LEAST, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06


def bind(fence: Fence) -> list[str]:
    """Bind this process to `fence`; return the names of the limits that hold."""
    if not sys.platform.startswith("linux"):
        return []
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        return []
    files = _landlock(libc, fence)
    user = _leave_root(libc, _READ_ANYWHERE if files else 0)
    libc.prctl(_PARENT_DEATH_SIGNAL, _KILL)  # a grader that is killed leaves nobody behind
    limits = dict(zip(LIMITS, (files, _seccomp(libc), user), strict=True))
    return [name for name, holds in limits.items() if holds]


def _leave_root(libc: ctypes.CDLL, kept: int) -> bool:
    """Become an ordinary user without privileges; tell whether the process is one.

    Packages may lie where only root reads, so behind Landlock that one right is kept.
    """
    with contextlib.suppress(OSError):
        if os.geteuid() == 0:
            libc.prctl(_KEEP_CAPABILITIES, 1, 0, 0, 0)
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
    for right in (kept, 0):
        sets = struct.pack("6I", right, right, 0, 0, 0, 0)
        if libc.capset(struct.pack("Ii", _CAPABILITIES, 0), sets) == 0:
            break
    return os.geteuid() != 0


def _landlock(libc: ctypes.CDLL, fence: Fence) -> bool:
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION)
    if version < 1:
        return False
    handled = (1 << _RIGHTS_BY_VERSION.get(version, 16)) - 1
    more = [bits if version >= first else 0 for first, bits in (_NETWORK, _SIGNALS)]
    attributes = struct.pack("QQQ", handled, *more)
    ruleset = libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    if ruleset < 0:
        return False
    rights = {path: _READ | _LIST for path in fence.readable}
    rights |= {fence.home: handled & ~_EXECUTE, os.devnull: _READ | _WRITE | _TRUNCATE}
    for path, right in rights.items():
        _allow(libc, ruleset, path, right & handled)
    done = bool(libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0)
    os.close(ruleset)
    return done


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, rights: int) -> None:
    """Add one rule; a path that is not there needs none."""
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not os.path.isdir(path):
        rights &= _FILE_RIGHTS
    rule = struct.pack("=Qi", rights, place)
    libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
    os.close(place)


def _seccomp(libc: ctypes.CDLL) -> bool:
    if platform.machine() != "x86_64":
        return False
    program = b"".join(_program())
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
    return bool(libc.prctl(_SET_SECCOMP, _FILTER, header, 0, 0) == 0)


def _instruction(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("HBBI", code, yes, no, value)


def _program() -> list[bytes]:
    """Return the filter: number and machine of the call in, allowed or an error number out."""
    refuse = _instruction(_RETURN, _ERRNO | _NOT_PERMITTED)
    lines = [_instruction(_LOAD, 4), _instruction(_EQUAL, _PC, yes=1), refuse]
    lines += [_instruction(_LOAD, 0), _instruction(_AT_LEAST, 0x40000000, no=1), refuse]
    for number in map(int, re.findall(r" (\d+)", ", ".join(_REFUSED.values()))):
        lines += [_instruction(_EQUAL, number, no=1), refuse]
    # clone3 hides its flags; told that it is missing, the C library falls back on clone.
    lines += [_instruction(_EQUAL, _CLONE3, no=1), _instruction(_RETURN, _ERRNO | _NOT_THERE)]
    # clone makes threads, which may be, and processes, which may not.
    lines += _judged(_CLONE, _instruction(_BIT, _THREAD, yes=1))
    # What a process may do to itself (abort, ask for its limits), but not to others.
    lines += _judged(_TGKILL, _instruction(_EQUAL, os.getpid(), yes=1))
    lines += _judged(_PRLIMIT, _instruction(_EQUAL, 0, yes=1))
    lines += _judged(_SET_AFFINITY, _instruction(_EQUAL, 0, yes=1))
    lines += _judged(_PRCTL, _instruction(_EQUAL, _PARENT_DEATH_SIGNAL, no=1))
    return [*lines, _instruction(_RETURN, _ALLOW)]


def _judged(number: int, jump: bytes) -> list[bytes]:
    """Return lines for one call: `jump` looks at its first argument and skips the refusal."""
    refuse = _instruction(_RETURN, _ERRNO | _NOT_PERMITTED)
    call, load = _instruction(_EQUAL, number, no=4), _instruction(_LOAD, 16)
    return [call, load, jump, refuse, _instruction(_RETURN, _ALLOW)]
