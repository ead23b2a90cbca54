"""An agent while it is recorded, and a recorded agent.

A turn is found by the agent's name, the task, the trial, and everything that was said to the agent so far. What it did
to sandboxes is repeated through the same interfaces, so that the log is the same.
"""

import contextlib
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any, cast

from pydantic import JsonValue

from clerkship.actors.contract import (
    NO_FACTS,
    Agent,
    AgentError,
    AgentWithEnd,
    AgentWithStart,
    EntryPointName,
    Message,
    ReplyPart,
    Say,
    Start,
)
from clerkship.actors.reply import parse_replies, parse_report
from clerkship.events.event import Event, Payload
from clerkship.recording.cassette import Cassette, RecordedTurn, TrialKey
from clerkship.recording.session import RecordingSession
from clerkship.sandbox.call_record import CallRecord
from clerkship.sandbox.handle import Dropped, Sandboxes
from clerkship.sandbox.request import Request, to_query

CLOCK = "clock"
_RECORDED_HEADERS = frozenset({"content-type", "accept", "prefer", "range", "idempotency-key"})
"""Headers that are part of a request's meaning, beside all that begin with `if-`; the others identify the sender."""
AddAction = Callable[[dict[str, Any]], None]
END = -1
"""The number of what is recorded after the last turn."""
_ACTED_BETWEEN_TURNS = "the agent acted between two turns, which cannot be recorded"


def to_recorded_action(sandbox: str, request: Request | CallRecord) -> dict[str, Any] | None:
    """Return a request or call in its recorded form; None for a request to the clock that does not move it."""
    if isinstance(request, CallRecord):
        about = {"transport": request.transport, "target": request.target, "answer": request.answer}
        given = {name: value for name, value in about.items() if value} | _to_recorded_body(request.body)
        call = {"sandbox": sandbox, "operation": request.operation, "input": dict(request.input), **given}
        return {"call": call}
    if sandbox != CLOCK:
        return {"request": {"sandbox": sandbox, **_to_recorded_request(request)}}
    if (request.method, request.path) == ("POST", "/advance"):
        return {"wait": request.query.get("by", "")}
    return {"wait": None} if (request.method, request.path) == ("POST", "/skip") else None


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
        recorded = dict(act["request"])
        query, headers = to_query(recorded.get("query")), recorded.get("headers", {})
        request = Request(recorded["method"], recorded["path"], query, headers, _pop_body(recorded))
        sandboxes[recorded["sandbox"]].send_as_is(request)


def _to_recorded_request(request: Request) -> dict[str, Any]:
    """Return a request without what identifies its sender."""
    headers = {name.lower(): value for name, value in request.headers.items()}
    recorded_headers = {
        name: value for name, value in sorted(headers.items()) if name in _RECORDED_HEADERS or name.startswith("if-")
    }
    written: dict[str, Any] = {"method": request.method, "path": request.path}
    if request.query:  # by name; as pairs if a name occurs twice or the names are not in alphabetical order
        in_order = all(one < other for (one, _), (other, _) in pairwise(request.pairs))
        written["query"] = dict(request.pairs) if in_order else [[name, value] for name, value in request.pairs]
    written |= {"headers": recorded_headers} if recorded_headers else {}
    return written | _to_recorded_body(request.body)


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


def observe_sandboxes(sandboxes: Sandboxes, add: AddAction) -> Sandboxes:
    """Return the same sandboxes, with reports and waits recorded; the gateway records requests and calls."""

    def report(payload: Payload) -> Event:
        event = sandboxes.report(payload)
        add({"report": to_recorded_event(payload)})
        return event

    clock = _ObservedClock(sandboxes, add)
    return Sandboxes(dict(sandboxes), clock, report, sandboxes.agent_events, sandboxes.services)


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


