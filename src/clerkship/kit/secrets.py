"""Credentials: from the system's randomness, never from a seed, never in a log."""

import base64
import hashlib
import secrets


def new_token(prefix: str) -> str:
    """256 random bits, with a prefix that secret scanners can know."""
    return f"{prefix}_{secrets.token_urlsafe(32)}"


def new_name(prefix: str) -> str:
    """An unguessable name for a path."""
    return f"{prefix}-{secrets.token_hex(8)}"


def new_seed() -> bytes:
    """What a private key is made from: 256 random bits."""
    return secrets.token_bytes(32)


class Names:
    """Unguessable names by the thousand: the system is asked for randomness once, not for each."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._count = 0

    def new(self, prefix: str) -> str:
        """The next name; who knows some cannot tell the others."""
        self._count += 1
        digest = hashlib.blake2b(self._count.to_bytes(8, "big"), key=self._key, digest_size=8)
        return f"{prefix}-{digest.hexdigest()}"

    def address(self) -> str:
        """Twenty letters and digits: what fits a facility of HL7 v2 and the name of a user."""
        self._count += 1
        digest = hashlib.blake2b(self._count.to_bytes(8, "big"), key=self._key, digest_size=13)
        return f"C{base64.b32encode(digest.digest()).decode()[:19]}"


def same(one: str, other: str) -> bool:
    """Compare without telling, by the time it takes, how much was right."""
    return secrets.compare_digest(one.encode(), other.encode())
