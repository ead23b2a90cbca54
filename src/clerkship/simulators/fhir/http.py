"""FHIR over HTTP (R4 http): parse requests into the inputs of interactions, and render their responses.

Bundle entries are parsed by the same functions: see `FhirRequest`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache, partial
from typing import Any, TypeVar, cast
from urllib.parse import parse_qsl

from clerkship.formats.fhir import exact
from clerkship.formats.fhir.issue import Issue, build_operation_outcome
from clerkship.formats.fhir.resource import list_objects, render_resource
from clerkship.formats.fhir.search import Handling
from clerkship.model.frozen import Frozen
from clerkship.sandbox.operation import OperationContext
from clerkship.sandbox.request import Reply
from clerkship.sandbox.route import HttpCall, Route
from clerkship.simulators.fhir.body import (
    MAX_BUNDLE_ELEMENTS,
    MAX_RESOURCE_ELEMENTS,
    ServerAddress,
    get_server_address,
    parse_json,
    parse_resource,
)
from clerkship.simulators.fhir.everything import EverythingInput
from clerkship.simulators.fhir.inputs import QueryPairs, ReturnPreference, query_names
from clerkship.simulators.fhir.outcome import FHIR_JSON, FORM, JSON_PATCH, refusal
from clerkship.simulators.fhir.state import FhirState, ResourceVersion, Tags, format_http_date, parse_instant
from clerkship.simulators.fhir.transaction import FhirResponse, Interaction
from clerkship.simulators.fhir.validate import InstanceValidation, ValidationInput
from clerkship.simulators.fhir.write import check_type, parse_condition

FrozenT = TypeVar("FrozenT", bound=Frozen)
Context = OperationContext[FhirState]
GENERAL_PARAMETERS = frozenset({"_format", "_pretty"})
"""Parameters that every request may have (R4 http: general parameters)."""
SUBSET_PARAMETERS = frozenset({"_summary", "_elements"})
_JSON_MEDIA_TYPES = frozenset({"json", FHIR_JSON, "application/json", "text/json", "application/json+fhir"})
_ANY_MEDIA_TYPE = frozenset({"*/*", "application/*", "*", ""})
_ETAG = re.compile(r'(?:W/)?"([A-Za-z0-9\-.]{1,64})"')
_RETURN_PREFERENCES = frozenset({"minimal", "representation", "OperationOutcome"})
_HANDLING_PREFERENCES = frozenset({"strict", "lenient"})


@dataclass(slots=True)
class FhirRequest:
    """A request for an interaction, received over HTTP or as a bundle entry."""

    params: Mapping[str, str]
    """The parameters in the path."""
    pairs: QueryPairs
    headers: Mapping[str, str]
    address: ServerAddress
    max_depth: int
    body: bytes = b""
    content: Any = None
    """The parsed body of a bundle entry; None for an HTTP request."""
    default_return: ReturnPreference = "representation"

    @property
    def returns(self) -> ReturnPreference:
        """What the response to a write contains (R4 http: Prefer)."""
        return find_return_preference(self.headers, self.default_return)

    @property
    def handling(self) -> Handling:
        """Which unknown parameters are ignored (R4 search: handling errors)."""
        handling = parse_preferences(self.headers.get("prefer", "")).get("handling")
        return cast(Handling, handling) if handling in _HANDLING_PREFERENCES else "default"

    @property
    def has_body(self) -> bool:
        return bool(self.body) or self.content is not None

    def check_parameters(self, known: frozenset[str] = GENERAL_PARAMETERS) -> None:
        """Refuse parameters that are not in `known`, unless the client asks for lenient handling."""
        if not self.pairs or self.handling == "lenient":
            return
        for name, _ in self.pairs:
            if name not in known:
                allowed = ", ".join(sorted(known))
                raise refusal(400, "not-supported", f"unknown parameter `{name[:80]}` (expected: {allowed})")

    def search_parameters(self) -> QueryPairs:
        """Return the parameters of a search or a condition."""
        return tuple([pair for pair in self.pairs if pair[0] not in GENERAL_PARAMETERS])

    def parse_body(self, max_elements: int | None = None) -> Any:
        """Return the resource in the body. By default, the limit of elements depends on the type in the path."""
        if self.content is not None:
            return self.content
        check_content_type(self.headers, FHIR_JSON)
        if max_elements is None:
            is_bundle = self.params.get("type") == "Bundle"
            max_elements = MAX_BUNDLE_ELEMENTS if is_bundle else MAX_RESOURCE_ELEMENTS
        return parse_resource(self.body, self.address.internal_url, self.max_depth, max_elements)

    def parse_patch(self) -> Any:
        """Return the JSON Patch in the body. The other patch formats of R4 (XML Patch, FHIRPath Patch) are refused."""
        if self.content is not None:
            return self.content
        check_content_type(self.headers, JSON_PATCH, FHIR_JSON)
        operations = parse_json(self.body, self.max_depth)
        if isinstance(operations, dict):
            reason = f"expected a JSON Patch, an array in {JSON_PATCH}; FHIRPath Patch is not supported"
            raise refusal(415, "not-supported", reason)
        return operations

    def parse_tags(self, header: str) -> Tags | None:
        """Return the version ids in a header; None if the header is absent."""
        text = self.headers.get(header)
        return _parse_tags(text) if text is not None else None


InputReader = Callable[[FhirRequest], Any]
"""A function that reads the input of an interaction from a request. It raises Refusal."""


class FhirRoute(Route):
    """A route with the function that reads the input of its interaction, from an HTTP request or a bundle entry."""

    def __init__(
        self,
        method: str,
        path: str,
        interaction: Interaction[Any],
        read: InputReader | None = None,
        *,
        in_bundle: bool = True,
        **options: Any,
    ) -> None:
        self.read = read or build_input_reader(interaction.input)
        options = {"parse": partial(parse_request, self.read), **options}
        super().__init__(method, path, interaction, render=render_response, **options)
        self.interaction = interaction
        self.in_bundle = in_bundle
        """Whether a bundle entry may use this route."""


def parse_request(read: InputReader, call: HttpCall, context: Context) -> Any:
    """Parse the input of an interaction from an HTTP request."""
    request, address = call.request, get_server_address(call.base)
    pairs = address.rewrite_pairs(request.pairs) if request.query else ()
    check_accepted_format(request.headers, request.query.get("_format") if pairs else None)
    body = address.rewrite_json(request.body) if request.body else b""
    return read(FhirRequest(call.params, pairs, request.headers, address, context.state.config.max_depth, body))


def render_response(call: HttpCall, context: Context, response: FhirResponse) -> Reply:
    """Render a response, with URLs as the client sees them."""
    request, address = call.request, get_server_address(call.base)
    reply = address.rewrite_reply(_build_reply(request.headers, address.internal_url, response))
    if request.method == "HEAD":
        return Reply(reply.status, b"", reply.media, reply.headers)
    if request.query and request.query.get("_pretty") == "true" and reply.body and reply.media == FHIR_JSON:
        return Reply(reply.status, exact.dumps_pretty(exact.loads(reply.body)), reply.media, reply.headers)
    return reply


def _build_reply(headers: Mapping[str, str], base: str, response: FhirResponse) -> Reply:
    version = response.version
    reply_headers = build_version_headers(version) if version is not None else {}
    if not response.key:
        body = render_message(response.message) if response.message else response.body
        return Reply(response.status, body, response.media, response.headers or reply_headers)
    assert version is not None
    reply_headers["Location"] = f"{base}/{response.key}/_history/{version.id}"
    returns = find_return_preference(headers, "representation")
    if returns == "representation":
        return Reply(response.status, version.data or b"", FHIR_JSON, reply_headers)
    message = f"{response.key} is at version {version.id}"
    return Reply(
        response.status, render_message(message) if returns == "OperationOutcome" else b"", FHIR_JSON, reply_headers
    )


def render_message(text: str) -> bytes:
    """Render an OperationOutcome with one informational issue."""
    return render_resource(build_operation_outcome([Issue("information", "informational", text)]))


def build_version_headers(version: ResourceVersion) -> dict[str, str]:
    """Return the ETag and Last-Modified headers of a version."""
    headers = {"ETag": version.etag}
    if version.updated:
        headers["Last-Modified"] = format_http_date(version.updated)
    return headers


# Inputs of interactions.


def build_input_reader(model: type[FrozenT]) -> Callable[[FhirRequest], FrozenT]:
    """Return a function that reads an input model from a request, each field from its place in the R4 request."""
    if query_names(model):
        return _build_page_reader(model)
    fields = [(name, _FIELD_READERS[name]) for name in model.model_fields]
    has_query, has_resource = "query" in model.model_fields, "resource" in model.model_fields
    known = GENERAL_PARAMETERS | SUBSET_PARAMETERS if "parts" in model.model_fields else GENERAL_PARAMETERS

    def read_input(request: FhirRequest) -> FrozenT:
        if has_resource:
            check_type(request.params["type"])
        if not has_query:
            request.check_parameters(known)
        return model(**{name: read(request) for name, read in fields})

    return read_input


def _read_condition(request: FhirRequest) -> QueryPairs | None:
    text = request.headers.get("if-none-exist")
    return None if text is None else parse_condition(text)


_FIELD_READERS: dict[str, InputReader] = {
    "type": lambda request: request.params["type"],
    "id": lambda request: request.params.get("id", ""),
    "file": lambda request: request.params.get("file", ""),
    "other": lambda request: request.params["other"],
    "version": lambda request: request.params["version"],
    "parts": lambda request: (
        tuple([pair for pair in request.pairs if pair[0] in SUBSET_PARAMETERS]) if request.pairs else ()
    ),
    "query": FhirRequest.search_parameters,
    "resource": FhirRequest.parse_body,
    "operations": FhirRequest.parse_patch,
    "if_match": lambda request: request.parse_tags("if-match"),
    "if_none_match": lambda request: request.parse_tags("if-none-match"),
    "if_none_exist": _read_condition,
    "if_modified_since": lambda request: _parse_modified_since(request.headers.get("if-modified-since")),
    "returns": lambda request: request.returns,
    "handling": lambda request: request.handling,
}
"""How each field of an input is read from a request."""


def build_form_reader(read: InputReader) -> InputReader:
    """Wrap a reader so that it also accepts search parameters in a form body."""

    def read_form(request: FhirRequest) -> Any:
        if request.body:
            check_content_type(request.headers, FORM)
            try:
                form = parse_qsl(request.body.decode(), keep_blank_values=True, errors="strict")
            except UnicodeDecodeError:
                raise refusal(400, "structure", "the form is not UTF-8") from None
            request.pairs += request.address.rewrite_pairs(form)
        return read(request)

    return read_form


def _build_page_reader(model: type[FrozenT]) -> Callable[[FhirRequest], FrozenT]:
    """Return a function that reads an input model whose fields are in the path and the query."""
    names = query_names(model)

    def read_page(request: FhirRequest) -> FrozenT:
        if "type" in request.params:
            check_type(request.params["type"])
        request.check_parameters(GENERAL_PARAMETERS | names)
        values = {name: value for name, value in request.pairs if name in names}
        count = values.get("_count", "0")
        if not count.isascii() or not count.isdigit() or len(count) > 9:
            raise refusal(400, "value", f"`_count` must be a whole number, not {count[:80]}")
        return model.model_validate({**request.params, **values})

    return read_page


def read_everything_by_post(request: FhirRequest) -> EverythingInput:
    """Read the input of `$everything` from a Parameters resource (R4 operations: executing an operation)."""
    if request.has_body:
        request.pairs += parse_text_parameters(request.parse_body())
    return _build_page_reader(EverythingInput)(request)


def parse_text_parameters(data: Any) -> QueryPairs:
    """Parse a Parameters resource whose parameters are texts and numbers."""
    pairs = parse_parameters(data)
    for number, (_, value) in enumerate(pairs):
        if not isinstance(value, str | int):
            location = f"Parameters.parameter[{number}]"
            raise refusal(400, "value", "the value of the parameter must be a text or a number", location)
    return tuple((name, str(value)) for name, value in pairs)


def parse_parameters(data: Any) -> list[tuple[str, Any]]:
    """Return the names and values of a Parameters resource."""
    parameters = (
        data.get("parameter", []) if isinstance(data, dict) and data.get("resourceType") == "Parameters" else None
    )
    if not isinstance(parameters, list):
        raise refusal(400, "structure", "expected a Parameters resource, or no body")
    return [_parse_parameter(number, part) for number, part in enumerate(parameters)]


def _parse_parameter(number: int, data: Any) -> tuple[str, Any]:
    part = data if isinstance(data, dict) else {}
    values = [value for name, value in part.items() if name == "resource" or name.startswith("value")]
    if not isinstance(part.get("name"), str) or len(values) != 1:
        raise refusal(400, "value", "a parameter must have a name and one value", f"Parameters.parameter[{number}]")
    return part["name"], values[0]


def read_validation(request: FhirRequest) -> ValidationInput | InstanceValidation:
    """Read the input of `$validate`, for a type or for an existing resource."""
    resource, mode, profile = _parse_validation(request)
    model = InstanceValidation if "id" in request.params else ValidationInput
    return model(**request.params, resource=resource, mode=mode, profile=profile)


def _parse_validation(request: FhirRequest) -> tuple[Any, str, str]:
    """Return the resource, mode and profile, from the body and the query or from a Parameters resource."""
    check_type(request.params["type"], stored=False)
    request.check_parameters(GENERAL_PARAMETERS | {"mode", "profile"})
    query = dict(request.pairs)
    body = request.parse_body() if request.has_body else None
    if not isinstance(body, dict) or body.get("resourceType") != "Parameters" or request.params["type"] == "Parameters":
        return body, query.get("mode", ""), query.get("profile", "")
    named = {str(part.get("name")): part for part in list_objects(body, "parameter")}
    mode = named.get("mode", {}).get("valueCode", query.get("mode", ""))
    values = (value for name, value in named.get("profile", {}).items() if name.startswith("value"))
    profile = next(values, query.get("profile", ""))
    return named.get("resource", {}).get("resource"), str(mode), str(profile)


# Headers.


def _parse_modified_since(header: str | None) -> datetime | None:
    """Parse If-Modified-Since, which is an instant in a bundle entry and an HTTP date otherwise.

    A value that is not a date is ignored (RFC 9110 §13.1.3).
    """
    if header is None:
        return None
    try:
        instant = parse_instant(header) or parsedate_to_datetime(header)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    # HTTP dates are in UTC (RFC 9110 §5.6.7).
    return instant if instant.tzinfo is not None else instant.replace(tzinfo=UTC)


def _parse_tags(header: str) -> Tags:
    """Parse one or several version ids (RFC 9110 §13.1.1), or `*` for any."""
    if header.strip() == "*":
        return ("*",)
    matches = [_ETAG.fullmatch(part.strip()) for part in header.split(",")]
    if not all(matches):
        raise refusal(400, "value", f'expected a version such as W/"3", not {header[:80]}')
    return tuple(tag[1] for tag in matches if tag is not None)


@lru_cache(maxsize=256)
def parse_preferences(header: str) -> Mapping[str, str]:
    """Parse a Prefer header (RFC 7240)."""
    parts = (part.partition("=") for part in re.split(r"[,;]", header))
    return {name.strip().lower(): value.strip().strip('"') for name, _, value in parts if name.strip()}


def find_return_preference(headers: Mapping[str, str], default: ReturnPreference) -> ReturnPreference:
    """Return the client's `return` preference, or the default if it has none or it is unknown."""
    header = headers.get("prefer")
    preference = parse_preferences(header).get("return", default) if header is not None else default
    return cast(ReturnPreference, preference) if preference in _RETURN_PREFERENCES else default


