"""Find and signal all processes that a program has started.

A program is started in its own session, with a mark in its environment that its children inherit. On Linux both are
read from /proc, so that a child with its own session or parent is found too. On other systems only the process group
is known. Not found: a process that left the session and cleared its environment, or runs as another user.
"""

import contextlib
import os
import signal
from collections.abc import Collection
from pathlib import Path

MARK_VARIABLE = "CLERKSHIP_PROCESS"
"""Name of the variable that holds the mark."""
_PROC = Path("/proc")
_HAS_PROC = (_PROC / "self/stat").exists()
_HAS_CHILDREN = (_PROC / f"self/task/{os.getpid()}/children").exists()
_WAITING = (b"S", b"T", b"t", b"Z", b"X", b"I")
"""States in which a thread does not want the processor or a disk, proc(5)."""


def find_processes(session: int, mark: str) -> list[int]:
    """Return the running processes of a session or with its mark; empty if there is no /proc.

    The session is 0 if it is not known: the program was abandoned while it was being started.
    """
    if not _HAS_PROC:
        return []
    wanted = f"{MARK_VARIABLE}={mark}".encode()
    pids = (int(entry.name) for entry in os.scandir(_PROC) if entry.name.isdigit())
    return [pid for pid in pids if _belongs(pid, session, wanted)]


def _belongs(pid: int, session: int, wanted: bytes) -> bool:
    try:
        # `pid (name) state ppid pgrp session …`, proc(5); a name may have brackets in it.
        state, _, _, sid = (_PROC / f"{pid}/stat").read_bytes().rpartition(b")")[2].split()[:4]
        if state in (b"Z", b"X"):
            return False
        return (session > 0 and int(sid) == session) or wanted in (_PROC / f"{pid}/environ").read_bytes().split(b"\0")
    except (OSError, ValueError):  # gone already, or another user's
        return False


def is_waiting(process: int) -> bool:
    """Return whether a process and all its descendants sleep: they wait for input, for time or for another process.

    Return False if the system does not tell.
    """
    if not _HAS_CHILDREN:
        return False
    try:
        threads = [entry.path for entry in os.scandir(_PROC / f"{process}/task")]
        if not all(_read_state(thread) in _WAITING for thread in threads):
            return False
        children = [int(child) for thread in threads for child in Path(thread, "children").read_bytes().split()]
    except (OSError, ValueError):  # it is ending
        return False
    return all(map(is_waiting, children))


def _read_state(thread: str) -> bytes:
    return Path(thread, "stat").read_bytes().rpartition(b")")[2].split()[0]


def signal_processes(number: signal.Signals, session: int, mark: str, spared: Collection[int] = ()) -> bool:
    """Signal all processes except those in `spared`; return whether any was found."""
    if not _HAS_PROC:
        with contextlib.suppress(OSError):
            if session > 0:
                os.killpg(session, number)
        return False
    found = find_processes(session, mark)
    for pid in found:
        if pid in spared:
            continue
        with contextlib.suppress(OSError):
            os.kill(pid, number)
    return bool(found)
