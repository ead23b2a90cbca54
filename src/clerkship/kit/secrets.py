"""Credentials from the system's random source; never from a seed, never in a log."""

import base64
import hashlib
import secrets
from itertools import count


def new_token(prefix: str) -> str:
    """Return 256 random bits with a prefix that secret scanners can recognize."""
    return f"{prefix}_{secrets.token_urlsafe(32)}"


def new_name(prefix: str) -> str:
    """Return an unguessable name for a path."""
    return f"{prefix}-{secrets.token_hex(8)}"


class NameGenerator:
    """Generates many unguessable names from one random key, which is faster than asking the system for each."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._numbers = count(1)  # thread-safe: no two threads get the same number

    def new(self, prefix: str) -> str:
        """Return the next name. Other names cannot be derived from known ones."""
        digest = self._digest(8)
        return f"{prefix}-{digest.hex()}"

    def address(self) -> str:
        """Return twenty letters and digits, which is valid as an HL7 v2 facility and as a user name."""
        return f"C{base64.b32encode(self._digest(13)).decode()[:19]}"

    def _digest(self, size: int) -> bytes:
        number = next(self._numbers).to_bytes(8, "big")
        return hashlib.blake2b(number, key=self._key, digest_size=size).digest()


def equal_in_constant_time(one: str, other: str) -> bool:
    """Compare two secrets in a time that does not depend on how many characters match."""
    return secrets.compare_digest(one.encode(), other.encode())
