"""A run as a judge reads it: utterances and actions by turn, each on one line."""

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from itertools import groupby, pairwise
from typing import Any, NamedTuple, cast

from clerkship.events.agent import (
    MODEL_FAULTS,
    ActionExecuted,
    ClarificationOffered,
    FlowCancelled,
    FlowCompleted,
    FlowInterrupted,
    FlowResumed,
    FlowStarted,
    Noted,
    SlotSet,
    ToolCallRejected,
    ToolExecuted,
)
from clerkship.events.event import Event, Payload, Utterance, find_conversations, is_by_agent
from clerkship.events.evidence import Evidence
from clerkship.events.lifecycle import (
    AgentAnswered,
    AgentStarted,
    ClockAdvanced,
    FaultInjected,
    ModelCalled,
    RequestAnswered,
    RunEnded,
    RunStarted,
    SpanRecorded,
    StepFailed,
    StepRan,
)
from clerkship.model.duration import render_duration

NO_ACTIONS = "(the agent's system tells nothing of what it does)"
REPORTED_MARKER = "reported"
"""Precedes events that only the agent reported, and no sandbox observed."""
MAX_VALUE_LENGTH = 500
"""Characters of a value or a text in the ledger; the transcript is not cut."""
MAX_ANSWER_LENGTH = 20_000
"""Characters of an answer or of what the agent showed to people, which is what is judged."""
MAX_HEADER_LENGTH = 200
MIN_SILENCE = timedelta(seconds=30)
"""A pause of at least this simulated time is shown to the judge."""
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
_SHOWN_NOTES = frozenset(
    {"restart", "session_ended", "error", "action_execution_rejected", "unsupported_request_classified"}
)
_TEST_EVENTS: tuple[type[Payload], ...] = (RunStarted, StepRan, StepFailed, AgentStarted, RunEnded, FaultInjected)
"""Events of the test itself, not of the agent."""
_MINOR_EVENTS: tuple[type[Payload], ...] = (RequestAnswered, ClockAdvanced, ModelCalled, SpanRecorded)
"""Waiting, model calls, spans, and requests that changed nothing and returned no record, such as one for attributes."""


_LABEL = re.compile(r"^(?:\[T\d+\.\d+\][^:]*: |#\d+(?:\.\.#\d+)? (?:reported )?)")


class LedgerEntry(NamedTuple):
    """A line for the judge, and the events it represents."""

    turn: int
    seqs: tuple[int, ...]
    """The numbers of its events."""
    line: str
    text: str = ""
    """The text of an utterance."""
    speaker: str = ""
    """The speaker of an utterance: `agent` or `user`."""
    number: int = 0
    """The position of an utterance in its turn, from 1: `[T2.1]` is the first one of turn 2."""
    is_reported: bool = False
    """Whether only the agent reported it, and no sandbox observed it."""
    is_reported_action: bool = False
    """Whether it is a reported tool call or action, which a sandbox could have observed."""

    @property
    def id(self) -> str:
        """The id by which the line is cited: `T2.1` for an utterance, `#12` for an action."""
        return f"T{self.turn}.{self.number}" if self.number else f"#{self.seqs[0]}"

    @property
    def content(self) -> str:
        """The line without its id and speaker, which are not part of what was said or done."""
        return _LABEL.sub("", self.line)

    @property
    def is_text_only(self) -> bool:
        """Whether it is an utterance with nothing but its text: no buttons, no other data."""
        return bool(self.text) and self.content == quote_text(self.text)


def list_utterances(evidence: Evidence) -> list[LedgerEntry]:
    """Return all utterances with turn, position in the turn, and speaker."""
    several = len({key for event in evidence.utterances for key in find_conversations(event)}) > 1
    times = [event.at for event in evidence.utterances]
    gaps = ["", *(_render_gap(after - before) for before, after in pairwise(times))] if times else []
    numbers: Counter[int] = Counter()
    entries: list[LedgerEntry] = []
    for event, gap in zip(evidence.utterances, gaps, strict=True):
        turn = evidence.turn_of(event)
        numbers[turn] += 1
        text = evidence.heard_text(event)
        entries.append(_build_utterance(event, text, (turn, numbers[turn]), gap, several=several))
    return entries


def _render_gap(gap: timedelta) -> str:
    """Return how long the conversation paused before an utterance; empty for a short pause."""
    return f" (after {render_duration(gap)})" if gap >= MIN_SILENCE else ""


def list_actions(evidence: Evidence) -> list[LedgerEntry]:
    """Return all actions with the numbers of their events; equal actions in a row are one entry."""
    lines = ((evidence.turn_of(event), line, event) for event in evidence.events if (line := _render_action(event)))
    return [
        _build_action(turn, line, [event for _, _, event in group])
        for (turn, line), group in groupby(lines, key=lambda entry: entry[:2])
    ]


