"""OTLP 1.x: requests with spans in protobuf and JSON to plain spans, and the responses in the same format."""

import hashlib
import math
import struct
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

import orjson

from clerkship.kit.depth import CUT_MARKER, is_deeper_than
from clerkship.traces.conventions import MAX_NAME, OWN_PREFIX, READ_ATTRIBUTES
from clerkship.traces.protobuf import BadProtobuf, read_fields, to_signed, write_bytes, write_number, write_text

OtlpFormat = Literal["application/x-protobuf", "application/json"]
PROTOBUF: OtlpFormat = "application/x-protobuf"
JSON: OtlpFormat = "application/json"
MAX_TEXT = 20_000
"""Characters of the text of an attribute; the rest is cut."""
MAX_ATTRIBUTES = 128
"""Attributes of a span that are read."""
MAX_ITEMS = 256
"""Items of a list or map in an attribute."""
MAX_VALUE_DEPTH = 16
"""Levels of lists and maps in an attribute; what is below is cut."""
MAX_JSON_DEPTH = 64
"""Levels of a request in JSON: eight of OTLP, and three for each level of an attribute."""
NO_END = 0
_READ_KEYS = frozenset(name.encode() for name in READ_ATTRIBUTES)
_OWN_PREFIX = OWN_PREFIX.encode()
_ERROR = 2
"""The code of a status that is an error."""


class BadRequest(ValueError):
    """The body of a request is not what OTLP demands."""


class ReceivedSpan(NamedTuple):
    """A span of an agent, with the attributes that are read. Times are nanoseconds since 1970 by its own clock."""

    trace_id: str
    span_id: str
    parent_id: str
    """Empty for a root."""
    name: str
    started: int
    ended: int
    """NO_END if it has not ended."""
    attributes: Mapping[str, Any]
    is_error: bool
    message: str
    resource: str
    """Distinguishes the processes that send spans, whose clocks may differ."""


class SpanBatch(NamedTuple):
    """The spans of a request."""

    spans: list[ReceivedSpan]
    rejected: int
    reason: str
    """Why some are rejected."""


def parse_spans(body: bytes, form: OtlpFormat, limit: int) -> SpanBatch:
    """Return the spans of a request, up to a limit; raise BadRequest if it cannot be read.

    A span without valid ids is rejected alone. Spans over the limit are only counted, so that they cost little.
    """
    try:
        found = _read_protobuf(body) if form == PROTOBUF else _read_json(body)
        spans, invalid, over = list[ReceivedSpan](), 0, 0
        for resource, data in found:
            if len(spans) >= limit:
                over += 1
                continue
            span = _parse_protobuf_span(data, resource) if isinstance(data, bytes) else _parse_json_span(data, resource)
            if span is None:
                invalid += 1
            else:
                spans.append(span)
    except BadProtobuf as error:
        raise BadRequest(f"the body is not a trace request in protobuf: {error}") from None
    reasons = (
        (invalid, "without a trace id of 16 bytes, a span id of 8 bytes and a start time"),
        (over, "more than a trial stores"),
    )
    return SpanBatch(spans, invalid + over, ", ".join(f"{count} {reason}" for count, reason in reasons if count))


def _build_span(
    ids: tuple[bytes, bytes, bytes], name: str, times: tuple[int, int], status: tuple[int, str], *rest: Any
) -> ReceivedSpan | None:
    """Return a span; None if its ids or its start are not valid."""
    trace_id, span_id, parent_id = ids
    if len(trace_id) != 16 or len(span_id) != 8 or not (any(trace_id) and any(span_id)) or times[0] <= 0:
        return None
    parent = parent_id.hex() if len(parent_id) == 8 and any(parent_id) else ""
    ended = times[1] if times[1] >= times[0] else NO_END
    code, message = status
    attributes, resource = rest
    return ReceivedSpan(
        trace_id.hex(),
        span_id.hex(),
        parent,
        name[:MAX_NAME],
        times[0],
        ended,
        attributes,
        code == _ERROR,
        message[:MAX_NAME],
        resource,
    )


def _name_resource(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=8).hexdigest()


# Protobuf. The numbers are tags: the number of a field in opentelemetry-proto times 8, plus its wire type.


