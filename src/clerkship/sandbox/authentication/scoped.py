"""Access tokens with SMART scopes, which one sandbox issues for another sandbox of the same playground."""

from typing import ClassVar

from clerkship.kit.clock import Clock
from clerkship.sandbox.authentication.bearer import BearerToken, parse_bearer_token
from clerkship.sandbox.authentication.credentials import SandboxCredentials
from clerkship.sandbox.authentication.scope import AccessGrant
from clerkship.sandbox.request import Refusal, Request

INSUFFICIENT_SCOPE = "insufficient_scope"


class ScopedBearerToken(BearerToken):
    """The token of the sandbox, or an access token with scopes that was issued for it.

    `SandboxCredentials.grant` issues such tokens. Operations refuse them unless they are declared with `scoped=True`:
    those check `OperationContext.access` themselves.
    """

    credential: ClassVar[str] = "bearer token"

    def verify(self, request: Request, credentials: SandboxCredentials, clock: Clock) -> bool:
        """Return whether the token is that of the sandbox, or was issued for it and has not expired."""
        return super().verify(request, credentials, clock) or self.find_grant(request, credentials) is not None

    def find_grant(self, request: Request, credentials: SandboxCredentials) -> AccessGrant | None:
        """Return what the access token of a request grants; None if it is not a valid one."""
        return credentials.find_grant(parse_bearer_token(request.headers))

    def explain(self, request: Request, credentials: SandboxCredentials, clock: Clock) -> str:
        """Return why a token is not valid."""
        token = parse_bearer_token(request.headers)
        is_expired = bool(token) and credentials.has_expired_grant(token)
        return "the access token has expired" if is_expired else super().explain(request, credentials, clock)


def refuse_scope(reason: str, access: AccessGrant) -> Refusal:
    """Return the refusal of a request that a token does not cover (RFC 6750 §3.1)."""
    return Refusal(403, INSUFFICIENT_SCOPE, reason, build_scope_headers(access))


def build_scope_headers(access: AccessGrant) -> dict[str, str]:
    """Return the headers of a refusal for a token whose scopes do not suffice (RFC 6750 §3)."""
    return {"WWW-Authenticate": f'Bearer realm="clerkship", error="{INSUFFICIENT_SCOPE}", scope="{access.scope}"'}
