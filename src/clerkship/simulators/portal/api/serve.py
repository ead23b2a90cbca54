"""Serve the operations of the REST API: check rights, run the operation, and log what was shown or refused.

The events are those of the pages, with session 0: a read is `portal.page.viewed` with the page that shows the same, and
a refused write is `portal.submit.refused`. They have no HTML.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, Generic, NamedTuple, TypeVar

from clerkship.sandbox.operation import Operation, OperationContext
from clerkship.sandbox.request import Refusal, Reply
from clerkship.sandbox.route import NO_CONTENT, Route, to_reply
from clerkship.simulators.portal.api.results import ApiError, ApiErrorDetail
from clerkship.simulators.portal.config import PortalRight
from clerkship.simulators.portal.desk import (
    CONFLICT,
    FORBIDDEN,
    INVALID,
    NOT_FOUND,
    Desk,
    DeskRefusal,
    InvalidForm,
)
from clerkship.simulators.portal.events import PageViewed, SubmitRefused
from clerkship.simulators.portal.session import API_PATH
from clerkship.simulators.portal.state import API_SESSION
from clerkship.simulators.portal.views import FieldMistake

CREATED = 201
CLOSED = "The REST API of this payer portal is closed. Use its pages."
_CODES = {NOT_FOUND: "not_found", FORBIDDEN: "forbidden", CONFLICT: "conflict", INVALID: "invalid_input"}
ResultT = TypeVar("ResultT")


class ApiAnswer(NamedTuple, Generic[ResultT]):
    """The result of an operation, and what the log says that it shows."""

    data: ResultT
    page: str = ""
    """The page that shows the same; empty if another event says what was done."""
    records: tuple[str, ...] = ()
    values: Mapping[str, Any] = {}


RunApi = Callable[[Desk, Any], Any]
"""Returns an ApiAnswer, or a Reply for a file."""


def build_api_route(
    method: str,
    path: str,
    run: RunApi,
    right: PortalRight | None = "authorizations",
    *,
    essential: bool = False,
    **options: Any,
) -> Route:
    """Return the route of an operation."""
    status = options.get("status", 200)

    @wraps(run)
    def serve(context: OperationContext[Any], input: Any) -> Reply:
        desk = Desk(context.state, context.action, context.state.config.user, API_SESSION, context.credentials)
        try:
            require_open(desk)
            if right is not None:
                desk.require(right)
            answer = run(desk, input)
        except DeskRefusal as refusal:
            return _refuse(desk, method, run.__name__, refusal)
        if isinstance(answer, Reply):
            return answer
        if answer.page:
            emit_view(desk, answer.page, run.__name__, answer.records, answer.values)
        return to_reply(NO_CONTENT if answer.data is None else status, answer.data)

    return Route(method, f"{API_PATH}{path}", Operation(serve, essential=essential), refuse=refuse_api, **options)


def require_open(desk: Desk) -> None:
    """Refuse all requests if the environment closes the API."""
    if not desk.state.config.api:
        raise DeskRefusal(NOT_FOUND, CLOSED)


def emit_view(desk: Desk, page: str, title: str, records: tuple[str, ...], values: Mapping[str, Any]) -> None:
    """Log what a client of the API was shown."""
    desk.action.emit(PageViewed(session=desk.session, page=page, title=title, records=records, shown=dict(values)))


def _refuse(desk: Desk, method: str, name: str, refusal: DeskRefusal) -> Reply:
    """Log a refusal as the pages do, and answer with it."""
    is_form = isinstance(refusal, InvalidForm)
    problems = refusal.problems if isinstance(refusal, InvalidForm) else (FieldMistake("", refusal.text),)
    reason = refusal.reason if isinstance(refusal, InvalidForm) else ""
    if method == "GET":
        emit_view(desk, "message", name, (), {"status": refusal.status, "text": refusal.text})
    else:
        listed = tuple({"field": each.field, "text": each.text} for each in problems)
        desk.action.emit(SubmitRefused(session=desk.session, page=name, action="api", problems=listed, reason=reason))
    message = " ".join(filter(None, (refusal.text, refusal.what_to_do)))
    return build_error(refusal.status, _CODES[refusal.status], message, problems if is_form else (), reason)


def refuse_api(refusal: Refusal) -> Reply:
    """Answer a request that did not reach its operation."""
    field, separator, text = refusal.reason.partition(": ")
    is_field = refusal.code == "invalid_input" and bool(separator)
    problems = [FieldMistake(field, text)] if is_field else []
    return build_error(refusal.status, refusal.code, refusal.reason, problems)


def build_error(status: int, code: str, message: str, problems: Sequence[FieldMistake] = (), reason: str = "") -> Reply:
    """Return a refusal as JSON."""
    detail = ApiErrorDetail(code=code, message=message, problems=tuple(problems), reason=reason)
    return to_reply(status, ApiError(error=detail))
