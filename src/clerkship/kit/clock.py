"""Simulated time. SteppedClock: touches move it. PacedClock: it follows the wall."""

import heapq
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Protocol

DueCallback = Callable[[], None]


class Clock(Protocol):
    """What a playground needs of time."""

    @property
    def now(self) -> datetime:
        """The simulated time."""
        ...

    def touch(self) -> None:
        """Somebody did something."""
        ...

    def advance(self, by: timedelta) -> None:
        """Somebody waits this long."""
        ...

    def schedule(self, at: datetime, due: DueCallback) -> None:
        """Have this happen then."""
        ...

    def next_due(self) -> datetime | None:
        """When the next scheduled thing happens, if there is one."""
        ...

    def settle(self) -> None:
        """Do what is due by now."""
        ...


class DueQueue:
    """Things to happen, by time and then by the order they were scheduled in."""

    def __init__(self) -> None:
        self._heap: list[tuple[datetime, int, DueCallback]] = []
        self._count = 0

    def add(self, at: datetime, due: DueCallback) -> None:
        """Put something on the agenda."""
        self._count += 1
        heapq.heappush(self._heap, (at, self._count, due))

    def next_due(self) -> datetime | None:
        """When the first of them happens."""
        return self._heap[0][0] if self._heap else None

    def take(self, until: datetime) -> tuple[datetime, DueCallback] | None:
        """The first thing due by then, removed."""
        if not self._heap or self._heap[0][0] > until:
            return None
        at, _, due = heapq.heappop(self._heap)
        return at, due


class SteppedClock:
    """Moves by a fixed tick at each touch, and jumps when somebody waits: the same on every machine."""

    def __init__(self, start: datetime, tick: timedelta) -> None:
        self.now = start
        self._tick = tick
        self._agenda = DueQueue()
        self.schedule = self._agenda.add
        self.next_due = self._agenda.next_due

    def touch(self) -> None:
        """Move by one tick."""
        if self._agenda.next_due() is None:
            self.now += self._tick
        else:
            self.advance(self._tick)

    def advance(self, by: timedelta) -> None:
        """Move on, and on the way do what falls due, each at its own time."""
        end = self.now + by
        while (item := self._agenda.take(end)) is not None:
            self.now = max(self.now, item[0])
            item[1]()
        self.now = max(self.now, end)

    def settle(self) -> None:
        """Do what is due by now."""
        self.advance(timedelta(0))


class PacedClock:
    """Follows the wall from its start, for phones, browsers and listeners that need it."""

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
        """The start, plus what has passed on the wall, plus what was skipped by waiting."""
        if self._held is not None:
            return self._held
        return self._start + timedelta(seconds=self._monotonic() - self._origin) + self._skipped

    def touch(self) -> None:
        """The wall moves by itself; only do what is due."""
        self.settle()

    def advance(self, by: timedelta) -> None:
        """Skip ahead."""
        self._skipped += by
        self.settle()

    def settle(self) -> None:
        """Do what is due by now, each at its own time."""
        while (item := self._agenda.take(self.now)) is not None:
            self._held = item[0]
            try:
                item[1]()
            finally:
                self._held = None
