"""Ed25519 keys of SSH, generated from the system's randomness and never logged."""

import base64
from dataclasses import dataclass


@dataclass(frozen=True)
class SshKeyPair:
    """A key pair."""

    private: str
    """The private key as a file of OpenSSH."""
    public: str
    """The public key as a line of OpenSSH: its kind, and its bytes in base64."""

    @property
    def data(self) -> bytes:
        """The public key as in a packet (RFC 4253 §6.6)."""
        return base64.b64decode(self.public.split()[1])


def generate_key() -> SshKeyPair:
    """Generate a key pair."""
    import asyncssh  # noqa: PLC0415  (an extra)

    pair = asyncssh.generate_private_key("ssh-ed25519")
    return SshKeyPair(pair.export_private_key().decode(), pair.export_public_key().decode().strip())
