"""Opening hours: whether an office is open at a time."""

from datetime import datetime, time
from typing import get_args

from clerkship.formats.phone_tree.nodes import HoursNode, OpeningHours, Weekday

WEEKDAYS: tuple[Weekday, ...] = get_args(Weekday)


def is_open(node: HoursNode, now: datetime) -> bool:
    """Whether an office is open at a local time. At the minute it closes, it is closed."""
    if now.date() in node.holidays:
        return False
    weekday, at = WEEKDAYS[now.weekday()], now.time()
    return any(
        weekday in hours.days and hours.opens <= at and (at < hours.closes or closes_at_midnight(hours))
        for hours in node.hours
    )


def closes_at_midnight(hours: OpeningHours) -> bool:
    """Whether an office is open until the end of the day."""
    return hours.closes == time.min
