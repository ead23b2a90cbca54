"""The schemes of protocols other than HTTP, which find the sandbox by its secret address."""

import base64
from collections.abc import Sequence
from typing import ClassVar

from clerkship.sandbox.authentication.credentials import SandboxCredentials, secrets_match
from clerkship.sandbox.authentication.scheme import AuthenticationScheme
from clerkship.sandbox.listener import SandboxClient, SandboxDirectory


def _has_secret(client: SandboxClient | None, expected: str, actual: str) -> bool:
    """Return whether a secret is the expected one of an open sandbox; `client` is None for an unknown user."""
    is_right = secrets_match(None if client is None else expected, actual)
    return is_right and client is not None and client.open


class PasswordUser(AuthenticationScheme):
    """A user whose password is the token of the sandbox."""

    @staticmethod
    def has_password(client: SandboxClient | None, password: str) -> bool:
        """Return whether a password is that of the sandbox. `client` is None for an unknown user."""
        return _has_secret(client, client.token if client is not None else "", password)


class SshUser(PasswordUser):
    """A user whose password is the token of the sandbox, or who has the private key that the agent is given."""

    name: ClassVar[str] = "ssh"
    credential: ClassVar[str] = "SSH user with password or key"
    transport: ClassVar[str] = "sftp"

    @staticmethod
    def has_key(client: SandboxClient | None, expected: str, key: str) -> bool:
        """Return whether a public key is the expected one; `client` is None for an unknown user."""
        return _has_secret(client, expected, key)


class SmtpUser(PasswordUser):
    """A user whose password is the token of the sandbox."""

    name: ClassVar[str] = "smtp"
    credential: ClassVar[str] = "SMTP user with password"
    transport: ClassVar[str] = "smtp"

    def secrets(self, credentials: SandboxCredentials) -> Sequence[str]:
        """Return the password, alone and as AUTH LOGIN sends it."""
        return credentials.token, base64.b64encode(credentials.token.encode()).decode()


class MessageAddress(AuthenticationScheme):
    """The address of the sandbox in each message, such as the receiving facility (MSH-6) of HL7 v2."""

    name: ClassVar[str] = "address"
    credential: ClassVar[str] = "address of the sandbox in the message"
    transport: ClassVar[str] = "mllp"

    @staticmethod
    def find(directory: SandboxDirectory, address: str) -> SandboxClient | None:
        """Return the sandbox with this address, or None. The directory looks it up in a SecretTable."""
        return directory.find(address)
