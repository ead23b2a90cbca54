"""An agent as it was recorded, and the agent that is being.

A turn is known by whose it is, the task, the trial, and all that was said to the agent so far. What it did to
sandboxes meanwhile is done again through the same doors, so that the log says the same.
"""

import contextlib
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from pydantic import JsonValue

from clerkship.actors.contract import NOTHING, Agent, AgentError, Entry, Message, Said, Say, Start, Starting
from clerkship.actors.reply import parse_replies, parse_report
from clerkship.events.event import Event, Payload
from clerkship.recording.cassette import AgentTurn, Cassette, Owner, address
from clerkship.recording.redaction import CassetteRedactor
from clerkship.recording.session import RecordingSession
from clerkship.sandbox.direct_call import CallRecord
from clerkship.sandbox.door import Dropped, Sandboxes
from clerkship.sandbox.exchange import Request, query_of

CLOCK = "clock"
_KEPT = frozenset({"content-type", "accept", "prefer", "range", "idempotency-key"})
"""Headers that are part of what is asked, beside all that begin with `if-`; the others say who asks, and from where."""
_BETWEEN = "the agent did something between two turns, when nobody had spoken to it: that cannot be recorded"


class AgentRecording(NamedTuple):
    """The turns of one agent in one trial."""

    session: RecordingSession
    owner: Owner
    content: str
    """A hash of what the agent finds."""

    @property
    def redactor(self) -> CassetteRedactor:
        """Hides what may not be recorded of the task."""
        return self.session.redactor_for(self.owner[0])

    def turn(self, number: int, heard: JsonValue, after: str, **came: Any) -> AgentTurn:
        """Return a turn with its key."""
        about = {"content": self.content, "number": number, "heard": self.redactor.hide(heard), "after": after}
        turn = AgentTurn(key="", of=(self.owner,), solver=self.session.solver, **about, **came)
        return turn.model_copy(update={"key": address(turn.hashed())})


class RecordingAgent:
    """An agent whose every turn is taken down."""

    def __init__(self, agent: Agent, recording: AgentRecording) -> None:
        self.entries: frozenset[Entry] = agent.entries
        self._agent, self._recording = agent, recording
        self._hide = recording.redactor.hide
        self._after = ""
        self._acts: list[dict[str, JsonValue]] | None = None

    async def on_start(self, start: Start, sandboxes: Sandboxes) -> Sequence[Said]:
        """Let it get ready."""
        agent: Any = self._agent
        starting: Starting = agent
        return await self._take(0, None, lambda watched: starting.on_start(start, watched), sandboxes)

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> Sequence[Said]:
        """Hand the message over."""
        return await self._take(
            message.turn, _heard(message), lambda watched: self._agent.on_turn(message, watched), sandboxes
        )

    async def on_task(self, task_item: Mapping[str, JsonValue], sandboxes: Sandboxes) -> JsonValue:
        """Hand the work over; it is not taken down."""
        return await self._agent.on_task(task_item, sandboxes)

    def close(self) -> Mapping[str, JsonValue]:
        """Let it go."""
        return self._agent.close()

    def hear(self, sandbox: str, asked: Request | CallRecord) -> None:
        """Record a request or a call of the agent, in whatever protocol."""
        act = written_act(sandbox, asked)
        if act is not None:
            self._did(act)

    def _did(self, act: dict[str, Any]) -> None:
        if self._acts is None:
            self._recording.session.refuse(self._recording.owner, _BETWEEN)
        else:
            self._acts.append(self._hide(act))

    async def _take(
        self,
        number: int,
        heard: JsonValue,
        work: Callable[[Sandboxes], Awaitable[Sequence[Said]]],
        sandboxes: Sandboxes,
    ) -> Sequence[Said]:
        self._acts = []
        came: dict[str, Any] = {}
        try:
            parts = await work(_watched(sandboxes, self._did))
        except AgentError as error:
            came["failed"] = self._hide(str(error)) or "it failed"
            raise
        else:
            came["parts"] = tuple(self._hide(_part(part)) for part in parts)
            return parts
        finally:
            acts, self._acts = self._acts, None
            if came:  # else its time was over: there is no answer to take down
                self._put(self._recording.turn(number, heard, self._after, acts=tuple(acts), **came))

    def _put(self, turn: AgentTurn) -> None:
        session, owner = self._recording.session, self._recording.owner
        self._after = turn.key
        if session.mode == "record" or session.find(owner, turn.key, counted=False) is None:
            session.put(owner, turn)


