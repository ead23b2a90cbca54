"""The spans of one trial: collected while it goes on, and logged as events in the order in which they started."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from clerkship.events.agent import SPANS_DROPPED, Noted, ToolExecuted
from clerkship.events.event import Payload, map_texts
from clerkship.events.lifecycle import SpanRecorded
from clerkship.events.log import Log, LogWriter
from clerkship.events.sidecar import Sidecar
from clerkship.kit.text import replace_surrogates
from clerkship.kit.wall import time_ns
from clerkship.model.environment import Environment
from clerkship.model.usage import MODEL_USAGE
from clerkship.traces.conventions import SpanFacts, read_facts
from clerkship.traces.otlp import NO_END, ReceivedSpan, SpanBatch
from clerkship.traces.seen_calls import SeenCalls
from clerkship.traces.times import EventTimes, find_bounds

SOURCE = "traces"
"""The source of the events of spans."""
MAX_SPANS = 5_000
"""Spans of a trial; further ones are dropped and counted."""
MAX_SPAN_CHARACTERS = 20_000_000
"""Characters of texts in all spans of a trial."""
MAX_ANCESTORS = 64
"""Spans that are looked at above a span."""
_MODEL_OPERATIONS = ("chat", "embeddings")


class SpanHost(Protocol):
    """The part of a playground that spans need."""

    closed: bool
    log: Log
    writer: LogWriter
    sidecar: Sidecar
    environment: Environment
    hidden: dict[str, str]
    """Texts that the log replaces."""

    @property
    def now(self) -> datetime:
        """The simulated time."""

    @property
    def lock(self) -> AbstractContextManager[Any, Any]:
        """The lock that each change needs."""

    def redactor(self) -> Callable[[str], str]:
        """Return a function that replaces the credentials of the trial's sandboxes."""

    def subscribe(self, subscriber: Any) -> None:
        """Call a function with every later event."""


class _TimedSpan(NamedTuple):
    """A span, what it says, and when it arrived."""

    span: ReceivedSpan
    facts: SpanFacts
    arrived: int

    @property
    def key(self) -> tuple[str, str]:
        return self.span.trace_id, self.span.span_id


