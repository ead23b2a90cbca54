"""The append-only event log: one writer, and a hash chain over its lines, with names for a task's variables."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache, partial
from itertools import islice, pairwise
from typing import Any

from clerkship.events.event import AgentRequest, Event, Payload, map_texts, render_event
from clerkship.events.lifecycle import AgentStarted
from clerkship.model.errors import PlatformError
from clerkship.model.freeze import find_mutable_fields, freeze_named
from clerkship.model.redaction import MIN_SECRET_LENGTH
from clerkship.model.variables import join_escaped

_AUTHORED = ("person", "scenario", "run")
"""Actors whose events contain what an author wrote. The agent's words are evidence, and are not changed."""
Subscriber = Callable[[Event], None]
_new_event: Callable[[Iterable[Any]], Event] = partial(tuple.__new__, Event)
"""Makes an event from its fields: half the time of a call of the class, which checks their names."""
DIGEST_SIZE = 32
GENESIS = bytes(DIGEST_SIZE)
MAX_EVENTS = 50_000
MAX_LOG_BYTES = 500_000_000
"""When a log reaches this size, nothing more is accepted from the agent."""


class VariableNames:
    """Replaces the values of variables by their names; `expand_text` reverses it."""

    def __init__(self, values: Mapping[str, str]) -> None:
        known = {value: name for name, value in sorted(values.items(), reverse=True) if len(value) >= MIN_SECRET_LENGTH}
        self.names = dict(sorted(known.items(), key=lambda item: -len(item[0])))
        """Names by value; empty if no value is long enough to be recognized."""

    def payload(self, event: Event) -> dict[str, Any] | None:
        """Return the payload of an event with names for values; None if there is nothing to replace."""
        if not self.names or not (event.actor in _AUTHORED or isinstance(event.payload, AgentStarted)):
            return None
        has_value = False

        def search(text: str) -> str:
            nonlocal has_value
            has_value = has_value or any(value in text for value in self.names)
            return text

        map_texts(event.payload.__dict__, search)
        return map_texts(event.payload.__dict__, self._replace_values) if has_value else None

    def _replace_values(self, text: str) -> str:
        parts = [text]
        for value, name in self.names.items():
            parts = [
                piece
                for place, part in enumerate(parts)
                for piece in (_split_at_value(part, value, f"${{{name}}}") if place % 2 == 0 else [part])
            ]
        return join_escaped(["", *parts, ""])


NO_NAMES = VariableNames({})


def _split_at_value(text: str, value: str, name: str) -> list[str]:
    """Split a text at a value, with the name between the parts."""
    first, *rest = text.split(value)
    return [first, *(piece for part in rest for piece in (name, part))]


class LogClosed(PlatformError):
    """The run has ended, and its log accepts no more events."""


