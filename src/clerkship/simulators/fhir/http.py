"""FHIR over HTTP: how requests become the inputs of interactions, and responses become replies (R4 http).

An entry of a Bundle is read by the same functions as a request: see `FhirRequest`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache, partial
from typing import Any, TypeVar, cast
from urllib.parse import parse_qsl

from clerkship.fhir import exact
from clerkship.fhir.issue import Issue, outcome
from clerkship.fhir.resource import objects_in, render
from clerkship.model.frozen import Frozen
from clerkship.sandbox.exchange import Reply
from clerkship.sandbox.operation import OperationContext
from clerkship.sandbox.route import HttpCall, Route
from clerkship.simulators.fhir.body import (
    MAX_BUNDLE_ELEMENTS,
    MAX_RESOURCE_ELEMENTS,
    ServerAddress,
    address_of,
    parse_json,
    parse_resource,
)
from clerkship.simulators.fhir.everything import EverythingInput
from clerkship.simulators.fhir.inputs import Pairs, Returns, query_names
from clerkship.simulators.fhir.outcome import FHIR_JSON, FORM, JSON_PATCH, refusal
from clerkship.simulators.fhir.state import FhirState, Tags, Version, http_date, moment_of
from clerkship.simulators.fhir.transaction import FhirResponse, Interaction
from clerkship.simulators.fhir.validate import InstanceValidation, ValidationInput
from clerkship.simulators.fhir.writing import known_type, parse_condition

FrozenT = TypeVar("FrozenT", bound=Frozen)
Context = OperationContext[FhirState]
GENERAL = frozenset({"_format", "_pretty"})
"""Parameters that any request may have (R4 http: general parameters)."""
PARTS = frozenset({"_summary", "_elements"})
MAX_TAGS = 1000
_JSON = frozenset({"json", FHIR_JSON, "application/json", "text/json", "application/json+fhir"})
_ANY = frozenset({"*/*", "application/*", "*", ""})
_ETAG = re.compile(r'(?:W/)?"([A-Za-z0-9\-.]{1,64})"')
_RETURNS = frozenset({"minimal", "representation", "OperationOutcome"})


@dataclass(slots=True)
class FhirRequest:
    """A request for an interaction: over HTTP, or as an entry of a Bundle."""

    params: Mapping[str, str]
    """The parameters in its path."""
    pairs: Pairs
    headers: Mapping[str, str]
    address: ServerAddress
    max_depth: int
    body: bytes = b""
    content: Any = None
    """The body of an entry of a Bundle, parsed."""
    default_return: Returns = "representation"

    @property
    def returns(self) -> Returns:
        """What the client wants to see of a write."""
        return preferred_return(self.headers, self.default_return)

    @property
    def is_lenient(self) -> bool:
        """Whether unknown parameters are ignored (R4 search, handling errors: Prefer)."""
        return preferences(self.headers.get("prefer", "")).get("handling") == "lenient"

    @property
    def has_body(self) -> bool:
        """Whether there is a body."""
        return bool(self.body) or self.content is not None

    def check_query(self, known: frozenset[str] = GENERAL) -> None:
        """Refuse parameters other than these."""
        if not self.pairs or self.is_lenient:
            return
        for name, _ in self.pairs:
            if name not in known:
                listed = ", ".join(sorted(known))
                raise refusal(400, "not-supported", f"`{name[:80]}` is not a parameter here; {listed}")

    def criteria(self) -> Pairs:
        """Return the parameters of a search or a condition."""
        return tuple([pair for pair in self.pairs if pair[0] not in GENERAL])

    def resource(self, max_elements: int | None = None) -> Any:
        """Return the resource that was sent, with as many elements as its type may have unless a limit is given."""
        if self.content is not None:
            return self.content
        check_content(self.headers, FHIR_JSON)
        if max_elements is None:
            is_bundle = self.params.get("type") == "Bundle"
            max_elements = MAX_BUNDLE_ELEMENTS if is_bundle else MAX_RESOURCE_ELEMENTS
        return parse_resource(self.body, self.address.inside, self.max_depth, max_elements)

    def patch(self) -> Any:
        """Return the JSON Patch that was sent. R4 has other formats (XML, FHIRPath), which this server has not."""
        if self.content is not None:
            return self.content
        check_content(self.headers, JSON_PATCH, FHIR_JSON)
        found = parse_json(self.body, self.max_depth)
        if isinstance(found, dict):
            reason = f"patches are JSON Patch, an array in {JSON_PATCH}; FHIRPath Patch is not"
            raise refusal(415, "not-supported", reason)
        return found

    def tags(self, header: str) -> Tags | None:
        """Return the versions in a header, if it is there."""
        text = self.headers.get(header)
        return _parse_tags(text) if text is not None else None


Read = Callable[[FhirRequest], Any]
"""Reads the input of an interaction from a request; raises Refusal."""


class FhirRoute(Route):
    """A route with the function that reads its input, from a request or from an entry of a Bundle."""

    def __init__(
        self,
        method: str,
        path: str,
        interaction: Interaction[Any],
        read: Read | None = None,
        *,
        in_bundle: bool = True,
        **options: Any,
    ) -> None:
        self.read = read or input_reader(interaction.input)
        super().__init__(method, path, interaction, parse=partial(parse, self.read), render=render_response, **options)
        self.interaction = interaction
        self.in_bundle = in_bundle
        """Whether it may stand in a Bundle."""


def parse(read: Read, call: HttpCall, context: Context) -> Any:
    """Read the input of an interaction from an HTTP request."""
    request, address = call.request, address_of(call.base)
    pairs = address.pairs_in(request.pairs) if request.query else ()
    check_format(request.headers, request.query.get("_format") if pairs else None)
    body = address.json_in(request.body) if request.body else b""
    return read(FhirRequest(call.params, pairs, request.headers, address, context.state.settings.max_depth, body))


def render_response(call: HttpCall, context: Context, response: FhirResponse) -> Reply:
    """Write a response, with the address of the server as the client has it."""
    request, address = call.request, address_of(call.base)
    reply = address.reply_out(_reply(request.headers, address.inside, response))
    if request.method == "HEAD":
        return Reply(reply.status, b"", reply.media, reply.headers)
    if request.query and request.query.get("_pretty") == "true" and reply.body:
        return Reply(reply.status, exact.pretty(exact.loads(reply.body)), reply.media, reply.headers)
    return reply


def _reply(headers: Mapping[str, str], base: str, response: FhirResponse) -> Reply:
    version = response.version
    head = version_headers(version) if version is not None else {}
    if not response.key:
        body = render_message(response.message) if response.message else response.body
        return Reply(response.status, body, FHIR_JSON, head)
    assert version is not None
    head["Location"] = f"{base}/{response.key}/_history/{version.id}"
    returns = preferred_return(headers, "representation")
    if returns == "representation":
        return Reply(response.status, version.data or b"", FHIR_JSON, head)
    message = f"{response.key} is at version {version.id}"
    return Reply(response.status, render_message(message) if returns == "OperationOutcome" else b"", FHIR_JSON, head)


def render_message(text: str) -> bytes:
    """Write an OperationOutcome that only informs."""
    return render(outcome([Issue("information", "informational", text)]))


def version_headers(version: Version) -> dict[str, str]:
    """Return the headers that say which version a body is."""
    headers = {"ETag": version.etag}
    if version.updated:
        headers["Last-Modified"] = http_date(version.updated)
    return headers


# The inputs of interactions.


def input_reader(model: type[FrozenT]) -> Callable[[FhirRequest], FrozenT]:
    """Return a function that reads the input of an interaction, each field from where R4 has it in a request."""
    if query_names(model):
        return _page_reader(model)
    fields = [(name, _FIELDS[name]) for name in model.model_fields]
    has_query, has_resource = "query" in model.model_fields, "resource" in model.model_fields
    known = GENERAL | PARTS if "parts" in model.model_fields else GENERAL

    def read_input(request: FhirRequest) -> FrozenT:
        if has_resource:
            known_type(request.params["type"])
        if not has_query:
            request.check_query(known)
        return model(**{name: read(request) for name, read in fields})

    return read_input


def _condition(request: FhirRequest) -> Pairs | None:
    text = request.headers.get("if-none-exist")
    return None if text is None else parse_condition(text)


_FIELDS: dict[str, Read] = {
    "type": lambda request: request.params["type"],
    "id": lambda request: request.params.get("id", ""),
    "other": lambda request: request.params["other"],
    "version": lambda request: request.params["version"],
    "parts": lambda request: tuple([pair for pair in request.pairs if pair[0] in PARTS]) if request.pairs else (),
    "query": FhirRequest.criteria,
    "resource": FhirRequest.resource,
    "operations": FhirRequest.patch,
    "if_match": lambda request: request.tags("if-match"),
    "if_none_match": lambda request: request.tags("if-none-match"),
    "if_none_exist": _condition,
    "if_modified_since": lambda request: _modified_since(request.headers.get("if-modified-since")),
    "returns": lambda request: request.returns,
    "is_lenient": lambda request: request.is_lenient,
}
"""By field of an input, how it is read from a request."""


def from_form(read: Read) -> Read:
    """Return a function that reads a search whose parameters, or some of them, stand in a form."""

    def read_form(request: FhirRequest) -> Any:
        if request.body:
            check_content(request.headers, FORM)
            try:
                form = parse_qsl(request.body.decode(), keep_blank_values=True, errors="strict")
            except UnicodeDecodeError:
                raise refusal(400, "structure", "the form is not UTF-8") from None
            request.pairs += request.address.pairs_in(form)
        return read(request)

    return read_form


def _page_reader(model: type[FrozenT]) -> Callable[[FhirRequest], FrozenT]:
    """Return a function that reads an input whose fields stand in the path and in the query."""
    names = query_names(model)

    def read_page(request: FhirRequest) -> FrozenT:
        if "type" in request.params:
            known_type(request.params["type"])
        request.check_query(GENERAL | names)
        values = {name: value for name, value in request.pairs if name in names}
        count = values.get("_count", "0")
        if not count.isascii() or not count.isdigit() or len(count) > 9:
            raise refusal(400, "value", f"`_count` is a whole number, not {count[:80]}")
        return model.model_validate({**request.params, **values})

    return read_page


def read_everything_by_post(request: FhirRequest) -> EverythingInput:
    """Read what to return of a record from Parameters, if any (R4 operations: executing an operation)."""
    if request.has_body:
        request.pairs += _parameters(request.resource())
    return _page_reader(EverythingInput)(request)


def _parameters(data: Any) -> Pairs:
    listed = data.get("parameter", []) if isinstance(data, dict) and data.get("resourceType") == "Parameters" else None
    if not isinstance(listed, list):
        raise refusal(400, "structure", "the body is a Parameters resource, or there is none")
    return tuple(_parameter(number, part) for number, part in enumerate(listed))


def _parameter(number: int, data: Any) -> tuple[str, str]:
    part = data if isinstance(data, dict) else {}
    values = [value for name, value in part.items() if name.startswith("value")]
    if not isinstance(part.get("name"), str) or len(values) != 1 or not isinstance(values[0], str | int):
        place = f"Parameters.parameter[{number}]"
        raise refusal(400, "value", "a parameter here has a name and one value, a text or a number", place)
    return part["name"], str(values[0])


def read_validation(request: FhirRequest) -> ValidationInput | InstanceValidation:
    """Read a resource to check: a new one, or one in place of the resource with an id."""
    resource, mode, profile = _validation(request)
    model = InstanceValidation if "id" in request.params else ValidationInput
    return model(**request.params, resource=resource, mode=mode, profile=profile)


def _validation(request: FhirRequest) -> tuple[Any, str, str]:
    """Read the resource, what it is for, and a profile: the body and the query, or all of them in Parameters."""
    known_type(request.params["type"], stored=False)
    request.check_query(GENERAL | {"mode", "profile"})
    query = dict(request.pairs)
    body = request.resource() if request.has_body else None
    if not isinstance(body, dict) or body.get("resourceType") != "Parameters" or request.params["type"] == "Parameters":
        return body, query.get("mode", ""), query.get("profile", "")
    named = {str(part.get("name")): part for part in objects_in(body, "parameter")}
    mode = named.get("mode", {}).get("valueCode", query.get("mode", ""))
    values = (value for name, value in named.get("profile", {}).items() if name.startswith("value"))
    profile = next(values, query.get("profile", ""))
    return named.get("resource", {}).get("resource"), str(mode), str(profile)


# Headers.


def _modified_since(header: str | None) -> datetime | None:
    """Read If-Modified-Since, in an entry of a Bundle an instant; ignore what is no date (RFC 9110 §13.1.3)."""
    if header is None:
        return None
    try:
        moment = moment_of(header) or parsedate_to_datetime(header)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)  # HTTP has no other (RFC 9110 §5.6.7)


def _parse_tags(header: str) -> Tags:
    """Read versions: one or several (RFC 9110 §13.1.1), or `*` for any."""
    if header.strip() == "*":
        return ("*",)
    found = [_ETAG.fullmatch(part.strip()) for part in header.split(",")]
    if len(found) > MAX_TAGS or not all(found):
        raise refusal(400, "value", f'a version is written W/"3", not {header[:80]}')
    return tuple(tag[1] for tag in found if tag is not None)


@lru_cache(maxsize=256)
def preferences(header: str) -> Mapping[str, str]:
    """Read the preferences of a client (RFC 7240)."""
    parts = (part.partition("=") for part in re.split(r"[,;]", header))
    return {name.strip().lower(): value.strip().strip('"') for name, _, value in parts if name.strip()}


def preferred_return(headers: Mapping[str, str], default: Returns) -> Returns:
    """Return what the client wants to see of a write."""
    header = headers.get("prefer")
    wanted = preferences(header).get("return", default) if header is not None else default
    return cast(Returns, wanted) if wanted in _RETURNS else default


@lru_cache(maxsize=256)
def _accepts(header: str) -> bool:
    return any(_is_json(part) for part in header.split(","))


def _is_json(media: str) -> bool:
    name, _, rest = media.partition(";")
    version = re.search(r"fhirVersion\s*=\s*\"?([\d.]+)", rest)
    if version is not None and not re.fullmatch(r"4\.0(\.\d+)?", version[1]):
        return False
    return name.strip().lower() in _JSON or name.strip() in _ANY


def check_format(headers: Mapping[str, str], format: str | None) -> None:
    """Refuse formats other than JSON: `_format` comes before Accept (R4 http: content types)."""
    wanted = headers.get("accept", "") if format is None else format.replace(" ", "+")
    if not _accepts(wanted):
        raise refusal(406, "not-supported", f"this server answers in {FHIR_JSON}, R4 (4.0); not in {wanted[:100]}")


def check_content(headers: Mapping[str, str], *allowed: str) -> None:
    """Refuse bodies in formats other than these."""
    packed = headers.get("content-encoding", "identity")
    if packed != "identity":
        raise refusal(415, "not-supported", f"a body is sent as it is, not as {packed[:80]}")
    said = headers.get("content-type", "")
    name = said.partition(";")[0].strip().lower()
    if not (_is_json(said) if name in _JSON and FHIR_JSON in allowed else name in allowed):
        what = f"it is {name[:80]}" if name else "nothing is said of what it is"
        raise refusal(415, "not-supported", f"the body must be {' or '.join(allowed)}; {what}")
