"""The HTTP routes of the Sinch API."""

from typing import Any

from pydantic import ValidationError

from clerkship.sandbox.request import Refusal, Reply, Request, json_reply
from clerkship.sandbox.route import HttpCall, Route, describe_first_error
from clerkship.simulators.fax.operations import Context
from clerkship.simulators.fax.sinch import operations as ops
from clerkship.simulators.fax.sinch.request import (
    NewSinchFax,
    parse_callback_type,
    parse_new_fax,
    parse_object,
    refuse_argument,
)
from clerkship.simulators.fax.sinch.resources import DOCUMENT_CONVERSION_ERROR

PROJECT = "/v3/projects/{project}"
FAXES, SERVICES = f"{PROJECT}/faxes", f"{PROJECT}/services"
_UPDATED = ("incomingWebhookUrl", "webhookContentType")
_FILE_MEDIA = {"pdf": "application/pdf"}
_FILTER_FIELDS = {
    "to": "to",
    "from": "sender",
    "createTime": "created",
    "createTime>": "created_after",
    "createTime<": "created_before",
    "serviceId": "service",
}
"""Text parameter of a list -> field of SinchFaxFilter."""
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


def parse_fax(call: HttpCall, context: Context) -> NewSinchFax:
    """Parse a fax to send."""
    return parse_new_fax(call.params["project"], call.request)


def parse_fax_filter(call: HttpCall, context: Context) -> ops.SinchFaxFilter:
    """Parse which faxes to list. The SDK does not percent-encode numbers, so a space is a plus sign."""
    query = call.request.query
    values: dict[str, Any] = {"project": call.params["project"]}
    for name, field in _FILTER_FIELDS.items():
        if query.get(name):
            values[field] = query[name].replace(" ", "+")
    if query.get("direction"):
        values["direction"] = query["direction"].lower()
    if query.get("status"):
        values["status"] = query["status"].upper()
    for name, field in {"page": "page", "pageSize": "page_size"}.items():
        if query.get(name):
            values[field] = _read_count(name, query[name])
    try:
        return ops.SinchFaxFilter.model_validate(values)
    except ValidationError as error:
        raise Refusal(400, "invalid_argument", describe_first_error(error)) from None


def _read_count(name: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 9):
        raise refuse_argument(name, f"expected a whole number, not {text[:20]!r}")
    return int(text)


def parse_service_update(call: HttpCall, context: Context) -> ops.SinchServiceUpdate:
    """Parse where the agent is called for faxes that arrive."""
    values = parse_object(call.body)
    url = values.get("incomingWebhookUrl")
    if url is not None and not isinstance(url, str):
        raise refuse_argument("incomingWebhookUrl", "expected a URL, or an empty text")
    callback_type = None
    if "webhookContentType" in values:
        callback_type = parse_callback_type("webhookContentType", values["webhookContentType"])
    return ops.SinchServiceUpdate(
        project=call.params["project"],
        service=call.params["service"],
        url=url,
        callback_type=callback_type,
        other_fields=tuple(name for name in values if name not in _UPDATED),
    )


def parse_resource(call: HttpCall, context: Context) -> ops.SinchResource:
    """Return the method and the path of a resource that is not simulated."""
    return ops.SinchResource(path=f"{call.request.method} {call.request.path}")


def parse_project(call: HttpCall, context: Context) -> ops.SinchProject:
    """Return the project; a list of services has one page."""
    return ops.SinchProject(project=call.params["project"])


def parse_service(call: HttpCall, context: Context) -> ops.SinchService:
    """Return the service; a list of its numbers has one page."""
    return ops.SinchService(project=call.params["project"], service=call.params["service"])


def render_file(call: HttpCall, context: Context, data: bytes) -> Reply:
    """Write a file with its name."""
    format = call.params["format"]
    name = f"{call.params['id']}.{format}"
    return Reply(
        200,
        data,
        _FILE_MEDIA.get(format, "image/tiff"),
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def _is_heavy(request: Request) -> bool:
    """Return True: documents are converted."""
    return True


def _route(method: str, path: str, operation: Any, **options: Any) -> Route:
    return Route(method, path, operation, refuse=refuse_as_sinch, **options)


SINCH_ROUTES = (
    Route("POST", ops.ACCESS_TOKENS.token_path, ops.issue_fax_token, **ops.ACCESS_TOKENS.route_options),
    _route("POST", FAXES, ops.create_sinch_fax, parse=parse_fax, is_heavy=_is_heavy),
    _route("GET", FAXES, ops.list_sinch_faxes, parse=parse_fax_filter),
    _route("GET", f"{FAXES}/{{id}}", ops.fetch_sinch_fax),
    _route("GET", f"{FAXES}/{{id}}/file.{{format}}", ops.download_sinch_file, render=render_file, is_heavy=_is_heavy),
    _route("DELETE", f"{FAXES}/{{id}}/file", ops.delete_sinch_file, status=204),
    _route("GET", SERVICES, ops.list_sinch_services, parse=parse_project),
    _route("GET", f"{SERVICES}/{{service}}", ops.fetch_sinch_service),
    _route("PATCH", f"{SERVICES}/{{service}}", ops.update_sinch_service, parse=parse_service_update),
    _route("GET", f"{SERVICES}/{{service}}/numbers", ops.list_sinch_numbers, parse=parse_service),
    _route("GET", f"{SERVICES}/{{service}}/coverPages", ops.list_sinch_cover_pages, parse=parse_service),
    _route("GET", f"{SERVICES}/{{service}}/coverPages/{{cover}}", ops.fetch_sinch_cover_page),
    *(
        _route(method, "/v3/{path*}", refusing, parse=parse_resource)
        for method, refusing in ops.REFUSING_OPERATIONS.items()
    ),
)
"""The first route that matches a path and a method counts, so those that refuse come last."""
