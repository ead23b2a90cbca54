"""Rates, confidence intervals and significance tests for few trials."""

import math
from collections.abc import Sequence
from fractions import Fraction
from statistics import NormalDist
from typing import Literal, NamedTuple

_Z95 = 1.959963984540054
SIGNIFICANCE_LEVEL = 0.05
"""A difference with a lower p-value counts as significant."""


class Interval(NamedTuple):
    """A rate with its confidence interval."""

    rate: float
    low: float
    high: float


def wilson_interval(passed: int, total: int) -> Interval | None:
    """Return the 95 % Wilson score interval; None if nothing was graded."""
    if total == 0:
        return None
    rate = passed / total
    spread = _Z95**2 / total
    centre = (rate + spread / 2) / (1 + spread)
    margin = _Z95 * math.sqrt(rate * (1 - rate) / total + spread / (4 * total)) / (1 + spread)
    return Interval(rate, max(0.0, centre - margin), min(1.0, centre + margin))


def side_of_threshold(passed: int, total: int, threshold: float) -> Literal["above", "below", "not sure"]:
    """Return on which side of a threshold the whole interval lies."""
    interval = wilson_interval(passed, total)
    if interval is None or interval.low < threshold <= interval.high:
        return "not sure"
    return "above" if interval.low >= threshold else "below"


def pass_at_k(k: int, passed: int, total: int) -> float:
    """Return the unbiased estimate of pass@k: the probability that at least one of k trials passes (total ≥ k)."""
    return 1.0 - math.comb(total - passed, k) / math.comb(total, k)


def pass_hat_k(k: int, passed: int, total: int) -> float:
    """Return the unbiased estimate of pass^k: the probability that all of k trials pass (total ≥ k)."""
    return math.comb(passed, k) / math.comb(total, k)


def fisher_exact_test(passed: int, total: int, other_passed: int, other_total: int) -> float:
    """Return the two-sided p-value of Fisher's exact test for two rates."""
    every, good = total + other_total, passed + other_passed
    ways = {
        here: math.comb(total, here) * math.comb(other_total, good - here)
        for here in range(max(0, good - other_total), min(good, total) + 1)
    }
    observed = ways[passed]
    return sum(number for number in ways.values() if number <= observed) / math.comb(every, good)


MAX_EXACT_WORK = 500_000
"""Above this, a normal approximation is used, which is close enough for so many values."""


def paired_test(differences: Sequence[Fraction]) -> float:
    """Return the p-value of a sign-flip permutation test on paired differences.

    If every difference is 1 or -1 this is McNemar's exact test. For large inputs a normal approximation is used.
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
    """Return the mean difference with its 95 % interval, after Agresti and Min (2005).

    Half a pair is added to each cell of the table, so that a few tasks that all changed one way do not look certain.
    """
    if not differences:
        return None
    moved, size = float(sum(differences)), len(differences) + 2
    spread = float(sum(difference * difference for difference in differences)) + 1
    margin = _Z95 * math.sqrt(max(spread - moved**2 / size, 0.0)) / size
    return Interval(moved / len(differences), max(-1.0, moved / size - margin), min(1.0, moved / size + margin))


def cohen_kappa(both_yes: int, first_alone: int, second_alone: int, both_no: int) -> float | None:
    """Return Cohen's kappa, the agreement of two raters beyond chance.

    None if it is not defined: both always gave the same one answer, or there were no ratings.
    """
    total = both_yes + first_alone + second_alone + both_no
    first, second = both_yes + first_alone, both_yes + second_alone
    by_chance = first * second + (total - first) * (total - second)
    if by_chance == total * total:
        return None
    return ((both_yes + both_no) * total - by_chance) / (total * total - by_chance)
