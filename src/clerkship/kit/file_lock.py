"""Locks on files, which the system releases when the process ends."""

from io import FileIO

try:
    import fcntl
except ImportError:  # Windows has no such locks: two processes must not use the same file there
    fcntl = None  # type: ignore[assignment]


def try_lock(file: FileIO, *, shared: bool = False) -> bool:
    """Lock a file, and return True; return False if another process holds a lock that excludes this one."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
