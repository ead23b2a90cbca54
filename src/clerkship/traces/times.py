"""Wall time to simulated time: when events were logged, and how far the clocks of an agent's processes are off."""

from bisect import bisect_right
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from clerkship.events.event import Event
from clerkship.kit.wall import time_ns

NANOSECONDS = 1_000_000_000


class EventTimes:
    """The wall time at which each event of a trial was logged. `record` is subscribed to the log."""

    def __init__(self, now: datetime, *, is_paced: bool) -> None:
        self.started = time_ns()
        self._is_paced = is_paced
        self._walls, self._simulated = [self.started], [now]
        self._by_seq: dict[int, int] = {}

    def record(self, event: Event) -> None:
        """Record that an event was logged now. One that arrived late says nothing about the clock."""
        wall = max(time_ns(), self._walls[-1])
        self._by_seq[event.seq] = wall
        if event.at >= self._simulated[-1]:
            self._walls.append(wall)
            self._simulated.append(event.at)

    def find_wall(self, seq: int) -> int | None:
        """Return when an event was logged; None if that was before the recording."""
        return self._by_seq.get(seq)

    def to_simulated(self, wall: int) -> datetime:
        """Return the simulated time at a wall time.

        A stepped clock stands still between two events. A paced clock moves on with the wall, up to the next event.
        """
        index = max(0, bisect_right(self._walls, wall) - 1)
        at = self._simulated[index]
        if not self._is_paced:
            return at
        at += timedelta(microseconds=max(0, wall - self._walls[index]) // 1000)
        return min(at, self._simulated[index + 1]) if index + 1 < len(self._simulated) else at


class ClockBounds(NamedTuple):
    """What the spans of one process say about its clock, in nanoseconds."""

    first: int
    """The earliest start of a span."""
    lead: int
    """The least difference between the arrival of a span and its end; negative if the clock is fast."""

    def find_offset(self, opened: int) -> int:
        """Return what is added to the times of the process, so that its spans happened after the trial was opened and
        ended before they arrived.

        The offset is 0 if the times fit as they are, else the smallest that fits. If none fits, it is 0: single times
        are wrong, and each is moved into the trial by itself.
        """
        least = opened - self.first
        if least <= 0 <= self.lead or least > self.lead:
            return 0
        return least if least > 0 else self.lead


def find_bounds(times: Iterable[tuple[int, int, int]]) -> ClockBounds:
    """Return the bounds of spans, of each its start, its end and when it arrived."""
    rows = list(times)
    return ClockBounds(min(start for start, _, _ in rows), min(arrived - end for _, end, arrived in rows))