def is_reported(event: Event) -> bool:
    """Return whether an event was reported by the agent itself and not observed by a sandbox."""
    return event.source == "agent" and event.actor == "agent"


def render_transcript(evidence: Evidence) -> str:
    """Return all utterances, one per line."""
    return "\n".join(entry.line for entry in list_utterances(evidence)) or "(nothing was said)"


def _build_utterance(event: Event, text: str, place: tuple[int, int], gap: str, *, several: bool) -> LedgerEntry:
    turn, number = place
    utterance = cast(Utterance, event.payload)
    speaker = "agent" if is_by_agent(event) else "user"
    where = f" on {', '.join(map(_render_name, find_conversations(event)))}" if several else ""
    extras = {"buttons": [button.get("title", button) for button in utterance.buttons], "custom": utterance.custom}
    extras_text = "".join(
        f" {name}={render_value(extra, MAX_ANSWER_LENGTH)}" for name, extra in extras.items() if extra
    )
    title = (utterance.metadata or {}).get("pressed") if speaker == "user" else None
    words = quote_text(text) if title is None else f"presses {quote_text(str(title))}, which sends {quote_text(text)}"
    cut = " (interrupted)" if text != utterance.text else ""
    line = f"[T{turn}.{number}]{gap} {speaker}{where}: {words}{extras_text}{cut}"
    return LedgerEntry(turn, (event.seq,), line, text, speaker, number)


def render_ledger(evidence: Evidence) -> str:
    """Return the actions of each turn; turns without actions are left out."""
    opened = {evidence.turn_of(event): event for event in reversed(evidence.utterances) if not is_by_agent(event)}
    parts: list[str] = []
    for turn, group in groupby(list_actions(evidence), key=lambda entry: entry.turn):
        parts.append(_render_turn_header(turn, opened.get(turn)))
        parts += [f"  {entry.line}" for entry in group]
    return "\n".join([*(parts or [NO_ACTIONS]), f"ended: {evidence.ending}"])


def _render_turn_header(turn: int, event: Event | None) -> str:
    if event is None:
        return f"[T{turn}] before the first message"
    return f"[T{turn}] user: {quote_text(cast(Utterance, event.payload).text, MAX_HEADER_LENGTH)}"


def _build_action(turn: int, line: str, events: Sequence[Event]) -> LedgerEntry:
    """Build the entry of one or several equal events: `#12`, or the first and the last, and the count."""
    seqs = tuple(event.seq for event in events)
    reported = is_reported(events[0])
    is_action = reported and isinstance(events[0].payload, (ActionExecuted, ToolExecuted))
    mark = f"{REPORTED_MARKER} " if reported else ""
    text = f"#{seqs[0]} {mark}{line}" if len(seqs) == 1 else f"#{seqs[0]}..#{seqs[-1]} {mark}{line} × {len(seqs)}"
    return LedgerEntry(turn, seqs, text, is_reported=reported, is_reported_action=is_action)


def _render_action(event: Event) -> str | None:
    """Return the line of an action; None for utterances, routine events, and events of the test itself."""
    payload = event.payload
    if isinstance(payload, (Utterance, *_TEST_EVENTS, *_MINOR_EVENTS)):
        return None
    write = _RENDERERS.get(type(payload))
    if write is not None:
        line = write(payload)
        return f"{line} (set by the scenario)" if line is not None and event.actor == "scenario" else line
    if event.actor != "agent" and not event.kind.startswith("agent."):
        return None
    where = f"{_render_name(event.source)}: " if event.source not in ("agent", "run") else ""
    return f"{where}{event.kind.removeprefix('agent.')} {_render_fields(payload)}".rstrip()


def _flow_renderer(verb: str) -> Callable[[Any], str | None]:
    def write(payload: Any) -> str | None:
        if payload.flow_id.startswith("pattern_"):
            return None
        step = getattr(payload, "flow_step_id", None)
        return f"{verb}: {_render_name(payload.flow_id)}" + (f" (step {_render_name(step)})" if step else "")

    return write


def is_agent_action(payload: Payload) -> bool:
    """Return whether an event that the agent reports is an action: not routine, and not a failure of its model.

    A tool call that was rejected had no effect.
    """
    is_fault = isinstance(payload, Noted) and payload.what in MODEL_FAULTS
    return not (is_fault or isinstance(payload, ToolCallRejected) or is_routine(payload))


