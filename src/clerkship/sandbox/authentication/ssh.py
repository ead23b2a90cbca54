"""SSH users: the user name is the address of the sandbox, and the user has a password and a key."""

from typing import ClassVar

from clerkship.sandbox.authentication.scheme import AuthenticationScheme
from clerkship.sandbox.authentication.secret import secrets_match
from clerkship.sandbox.listener import SandboxClient


class SshUser(AuthenticationScheme):
    """A user whose password is the token of the sandbox, or who has the private key that the agent is given."""

    name: ClassVar[str] = "ssh"
    credential: ClassVar[str] = "SSH user with password or key"
    transport: ClassVar[str] = "sftp"

    @staticmethod
    def has_password(client: SandboxClient | None, password: str) -> bool:
        """Return whether a password is that of the sandbox. `client` is None for an unknown user."""
        is_right = secrets_match(None if client is None else client.token, password)
        return is_right and client is not None and client.open

    @staticmethod
    def has_key(client: SandboxClient | None, expected: str, key: str) -> bool:
        """Return whether a public key is the expected one; `client` is None for an unknown user."""
        is_right = secrets_match(None if client is None else expected, key)
        return is_right and client is not None and client.open
