"""Chance by seed, drawn from one plain stream of fractions, so that every Python and every machine draws the same."""

from collections.abc import Sequence
from typing import TypeVar

from clerkship.kit.rng import Rng, derive_seed

T = TypeVar("T")


class RandomSource:
    """Draws of one subject. Only `random()` is asked for: it alone is promised never to change."""

    def __init__(self, seed: int | str, *names: object) -> None:
        self.fraction = Rng(derive_seed(seed, *names)).stream("dice").random

    def chance(self, likelihood: float) -> bool:
        """Whether something happens that happens this often."""
        return self.fraction() < likelihood

    def integer(self, low: int, high: int) -> int:
        """A whole number, both ends among them."""
        return low + int(self.fraction() * (high - low + 1))

    def uniform(self, low: float, high: float) -> float:
        """A number from a range."""
        return low + self.fraction() * (high - low)

    def around(self, middle: float, spread: float) -> float:
        """A number near the middle: three draws together make a bell, and none is more than three spreads away."""
        return middle + spread * 2 * (self.fraction() + self.fraction() + self.fraction() - 1.5)

    def choice(self, items: Sequence[T]) -> T:
        """One of them."""
        return items[int(self.fraction() * len(items))]

    def weighted_choice(self, items: Sequence[T], weights: Sequence[float]) -> T:
        """One of them, by weight."""
        left = self.fraction() * sum(weights)
        for item, weight in zip(items, weights, strict=True):
            left -= weight
            if left < 0:
                return item
        return items[-1]

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """So many of them, each at most once."""
        left = list(items)
        return [left.pop(int(self.fraction() * len(left))) for _ in range(min(count, len(left)))]
