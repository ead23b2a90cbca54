"""Basic authentication (RFC 7617)."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from clerkship.kit.clock import Clock
from clerkship.sandbox.authentication.credentials import SandboxCredentials
from clerkship.sandbox.authentication.password import PasswordScheme, encode_basic
from clerkship.sandbox.authentication.scheme import REALM
from clerkship.sandbox.listener import ConnectionInfo
from clerkship.sandbox.request import Request

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
