"""Credentials: from the system's randomness, never from a seed, never in a log."""

import base64
import hashlib
import secrets
from itertools import count


def new_token(prefix: str) -> str:
    """256 random bits, with a prefix that secret scanners can know."""
    return f"{prefix}_{secrets.token_urlsafe(32)}"


def new_name(prefix: str) -> str:
    """An unguessable name for a path."""
    return f"{prefix}-{secrets.token_hex(8)}"


class NameGenerator:
    """Unguessable names by the thousand: the system is asked for randomness once, not for each."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._numbers = count(1)  # of which no two threads get the same

    def new(self, prefix: str) -> str:
        """The next name; who knows some cannot tell the others."""
        digest = self._digest(8)
        return f"{prefix}-{digest.hex()}"

    def address(self) -> str:
        """Twenty letters and digits: what fits a facility of HL7 v2 and the name of a user."""
        return f"C{base64.b32encode(self._digest(13)).decode()[:19]}"

    def _digest(self, size: int) -> bytes:
        number = next(self._numbers).to_bytes(8, "big")
        return hashlib.blake2b(number, key=self._key, digest_size=size).digest()


def equal_in_constant_time(one: str, other: str) -> bool:
    """Compare without telling, by the time it takes, how much was right."""
    return secrets.compare_digest(one.encode(), other.encode())
