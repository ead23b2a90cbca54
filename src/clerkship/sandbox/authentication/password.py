"""Schemes with a user and a password, and operations that log in with them."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from clerkship.model.frozen import Frozen
from clerkship.sandbox.authentication.credentials import SandboxCredentials
from clerkship.sandbox.authentication.scheme import AuthenticationScheme, HttpScheme
from clerkship.sandbox.authentication.secret import secrets_match


class LoginInput(Frozen):
    """The input of an operation with `access="login"`, or its base class."""

    user: str
    password: str


def encode_basic(user: str, password: str) -> str:
    """Return user and password as Basic authentication sends them (RFC 7617)."""
    return base64.b64encode(f"{user}:{password}".encode()).decode()


@dataclass(frozen=True)
class PasswordScheme(HttpScheme):
    """A scheme whose password is the token of the sandbox."""

    user_field: str = ""
    """The field of the simulator's config that has the user; by default the user is the name of the sandbox."""

    def get_user(self, credentials: SandboxCredentials) -> str:
        """Return the user of a sandbox."""
        return str(getattr(credentials.config, self.user_field)) if self.user_field else credentials.sandbox

    def secrets(self, credentials: SandboxCredentials) -> Sequence[str]:
        """Return the password, alone and as Basic authentication sends it."""
        return credentials.token, encode_basic(self.get_user(credentials), credentials.token)

    def has_password(self, credentials: SandboxCredentials, user: str, password: str) -> bool:
        """Return whether user and password are those of the sandbox."""
        is_user = secrets_match(self.get_user(credentials), user)
        return secrets_match(credentials.token, password) and is_user


def check_login(schemes: Sequence[AuthenticationScheme], credentials: SandboxCredentials, login: LoginInput) -> bool:
    """Return whether one of the schemes accepts the user and password of a login."""
    passwords = [scheme for scheme in schemes if isinstance(scheme, PasswordScheme)]
    return any(scheme.has_password(credentials, login.user, login.password) for scheme in passwords)
