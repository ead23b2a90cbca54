"""Small simulators that differ in how their clients authenticate."""

from typing import Any, ClassVar
from urllib.parse import parse_qsl

from clerkship.events.event import Event, Payload
from clerkship.model.frozen import Frozen
from clerkship.sandbox.authentication.bearer import BearerToken
from clerkship.sandbox.authentication.cookie import CookieSession, LogoutInput
from clerkship.sandbox.authentication.oauth import FORM, AccessToken, ClientCredentials, TokenRequest
from clerkship.sandbox.authentication.password import BasicPassword, LoginInput
from clerkship.sandbox.authentication.scheme import AuthenticationScheme
from clerkship.sandbox.authentication.signed import SignedRequest
from clerkship.sandbox.handle import Handle
from clerkship.sandbox.operation import NoInput, Operation, OperationContext, operation
from clerkship.sandbox.request import Reply, Request
from clerkship.sandbox.route import HttpCall, Route
from clerkship.sandbox.state import State
from clerkship.simulators.spec import Spec


class NoteAdded(Payload):
    """A note was added."""

    kind: ClassVar[str] = "locked.note.added"
    text: str


class LoggedIn(Payload):
    """The agent logged in, or got a token."""

    kind: ClassVar[str] = "locked.login"


class LoggedOut(Payload):
    """The agent logged out."""

    kind: ClassVar[str] = "locked.logout"


class AboutRead(Payload):
    """The agent read the public description."""

    kind: ClassVar[str] = "locked.about.read"


class LockedState(State[Any]):
    """The state: notes."""

    def __init__(self, config: Any, records: Any) -> None:
        super().__init__(config, records)
        self.notes: list[str] = []

    def apply(self, event: Event) -> None:
        if isinstance(event.payload, NoteAdded):
            self.notes.append(event.payload.text)

    def dump(self) -> list[str]:
        return list(self.notes)


Context = OperationContext[LockedState]


class Note(Frozen):
    text: str


class LockedConfig(Frozen):
    """The config, which has the user."""

    account: str = "AC0001"


@operation()
def list_notes(context: Context, _: NoInput) -> list[str]:
    """List the notes."""
    return context.state.notes


@operation()
def add_note(context: Context, note: Note) -> None:
    """Add a note."""
    context.action.emit(NoteAdded(text=note.text))


@operation(access="open")
def about(context: Context, _: NoInput) -> dict[str, str]:
    """Describe the simulator."""
    context.action.emit(AboutRead())
    return {"name": "locked"}


NOTES = (
    Route("GET", "/notes", list_notes),
    Route("POST", "/notes", add_note, status=201),
    Route("GET", "/about", about),
)
EXERCISE = (
    Request("GET", "/about"),
    Request("POST", "/notes", {}, {"content-type": "application/json"}, b'{"text": "first"}'),
    Request("GET", "/notes"),
)

BASIC = BasicPassword(user_field="account")
SESSION = CookieSession()
OAUTH = ClientCredentials()
SIGNED = SignedRequest()


@operation(access="login", tool=False, logs_body=False)
def log_in(context: Context, input: LoginInput) -> str:
    """Log in."""
    context.action.emit(LoggedIn())
    return SESSION.open(context)


@operation(tool=False)
def log_out(context: Context, input: LogoutInput) -> str:
    """Log out."""
    context.action.emit(LoggedOut())
    return SESSION.end(context, input.session)


def parse_login(call: HttpCall, context: Context) -> LoginInput:
    """Read the form of a login page."""
    form = dict(parse_qsl(call.body.decode(errors="replace")))
    return LoginInput(user=form.get("user", ""), password=form.get("password", ""))


def render_cookie(call: HttpCall, context: Context, cookie: str) -> Reply:
    """Set or remove the cookie."""
    return Reply(204, headers={"Set-Cookie": cookie})


@operation(access="login", tool=False, logs_body=False)
def issue_token(context: Context, input: TokenRequest) -> AccessToken:
    """Issue an access token."""
    token = OAUTH.issue(context, input)
    context.action.emit(LoggedIn())
    return token


COOKIE_ROUTES = (
    Route("POST", "/login", log_in, parse=parse_login, render=render_cookie),
    Route("POST", "/logout", log_out, parse=SESSION.parse_logout, render=render_cookie),
)
COOKIE_EXERCISE = (
    Request("POST", "/login", {}, {"content-type": FORM}, b"user=box&password=x"),
    Request("POST", "/logout"),
)
TOKEN_ROUTES = (Route("POST", "/token", issue_token, **OAUTH.route_options),)
TOKEN_EXERCISE = (Request("POST", "/token", {}, {"content-type": FORM}, b"grant_type=client_credentials"),)


def build_locked_spec(
    *schemes: AuthenticationScheme, routes: tuple[Route, ...] = (), exercise: tuple[Request, ...] = (), **options: Any
) -> Spec:
    """Return a simulator with these schemes."""
    operations: tuple[Operation[Any, Any], ...] = tuple(route.operation for route in (*NOTES, *routes))
    return Spec(
        kind="locked",
        summary="Notes behind a lock.",
        state=LockedState,
        events=(NoteAdded, LoggedIn, LoggedOut, AboutRead),
        operations=operations,
        routes=(*NOTES, *routes),
        handle=Handle,
        exercise=(*EXERCISE, *exercise),
        config=LockedConfig,
        authentication=schemes or (BearerToken(),),
        **options,
    )


BASIC_SPEC = build_locked_spec(BASIC)
COOKIE_SPEC = build_locked_spec(SESSION, routes=COOKIE_ROUTES, exercise=COOKIE_EXERCISE)
OAUTH_SPEC = build_locked_spec(OAUTH, routes=TOKEN_ROUTES, exercise=TOKEN_EXERCISE)
SIGNED_SPEC = build_locked_spec(SIGNED)
SEVERAL_SPEC = build_locked_spec(BearerToken(), BASIC, OAUTH, routes=TOKEN_ROUTES, exercise=TOKEN_EXERCISE)
SPECS = {
    "basic": BASIC_SPEC,
    "cookie": COOKIE_SPEC,
    "oauth": OAUTH_SPEC,
    "signed": SIGNED_SPEC,
    "several": SEVERAL_SPEC,
}
