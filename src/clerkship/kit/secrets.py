"""Credentials: from the system's randomness, never from a seed, never in a log."""

import secrets


def new_token(prefix: str) -> str:
    """256 random bits, with a prefix that secret scanners can know."""
    return f"{prefix}_{secrets.token_urlsafe(32)}"


def new_name(prefix: str) -> str:
    """An unguessable name for a path."""
    return f"{prefix}-{secrets.token_hex(8)}"


def same(one: str, other: str) -> bool:
    """Compare without telling, by the time it takes, how much was right."""
    return secrets.compare_digest(one.encode(), other.encode())
