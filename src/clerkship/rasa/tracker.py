"""Parse the JSON of a Rasa tracker into what the agent said and did, in the tracker's order. Pure: no network here."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError

from clerkship.actors.contract import ReplyPart, Say
from clerkship.events import agent
from clerkship.events.event import Payload
from clerkship.rasa.names import NOTED_EVENTS

TrackerRow = Mapping[str, Any]
"""One event as the tracker has it."""

IGNORED_EVENTS = frozenset({"user", "user_featurization", "entities", "stack"})
"""Messages of the user, which are already in the log, and internal state of the engine."""
CLARIFICATION_FLOW = "pattern_clarification"
SESSION_START = "action_session_start"
ATTACHMENT_KEYS = ("custom", "image", "attachment", "elements", "quick_replies")
"""Keys of an utterance besides its text and buttons."""


class MalformedEvent(Exception):
    """An event lacks a required field."""


class TrackerEventId(NamedTuple):
    """The fields that identify an event of a tracker."""

    event: object
    timestamp: object
    name: object


def build_event_id(row: Any) -> TrackerEventId:
    """Return the type, time and name of an event. They stay the same when the tracker is read again."""
    if not isinstance(row, dict):
        return TrackerEventId(None, None, None)
    return TrackerEventId(*(_to_hashable(row.get(key)) for key in TrackerEventId._fields))


def _to_hashable(value: Any) -> object:
    return value if isinstance(value, str | int | float | None) else repr(value)


class TrackerCursor:
    """The position up to which a tracker was read.

    A tracker grows at its end, but it can also lose its beginning: some stores keep only the last session once a new
    one has begun. So known events are recognised by their ids, not by their number.
    """

    def __init__(self) -> None:
        self._ids: list[TrackerEventId] = []

    def take_new(self, rows: Sequence[Any]) -> list[Any]:
        """Return the events that were not there before."""
        seen = len(self._ids)
        if (
            0 < seen <= len(rows)
            and build_event_id(rows[0]) == self._ids[0]
            and build_event_id(rows[seen - 1]) == self._ids[-1]
        ):
            self._ids += [build_event_id(row) for row in rows[seen:]]  # the usual case: new events at the end
            return list(rows[seen:])
        ids = [build_event_id(row) for row in rows]
        known = self._overlap(ids)
        new_rows = list(rows[known:]) if known or not self._ids else self._later(rows)
        self._ids = ids or self._ids
        return new_rows

    def _overlap(self, ids: list[TrackerEventId]) -> int:
        """Return how many events at the beginning are the end of the known events."""
        seen = self._ids
        if not ids:
            return 0
        for start, first in enumerate(seen):
            if first == ids[0] and seen[start:] == ids[: len(seen) - start]:
                return len(seen) - start
        return 0

    def _later(self, rows: Sequence[Any]) -> list[Any]:
        """Return the events that are later than all known ones. This is used if no known event is left in its place."""
        last = max((m.timestamp for m in self._ids if isinstance(m.timestamp, int | float)), default=None)
        if last is None:
            return list(rows)
        times = [build_event_id(row).timestamp for row in rows]
        return [
            row
            for row, time in zip(rows, times, strict=True)
            if not isinstance(time, int | float) or time > last  # an event without a time may be new
        ]


def select_last_session(rows: Sequence[Any]) -> list[Any]:
    """Return the events from the start of the last session on.

    A server starts a session for any new conversation, and some start another one for `/session_start` itself. Then
    only the second one counts.
    """
    starts = [
        number
        for number, row in enumerate(rows)
        if isinstance(row, dict) and row.get("event") == "action" and row.get("name") == SESSION_START
    ]
    return list(rows[starts[-1] :]) if starts else list(rows)


def parse_events(rows: Sequence[Any], skipped: Counter[str]) -> list[ReplyPart]:
    """Return the parsed events in order. Events that cannot be parsed are counted in `skipped`, by type."""
    parts: list[ReplyPart] = []
    for row in rows:
        sort = row.get("event") if isinstance(row, dict) else None
        try:
            parts += _parse(sort, row)
        except (MalformedEvent, ValidationError):
            skipped[sort[:80] if isinstance(sort, str) else "nameless"] += 1
    return parts


def _parse(sort: object, row: TrackerRow) -> Sequence[ReplyPart]:
    if not isinstance(sort, str):
        raise MalformedEvent
    if sort in IGNORED_EVENTS:
        return ()
    if sort in NOTED_EVENTS:
        return (agent.Noted(what=sort, data=_copy_fields(row)),)
    read = _PARSERS.get(sort)
    if read is None:
        raise MalformedEvent
    return read(row)


VOLATILE_KEYS = frozenset({"session_id", "model_id", "assistant_id", "message_id"})
"""Keys that differ with each session or model. They describe the server, not what happened."""


def _copy_fields(row: TrackerRow) -> dict[str, Any]:
    fields = {key: value for key, value in row.items() if key not in ("event", "timestamp", *VOLATILE_KEYS)}
    if "metadata" in fields:
        fields["metadata"] = _read_metadata(row) or None
    return {key: value for key, value in fields.items() if value is not None}


def _read_metadata(row: TrackerRow) -> dict[str, Any]:
    metadata = row.get("metadata")
    return (
        {key: value for key, value in metadata.items() if key not in VOLATILE_KEYS}
        if isinstance(metadata, dict)
        else {}
    )


def _require_text(row: TrackerRow, key: str) -> str:
    text = row.get(key)
    if not isinstance(text, str) or not text:
        raise MalformedEvent
    return text


def _filter_texts(value: Any) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _read_text(row: TrackerRow, key: str) -> str | None:
    text = row.get(key)
    return text if isinstance(text, str) else None


def _parse_bot(row: TrackerRow) -> Sequence[ReplyPart]:
    text, data, metadata = row.get("text"), row.get("data") or {}, _read_metadata(row)
    if not isinstance(text, str | None) or not isinstance(data, dict):
        raise MalformedEvent
    utter_name = metadata.get("utter_action")
    return (build_utterance(text, data, utter_name if isinstance(utter_name, str) else None, metadata or None),)


def build_utterance(
    text: str | None, data: TrackerRow, utter_name: str | None = None, metadata: dict[str, Any] | None = None
) -> Say:
    """Return an utterance: its text, its buttons, and under their own keys an image, an attachment or a payload."""
    buttons = data.get("buttons")
    custom = {key: data[key] for key in ATTACHMENT_KEYS if data.get(key)}
    return Say(
        text or "",
        utter_name,
        tuple(button for button in buttons if isinstance(button, dict)) if isinstance(buttons, list) else (),
        metadata,
        custom or None,
    )


def parse_messages(messages: Sequence[Any]) -> list[Say]:
    """Return the replies of the REST channel, for when the tracker has none."""
    texts = [(message, message.get("text")) for message in messages if isinstance(message, dict)]
    return [
        build_utterance(text if isinstance(text, str) else None, message)
        for message, text in texts
        if text or any(message.get(key) for key in ("buttons", *ATTACHMENT_KEYS))
    ]


def _parse_action(row: TrackerRow) -> Sequence[ReplyPart]:
    # A bot trained end to end predicts what to say instead of the name of an action.
    return (agent.ActionExecuted(name=_require_text(row, "name" if row.get("name") else "action_text")),)


def _parse_slot(row: TrackerRow) -> Sequence[ReplyPart]:
    return (agent.SlotSet(name=_require_text(row, "name"), value=row.get("value")),)


def _parse_flow_started(row: TrackerRow) -> Sequence[ReplyPart]:
    flow_id, metadata = _require_text(row, "flow_id"), _read_metadata(row)
    started = agent.FlowStarted(flow_id=flow_id)
    if flow_id != CLARIFICATION_FLOW:
        return (started,)
    ids, names = _filter_texts(metadata.get("clarification_ids")), _filter_texts(metadata.get("names"))
    return started, agent.ClarificationOffered(flow_ids=ids, names=names)


def _build_flow_parser(sort: type[Payload]) -> Callable[[TrackerRow], Sequence[ReplyPart]]:
    def read(row: TrackerRow) -> Sequence[ReplyPart]:
        fields = {"flow_id": _require_text(row, "flow_id"), "flow_step_id": _read_text(row, "step_id")}
        return (sort.model_validate(fields),)

    return read


def _build_field_parser(sort: type[Payload], **keys: str) -> Callable[[TrackerRow], Sequence[ReplyPart]]:
    """Return a parser for events with the same fields as Clerkship's. `keys` maps renamed fields; null counts as
    missing.
    """

    def read(row: TrackerRow) -> Sequence[ReplyPart]:
        theirs = {field: row.get(keys.get(field, field)) for field in sort.model_fields}
        return (sort.model_validate({field: value for field, value in theirs.items() if value is not None}),)

    return read


def _parse_tool(row: TrackerRow, source: str | None = None) -> Sequence[ReplyPart]:
    metadata = _read_metadata(row)
    arguments = row.get("arguments")
    return (
        agent.ToolExecuted.model_validate(
            {
                "tool_name": _require_text(row, "tool_name"),
                "arguments": arguments if isinstance(arguments, dict) else {},
                "source": source or row.get("source") or "local",
                "mcp_server": _read_text(row, "mcp_server") or _read_text(metadata, "mcp_server"),
                "skill_id": _read_text(row, "skill_id") or _read_text(metadata, "skill_id"),
                "result": row.get("result"),
                "is_error": row.get("is_error") is True,
                "error_message": _read_text(row, "error_message"),
            }
        ),
    )


_PARSERS: Mapping[str, Callable[[TrackerRow], Sequence[ReplyPart]]] = {
    "bot": _parse_bot,
    "action": _parse_action,
    "slot": _parse_slot,
    "flow_started": _parse_flow_started,
    "flow_completed": _build_flow_parser(agent.FlowCompleted),
    "flow_cancelled": _build_flow_parser(agent.FlowCancelled),
    "flow_interrupted": _build_flow_parser(agent.FlowInterrupted),
    "flow_resumed": _build_flow_parser(agent.FlowResumed),
    "skill_activated": _build_field_parser(agent.SkillActivated),
    "skill_completed": _build_field_parser(agent.SkillCompleted),
    "skill_cancelled": _build_field_parser(agent.SkillCancelled),
    "skill_interrupted": _build_field_parser(agent.SkillInterrupted),
    "skill_resumed": _build_field_parser(agent.SkillResumed),
    "ordered_block_entered": _build_field_parser(agent.BlockEntered),
    "ordered_block_completed": _build_field_parser(agent.BlockCompleted),
    "ordered_block_cancelled": _build_field_parser(agent.BlockCancelled),
    "ordered_block_interrupted": _build_field_parser(agent.BlockInterrupted),
    "ordered_block_resumed": _build_field_parser(agent.BlockResumed),
    "memory_set": _build_field_parser(agent.MemorySet, name="key"),
    "memory_cleared": _build_field_parser(agent.MemoryCleared, name="key"),
    "tool_executed": _parse_tool,
    "mcp_tool_executed": lambda row: _parse_tool(row, "mcp"),
}
