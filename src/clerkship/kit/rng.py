"""Randomness by seed, in named streams that do not disturb each other."""

import hashlib
import random
from typing import TypeVar

T = TypeVar("T")


def derive_seed(seed: int | str, *names: object) -> str:
    """A seed for something inside something seeded, whatever order they run in."""
    text = "/".join(map(str, (seed, *names)))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


class Rng:
    """Hands out one generator per name; made only when asked for, because seeding one is slow."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._streams: dict[str, random.Random] = {}

    def stream(self, name: str) -> random.Random:
        """The generator of this name."""
        if name not in self._streams:
            self._streams[name] = random.Random(derive_seed(self._seed, name))
        return self._streams[name]


def shuffle(items: list[T], seed: int | str) -> list[T]:
    """The same items in an order the seed decides."""
    copy = list(items)
    random.Random(derive_seed(seed, "order")).shuffle(copy)
    return copy


def random_fraction() -> float:
    """From 0 up to 1, of no seed: for waits, which nothing that is kept depends on."""
    return random.random()