class Log:
    """The readable side of a log: events in order of arrival, their lines, and the head of the hash chain."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.lines: list[bytes] = []
        self.blobs: dict[str, bytes] = {}
        self.size = 0
        """Bytes, including bodies."""
        self.request_bodies = 0
        """Bytes of stored request bodies."""
        self.overflowed = False
        """Whether a report or a reply of the agent was refused because the log was full."""
        self._digest = GENESIS
        self._in_order = True
        self._subscribers: list[Subscriber] = []

    @property
    def head(self) -> str:
        """The hash over all lines."""
        return self._digest.hex()

    @property
    def events_left(self) -> int:
        """How many more events the agent may cause."""
        return MAX_EVENTS - len(self.events)

    @property
    def is_full(self) -> bool:
        """Whether the log accepts nothing more from the agent. Events of the run itself are always accepted."""
        return len(self.events) > MAX_EVENTS or self.size > MAX_LOG_BYTES

    def ordered(self) -> list[Event]:
        """Return the events sorted by (at, seq). An event that arrived late is placed at the time when it happened."""
        return list(self.events) if self._in_order else sorted(self.events, key=lambda event: (event.at, event.seq))

    def subscribe(self, subscriber: Subscriber) -> None:
        """Call a function for every event. It gets the event, not the writer, so it cannot add events."""
        self._subscribers.append(subscriber)

    def unsubscribe(self, subscriber: Subscriber) -> None:
        """Stop calling a subscriber."""
        if subscriber in self._subscribers:
            self._subscribers.remove(subscriber)

    def data(self) -> bytes:
        """Return the whole log, one JSON object per line."""
        return b"\n".join(self.lines)


@cache
def _describe_payload(payload: type[Payload]) -> tuple[str, tuple[str, ...]]:
    """Return the kind of a payload, and its fields that are frozen when it is appended.

    Kept, because pydantic makes each look at an attribute of a payload slow.
    """
    return payload.kind, find_mutable_fields(payload) if payload.freezes else ()


class LogWriter:
    """The only writer of a log."""

    def __init__(self, log: Log, names: VariableNames = NO_NAMES) -> None:
        self._log = log
        self._names = names
        self._closed = False
        self._holds = False

    def append(self, source: str, payload: Payload, actor: str, at: datetime, cause: int | None = None) -> Event:
        """Append an event, and write its line unless lines are held. Its payload is frozen from here on."""
        log = self._log
        if self._closed:
            raise LogClosed("the run has ended; nothing more is recorded")
        events = log.events
        kind, mutable = _describe_payload(type(payload))
        if mutable:
            freeze_named(payload.__dict__, mutable)
        event = _new_event((len(events) + 1, at, source, kind, actor, cause, payload, None))
        if events and at < events[-1].at:
            log._in_order = False
        events.append(event)
        if not self._holds:
            self._write(event)
        return event

    def hold(self) -> bool:
        """Write no lines until `release`: the outcome of a request is known only when it has been answered.

        Return false if lines are held already.
        """
        before, self._holds = self._holds, True
        return not before

    def attach(self, event: Event, request: AgentRequest) -> None:
        """Make an event, whose line is held, the record of a request."""
        log = self._log
        log.events[event.seq - 1] = _new_event((*event[:-1], request))
        log.request_bodies += len(request.body)

    def release(self) -> None:
        """Write the held lines."""
        self._holds = False
        for event in self._log.events[len(self._log.lines) :]:
            self._write(event)

    def _write(self, event: Event) -> None:
        log = self._log
        blobs = log.blobs
        before = len(blobs) if blobs else 0
        line = render_event(event, blobs, self._names.payload(event) if self._names.names else None)
        if blobs and len(blobs) != before:
            log.size += sum(map(len, islice(reversed(blobs.values()), len(blobs) - before)))
        chained = log._digest + line
        log._digest = hashlib.sha256(chained).digest()
        log.lines.append(chained[DIGEST_SIZE:])  # a copy: the bytes from orjson keep their 4 KB buffer alive
        log.size += len(line)
        for subscriber in log._subscribers:
            subscriber(event)

    def close(self) -> None:
        """Close the log: its head is final."""
        self.release()
        self._closed = True


def open_log(names: VariableNames = NO_NAMES) -> tuple[Log, LogWriter]:
    """Return a new log and its writer."""
    log = Log()
    return log, LogWriter(log, names)


def reopen_log(
    events: Sequence[Event], lines: Sequence[bytes], blobs: Mapping[str, bytes], names: VariableNames = NO_NAMES
) -> tuple[Log, LogWriter]:
    """Return a log that continues another, byte for byte, and its writer."""
    log, writer = open_log(names)
    log.events, log.lines, log.blobs = list(events), list(lines), dict(blobs)
    log.size = sum(map(len, lines)) + sum(map(len, blobs.values()))
    log.request_bodies = sum(len(event.request.body) for event in events if event.request is not None)
    log._digest = bytes.fromhex(compute_head(lines))
    log._in_order = all(one.at <= other.at for one, other in pairwise(events))
    return log, writer


class HashChain:
    """The hash chain over lines, to verify a stored log."""

    def __init__(self) -> None:
        self._digest = GENESIS

    def add(self, line: bytes) -> None:
        self._digest = hashlib.sha256(self._digest + line).digest()

    @property
    def head(self) -> str:
        """The hash over all lines so far."""
        return self._digest.hex()


def compute_head(lines: Iterable[bytes]) -> str:
    """Return the head of the hash chain over lines."""
    chain = HashChain()
    for line in lines:
        chain.add(line)
    return chain.head
