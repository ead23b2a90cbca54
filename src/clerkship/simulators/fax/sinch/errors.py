"""Refusals in the form of Sinch's Fax API: the HTTP status, its name, a message, and the reason as a detail."""

from clerkship.sandbox.request import Refusal, Reply, json_reply
from clerkship.simulators.fax.sinch.resources import DOCUMENT_CONVERSION_ERROR

STATUS_NAMES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    405: "UNIMPLEMENTED",
    409: "FAILED_PRECONDITION",
    413: "INVALID_ARGUMENT",
    415: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
}
"""HTTP status -> its name in the body."""
DOCUMENT_ERRORS = {
    "unknown_format": 129,
    "corrupt": 133,
    "encrypted": 133,
    "no_pages": 133,
    "too_many_pages": 4,
    "too_large": 4,
    "too_slow": 4,
    "url_not_fetched": 54,
}
"""Code of a refused document -> the error code of Sinch for its conversion."""


def refuse_as_sinch(refusal: Refusal) -> Reply:
    """Write a refusal as Sinch does. It has no status 422: input that is not valid is a 400."""
    status = 400 if refusal.status == 422 else refusal.status
    detail: dict[str, str | int] = {"reason": refusal.code}
    if refusal.code in DOCUMENT_ERRORS:
        detail |= {"errorType": DOCUMENT_CONVERSION_ERROR, "errorCode": DOCUMENT_ERRORS[refusal.code]}
    error = {
        "code": status,
        "message": refusal.reason,
        "status": STATUS_NAMES.get(status, "INTERNAL" if status >= 500 else "INVALID_ARGUMENT"),
        "details": [detail],
    }
    return json_reply(status, {"error": error})