def is_routine(payload: Payload) -> bool:
    """Return whether an engine reports this in every session, whatever the agent does."""
    if isinstance(payload, ActionExecuted):
        return payload.name in _ROUTINE_ACTIONS
    if isinstance(payload, Noted):
        return payload.what in _ROUTINE_NOTES
    return isinstance(payload, SlotSet) and payload.name in _ROUTINE_SLOTS


def _render_agent_action(payload: ActionExecuted) -> str | None:
    if is_routine(payload) or payload.name.startswith(("pattern_", "utter_ask_")):
        return None
    return f"action: {_render_name(payload.name)}" + (_render_arguments(payload.arguments) if payload.arguments else "")


def _render_slot(payload: SlotSet) -> str | None:
    if is_routine(payload) or payload.name.startswith("knowledge_base_"):
        return None
    return f"slot_set: {_render_name(payload.name)} = {render_value(payload.value)}"


def _render_tool(payload: ToolExecuted) -> str:
    label = "mcp_tool" if payload.source == "mcp" else "tool"
    called = f"{label}: {_render_name(payload.tool_name)}{_render_arguments(payload.arguments)}"
    if payload.is_error:
        return f"{called} → ERROR: {render_value(payload.error_message or payload.result)}"
    if payload.result is None or payload.result in ("", {}, []):
        return f"{called} → ok (empty)"
    failed = isinstance(payload.result, dict) and any(payload.result.get(key) for key in ("error", "errors"))
    return f"{called} → ok{' (reports an error)' if failed else ''}: {render_value(payload.result)}"


def _render_rejected_call(payload: ToolCallRejected) -> str:
    return f"tool call not executed: {_render_name(payload.tool_name)}: {render_value(payload.reason)}"


def _render_clarification(payload: ClarificationOffered) -> str:
    return f"clarification_offered: {', '.join(map(_render_name, payload.flow_ids))}"


def _render_note(payload: Noted) -> str | None:
    if payload.what not in _SHOWN_NOTES and not payload.what.startswith("agent_"):
        return None
    return f"{_render_name(payload.what)}{_render_arguments(payload.data) if payload.data else ''}"


_RENDERERS: dict[type[Payload], Callable[[Any], str | None]] = {
    AgentAnswered: lambda payload: f"answered: {render_value(payload.answer, MAX_ANSWER_LENGTH)}",
    FlowStarted: _flow_renderer("flow_started"),
    FlowCompleted: _flow_renderer("flow_completed"),
    FlowCancelled: _flow_renderer("flow_cancelled"),
    FlowInterrupted: _flow_renderer("flow_interrupted"),
    FlowResumed: _flow_renderer("flow_resumed"),
    ClarificationOffered: _render_clarification,
    ActionExecuted: _render_agent_action,
    SlotSet: _render_slot,
    ToolExecuted: _render_tool,
    ToolCallRejected: _render_rejected_call,
    Noted: _render_note,
}


def _render_fields(payload: Payload) -> str:
    defaults = {name: field.default for name, field in type(payload).model_fields.items()}
    given = {
        name: value
        for name, value in payload.__dict__.items()
        if value not in (None, "", (), {}, [])
        and not (value is True and defaults[name] is True)
        and name not in payload.state_fields
    }
    return " ".join(f"{name}={render_value(value)}" for name, value in given.items())


def _render_arguments(arguments: dict[str, Any]) -> str:
    return f"({', '.join(f'{_render_name(name)}={render_value(value)}' for name, value in arguments.items())})"


def _render_name(name: str) -> str:
    """Return a name unquoted if it consists of plain characters; quoted otherwise."""
    plain = name.replace("_", "a").replace("-", "a").replace(".", "a").replace(":", "a").replace("/", "a")
    return name if plain.isalnum() and len(name) <= MAX_VALUE_LENGTH else quote_text(name, MAX_VALUE_LENGTH)


def render_value(value: Any, limit: int = MAX_VALUE_LENGTH) -> str:
    """Return a value as JSON on one line, cut if it is long."""
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    text = _escape_line_ends(to_json(value))
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"


def to_json(value: Any) -> str:
    """Return JSON with sorted keys: the same value always gives the same prompt."""
    return json.dumps(value, ensure_ascii=False, default=str, sort_keys=True)


def quote_text(text: str, limit: int | None = None) -> str:
    """Return a text as a JSON string on one line, so that it can neither start a new line nor close its quotes."""
    if limit is not None and len(text) > limit:
        return f"{_escape_line_ends(json.dumps(text[:limit], ensure_ascii=False))}… ({len(text):,} characters)"
    return _escape_line_ends(json.dumps(text, ensure_ascii=False))


def _escape_line_ends(text: str) -> str:
    """Escape three characters that JSON leaves as they are and some readers treat as line ends."""
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x85", "\\u0085")
