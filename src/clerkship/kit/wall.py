"""The wall clock, for facts outside a playground: when a run started, how long it took."""

import os
import time
from datetime import UTC, datetime

monotonic = time.monotonic
perf_counter = time.perf_counter
process_time = time.process_time


def now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


def thread_seconds(thread: int) -> float | None:
    """Return the processor time of a thread of this process; None if the system does not provide it."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return None
    try:
        return time.clock_gettime(time.pthread_getcpuclockid(thread))
    except OSError:  # it has ended
        return None


def process_seconds(process: int) -> float | None:
    """Return the processor time of a process; None if the system does not provide it."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:  # noqa: PTH123  (many times a second)
            fields = file.read().rpartition(b")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return None