def _read_protobuf(body: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield each span in its own form, with its resource."""
    for tag, _, resource_spans in read_fields(body):
        if tag != 0o12:  # resource_spans
            continue
        resource, scopes = b"", list[bytes]()
        for inner, _, data in read_fields(resource_spans):
            if inner == 0o12:  # resource
                resource = data
            elif inner == 0o22:  # scope_spans
                scopes.append(data)
        name = _name_resource(resource)
        for scope in scopes:
            for inner, _, data in read_fields(scope):
                if inner == 0o22:  # spans
                    yield name, data


def _parse_protobuf_span(data: bytes, resource: str) -> ReceivedSpan | None:
    trace_id = span_id = parent_id = name = status = b""
    started = ended = count = 0
    attributes: dict[str, Any] = {}
    for tag, number, value in read_fields(data):
        if tag == 0o112:  # attributes
            count += 1
            if count <= MAX_ATTRIBUTES:
                _add_protobuf_attribute(value, attributes)
        elif tag == 0o12:
            trace_id = value
        elif tag == 0o22:
            span_id = value
        elif tag == 0o42:
            parent_id = value
        elif tag == 0o52:
            name = value
        elif tag == 0o71:  # start_time_unix_nano
            started = number
        elif tag == 0o101:  # end_time_unix_nano
            ended = number
        elif tag == 0o172:
            status = value
    ids = (trace_id, span_id, parent_id)
    text = name.decode(errors="replace")
    return _build_span(ids, text, (started, ended), _parse_protobuf_status(status), attributes, resource)


def _parse_protobuf_status(data: bytes) -> tuple[int, str]:
    code, message = 0, ""
    for tag, number, value in read_fields(data):
        if tag == 0o30:
            code = number
        elif tag == 0o22:
            message = value.decode(errors="replace")
    return code, message


def _add_protobuf_attribute(data: bytes, attributes: dict[str, Any]) -> None:
    key = value = b""
    for tag, _, part in read_fields(data):
        if tag == 0o12:
            key = part
        elif tag == 0o22:
            value = part
    if key in _READ_KEYS or key.startswith(_OWN_PREFIX):
        attributes[key.decode(errors="replace")[:MAX_NAME]] = _parse_protobuf_value(value, MAX_VALUE_DEPTH)


def _parse_protobuf_value(data: bytes, depth: int) -> Any:
    for tag, number, value in read_fields(data):
        if tag == 0o12:
            return _cut(value.decode(errors="replace"))
        if tag == 0o30:
            return to_signed(number)
        if tag == 0o20:
            return bool(number)
        if tag == 0o41:
            double: float = struct.unpack("<d", number.to_bytes(8, "little"))[0]
            return double if math.isfinite(double) else None
        if tag in (0o52, 0o62):  # array_value, kvlist_value
            items = [part for inner, _, part in read_fields(value) if inner == 0o12][:MAX_ITEMS]
            if depth == 0:
                return CUT_MARKER
            if tag == 0o52:
                return [_parse_protobuf_value(item, depth - 1) for item in items]
            return dict(_parse_protobuf_pair(item, depth - 1) for item in items)
    return None


def _parse_protobuf_pair(data: bytes, depth: int) -> tuple[str, Any]:
    parts = {tag: part for tag, _, part in read_fields(data)}
    key = parts.get(0o12, b"").decode(errors="replace")[:MAX_NAME]
    return key, _parse_protobuf_value(parts.get(0o22, b""), depth)


# JSON.


def _read_json(body: bytes) -> Iterator[tuple[str, Any]]:
    """Yield each span in its own form, with its resource."""
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"the body is not JSON: {error}") from None
    if is_deeper_than(data, MAX_JSON_DEPTH):
        raise BadRequest(f"the body is nested more than {MAX_JSON_DEPTH} levels deep")
    for resource_spans in _list_objects(data, "resourceSpans"):
        name = _name_resource(orjson.dumps(resource_spans.get("resource")))
        for scope in _list_objects(resource_spans, "scopeSpans"):
            for span in _list_objects(scope, "spans"):
                yield name, span


def _list_objects(data: Any, key: str) -> list[dict[str, Any]]:
    items = data.get(key, []) if isinstance(data, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise BadRequest(f"`{key}` is not a list of objects")
    return items


def _parse_json_span(data: dict[str, Any], resource: str) -> ReceivedSpan | None:
    ids = (_to_id(data.get("traceId")), _to_id(data.get("spanId")), _to_id(data.get("parentSpanId")))
    times = (_to_int(data.get("startTimeUnixNano")), _to_int(data.get("endTimeUnixNano")))
    given = data.get("attributes")
    attributes = _parse_json_attributes(given if isinstance(given, list) else [])
    status = data.get("status")
    code = status.get("code") if isinstance(status, dict) else 0
    message = _to_text(status.get("message")) if isinstance(status, dict) else ""
    is_error = code in (_ERROR, "STATUS_CODE_ERROR")
    return _build_span(
        ids, _to_text(data.get("name")), times, (_ERROR if is_error else 0, message), attributes, resource
    )


def _parse_json_attributes(pairs: list[Any]) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    for pair in pairs[:MAX_ATTRIBUTES]:
        key = _to_text(pair.get("key")) if isinstance(pair, dict) else ""
        if key in READ_ATTRIBUTES or key.startswith(OWN_PREFIX):
            attributes[key[:MAX_NAME]] = _parse_json_value(pair.get("value"), MAX_VALUE_DEPTH)
    return attributes


def _parse_json_value(value: Any, depth: int) -> Any:
    if not isinstance(value, dict):
        return None
    for kind, content in value.items():
        if kind == "stringValue":
            return _cut(_to_text(content))
        if kind == "intValue":
            return _to_int(content)
        if kind == "boolValue":
            return content is True
        if kind == "doubleValue":
            return float(content) if isinstance(content, int | float) else None
        if kind in ("arrayValue", "kvlistValue"):
            items = content.get("values", []) if isinstance(content, dict) else []
            if depth == 0 or not isinstance(items, list):
                return CUT_MARKER
            if kind == "arrayValue":
                return [_parse_json_value(item, depth - 1) for item in items[:MAX_ITEMS]]
            pairs = [item for item in items[:MAX_ITEMS] if isinstance(item, dict)]
            return {
                _to_text(item.get("key"))[:MAX_NAME]: _parse_json_value(item.get("value"), depth - 1) for item in pairs
            }
    return None


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _to_id(value: Any) -> bytes:
    """Return an id, which JSON has in hexadecimal digits (OTLP specification, JSON Protobuf Encoding)."""
    try:
        return bytes.fromhex(value) if isinstance(value, str) and len(value) <= 32 else b""
    except ValueError:
        return b""


def _to_int(value: Any) -> int:
    """Return a number of 64 bits, which JSON may have as text."""
    if isinstance(value, str) and len(value) <= 20 and value.lstrip("-").isdecimal() and value.isascii():
        value = int(value)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and -(2**63) <= value < 2**64 else 0


# Responses.


def render_success(form: OtlpFormat, rejected: int = 0, reason: str = "") -> bytes:
    """Render the response to an accepted request; a partial success if some of it was rejected."""
    if form == JSON:
        partial = {"partialSuccess": {"rejectedSpans": str(rejected), "errorMessage": reason}} if rejected else {}
        return orjson.dumps(partial)
    return write_bytes(1, write_number(1, rejected) + write_text(2, reason)) if rejected else b""


def render_error(form: OtlpFormat, code: int, message: str) -> bytes:
    """Render a `google.rpc.Status`, with which OTLP refuses a request."""
    if form == JSON:
        return orjson.dumps({"code": code, "message": message})
    return write_number(1, code) + write_text(2, message)


def parse_rejection(body: bytes) -> tuple[int, str]:
    """Return how many spans a collector rejected, and why, from its response in protobuf."""
    count, reason = 0, ""
    try:
        for tag, _, partial in read_fields(body):
            if tag != 0o12:  # partial_success
                continue
            for inner, number, text in read_fields(partial):
                if inner == 0o10:
                    count = to_signed(number)
                elif inner == 0o22:
                    reason = text.decode(errors="replace")
    except BadProtobuf as error:
        raise BadRequest(str(error)) from None
    return count, reason