@lru_cache(maxsize=256)
def _accepts_json(header: str) -> bool:
    return any(_is_json(part) for part in header.split(","))


def _is_json(media: str) -> bool:
    name, _, parameters = media.partition(";")
    version = re.search(r"fhirVersion\s*=\s*\"?([\d.]+)", parameters)
    if version is not None and not re.fullmatch(r"4\.0(\.\d+)?", version[1]):
        return False
    return name.strip().lower() in _JSON_MEDIA_TYPES or name.strip() in _ANY_MEDIA_TYPE


def check_accepted_format(headers: Mapping[str, str], format: str | None) -> None:
    """Refuse response formats other than JSON. `_format` overrides Accept (R4 http: content types)."""
    media_types = headers.get("accept", "") if format is None else format.replace(" ", "+")
    if not _accepts_json(media_types):
        raise refusal(
            406, "not-supported", f"unsupported format {media_types[:100]} (expected: {FHIR_JSON}, FHIR version 4.0)"
        )


def check_content_type(headers: Mapping[str, str], *allowed: str) -> None:
    """Refuse request bodies whose media type is not in `allowed`."""
    encoding = headers.get("content-encoding", "identity")
    if encoding != "identity":
        raise refusal(415, "not-supported", f"unsupported Content-Encoding {encoding[:80]} (expected: identity)")
    content_type = headers.get("content-type", "")
    name = content_type.partition(";")[0].strip().lower()
    if not (_is_json(content_type) if name in _JSON_MEDIA_TYPES and FHIR_JSON in allowed else name in allowed):
        expected = " or ".join(allowed)
        raise refusal(415, "not-supported", f"unsupported Content-Type {name[:80] or '(none)'} (expected: {expected})")
