"""Properties of our reader of OTLP: it agrees with the official classes, and no bytes break it."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from clerkship.traces.conventions import read_facts
from clerkship.traces.otlp import JSON, PROTOBUF, BadRequest, ReceivedSpan, parse_spans
from clerkship.traces.protobuf import BadProtobuf, read_fields, to_signed, write_varint
from clerkship.traces.span_encoding import render_request
from clerkship.traces.trial_trace import OwnSpan
from tests.traces.desk import build_request, build_span

scalars = st.text(max_size=20) | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False)
values = st.recursive(
    scalars.filter(lambda value: value not in (float("inf"), float("-inf"))),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)
spans = st.builds(
    build_span,
    st.text(max_size=20),
    st.integers(1, 2**64 - 1),
    start=st.integers(1, 2**62),
    end=st.integers(0, 2**63),
    attributes=st.dictionaries(st.text(max_size=5).map(lambda name: f"clerkship.{name}"), values, max_size=4),
    error=st.text(max_size=10),
)


def parse_one(body: bytes) -> ReceivedSpan:
    [span] = parse_spans(body, PROTOBUF, 10).spans
    return span


@given(spans)
def test_reader_agrees_with_the_official_classes(span: dict[str, Any]) -> None:
    read = parse_one(build_request(span).SerializeToString())
    assert (read.name, int(read.span_id, 16), read.started) == (span["name"], span["number"], span["start"])
    assert read.ended == (span["end"] if span["end"] >= span["start"] else 0)
    assert read.attributes == span["attributes"]
    assert (read.is_error, read.message) == (bool(span["error"]), span["error"])


@given(st.integers(-(2**63), 2**63 - 1))
def test_numbers_are_written_as_they_are_read(number: int) -> None:
    [(_, read, _)] = read_fields(b"\x08" + write_varint(number))
    assert to_signed(read) == number
    assert AnyValue.FromString(b"\x18" + write_varint(number)).int_value == number


@given(
    st.text(max_size=20), st.dictionaries(st.text(min_size=1, max_size=9), scalars, max_size=5), st.integers(0, 2**63)
)
def test_own_spans_are_read_by_the_official_classes(name: str, attributes: dict[str, Any], time: int) -> None:
    own = OwnSpan("00f067aa0ba902b7", "", name, 1, time, time + 1, attributes, name, "0af7651916cd43dd8448eb211c80319c")
    request = ExportTraceServiceRequest.FromString(render_request([own]))
    [span] = request.resource_spans[0].scope_spans[0].spans
    assert (span.name, span.start_time_unix_nano, span.status.message) == (name, time, name)
    read = {pair.key: getattr(pair.value, str(pair.value.WhichOneof("value"))) for pair in span.attributes}
    assert read == attributes


@given(st.binary(max_size=200) | spans.flatmap(lambda span: _broken(build_request(span).SerializeToString())))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    for form in (PROTOBUF, JSON):
        try:
            batch = parse_spans(body, form, 10)
        except BadRequest:
            continue
        for span in batch.spans:
            read_facts(span.name, span.attributes)


def _broken(body: bytes) -> st.SearchStrategy[bytes]:
    """Return the bytes with one of them changed, or the rest missing."""
    places = st.integers(0, len(body) - 1)
    changed = st.builds(
        lambda place, byte: body[:place] + bytes([byte]) + body[place + 1 :], places, st.integers(0, 255)
    )
    return changed | places.map(lambda place: body[:place])


names = st.sampled_from(
    [
        *("traceId", "spanId", "parentSpanId", "name", "attributes", "key", "value", "values", "status", "code"),
        *("stringValue", "intValue", "doubleValue", "boolValue", "arrayValue", "kvlistValue", "message"),
        *("startTimeUnixNano", "endTimeUnixNano"),
    ]
)
json_values: Any = st.recursive(
    st.none() | scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(names, json_values, max_size=6))
def test_any_json_span_is_read_or_rejected(fields: dict[str, Any]) -> None:
    ids = {"traceId": "0af7651916cd43dd8448eb211c80319c", "spanId": "00f067aa0ba902b7", "startTimeUnixNano": "1"}
    try:
        body = orjson.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [ids | fields]}]}]})
    except TypeError:  # a number that JSON does not have
        return
    batch = parse_spans(body, JSON, 10)
    assert len(batch.spans) + batch.rejected == 1


@pytest.mark.parametrize("data", [b"\x08\xff", b"\x08" + b"\xff" * 11, b"\x0b", b"\x09\x01", b"\x0a\x02a"])
def test_broken_fields_are_refused(data: bytes) -> None:
    with pytest.raises(BadProtobuf):
        list(read_fields(data))
