"""Rates with their intervals: a number from a few trials should look like one."""

import math
from typing import NamedTuple

_Z95 = 1.959963984540054


class Interval(NamedTuple):
    """A rate and the range it may well be in."""

    rate: float
    low: float
    high: float


def wilson(passed: int, total: int) -> Interval | None:
    """The 95 % Wilson score interval; None where nothing was graded."""
    if total == 0:
        return None
    rate = passed / total
    spread = _Z95**2 / total
    centre = (rate + spread / 2) / (1 + spread)
    margin = _Z95 * math.sqrt(rate * (1 - rate) / total + spread / (4 * total)) / (1 + spread)
    return Interval(rate, max(0.0, centre - margin), min(1.0, centre + margin))
