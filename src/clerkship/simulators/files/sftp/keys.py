"""Keys of SSH: ed25519, from the system's randomness, never in a log."""

import base64
from dataclasses import dataclass

from clerkship.kit.secrets import new_seed


@dataclass(frozen=True)
class Key:
    """A pair."""

    private: str
    """As OpenSSH keeps it in a file."""
    public: str
    """As OpenSSH has it in one line: what it is, and its bytes in base64."""

    @property
    def data(self) -> bytes:
        """The public half as it goes over the wire (RFC 4253 §6.6)."""
        return base64.b64decode(self.public.split()[1])


def new_key() -> Key:
    """A pair that nobody has."""
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415  (comes with the extra alone)
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415  (likewise)

    pair = Ed25519PrivateKey.from_private_bytes(new_seed())
    private = pair.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    public = pair.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return Key(private.decode(), public.decode())
