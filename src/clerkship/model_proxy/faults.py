"""The effects of faults on model calls, in the form of each provider.

See docs/decisions/0040-faults-of-model-calls.md.
"""

import math
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple

import orjson

from clerkship.model.duration import render_duration
from clerkship.model_proxy.refusals import build_refusal, stream_response
from clerkship.model_proxy.trial_calls import SOURCE, OpenCall, TrialHost
from clerkship.model_proxy.truncation import cut_answer
from clerkship.providers.contract import ProviderApi
from clerkship.providers.server_sent_events import DONE, StreamEvent, split_events
from clerkship.sandbox.faults.contract import ModelFault
from clerkship.sandbox.faults.model_faults import (
    ModelErrorFault,
    RateLimitedModelFault,
    RefusingModelFault,
    SlowModelFault,
    TruncatedAnswerFault,
)
from clerkship.sandbox.request import JSON

_ERROR_STATUSES = {"openai": 500, "anthropic": 529, "gemini": 503}
_OVERLOADED = 529
"""Only Anthropic has this status."""
_RATE_LIMIT_MESSAGE = "Rate limit reached for requests"
_ERROR_MESSAGE = "The server is overloaded or had an error while processing the request"


class InjectedAnswer(NamedTuple):
    """What the agent gets instead of the answer of a provider."""

    status: int
    data: bytes
    headers: Mapping[str, str] = {}
    media: str = JSON


class CallFaults:
    """The faults that affect one call."""

    def __init__(self, host: TrialHost, api: ProviderApi, call: OpenCall) -> None:
        self._host, self._api, self._call = host, api, call
        self.delay = timedelta(0)
        """How much later the answer is sent, on a paced clock."""
        self._cuts: list[Any] = []

    @property
    def cuts(self) -> bool:
        """Whether the answer is to be cut, for which the whole of it is needed."""
        return bool(self._cuts)

    def inject(self, *, sends_events: bool) -> InjectedAnswer | None:
        """Apply the faults to a call, in the order in which they were added; return what one of them answers instead.

        `sends_events` says whether a refusal is sent as a stream of events.
        """
        with self._host.lock:
            for active, rng in self._host.faults.matching_calls(SOURCE, self._call.operation):
                fault = active.fault
                if isinstance(fault, SlowModelFault):
                    self._slow_down(active, fault.choose_delay(rng))
                elif isinstance(fault, TruncatedAnswerFault):
                    self._cuts.append(active)
                else:
                    answer, details = self._answer(fault, sends_events=sends_events)
                    self._trigger(active, details)
                    self._cuts.clear()
                    return answer
        return None

    def _trigger(self, active: Any, details: Mapping[str, Any]) -> None:
        if not self._host.closed:  # the run may end while a call is open
            self._host.faults.trigger(active, SOURCE, self._call.operation, details)

    def _slow_down(self, active: Any, delay: timedelta) -> None:
        self._trigger(active, {"by": render_duration(delay)})
        if self._host.environment.time == "stepped":
            self._host.advance(delay)
        else:
            self.delay += delay

    def _answer(self, fault: ModelFault, *, sends_events: bool) -> tuple[InjectedAnswer, dict[str, Any]]:
        """Return what is answered instead of the model, and what the log says about it."""
        name, model = self._api.name, self._call.request.model
        if isinstance(fault, RateLimitedModelFault):
            seconds = fault.retry_after.total_seconds()
            whole = math.ceil(seconds)
            headers = {"retry-after": str(whole), "retry-after-ms": str(round(seconds * 1000))}
            error = self._render_error(429, "rate_limit_exceeded", _RATE_LIMIT_MESSAGE, seconds)
            return InjectedAnswer(429, error, headers), {"status": 429, "retry_after": whole}
        if isinstance(fault, ModelErrorFault):
            status = fault.status or _ERROR_STATUSES[name]
            status = 503 if status == _OVERLOADED and name != "anthropic" else status
            error = self._render_error(status, "server_error", _ERROR_MESSAGE)
            return InjectedAnswer(status, error), {"status": status}
        assert isinstance(fault, RefusingModelFault)
        events = build_refusal(self._call.operation, model, fault.text, is_stream=sends_events)
        if sends_events:
            return InjectedAnswer(200, b"".join(map(render_event, events)), media="text/event-stream"), {}
        is_list = self._call.request.is_stream  # of Gemini: a list of events, if no stream of events was asked for
        return InjectedAnswer(200, orjson.dumps(events if is_list else events[0])), {}

    def _render_error(self, status: int, code: str, message: str, retry_after: float | None = None) -> bytes:
        """Return an error with what this provider says in such an error, and in no other."""
        body = orjson.loads(self._api.render_error(status, code, message))
        if self._api.name == "openai" and retry_after is not None:
            body["error"]["type"] = "requests"
        if self._api.name == "gemini" and retry_after is not None:
            detail = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{retry_after:g}s"}
            body["error"]["details"] = [detail]
        return orjson.dumps(body)

    def cut(self, data: bytes, *, is_stream: bool) -> bytes:
        """Return an answer as it is after the faults that cut it; one that has no text is not affected."""
        for active in self._cuts:
            bodies = [*filter(None, map(_find_body, split_events(data)))] if is_stream else _parse(data)
            is_response = is_stream and self._call.operation == "responses"
            if is_response:  # its last event has all of it
                last = [body.get("response") for body in bodies if body.get("type") == "response.completed"]
                bodies = [response for response in last if isinstance(response, dict)]
            with self._host.lock:  # other calls may have been cut meanwhile
                is_used_up = active.fault.times == active.times_triggered
                cut = None if is_used_up else cut_answer(self._call.operation, bodies, active.fault.keep)
                if cut is None:
                    continue
                self._trigger(active, cut._asdict())
            events = stream_response(bodies[0]) if is_response else bodies
            whole = bodies if data.lstrip().startswith(b"[") else bodies[0]
            data = b"".join(map(render_event, events)) if is_stream else orjson.dumps(whole)
        return data


_DONE: Mapping[str, Any] = {"done": True}
"""Stands for the last event of a chat, which is no JSON."""


def render_event(data: Mapping[str, Any]) -> bytes:
    """Return an event of a stream. Those of some APIs have a name, which is their `type`."""
    name = f"event: {data['type']}\n".encode() if "type" in data else b""
    return name + b"data: " + (DONE if data == _DONE else orjson.dumps(data)) + b"\n\n"


def _find_body(event: StreamEvent) -> Any:
    return _DONE if event.is_done else event.data


def _parse(data: bytes) -> list[Any]:
    """Return the objects of a body; none if it has another form."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return []
    bodies = value if isinstance(value, list) else [value]
    return bodies if all(isinstance(body, dict) for body in bodies) else []
