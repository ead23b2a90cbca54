"""Schemes with a user and a password, Basic authentication (RFC 7617), and operations that log in."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from clerkship.kit.clock import Clock
from clerkship.model.frozen import Frozen
from clerkship.sandbox.authentication.credentials import SandboxCredentials, secrets_match
from clerkship.sandbox.authentication.scheme import REALM, AuthenticationScheme, HttpScheme
from clerkship.sandbox.request import ConnectionInfo, Request


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
        return str(getattr(credentials.config, self.user_field)) if self.user_field else credentials.sandbox

    def secrets(self, credentials: SandboxCredentials) -> Sequence[str]:
        """Return the password, alone and as Basic authentication sends it."""
        return credentials.token, encode_basic(self.get_user(credentials), credentials.token)

    def has_password(self, credentials: SandboxCredentials, user: str, password: str) -> bool:
        """Return whether user and password are those of the sandbox."""
        is_user = secrets_match(self.get_user(credentials), user)
        return secrets_match(credentials.token, password) and is_user

    def accepts_login(self, credentials: SandboxCredentials, user: str, password: str) -> bool:
        return self.has_password(credentials, user, password)


def check_login(schemes: Sequence[AuthenticationScheme], credentials: SandboxCredentials, login: LoginInput) -> bool:
    """Return whether one of the schemes accepts the user and password of a login."""
    return any(scheme.accepts_login(credentials, login.user, login.password) for scheme in schemes)


BASIC_CHALLENGE = f'Basic {REALM}, charset="UTF-8"'


def parse_basic_header(headers: Mapping[str, str]) -> tuple[str, str] | None:
    """Return user and password of a request; None if it has none, or they cannot be decoded."""
    scheme, _, encoded = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        user, colon, password = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return (user, password) if colon else None


@dataclass(frozen=True)
class BasicPassword(PasswordScheme):
    """User and password in each request; the password is the token of the sandbox."""

    name: ClassVar[str] = "basic"
    credential: ClassVar[str] = "user and password (Basic)"

    def verify(self, request: Request, credentials: SandboxCredentials, clock: Clock) -> bool:
        login = parse_basic_header(request.headers)
        return login is not None and self.has_password(credentials, *login)

    def explain(self, request: Request, credentials: SandboxCredentials, clock: Clock) -> str:
        is_given = request.headers.get("authorization", "").lower().startswith("basic ")
        return "the user or the password is wrong" if is_given else ""

    def challenge(self, problem: str = "") -> str:
        """Return the challenge of RFC 7617, which has no field for a problem."""
        return BASIC_CHALLENGE

    def authorize(self, request: Request, credentials: SandboxCredentials, clock: Clock) -> Mapping[str, str]:
        return {"authorization": f"Basic {encode_basic(self.get_user(credentials), credentials.token)}"}

    def connection_info(self, credentials: SandboxCredentials, url: str) -> ConnectionInfo:
        return {"user": self.get_user(credentials), "password": credentials.token}

    def curl(self, credentials: SandboxCredentials) -> list[str]:
        return ["-u", f"{self.get_user(credentials)}:{credentials.token}"]
