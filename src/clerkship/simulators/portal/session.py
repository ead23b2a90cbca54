"""Sessions of a payer portal: the cookie, what a user must do after signing in, idle sessions, and CSRF tokens."""

import hashlib
import hmac
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

from clerkship.kit.clock import Clock
from clerkship.sandbox.authentication.cookie import CookieSession
from clerkship.sandbox.authentication.credentials import SandboxCredentials, secrets_match
from clerkship.sandbox.authentication.password import BasicPassword
from clerkship.sandbox.operation import OperationContext
from clerkship.sandbox.request import ConnectionInfo, Request
from clerkship.simulators.portal.config import PortalConfig
from clerkship.simulators.portal.events import PortalSessionEnded
from clerkship.simulators.portal.records import SessionStatus, UserSession
from clerkship.simulators.portal.state import PortalState

Context = OperationContext[PortalState]
SIGN_IN, API_PATH = "/sign-in", "/api"
STATUS_PATHS: dict[SessionStatus, str] = {
    "needs_code": "/sign-in/code",
    "needs_password": "/sign-in/password",
    "needs_check": "/verify",
}
"""Where a user goes on who has signed in, and has something to do before pages are shown."""


@dataclass(frozen=True)
class PortalSession(CookieSession):
    """The session of a browser. Whether it is idle or was ended is part of the state, so that it is logged."""

    name: ClassVar[str] = "portal"
    cookie: str = "portal_session"
    lifetime: timedelta = timedelta(days=366)
    login_path: str = SIGN_IN

    def verify(self, request: Request, credentials: SandboxCredentials, clock: Clock) -> bool:
        """Return whether the cookie is valid, for pages only: the REST API asks for no CSRF token, and it knows neither
        codes nor idle sessions.
        """
        return not request.path.startswith(API_PATH) and super().verify(request, credentials, clock)

    def get_user(self, credentials: SandboxCredentials) -> str:
        assert isinstance(credentials.config, PortalConfig)
        return credentials.config.user.username

    def has_password(self, credentials: SandboxCredentials, user: str, password: str) -> bool:
        """Return whether user and password are right: the password that the user chose last."""
        is_user = secrets_match(self.get_user(credentials), user)
        return secrets_match(credentials.password or credentials.token, password) and is_user

    def connection_info(self, credentials: SandboxCredentials, url: str) -> ConnectionInfo:
        return {
            "portal_url": f"{url}/",
            "username": self.get_user(credentials),
            "password": credentials.token,
            "api_url": f"{url}{API_PATH}",
        }


SESSIONS = PortalSession()


@dataclass(frozen=True)
class PortalPassword(BasicPassword):
    """User name and password of the pages in each request, for the REST API."""

    def get_user(self, credentials: SandboxCredentials) -> str:
        return SESSIONS.get_user(credentials)

    def has_password(self, credentials: SandboxCredentials, user: str, password: str) -> bool:
        """Return whether user and password are right: the password that the user chose last."""
        return SESSIONS.has_password(credentials, user, password)


def find_session(context: Context, cookie: str) -> UserSession | None:
    """Return the session of a request, which may have ended; None if there is none.

    A client with the token of the sandbox and without a cookie, such as a Python agent, is in the newest session.
    """
    state = context.state
    if cookie:
        owner = context.credentials.get_owner(cookie) if context.credentials is not None else ""
        return state.sessions.get(int(owner)) if owner else None
    return next((each for each in reversed(state.sessions.values()) if each.status != "ended"), None)


def end_if_idle(context: Context, session: UserSession) -> UserSession:
    """Return a session, after ending it if it was idle for too long."""
    state, now = context.state, context.action.now
    if session.status == "ended" or now - session.last_seen <= state.config.friction.session_length:
        return session
    context.action.emit(PortalSessionEnded(session=session.number, reason="idle"))
    return state.sessions[session.number]


def build_csrf_token(cookie: str) -> str:
    """Return the token that forms of a session carry; it follows from the cookie, which scripts cannot read."""
    return hashlib.blake2b(b"csrf", key=cookie.encode()[:64], digest_size=16).hexdigest() if cookie else ""


def is_csrf_token(token: str, cookie: str) -> bool:
    """Return whether a form came from a page of its session. A client without a cookie needs no token."""
    return not cookie or hmac.compare_digest(token.encode(), build_csrf_token(cookie).encode())


def find_first_status(config: PortalConfig) -> SessionStatus:
    """Return what a user must do after signing in."""
    friction = config.friction
    if friction.human_check == "sign_in":
        return "needs_check"
    return "needs_code" if friction.one_time_code != "off" else find_status_after_code(config, is_changed=False)


def find_status_after_code(config: PortalConfig, *, is_changed: bool) -> SessionStatus:
    """Return what a user must do after entering the code."""
    return "needs_password" if config.friction.password_expired and not is_changed else "active"
