"""The OTLP/HTTP receiver: takes the spans of each trial at an address and with a token of its own.

See docs/decisions/0043-traces.md.
"""

import threading
import zlib
from collections.abc import Callable
from typing import NamedTuple

from clerkship.kit.secrets import equal_in_constant_time, new_name, new_token
from clerkship.sandbox.authentication.bearer import parse_bearer_token
from clerkship.sandbox.handle import TRACES
from clerkship.sandbox.request import Refusal, Reply, Request
from clerkship.sandbox.trace_access import TOKEN_HEADER, TraceAddress
from clerkship.traces.otlp import (
    JSON,
    PROTOBUF,
    BadRequest,
    OtlpFormat,
    SpanBatch,
    parse_spans,
    render_error,
    render_success,
)
from clerkship.traces.times import EventTimes
from clerkship.traces.trace_ids import TraceIds
from clerkship.traces.trial_spans import SpanHost, TrialSpans

TOKEN_PREFIX = "clk_otl"
MAX_SENT_BYTES = 4_000_000
"""Bytes of the body of a request as it is sent."""
MAX_BODY_BYTES = 16_000_000
"""Bytes of the body of a request when it is unpacked."""
GRACE_SECONDS = 1.0
"""Wall seconds that the end of a trial waits for requests with spans that have arrived and are not answered yet."""
_OTHER_SIGNALS = ("/v1/metrics", "/v1/logs")
"""Accepted and not read: an exporter that is configured for all signals must not log errors."""
_INVALID_ARGUMENT, _NOT_FOUND, _UNAUTHENTICATED, _INTERNAL = 3, 5, 16, 13
_CODES = {401: _UNAUTHENTICATED, 404: _NOT_FOUND, 500: _INTERNAL}
"""The codes of `google.rpc.Code` by HTTP status; any other is an invalid argument."""


class OpenTraces(NamedTuple):
    """A trial whose agent may send spans."""

    token: str
    spans: TrialSpans


