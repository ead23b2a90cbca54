"""Serve the pages: find the session, check rights and tokens, run the page, render it, and log what was sent."""

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from html import escape
from typing import Annotated, Any, NamedTuple
from urllib.parse import parse_qsl, quote, urlsplit

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from clerkship.model.frozen import Frozen
from clerkship.sandbox.operation import Operation, OperationContext
from clerkship.sandbox.request import Refusal, Reply, redirect
from clerkship.sandbox.route import HttpCall, Route
from clerkship.simulators.portal.config import PortalRight
from clerkship.simulators.portal.desk import CONFLICT, FORBIDDEN, NOT_FOUND, Desk, DeskRefusal, InvalidForm
from clerkship.simulators.portal.downloads import list_letters
from clerkship.simulators.portal.events import ErrorShown, PageViewed, SubmitRefused
from clerkship.simulators.portal.records import UserSession
from clerkship.simulators.portal.rendering import HTML, complete_page, render_page
from clerkship.simulators.portal.session import (
    SESSIONS,
    SIGN_IN,
    STATUS_PATHS,
    Context,
    build_csrf_token,
    end_if_idle,
    find_session,
    is_csrf_token,
)
from clerkship.simulators.portal.views import FieldChoice, FieldMistake, MessageView, PageFrame, View
from clerkship.transports.multipart import FORM, parse_form

MAX_FIELDS = 500
BAD_REQUEST, TOO_LARGE, ERROR = 400, 413, 500
_SECURITY_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'; form-action 'self'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}
_KINDS = {NOT_FOUND: "not_found", FORBIDDEN: "forbidden", CONFLICT: "conflict", ERROR: "error"}
_TITLES = {
    "not_found": "Page not found",
    "forbidden": "No access",
    "conflict": "This is not possible",
    "error": "Something went wrong",
}
NOTICES = {
    "draft_saved": "The draft was saved.",
    "draft_deleted": "The draft was deleted.",
    "replied": "Your reply was sent to the payer.",
    "changed": "The request was changed.",
    "withdrawn": "The request was withdrawn.",
    "appealed": "Your appeal was filed.",
    "code_sent": "A new code was sent.",
    "password_changed": "Your password was changed.",
}


_UNREAD = {
    BAD_REQUEST: ("The form could not be read.", "Go back, open the page again, and repeat what you did."),
    TOO_LARGE: ("What you sent is too large.", "Go back, shorten what you typed, or upload fewer and smaller files."),
}
"""What is said, and what to do, about a request that was refused before it reached a page."""

_PLAIN_STYLE = (
    "body{margin:0;background:#f2f3f6;color:#1d2433;font:16px/1.5 sans-serif}"
    "main{max-width:34rem;margin:12vh auto;padding:1.5rem 2rem;background:#fff;border-top:4px solid #5a6478}"
    "h1{margin:.2em 0;font-size:1.4rem}"
)
"""The style of a page about such a request. It has no layout, because it is not known which site was asked."""
_PLAIN_HEADERS = {
    **_SECURITY_HEADERS,
    "Content-Security-Policy": f"{_SECURITY_HEADERS['Content-Security-Policy']}; style-src 'sha256-"
    f"{b64encode(sha256(_PLAIN_STYLE.encode()).digest()).decode()}'",
}


class UploadedFile(Frozen):
    """A file of a form."""

    name: str
    data: bytes


class PageRequest(Frozen):
    """A request for a page, or a form that was sent. What is not a field of a form or search is not in the schema."""

    id: SkipJsonSchema[str] = ""
    """The record in the path."""
    step: SkipJsonSchema[str] = ""
    version: SkipJsonSchema[str] = ""
    path: SkipJsonSchema[str] = ""
    method: SkipJsonSchema[str] = "GET"
    fields: Annotated[dict[str, str], Field(description="fields of a search, if the page has one")] = {}
    """The fields of the form or the query. Of several with one name, the last counts."""
    files: SkipJsonSchema[tuple[UploadedFile, ...]] = ()
    cookie: SkipJsonSchema[str] = ""
    """The id of the session; empty if the client has no cookie."""

    @property
    def action(self) -> str:
        """The button that sent the form."""
        return self.fields.get("action", "")


class Redirect(NamedTuple):
    """Another page comes next."""

    path: str
    done: str = ""
    """What was done, which the next page says: a key of NOTICES."""


class Shown(NamedTuple):
    """A page, and what the log says that it shows."""

    view: View
    records: tuple[str, ...] = ()
    values: Mapping[str, Any] = {}


class ErrorPage(Exception):
    """Raised to answer with an error page, as a portal that fails does."""

    def __init__(self, *, is_filed: bool) -> None:
        super().__init__("the portal fails")
        self.is_filed = is_filed


RunPage = Callable[[Desk, PageRequest], Shown | Redirect | Reply]


