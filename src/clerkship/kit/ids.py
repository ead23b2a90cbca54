"""Ids that look random and are not: the same seed gives the same ids."""

import hashlib


class Ids:
    """Numbers each prefix from one and hides the number behind the seed."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._counts: dict[str, int] = {}

    def new(self, prefix: str) -> str:
        """The next id with this prefix, such as `file_9c31e0a4b7d2`."""
        count = self._counts.get(prefix, 0) + 1
        self._counts[prefix] = count
        digest = hashlib.blake2b(f"{self._seed}/{prefix}/{count}".encode(), digest_size=6)
        return f"{prefix}_{digest.hexdigest()}"