class AgentRecording:
    """The turns of one agent in one trial, each linked to the one before it."""

    def __init__(
        self, session: RecordingSession, owner: TrialKey, content: str, *, names_sandbox: bool = False
    ) -> None:
        self._session, self._owner = session, owner
        self._names_sandbox = names_sandbox
        """Whether a turn is also identified by its sandbox, because there are several people."""
        self._content = content
        """A hash of the task."""
        self._after = ""
        self._redactor = session.redactor_for(owner[0])
        self.hide, self.show = self._redactor.hide, self._redactor.show

    def heard(self, message: Message) -> JsonValue:
        """Return the part of a message that identifies a turn."""
        heard: dict[str, JsonValue] = {"sandbox": message.conversation} if self._names_sandbox else {}
        return {**heard, "text": message.text, **({"metadata": dict(message.metadata)} if message.metadata else {})}

    def find(self, number: int) -> RecordedTurn | None:
        """Return what is recorded before the first message (0) or after the last reply (END)."""
        return self._session.find(self._owner, self._turn(number, None), counted=False)

    def save(self, number: int, heard: JsonValue, **came: Any) -> None:
        """Record a turn; in refresh mode only if it is missing."""
        turn = self._turn(number, heard, **came)
        self._after = turn.key
        if self._session.mode == "record" or self._session.find(self._owner, turn, counted=False) is None:
            self._session.put(self._owner, turn)

    def load(self, number: int, heard: JsonValue) -> RecordedTurn:
        """Return a recorded turn; raise NotRecorded."""
        turn = self._turn(number, heard)
        self._after = turn.key
        if (recorded := self._session.find(self._owner, turn)) is not None:
            return recorded
        cause = f" upon {turn.heard['text']!r}" if isinstance(turn.heard, dict) else ""
        what = f"what {turn.solver} did in turn {number}{cause}"
        raise self._session.miss(self._owner, turn, what, partial(_describe_nearest_turn, turn))

    def refuse(self) -> None:
        """Mark the trial as impossible to record, because the agent acted between two turns."""
        self._session.refuse(self._owner, _ACTED_BETWEEN_TURNS)

    def _turn(self, number: int, heard: JsonValue, **came: Any) -> RecordedTurn:
        about = {"solver": self._session.solver, "content": self._content, "number": number, "after": self._after}
        return RecordedTurn(key="", of=(self._owner,), heard=self.hide(heard), **about, **came).keyed()


class RecordingAgent:
    """An agent whose turns are recorded."""

    def __init__(self, agent: Agent, recording: AgentRecording) -> None:
        self.entries: frozenset[EntryPointName] = agent.entries
        self._agent, self._recording = agent, recording
        self._acts: list[dict[str, JsonValue]] | None = None
        self._has_turns = False

    async def on_start(self, start: Start, sandboxes: Sandboxes) -> Sequence[ReplyPart]:
        """Start the agent, and record what it does and says."""
        return await self._record(
            0, None, cast(AgentWithStart, self._agent).on_start(start, observe_sandboxes(sandboxes, self._add))
        )

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> Sequence[ReplyPart]:
        """Pass on a message, and record what the agent does and says."""
        turn = self._agent.on_turn(message, observe_sandboxes(sandboxes, self._add))
        return await self._record(message.turn, self._recording.heard(message), turn)

    async def check_end(self) -> None:
        """Check the agent, and record its failure after its last reply."""
        if isinstance(self._agent, AgentWithEnd):
            try:
                await self._agent.check_end()
            except AgentError as error:
                if self._has_turns:
                    self._recording.save(END, None, failed=self._recording.hide(str(error)) or "it failed")
                raise

    async def on_task(self, task_item: Mapping[str, JsonValue], sandboxes: Sandboxes) -> JsonValue:
        """Pass on work; it is not recorded."""
        return await self._agent.on_task(task_item, sandboxes)

    def close(self) -> Mapping[str, JsonValue]:
        return self._agent.close()

    def hear(self, sandbox: str, request: Request | CallRecord) -> None:
        """Record a request or call of the agent, in any protocol."""
        act = to_recorded_action(sandbox, request)
        if act is not None:
            self._add(act)

    def _add(self, act: dict[str, Any]) -> None:
        if self._acts is None:
            self._recording.refuse()
        else:
            self._acts.append(self._recording.hide(act))

    async def _record(self, number: int, heard: JsonValue, turn: Awaitable[Sequence[ReplyPart]]) -> Sequence[ReplyPart]:
        self._acts, hide = [], self._recording.hide
        self._has_turns = True
        came: dict[str, Any] = {}
        try:
            parts = await turn
        except AgentError as error:
            came["failed"] = hide(str(error)) or "it failed"
            raise
        else:
            came["parts"] = tuple(hide(_to_recorded_reply(part)) for part in parts)
            return parts
        finally:
            acts, self._acts = tuple(self._acts), None
            if came:  # otherwise the time was over, and there is no answer to record
                self._recording.save(number, heard, acts=acts, **came)


