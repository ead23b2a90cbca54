"""Bearer tokens (RFC 6750)."""

from collections.abc import Mapping
from typing import ClassVar

from clerkship.kit.clock import Clock
from clerkship.kit.secrets import equal_in_constant_time
from clerkship.sandbox.authentication.credentials import SandboxCredentials
from clerkship.sandbox.authentication.scheme import REALM, HttpScheme
from clerkship.sandbox.request import Request


def parse_bearer_token(headers: Mapping[str, str]) -> str:
    """Return the bearer token of a request, or an empty string."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def build_bearer_challenge(problem: str = "") -> str:
    """Return the challenge, with the reason why a token is not valid (RFC 6750 §3.1)."""
    error = f', error="invalid_token", error_description="{problem}"' if problem else ""
    return f"Bearer {REALM}{error}"


class BearerToken(HttpScheme):
    """The token of the sandbox, as a bearer token. The default."""

    name: ClassVar[str] = "bearer"
    credential: ClassVar[str] = "bearer token"

    def verify(self, request: Request, credentials: SandboxCredentials, clock: Clock) -> bool:
        return equal_in_constant_time(credentials.token, parse_bearer_token(request.headers))

    def explain(self, request: Request, credentials: SandboxCredentials, clock: Clock) -> str:
        return "it is not the token of this sandbox" if parse_bearer_token(request.headers) else ""

    def challenge(self, problem: str = "") -> str:
        return build_bearer_challenge(problem)

    def authorize(self, request: Request, credentials: SandboxCredentials, clock: Clock) -> Mapping[str, str]:
        return {"authorization": f"Bearer {credentials.token}"}

    def curl(self, credentials: SandboxCredentials) -> list[str]:
        return ["-H", f"Authorization: Bearer {credentials.token}"]
