"""Rates with their intervals: a number from a few trials should look like one."""

import math
from collections.abc import Sequence
from fractions import Fraction
from statistics import NormalDist
from typing import Literal, NamedTuple

_Z95 = 1.959963984540054
SIGNIFICANCE_LEVEL = 0.05
"""A difference less likely than this by chance alone is taken for one."""


class Interval(NamedTuple):
    """A rate and the range it may well be in."""

    rate: float
    low: float
    high: float


def wilson_interval(passed: int, total: int) -> Interval | None:
    """The 95 % Wilson score interval; None where nothing was graded."""
    if total == 0:
        return None
    rate = passed / total
    spread = _Z95**2 / total
    centre = (rate + spread / 2) / (1 + spread)
    margin = _Z95 * math.sqrt(rate * (1 - rate) / total + spread / (4 * total)) / (1 + spread)
    return Interval(rate, max(0.0, centre - margin), min(1.0, centre + margin))


def side_of_threshold(passed: int, total: int, threshold: float) -> Literal["above", "below", "not sure"]:
    """On which side of a rate the whole interval lies."""
    found = wilson_interval(passed, total)
    if found is None or found.low < threshold <= found.high:
        return "not sure"
    return "above" if found.low >= threshold else "below"


def pass_at_k(k: int, passed: int, total: int) -> float:
    """The chance that at least one of k trials passes, without bias, from `passed` of `total` (total ≥ k)."""
    return 1.0 - math.comb(total - passed, k) / math.comb(total, k)


def pass_hat_k(k: int, passed: int, total: int) -> float:
    """The chance that all of k trials pass (pass^k), without bias, from `passed` of `total` (total ≥ k)."""
    return math.comb(passed, k) / math.comb(total, k)


def fisher_exact_test(passed: int, total: int, other_passed: int, other_total: int) -> float:
    """How likely two rates differ this much or more by chance (Fisher's exact test, two-sided)."""
    every, good = total + other_total, passed + other_passed
    ways = {
        here: math.comb(total, here) * math.comb(other_total, good - here)
        for here in range(max(0, good - other_total), min(good, total) + 1)
    }
    observed = ways[passed]
    return sum(number for number in ways.values() if number <= observed) / math.comb(every, good)


MAX_EXACT_WORK = 500_000
"""Beyond this the exact test gives way to the normal one, which for so many says nearly the same."""


def paired_test(differences: Sequence[Fraction]) -> float:
    """How likely paired differences are this far from zero by chance: each could as well have had the other sign.

    Where every difference is 1 or -1 this is McNemar's exact test.
    """
    moved = [difference for difference in differences if difference]
    if not moved:
        return 1.0
    scale = math.lcm(*(difference.denominator for difference in moved))
    steps = [abs(int(difference * scale)) for difference in moved]
    distance = abs(int(sum(moved) * scale))
    if min(2 ** len(steps), len(steps) * sum(steps)) > MAX_EXACT_WORK:
        return 2 * (1 - NormalDist().cdf(distance / math.sqrt(sum(step * step for step in steps))))
    chances = {0: 1.0}
    for step in steps:
        spread: dict[int, float] = {}
        for place, chance in chances.items():
            spread[place + step] = spread.get(place + step, 0.0) + chance / 2
            spread[place - step] = spread.get(place - step, 0.0) + chance / 2
        chances = spread
    return min(1.0, sum(chance for place, chance in chances.items() if abs(place) >= distance))


def paired_interval(differences: Sequence[Fraction]) -> Interval | None:
    """The mean difference with its 95 % interval, after Agresti and Min (2005).

    Half a pair is added to each cell of the table: a handful of tasks that all moved one way is no certainty.
    """
    if not differences:
        return None
    moved, size = float(sum(differences)), len(differences) + 2
    spread = float(sum(difference * difference for difference in differences)) + 1
    margin = _Z95 * math.sqrt(max(spread - moved**2 / size, 0.0)) / size
    return Interval(moved / len(differences), max(-1.0, moved / size - margin), min(1.0, moved / size + margin))


def cohen_kappa(both_yes: int, first_alone: int, second_alone: int, both_no: int) -> float | None:
    """Cohen's kappa: how much two agree beyond what chance would give them, each saying yes as often as they did.

    None where there is nothing beyond chance: both always said the same one thing, or nothing was said at all.
    """
    total = both_yes + first_alone + second_alone + both_no
    first, second = both_yes + first_alone, both_yes + second_alone
    by_chance = first * second + (total - first) * (total - second)
    if by_chance == total * total:
        return None
    return ((both_yes + both_no) * total - by_chance) / (total * total - by_chance)