class TraceReceiver:
    """The spans of all agents of a run."""

    def __init__(self) -> None:
        self._trials: dict[str, OpenTraces] = {}
        self._names: dict[int, str] = {}
        self._open: dict[str, int] = {}
        """The number of requests that are not answered yet, by trial."""
        self._changed = threading.Condition()

    def open_trial(
        self,
        host: SpanHost,
        base_url: Callable[[], str],
        ids: TraceIds,
        times: EventTimes | None = None,
        *,
        is_live: bool = False,
    ) -> TraceAddress:
        """Accept the spans of a trial; return where its agent sends them.

        `times` records when events are logged; without it, a new one does. With `is_live`, spans are logged when they
        arrive.
        """
        if times is None:
            with host.lock:
                times = EventTimes(host.now, is_paced=host.environment.time == "paced")
                host.subscribe(times.record)
        name, token = new_name("trial"), new_token(TOKEN_PREFIX)
        host.hidden |= {token: "[trace token]", name: "[trial]", ids.trace_id: "[trace]", ids.agent_span_id: "[span]"}
        self._trials[name] = OpenTraces(token, TrialSpans(host, times, is_live=is_live))
        self._names[id(host)] = name
        return TraceAddress(f"{base_url()}/{TRACES}/{name}", token, ids.traceparent)

    def end_trial(self, host: SpanHost) -> None:
        """Accept no more spans of a trial, and log those that have arrived.

        Requests that are not answered yet are waited for: their program may have exited right after it sent them.
        """
        name = self._names.pop(id(host), "")
        if not name:
            return
        with self._changed:
            self._changed.wait_for(lambda: not self._open.get(name), GRACE_SECONDS)
            opened = self._trials.pop(name)
            self._open.pop(name, None)
        opened.spans.end()

    def find_trial(self, name: str) -> SpanHost | None:
        """Return the trial with this name, while its agent may send spans."""
        opened = self._trials.get(name)
        return None if opened is None else opened.spans.host

    def expect(self, name: str) -> None:
        """Record that a request has arrived, so that the end of the trial waits for it."""
        with self._changed:
            if name in self._trials:
                self._open[name] = self._open.get(name, 0) + 1

    def end_request(self, name: str) -> None:
        """Record that a request was answered."""
        with self._changed:
            left = self._open.pop(name, 0) - 1
            if left > 0:
                self._open[name] = left
            else:
                self._changed.notify_all()

    def answer(self, name: str, request: Request, objection: Refusal | None = None) -> Reply:
        """Answer a request to `/otlp/{name}/v1/…`. `objection` is what is wrong with its transport."""
        form = _find_format(request)
        try:
            return self._answer(name, request, form, objection)
        except Refusal as refusal:
            code = _CODES.get(refusal.status, _INVALID_ARGUMENT)
            return _reply(refusal.status, form, render_error(form or JSON, code, refusal.reason), refusal.headers)

    def _answer(self, name: str, request: Request, form: OtlpFormat | None, objection: Refusal | None) -> Reply:
        trial = self._trials.get(name)
        tokens = (request.headers.get(TOKEN_HEADER, ""), parse_bearer_token(request.headers))
        if trial is None or not any(equal_in_constant_time(trial.token, token) for token in tokens):
            reason = "the token is not that of this trial, or the trial is over; use OTEL_EXPORTER_OTLP_HEADERS of it"
            raise Refusal(401, "unauthenticated", reason)
        if objection is not None:
            raise objection
        if request.path not in ("/v1/traces", *_OTHER_SIGNALS):
            raise Refusal(404, "not_found", f"no {request.path[:100]} here (expected /v1/traces)")
        if request.method != "POST":
            raise Refusal(405, "method_not_allowed", f"{request.method} is not POST", {"Allow": "POST"})
        if form is None:
            media = request.headers.get("content-type", "")[:100]
            raise Refusal(415, "unsupported", f"unknown content type `{media}` (expected {PROTOBUF} or {JSON})")
        if request.path in _OTHER_SIGNALS:
            return _reply(200, form, render_success(form))
        try:
            batch = parse_spans(unpack_body(request), form, trial.spans.free)
        except BadRequest as error:
            raise Refusal(400, "bad_request", str(error)) from None
        rejected: SpanBatch | None = trial.spans.add(batch)
        if rejected is None:
            raise Refusal(401, "run_over", "the trial is over, so its token is no longer valid")
        return _reply(200, form, render_success(form, rejected.rejected, rejected.reason))


def _find_format(request: Request) -> OtlpFormat | None:
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media == PROTOBUF:
        return PROTOBUF
    return JSON if media == JSON else None


def _reply(status: int, form: OtlpFormat | None, body: bytes, headers: object = None) -> Reply:
    """Return a reply in the format of the request, which also one without a body names."""
    media = form or JSON
    extra = dict(headers) if isinstance(headers, dict) else {}
    return Reply(status, body, media, {"content-type": media, **extra})


def unpack_body(request: Request) -> bytes:
    """Return the body of a request without its compression; raise Refusal if it is too large or broken."""
    body, encoding = request.body, request.headers.get("content-encoding", "identity").strip().lower()
    if len(body) > MAX_SENT_BYTES:
        raise Refusal(413, "too_large", f"the body has {len(body):,} bytes (at most {MAX_SENT_BYTES:,})")
    if encoding in ("", "identity"):
        return body
    if encoding != "gzip":
        raise Refusal(415, "unsupported", f"unknown content encoding `{encoding[:40]}` (expected gzip)")
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        unpacked = unpacker.decompress(body, MAX_BODY_BYTES + 1)
    except zlib.error as error:
        raise Refusal(400, "bad_request", f"the body is not gzip: {error}") from None
    if len(unpacked) > MAX_BODY_BYTES:
        raise Refusal(413, "too_large", f"the unpacked body has over {MAX_BODY_BYTES:,} bytes")
    if not unpacker.eof:
        raise Refusal(400, "bad_request", "the body in gzip is cut off")
    return unpacked
