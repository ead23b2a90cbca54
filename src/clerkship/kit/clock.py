"""Simulated clocks: a stepped clock moves when something happens, a paced clock follows the wall clock."""

import heapq
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Protocol

DueCallback = Callable[[], None]


class Clock(Protocol):
    """The clock of a playground."""

    @property
    def now(self) -> datetime:
        """The simulated time."""

    def tick(self) -> None:
        """Advance by one tick, because something happened."""

    def advance(self, by: timedelta) -> None:
        """Let this much time pass."""

    def schedule(self, at: datetime, due: DueCallback) -> None:
        """Call a function at a time."""

    def next_due(self) -> datetime | None:
        """Return the time of the next scheduled call; None if there is none."""

    def settle(self) -> None:
        """Run the calls that are due."""


class DueQueue:
    """Scheduled calls, ordered by time and then by the order in which they were added."""

    def __init__(self) -> None:
        self.heap: list[tuple[datetime, int, DueCallback]] = []
        self._count = 0

    def add(self, at: datetime, due: DueCallback) -> None:
        """Add a call."""
        self._count += 1
        heapq.heappush(self.heap, (at, self._count, due))

    def next_due(self) -> datetime | None:
        """Return the time of the first call; None if there is none."""
        return self.heap[0][0] if self.heap else None

    def take(self, until: datetime) -> tuple[datetime, DueCallback] | None:
        """Remove and return the first call that is due by `until`; None if there is none."""
        if not self.heap or self.heap[0][0] > until:
            return None
        at, _, due = heapq.heappop(self.heap)
        return at, due


class SteppedClock:
    """Moves by a fixed amount at each `tick`, and jumps when time is advanced: the same on every machine."""

    def __init__(self, start: datetime, tick: timedelta) -> None:
        self.now = start
        self._tick = tick
        self._agenda = DueQueue()
        self.schedule = self._agenda.add
        self.next_due = self._agenda.next_due

    def tick(self) -> None:
        """Advance by the tick of the environment, and run what is due."""
        if not self._agenda.heap:
            self.now += self._tick
        else:
            self.advance(self._tick)

    def advance(self, by: timedelta) -> None:
        """Advance, and run the calls that fall due, each at its own time."""
        end, agenda = self.now + by, self._agenda
        while agenda.heap and (item := agenda.take(end)) is not None:
            at, due = item
            self.now = max(self.now, at)
            due()
        self.now = max(self.now, end)

    def settle(self) -> None:
        """Run the calls that are due."""
        self.advance(timedelta(0))


class PacedClock:
    """Follows the wall clock, for phones, browsers and listeners that need real time."""

    def __init__(self, start: datetime, monotonic: Callable[[], float]) -> None:
        self._start = start
        self._monotonic = monotonic
        self._origin = monotonic()
        self._skipped = timedelta(0)
        self._held: datetime | None = None
        self._agenda = DueQueue()
        self.schedule = self._agenda.add
        self.next_due = self._agenda.next_due

    @property
    def now(self) -> datetime:
        """The start time, plus the elapsed wall time, plus the time that was skipped."""
        if self._held is not None:
            return self._held
        return self._start + timedelta(seconds=self._monotonic() - self._origin) + self._skipped

    def tick(self) -> None:
        """Run the calls that are due. The time moves by itself."""
        self.settle()

    def advance(self, by: timedelta) -> None:
        """Skip ahead."""
        self._skipped += by
        self.settle()

    def settle(self) -> None:
        """Run the calls that are due, each at its own time."""
        while (item := self._agenda.take(self.now)) is not None:
            self._held = item[0]
            try:
                item[1]()
            finally:
                self._held = None