class RecordedAgent:
    """Repeats what was recorded."""

    def __init__(self, recording: AgentRecording) -> None:
        self._recording = recording
        self.entries: frozenset[EntryPointName] = frozenset(
            {"on_start", "on_turn"} if recording.find(0) is not None else {"on_turn"}
        )

    async def on_start(self, start: Start, sandboxes: Sandboxes) -> Sequence[ReplyPart]:
        """Repeat what it did and said before the first message."""
        return self._play(0, None, sandboxes)

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> Sequence[ReplyPart]:
        """Repeat what it did and said."""
        return self._play(message.turn, self._recording.heard(message), sandboxes)

    async def check_end(self) -> None:
        """Repeat a failure after its last reply."""
        end = self._recording.find(END)
        if end is not None and end.failed:
            raise AgentError(self._recording.show(end.failed))

    async def on_task(self, task_item: Mapping[str, JsonValue], sandboxes: Sandboxes) -> JsonValue:
        """Raise AgentError: tasks are not recorded."""
        raise AgentError("tasks cannot be recorded, only conversations")

    def close(self) -> Mapping[str, JsonValue]:
        return NO_FACTS

    def _play(self, number: int, heard: JsonValue, sandboxes: Sandboxes) -> Sequence[ReplyPart]:
        turn, show = self._recording.load(number, heard), self._recording.show
        for act in turn.acts:
            repeat_action(show(act), sandboxes)
        if turn.failed:
            raise AgentError(show(turn.failed))
        parts = [show(part) for part in turn.parts]
        return parse_replies([part.get("say", part.get("event")) for part in parts], sandboxes.agent_events)


def _to_recorded_reply(part: ReplyPart) -> dict[str, Any]:
    if not isinstance(part, Say):
        return {"event": to_recorded_event(part)}
    return {"say": {name: value for name, value in part.fields().items() if value or name == "text"}}


def _describe_nearest_turn(wanted: RecordedTurn, cassette: Cassette, used: Collection[str]) -> str:
    turns = [entry for entry in cassette.entries.values() if isinstance(entry, RecordedTurn) and entry.of == wanted.of]
    if not turns:
        return "; no agent is recorded for this trial: record one with --record --record-agent"
    if all(turn.solver != wanted.solver for turn in turns):
        return f"; the recording is of {', '.join(sorted({turn.solver for turn in turns}))}"
    if all(turn.content != wanted.content for turn in turns):
        return "; the task has changed since the recording"
    near = min(turns, key=lambda turn: (abs(turn.number - wanted.number), turn.after != wanted.after, turn.key))
    if near.number != wanted.number:
        return f"; the recording ends with turn {max(turn.number for turn in turns)}"
    heard = near.heard.get("text") if isinstance(near.heard, dict) else None
    if near.heard == wanted.heard:
        return "; the conversation before it differs from the recording"
    return f"; in the recording, the person said {heard!r} there"
