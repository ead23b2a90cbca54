"""Seeded random generators in independent named streams."""

import hashlib
import random
from typing import TypeVar

T = TypeVar("T")


def derive_seed(seed: int | str, *names: object) -> str:
    """Derive a seed from a seed and names, independent of the order of execution."""
    text = "/".join(map(str, (seed, *names)))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


class Rng:
    """Random generators by name, each created when it is first used, because seeding is slow."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._streams: dict[str, random.Random] = {}

    def stream(self, name: str) -> random.Random:
        """Return the generator of a name."""
        if name not in self._streams:
            self._streams[name] = random.Random(derive_seed(self._seed, name))
        return self._streams[name]


def shuffle(items: list[T], seed: int | str) -> list[T]:
    """Return the items in an order that depends on the seed."""
    copy = list(items)
    random.Random(derive_seed(seed, "order")).shuffle(copy)
    return copy


def random_fraction() -> float:
    """Return an unseeded number from 0 to 1, for waiting times that no stored result depends on."""
    return random.random()
