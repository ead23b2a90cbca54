"""JWTs of clients whose public keys a sandbox knows, such as an EHR that calls a CDS service.

Only requests with a credential are logged. A JWT that a registered key has signed is one, even if it has expired or is
for another endpoint: the operation refuses it, and the refusal is logged. A JWT of an unknown signer is not.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import orjson
from pydantic import Field, field_validator

from clerkship.kit.clock import Clock
from clerkship.model.frozen import Frozen
from clerkship.sandbox.authentication.bearer import BearerToken, build_bearer_challenge, parse_bearer_token
from clerkship.sandbox.authentication.credentials import SandboxCredentials
from clerkship.sandbox.authentication.jwt import (
    MAX_CLOCK_SKEW,
    InvalidJwt,
    check_signature,
    parse_key_set,
    verify_jwt,
)
from clerkship.sandbox.request import Refusal, Request

if TYPE_CHECKING:
    from joserfc.jwk import KeySet

INVALID_TOKEN = "invalid_token"


class JwtClient(Frozen):
    """A client that signs JWTs."""

    issuer: Annotated[str, Field(min_length=1, description="the `iss` of its JWTs")]
    jwks: Annotated[dict[str, Any], Field(description="its public keys as a JWK Set (RFC 7517 §5)")]

    @field_validator("jwks")
    @classmethod
    def _check_keys(cls, jwks: dict[str, Any]) -> dict[str, Any]:
        parse_client_keys(jwks)
        return jwks


@dataclass(frozen=True)
class BearerTokenOrJwt(BearerToken):
    """The token of the sandbox, or a JWT signed by a client whose public keys are registered.

    `register` registers keys. Operations check the claims of a JWT with `verify_claims`.
    """

    credential: ClassVar[str] = "bearer token or JWT"
    clients_field: str = "clients"
    """The field of the simulator's config with clients that are registered from the start, each a `JwtClient`."""

    def verify(self, request: Request, credentials: SandboxCredentials, clock: Clock) -> bool:
        """Return whether the token is that of the sandbox, or a JWT that a registered key has signed."""
        if super().verify(request, credentials, clock):
            return True
        token = parse_bearer_token(request.headers)
        return is_jwt(token) and not self._find_problem(token, credentials)

    def explain(self, request: Request, credentials: SandboxCredentials, clock: Clock) -> str:
        """Return why a token or a JWT is not valid."""
        token = parse_bearer_token(request.headers)
        return self._find_problem(token, credentials) if is_jwt(token) else super().explain(request, credentials, clock)

    def _find_problem(self, token: str, credentials: SandboxCredentials) -> str:
        try:
            check_signature(token, self.find_keys(token, credentials))
        except InvalidJwt as problem:
            return str(problem)
        return ""

    def register(self, client: JwtClient, credentials: SandboxCredentials) -> int:
        """Register the public keys of a client, instead of those that it had; return how many it has."""
        clients = self.list_clients(credentials)
        clients[client.issuer] = parse_client_keys(client.jwks)
        return len(clients[client.issuer].keys)

    def list_clients(self, credentials: SandboxCredentials) -> "dict[str, KeySet]":
        """Return the keys of each client by issuer."""
        if credentials.clients is None:
            configured: tuple[JwtClient, ...] = getattr(credentials.config, self.clients_field, ())
            credentials.clients = {client.issuer: parse_client_keys(client.jwks) for client in configured}
        return credentials.clients

    def verify_claims(self, token: str, credentials: SandboxCredentials, *audiences: str) -> str:
        """Return the issuer of a valid JWT, which counts as used then; raises InvalidJwt.

        An audience is the URL of an endpoint that the client may mean.
        """
        claims = verify_jwt(token, self.find_keys(token, credentials), audiences, credentials.wall_now())
        use_jti(claims, credentials)
        return str(claims["iss"])

    def find_keys(self, token: str, credentials: SandboxCredentials) -> "KeySet":
        """Return the keys of the client that a JWT names as its issuer; raises InvalidJwt."""
        return find_keys(token, self.list_clients(credentials))


def find_keys(token: str, clients: "Mapping[str, KeySet]") -> "KeySet":
    """Return the keys of the client that a JWT names as its issuer; raises InvalidJwt."""
    if not is_jwt(token):
        raise InvalidJwt("it is not a signed JWT")
    header, payload = (_decode_part(part) for part in token.split(".")[:2])
    if not isinstance(header.get("kid"), str):
        raise InvalidJwt("the header of the JWT has no kid")
    keys = clients.get(str(payload.get("iss")))
    if keys is None:
        raise InvalidJwt("the issuer of the JWT is not registered")
    return keys


def use_jti(claims: Mapping[str, Any], credentials: SandboxCredentials) -> None:
    """Keep the `jti` of a valid JWT; raises InvalidJwt if it was used before.

    CDS Hooks 2.0 (Trusting CDS Clients) and SMART App Launch 2.2 (client-confidential-asymmetric) both demand that.
    """
    expires = datetime.fromtimestamp(claims["exp"], UTC)
    oldest = credentials.wall_now() - MAX_CLOCK_SKEW
    if not credentials.use_once(f"{claims['iss']} {claims['jti']}", expires, oldest):
        raise InvalidJwt("the JWT was used before: its jti must be new for each call")


def is_jwt(token: str) -> bool:
    """Return whether a bearer token has the form of a signed JWT: three parts (RFC 7515 §3.1)."""
    return token.count(".") == 2


def parse_client_keys(data: Any) -> "KeySet":
    """Parse a JWK Set in which each key has its own `kid`, by which a JWT names it; raises ValueError."""
    keys = parse_key_set(data)
    ids = [key.get("kid") for key in data["keys"]]
    if not all(isinstance(id, str) and id for id in ids) or len(set(ids)) < len(ids):
        raise ValueError("each key needs a `kid` of its own")
    return keys


def _decode_part(part: str) -> Mapping[str, Any]:
    try:
        data = orjson.loads(base64.urlsafe_b64decode(part.encode("ascii") + b"=" * (-len(part) % 4)))
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise InvalidJwt("the JWT cannot be read")
    return data


def refuse_jwt(reason: str) -> Refusal:
    """Return the refusal of a request without a valid JWT (RFC 6750 §3.1)."""
    return Refusal(401, INVALID_TOKEN, reason, {"WWW-Authenticate": build_bearer_challenge(reason)})
