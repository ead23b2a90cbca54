"""The errors of a client.

ClerkshipError
├── ServerUnreachable          no answer arrived
└── ServerProblem              the server refused the request; one class for each code
    ├── BadRequestError
    │   └── InvalidContentError
    ├── UnauthorizedError, ForbiddenError, NotFoundError, MethodNotAllowedError, RequestTimeoutError
    ├── ConflictError, PreconditionFailedError
    ├── PayloadTooLargeError, UnsupportedMediaTypeError
    └── RateLimitedError, InternalServerError, UnavailableError
"""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import ValidationError

from clerkship.model.errors import ClerkshipError
from clerkship.model.server_objects import InvalidField, Problem

MAX_EXCERPT = 300


class ServerUnreachable(ClerkshipError):
    """No answer arrived. The request may have been carried out, unless the connection was refused."""

    def __init__(self, url: str, reason: str, *, is_refused: bool = False) -> None:
        advice = "is the server running, and is this its address?" if is_refused else "send it again, or look first"
        super().__init__(f"no answer from {url}: {reason}; {advice}")


class ServerProblem(ClerkshipError):
    """The server refused a request."""

    code: ClassVar[str] = ""

    def __init__(self, problem: Problem) -> None:
        self.status = problem.status
        self.detail = problem.detail
        self.request_id = problem.request_id
        """With it, those who run the server find the request in their log."""
        self.errors: list[InvalidField] = problem.errors
        super().__init__(problem.detail if problem.status < 500 else f"{problem.detail} ({problem.request_id})")

    def __init_subclass__(cls, *, code: str) -> None:
        cls.code = code


class BadRequestError(ServerProblem, code="BAD_REQUEST"):
    """The request is invalid."""


class InvalidContentError(BadRequestError, code="VALIDATION_ERROR"):
    """The content of the request is invalid; `errors` has the mistakes by field."""


class UnauthorizedError(ServerProblem, code="UNAUTHORIZED"):
    """The key is missing, unknown, revoked or expired."""


class ForbiddenError(ServerProblem, code="FORBIDDEN"):
    """The key does not allow this."""


class NotFoundError(ServerProblem, code="NOT_FOUND"):
    """There is no such object, or the key may not see it."""


class MethodNotAllowedError(ServerProblem, code="METHOD_NOT_ALLOWED"):
    """The address has no such method: the server is of another version."""


class RequestTimeoutError(ServerProblem, code="REQUEST_TIMEOUT"):
    """The request took too long to arrive."""


class ConflictError(ServerProblem, code="CONFLICT"):
    """The request does not fit the state of the object, such as a task run that has ended."""


class PreconditionFailedError(ServerProblem, code="PRECONDITION_FAILED"):
    """The object was changed meanwhile."""


class PayloadTooLargeError(ServerProblem, code="PAYLOAD_TOO_LARGE"):
    """The body is too large."""


class UnsupportedMediaTypeError(ServerProblem, code="UNSUPPORTED_MEDIA_TYPE"):
    """The body has another content type than expected."""


class RateLimitedError(ServerProblem, code="RATE_LIMITED"):
    """There are too many requests, or too many trials are under way."""


class InternalServerError(ServerProblem, code="INTERNAL_ERROR"):
    """The server failed."""


class UnavailableError(ServerProblem, code="UNAVAILABLE"):
    """The server cannot work now."""


_KINDS = (
    *(BadRequestError, InvalidContentError, UnauthorizedError, ForbiddenError, NotFoundError, MethodNotAllowedError),
    *(RequestTimeoutError, ConflictError, PreconditionFailedError, PayloadTooLargeError, UnsupportedMediaTypeError),
    *(RateLimitedError, InternalServerError, UnavailableError),
)
PROBLEM_CLASSES: Mapping[str, type[ServerProblem]] = {kind.code: kind for kind in _KINDS}
"""The class of each code."""


def parse_problem(status: int, body: bytes) -> ServerProblem:
    """Return the error for an answer that is no success; a proxy may have sent another form."""
    try:
        problem = Problem.model_validate_json(body, extra="ignore")
    except ValidationError:
        text = f"status {status}: {body[:MAX_EXCERPT].decode(errors='replace').strip()}"
        problem = Problem(type="about:blank", title="", status=status, detail=text, code="", request_id="", errors=[])
    default = UnavailableError if status in (502, 503, 504) else InternalServerError if status >= 500 else None
    return PROBLEM_CLASSES.get(problem.code, default or BadRequestError)(problem)
