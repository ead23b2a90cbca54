"""Opening hours: whether an office is open at a time."""

from datetime import datetime
from typing import get_args

from clerkship.ivr.tree import HoursNode, Weekday

WEEKDAYS: tuple[Weekday, ...] = get_args(Weekday)


def is_open(node: HoursNode, now: datetime) -> bool:
    """Whether an office is open at a local time. At the minute it closes, it is closed."""
    if now.date() in node.holidays:
        return False
    weekday, time = WEEKDAYS[now.weekday()], now.time()
    return any(weekday in hours.days and hours.opens <= time < hours.closes for hours in node.hours)
