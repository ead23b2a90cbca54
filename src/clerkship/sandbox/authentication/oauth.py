"""OAuth 2 client credentials (RFC 6749 §4.4): a client requests an access token and sends it with each request."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar
from urllib.parse import parse_qsl, unquote_plus

from clerkship.kit.clock import Clock
from clerkship.model.frozen import Frozen
from clerkship.sandbox.authentication.bearer import build_bearer_challenge, parse_bearer_token
from clerkship.sandbox.authentication.credentials import ACCESS_TOKEN_PREFIX, SandboxCredentials
from clerkship.sandbox.authentication.password import BASIC_CHALLENGE, LoginInput, PasswordScheme, parse_basic_header
from clerkship.sandbox.operation import OperationContext
from clerkship.sandbox.request import ConnectionInfo, Refusal, Reply, Request, json_reply
from clerkship.sandbox.route import HttpCall

GRANT = "client_credentials"
FORM = "application/x-www-form-urlencoded"
_NOT_CACHED = {"Cache-Control": "no-store", "Pragma": "no-cache"}
_ERRORS = frozenset({"invalid_request", "invalid_client", "unsupported_grant_type", "invalid_scope"})


class TokenRequest(LoginInput):
    """The input of a token endpoint; `user` is the client id and `password` the client secret."""

    grant_type: str = ""
    scope: str = ""


class AccessToken(Frozen):
    """The result of a token endpoint (RFC 6749 §5.1)."""

    access_token: str
    token_type: str = "Bearer"
    expires_in: int
    """Seconds of simulated time."""


@dataclass(frozen=True)
class ClientCredentials(PasswordScheme):
    """An access token, which a token endpoint of the simulator issues for client id and client secret; see `issue`.

    Clients authenticate at the token endpoint by Basic or in the form. There are no scopes: a token is good for all
    operations of its sandbox. `BackendServices` has `private_key_jwt` and scopes.
    """

    name: ClassVar[str] = "oauth2"
    credential: ClassVar[str] = "access token (OAuth 2 client credentials)"
    lifetime: timedelta = timedelta(minutes=5)
    token_path: str = "/token"
    """The path of the token endpoint, for the connection info of the agent."""

    def issue(self, context: OperationContext[Any], token_request: TokenRequest) -> AccessToken:
        """Issue an access token; raises Refusal for another grant. For operations with `access="login"`."""
        check_grant(token_request.grant_type)
        if token_request.scope:
            raise Refusal(400, "invalid_scope", "there are no scopes; leave `scope` out")
        assert context.credentials is not None
        token = context.credentials.issue(ACCESS_TOKEN_PREFIX, context.action.now + self.lifetime)
        return AccessToken(access_token=token, expires_in=int(self.lifetime.total_seconds()))

    @property
    def route_options(self) -> Mapping[str, Any]:
        """The options of the route of a token endpoint: `Route("POST", "/token", issue, **scheme.route_options)`."""
        return {"parse": parse_token_request, "render": render_token, "refuse": refuse_as_oauth, "media": FORM}

    def verify(self, request: Request, credentials: SandboxCredentials, clock: Clock) -> bool:
        """Return whether the access token was issued here and has not expired."""
        return credentials.is_valid(parse_bearer_token(request.headers), ACCESS_TOKEN_PREFIX, clock.now)

    def explain(self, request: Request, credentials: SandboxCredentials, clock: Clock) -> str:
        """Return why a token is not valid."""
        token = parse_bearer_token(request.headers)
        if not token:
            return ""
        is_known = credentials.get_expiry(token) is not None
        return "the access token has expired" if is_known else "it is not an access token of this sandbox"

    def challenge(self, problem: str = "") -> str:
        """Return the challenge of RFC 6750."""
        return build_bearer_challenge(problem)

    def authorize(self, request: Request, credentials: SandboxCredentials, clock: Clock) -> Mapping[str, str]:
        """Issue a token, and return the header with it."""
        return {"authorization": f"Bearer {credentials.issue(ACCESS_TOKEN_PREFIX, clock.now + self.lifetime)}"}

    def connection_info(self, credentials: SandboxCredentials, url: str) -> ConnectionInfo:
        """Return client id, client secret and the token endpoint."""
        return {
            "client_id": self.get_user(credentials),
            "client_secret": credentials.token,
            "token_url": f"{url}{self.token_path}",
        }


def check_grant(grant_type: str) -> None:
    """Refuse grants other than client credentials."""
    if grant_type != GRANT:
        code = "unsupported_grant_type" if grant_type else "invalid_request"
        raise Refusal(400, code, f"grant_type must be {GRANT}")


def parse_token_form(request: Request) -> dict[str, str]:
    """Read the form of a token request; raises Refusal with the error codes of RFC 6749 §5.2."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        raise Refusal(400, "invalid_request", f"a token request is {FORM}")
    try:
        pairs = parse_qsl(request.body.decode(), keep_blank_values=True)
    except ValueError:
        raise Refusal(400, "invalid_request", "the form cannot be read") from None
    if len(dict(pairs)) < len(pairs):
        raise Refusal(400, "invalid_request", "a parameter is given more than once")
    return dict(pairs)


def parse_token_request(call: HttpCall, context: OperationContext[Any]) -> TokenRequest:
    """Read a token request with client id and client secret; raises Refusal."""
    form, basic = parse_token_form(call.request), parse_basic_header(call.request.headers)
    if basic is not None and "client_secret" in form:
        raise Refusal(400, "invalid_request", "give the client secret in one place: in the header or in the form")
    if basic is not None:  # both are form-encoded before they are joined (RFC 6749 §2.3.1)
        user, password = map(unquote_plus, basic)
    else:
        user, password = form.get("client_id", ""), form.get("client_secret", "")
    scope, grant = form.get("scope", ""), form.get("grant_type", "")
    return TokenRequest(user=user, password=password, grant_type=grant, scope=scope)


def render_token(call: HttpCall, context: OperationContext[Any], token: AccessToken) -> Reply:
    """Write an access token, which no cache may keep."""
    return Reply(200, json_reply(200, token.model_dump()).body, headers=_NOT_CACHED)


def refuse_as_oauth(refusal: Refusal, challenge: str = BASIC_CHALLENGE) -> Reply:
    """Write a refusal as OAuth does (RFC 6749 §5.2)."""
    code = "invalid_client" if refusal.status == 401 else refusal.code if refusal.code in _ERRORS else "invalid_request"
    headers = {**_NOT_CACHED, **({"WWW-Authenticate": challenge} if refusal.status == 401 else {})}
    body = json_reply(refusal.status, {"error": code, "error_description": refusal.reason}).body
    return Reply(refusal.status, body, headers=headers)
