"""The wall clock and a stopwatch, for facts outside a playground: when a run started, how long it took."""

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime

monotonic = time.monotonic
perf_counter = time.perf_counter
process_time = time.process_time
sleep = time.sleep
time_ns = time.time_ns


class Stopwatch:
    """Measures the total time spent inside its `with` blocks; any thread may read it."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._state: tuple[float, float | None] = (0.0, None)
        """The total before, and since when it runs: one tuple, so that other threads read a consistent state."""

    def __enter__(self) -> None:
        """Start; inside another `with` block it continues."""
        total, since = self._state
        self._state = (total, self._clock() if since is None else since)

    def __exit__(self, *why: object) -> None:
        total, since = self._state
        self._state = (total + (self._clock() - since if since is not None else 0.0), None)

    @property
    def seconds(self) -> float:
        """The total so far."""
        total, since = self._state
        return total if since is None else total + (self._clock() - since)


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
