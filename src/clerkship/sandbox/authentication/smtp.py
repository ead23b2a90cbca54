"""SMTP users: the user name is the address of the sandbox, and the password its token."""

import base64
from collections.abc import Sequence
from typing import ClassVar

from clerkship.sandbox.authentication.credentials import SandboxCredentials
from clerkship.sandbox.authentication.scheme import AuthenticationScheme
from clerkship.sandbox.authentication.secret import secrets_match
from clerkship.sandbox.listener import SandboxClient


class SmtpUser(AuthenticationScheme):
    """A user whose password is the token of the sandbox."""

    name: ClassVar[str] = "smtp"
    credential: ClassVar[str] = "SMTP user with password"
    transport: ClassVar[str] = "smtp"

    def secrets(self, credentials: SandboxCredentials) -> Sequence[str]:
        """Return the password, alone and as AUTH LOGIN sends it."""
        return credentials.token, base64.b64encode(credentials.token.encode()).decode()

    @staticmethod
    def has_password(client: SandboxClient | None, password: str) -> bool:
        """Return whether a password is that of the sandbox. `client` is None for an unknown user."""
        is_right = secrets_match(None if client is None else client.token, password)
        return is_right and client is not None and client.open
