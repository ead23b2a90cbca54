"""The payers' numbers of requests, authorizations, claims, appeals and payments."""

import hashlib
from collections.abc import Container

DIGITS = 9


def build_number(prefix: str, *parts: object) -> str:
    """Return a number that is derived from its parts: the same parts give the same number."""
    digest = hashlib.blake2b("/".join(map(str, parts)).encode(), digest_size=8).digest()
    return f"{prefix}{int.from_bytes(digest, 'big') % 10**DIGITS:0{DIGITS}}"


def build_unused_number(prefix: str, taken: Container[str], *parts: object) -> str:
    """Return a number that is not taken."""
    attempt = 0
    while (number := build_number(prefix, *parts, attempt)) in taken:
        attempt += 1
    return number
