"""Sessions: a client logs in once and then sends a cookie (RFC 6265)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from http.cookies import CookieError, SimpleCookie
from typing import Any, ClassVar
from urllib.parse import urlsplit

from clerkship.kit.clock import Clock
from clerkship.model.frozen import Frozen
from clerkship.sandbox.authentication.credentials import SESSION_PREFIX, SandboxCredentials
from clerkship.sandbox.authentication.password import PasswordScheme
from clerkship.sandbox.authentication.scheme import REALM
from clerkship.sandbox.operation import OperationContext
from clerkship.sandbox.request import ConnectionInfo, Request
from clerkship.sandbox.route import HttpCall


class LogoutInput(Frozen):
    """The session of a request; empty if it has none."""

    session: str = ""


@dataclass(frozen=True)
class CookieSession(PasswordScheme):
    """A session that an operation of the simulator opens and ends; see `open` and `end`.

    Sessions are credentials, not state: they are in no event, expire in simulated time, and end with the run.
    """

    name: ClassVar[str] = "session"
    credential: ClassVar[str] = "session cookie"
    cookie: str = "session"
    lifetime: timedelta = timedelta(hours=8)
    login_path: str = "/login"
    """The path of the login operation, for the connection info of the agent."""

    def open(self, context: OperationContext[Any], owner: str = "") -> str:
        """Open a session; return the value of `Set-Cookie`. For operations with `access="login"`.

        `owner` is what `SandboxCredentials.get_owner` returns for its id, such as the number of a session in the state.
        """
        assert context.credentials is not None
        session = context.credentials.issue(SESSION_PREFIX, context.action.now + self.lifetime, owner)
        return f"{self.cookie}={session}; Path={_get_cookie_path(context)}; HttpOnly; SameSite=Lax"

    def end(self, context: OperationContext[Any], session: str) -> str:
        """End a session; return the value of `Set-Cookie` that removes the cookie."""
        if context.credentials is not None:
            context.credentials.withdraw(session)
        return f"{self.cookie}=; Path={_get_cookie_path(context)}; HttpOnly; SameSite=Lax; Max-Age=0"

    def parse_logout(self, call: HttpCall, context: OperationContext[Any]) -> LogoutInput:
        """Read which session to end. Use it as the `parse` of the logout route."""
        return LogoutInput(session=self.get_session_id(call.request))

    def get_session_id(self, request: Request) -> str:
        """Return the session id of a request, or an empty string."""
        try:
            cookies = SimpleCookie(request.headers.get("cookie", ""))
        except CookieError:
            return ""
        return cookies[self.cookie].value if self.cookie in cookies else ""

    def verify(self, request: Request, credentials: SandboxCredentials, clock: Clock) -> bool:
        return credentials.is_valid(self.get_session_id(request), SESSION_PREFIX, clock.now)

    def explain(self, request: Request, credentials: SandboxCredentials, clock: Clock) -> str:
        return "the session is unknown, has ended, or has expired" if self.get_session_id(request) else ""

    def challenge(self, problem: str = "") -> str:
        """Return a challenge that names the cookie; HTTP has no registered scheme for cookies."""
        return f'Cookie {REALM}, cookie-name="{self.cookie}"'

    def authorize(self, request: Request, credentials: SandboxCredentials, clock: Clock) -> Mapping[str, str]:
        """Open a session, and return the header with its cookie."""
        return {"cookie": f"{self.cookie}={credentials.issue(SESSION_PREFIX, clock.now + self.lifetime)}"}

    def connection_info(self, credentials: SandboxCredentials, url: str) -> ConnectionInfo:
        return {
            "user": self.get_user(credentials),
            "password": credentials.token,
            "login_url": f"{url}{self.login_path}",
        }


def _get_cookie_path(context: OperationContext[Any]) -> str:
    """Return the path of the sandbox, so that its cookies are sent to no other sandbox."""
    return urlsplit(context.base_url).path or "/"
