"""Facts that differ between machines, stored beside the log and outside its hash chain."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_REQUESTS = 10_000
"""Requests whose times are stored; further ones are only counted."""
MAX_CALLS = 10_000
"""Calls of the agent whose times are stored."""
MAX_UNAUTHENTICATED = 50
"""Requests without a valid credential that are described; further ones are only counted."""
MAX_UNAUTHENTICATED_LENGTH = 300
"""Characters of each part of such a request."""


@dataclass
class UnloggedRequests:
    """Requests without a valid credential. They are never logged: otherwise any client could change the log."""

    count: int = 0
    requests: list[dict[str, Any]] = field(default_factory=list)

    def add(self, **request: str | int) -> None:
        """Count a request, and describe it if fewer than the limit are described."""
        self.count += 1
        if len(self.requests) < MAX_UNAUTHENTICATED:
            cut = {name: v[:MAX_UNAUTHENTICATED_LENGTH] if isinstance(v, str) else v for name, v in request.items()}
            self.requests.append({name: value for name, value in cut.items() if value != ""})

    def data(self) -> dict[str, Any]:
        """Return the stored form."""
        return {"count": self.count, "requests": self.requests}


@dataclass
class Sidecar:
    """Wall-clock times of requests, and facts about the machine."""

    facts: dict[str, Any] = field(default_factory=dict)
    requests: list[tuple[int, str, str, int, float]] = field(default_factory=list)
    """Log position, sandbox, operation, status and duration of each request. Stored as `touches`."""
    requests_dropped: int = 0
    handed: list[int] = field(default_factory=list)
    """The number of events when each message of a person was passed to the agent."""
    handed_from: list[str] = field(default_factory=list)
    """The sandboxes of those messages, if there are several people."""

    call_times: dict[int, float] = field(default_factory=dict)
    """The milliseconds that each call of the agent took, by the number of the event that logs it."""
    model_calls: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Tokens, cost and milliseconds of each model call of the agent, by the number of the event that logs it."""
    spans: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Times, tokens and ids of each span of the agent, by the number of the event that logs it."""
    unauthenticated: UnloggedRequests = field(default_factory=UnloggedRequests)

    def add_request(self, seq: int, sandbox: str, operation: str, status: int, wall_ms: float) -> None:
        """Add a request: log position, sandbox, operation, status, and duration."""
        if len(self.requests) < MAX_REQUESTS:
            self.requests.append((seq, sandbox, operation, status, round(wall_ms, 3)))
        else:
            self.requests_dropped += 1

    def add_call(self, seq: int, wall_ms: float) -> None:
        """Add the duration of a call of the agent, beyond the limit of calls none."""
        if len(self.call_times) < MAX_CALLS:
            self.call_times[seq] = round(wall_ms, 3)

    def add_model_call(self, seq: int, call: dict[str, Any]) -> None:
        """Add a model call of the agent, beyond the limit of calls none."""
        if len(self.model_calls) < MAX_CALLS:
            self.model_calls[seq] = call

    def add_span(self, seq: int, span: dict[str, Any]) -> None:
        """Add a span of the agent."""
        self.spans[seq] = span

    def list_calls(self) -> list[dict[str, Any]]:
        """Return the stored form of the durations of calls, which `read_measurements` reads."""
        return [{"seq": seq, "wall_ms": wall_ms} for seq, wall_ms in self.call_times.items()]

    def record_message(self, events: int, sandbox: str | None) -> None:
        """Record that a person's message was passed to the agent; with its sandbox, if there are several people."""
        self.handed.append(events)
        if sandbox is not None:
            self.handed_from.append(sandbox)

    def data(self, *, timed: bool = True) -> dict[str, Any]:
        """Return the stored form; without durations for a replay, because they are never the same twice."""
        names = ("seq", "sandbox", "operation", "status", *(("wall_ms",) if timed else ()))
        requests = [dict(zip(names, request, strict=False)) for request in self.requests]
        handed: dict[str, Any] = {"handed": self.handed} if self.handed else {}
        if self.handed_from:
            handed |= {"handed_from": self.handed_from}
        if self.call_times and timed:
            handed |= {"calls": self.list_calls()}
        if self.model_calls:
            handed |= {"model_calls": self.list_model_calls(timed=timed)}
        if self.spans:
            handed |= {"spans": [{"seq": seq, **_select_fields(span, timed)} for seq, span in self.spans.items()]}
        if self.unauthenticated.count:
            handed |= {"unauthenticated": self.unauthenticated.data()}
        return self.facts | handed | {"touches": requests, "touches_untold": self.requests_dropped}

    def list_model_calls(self, *, timed: bool = True) -> list[dict[str, Any]]:
        """Return the stored form of model calls, which `read_measurements` reads."""
        return [{"seq": seq, **_select_fields(call, timed)} for seq, call in self.model_calls.items()]


_NEVER_THE_SAME = ("_ms", "_ns", "span_id")
"""What the names of fields end with that differ between two replays."""


def _select_fields(fields: Mapping[str, Any], timed: bool) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if timed or not name.endswith(_NEVER_THE_SAME)}


def read_measurements(data: Mapping[str, Any]) -> Sidecar:
    """Return a sidecar with what was measured of calls, from its stored form."""
    return Sidecar(
        call_times={call["seq"]: call["wall_ms"] for call in data.get("calls", ())},
        model_calls={call["seq"]: call for call in data.get("model_calls", ())},
        spans={span["seq"]: span for span in data.get("spans", ())},
    )
