"""Render a conversation so far as events of a Rasa tracker, the reverse of `tracker`. Pure: no network here."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from clerkship.actors.contract import History, ReplyPart, Say, Turn
from clerkship.events import agent
from clerkship.events.event import Payload
from clerkship.rasa.tracker import ATTACHMENT_KEYS

TrackerRow = dict[str, Any]
LISTEN_ROW: TrackerRow = {"event": "action", "name": "action_listen"}
RESTORED_EVENTS = frozenset({"active_loop", "loop_interrupted", "reset_slots"})
"""Noted events that can affect the assistant's next answer, so they are restored."""


def render_history(history: History) -> list[TrackerRow]:
    """Return the events of every turn from the person's first line on.

    The server runs the start of the session itself. Slots that were set then and still have that value are set
    first.
    """
    rows = [row for turn in history.turns if turn.text is not None for row in _render_turn(turn)]
    known = {row["name"] for row in rows if row["event"] == "slot"}
    slots = [_render_slot(name, value) for name, value in history.slots.items() if name not in known]
    return [*slots, *rows]


def _render_turn(turn: Turn) -> Iterator[TrackerRow]:
    yield _render_user_message(turn.text or "", turn.metadata or {})
    last: TrackerRow = {}
    for part in turn.answer:
        for last in _render_part(part):
            yield last
    if last != LISTEN_ROW:
        yield LISTEN_ROW  # without it, Rasa would not treat the next message as the user's turn


def _render_user_message(text: str, metadata: Mapping[str, Any]) -> TrackerRow:
    """Return a user message without intent and commands, because no log records them."""
    nothing = {"intent": {"name": None, "confidence": 0.0}, "entities": [], "text": text, "commands": []}
    return {"event": "user", "text": text, "parse_data": nothing, "metadata": dict(metadata)}


def _render_part(part: ReplyPart) -> list[TrackerRow]:
    if isinstance(part, Say):
        return [_render_bot_message(part)]
    write = _RENDERERS.get(type(part))
    return [] if write is None else write(part)


def _render_bot_message(said: Say) -> TrackerRow:
    named = {"utter_action": said.utter_name} if said.utter_name else {}
    custom = said.custom or {}
    data = {
        **(custom if custom.keys() <= set(ATTACHMENT_KEYS) else {"custom": custom}),
        "buttons": list(said.buttons) or None,
    }
    return {"event": "bot", "text": said.text or None, "data": data, "metadata": {**(said.metadata or {}), **named}}


def _render_slot(name: str, value: Any) -> TrackerRow:
    return {"event": "slot", "name": name, "value": value}


def _render_noted_event(part: agent.Noted) -> list[TrackerRow]:
    return [{"event": part.what, **part.data}] if part.what in RESTORED_EVENTS else []


def _build_flow_renderer(sort: str) -> Callable[[Any], list[TrackerRow]]:
    def write(part: Any) -> list[TrackerRow]:
        step = getattr(part, "flow_step_id", None)
        return [{"event": sort, "flow_id": part.flow_id, **({"step_id": step} if step else {})}]

    return write


_RENDERERS: Mapping[type[Payload], Callable[[Any], list[TrackerRow]]] = {
    agent.ActionExecuted: lambda part: [{"event": "action", "name": part.name}],
    agent.SlotSet: lambda part: [_render_slot(part.name, part.value)],
    agent.FlowStarted: _build_flow_renderer("flow_started"),
    agent.FlowCompleted: _build_flow_renderer("flow_completed"),
    agent.FlowCancelled: _build_flow_renderer("flow_cancelled"),
    agent.FlowInterrupted: _build_flow_renderer("flow_interrupted"),
    agent.FlowResumed: _build_flow_renderer("flow_resumed"),
    agent.Noted: _render_noted_event,
}
