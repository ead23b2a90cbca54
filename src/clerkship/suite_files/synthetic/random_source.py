"""Seeded random draws that are the same on every machine and in every version of Python."""

from collections.abc import Sequence
from typing import TypeVar

from clerkship.kit.rng import Rng, derive_seed

T = TypeVar("T")


class RandomSource:
    """Random draws for one subject. It uses only `random()`, whose sequence Python guarantees not to change."""

    def __init__(self, seed: int | str, *names: object) -> None:
        self.fraction = Rng(derive_seed(seed, *names)).stream("dice").random

    def chance(self, likelihood: float) -> bool:
        """Return True with this probability."""
        return self.fraction() < likelihood

    def integer(self, low: int, high: int) -> int:
        """Return an integer from low to high, both inclusive."""
        return low + int(self.fraction() * (high - low + 1))

    def uniform(self, low: float, high: float) -> float:
        """Return a number from a range."""
        return low + self.fraction() * (high - low)

    def around(self, middle: float, spread: float) -> float:
        """Return a number near the middle: a bell-shaped sum of three draws, at most three spreads away."""
        return middle + spread * 2 * (self.fraction() + self.fraction() + self.fraction() - 1.5)

    def choice(self, items: Sequence[T]) -> T:
        return items[int(self.fraction() * len(items))]

    def weighted_choice(self, items: Sequence[T], weights: Sequence[float]) -> T:
        left = self.fraction() * sum(weights)
        for item, weight in zip(items, weights, strict=True):
            left -= weight
            if left < 0:
                return item
        return items[-1]

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """Return this many of the items, each at most once."""
        left = list(items)
        return [left.pop(int(self.fraction() * len(left))) for _ in range(min(count, len(left)))]
