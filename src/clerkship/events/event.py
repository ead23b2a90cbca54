"""Events, and their serialization to log lines."""

import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple

import orjson
from pydantic import BaseModel

from clerkship.kit.depth import MAX_DEPTH, cut_at_depth
from clerkship.model.freeze import freeze_fields
from clerkship.model.frozen import Frozen, encode_model
from clerkship.model.variables import expand_text

MAX_BODY = 100_000
"""Bytes stored of the body of one request."""
MAX_TOTAL_BODIES = 10_000_000
"""Bytes stored of the bodies of all requests of one trial."""
MAX_PATH = 1000
MAX_QUERY = 2000
MAX_INLINE_BODY = 512
"""A longer body, or one that is not text, is stored as a blob."""
BODY_FIELD = "request.body"
"""The name of a request's body among the blobs of its event. The dot distinguishes it from fields of the payload."""
MAX_INLINE_BYTES = 4096
"""A larger body is stored as a blob, by its hash."""

NO_VALUES: Mapping[str, str] = MappingProxyType({})
_OPTIONS = orjson.OPT_UTC_Z
_NO_TIME = timedelta(0)


class AgentRequest(NamedTuple):
    """A request of the agent and its outcome. Contains no headers, because they carry credentials."""

    method: str
    """`GET`; over another protocol than HTTP the operation, such as `read_file`."""
    path: str
    """`/Patient/p1`; of an HL7 message over MLLP its type and control id, `ADT^A08 (MSG00012)`."""
    query: str = ""
    """`patient=p2&_count=5`, percent-encoded."""
    status: int = 0
    """The HTTP status, or its equivalent; 0 if the connection broke before the answer."""
    answer: str = ""
    """The answer in the terms of the protocol, if the status does not say it: `AA`."""
    over: str = ""
    """`sftp` or `mllp`; empty for HTTP and for calls in process, which are recorded alike."""
    size: int = 0
    """Bytes of the body as it was sent, if the event's payload does not contain it."""
    body: bytes = b""
    """The stored part of the body; shorter than `size` if it was cut, empty if it was not stored."""
    scope: str = ""
    """The scopes of the access token, if the request had one: `patient/Observation.read`."""


def parse_request(record: Mapping[str, Any], blob: Callable[[str], bytes]) -> AgentRequest | None:
    """Parse the request of a logged event; return None if it has none."""
    fields = record.get("request")
    if fields is None:
        return None
    stored = record.get("blobs", {}).get(BODY_FIELD)
    body = blob(stored["sha256"]) if stored is not None else fields.get("body", "").encode()
    return AgentRequest(**{**fields, "body": body})


EffectType = Literal["action", "state", "talk", "none"]
"""The effect of an event. An `action` that happens again is another one. `state`: a record was set to a value, and the
same again changes nothing. `talk`: words in a chat or call, or keys, of which only the outcome lasts. `none`: something
was read, refused or awaited, or the event only follows from another one."""


class Payload(Frozen):
    """The content of an event: the effect, not the request. One small class per kind."""

    kind: ClassVar[str]
    holds_body: ClassVar[bool] = False
    """Whether it contains the body of the request, so that the body need not be stored separately."""
    sums_up: ClassVar[bool] = False
    """Whether the last event of a request is the record of the request; otherwise the first event is."""
    state_fields: ClassVar[frozenset[str]] = frozenset()
    """Fields that only the state of the simulator reads. They are not stored if they are None, nor shown to a judge."""
    effect: ClassVar[EffectType] = "action"
    """What it changed, for comparisons of what two agents did."""
    is_by_sandbox: ClassVar[bool] = False
    """Whether it is always the doing of the sandbox or the run, even within a request of the agent: what a menu says
    next, a decision, an acknowledgment."""
    freezes: ClassVar[bool] = True
    """Whether nested values are frozen when the event is appended. A simulator that builds new values for each event
    and never changes them may skip this: for a large resource it takes a tenth of a request."""

    def __init_subclass__(cls, *, kind: str = "", **options: Any) -> None:
        """Take the kind as an argument of the class: `class FlowStarted(Payload, kind="agent.flow.started")`."""
        super().__init_subclass__(**options)
        if kind:
            cls.kind = kind


def collect_events(module: Mapping[str, Any]) -> tuple[type[Payload], ...]:
    """Return the events that a module defines, in order: `EVENTS = collect_events(globals())`."""
    classes = [each for each in module.values() if isinstance(each, type) and issubclass(each, Payload)]
    return tuple(each for each in classes if each.__module__ == module["__name__"] and "kind" in vars(each))


