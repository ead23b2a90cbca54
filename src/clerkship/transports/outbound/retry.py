"""The retry policy of deliveries."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

MAX_EXPONENT = 64
"""Limits the exponent of the delay, so that the power cannot overflow."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a message is sent, and the delays between attempts, in simulated time."""

    attempts: int = 5
    """Attempts in all, the first included."""
    first_delay: timedelta = timedelta(seconds=5)
    factor: float = 2.0
    """How much longer each delay is than the one before."""
    max_delay: timedelta = timedelta(hours=1)
    jitter: float = 0.0
    """The largest share of a delay that is added to it at random, from 0 to 1."""

    def delay(self, failures: int, random: Callable[[], float]) -> timedelta | None:
        """Return the delay after this number of failures, or None if no attempt is left.

        `random` returns a number from 0 up to 1; it is called only if the policy has jitter.
        """
        if failures >= self.attempts:
            return None
        seconds = self.first_delay.total_seconds() * self.factor ** min(failures - 1, MAX_EXPONENT)
        delay = timedelta(seconds=min(seconds, self.max_delay.total_seconds()))
        return delay + delay * (self.jitter * random()) if self.jitter else delay
