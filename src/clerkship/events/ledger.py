"""A run as a judge reads it: who said what, and what the agent's system did, turn by turn, every text on one line."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from itertools import groupby, pairwise
from typing import Any, NamedTuple, cast

from clerkship.events.agent import (
    ActionExecuted,
    ClarificationOffered,
    FlowCancelled,
    FlowCompleted,
    FlowInterrupted,
    FlowResumed,
    FlowStarted,
    Noted,
    SlotSet,
    ToolExecuted,
)
from clerkship.events.event import Event, Payload, Utterance
from clerkship.events.evidence import Evidence
from clerkship.events.lifecycle import (
    AgentAnswered,
    AgentStarted,
    ClockAdvanced,
    FaultInjected,
    RequestAnswered,
    RunEnded,
    RunStarted,
    StepFailed,
    StepRan,
)
from clerkship.model.duration import render_duration

NOTHING_TOLD = "(the agent's system tells nothing of what it does)"
REPORTED = "reported"
"""Stands before what the agent reports of itself and nothing observed."""
VALUE_LIMIT = 500
"""Characters of a value or a text in the ledger; the transcript has them whole."""
WHOLE = 20_000
"""Characters of what the agent gave to people, or gave as its answer: that is what is judged."""
HEADER_LIMIT = 200
SILENCE = timedelta(seconds=30)
"""Simulated time without a word that a judge is told of."""
_ROUTINE_ACTIONS = frozenset(
    {
        "action_listen",
        "action_run_slot_rejections",
        "action_session_start",
        "action_session_end",
        "action_extract_slots",
        "action_back",
        "action_two_stage_fallback",
    }
)
_ROUTINE_SLOTS = frozenset({"flow_hashes", "dialogue_stack", "session_started_metadata", "return_value"})
_ROUTINE_NOTES = frozenset({"session_started", "session_ended", "routing_session_ended"})
_NOTED = frozenset({"restart", "session_ended", "error", "action_execution_rejected", "unsupported_request_classified"})
_STAGE: tuple[type[Payload], ...] = (RunStarted, StepRan, StepFailed, AgentStarted, RunEnded, FaultInjected)
"""What the test did, and not the agent."""
_UNREMARKABLE: tuple[type[Payload], ...] = (RequestAnswered, ClockAdvanced)
"""Requests that changed nothing and showed no record, such as one for the attributes of a file, and waiting: the times
of other events show it."""


class Entry(NamedTuple):
    """A line as a judge reads it, and what it stands for."""

    turn: int
    seqs: tuple[int, ...]
    """The events it tells of."""
    line: str
    text: str = ""
    """Of what was said, the words as they were."""
    speaker: str = ""
    """Of what was said, by whom: `agent` or `user`."""
    number: int = 0
    """Of what was said, the place in its turn, from 1: `[T2.1]` is the first line of turn 2."""
    is_reported: bool = False
    """Whether only the agent says that it happened: nothing observed it."""
    is_reported_deed: bool = False
    """Whether it is a tool or an action that the agent reports: something that a sandbox could have observed."""


def said(evidence: Evidence) -> list[Entry]:
    """All that was said, with its turn, its place in the turn and its speaker."""
    several = len({event.source for event in evidence.utterances}) > 1
    times = [event.at for event in evidence.utterances]
    gaps = ["", *(_later(after - before) for before, after in pairwise(times))] if times else []
    numbers: Counter[int] = Counter()
    entries: list[Entry] = []
    for event, gap in zip(evidence.utterances, gaps, strict=True):
        turn = evidence.turn_of(event)
        numbers[turn] += 1
        entries.append(_said(event, (turn, numbers[turn]), gap, several=several))
    return entries


def _later(gap: timedelta) -> str:
    """How long nobody had said anything, where that was long: somebody was silent, or kept waiting."""
    return f" (after {render_duration(gap)})" if gap >= SILENCE else ""


def done(evidence: Evidence) -> list[Entry]:
    """What was done, each with the numbers of its events; the same done several times in a row is one."""
    lines = ((evidence.turn_of(event), line, event) for event in evidence.events if (line := _line(event)))
    return [
        _done(turn, line, [event for _, _, event in group])
        for (turn, line), group in groupby(lines, key=lambda found: found[:2])
    ]


def is_reported(event: Event) -> bool:
    """Whether an event is what the agent reports of itself, and nothing observed it."""
    return event.source == "agent" and event.actor == "agent"


def transcript(evidence: Evidence) -> str:
    """All that was said, line by line."""
    return "\n".join(entry.line for entry in said(evidence)) or "(nothing was said)"


def _said(event: Event, place: tuple[int, int], later: str, *, several: bool) -> Entry:
    turn, number = place
    said = cast(Utterance, event.payload)
    speaker = "agent" if event.actor == "agent" else "user"
    where = f" on {_word(event.source)}" if several else ""
    extras = {"buttons": [button.get("title", button) for button in said.buttons], "custom": said.custom}
    besides = "".join(f" {name}={shown(extra, WHOLE)}" for name, extra in extras.items() if extra)
    title = (said.metadata or {}).get("pressed") if speaker == "user" else None
    words = quoted(said.text) if title is None else f"presses {quoted(str(title))}, which sends {quoted(said.text)}"
    line = f"[T{turn}.{number}]{later} {speaker}{where}: {words}{besides}"
    return Entry(turn, (event.seq,), line, said.text, speaker, number)


def ledger(evidence: Evidence) -> str:
    """What was done, under the turn it was done in; turns in which nothing was are left out."""
    opened = {evidence.turn_of(event): event for event in reversed(evidence.utterances) if event.actor != "agent"}
    parts: list[str] = []
    for turn, group in groupby(done(evidence), key=lambda entry: entry.turn):
        parts.append(_header(turn, opened.get(turn)))
        parts += [f"  {entry.line}" for entry in group]
    return "\n".join([*(parts or [NOTHING_TOLD]), f"ended: {evidence.ending}"])


def _header(turn: int, event: Event | None) -> str:
    if event is None:
        return f"[T{turn}] before the first message"
    return f"[T{turn}] user: {quoted(cast(Utterance, event.payload).text, HEADER_LIMIT)}"


def _done(turn: int, line: str, events: Sequence[Event]) -> Entry:
    """The number of its event; of several that are the same, the first and the last, and how many."""
    seqs = tuple(event.seq for event in events)
    reported = is_reported(events[0])
    deed = reported and isinstance(events[0].payload, (ActionExecuted, ToolExecuted))
    mark = f"{REPORTED} " if reported else ""
    shown_as = f"#{seqs[0]} {mark}{line}" if len(seqs) == 1 else f"#{seqs[0]}..#{seqs[-1]} {mark}{line} × {len(seqs)}"
    return Entry(turn, seqs, shown_as, is_reported=reported, is_reported_deed=deed)


def _line(event: Event) -> str | None:
    """What a deed looks like in the ledger; None for words, routine, and what the test itself did."""
    payload = event.payload
    if isinstance(payload, (Utterance, *_STAGE, *_UNREMARKABLE)):
        return None
    write = _WRITTEN.get(type(payload))
    if write is not None:
        line = write(payload)
        return f"{line} (set by the scenario)" if line is not None and event.actor == "scenario" else line
    if event.actor != "agent" and not event.kind.startswith("agent."):
        return None
    where = f"{_word(event.source)}: " if event.source not in ("agent", "run") else ""
    return f"{where}{event.kind.removeprefix('agent.')} {_fields(payload)}".rstrip()


def _flow(verb: str) -> Callable[[Any], str | None]:
    def write(payload: Any) -> str | None:
        if payload.flow_id.startswith("pattern_"):
            return None
        step = getattr(payload, "flow_step_id", None)
        return f"{verb}: {_word(payload.flow_id)}" + (f" (step {_word(step)})" if step else "")

    return write


def is_routine(payload: Payload) -> bool:
    """Tell whether an engine reports this in every session, whatever the agent does."""
    if isinstance(payload, ActionExecuted):
        return payload.name in _ROUTINE_ACTIONS
    if isinstance(payload, Noted):
        return payload.what in _ROUTINE_NOTES
    return isinstance(payload, SlotSet) and payload.name in _ROUTINE_SLOTS


def _action(payload: ActionExecuted) -> str | None:
    if is_routine(payload) or payload.name.startswith(("pattern_", "utter_ask_")):
        return None
    return f"action: {_word(payload.name)}" + (_call(payload.arguments) if payload.arguments else "")


def _slot(payload: SlotSet) -> str | None:
    if is_routine(payload) or payload.name.startswith("knowledge_base_"):
        return None
    return f"slot_set: {_word(payload.name)} = {shown(payload.value)}"


def _tool(payload: ToolExecuted) -> str:
    called = (
        f"{'mcp_tool' if payload.source == 'mcp' else 'tool'}: {_word(payload.tool_name)}{_call(payload.arguments)}"
    )
    if payload.is_error:
        return f"{called} → ERROR: {shown(payload.error_message or payload.result)}"
    if payload.result is None or payload.result in ("", {}, []):
        return f"{called} → ok (empty)"
    failed = isinstance(payload.result, dict) and any(payload.result.get(key) for key in ("error", "errors"))
    return f"{called} → ok{' (reports an error)' if failed else ''}: {shown(payload.result)}"


def _clarification(payload: ClarificationOffered) -> str:
    return f"clarification_offered: {', '.join(map(_word, payload.flow_ids))}"


def _noted(payload: Noted) -> str | None:
    if payload.what not in _NOTED and not payload.what.startswith("agent_"):
        return None
    return f"{_word(payload.what)}{_call(payload.data) if payload.data else ''}"


_WRITTEN: dict[type[Payload], Callable[[Any], str | None]] = {
    AgentAnswered: lambda payload: f"answered: {shown(payload.answer, WHOLE)}",
    FlowStarted: _flow("flow_started"),
    FlowCompleted: _flow("flow_completed"),
    FlowCancelled: _flow("flow_cancelled"),
    FlowInterrupted: _flow("flow_interrupted"),
    FlowResumed: _flow("flow_resumed"),
    ClarificationOffered: _clarification,
    ActionExecuted: _action,
    SlotSet: _slot,
    ToolExecuted: _tool,
    Noted: _noted,
}


def _fields(payload: Payload) -> str:
    usual = {name: field.default for name, field in type(payload).model_fields.items()}
    given = {
        name: value
        for name, value in payload.__dict__.items()
        if value not in (None, "", (), {}, []) and not (value is True and usual[name] is True)
    }
    return " ".join(f"{name}={shown(value)}" for name, value in given.items())


def _call(arguments: dict[str, Any]) -> str:
    return f"({', '.join(f'{_word(name)}={shown(value)}' for name, value in arguments.items())})"


def _word(name: str) -> str:
    """A name as it is where it is a plain one; whoever chose another gets it quoted."""
    plain = name.replace("_", "a").replace("-", "a").replace(".", "a").replace(":", "a").replace("/", "a")
    return name if plain.isalnum() and len(name) <= VALUE_LIMIT else quoted(name, VALUE_LIMIT)


def shown(value: Any, limit: int = VALUE_LIMIT) -> str:
    """A value as JSON on one line, cut where it is long."""
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    text = _one_line(as_json(value))
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"


def as_json(value: Any) -> str:
    """In the one order that keys have in the log, whoever wrote them in which: the same is asked of it ever after."""
    return json.dumps(value, ensure_ascii=False, default=str, sort_keys=True)


def quoted(text: str, limit: int | None = None) -> str:
    """A text as a JSON string on one line: it can neither begin a line of its own nor end its quotes."""
    if limit is not None and len(text) > limit:
        return f"{_one_line(json.dumps(text[:limit], ensure_ascii=False))}… ({len(text):,} characters)"
    return _one_line(json.dumps(text, ensure_ascii=False))


def _one_line(text: str) -> str:
    """JSON leaves three signs as they are that some take for the end of a line."""
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x85", "\\u0085")
