"""Signing in and out: password, one-time code, expired password, the check that only a person may do."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace

from clerkship.sandbox.authentication.password import LoginInput
from clerkship.sandbox.operation import Operation, OperationContext
from clerkship.sandbox.request import Reply, redirect
from clerkship.sandbox.route import HttpCall, Route
from clerkship.simulators.portal.desk import Desk, InvalidForm, refuse_field
from clerkship.simulators.portal.events import (
    CodeEntered,
    CodeSent,
    HumanCheckFailed,
    PasswordChanged,
    PortalSessionEnded,
    SignedIn,
    SubmitRefused,
)
from clerkship.simulators.portal.rendering import HTML, render_page
from clerkship.simulators.portal.session import (
    SESSIONS,
    SIGN_IN,
    STATUS_PATHS,
    Context,
    find_first_status,
    find_status_after_code,
)
from clerkship.simulators.portal.site import (
    PageRequest,
    Redirect,
    Shown,
    SitePage,
    build_frame,
    complete_reply,
    parse_page,
    refuse_page,
)
from clerkship.simulators.portal.state import API_SESSION
from clerkship.simulators.portal.views import CodeView, FieldMistake, HumanCheckView, PasswordView, SignInView

MAX_WRONG_CODES = 3
WRONG_SIGN_IN = "The user name or the password is wrong."
_CODE_DIGITS = 6
_LETTERS = "ABCDEFGHKLMNPRSTUVWXYZ"
PASSWORD_RULES = ("at least 12 characters", "a letter", "a digit", "not your username")
_NOTICES = {
    "ended": "Your session has ended because you were inactive. Sign in again.",
    "ended_unsaved": "Your session has ended because you were inactive. What you had not saved is lost. Sign in again.",
    "signed_out": "You are signed out.",
    "codes": "The code was wrong too often. Sign in again to get a new one.",
}


class SignInInput(LoginInput):
    """User name and password, and where to go then."""

    next: str = ""
    cookie: str = ""


def show_sign_in(context: Context, request: PageRequest) -> Reply:
    """Show the sign-in page."""
    desk = Desk(context.state, context.action, context.state.config.user)
    wrong = request.fields.get("problem") == "login"
    problem = FieldMistake("username", WRONG_SIGN_IN)
    next = request.fields.get("next", "")
    view = SignInView(
        title="Sign in",
        notice=_NOTICES.get(request.fields.get("reason", ""), ""),
        next=next if next.startswith("/") and not next.startswith("//") else "",
        problems=[problem] if wrong else [],
    )
    html = render_page(build_frame(desk, is_inside=False), view)
    return complete_reply(context, "", 200, html)


def sign_in(context: Context, login: SignInInput) -> Reply:
    """Sign in, and begin a session. A client with the token of the sandbox, and no cookie, needs no password."""
    state, action = context.state, context.action
    credentials = context.credentials
    has_token = not login.password and not login.cookie
    if credentials is not None and not (has_token or SESSIONS.accepts_login(credentials, login.user, login.password)):
        problem = {"field": "username", "text": WRONG_SIGN_IN}
        action.emit(SubmitRefused(session=API_SESSION, page=SignInView.page, problems=(problem,)))
        return redirect(f"{SIGN_IN}?problem=login")
    number, user = len(state.sessions) + 1, state.config.user
    status = find_first_status(state.config)
    if status == "needs_password" and credentials is not None and credentials.password is not None:
        status = "active"
    action.emit(SignedIn(session=number, user=user.username, status=status))
    if status == "needs_code":
        send_code(Desk(state, action, user, number))
    cookie = SESSIONS.open(context, str(number))
    is_path = login.next.startswith("/") and not login.next.startswith("//")
    target = STATUS_PATHS.get(status) or (login.next if is_path else "/")
    return replace(redirect(target), media=HTML, headers={**redirect(target).headers, "Set-Cookie": cookie})


def parse_sign_in(call: HttpCall, context: OperationContext[object]) -> SignInInput:
    """Read the sign-in form."""
    request = parse_page(call, context)
    fields = request.fields
    return SignInInput(
        user=fields.get("username", ""),
        password=fields.get("password", ""),
        next=fields.get("next", ""),
        cookie=request.cookie,
    )


def send_code(desk: Desk) -> None:
    """Send a one-time code to the user."""
    user, is_email = desk.user, desk.state.config.friction.one_time_code == "email"
    drawn = int(desk.action.ids.new("code").rpartition("_")[2], 16)
    desk.action.emit(
        CodeSent(
            session=desk.session,
            channel="email" if is_email else "text",
            to=user.email if is_email else user.phone,
            code=f"{drawn % 10**_CODE_DIGITS:0{_CODE_DIGITS}}",
        )
    )


def sign_out(desk: Desk, request: PageRequest) -> Redirect:
    """Sign out."""
    desk.action.emit(PortalSessionEnded(session=desk.session, reason="signed_out"))
    return Redirect(f"{SIGN_IN}?reason=signed_out")


def show_code(desk: Desk, request: PageRequest) -> Shown:
    """Ask for the one-time code."""
    user, is_email = desk.user, desk.state.config.friction.one_time_code == "email"
    sent_to = _mask_email(user.email) if is_email else f"the phone number ending in {user.phone[-4:]}"
    return Shown(CodeView(title="Enter your code", sent_to=sent_to))


def _mask_email(address: str) -> str:
    name, _, host = address.partition("@")
    return f"{name[:1]}***@{host}"


def enter_code(desk: Desk, request: PageRequest) -> Redirect:
    """Check the one-time code."""
    session = desk.state.sessions[desk.session]
    typed = "".join(character for character in request.fields.get("code", "") if character.isdigit())
    is_right = typed == session.code
    status = find_status_after_code(desk.state.config, is_changed=False) if is_right else "needs_code"
    if not is_right and session.wrong_codes + 1 >= MAX_WRONG_CODES:
        desk.action.emit(CodeEntered(session=desk.session, accepted=False, status="ended"))
        return Redirect(f"{SIGN_IN}?reason=codes")
    desk.action.emit(CodeEntered(session=desk.session, accepted=is_right, status=status))
    if not is_right:
        raise refuse_field("code", "The code is wrong. Check it, or send a new one.")
    return Redirect(STATUS_PATHS.get(status, "/"))


def resend_code(desk: Desk, request: PageRequest) -> Redirect:
    """Send a new one-time code."""
    send_code(desk)
    return Redirect("/sign-in/code", "code_sent")


def show_password(desk: Desk, request: PageRequest) -> Shown:
    """Ask for a new password."""
    return Shown(PasswordView(title="Your password has expired", rules=PASSWORD_RULES))


def change_password(desk: Desk, request: PageRequest) -> Redirect:
    """Set a new password."""
    password = request.fields.get("new_password", "")
    problems = list(list_password_problems(desk, password, request.fields.get("repeat_password", "")))
    if problems:
        raise InvalidForm(problems)
    if desk.credentials is not None:
        desk.credentials.password = password
    desk.action.emit(PasswordChanged(session=desk.session, status="active"))
    return Redirect("/", "password_changed")


def list_password_problems(desk: Desk, password: str, repeated: str) -> Iterator[FieldMistake]:
    """Yield what is wrong with a new password."""
    is_long = len(password) >= 12
    has_both = any(each.isalpha() for each in password) and any(each.isdigit() for each in password)
    if not is_long or not has_both or desk.user.username in password:
        yield FieldMistake("new_password", f"The new password must have {', '.join(PASSWORD_RULES)}.")
    if password != repeated:
        yield FieldMistake("repeat_password", "The two passwords are not the same.")


def show_human_check(desk: Desk, request: PageRequest) -> Shown:
    """Show the check that only a person may do."""
    digest = hashlib.blake2b(f"{desk.session}/{desk.action.now.isoformat()}".encode(), digest_size=6).digest()
    letters = [_LETTERS[byte % len(_LETTERS)] for byte in digest]
    return Shown(
        HumanCheckView(
            title="Verify that you are a person",
            picture=draw_letters(letters),
            contact="If you are a program, stop here and let a person of your office go on.",
        )
    )


def draw_letters(letters: list[str]) -> str:
    """Return a picture of distorted letters, as SVG."""
    shapes = [
        f'<text x="{20 + 34 * place}" y="{46 + 7 * (place % 3)}" '
        f'transform="rotate({(place * 37) % 50 - 25} {20 + 34 * place} 40)">{letter}</text>'
        for place, letter in enumerate(letters)
    ]
    lines = "".join(
        f'<path d="M0 {12 + 11 * n} Q60 {50 - 9 * n} 120 {20 + 8 * n} T240 {15 + 10 * n}"/>' for n in range(5)
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 240 70" width="240" height="70" role="img" '
        'aria-label="A picture with distorted letters"><g font-family="monospace" font-size="34" fill="currentColor">'
        f'{"".join(shapes)}</g><g fill="none" stroke="currentColor" stroke-width="1.5">{lines}</g></svg>'
    )


def attempt_human_check(desk: Desk, request: PageRequest) -> Redirect:
    """Refuse the check, which a program cannot pass."""
    desk.action.emit(HumanCheckFailed(session=desk.session, letters=request.fields.get("letters", "")[:40]))
    raise refuse_field("letters", "We could not verify that you are a person.")


SIGN_IN_ROUTES = (
    Route(
        "GET",
        SIGN_IN,
        Operation(show_sign_in, access="open", tool=False),
        parse=parse_page,
        refuse=refuse_page,
        free_query="fields",
    ),
    Route(
        "POST",
        SIGN_IN,
        Operation(sign_in, access="login", tool=False, logs_body=False),
        parse=parse_sign_in,
        refuse=refuse_page,
    ),
)
PAGES = (
    SitePage("POST", "/sign-out", sign_out, status=""),
    SitePage("GET", "/sign-in/code", show_code, status="needs_code"),
    SitePage("POST", "/sign-in/code", enter_code, status="needs_code", show=show_code),
    SitePage("POST", "/sign-in/code/resend", resend_code, status="needs_code"),
    SitePage("GET", "/sign-in/password", show_password, status="needs_password"),
    SitePage(
        "POST", "/sign-in/password", change_password, status="needs_password", show=show_password, logs_body=False
    ),
    SitePage("GET", "/verify", show_human_check, status="needs_check"),
    SitePage("POST", "/verify", attempt_human_check, status="needs_check", show=show_human_check),
)
