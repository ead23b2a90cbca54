"""The simulated clock as an agent uses it: it may wait, within a limit."""

from datetime import datetime, timedelta

from clerkship.playground.playground import Playground

MAX_AHEAD = timedelta(days=3660)
"""How far an agent may move simulated time from its start, in all: about ten years."""


class TimeLimit(ValueError):
    """Simulated time would run too far ahead of its start."""


class AgentClock:
    """Read the time, wait for a while, or wait for the next thing due."""

    def __init__(self, playground: Playground) -> None:
        self._playground = playground

    @property
    def now(self) -> datetime:
        """The simulated time."""
        return self._playground.now

    def advance(self, by: timedelta) -> None:
        """Wait this long; raises TimeLimit where time would run more than MAX_AHEAD from its start."""
        playground = self._playground
        with playground.lock:
            if by > MAX_AHEAD - (playground.now - playground.started_at):
                raise TimeLimit(f"simulated time runs at most {MAX_AHEAD.days:,} days ahead of its start")
            with playground.recording_failures():
                playground.advance(by)

    def skip(self) -> bool:
        """Wait for the next thing due; false if there is none."""
        with self._playground.recording_failures():
            return self._playground.skip()
