"""The base classes of authentication schemes, and the refusals of requests without a valid credential."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from clerkship.kit.clock import Clock
from clerkship.sandbox.authentication.credentials import SandboxCredentials
from clerkship.sandbox.authentication.scope import AccessGrant
from clerkship.sandbox.request import ConnectionInfo, Refusal, Request

REALM = 'realm="clerkship"'
WRONG_LOGIN = "the user or the password is wrong"


class AuthenticationScheme(ABC):
    """One way in which clients of a simulator authenticate."""

    name: ClassVar[str]
    """The key of its credentials in the connection info of an agent."""
    credential: ClassVar[str]
    """What a client presents, for messages and documentation: `bearer token`."""
    transport: ClassVar[str] = ""
    """The protocol that it belongs to, such as `sftp`; empty for HTTP."""

    def connection_info(self, credentials: SandboxCredentials, url: str) -> ConnectionInfo:
        """Return what an agent needs besides the URL and the token of a sandbox."""
        return {}

    def secrets(self, credentials: SandboxCredentials) -> Sequence[str]:
        """Return the values that must not be logged, in each form in which they are sent."""
        return (credentials.token,)

    def verify(self, request: Request, credentials: SandboxCredentials, clock: Clock) -> bool:
        """Return whether an HTTP request carries a valid credential of this scheme."""
        return False

    def find_grant(self, request: Request, credentials: SandboxCredentials) -> AccessGrant | None:
        """Return what the valid credential of a request is limited to; None if it is not limited."""
        return None

    def accepts_login(self, credentials: SandboxCredentials, user: str, password: str) -> bool:
        """Return whether user and password log in, in operations with `access="login"`; may raise Refusal."""
        return False


class HttpScheme(AuthenticationScheme):
    """A scheme for requests over HTTP."""

    @abstractmethod
    def verify(self, request: Request, credentials: SandboxCredentials, clock: Clock) -> bool:
        """Return whether a request carries a valid credential of this scheme; compares in constant time."""

    @abstractmethod
    def explain(self, request: Request, credentials: SandboxCredentials, clock: Clock) -> str:
        """Return why a credential is not valid; empty if the request has none of this scheme."""

    @abstractmethod
    def challenge(self, problem: str = "") -> str:
        """Return the challenge of a 401 (RFC 9110 §11.6.1), with the problem if the scheme has a field for it."""

    @abstractmethod
    def authorize(self, request: Request, credentials: SandboxCredentials, clock: Clock) -> Mapping[str, str]:
        """Return the headers with which a client authenticates a request."""

    def curl(self, credentials: SandboxCredentials) -> list[str] | None:
        """Return the options of curl that authenticate a request; None if there are none."""
        return None


def select_http_schemes(schemes: Sequence[AuthenticationScheme]) -> list[HttpScheme]:
    """Return the schemes that authenticate HTTP requests."""
    return [scheme for scheme in schemes if isinstance(scheme, HttpScheme)]


def refuse_credential(
    schemes: Sequence[AuthenticationScheme], request: Request, credentials: SandboxCredentials, clock: Clock
) -> Refusal:
    """Return the refusal of a request, with a challenge of each scheme and why its credential is not valid."""
    return _build_unauthorized("unauthorized", schemes, lambda scheme: scheme.explain(request, credentials, clock))


def refuse_expired(schemes: Sequence[AuthenticationScheme], reason: str) -> Refusal:
    """Return the refusal of a request whose credential has expired."""
    return _build_unauthorized("expired", schemes, lambda scheme: reason, reason)


def refuse_unknown(schemes: Sequence[AuthenticationScheme]) -> Refusal:
    """Return the refusal of a request without a valid credential, with a challenge of each scheme."""
    return _build_unauthorized("unauthorized", schemes, lambda scheme: "")


def _build_unauthorized(
    code: str, schemes: Sequence[AuthenticationScheme], explain: Callable[[HttpScheme], str], reason: str = ""
) -> Refusal:
    http_schemes = select_http_schemes(schemes)
    credential = " or the ".join(scheme.credential for scheme in http_schemes)
    challenge = ", ".join(dict.fromkeys(scheme.challenge(explain(scheme)) for scheme in http_schemes))
    reason = reason or f"the {credential} is missing, wrong, or another sandbox's"
    return Refusal(401, code, reason, {"WWW-Authenticate": challenge})
