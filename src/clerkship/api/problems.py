"""Refused requests as problems: `application/problem+json` of RFC 9457, with a code and the mistakes by field."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match

from clerkship.actors.contract import AgentError
from clerkship.api.authorization import NotAuthenticated
from clerkship.model.errors import ClerkshipError, InputError, InputProblem
from clerkship.service.serving.live_runs import ServerBusy
from clerkship.service.serving.refusals import (
    ActionForbidden,
    ObjectNotFound,
    PreconditionNotMet,
    RequestConflict,
    RequestUnderWay,
)
from clerkship.store.contract import RunBusy, SealBroken, UnknownRun
from clerkship.suite_files.validation_message import describe_error

MEDIA_TYPE = "application/problem+json"
FAILURE_DETAIL = "the reason is in the log of the server, under the id of the request"
_LOG = logging.getLogger("clerkship.server")


class ProblemKind(NamedTuple):
    """A kind of problem: its status, its code and its title."""

    status: int
    code: str
    title: str


PROBLEMS = {
    kind.status: kind
    for kind in (
        ProblemKind(400, "BAD_REQUEST", "The request is invalid"),
        ProblemKind(401, "UNAUTHORIZED", "A valid key is needed"),
        ProblemKind(403, "FORBIDDEN", "The key does not allow this"),
        ProblemKind(404, "NOT_FOUND", "There is no such object"),
        ProblemKind(405, "METHOD_NOT_ALLOWED", "The address has no such method"),
        ProblemKind(408, "REQUEST_TIMEOUT", "The request took too long to arrive"),
        ProblemKind(409, "CONFLICT", "The request does not fit the state of the object"),
        ProblemKind(412, "PRECONDITION_FAILED", "The object was changed meanwhile"),
        ProblemKind(413, "PAYLOAD_TOO_LARGE", "The body is too large"),
        ProblemKind(415, "UNSUPPORTED_MEDIA_TYPE", "The body has another content type than expected"),
        ProblemKind(429, "RATE_LIMITED", "There are too many requests"),
        ProblemKind(500, "INTERNAL_ERROR", "The server failed"),
        ProblemKind(503, "UNAVAILABLE", "The server cannot work now"),
    )
}
VALIDATION = ProblemKind(400, "VALIDATION_ERROR", "The content of the request is invalid")
STATUS_OF: dict[type[Exception], int] = {
    NotAuthenticated: 401,
    ActionForbidden: 403,
    ObjectNotFound: 404,
    UnknownRun: 404,
    RequestConflict: 409,
    RunBusy: 409,
    SealBroken: 409,
    PreconditionNotMet: 412,
    AgentError: 400,
    ServerBusy: 429,
}
"""The status of each refusal; that of its nearest base class counts."""


class HttpRefusal(Exception):
    """A request that is refused because of its form."""

    def __init__(self, status: int, detail: str) -> None:
        self.status = status
        super().__init__(detail)


def render_problem(
    request: Request,
    kind: ProblemKind,
    detail: str,
    errors: Sequence[InputProblem] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return the answer to a refused request."""
    problem = {
        "type": "about:blank",
        "title": kind.title,
        "status": kind.status,
        "detail": detail,
        "code": kind.code,
        "request_id": request.scope.get("request_id", ""),
        "errors": [
            {"field": each.key, "message": each.message, "hint": each.hint, "place": each.location()} for each in errors
        ],
    }
    return Response(orjson.dumps(problem), kind.status, headers, MEDIA_TYPE)


def render_error(request: Request, error: Exception) -> Response:
    """Return the answer for an exception. Failures of the server are logged, not described."""
    if isinstance(error, InputError):
        return render_problem(request, VALIDATION, str(error), error.problems)
    if isinstance(error, RequestValidationError):
        problems = [_describe(each) for each in error.errors()]
        return render_problem(request, VALIDATION, "; ".join(map(str, problems)), problems)
    if isinstance(error, HTTPException):
        kind = PROBLEMS.get(error.status_code, PROBLEMS[500])
        headers = _list_methods(request) if kind.status == 405 else error.headers
        return render_problem(request, kind, f"{kind.title}: {request.url.path[:200]}", headers=headers)
    if isinstance(error, HttpRefusal):
        return render_problem(request, PROBLEMS[error.status], str(error))
    status = next((STATUS_OF[each] for each in type(error).__mro__ if each in STATUS_OF), None)
    if status is None:
        _LOG.error("request failed", exc_info=error, extra={"request_id": request.scope.get("request_id")})
        return render_problem(request, PROBLEMS[500], FAILURE_DETAIL)
    headers = {"www-authenticate": "Bearer"} if status == 401 else {}
    if isinstance(error, RequestUnderWay | ServerBusy):
        headers = {"retry-after": "1"}
    return render_problem(request, PROBLEMS[status], str(error), headers=headers)


def _list_methods(request: Request) -> dict[str, str]:
    """Return the header with all methods of an address, each of which has a route of its own."""
    routes = (route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE)
    return {"allow": ", ".join(sorted(method for route in routes for method in route.methods))}


def _describe(error: Mapping[str, Any]) -> InputProblem:
    """Return a mistake that pydantic found, in the words in which mistakes in files are described."""
    place, *keys = error["loc"]
    name = ".".join(map(str, keys)) or ("" if place == "body" else str(place))
    if error["type"] == "extra_forbidden":
        return InputProblem(key=name, message=f"unknown key `{str(keys[-1])[:60]}`")
    if error["type"] == "missing":
        return InputProblem(key=name, message=f"`{keys[-1]}` is missing" if keys else "the request has no body")
    message, hint = describe_error(error)
    return InputProblem(key=name, message=message, hint=hint)


async def _answer(request: Request, error: Exception) -> Response:
    return render_error(request, error)


def add_problem_handlers(app: FastAPI) -> None:
    """Answer every error that the server raises on purpose with a problem."""
    for kind in (ClerkshipError, AgentError, RequestValidationError, HTTPException, HttpRefusal, NotAuthenticated):
        app.add_exception_handler(kind, _answer)
