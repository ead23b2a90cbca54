"""Record the calls and replies of a reference solution, and read from the log which of them had an effect."""

import inspect
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

import orjson
from pydantic import JsonValue

from clerkship.actors.contract import Message, ReplyPart, Say, Start
from clerkship.actors.person_patterns import is_closing
from clerkship.checks.attacks.call_changes import Arguments, bind_arguments
from clerkship.checks.attacks.contract import AttackKnowledge, AttackStrategy
from clerkship.checks.attacks.reference import ReferenceAgent
from clerkship.events.agent import Noted
from clerkship.events.event import Payload, parse_line
from clerkship.events.reply_calls import REPLY, SAY
from clerkship.model.path import MISSING
from clerkship.model.snapshot import Snapshot
from clerkship.model.variant import Variant
from clerkship.sandbox.handle import Sandboxes
from clerkship.sandbox.overrides import override_methods

REPLY_SAY = f"{REPLY}.{SAY}"
"""The call that a message of a reply stands for."""
_MARK = "clerkship.call"
"""What is noted in the log before and after each recorded call."""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)|\b\d{14}[+-]\d{4}")
_ID = re.compile(r"\b(?:[A-Za-z]\w*_)?(?=\d*[a-f])[0-9a-f]{12}\b")
_VERSION = re.compile(r'"(?:version|versionId|modified)":"[^"]*"')
_NUMBERED = ("id", "interchange")
"""Keys of events with a number that a sandbox counts up, so that one more request changes those of all later ones."""
MIN_REFUSED = 400
"""Requests with this status or a higher one had no effect."""


@dataclass(eq=False)
class SolutionCall:
    """A call of the solution to a method of a sandbox, or a message of its reply."""

    name: str
    """Sandbox and method, such as `ehr.create`."""
    occurrence: int
    """Its number among the calls to this method, from 1."""
    arguments: Arguments
    """The arguments that are plain data, by name."""
    is_complete: bool
    """Whether all arguments are plain data, so that the call can be made again."""
    result: Any = MISSING
    """The result, if it is plain data."""
    has_effect: bool = False
    """Whether it changed something, or something left the office."""
    has_reaction: bool = False
    """Whether others than the agent did something before the next call with an effect."""
    is_courtesy: bool = False
    """Whether it is a greeting or a goodbye."""

    @property
    def label(self) -> str:
        """The method and the number of the call, such as `ehr.create #2`."""
        return f"{self.name} #{self.occurrence}"


@dataclass
class Recording:
    """What a reference solution did in one trial."""

    task_item: Mapping[str, JsonValue] = field(default_factory=dict)
    calls: list[SolutionCall] = field(default_factory=list)
    answer: JsonValue = None
    records: list[dict[str, Any]] = field(default_factory=list)
    """The log."""

    def before(self, call: SolutionCall) -> list[SolutionCall]:
        """Return the calls before one."""
        return self.calls[: self.calls.index(call)]

    @property
    def requests(self) -> int:
        """The number of requests."""
        return sum("request" in record for record in self.records)

    @property
    def has_people(self) -> bool:
        """Whether a person did something in the trial."""
        return any(record["actor"] == "person" for record in self.records)

    def find_replies(self, variant: Variant) -> list[SolutionCall]:
        """Return the messages of replies that a variant changes."""
        numbers = {change.occurrence for change in variant.changes if change.call == REPLY_SAY}
        return [call for call in self.calls if call.name == REPLY_SAY and call.occurrence in numbers]

    def has_same_effects(
        self, records: Iterable[Mapping[str, Any]], events: Mapping[str, type[Payload]], *, with_talk: bool
    ) -> bool:
        """Return whether another agent had the same effects, with or without what it said."""
        mine, other = (list_effects(each, events, with_talk=with_talk) for each in (self.records, records))
        return mine == other

    def read_log(self, lines: Iterable[bytes], events: Mapping[str, type[Payload]]) -> None:
        """Find out from the log of the trial which calls had an effect."""
        records = self.records = [parse_line(line) for line in lines]
        current = last = None
        for record in records:
            if _is_mark(record):
                number = record["payload"]["data"].get("call")
                current = None if number is None else self.calls[number]
            elif current is not None and _is_effect(record, events):
                current.has_effect, last = True, current
            elif last is not None and record["actor"] != "agent":
                last.has_reaction = True


