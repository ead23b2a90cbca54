"""Our own spans as a request of OTLP in protobuf."""

import struct
from collections.abc import Iterable

from clerkship import __version__
from clerkship.traces.protobuf import FIXED64, write_bytes, write_fixed64, write_number, write_text, write_varint
from clerkship.traces.trial_trace import AttributeValue, OwnSpan

_SCOPE = "clerkship"
_STATUS_ERROR = 2


def render_request(spans: Iterable[OwnSpan]) -> bytes:
    """Return an `ExportTraceServiceRequest` with these spans. Each number is that of a field in opentelemetry-proto."""
    resource = _render_attribute(1, "service.name", _SCOPE) + _render_attribute(1, "service.version", __version__)
    scope = write_text(1, _SCOPE) + write_text(2, __version__)
    scope_spans = write_bytes(1, scope) + b"".join(write_bytes(2, _render_span(span)) for span in spans)
    return write_bytes(1, write_bytes(1, resource) + write_bytes(2, scope_spans))


def _render_span(span: OwnSpan) -> bytes:
    parts = [
        write_bytes(1, bytes.fromhex(span.trace_id)),
        write_bytes(2, bytes.fromhex(span.span_id)),
        write_bytes(4, bytes.fromhex(span.parent_id)),
        write_text(5, span.name),
        write_number(6, span.kind),
        write_fixed64(7, span.started),
        write_fixed64(8, span.ended),
        *(_render_attribute(9, name, value) for name, value in span.attributes.items()),
    ]
    if span.error is not None:
        parts.append(write_bytes(15, write_text(2, span.error) + write_number(3, _STATUS_ERROR)))
    return b"".join(parts)


def _render_attribute(field: int, name: str, value: AttributeValue) -> bytes:
    return write_bytes(field, write_text(1, name) + write_bytes(2, _render_value(value)))


def _render_value(value: AttributeValue) -> bytes:
    if isinstance(value, bool):
        return write_number(2, value)
    if isinstance(value, int):
        return write_number(3, value)
    if isinstance(value, float):
        return write_varint(4 << 3 | FIXED64) + struct.pack("<d", value)
    return write_text(1, value)
