"""Actions of an agent during a turn (requests, calls, reports and waits) in a cassette, and their repetition."""

import contextlib
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from pydantic import JsonValue

from clerkship.actors.reply import parse_report
from clerkship.events.event import Event, Payload
from clerkship.sandbox.direct_call import CallRecord
from clerkship.sandbox.handle import Dropped, Sandboxes
from clerkship.sandbox.request import Request, to_query

CLOCK = "clock"
_RECORDED_HEADERS = frozenset({"content-type", "accept", "prefer", "range", "idempotency-key"})
"""Headers that are part of a request's meaning, beside all that begin with `if-`; the others identify the sender."""
AddAction = Callable[[dict[str, Any]], None]


def to_recorded_action(sandbox: str, asked: Request | CallRecord) -> dict[str, Any] | None:
    """Return a request or call in its recorded form; None for a request to the clock that does not move it."""
    if isinstance(asked, CallRecord):
        return {"call": {"sandbox": sandbox, **_to_recorded_call(asked)}}
    return (
        _to_recorded_wait(asked)
        if sandbox == CLOCK
        else {"request": {"sandbox": sandbox, **_to_recorded_request(asked)}}
    )


def to_recorded_event(payload: Payload) -> dict[str, Any]:
    """Return an event of the agent in its recorded form."""
    return {"kind": payload.kind, **payload.model_dump(mode="json", exclude_defaults=True)}


def repeat_action(act: Mapping[str, Any], sandboxes: Sandboxes) -> None:
    """Repeat a recorded action. What a fault dropped is dropped again."""
    if "report" in act:
        sandboxes.report(parse_report(act["report"], sandboxes.agent_events))
    elif "wait" in act:
        sandboxes.wait(act["wait"])
    else:
        with contextlib.suppress(Dropped):
            _repeat_request(act, sandboxes)


def _repeat_request(act: Mapping[str, Any], sandboxes: Sandboxes) -> None:
    if "call" in act:
        call = dict(act["call"])
        sandbox, body = sandboxes[call.pop("sandbox")], _pop_body(call)
        sandbox.replay_call(CallRecord(**call, body=body))
    else:
        asked = dict(act["request"])
        query, headers = to_query(asked.get("query")), asked.get("headers", {})
        request = Request(asked["method"], asked["path"], query, headers, _pop_body(asked))
        sandboxes[asked["sandbox"]].send_as_is(request)


def _to_recorded_request(request: Request) -> dict[str, Any]:
    """Return a request without what identifies its sender."""
    headers = {name.lower(): value for name, value in request.headers.items()}
    kept = {
        name: value for name, value in sorted(headers.items()) if name in _RECORDED_HEADERS or name.startswith("if-")
    }
    written: dict[str, Any] = {"method": request.method, "path": request.path}
    written |= {"query": _to_recorded_query(request)} if request.query else {}
    written |= {"headers": kept} if kept else {}
    return written | _to_recorded_body(request.body)


def _to_recorded_query(request: Request) -> JsonValue:
    """Return a query by name; as pairs if a name occurs twice or the names are not in alphabetical order."""
    names = [name for name, _ in request.pairs]
    in_order = all(one < other for one, other in pairwise(names))
    return dict(request.pairs) if in_order else [[name, value] for name, value in request.pairs]


def _to_recorded_call(record: CallRecord) -> dict[str, Any]:
    about = {"transport": record.transport, "target": record.target, "answer": record.answer}
    given = {name: value for name, value in about.items() if value}
    return {"operation": record.operation, "input": dict(record.input), **given, **_to_recorded_body(record.body)}


def _to_recorded_body(body: bytes) -> dict[str, str]:
    if not body:
        return {}
    try:
        return {"text": body.decode()}
    except UnicodeDecodeError:
        return {"bytes": body.decode("latin-1")}  # not base64: a credential could hide in it


def _pop_body(written: dict[str, Any]) -> bytes:
    text, raw = written.pop("text", ""), written.pop("bytes", "")
    return bytes(raw.encode("latin-1") if raw else text.encode())


def _to_recorded_wait(request: Request) -> dict[str, Any] | None:
    match (request.method, request.path):
        case ("POST", "/advance"):
            return {"wait": request.query.get("by", "")}
        case ("POST", "/skip"):
            return {"wait": None}
    return None


def observe_sandboxes(sandboxes: Sandboxes, add: AddAction) -> Sandboxes:
    """Return the same sandboxes, with reports and waits recorded; the gateway records requests and calls."""

    def report(payload: Payload) -> Event:
        event = sandboxes.report(payload)
        add({"report": to_recorded_event(payload)})
        return event

    return Sandboxes(dict(sandboxes), _ObservedClock(sandboxes, add), report, sandboxes.agent_events)


class _ObservedClock:
    def __init__(self, sandboxes: Sandboxes, add: AddAction) -> None:
        self._sandboxes, self._add = sandboxes, add

    @property
    def now(self) -> datetime:
        return self._sandboxes.now

    def advance(self, by: timedelta) -> None:
        self._add({"wait": by.total_seconds()})
        self._sandboxes.wait(by.total_seconds())

    def skip(self) -> bool:
        self._add({"wait": None})
        return self._sandboxes.wait()