def list_effects(
    records: Iterable[Mapping[str, Any]], events: Mapping[str, type[Payload]], *, with_talk: bool = True
) -> list[str]:
    """Return what the agent changed or sent, in order, without times and ids of the trial itself.

    A record that is set once more to the same value is listed once.
    """
    listed = list(records)
    start, end = (datetime.fromisoformat(listed[number]["at"]) for number in (0, -1))

    def mask(match: re.Match[str]) -> str:
        text = match[0] if "T" in match[0] else f"{match[0][:8]}T{match[0][8:]}"
        try:
            is_now = start <= datetime.fromisoformat(text) <= end
        except ValueError:  # no such time
            is_now = False
        return "now" if is_now else match[0]

    effects: list[str] = []
    for record in listed:
        if not _is_effect(record, events) or _is_mark(record):
            continue
        kind, payload = record["kind"], record["payload"]
        type = events[kind].effect
        if type == "talk" and not with_talk:
            continue
        if type != "state":
            payload = {key: None if _is_running_number(key, value) else value for key, value in payload.items()}
        effect = [record["source"], kind, payload, record.get("blobs")]
        text = orjson.dumps(effect, option=orjson.OPT_SORT_KEYS).decode()
        text = _VERSION.sub("", _ID.sub("id", _TIME.sub(mask, text)))
        if type != "state" or text != (effects or [""])[-1]:
            effects.append(text)
    return effects


def _is_effect(record: Mapping[str, Any], events: Mapping[str, type[Payload]]) -> bool:
    status: int = record.get("request", {}).get("status", 0)
    return record["actor"] == "agent" and events[record["kind"]].effect != "none" and status < MIN_REFUSED


def _is_running_number(key: str, value: Any) -> bool:
    return key in _NUMBERED and isinstance(value, str) and value.isdigit()


def _is_mark(record: Mapping[str, Any]) -> bool:
    return bool(record["kind"] == Noted.kind and record["payload"]["what"] == _MARK)


class RecordingStrategy(AttackStrategy):
    """No attack: run the solutions, and record their calls."""

    name = "recording"
    summary = "runs the reference solution and records its calls"
    advice = "fix the task or its solution"
    needs_solution = True

    def __init__(self) -> None:
        self.recordings: dict[str, Recording] = {}
        """The recordings by task."""

    def agent(self, snapshot: Snapshot, knowledge: AttackKnowledge) -> ReferenceAgent:
        """Return the solution, whose calls are recorded."""
        recording = self.recordings[snapshot.task.name] = Recording()
        return _RecordingAgent(self, snapshot, knowledge, recording)


class _RecordingAgent(ReferenceAgent):
    def __init__(
        self, strategy: AttackStrategy, snapshot: Snapshot, knowledge: AttackKnowledge, recording: Recording
    ) -> None:
        super().__init__(strategy, snapshot, knowledge)
        self._recording = recording
        self._counts: Counter[str] = Counter()
        scenario = snapshot.task.scenario
        self._has_reply_calls = scenario is not None and scenario.starts == "person"

    async def on_start(self, start: Start, sandboxes: Sandboxes) -> Sequence[ReplyPart]:
        return self._record_reply(await super().on_start(start, sandboxes), is_greeting=True)

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> Sequence[ReplyPart]:
        return self._record_reply(await super().on_turn(message, sandboxes))

    async def on_task(self, task_item: Mapping[str, JsonValue], sandboxes: Sandboxes) -> JsonValue:
        self._recording.task_item = task_item
        self._recording.answer = await super().on_task(task_item, sandboxes)
        return self._recording.answer

    def wrap_sandboxes(self, sandboxes: Sandboxes) -> Sandboxes:
        names = [f"{name}.{method}" for name, handle in sandboxes.items() for method in _list_methods(type(handle))]
        return override_methods(sandboxes, {name: partial(self._call, sandboxes, name) for name in names})

    def _call(self, sandboxes: Sandboxes, name: str, method: Any, /, *args: Any, **kwargs: Any) -> Any:
        call = self._add(name, bind_arguments(inspect.signature(method), args, kwargs))
        sandboxes.report(Noted(what=_MARK, data={"call": len(self._recording.calls) - 1}))
        try:
            result = method(*args, **kwargs)
        finally:
            sandboxes.report(Noted(what=_MARK))
        call.result = _to_plain(result)
        return result

    def _record_reply(self, reply: Sequence[ReplyPart], *, is_greeting: bool = False) -> Sequence[ReplyPart]:
        for part in reply:
            if isinstance(part, Say) and self._has_reply_calls:
                call = self._add(REPLY_SAY, {"text": part.text})
                call.has_effect = call.has_reaction = True
                call.is_courtesy = is_greeting or is_closing(part.text or "", "agent")
        return reply

    def _add(self, name: str, arguments: Arguments) -> SolutionCall:
        self._counts[name] += 1
        plain = {key: data for key, value in arguments.items() if (data := _to_plain(value)) is not MISSING}
        call = SolutionCall(name, self._counts[name], plain, is_complete=len(plain) == len(arguments))
        self._recording.calls.append(call)
        return call


def _list_methods(handle: type[Any]) -> Iterator[str]:
    """Yield the names of the public methods of a handle."""
    for name in dir(handle):
        if not name.startswith("_") and callable(getattr(handle, name)):
            yield name


def _to_plain(value: Any) -> Any:
    """Return a copy of a value as JSON data; MISSING if it is none."""
    try:
        return orjson.loads(orjson.dumps(value))
    except (TypeError, ValueError):
        return MISSING
