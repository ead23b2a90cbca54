"""The simulated clock as an agent uses it: it may wait, within a limit."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from clerkship.events.lifecycle import ClockAdvanced
from clerkship.playground.failure import record_failure
from clerkship.playground.playground import Playground
from clerkship.playground.waiting import skip, wait

MAX_AHEAD = timedelta(days=3660)
"""How far an agent may move simulated time from its start, in all: about ten years."""


class TimeLimit(ValueError):
    """Simulated time would run too far ahead of its start."""


@contextmanager
def recording_failures(playground: Playground) -> Iterator[None]:
    """Record an exception in here as the platform's failure, though the agent's code is what called."""
    try:
        yield
    except Exception as error:
        record_failure(playground, error, "advancing the clock")
        raise


class AgentClock:
    """Read the time, wait for a while, or wait for the next thing due."""

    def __init__(self, playground: Playground) -> None:
        self._playground = playground

    @property
    def now(self) -> datetime:
        """The simulated time, in the zone of the environment's `now`."""
        return self._playground.now.astimezone(self._playground.zone)

    def advance(self, by: timedelta) -> None:
        """Wait this long; raises TimeLimit where time would run more than MAX_AHEAD from its start."""
        playground = self._playground
        by = timedelta(days=by.days, seconds=by.seconds, microseconds=by.microseconds)  # not a subclass of it
        if by < timedelta(0):
            raise ValueError("expected a duration that is not negative")
        with playground.lock:
            if by > MAX_AHEAD - (playground.now - playground.started_at):
                raise TimeLimit(f"simulated time runs at most {MAX_AHEAD.days:,} days ahead of its start")
            with recording_failures(playground):
                self._record(by.total_seconds())
                wait(playground, by)

    def skip(self) -> bool:
        """Wait for the next thing due; false if there is none."""
        with self._playground.lock, recording_failures(self._playground):
            self._record(None)
            return skip(self._playground)

    def _record(self, seconds: float | None) -> None:
        """Log that the agent waits; a full log has no room for it."""
        if not self._playground.log.is_full and not self._playground.closed:
            self._playground.emit("run", ClockAdvanced(seconds=seconds), "agent")
