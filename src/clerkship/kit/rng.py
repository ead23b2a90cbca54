"""Seeded random generators in independent named streams, and the ids that are drawn from them."""

import hashlib
import random
import re
from collections.abc import Iterable
from typing import TypeVar

_ID_PATTERN = re.compile(r"(?<![A-Za-z0-9_])([A-Za-z][A-Za-z0-9_]{0,63})_([0-9a-f]{12})(?![A-Za-z0-9_])")
MAX_SKIPPED = 100_000
MAX_UNUSED = 1_000
"""How many issued ids may be missing from the texts."""
T = TypeVar("T")


class Ids:
    """Numbers each prefix from one, and hashes the number with the seed."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._counts: dict[str, int] = {}

    def new(self, prefix: str) -> str:
        """Return the next id with a prefix, such as `file_9c31e0a4b7d2`."""
        count = self._counts.get(prefix, 0) + 1
        self._counts[prefix] = count
        return f"{prefix}_{self._digest(prefix, count)}"

    def mark(self) -> dict[str, int]:
        """Return the current counts, for `restore`."""
        return dict(self._counts)

    def restore(self, mark: dict[str, int]) -> None:
        """Restore earlier counts: the ids issued since then were discarded."""
        self._counts = mark

    def skip_used(self, texts: Iterable[str]) -> None:
        """Continue after the ids of this seed that occur in texts, so that none is issued twice."""
        seen: dict[str, set[str]] = {}
        for text in texts:
            for prefix, digest in _ID_PATTERN.findall(text):
                seen.setdefault(prefix, set()).add(digest)
        for prefix, digests in seen.items():
            count = self._counts.get(prefix, 0)
            for number in range(count + 1, count + 1 + min(len(digests) + MAX_UNUSED, MAX_SKIPPED)):
                if self._digest(prefix, number) in digests:
                    self._counts[prefix] = number

    def _digest(self, prefix: str, count: int) -> str:
        return hashlib.blake2b(f"{self._seed}/{prefix}/{count}".encode(), digest_size=6).hexdigest()


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
