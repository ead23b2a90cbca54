"""The receiver of spans: formats, limits, refusals, and who may send."""

import json
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from clerkship.kit.depth import CUT_MARKER
from clerkship.playground.traces import open_traces
from clerkship.traces import trial_spans
from clerkship.traces.otlp import MAX_ATTRIBUTES, MAX_TEXT, PROTOBUF
from tests.traces.desk import TraceDesk, build_request, build_span, pack, read_status

JSON = "application/json"
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}


@pytest.fixture
def desk() -> Iterator[TraceDesk]:
    with TraceDesk() as opened:
        yield opened


def to_json(*spans: Any) -> bytes:
    """Return a request in OTLP's JSON, which has ids in hexadecimal digits, and numbers of 64 bits as text."""
    data = [
        {
            "traceId": "0af7651916cd43dd8448eb211c80319c",
            "spanId": f"{span['number']:016x}",
            "parentSpanId": f"{span['parent']:016x}" if span["parent"] else "",
            "name": span["name"],
            "startTimeUnixNano": str(span["start"]),
            "endTimeUnixNano": str(span["end"]),
            "attributes": to_json_pairs(span["attributes"]),
            "status": {"code": 2, "message": span["error"]} if span["error"] else {},
        }
        for span in spans
    ]
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": data}]}]}).encode()


