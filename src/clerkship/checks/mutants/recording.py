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
from clerkship.formats.fax_pages.header import get_header_height
from clerkship.formats.fax_pages.page import PageWord
from clerkship.model.environment import CONVERSATION_KIND
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
_PAGE = "fax.page.stored"
_DRAWN = {"portal.request.filed": "reference", "portal.appeal.submitted": "appeal"}
"""Events with a number that a payer draws, which one more event before it changes."""
_THANKS = re.compile(r"(?i)\W*(?:thank you|thanks)\b(?:(?!\bnot?\b|n't\b|cannot)[^\d?])*")
_QUESTION = re.compile(
    r"(?i)(?:^|[.!?:,] )(?:and |so |please |for |on |at |in |to |by |from )*"
    r"(?:what|which|when|where|who|whom|whose|how (?:much|many)|(?:the|your) [^.!?]*(?=\?))\b[^.!]*\?"
)
_CALL, _ENTRY = "voice.call.started", "voice.value.collected"
"""Events of a call, and of a line that accepts an entry. They are named, because importing them takes the simulator."""
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
    is_talk: bool = False
    """Whether all that it did is to say something, or to press keys in a call."""
    is_courtesy: bool = False
    """Whether it is a greeting, thanks or a goodbye."""
    is_question: bool = False
    """Whether it only asks for something: it has a question that is not answered by yes or no, and no number."""

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
    is_chat: bool = False
    """Whether there is nothing but a chat, which has no deadline."""

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

    def changes_only_talk(self, variant: Variant) -> bool:
        """Return whether a variant changes nothing but what is said, or which keys are pressed in a call."""
        talk = {(call.name, call.occurrence) for call in self.calls if call.is_talk}
        return bool(variant.changes) and all((each.call, each.occurrence) in talk for each in variant.changes)

    def has_same_effects(self, records: Sequence[Mapping[str, Any]], events: Mapping[str, type[Payload]]) -> bool:
        """Return whether another agent had the same effects."""
        return list_effects(self.records, events) == list_effects(records, events)

    def has_same_outcome(self, records: Sequence[Mapping[str, Any]], events: Mapping[str, type[Payload]]) -> bool:
        """Return whether another agent had the same effects, whatever it said on the way.

        People must have been told the same, earlier or later.
        """
        mine, other = (list_effects(each, events, with_talk=False) for each in (self.records, records))
        return mine == other and (not self.has_people or self._has_told_all(records))

    def has_same_entries(self, records: Iterable[Mapping[str, Any]]) -> bool:
        """Return whether lines have accepted the same entries of another agent in the end."""
        return _list_entries(self.records) == _list_entries(records)

    def _has_told_all(self, records: Iterable[Mapping[str, Any]]) -> bool:
        """Return whether another agent said all that this one tells. Courtesies and questions tell nothing."""
        talk = [call for call in self.calls if call.is_talk and not call.is_courtesy and not call.is_question]
        told = {call.arguments["text"] for call in talk if "text" in call.arguments}
        return told <= {record["payload"].get("text") for record in records if record["actor"] == "agent"}

    def read_log(self, lines: Iterable[bytes], events: Mapping[str, type[Payload]]) -> None:
        """Find out from the log of the trial which calls had an effect."""
        records = self.records = [parse_line(line) for line in lines]
        current = last = None
        for record in records:
            if _is_mark(record):
                number = record["payload"]["data"].get("call")
                current = None if number is None else self.calls[number]
            elif current is not None and _is_effect(record, events):
                is_talk = events[record["kind"]].effect == "talk"
                current.is_talk = is_talk and (current.is_talk or not current.has_effect)
                current.has_effect, last = True, current
            elif last is not None and record["actor"] != "agent":
                last.has_reaction = True


def list_effects(
    records: Iterable[Mapping[str, Any]], events: Mapping[str, type[Payload]], *, with_talk: bool = True
) -> list[str]:
    """Return what the agent changed or sent, in order, without times and ids of the trial itself.

    A record that is set once more to the same value is listed once. Without what was said, so are the calls to one
    number: how often it may be called is for a criterion.
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

    pages = _read_pages(listed)
    drawn = [str(record["payload"][_DRAWN[record["kind"]]]) for record in listed if record["kind"] in _DRAWN]
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
        if kind == _CALL and not with_talk:
            payload = {"to": payload["to_number"]}
        is_page = kind == _PAGE and payload["hash"] in pages
        effect = [record["source"], kind, *([payload["hash"]] if is_page else [payload, record.get("blobs")])]
        text = orjson.dumps(effect, option=orjson.OPT_SORT_KEYS).decode()
        for hash, words in pages.items():
            text = text.replace(hash, words)
        text = _VERSION.sub("", _ID.sub("id", _TIME.sub(mask, text)))
        for number in drawn:
            text = text.replace(number, "number")
        if kind == _CALL and not with_talk and text in effects:
            continue
        if type != "state" or text != (effects or [""])[-1]:
            effects.append(text)
    return effects


def _read_pages(records: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the words of stored fax pages by hash, without the line at the top, which has the time of sending."""
    pages: dict[str, str] = {}
    for record in records:
        payload = record["payload"]
        if record["kind"] == _PAGE and payload.get("true_words"):
            top = get_header_height(payload["resolution"])
            words = (PageWord(*each) for each in payload["true_words"]["words"])
            pages[payload["hash"]] = " ".join(each.text for each in words if each.top + each.height / 2 >= top)
    return pages


def _is_effect(record: Mapping[str, Any], events: Mapping[str, type[Payload]]) -> bool:
    status: int = record.get("request", {}).get("status", 0)
    return record["actor"] == "agent" and events[record["kind"]].effect != "none" and status < MIN_REFUSED


def _is_running_number(key: str, value: Any) -> bool:
    return key in _NUMBERED and isinstance(value, str) and value.isdigit()


def _list_entries(records: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], str]:
    """Return what lines have accepted in the end, by the place in their menus."""
    entries = (record["payload"] for record in records if record["kind"] == _ENTRY)
    return {(entry["node"], entry["name"]): entry["value"] for entry in entries}


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
        kinds = {simulator.kind for simulator in snapshot.environment.simulators.values()}
        recording.is_chat = kinds == {CONVERSATION_KIND}
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
                call.has_effect = call.has_reaction = call.is_talk = True
                call.is_courtesy = call.is_courtesy or is_greeting
        return reply

    def _add(self, name: str, arguments: Arguments) -> SolutionCall:
        self._counts[name] += 1
        plain = {key: data for key, value in arguments.items() if (data := _to_plain(value)) is not MISSING}
        call = SolutionCall(name, self._counts[name], plain, is_complete=len(plain) == len(arguments))
        text = str(plain.get("text", ""))
        call.is_courtesy = is_closing(text, "agent") or _THANKS.fullmatch(text) is not None
        call.is_question = _QUESTION.search(text) is not None and re.search(r"\d", text) is None
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
