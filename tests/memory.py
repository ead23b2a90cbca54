"""The memory of the process that runs tests."""

import ctypes
import os
from pathlib import Path

PAGE_SIZE = os.sysconf("SC_PAGESIZE")


def get_memory() -> int:
    """Return the resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_bytes().split()[1]) * PAGE_SIZE


def return_free_memory() -> None:
    """Return what the C library keeps of freed memory, which each thread has a pool of, to the system."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # only glibc has it
    if trim is not None:
        trim(0)