class TrialSpans:
    """Collects the spans of a trial. With `is_live`, spans are logged when they arrive; otherwise at its end."""

    def __init__(self, host: SpanHost, times: EventTimes, *, is_live: bool) -> None:
        self.host = host
        self._times, self._is_live = times, is_live
        self._waiting: list[_TimedSpan] = []
        self._known: dict[tuple[str, str], _TimedSpan] = {}
        self._events: dict[tuple[str, str], int] = {}
        """The number of the event of each logged span."""
        self._seen = SeenCalls()
        self._counted: set[str] = set()
        """The ids of the responses that are in the usage."""
        self._redact: Callable[[str], str] = str
        self._characters = 0
        self._dropped = 0
        self._usage = {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0}

    @property
    def free(self) -> int:
        """How many more spans are accepted."""
        return MAX_SPANS - len(self._known) if self._characters < MAX_SPAN_CHARACTERS else 0

    def add(self, batch: SpanBatch) -> SpanBatch | None:
        """Add the spans of a request; return those that are rejected, or None if the trial is over.

        A span that arrived before was sent again, because its sender missed the response.
        """
        arrived, rejected = time_ns(), 0
        timed = [_TimedSpan(span, read_facts(span.name, span.attributes), arrived) for span in batch.spans]
        with self.host.lock:
            if self.host.closed:
                return None
            for each in timed:
                if each.key in self._known:
                    continue
                if self.free <= 0:
                    rejected += 1
                    continue
                self._characters += _count_characters(each.span.attributes)
                read = each._replace(span=each.span._replace(attributes={}))  # to free the memory of the rest
                self._known[each.key] = read
                self._waiting.append(read)
            self._dropped += batch.rejected + rejected
            if self._is_live:
                self._log_waiting()
        reason = f"{rejected} more than a trial stores" if rejected else batch.reason
        return SpanBatch([], batch.rejected + rejected, reason)

    def end(self) -> None:
        """Log the spans that wait, and note how many were dropped."""
        with self.host.lock:
            if self.host.closed:
                return
            self._log_waiting()
            if self._dropped:
                self._emit("agent", Noted(what=SPANS_DROPPED, data={"count": self._dropped}), self.host.now)
                self._dropped = 0
            facts = self.host.sidecar.facts
            if self._usage["calls"] and not self._seen.has_model_calls and MODEL_USAGE not in facts:
                facts[MODEL_USAGE] = dict(self._usage)

    def _log_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        self._redact = self.host.redactor()
        self._seen.read(self.host.log.events)
        offsets = self._find_offsets(waiting)
        waiting.sort(key=lambda each: (each.span.started + offsets[each.span.resource], self._depth(each)))
        for each in waiting:
            if self.host.log.is_full:
                self._dropped += 1
            else:
                self._log_span(each, offsets[each.span.resource])

    def _find_offsets(self, spans: Iterable[_TimedSpan]) -> dict[str, int]:
        """Return what is added to the times of each process that sent spans."""
        by_resource: dict[str, list[tuple[int, int, int]]] = {}
        for span, _, arrived in spans:
            by_resource.setdefault(span.resource, []).append((span.started, span.ended or span.started, arrived))
        return {name: find_bounds(rows).find_offset(self._times.started) for name, rows in by_resource.items()}

    def _log_span(self, timed: _TimedSpan, offset: int) -> None:
        span, facts, _ = timed
        model_call = self._seen.find_model_call(facts) if facts.operation in _MODEL_OPERATIONS else None
        is_error = span.is_error or bool(facts.error)
        recorded = SpanRecorded(
            name=self._clean(span.name),
            operation=facts.operation,
            model=self._clean(facts.model),
            provider=self._clean(facts.provider),
            tool_name=self._clean(facts.tool_name),
            arguments=self._clean(dict(facts.arguments)),
            result=self._clean(facts.result),
            is_error=is_error,
            error_message=self._clean(span.message or facts.error) if is_error else "",
            parent=self._events.get((span.trace_id, span.parent_id)),
            model_call=model_call,
            attributes=self._clean(dict(facts.own)),
        )
        started, ended = span.started + offset, (span.ended or span.started) + offset
        seq = self._events[timed.key] = self._emit(SOURCE, recorded, self._to_simulated(started))
        self._add_measurements(seq, timed, offset)
        if facts.operation == "execute_tool" and self._is_new_tool(timed):
            executed = ToolExecuted(
                tool_name=recorded.tool_name,
                arguments=recorded.arguments,
                result=recorded.result,
                is_error=is_error,
                error_message=recorded.error_message if is_error else None,
            )
            self._emit("agent", executed, self._to_simulated(ended), seq)

    def _to_simulated(self, wall: int) -> datetime:
        return min(self._times.to_simulated(wall), self.host.now)

    def _emit(self, source: str, payload: Payload, at: datetime, cause: int | None = None) -> int:
        """Append an event where it happened. No sandbox changes by it, and no person notices it."""
        return self.host.writer.append(source, payload, "agent", at, cause).seq

    def _add_measurements(self, seq: int, timed: _TimedSpan, offset: int) -> None:
        """Store what differs between two equal runs beside the log, and count the tokens of a model call."""
        span, facts, _ = timed
        fields: dict[str, Any] = {"span_id": span.span_id, "start_ns": span.started}
        if span.ended != NO_END:
            fields["wall_ms"] = round((span.ended - span.started) / 1_000_000, 3)
        if offset:
            fields["offset_ms"] = round(offset / 1_000_000, 3)
        for name in ("input_tokens", "output_tokens", "response_id", "call_id"):
            value = getattr(facts, name)
            if value not in (None, ""):
                fields[name] = self._redact(value) if isinstance(value, str) else value
        if facts.operation in _MODEL_OPERATIONS and self._count_model_call(timed):
            fields["is_call"] = True
        self.host.sidecar.add_span(seq, fields)

    def _count_model_call(self, timed: _TimedSpan) -> bool:
        """Count a model call once, even if several libraries report it, within each other or one after the other.

        Returns whether it was not counted before.
        """
        facts = timed.facts
        if facts.response_id in self._counted or self._has_ancestor(timed, _is_same_model_call):
            return False
        if facts.response_id:
            self._counted.add(facts.response_id)
        self._usage["calls"] += 1
        self._usage["prompt_tokens"] += facts.input_tokens or 0
        self._usage["completion_tokens"] += facts.output_tokens or 0
        return True

    def _is_new_tool(self, timed: _TimedSpan) -> bool:
        """Return whether the call of a tool is known from this span alone.

        It is not if the agent reports its tools itself, if the model proxy saw the call, or if a span around this one
        is about the same call. While a trial goes on, the proxy may see the call later, so its calls are waited for.
        """
        if self._seen.has_reported_tools or (self._is_live and self._seen.has_model_calls):
            return False
        return not self._has_ancestor(timed, _is_same_tool) and not self._seen.take_tool(timed.facts)

    def _has_ancestor(self, timed: _TimedSpan, is_same: Callable[[SpanFacts, SpanFacts], bool]) -> bool:
        return any(is_same(timed.facts, each.facts) for each in self._ancestors(timed))

    def _ancestors(self, timed: _TimedSpan) -> Iterable[_TimedSpan]:
        for _ in range(MAX_ANCESTORS):
            above = self._known.get((timed.span.trace_id, timed.span.parent_id))
            if above is None:
                return
            timed = above
            yield timed

    def _depth(self, timed: _TimedSpan) -> int:
        return sum(1 for _ in self._ancestors(timed))

    def _clean(self, value: Any) -> Any:
        """Return a value with each text valid and redacted, and the keys too."""
        if isinstance(value, Mapping):
            return {self._clean(str(name)): self._clean(part) for name, part in value.items()}
        if isinstance(value, list):
            return [self._clean(part) for part in value]
        return self._redact(replace_surrogates(value)) if value and isinstance(value, str) else value


def _is_same_tool(one: SpanFacts, other: SpanFacts) -> bool:
    if other.operation != "execute_tool":
        return False
    return one.call_id == other.call_id if one.call_id and other.call_id else one.tool_name == other.tool_name


def _is_same_model_call(one: SpanFacts, other: SpanFacts) -> bool:
    """Return whether a model call within another span is the same one, reported by another library."""
    return other.operation == one.operation


def _count_characters(attributes: Mapping[str, Any]) -> int:
    total = 0

    def count(text: str) -> str:
        nonlocal total
        total += len(text)
        return text

    map_texts(dict(attributes), count)
    return total + sum(map(len, attributes))
