"""Bearer tokens (RFC 6750): that of the sandbox, and access tokens with SMART scopes."""

from collections.abc import Mapping
from typing import ClassVar

from clerkship.kit.clock import Clock
from clerkship.kit.secrets import equal_in_constant_time
from clerkship.sandbox.authentication.credentials import SandboxCredentials
from clerkship.sandbox.authentication.scheme import REALM, HttpScheme
from clerkship.sandbox.authentication.scope import AccessGrant
from clerkship.sandbox.request import Refusal, Request


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


INSUFFICIENT_SCOPE = "insufficient_scope"


class ScopedBearerToken(BearerToken):
    """The token of the sandbox, or an access token with scopes that was issued for it.

    `SandboxCredentials.grant` issues such tokens. Operations refuse them unless they are declared with `scoped=True`:
    those check `OperationContext.access` themselves.
    """

    credential: ClassVar[str] = "bearer token"

    def verify(self, request: Request, credentials: SandboxCredentials, clock: Clock) -> bool:
        """Return whether the token is that of the sandbox, or was issued for it and has not expired."""
        if super().verify(request, credentials, clock):
            return True
        access = self.find_grant(request, credentials)
        return access is not None and not credentials.has_expired(access, clock.now)

    def find_grant(self, request: Request, credentials: SandboxCredentials) -> AccessGrant | None:
        """Return what the access token of a request grants, even if it has expired; None if it was not issued here."""
        return credentials.find_grant(parse_bearer_token(request.headers))

    def explain(self, request: Request, credentials: SandboxCredentials, clock: Clock) -> str:
        """Return why a token is not valid."""
        is_expired = self.find_grant(request, credentials) is not None
        return "the access token has expired" if is_expired else super().explain(request, credentials, clock)


def refuse_scope(reason: str, access: AccessGrant) -> Refusal:
    """Return the refusal of a request that a token does not cover (RFC 6750 §3.1)."""
    return Refusal(403, INSUFFICIENT_SCOPE, reason, build_scope_headers(access))


def build_scope_headers(access: AccessGrant) -> dict[str, str]:
    """Return the headers of a refusal for a token whose scopes do not suffice (RFC 6750 §3)."""
    return {"WWW-Authenticate": f'Bearer realm="clerkship", error="{INSUFFICIENT_SCOPE}", scope="{access.scope}"'}
