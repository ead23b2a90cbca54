"""The time at which a far end wants to be called again, kept in its session.

A stimulus that changes nothing, such as a digit during a prompt that cannot be interrupted, must not restart the timer.
The time is in UTC, because adding seconds to a local time is wrong when the clocks change.
"""

from datetime import UTC, datetime, timedelta


def add_seconds(now: datetime, seconds: float) -> datetime:
    """Return the time some seconds from now, in UTC."""
    return now.astimezone(UTC) + timedelta(seconds=seconds)


def get_seconds_left(due: datetime | None, now: datetime) -> float | None:
    """Return how many seconds are left until a time, at least 0; None if there is no time."""
    if due is None:
        return None
    return max((due - now).total_seconds(), 0.0)
