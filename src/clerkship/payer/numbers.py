"""The payers' numbers of requests, authorizations, claims, appeals and payments."""

import hashlib
from collections.abc import Container
from functools import lru_cache

DIGITS = 9


def build_number(prefix: str, *parts: object) -> str:
    """Return a number that is derived from its parts: the same parts give the same number."""
    digest = hashlib.blake2b("/".join(map(str, parts)).encode(), digest_size=8).digest()
    return f"{prefix}{int.from_bytes(digest, 'big') % 10**DIGITS:0{DIGITS}}"


@lru_cache(maxsize=1024)
def draw_share(*parts: str) -> float:
    """Return a number from 0 to 1 that is derived from its parts."""
    return float(build_number("0.", *parts))


def build_unused_number(prefix: str, taken: Container[str], *parts: object) -> str:
    """Return a number that is not taken."""
    attempt = 0
    while (number := build_number(prefix, *parts, attempt)) in taken:
        attempt += 1
    return number