class RecordedAgent:
    """Does and says what was taken down."""

    def __init__(self, recording: AgentRecording) -> None:
        self._recording = recording
        self._after = ""
        start = recording.turn(0, None, "")
        started = recording.session.find(recording.owner, start.key, counted=False)
        self.entries: frozenset[Entry] = frozenset({"on_start", "on_turn"} if started else {"on_turn"})

    async def on_start(self, start: Start, sandboxes: Sandboxes) -> Sequence[Said]:
        """As it got ready."""
        return self._play(0, None, sandboxes)

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> Sequence[Said]:
        """As it answered."""
        return self._play(message.turn, _heard(message), sandboxes)

    async def on_task(self, task_item: Mapping[str, JsonValue], sandboxes: Sandboxes) -> JsonValue:
        """Never: its entries say so."""
        raise AgentError("work that an agent was given cannot be recorded")

    def close(self) -> Mapping[str, JsonValue]:
        """It holds nothing."""
        return NOTHING

    def _play(self, number: int, heard: JsonValue, sandboxes: Sandboxes) -> Sequence[Said]:
        session, owner = self._recording.session, self._recording.owner
        show = self._recording.redactor.show
        asked = self._recording.turn(number, heard, self._after)
        self._after = asked.key
        found = session.find(owner, asked.key)
        if not isinstance(found, AgentTurn):
            said = f" upon {asked.heard['text']!r}" if isinstance(asked.heard, dict) else ""
            what = f"what {asked.solver} did in turn {number}{said}"
            raise session.miss(owner, asked.key, what, partial(_nearest, asked))
        for act in found.acts:
            act_again(show(act), sandboxes)
        if found.failed:
            raise AgentError(show(found.failed))
        return [_said(show(part), sandboxes) for part in found.parts]


def _heard(message: Message) -> JsonValue:
    return {"text": message.text, **({"metadata": dict(message.metadata)} if message.metadata else {})}


def _part(part: Said) -> dict[str, Any]:
    if not isinstance(part, Say):
        return {"event": _event(part)}
    return {"say": {name: value for name, value in part.fields().items() if value or name == "text"}}


def _said(part: Mapping[str, Any], sandboxes: Sandboxes) -> Said:
    [said] = parse_replies([part["say"] if "say" in part else part["event"]], sandboxes.agent_events)
    return said


def _event(payload: Payload) -> dict[str, Any]:
    return {"kind": payload.kind, **payload.model_dump(mode="json", exclude_defaults=True)}


def written_act(sandbox: str, asked: Request | CallRecord) -> dict[str, Any] | None:
    """Return a request or a call as a cassette has it; None for one to the clock that does not move it."""
    if isinstance(asked, CallRecord):
        return {"call": {"sandbox": sandbox, **_written_call(asked)}}
    return _clock_act(asked) if sandbox == CLOCK else {"request": {"sandbox": sandbox, **_written(asked)}}


def _written(request: Request) -> dict[str, Any]:
    """A request as it can be sent again: without who sent it."""
    headers = {name.lower(): value for name, value in request.headers.items()}
    kept = {name: value for name, value in sorted(headers.items()) if name in _KEPT or name.startswith("if-")}
    told: dict[str, Any] = {"method": request.method, "path": request.path}
    told |= {"query": _query(request)} if request.query else {}
    told |= {"headers": kept} if kept else {}
    return told | _written_body(request.body)


def _written_body(body: bytes) -> dict[str, Any]:
    if not body:
        return {}
    try:
        return {"text": body.decode()}
    except UnicodeDecodeError:
        return {"bytes": body.decode("latin-1")}  # not base64: a credential could hide in it


def _read_body(written: Mapping[str, Any]) -> bytes:
    return bytes(written["bytes"].encode("latin-1") if "bytes" in written else written.get("text", "").encode())


