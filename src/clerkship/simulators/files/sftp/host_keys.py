"""The keys of the SSH server: Ed25519, and ECDSA and RSA for clients that accept nothing newer."""

from functools import cache

from asyncssh import SSHKey, SSHKeyPair, generate_private_key, import_private_key

from clerkship.simulators.files.sftp.keys import SshKeyPair

RSA_BITS = 2048
RSA_SIGNATURES = (b"rsa-sha2-256", b"rsa-sha2-512")
"""Not `ssh-rsa`, which is SHA-1."""


class RsaHostKey(SSHKeyPair):
    """An RSA key that is generated when a client first chooses it, because that takes some tenths of a second."""

    def __init__(self, signature: bytes) -> None:
        super().__init__(b"ssh-rsa", b"ssh-rsa", (signature,), (signature,), b"", None)

    def set_sig_algorithm(self, sig_algorithm: bytes) -> None:
        """Generate the key: asyncssh calls this when the key is chosen for a connection."""
        super().set_sig_algorithm(sig_algorithm)
        self.public_data = self.key_public_data = _rsa_key().public_data

    def sign(self, data: bytes) -> bytes:
        """Sign a key exchange."""
        return _rsa_key().sign(data, self.sig_algorithm)


@cache
def _rsa_key() -> SSHKey:
    """Return the key of all listeners of the process."""
    return generate_private_key("ssh-rsa", key_size=RSA_BITS)


def build_host_keys(key: SshKeyPair) -> list[SSHKey | SSHKeyPair]:
    """Return the keys of a listener, the preferred one first."""
    ecdsa = generate_private_key("ecdsa-sha2-nistp256")
    return [import_private_key(key.private), ecdsa, *map(RsaHostKey, RSA_SIGNATURES)]
