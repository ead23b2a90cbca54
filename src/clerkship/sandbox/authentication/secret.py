"""Compare and look up secrets in constant time."""

import hashlib
from collections.abc import Iterator
from typing import Generic, TypeVar

from clerkship.kit.secrets import equal_in_constant_time, new_token

T = TypeVar("T")
_PLACEHOLDER_SECRET = new_token("clk_none")


def secrets_match(expected: str | None, actual: str) -> bool:
    """Return whether a secret is the expected one.

    If none is expected, the comparison takes the same time, so that a client cannot measure which users exist.
    """
    is_same = equal_in_constant_time(_PLACEHOLDER_SECRET if expected is None else expected, actual)
    return is_same and expected is not None


class SecretTable(Generic[T]):
    """Values by secret. Lookups compare digests, whose first bytes reveal nothing about the secret."""

    def __init__(self) -> None:
        self._values: dict[bytes, T] = {}

    def __len__(self) -> int:
        return len(self._values)

    def add(self, secret: str, value: T) -> None:
        """Add or replace a value."""
        self._values[_digest(secret)] = value

    def get(self, secret: str) -> T | None:
        """Return the value of a secret, or None."""
        return self._values.get(_digest(secret))

    def pop(self, secret: str) -> T | None:
        """Remove a secret and return its value; None if it is unknown."""
        return self._values.pop(_digest(secret), None)

    def drop_oldest(self) -> None:
        """Remove the secret that was added first."""
        del self._values[next(iter(self._values))]

    def values(self) -> Iterator[T]:
        """Iterate over a copy of the values."""
        return iter(list(self._values.values()))


def _digest(secret: str) -> bytes:
    return hashlib.blake2b(secret.encode(errors="surrogatepass"), digest_size=16).digest()
