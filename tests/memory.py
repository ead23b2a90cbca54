"""The memory of the process that runs tests."""

import os
from pathlib import Path

PAGE_SIZE = os.sysconf("SC_PAGESIZE")


def get_memory() -> int:
    """Return the resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_bytes().split()[1]) * PAGE_SIZE
