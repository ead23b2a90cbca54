"""Measure how many spans a second the receiver takes from an agent, in each format, and logs at the end of a trial.

    python -m benchmarks.traces [--trials 4]

The receiver is a process of its own. The client sends requests of 512 spans, one after the other, as an exporter does,
until a trial has as many as it stores. Every third span is the call of a model, every third one that of a tool.
"""

import argparse
import gzip
import http.client
import json
import os
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any
from urllib.parse import urlsplit

from benchmarks.processes import cpu_seconds, start_server
from benchmarks.table import print_table
from clerkship.model.environment import Environment
from clerkship.playground.gateway import Gateway
from clerkship.playground.http import open_http
from clerkship.playground.playground import Playground
from clerkship.playground.traces import open_traces
from clerkship.traces.span_encoding import render_request
from clerkship.traces.trial_spans import MAX_SPANS
from clerkship.traces.trial_trace import AttributeValue, OwnSpan

MODULE = "benchmarks.traces"
SPANS_IN_REQUEST = 512
TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
AIM = "≥ 5,000 /s"
ATTRIBUTES: list[dict[str, AttributeValue]] = [
    {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-5-mini",
        "gen_ai.usage.input_tokens": 1200,
        "gen_ai.usage.output_tokens": 80,
        "gen_ai.input.messages": "How many boxes were ordered? " * 30,
    },
    {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "read_file",
        "gen_ai.tool.call.arguments": '{"path": "inbox/order.txt"}',
        "gen_ai.tool.call.result": "12 boxes of gloves, 3 of masks. " * 10,
    },
    {"http.request.method": "GET", "server.address": "127.0.0.1", "http.response.status_code": 200},
]


def build_spans() -> list[OwnSpan]:
    """Return as many spans as a trial stores."""
    now = time.time_ns() - MAX_SPANS * 1000
    return [
        OwnSpan(f"{number:016x}", "", f"span {number % 3}", 1, now, now + 500, ATTRIBUTES[number % 3], None, TRACE_ID)
        for number in range(1, MAX_SPANS + 1)
    ]


def render_json(spans: list[OwnSpan]) -> bytes:
    """Return a request in JSON."""
    data = [
        {
            "traceId": span.trace_id,
            "spanId": span.span_id,
            "name": span.name,
            "startTimeUnixNano": str(span.started),
            "endTimeUnixNano": str(span.ended),
            "attributes": [{"key": key, "value": {_name_kind(value): value}} for key, value in span.attributes.items()],
        }
        for span in spans
    ]
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": data}]}]}).encode()


def _name_kind(value: AttributeValue) -> str:
    return "intValue" if isinstance(value, int) else "stringValue"


FORMATS: dict[str, tuple[Callable[[list[OwnSpan]], bytes], dict[str, str]]] = {
    "protobuf": (render_request, {"Content-Type": "application/x-protobuf"}),
    "protobuf, gzip": (
        lambda spans: gzip.compress(render_request(spans), 6),
        {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"},
    ),
    "JSON": (render_json, {"Content-Type": "application/json"}),
}


def serve() -> None:
    """Open a trial for each line that is read; end the one before, and say how long that took."""
    gateway = Gateway()
    listener, before, ended = open_http(gateway), None, 0.0
    for number, _ in enumerate(sys.stdin):
        if before is not None and gateway.traces is not None:
            began = time.perf_counter()
            gateway.traces.end_trial(before)
            ended = time.perf_counter() - began
            assert len(before.log.events) > MAX_SPANS
        before = Playground(Environment(name="desk", simulators={}), {}, "desk")
        address = open_traces(gateway, before, listener.url, (number,))
        about = {"url": address.endpoint, "headers": address.headers, "pid": os.getpid(), "ended": ended}
        print(json.dumps(about), flush=True)
    listener.close()


def send(address: dict[str, Any], bodies: list[bytes], headers: dict[str, str]) -> tuple[float, float]:
    """Send requests to a trial; return the seconds, and the CPU seconds of the receiver."""
    parts = urlsplit(address["url"])
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    before, began = cpu_seconds(address["pid"]), time.perf_counter()
    for body in bodies:
        connection.request("POST", f"{parts.path}/v1/traces", body, {**headers, **address["headers"]})
        response = connection.getresponse()
        content = response.read()
        assert (response.status, content) in ((200, b""), (200, b"{}")), content
    seconds = time.perf_counter() - began
    connection.close()
    return seconds, cpu_seconds(address["pid"]) - before


def run(trials: int) -> list[list[str]]:
    """Return the rows of the table."""
    spans, rows, ends = build_spans(), [], []
    parts = [spans[start : start + SPANS_IN_REQUEST] for start in range(0, len(spans), SPANS_IN_REQUEST)]
    with start_server(MODULE, "receiver") as open_trial:
        address = open_trial()
        for name, (render, headers) in FORMATS.items():
            bodies, taken = [render(part) for part in parts], []
            for _ in range(trials):
                taken.append(send(address, bodies, headers))
                address = open_trial()
                ends.append(address["ended"])
            rate = MAX_SPANS / median(seconds for seconds, _ in taken)
            cpu = sum(cpu for _, cpu in taken) / trials / MAX_SPANS
            rows.append([f"received, {name}", f"{rate:,.0f} /s", f"{cpu * 1_000_000:.0f} µs", AIM])
    began = time.perf_counter()
    for part in parts:
        render_request(part)
    rendered = time.perf_counter() - began
    logged = median(ends)
    per_span = [seconds / MAX_SPANS * 1_000_000 for seconds in (logged, rendered)]
    return [
        *rows,
        ["logged at the end of a trial", f"{MAX_SPANS / logged:,.0f} /s", f"{per_span[0]:.0f} µs", ""],
        ["our own, rendered for a collector", f"{MAX_SPANS / rendered:,.0f} /s", f"{per_span[1]:.0f} µs", ""],
    ]


def main() -> None:
    """Print the table, or serve."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trials", type=int, default=4)
    parser.add_argument("--case", default="")
    options = parser.parse_args()
    if options.case:
        serve()
    else:
        print_table(["spans", "rate", "processor time per span", "aim"], run(options.trials))


if __name__ == "__main__":
    main()