class Utterance(Payload):
    """A message in a conversation, on any sandbox, from a person or from the agent."""

    holds_body: ClassVar[bool] = True
    text: str
    turn: int
    utter_name: str | None = None
    buttons: tuple[dict[str, Any], ...] = ()
    metadata: dict[str, Any] | None = None
    custom: dict[str, Any] | None = None
    """Content other than text: an image, an attachment, a payload for the channel."""
    is_outgoing: ClassVar[bool] = False
    """Whether it is always from the agent's side, even if a step or the sandbox itself sent it."""
    is_past: ClassVar[bool] = False
    """Whether it was said before the trial: the agent knows it from the history, and does not get it as a message."""

    @property
    def duration(self) -> timedelta:
        """How long after the event it has been said completely; none for written messages."""
        return _NO_TIME

    @property
    def cut_key(self) -> str:
        """What an UtteranceCut refers to it by; empty if it cannot be cut."""
        return ""

    @property
    def expects_answer(self) -> bool:
        """Whether the person whom it is for hears it and answers."""
        return True

    @property
    def subject(self) -> str | None:
        """The subject, for channels that have one."""
        return None

    @property
    def places(self) -> tuple[str, ...]:
        """The conversations within the sandbox that it belongs to, such as `sms:+15550100123`.

        Empty on a sandbox that has only one conversation.
        """
        return ()


class UtteranceCut(Payload):
    """An utterance was interrupted, so that only a part of it was heard."""

    heard: str

    @property
    def cut_key(self) -> str:
        """The `cut_key` of the utterance, in the same sandbox."""
        return ""


class PauseStarted(Payload):
    """A person in a conversation is silent for a while, and goes on when PauseEnded follows."""

    pause: int
    """Number of the pause in the conversation, from 1."""


class PauseEnded(Payload):
    """The pause of a person is over: they say or do now what they had decided before."""

    pause: int


class Event(NamedTuple):
    """A payload with its position in the log. Events are ordered by (at, seq)."""

    seq: int
    at: datetime
    source: str
    kind: str
    actor: str
    cause: int | None
    payload: Payload
    request: AgentRequest | None = None
    """The agent's request that this event records."""


def find_conversations(event: Event) -> tuple[str, ...]:
    """Return the keys of the conversations that an event belongs to; that of its sandbox if it has only one."""
    places: tuple[str, ...] = getattr(event.payload, "places", ())
    return tuple([f"{event.source}/{place}" for place in places]) if places else (event.source,)


def is_done_by_agent(event: Event) -> bool:
    """Return whether the agent itself did, or said, what an event tells, and not a sandbox within its request."""
    return event.actor == "agent" and not event.payload.is_by_sandbox


def is_by_agent(event: Event) -> bool:
    """Return whether an utterance is from the agent's side; all others are from a person."""
    payload = event.payload
    if isinstance(payload, Utterance) and payload.is_outgoing:
        return True
    return event.actor == "agent" and not payload.is_by_sandbox  # is_done_by_agent, without the cost of a call


def freeze_payload(payload: Payload) -> Payload:
    """Return the payload, frozen at every level unless its simulator guarantees that it does not change."""
    return freeze_fields(payload) if payload.freezes else payload