def _written_call(record: CallRecord) -> dict[str, Any]:
    """Return a call as it can be made again."""
    about = {"transport": record.transport, "target": record.target, "answer": record.answer}
    given = {name: value for name, value in about.items() if value}
    return {"operation": record.operation, "input": dict(record.input), **given, **_written_body(record.body)}


def _read_call(written: Mapping[str, Any]) -> CallRecord:
    about = {name: written[name] for name in ("transport", "target", "answer") if name in written}
    return CallRecord(written["operation"], written["input"], body=_read_body(written), **about)


def _query(request: Request) -> JsonValue:
    """By name, which a cassette sorts; as pairs where a name is said twice or another order was meant."""
    names = [name for name, _ in request.pairs]
    in_order = all(one < other for one, other in pairwise(names))
    return dict(request.pairs) if in_order else [[name, value] for name, value in request.pairs]


def _clock_act(request: Request) -> dict[str, Any] | None:
    """What was asked of the clock, if that moves it."""
    match (request.method, request.path):
        case ("POST", "/advance"):
            return {"wait": request.query.get("by", "")}
        case ("POST", "/skip"):
            return {"wait": None}
    return None


def act_again(act: Mapping[str, Any], sandboxes: Sandboxes) -> None:
    """Repeat what a recorded agent did."""
    if "report" in act:
        sandboxes.report(parse_report(act["report"], sandboxes.agent_events))
    elif "wait" in act:
        sandboxes.wait(act["wait"])
    elif "call" in act:
        with contextlib.suppress(Dropped):
            sandboxes[act["call"]["sandbox"]].call_as_recorded(_read_call(act["call"]))
    else:
        asked = act["request"]
        query = query_of(asked.get("query"))
        request = Request(asked["method"], asked["path"], query, asked.get("headers", {}), _read_body(asked))
        with contextlib.suppress(Dropped):  # as it was then: a fault stands in the way
            sandboxes[asked["sandbox"]].send_as_is(request)


class _Clock:
    """The clock of some sandboxes, with somebody told who waits."""

    def __init__(self, sandboxes: Sandboxes, did: Callable[[dict[str, Any]], None]) -> None:
        self._sandboxes, self._did = sandboxes, did

    @property
    def now(self) -> datetime:
        """The simulated time."""
        return self._sandboxes.now

    def advance(self, by: timedelta) -> None:
        """Wait this long."""
        self._did({"wait": by.total_seconds()})
        self._sandboxes.wait(by.total_seconds())

    def skip(self) -> bool:
        """Wait for the next thing due."""
        self._did({"wait": None})
        return self._sandboxes.wait()


def _watched(sandboxes: Sandboxes, did: Callable[[dict[str, Any]], None]) -> Sandboxes:
    """The same sandboxes, where whoever reports or waits is overheard; what is asked of them, the gateway tells."""

    def report(payload: Payload) -> Event:
        event = sandboxes.report(payload)
        did({"report": _event(payload)})
        return event

    return Sandboxes(dict(sandboxes), _Clock(sandboxes, did), report, sandboxes.agent_events)


def _nearest(asked: AgentTurn, cassette: Cassette, used: Collection[str]) -> str:
    turns = [entry for entry in cassette.entries.values() if isinstance(entry, AgentTurn) and entry.of == asked.of]
    if not turns:
        return "; no agent is recorded for this trial: --record --record-agent does that"
    if all(turn.solver != asked.solver for turn in turns):
        return f"; recorded is {', '.join(sorted({turn.solver for turn in turns}))}"
    if all(turn.content != asked.content for turn in turns):
        return "; what is recorded is of this task as it was before: it has changed since"
    near = min(turns, key=lambda turn: (abs(turn.number - asked.number), turn.after != asked.after, turn.key))
    if near.number != asked.number:
        return f"; its recording ends with turn {max(turn.number for turn in turns)}"
    heard = near.heard.get("text") if isinstance(near.heard, dict) else None
    if near.heard == asked.heard:
        return "; the conversation before it is another than when it was recorded"
    return f"; when it was recorded, the person said {heard!r} there"
