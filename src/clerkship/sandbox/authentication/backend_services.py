"""SMART backend services (SMART App Launch 2.2): a client signs a JWT, and gets an access token with `system/` scopes.

`client_assertion` has the token endpoint. It is imported when it is first used: few runs have such clients.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from clerkship.by_name import load
from clerkship.model.frozen import Frozen
from clerkship.sandbox.authentication.bearer import ScopedBearerToken
from clerkship.sandbox.authentication.credentials import SandboxCredentials
from clerkship.sandbox.authentication.jwt import check_extra
from clerkship.sandbox.authentication.scope import parse_scopes
from clerkship.sandbox.request import ConnectionInfo


def call_endpoint(name: str, *arguments: Any) -> Any:
    """Call a function of the token endpoint."""
    return load(f"clerkship.sandbox.authentication.client_assertion:{name}")(*arguments)


def _check_scopes(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(scope.text for scope in parse_scopes(texts, "system"))


def _check_keys(jwks: dict[str, Any] | None) -> dict[str, Any] | None:
    check_extra()
    if jwks is not None:
        call_endpoint("parse_client_keys", jwks)
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


class AssertionRequest(Frozen):
    """The input of a token endpoint (RFC 7523 §2.2)."""

    user: str = ""
    """The client id; empty if only the assertion has it."""
    password: str
    """The client assertion."""
    assertion_type: str = ""
    grant_type: str = ""
    scope: str = ""


@dataclass(frozen=True)
class BackendServices(ScopedBearerToken):
    """The token of the sandbox, an access token with scopes that another sandbox issued, or one that a token endpoint
    of the simulator issues for a client assertion (`private_key_jwt`); see `client_assertion.issue_token`.
    """

    name: ClassVar[str] = "smart"
    clients_field: str = "clients"
    """The field of the simulator's config with its clients, each a `BackendClient`. At most one has no keys."""
    token_path: str = "/auth/token"

    @property
    def route_options(self) -> Mapping[str, Any]:
        """The options of the route of the token endpoint."""
        functions = {"parse": "parse_assertion_request", "render": "render_token", "refuse": "refuse_token"}
        return {option: partial(call_endpoint, name) for option, name in functions.items()}

    def list_clients(self, credentials: SandboxCredentials) -> tuple[BackendClient, ...]:
        """Return the registered clients."""
        return tuple(getattr(credentials.config, self.clients_field))

    def accepts_login(self, credentials: SandboxCredentials, user: str, password: str) -> bool:
        """Return True if a registered key has signed the assertion, even if its claims are wrong; raises Refusal."""
        call_endpoint("check_signer", self, credentials, password)
        return True

    def secrets(self, credentials: SandboxCredentials) -> Sequence[str]:
        """Return the token, and the private key that the agent gets."""
        is_given = "private_key" in self.connection_info(credentials, "")
        return (*super().secrets(credentials), *(credentials.signing_key.secret_parts if is_given else ()))

    def connection_info(self, credentials: SandboxCredentials, url: str) -> ConnectionInfo:
        """Return client id, scopes, the token endpoint and, if the agent has no key of its own, a private key."""
        clients = self.list_clients(credentials)
        if not clients:
            return {}
        client = next((each for each in clients if each.jwks is None), clients[0])
        info = {"client_id": client.client_id, "scope": " ".join(client.scopes), "token_url": f"{url}{self.token_path}"}
        return info if client.jwks is not None else {**info, **credentials.signing_key.private_key}
