"""SMART backend services (SMART App Launch 2.2): a client signs a JWT, and gets an access token with `system/` scopes.

Times of the JWT are wall time, because real clients write them. The access token expires in simulated time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from clerkship.model.frozen import Frozen
from clerkship.sandbox.authentication.bearer import ScopedBearerToken, build_bearer_challenge
from clerkship.sandbox.authentication.client_jwt import find_keys, parse_client_keys, use_jti
from clerkship.sandbox.authentication.credentials import SandboxCredentials
from clerkship.sandbox.authentication.jwt import (
    ALGORITHM,
    SMART_ALGORITHMS,
    InvalidJwt,
    check_extra,
    check_signature,
    verify_jwt,
)
from clerkship.sandbox.authentication.oauth import (
    FORM,
    AccessToken,
    TokenRequest,
    check_grant,
    parse_token_form,
    refuse_as_oauth,
    render_token,
)
from clerkship.sandbox.authentication.scope import AccessGrant, BadScope, SmartScope, parse_scopes
from clerkship.sandbox.operation import OperationContext
from clerkship.sandbox.request import ConnectionInfo, Refusal
from clerkship.sandbox.route import HttpCall

if TYPE_CHECKING:
    from joserfc.jwk import KeySet

ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
"""RFC 7523 §2.2."""


def parse_system_scopes(texts: Sequence[str]) -> tuple[SmartScope, ...]:
    """Parse scopes of the level `system`; raises BadScope for any other."""
    scopes = parse_scopes(texts)
    other = next((scope.text for scope in scopes if scope.level != "system"), None)
    if other is not None:
        raise BadScope(f"`{other}` is not a scope of a backend service (expected such as system/*.rs)")
    return scopes


def _check_scopes(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(scope.text for scope in parse_system_scopes(texts))


def _check_keys(jwks: dict[str, Any] | None) -> dict[str, Any] | None:
    if jwks is None:
        check_extra()
    else:
        parse_client_keys(jwks)
    return jwks


class BackendClient(Frozen):
    """A registered client of SMART backend services."""

    client_id: Annotated[str, Field(min_length=1, description="its id: `iss` and `sub` of its JWTs")]
    scopes: Annotated[
        tuple[str, ...],
        AfterValidator(_check_scopes),
        Field(description="scopes that it may get, such as `system/*.rs` or `system/Patient.read`"),
    ] = ("system/*.rs",)
    jwks: Annotated[
        dict[str, Any] | None,
        AfterValidator(_check_keys),
        Field(
            validate_default=True,
            description="its public keys as a JWK Set (RFC 7517 §5); without it, each trial makes a key pair and gives "
            "the agent the private key",
        ),
    ] = None


class AssertionRequest(TokenRequest):
    """The input of a token endpoint; `user` is the client id, if given, and `password` the client assertion."""

    assertion_type: str = ""


class ScopedAccessToken(AccessToken):
    """An access token with scopes, and for whom it is."""

    token_type: str = "bearer"
    scope: str


@dataclass(frozen=True)
class BackendServices(ScopedBearerToken):
    """The token of the sandbox, an access token with scopes that another sandbox issued, or one that a token endpoint
    of the simulator issues for a client assertion (`private_key_jwt`); see `issue`.
    """

    name: ClassVar[str] = "smart"
    clients_field: str = "clients"
    """The field of the simulator's config with its clients, each a `BackendClient`. At most one has no keys."""
    token_path: str = "/auth/token"

    @property
    def route_options(self) -> Mapping[str, Any]:
        """The options of the route of the token endpoint."""
        refuse = partial(refuse_as_oauth, challenge=build_bearer_challenge())
        return {"parse": parse_assertion_request, "render": render_token, "refuse": refuse, "media": FORM}

    def list_clients(self, credentials: SandboxCredentials) -> tuple[BackendClient, ...]:
        """Return the registered clients."""
        return tuple(getattr(credentials.config, self.clients_field))

    def accepts_login(self, credentials: SandboxCredentials, user: str, password: str) -> bool:
        """Return True if a registered key has signed the assertion, even if its claims are wrong; raises Refusal."""
        try:
            check_signature(password, self._find_keys(password, credentials), SMART_ALGORITHMS)
        except InvalidJwt as problem:
            raise _refuse_client(str(problem)) from None
        return True

    def issue(
        self, context: OperationContext[Any], token_request: AssertionRequest, lifetime: timedelta
    ) -> tuple[BackendClient, ScopedAccessToken]:
        """Issue an access token; return it and its client. Raises Refusal. For operations with `access="login"`."""
        assert context.credentials is not None
        audience = f"{context.base_url}{self.token_path}"
        client = self._verify_assertion(token_request, context.credentials, audience)
        check_grant(token_request.grant_type)
        try:
            requested = parse_system_scopes(token_request.scope.split())
        except BadScope as problem:
            raise Refusal(400, "invalid_scope", str(problem)) from None
        registered = parse_scopes(client.scopes)
        granted = [common for scope in requested for each in registered if (common := scope.intersect(each))]
        if not granted:
            raise Refusal(400, "invalid_scope", f"the client may get only {' '.join(client.scopes)}")
        expires = context.action.now + lifetime
        access = AccessGrant(tuple(dict.fromkeys(granted)), "", expires, is_simulated=True)
        token = context.credentials.add_grant(access)
        seconds = int(lifetime.total_seconds())
        return client, ScopedAccessToken(access_token=token, expires_in=seconds, scope=access.scope)

    def _verify_assertion(
        self, token_request: AssertionRequest, credentials: SandboxCredentials, audience: str
    ) -> BackendClient:
        """Return the client of a valid assertion, which counts as used then; raises Refusal."""
        if token_request.assertion_type != ASSERTION_TYPE:
            raise Refusal(400, "invalid_request", f"client_assertion_type must be {ASSERTION_TYPE}")
        assertion = token_request.password
        try:
            keys, now = self._find_keys(assertion, credentials), credentials.wall_now()
            claims = verify_jwt(assertion, keys, (audience,), now, is_smart=True)
            if claims["sub"] != claims["iss"] or token_request.user not in ("", claims["iss"]):
                raise InvalidJwt("iss and sub must both be the client id")
            use_jti(claims, credentials)
        except InvalidJwt as problem:
            raise _refuse_client(str(problem)) from None
        return next(each for each in self.list_clients(credentials) if each.client_id == claims["iss"])

    def _find_keys(self, assertion: str, credentials: SandboxCredentials) -> "KeySet":
        if credentials.clients is None:
            credentials.clients = {
                client.client_id: parse_client_keys(client.jwks or credentials.signing_key.public_keys)
                for client in self.list_clients(credentials)
            }
        return find_keys(assertion, credentials.clients)

    def _find_agent(self, credentials: SandboxCredentials) -> BackendClient | None:
        """Return the client whose private key the agent gets, or else the first; None if there are no clients."""
        clients = self.list_clients(credentials)
        return next((each for each in clients if each.jwks is None), clients[0] if clients else None)

    def secrets(self, credentials: SandboxCredentials) -> Sequence[str]:
        """Return the token, and the private key that the agent gets."""
        client = self._find_agent(credentials)
        is_given = client is not None and client.jwks is None
        return (*super().secrets(credentials), *(credentials.signing_key.secret_parts if is_given else ()))

    def connection_info(self, credentials: SandboxCredentials, url: str) -> ConnectionInfo:
        """Return client id, scopes, the token endpoint and, if the agent has no key of its own, a private key."""
        client = self._find_agent(credentials)
        if client is None:
            return {}
        info = {"client_id": client.client_id, "scope": " ".join(client.scopes), "token_url": f"{url}{self.token_path}"}
        if client.jwks is not None:
            return info
        key = credentials.signing_key
        return {**info, "algorithm": ALGORITHM, "kid": key.id, "private_key": key.private_key}


def parse_assertion_request(call: HttpCall, context: OperationContext[Any]) -> AssertionRequest:
    """Read a token request with a client assertion (RFC 7523 §2.2); raises Refusal."""
    form = parse_token_form(call.request)
    grant_type = form.get("grant_type", "")
    if not form.get("client_assertion"):
        check_grant(grant_type)
        raise Refusal(400, "invalid_request", "client_assertion is missing")
    return AssertionRequest(
        user=form.get("client_id", ""),
        password=form["client_assertion"],
        grant_type=grant_type,
        scope=form.get("scope", ""),
        assertion_type=form.get("client_assertion_type", ""),
    )


def _refuse_client(reason: str) -> Refusal:
    return Refusal(401, "invalid_client", reason)