def to_json_pairs(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": to_json_value(value)} for key, value in values.items()]


def to_json_value(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return {"kvlistValue": {"values": to_json_pairs(value)}}
    if isinstance(value, list):
        return {"arrayValue": {"values": [to_json_value(part) for part in value]}}
    if isinstance(value, int) and not isinstance(value, bool):
        return {"intValue": str(value)}
    return {{bool: "boolValue", float: "doubleValue", str: "stringValue"}[type(value)]: value}


ATTRIBUTES = {**TOOL, "gen_ai.tool.call.arguments": {"id": "p1", "deep": [1, {"x": 2.5}], "ok": True}}


def test_protobuf_json_and_gzip_give_the_same_event() -> None:
    seen = []
    span = build_span("t", attributes={**ATTRIBUTES, "clerkship.big": 2**62, "clerkship.low": -5}, error="no luck")
    body, text = build_request(span).SerializeToString(), to_json(span)
    for content, media, headers in (
        (body, PROTOBUF, {}),
        (text, JSON, {}),
        (pack(body), PROTOBUF, {"content-encoding": "gzip"}),
        (pack(text), f"{JSON}; charset=utf-8", {"content-encoding": "gzip"}),
    ):
        with TraceDesk() as desk:
            response = desk.post(content, media, **headers)
            assert (response.status_code, response.headers["content-type"]) == (200, media.partition(";")[0])
            desk.end()
            seen += desk.spans
    assert seen == [seen[0]] * 4
    assert seen[0].arguments == {"id": "p1", "deep": [1, {"x": 2.5}], "ok": True}
    assert seen[0].attributes == {"big": 2**62, "low": -5}
    assert (seen[0].is_error, seen[0].error_message) == (True, "no luck")


@pytest.mark.parametrize("path", ["/v1/metrics", "/v1/logs"])
@pytest.mark.parametrize(("media", "body"), [(PROTOBUF, b""), (JSON, b"{}")])
def test_other_signals_are_accepted_and_not_read(desk: TraceDesk, path: str, media: str, body: bytes) -> None:
    response = desk.post(b"\xff anything", media, path)
    assert (response.status_code, response.content, response.headers["content-type"]) == (200, body, media)


def test_span_that_is_sent_again_is_logged_once(desk: TraceDesk) -> None:
    span = build_span()
    desk.send(span)
    desk.send(span)
    desk.end()
    assert len(desk.spans) == 1


# Who may send.


def test_token_of_another_trial_is_refused(desk: TraceDesk) -> None:
    other = open_traces(desk.gateway, desk.open_playground(), desk.listener.url, ("run", "other", 1, 1))
    for token in (other.token, "", "x"):
        response = desk.post(build_request(build_span()).SerializeToString(), **{"x-clerkship-token": token})
        status, code, message = read_status(response)
        assert (status, code) == (401, 16)
        assert "the token is not that of this trial" in message
    desk.end()
    assert desk.spans == []


def test_bearer_token_is_accepted(desk: TraceDesk) -> None:
    token = desk.address.token
    desk.send(build_span(), **{"x-clerkship-token": "", "authorization": f"Bearer {token}"})


def test_spans_after_the_end_are_refused(desk: TraceDesk) -> None:
    desk.end()
    response = desk.post(to_json(build_span()), JSON)
    assert read_status(response)[:2] == (401, 16)


def test_end_waits_for_a_request_that_has_arrived(desk: TraceDesk) -> None:
    """A program may have exited right after it sent its last spans."""
    receiving = desk.gateway.traces
    assert receiving is not None
    name = desk.address.endpoint.rpartition("/")[2]
    receiving.expect(name)
    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(desk.end)
        desk.send(build_span())
        assert not ended.done()
        receiving.end_request(name)
        ended.result(timeout=10)
    assert len(desk.spans) == 1


# Requests that cannot be read.


@pytest.mark.parametrize(
    ("content", "media", "headers", "expected"),
    [
        (b"\x0a\xff", PROTOBUF, {}, (400, 3, "the body is not a trace request in protobuf")),
        (b"\x0a\x05abc", PROTOBUF, {}, (400, 3, "field 1 has 5 bytes, but the message ends after 3")),
        (b"{", JSON, {}, (400, 3, "the body is not JSON")),
        (b"[]", JSON, {}, (400, 3, "`resourceSpans` is not a list of objects")),
        (b'{"resourceSpans": [{"scopeSpans": 1}]}', JSON, {}, (400, 3, "`scopeSpans` is not a list of objects")),
        (b'{"resourceSpans":' + b"[" * 200 + b"]" * 200 + b"}", JSON, {}, (400, 3, "nested more than 64 levels")),
        (b"x", "text/plain", {}, (415, 3, "unknown content type `text/plain`")),
        (b"x", JSON, {"content-encoding": "br"}, (415, 3, "unknown content encoding `br`")),
        (b"not gzip", JSON, {"content-encoding": "gzip"}, (400, 3, "the body is not gzip")),
        (pack(b"{}" * 100)[:20], JSON, {"content-encoding": "gzip"}, (400, 3, "the body in gzip is cut off")),
        (b" " * 4_000_001, JSON, {}, (413, 3, "the body has 4,000,001 bytes")),
    ],
)
def test_request_that_cannot_be_read_is_refused_in_the_form_of_otlp(
    desk: TraceDesk, content: bytes, media: str, headers: dict[str, str], expected: tuple[int, int, str]
) -> None:
    status, code, message = read_status(desk.post(content, media, **headers))
    assert (status, code) == expected[:2]
    assert expected[2] in message
    assert desk.playground.broken is None


def test_other_paths_and_methods_are_refused(desk: TraceDesk) -> None:
    assert read_status(desk.post(b"", path="/v1/spans"))[:2] == (404, 5)
    response = desk.client.get(f"{desk.address.endpoint}/v1/traces", headers=desk.address.headers)
    assert (response.status_code, response.headers["allow"]) == (405, "POST")


def test_gzip_bomb_is_not_unpacked_as_a_whole(desk: TraceDesk) -> None:
    packer = zlib.compressobj(1, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    bomb = b"".join(packer.compress(b"\0" * 10_000_000) for _ in range(10)) + packer.flush()
    response = desk.post(bomb, **{"content-encoding": "gzip"})
    assert read_status(response) == (413, 3, "the unpacked body has over 16,000,000 bytes")


# Spans that are not valid, or too many.


def test_spans_with_invalid_ids_or_times_are_rejected_alone(desk: TraceDesk) -> None:
    request = build_request(*(build_span(number=number) for number in range(1, 6)))
    spans = request.resource_spans[0].scope_spans[0].spans
    spans[0].trace_id = b"short"
    spans[1].span_id = bytes(8)
    spans[2].start_time_unix_nano = 0
    spans[3].parent_span_id = b"bad"
    answer = ExportTraceServiceResponse.FromString(desk.post(request.SerializeToString()).content)
    assert answer.partial_success.rejected_spans == 3
    assert answer.partial_success.error_message == (
        "3 without a trace id of 16 bytes, a span id of 8 bytes and a start time"
    )
    desk.end()
    assert len(desk.spans) == 2
    assert desk.measured[0]["span_id"] == "0000000000000004"


def test_partial_success_in_json(desk: TraceDesk) -> None:
    response = desk.post(to_json(build_span()).replace(b"0af7", b"zzzz"), JSON)
    assert json.loads(response.content)["partialSuccess"]["rejectedSpans"] == "1"


def test_span_without_an_end_has_no_duration(desk: TraceDesk) -> None:
    span = build_span()
    desk.send({**span, "end": 0}, {**span, "number": 2, "end": span["start"] - 5})
    desk.end()
    assert len(desk.spans) == 2
    assert all("wall_ms" not in measured for measured in desk.measured)


def test_spans_over_the_limit_are_dropped_and_noted(desk: TraceDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_spans, "MAX_SPANS", 3)
    answer = desk.send(*(build_span(number=number) for number in range(1, 6)))
    assert answer.partial_success.rejected_spans == 2
    assert desk.send(build_span(number=9)).partial_success.error_message == "1 more than a trial stores"
    desk.end()
    assert len(desk.spans) == 3
    [note] = [event.payload for event in desk.events if event.kind == "agent.noted"]
    assert note.model_dump() == {"what": "spans_dropped", "data": {"count": 3}}


def test_texts_of_all_spans_are_limited(desk: TraceDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_spans, "MAX_SPAN_CHARACTERS", 1000)
    large = {**TOOL, "gen_ai.tool.call.result": "x" * 900}
    answer = desk.send(*(build_span(number=number, attributes=large) for number in range(1, 5)))
    assert answer.partial_success.rejected_spans == 2


def test_long_deep_and_many_attributes_are_cut(desk: TraceDesk) -> None:
    nested: Any = "bottom"
    for _ in range(40):
        nested = [nested]
    many = {f"clerkship.{number}": number for number in range(MAX_ATTRIBUTES + 20)}
    desk.send(
        build_span("a" * 1000, 1, attributes={**TOOL, "gen_ai.tool.call.result": "x" * (MAX_TEXT + 5)}),
        build_span("b", 2, attributes={**TOOL, "gen_ai.tool.call.arguments": {"deep": nested}}),
        build_span("c", 3, attributes=many),
    )
    desk.end()
    first, second, third = sorted(desk.spans, key=lambda span: span.name)
    assert (len(first.name), len(first.result)) == (200, MAX_TEXT + 1)
    assert CUT_MARKER in str(second.arguments)
    assert len(third.attributes) == MAX_ATTRIBUTES


def test_token_and_ids_of_the_trace_are_not_logged(desk: TraceDesk) -> None:
    address, name = desk.address, desk.address.endpoint.rpartition("/")[2]
    _, trace_id, span_id, _ = address.traceparent.split("-")
    secrets = f"{address.token} {name} {trace_id} {span_id}"
    desk.send(build_span(secrets, attributes={**TOOL, "gen_ai.tool.call.arguments": {"k": secrets}}))
    desk.end()
    log = desk.playground.log.data() + json.dumps(desk.measured).encode()
    assert all(secret.encode() not in log for secret in secrets.split())
    assert "[trace token]" in desk.spans[0].name
