"""The token endpoint of SMART backend services, which takes client assertions (`private_key_jwt`).

Times of an assertion are wall time, because real clients write them. The access token expires in simulated time.
"""

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from clerkship.sandbox.authentication.backend_services import AssertionRequest, BackendClient, BackendServices
from clerkship.sandbox.authentication.bearer import build_bearer_challenge
from clerkship.sandbox.authentication.client_jwt import find_keys, parse_client_keys, use_jti
from clerkship.sandbox.authentication.credentials import SandboxCredentials
from clerkship.sandbox.authentication.jwt import SMART_ALGORITHMS, InvalidJwt, check_signature, verify_jwt
from clerkship.sandbox.authentication.oauth import (
    AccessToken,
    check_grant,
    parse_token_form,
    refuse_as_oauth,
    render_token,
)
from clerkship.sandbox.authentication.scope import AccessGrant, BadScope, parse_scopes
from clerkship.sandbox.operation import OperationContext
from clerkship.sandbox.request import Refusal, Reply
from clerkship.sandbox.route import HttpCall

if TYPE_CHECKING:
    from joserfc.jwk import KeySet

ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
"""RFC 7523 §2.2."""
__all__ = ["check_signer", "issue_token", "parse_assertion_request"]
__all__ += ["parse_client_keys", "refuse_token", "render_token"]


class ScopedAccessToken(AccessToken):
    """An access token with scopes."""

    token_type: str = "bearer"
    scope: str


def parse_assertion_request(call: HttpCall, context: OperationContext[Any]) -> AssertionRequest:
    """Read a token request with a client assertion; raises Refusal."""
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


def check_signer(scheme: BackendServices, credentials: SandboxCredentials, assertion: str) -> None:
    """Refuse an assertion that no registered key has signed."""
    try:
        check_signature(assertion, _find_keys(scheme, credentials, assertion), SMART_ALGORITHMS)
    except InvalidJwt as problem:
        raise _refuse_client(str(problem)) from None


def issue_token(
    scheme: BackendServices, context: OperationContext[Any], token_request: AssertionRequest, lifetime: timedelta
) -> tuple[BackendClient, ScopedAccessToken]:
    """Issue an access token; return it and its client. Raises Refusal. For operations with `access="login"`."""
    assert context.credentials is not None
    audience = f"{context.base_url}{scheme.token_path}"
    client = _verify_assertion(scheme, context.credentials, token_request, audience)
    check_grant(token_request.grant_type)
    try:
        requested = parse_scopes(token_request.scope.split(), "system")
    except BadScope as problem:
        raise Refusal(400, "invalid_scope", str(problem)) from None
    registered = parse_scopes(client.scopes)
    granted = [common for scope in requested for each in registered if (common := scope.intersect(each))]
    if not granted:
        raise Refusal(400, "invalid_scope", f"the client may get only {' '.join(client.scopes)}")
    expires = context.action.now + lifetime
    access = AccessGrant(tuple(dict.fromkeys(granted)), "", expires, is_simulated=True)
    token, seconds = context.credentials.add_grant(access), int(lifetime.total_seconds())
    return client, ScopedAccessToken(access_token=token, expires_in=seconds, scope=access.scope)


def refuse_token(refusal: Refusal) -> Reply:
    """Write a refusal as OAuth does."""
    return refuse_as_oauth(refusal, build_bearer_challenge())


def _verify_assertion(
    scheme: BackendServices, credentials: SandboxCredentials, token_request: AssertionRequest, audience: str
) -> BackendClient:
    """Return the client of a valid assertion, which counts as used then; raises Refusal."""
    if token_request.assertion_type != ASSERTION_TYPE:
        raise Refusal(400, "invalid_request", f"client_assertion_type must be {ASSERTION_TYPE}")
    assertion = token_request.password
    try:
        keys, now = _find_keys(scheme, credentials, assertion), credentials.wall_now()
        claims = verify_jwt(assertion, keys, (audience,), now, is_smart=True)
        if claims["sub"] != claims["iss"] or token_request.user not in ("", claims["iss"]):
            raise InvalidJwt("iss and sub must both be the client id")
        use_jti(claims, credentials)
    except InvalidJwt as problem:
        raise _refuse_client(str(problem)) from None
    return next(each for each in scheme.list_clients(credentials) if each.client_id == claims["iss"])


def _find_keys(scheme: BackendServices, credentials: SandboxCredentials, assertion: str) -> "KeySet":
    """Return the keys of the client that an assertion names; raises InvalidJwt."""
    if credentials.clients is None:
        credentials.clients = {
            client.client_id: parse_client_keys(client.jwks or credentials.signing_key.public_keys)
            for client in scheme.list_clients(credentials)
        }
    return find_keys(assertion, credentials.clients)


def _refuse_client(reason: str) -> Refusal:
    return Refusal(401, "invalid_client", reason)
