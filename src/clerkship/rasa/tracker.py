"""A Rasa tracker's JSON, made into what an agent said and did, in the tracker's own order. Pure: no network here."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError

from clerkship.actors.contract import Said, Say
from clerkship.events import agent
from clerkship.events.event import Payload
from clerkship.rasa.names import NOTED_EVENTS

Row = Mapping[str, Any]
"""One event as the tracker has it."""

DROPPED = frozenset({"user", "user_featurization", "entities", "stack"})
"""What the person said, which the log has already, and how the engine keeps its own books."""
CLARIFICATION = "pattern_clarification"
SESSION_START = "action_session_start"
NOT_TEXT = ("custom", "image", "attachment", "elements", "quick_replies")
"""What an utterance may have beside its text and buttons."""


class Misshapen(Exception):
    """An event lacks what events of its sort have."""


class Mark(NamedTuple):
    """What tells one event of a tracker from another."""

    event: object
    timestamp: object
    name: object


def mark(row: Any) -> Mark:
    """By sort, time and name; all three stay as they are however often a tracker is read."""
    if not isinstance(row, dict):
        return Mark(None, None, None)
    return Mark(*(_plain(row.get(key)) for key in Mark._fields))


def _plain(value: Any) -> object:
    """Itself, if it can be compared and kept."""
    return value if isinstance(value, str | int | float | None) else repr(value)


class TrackerCursor:
    """How far a tracker was read.

    A tracker grows at its end, but it may also lose its beginning: some stores keep the last session alone once a new
    one has begun. So what was seen is found by what it looks like, not by counting.
    """

    def __init__(self) -> None:
        self._marks: list[Mark] = []

    def fresh(self, rows: Sequence[Any]) -> list[Any]:
        """The events that were not there before."""
        seen = len(self._marks)
        if 0 < seen <= len(rows) and mark(rows[0]) == self._marks[0] and mark(rows[seen - 1]) == self._marks[-1]:
            self._marks += [mark(row) for row in rows[seen:]]  # it has grown at its end, as most do
            return list(rows[seen:])
        marks = [mark(row) for row in rows]
        known = self._overlap(marks)
        found = list(rows[known:]) if known or not self._marks else self._later(rows)
        self._marks = marks or self._marks
        return found

    def _overlap(self, marks: list[Mark]) -> int:
        """How many at the beginning are the end of what was seen."""
        seen = self._marks
        if not marks:
            return 0
        for start, first in enumerate(seen):
            if first == marks[0] and seen[start:] == marks[: len(seen) - start]:
                return len(seen) - start
        return 0

    def _later(self, rows: Sequence[Any]) -> list[Any]:
        """Nothing of what was seen is left where it was: whatever is younger than all of it is new."""
        last = max((m.timestamp for m in self._marks if isinstance(m.timestamp, int | float)), default=None)
        if last is None:
            return list(rows)
        times = [mark(row).timestamp for row in rows]
        return [
            row
            for row, time in zip(rows, times, strict=True)
            if not isinstance(time, int | float) or time > last  # one without a time may be new
        ]


def last_session(rows: Sequence[Any]) -> list[Any]:
    """From the last session's start on.

    A server opens a session for any new conversation, and some open another for `/session_start` itself: whoever asks
    for one has started it twice, and the second is what stands.
    """
    starts = [
        number
        for number, row in enumerate(rows)
        if isinstance(row, dict) and row.get("event") == "action" and row.get("name") == SESSION_START
    ]
    return list(rows[starts[-1] :]) if starts else list(rows)


def parse_events(rows: Sequence[Any], skipped: Counter[str]) -> list[Said]:
    """What they say, in their order; those that cannot be read are counted by their sort."""
    found: list[Said] = []
    for row in rows:
        sort = row.get("event") if isinstance(row, dict) else None
        try:
            found += _parse(sort, row)
        except (Misshapen, ValidationError):
            skipped[sort[:80] if isinstance(sort, str) else "nameless"] += 1
    return found


def _parse(sort: object, row: Row) -> Sequence[Said]:
    if not isinstance(sort, str):
        raise Misshapen
    if sort in DROPPED:
        return ()
    if sort in NOTED_EVENTS:
        return (agent.Noted(what=sort, data=_rest(row)),)
    read = _READERS.get(sort)
    if read is None:
        raise Misshapen
    return read(row)


PASSING = frozenset({"session_id", "model_id", "assistant_id", "message_id"})
"""What is another in each session or with each model: it tells of the server, not of what happened."""


def _rest(row: Row) -> dict[str, Any]:
    found = {key: value for key, value in row.items() if key not in ("event", "timestamp", *PASSING)}
    if "metadata" in found:
        found["metadata"] = _metadata(row) or None
    return {key: value for key, value in found.items() if value is not None}


def _metadata(row: Row) -> dict[str, Any]:
    found = row.get("metadata")
    return {key: value for key, value in found.items() if key not in PASSING} if isinstance(found, dict) else {}


def _text(row: Row, key: str) -> str:
    found = row.get(key)
    if not isinstance(found, str) or not found:
        raise Misshapen
    return found


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _optional(row: Row, key: str) -> str | None:
    found = row.get(key)
    return found if isinstance(found, str) else None


def _bot(row: Row) -> Sequence[Said]:
    text, data, metadata = row.get("text"), row.get("data") or {}, _metadata(row)
    if not isinstance(text, str | None) or not isinstance(data, dict):
        raise Misshapen
    utter_name = metadata.get("utter_action")
    return (utterance(text, data, utter_name if isinstance(utter_name, str) else None, metadata or None),)


def utterance(
    text: str | None, data: Row, utter_name: str | None = None, metadata: dict[str, Any] | None = None
) -> Say:
    """Something said: its text, its buttons, and under their own names an image, an attachment, a payload."""
    buttons = data.get("buttons")
    custom = {key: data[key] for key in NOT_TEXT if data.get(key)}
    return Say(
        text or "",
        utter_name,
        tuple(button for button in buttons if isinstance(button, dict)) if isinstance(buttons, list) else (),
        metadata,
        custom or None,
    )


def parse_messages(messages: Sequence[Any]) -> list[Say]:
    """What the REST channel answered, where the tracker has nothing of it."""
    texts = [(message, message.get("text")) for message in messages if isinstance(message, dict)]
    return [
        utterance(text if isinstance(text, str) else None, message)
        for message, text in texts
        if text or any(message.get(key) for key in ("buttons", *NOT_TEXT))
    ]


def _action(row: Row) -> Sequence[Said]:
    # A bot trained end to end predicts what to say instead of the name of an action.
    return (agent.ActionExecuted(name=_text(row, "name" if row.get("name") else "action_text")),)


def _slot(row: Row) -> Sequence[Said]:
    return (agent.SlotSet(name=_text(row, "name"), value=row.get("value")),)


def _flow_started(row: Row) -> Sequence[Said]:
    flow_id, metadata = _text(row, "flow_id"), _metadata(row)
    started = agent.FlowStarted(flow_id=flow_id)
    if flow_id != CLARIFICATION:
        return (started,)
    ids, names = _texts(metadata.get("clarification_ids")), _texts(metadata.get("names"))
    return started, agent.ClarificationOffered(flow_ids=ids, names=names)


def _flow(sort: type[Payload]) -> Callable[[Row], Sequence[Said]]:
    def read(row: Row) -> Sequence[Said]:
        found = {"flow_id": _text(row, "flow_id"), "flow_step_id": _optional(row, "step_id")}
        return (sort.model_validate(found),)

    return read


def _fields(sort: type[Payload], **keys: str) -> Callable[[Row], Sequence[Said]]:
    """An event of ours from one of theirs with the same fields, some under other keys; null is as good as absent."""

    def read(row: Row) -> Sequence[Said]:
        theirs = {field: row.get(keys.get(field, field)) for field in sort.model_fields}
        return (sort.model_validate({field: value for field, value in theirs.items() if value is not None}),)

    return read


def _tool(row: Row, source: str | None = None) -> Sequence[Said]:
    metadata = _metadata(row)
    arguments = row.get("arguments")
    return (
        agent.ToolExecuted.model_validate(
            {
                "tool_name": _text(row, "tool_name"),
                "arguments": arguments if isinstance(arguments, dict) else {},
                "source": source or row.get("source") or "local",
                "mcp_server": _optional(row, "mcp_server") or _optional(metadata, "mcp_server"),
                "skill_id": _optional(row, "skill_id") or _optional(metadata, "skill_id"),
                "result": row.get("result"),
                "is_error": row.get("is_error") is True,
                "error_message": _optional(row, "error_message"),
            }
        ),
    )


_READERS: Mapping[str, Callable[[Row], Sequence[Said]]] = {
    "bot": _bot,
    "action": _action,
    "slot": _slot,
    "flow_started": _flow_started,
    "flow_completed": _flow(agent.FlowCompleted),
    "flow_cancelled": _flow(agent.FlowCancelled),
    "flow_interrupted": _flow(agent.FlowInterrupted),
    "flow_resumed": _flow(agent.FlowResumed),
    "skill_activated": _fields(agent.SkillActivated),
    "skill_completed": _fields(agent.SkillCompleted),
    "skill_cancelled": _fields(agent.SkillCancelled),
    "skill_interrupted": _fields(agent.SkillInterrupted),
    "skill_resumed": _fields(agent.SkillResumed),
    "ordered_block_entered": _fields(agent.BlockEntered),
    "ordered_block_completed": _fields(agent.BlockCompleted),
    "ordered_block_cancelled": _fields(agent.BlockCancelled),
    "ordered_block_interrupted": _fields(agent.BlockInterrupted),
    "ordered_block_resumed": _fields(agent.BlockResumed),
    "memory_set": _fields(agent.MemorySet, name="key"),
    "memory_cleared": _fields(agent.MemoryCleared, name="key"),
    "tool_executed": _tool,
    "mcp_tool_executed": lambda row: _tool(row, "mcp"),
}
