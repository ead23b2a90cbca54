"""A conversation so far as events of a Rasa tracker: what `rasa_tracker` reads, written. Pure: no network here."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from clerkship.actors.contract import History, Said, Say, Turn
from clerkship.events import agent
from clerkship.events.event import Payload
from clerkship.rasa.tracker import NOT_TEXT

Row = dict[str, Any]
LISTEN: Row = {"event": "action", "name": "action_listen"}
TOLD = frozenset({"active_loop", "loop_interrupted", "reset_slots"})
"""Of what is kept under its own name: what an assistant's next answer may hang on."""


def render_history(history: History) -> list[Row]:
    """Every turn from the person's first line on. What came before it, the server does at a session's start by itself;
    but slots that were set then, and stand, are set on top."""
    rows = [row for turn in history.turns if turn.text is not None for row in _turn(turn)]
    known = {row["name"] for row in rows if row["event"] == "slot"}
    slots = [_slot(name, value) for name, value in history.slots.items() if name not in known]
    return [*slots, *rows]


def _turn(turn: Turn) -> Iterator[Row]:
    yield _user(turn.text or "", turn.metadata or {})
    last: Row = {}
    for part in turn.answer:
        for last in _rows(part):
            yield last
    if last != LISTEN:
        yield LISTEN  # a tracker in which nobody listens takes no further line for one of the person's


def _user(text: str, metadata: Mapping[str, Any]) -> Row:
    """With what its engine would have made of it: nothing, for no log tells what it did."""
    nothing = {"intent": {"name": None, "confidence": 0.0}, "entities": [], "text": text, "commands": []}
    return {"event": "user", "text": text, "parse_data": nothing, "metadata": dict(metadata)}


def _rows(part: Said) -> list[Row]:
    if isinstance(part, Say):
        return [_bot(part)]
    write = _WRITERS.get(type(part))
    return [] if write is None else write(part)


def _bot(said: Say) -> Row:
    named = {"utter_action": said.utter_name} if said.utter_name else {}
    custom = said.custom or {}
    data = {**(custom if custom.keys() <= set(NOT_TEXT) else {"custom": custom}), "buttons": list(said.buttons) or None}
    return {"event": "bot", "text": said.text or None, "data": data, "metadata": {**(said.metadata or {}), **named}}


def _slot(name: str, value: Any) -> Row:
    return {"event": "slot", "name": name, "value": value}


def _noted(part: agent.Noted) -> list[Row]:
    return [{"event": part.what, **part.data}] if part.what in TOLD else []


def _flow(sort: str) -> Callable[[Any], list[Row]]:
    def write(part: Any) -> list[Row]:
        step = getattr(part, "flow_step_id", None)
        return [{"event": sort, "flow_id": part.flow_id, **({"step_id": step} if step else {})}]

    return write


_WRITERS: Mapping[type[Payload], Callable[[Any], list[Row]]] = {
    agent.ActionExecuted: lambda part: [{"event": "action", "name": part.name}],
    agent.SlotSet: lambda part: [_slot(part.name, part.value)],
    agent.FlowStarted: _flow("flow_started"),
    agent.FlowCompleted: _flow("flow_completed"),
    agent.FlowCancelled: _flow("flow_cancelled"),
    agent.FlowInterrupted: _flow("flow_interrupted"),
    agent.FlowResumed: _flow("flow_resumed"),
    agent.Noted: _noted,
}
