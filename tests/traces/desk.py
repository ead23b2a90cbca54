"""A trial whose agent may send spans, without a run: a playground, its HTTP server, and the receiver."""

import gzip
import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Self

import httpx
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1 import trace_pb2

from clerkship.events.agent import ToolExecuted
from clerkship.events.event import Event
from clerkship.events.lifecycle import SpanRecorded
from clerkship.kit.wall import time_ns
from clerkship.model.environment import Environment
from clerkship.playground.gateway import Gateway
from clerkship.playground.http import open_http
from clerkship.playground.playground import Playground
from clerkship.playground.traces import open_traces

PROTOBUF = "application/x-protobuf"
SECOND = 1_000_000_000


class TraceDesk:
    """A running trial, and a client of its address for spans."""

    def __init__(self, *, is_live: bool = False) -> None:
        self.gateway = Gateway()
        self.listener = open_http(self.gateway)
        self.playground = self.open_playground()
        trial = ("run", "desk", 1, 1)
        self.address = open_traces(self.gateway, self.playground, self.listener.url, trial, is_live=is_live)
        self.client = httpx.Client(trust_env=False, timeout=20, verify=False)

    def open_playground(self) -> Playground:
        return Playground(Environment(name="desk", simulators={}), {}, "desk")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        self.client.close()
        self.listener.close()

    def end(self) -> None:
        """End the trial for its agent."""
        assert self.gateway.traces is not None
        self.gateway.traces.end_trial(self.playground)

    def post(self, content: bytes, media: str = PROTOBUF, path: str = "/v1/traces", **headers: str) -> httpx.Response:
        given = {**self.address.headers, "content-type": media, **headers}
        return self.client.post(f"{self.address.endpoint}{path}", content=content, headers=given)

    def send(self, *spans: Mapping[str, Any], **headers: str) -> ExportTraceServiceResponse:
        """Send spans in protobuf, and return the response."""
        response = self.post(build_request(*spans).SerializeToString(), **headers)
        assert response.status_code == 200, response.text
        answer: ExportTraceServiceResponse = ExportTraceServiceResponse.FromString(response.content)
        return answer

    def pass_time(self, seconds: float) -> None:
        self.playground.advance(timedelta(seconds=seconds))

    @property
    def events(self) -> list[Event]:
        return self.playground.log.ordered()

    @property
    def spans(self) -> list[SpanRecorded]:
        """The logged spans, in order."""
        return [event.payload for event in self.events if isinstance(event.payload, SpanRecorded)]

    @property
    def tools(self) -> list[ToolExecuted]:
        """The logged tools, in order."""
        return [event.payload for event in self.events if isinstance(event.payload, ToolExecuted)]

    @property
    def measured(self) -> list[dict[str, Any]]:
        """What the sidecar has of the spans."""
        spans: list[dict[str, Any]] = self.playground.sidecar.data().get("spans", [])
        return spans


def build_span(name: str = "work", number: int = 1, **fields: Any) -> dict[str, Any]:
    """Return a span that has taken a second until now, with other fields where they are given."""
    started = time_ns() - SECOND
    rest = {"start": started, "end": started + SECOND, "parent": 0, "attributes": {}, "error": ""}
    return {"name": name, "number": number, **rest, **fields}


def build_request(*spans: Mapping[str, Any]) -> ExportTraceServiceRequest:
    """Return a request with spans, by the official classes."""
    request = ExportTraceServiceRequest()
    resource_spans = request.resource_spans.add()
    resource_spans.resource.attributes.add(key="service.name").value.string_value = "agent"
    scope = resource_spans.scope_spans.add()
    for fields in spans:
        span = scope.spans.add(
            name=fields["name"],
            trace_id=bytes.fromhex("0af7651916cd43dd8448eb211c80319c"),
            span_id=fields["number"].to_bytes(8, "big"),
            parent_span_id=fields["parent"].to_bytes(8, "big") if fields["parent"] else b"",
            start_time_unix_nano=fields["start"],
            end_time_unix_nano=fields["end"],
        )
        for key, value in fields["attributes"].items():
            _set_value(span.attributes.add(key=key).value, value)
        if fields["error"]:
            span.status.code, span.status.message = trace_pb2.Status.STATUS_CODE_ERROR, fields["error"]
    return request


def _set_value(target: Any, value: Any) -> None:
    if isinstance(value, dict):
        target.kvlist_value.SetInParent()
        for key, part in value.items():
            _set_value(target.kvlist_value.values.add(key=key).value, part)
    elif isinstance(value, list):
        target.array_value.SetInParent()
        for part in value:
            _set_value(target.array_value.values.add(), part)
    else:
        kind = {bool: "bool_value", int: "int_value", float: "double_value", str: "string_value"}[type(value)]
        setattr(target, kind, value)


def read_status(response: httpx.Response) -> tuple[int, int, str]:
    """Return the status of a refusal, and the code and message of its `google.rpc.Status`."""
    if response.headers["content-type"] == PROTOBUF:
        status = Status.FromString(response.content)
        return response.status_code, status.code, status.message
    data = json.loads(response.content)
    return response.status_code, data["code"], data["message"]


def pack(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)  # the bytes are part of the ids of tests
