"""The memory of the process that runs tests."""

import ctypes
import os
from pathlib import Path

PAGE_SIZE = os.sysconf("SC_PAGESIZE")
_M_ARENA_MAX = -8
"""The parameter of glibc's `mallopt` for the number of its pools of memory."""


def get_memory() -> int:
    """Return the resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_bytes().split()[1]) * PAGE_SIZE


def share_pool_of_memory() -> None:
    """Let all threads take memory from one pool of the C library; call it before the first thread starts.

    glibc has a pool for each of many threads. It never returns the free end of such a pool, up to 64 MB of each, except
    that of the first one.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)  # only glibc has it
    if set_option is not None:
        set_option(_M_ARENA_MAX, 1)


def return_free_memory() -> None:
    """Return what the C library keeps of freed memory to the system."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # only glibc has it
    if trim is not None:
        trim(0)