@dataclass(frozen=True)
class SitePage:
    """A page or the target of a form: a path with what answers it."""

    method: str
    path: str
    run: RunPage
    current: str = ""
    """The navigation item."""
    right: PortalRight | None = None
    show: RunPage | None = None
    """Of a form: shows it again, with what is wrong in it."""
    status: str = "active"
    """The status of the session in which it is used; empty for any that has not ended."""
    max_body: int = 1_000_000
    logs_body: bool = True
    name: str = ""

    @property
    def operation_name(self) -> str:
        return self.name or getattr(self.run, "__name__", "")


def build_route(page: SitePage) -> Route:
    """Return the route of a page."""

    def serve(context: OperationContext[Any], request: PageRequest) -> Reply:
        return serve_page(page, context, request)

    serve.__doc__ = page.run.__doc__
    operation = Operation(serve, name=page.operation_name, tool=False, logs_body=page.logs_body)
    return Route(
        page.method,
        page.path,
        operation,
        parse=parse_page,
        refuse=refuse_page,
        free_query="fields" if page.method == "GET" else "",
        media=FORM if page.method == "POST" else "",
        max_body=page.max_body,
        is_heavy=(lambda request: len(request.body) > 50_000) if page.method == "POST" else None,
    )


def parse_page(call: HttpCall, context: OperationContext[Any]) -> PageRequest:
    """Read the path, the query or form, and the session of a request."""
    request = call.request
    fields: dict[str, str] = dict(request.query)
    files: list[UploadedFile] = []
    if request.method == "POST":
        media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media == FORM:
            for part in parse_form(request):
                if part.filename is None:
                    fields[part.name] = part.text
                elif part.filename or part.data:
                    files.append(UploadedFile(name=part.filename, data=part.data))
        elif request.body:
            fields |= _parse_urlencoded(request.body)
    return PageRequest(
        **{name: value for name, value in call.params.items() if name != "path"},
        path=request.path,
        method=request.method,
        fields=fields,
        files=tuple(files),
        cookie=SESSIONS.get_session_id(request),
    )


def _parse_urlencoded(body: bytes) -> dict[str, str]:
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict"))
    except ValueError:
        raise Refusal(BAD_REQUEST, "bad_form", "The form could not be read. Open the page again.") from None


def refuse_page(refusal: Refusal) -> Reply:
    """Answer a request that did not reach a page: who is not signed in goes to the sign-in page."""
    if refusal.status == 401:
        problem = "?problem=login" if refusal.reason == "the user or the password is wrong" else ""
        return replace(redirect(f"{SIGN_IN}{problem}"), media=HTML)
    text, advice = _UNREAD.get(refusal.status, (escape(refusal.reason), "Open the start page."))
    if refusal.status >= ERROR:
        text, advice = "The site is not available at the moment.", "Try again in a few minutes."
    head = f'<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>{text}</title>'
    html = f"{head}<style>{_PLAIN_STYLE}</style><main><h1>{text}</h1><p>Nothing was changed. {advice}</p></main></html>"
    return Reply(refusal.status, html.encode(), HTML, _PLAIN_HEADERS)


def serve_page(page: SitePage, context: Context, request: PageRequest) -> Reply:
    """Answer a request for a page, or a form that was sent."""
    session = find_session(context, request.cookie)
    session = None if session is None else end_if_idle(context, session)
    if session is None:
        return _redirect_to_sign_in(request, was_idle=False)
    visit = PageVisit(page, context, request, session)
    if session.status == "ended":
        if request.method == "POST":
            visit.log_refusal(page.operation_name, [FieldMistake("", "The session had ended before the form came.")])
        return _redirect_to_sign_in(request, was_idle=session.end == "idle")
    if page.status and session.status != page.status:
        if request.method == "POST":
            visit.log_refusal(page.operation_name, [FieldMistake("", "This form cannot be sent now.")])
        return redirect(STATUS_PATHS.get(session.status, "/"))
    try:
        if request.method == "POST" and not is_csrf_token(request.fields.get("csrf", ""), request.cookie):
            text = "This form is out of date, or was not opened in this session. Nothing was changed."
            raise DeskRefusal(FORBIDDEN, text, "Open the page again and repeat what you did.")
        if page.right is not None:
            visit.desk.require(page.right)
        result = page.run(visit.desk, request)
    except InvalidForm as refusal:
        return visit.refuse_form(refusal)
    except DeskRefusal as refusal:
        return visit.refuse(refusal)
    except ErrorPage as error:
        return visit.show_error(error)
    if isinstance(result, Shown):
        return visit.send(result)
    if isinstance(result, Redirect):
        separator = "&" if "?" in result.path else "?"
        return redirect(f"{result.path}{separator}done={result.done}" if result.done else result.path)
    return replace(result, headers={**_SECURITY_HEADERS, **result.headers})


def _redirect_to_sign_in(request: PageRequest, *, was_idle: bool) -> Reply:
    """Send a user without a session to the sign-in page, which leads back to a page that was asked for."""
    reason = "ended" if was_idle else "first"
    if request.method == "POST":
        return redirect(f"{SIGN_IN}?reason={reason}_unsaved" if was_idle else SIGN_IN)
    return redirect(f"{SIGN_IN}?reason={reason}&next={quote(request.path)}")