def _to_json_value(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return encode_model(value)
    if isinstance(value, tuple):
        return tuple(value)  # a named tuple
    if isinstance(value, bytes):
        return value.decode()
    raise TypeError(f"{type(value).__name__} cannot be stored in an event")


def _to_short_json_value(value: Any) -> Any:
    """Convert a value for an inline line; raise TypeError for long bytes.

    Long bytes always become a blob. They are not decoded first, because there may be a gigabyte of them.
    """
    if isinstance(value, bytes) and len(value) > MAX_INLINE_BYTES:
        raise TypeError("too long for a log line")
    return _to_json_value(value)


def render_event(event: Event, blobs: dict[str, bytes], named: dict[str, Any] | None = None) -> bytes:
    """Return the log line of an event as JSON; store large or binary bodies in `blobs`.

    Keys keep their order, so that a state rebuilt from the line equals, byte for byte, one built from the event.
    `named` is the payload with names of variables in place of their values, if it has any.
    """
    seq, at, source, kind, actor, cause, payload, request = event
    fields = payload.__dict__ if named is None else named
    record: dict[str, Any] = {
        "seq": seq,
        "at": at,
        "source": source,
        "kind": kind,
        "actor": actor,
        "cause": cause,
        "payload": list_stored_fields(payload, fields) if payload.state_fields else fields,
    }
    if named is not None:
        record["expand"] = True
    if request is not None:
        record["request"] = request_fields(request)
        if request.body and "body" not in record["request"]:
            record["blobs"] = {BODY_FIELD: _store_blob(*_encode_field(request.body), blobs)}
    try:
        line = orjson.dumps(record, default=_to_short_json_value, option=_OPTIONS)
    except orjson.JSONEncodeError:
        return _render_large(record, blobs)
    return line if len(line) <= MAX_INLINE_BYTES else _render_large(record, blobs)


def list_stored_fields(payload: Payload, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a payload that its log line has."""
    stored = fields.copy()
    for name in payload.state_fields:
        if stored[name] is None:
            del stored[name]
    return stored


def request_fields(request: AgentRequest) -> dict[str, Any]:
    """Return the fields of a request that are not empty, without a body that belongs in a blob."""
    method, path, query, status, answer, over, size, body, scope = request
    fields: dict[str, Any] = {"method": method, "path": path, "status": status}
    if query:
        fields["query"] = query
    if answer:
        fields["answer"] = answer
    if over:
        fields["over"] = over
    if scope:
        fields["scope"] = scope
    if size:
        fields["size"] = size
    if body and len(body) <= MAX_INLINE_BODY:
        with suppress(UnicodeDecodeError):
            fields["body"] = body.decode()
    return fields


def _render_large(record: dict[str, Any], blobs: dict[str, bytes]) -> bytes:
    inline: dict[str, Any] = {}
    stored: dict[str, dict[str, Any]] = dict(record.get("blobs", {}))
    for field, value in record["payload"].items():
        form, data = _encode_field(value)
        if form != "bytes" and len(orjson.dumps(value, default=_to_json_value)) <= MAX_INLINE_BYTES:
            inline[field] = value
            continue
        stored[field] = _store_blob(form, data, blobs)
    return orjson.dumps(record | {"payload": inline, "blobs": stored}, default=_to_json_value, option=_OPTIONS)


def _store_blob(form: str, data: bytes, blobs: dict[str, bytes]) -> dict[str, Any]:
    digest = hashlib.sha256(data).hexdigest()
    blobs[digest] = data
    return {"form": form, "sha256": digest, "size": len(data)}


def _encode_field(value: Any) -> tuple[str, bytes]:
    """Return the form of a field's value (`text`, `bytes` or `json`) and its bytes."""
    if isinstance(value, str):
        return "text", value.encode()
    if isinstance(value, bytes) and len(value) > MAX_INLINE_BYTES:
        return "bytes", value
    if isinstance(value, bytes):
        try:
            value.decode()
        except UnicodeDecodeError:
            return "bytes", value
        return "text", value
    return "json", orjson.dumps(value, default=_to_json_value, option=_OPTIONS)


def map_texts(data: Any, change: Callable[[str], str]) -> Any:
    """Apply a function to every text in an event's data, and to bytes that are text. Keys stay as they are."""
    if isinstance(data, str):
        return change(data)
    if isinstance(data, bytes):
        try:
            return change(data.decode()).encode()
        except UnicodeDecodeError:
            return data
    if isinstance(data, BaseModel):
        data = data.__dict__
    if isinstance(data, dict):
        return {key: map_texts(value, change) for key, value in data.items()}
    return [map_texts(value, change) for value in data] if isinstance(data, list | tuple) else data


def parse_line(line: bytes) -> dict[str, Any]:
    """Parse a log line as plain data, for display.

    Data nested deeper than an agent may nest it now is cut: earlier versions stored such data, and no report can
    render it.
    """
    record: dict[str, Any] = orjson.loads(line)
    levels = MAX_DEPTH + 2
    return cut_at_depth(record, levels) if line.count(b"{") + line.count(b"[") > levels else record


def parse_event(
    line: bytes, kinds: Mapping[str, type[Payload]], blob: Callable[[str], bytes], values: Mapping[str, str] = NO_VALUES
) -> Event:
    """Parse an event from its log line; `blob` returns bodies that are stored by hash.

    Names of variables are replaced by their `values`; raise UnknownVariable if one is missing.
    """
    record = orjson.loads(line)
    payload = record["payload"]
    for field, stored in record.get("blobs", {}).items():
        if field == BODY_FIELD:
            continue
        data = blob(stored["sha256"])
        payload[field] = data.decode() if stored["form"] == "text" else data
        if stored["form"] == "json":
            payload[field] = orjson.loads(data)
    if record.get("expand"):
        payload = map_texts(payload, lambda text: expand_text(text, values))
    return Event(
        record["seq"],
        datetime.fromisoformat(record["at"]),
        record["source"],
        record["kind"],
        record["actor"],
        record["cause"],
        freeze_payload(kinds[record["kind"]].model_validate(payload)),
        parse_request(record, blob),
    )