def list_ways_on(desk: Desk) -> list[FieldChoice]:
    """Return the pages that lead on after a refusal: those that the user may open."""
    has_right = "authorizations" in desk.user.rights
    lists = [FieldChoice("/requests", "Authorization requests"), FieldChoice("/drafts", "Drafts")] if has_right else []
    return [*lists, FieldChoice("/", "Start page")]


def build_frame(desk: Desk, current: str = "", done: str = "", *, is_inside: bool = True) -> PageFrame:
    """Return what is around a page."""
    state, friction = desk.state, desk.state.config.friction
    is_hub = state.layout == "wizard"
    notice = NOTICES.get(done)
    return PageFrame(
        site_name=desk.site_name,
        layout=state.layout,
        version=state.version,
        payer_name="" if is_hub else desk.name_payer(desk.payer_ids[0]),
        user_name=desk.user.name if is_inside else "",
        organization=desk.organization,
        rights=desk.user.rights if is_inside else (),
        unread=sum(not each.is_read for each in list_letters(desk)) if is_inside else 0,
        maintenance=state.maintenance,
        now=desk.local_time(desk.action.now),
        idle_minutes=max(1, int(friction.session_length.total_seconds() // 60)),
        notices=(notice,) if notice else (),
        has_policies=bool(desk.records.book.policies),
        current=current,
    )


class PageVisit:
    """One request in a session: sends pages, and logs them."""

    def __init__(self, page: SitePage, context: Context, request: PageRequest, session: UserSession) -> None:
        self.page, self.context, self.request, self.session = page, context, request, session
        user = context.state.config.find_user(session.user)
        self.desk = Desk(context.state, context.action, user, session.number, context.credentials)

    def send(self, shown: Shown, status: int = 200) -> Reply:
        """Send a page."""
        html = self._render(shown.view)
        self.context.action.emit(
            PageViewed(
                session=self.session.number,
                page=shown.view.page,
                title=shown.view.title,
                records=shown.records,
                shown=dict(shown.values),
                html=html,
            )
        )
        return self._complete(status, html)

    def refuse_form(self, refusal: InvalidForm) -> Reply:
        """Show a form again, with what is wrong in it."""
        try:
            shown = self.page.show(self.desk, self.request) if self.page.show is not None else None
        except DeskRefusal as other:  # the form cannot be shown any more, as of a request that was withdrawn
            return self.refuse(other)
        if not isinstance(shown, Shown):
            return self.refuse(refusal)
        values = {**shown.view.values, **self.request.fields}
        view = replace(shown.view, values=values, problems=refusal.problems)
        html = self._render(view)
        self.log_refusal(view.page, refusal.problems, refusal.reason, html)
        return self._complete(refusal.status, html)

    def refuse(self, refusal: DeskRefusal) -> Reply:
        """Show a page that says why something is not done."""
        kind = _KINDS.get(refusal.status, "error")
        view = MessageView(
            title=_TITLES[kind],
            kind=kind,
            text=refusal.text,
            what_to_do=refusal.what_to_do,
            links=list_ways_on(self.desk),
        )
        if self.request.method == "GET":
            return self.send(Shown(view, values={"status": refusal.status, "text": refusal.text}), refusal.status)
        html = self._render(view)
        self.log_refusal(self.page.operation_name, [FieldMistake("", refusal.text)], "", html)
        return self._complete(refusal.status, html)

    def show_error(self, error: ErrorPage) -> Reply:
        """Answer with an error page."""
        number = self.context.action.ids.new("err")
        view = MessageView(
            title=_TITLES["error"],
            kind="error",
            text="We could not complete your request because of a technical problem.",
            what_to_do="Check whether your request was received before you send it again.",
            links=list_ways_on(self.desk),
            reference=number,
        )
        html = self._render(view)
        self.context.action.emit(
            ErrorShown(
                session=self.session.number,
                page=self.page.operation_name,
                is_filed=error.is_filed,
                number=number,
                html=html,
            )
        )
        return self._complete(ERROR, html)

    def log_refusal(self, page: str, problems: Sequence[FieldMistake], reason: str = "", html: bytes = b"") -> None:
        """Log that a form was refused."""
        self.context.action.emit(
            SubmitRefused(
                session=self.session.number,
                page=page,
                action=self.request.action,
                problems=tuple({"field": problem.field, "text": problem.text} for problem in problems),
                reason=reason,
                html=html,
            )
        )

    def _render(self, view: View) -> bytes:
        is_inside = self.page.status == "active"  # before that, no page of the menu can be opened
        done = self.request.fields.get("done", "")
        return render_page(build_frame(self.desk, self.page.current, done, is_inside=is_inside), view)

    def _complete(self, status: int, html: bytes) -> Reply:
        return complete_reply(self.context, self.request.cookie, status, html)


def complete_reply(context: Context, cookie: str, status: int, html: bytes) -> Reply:
    """Return a page as the client gets it."""
    path = urlsplit(context.base_url).path.rstrip("/")
    return Reply(status, complete_page(html, path, build_csrf_token(cookie)), HTML, _SECURITY_HEADERS)
