"""An agent's model calls while they are recorded, and recorded calls.

A call is found by everything that the agent sent, without what differs in every run. Equal requests of a trial get
their responses in the order in which they were recorded.

See docs/decisions/0037-record-model-calls.md.
"""

import re
import tempfile
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Set
from functools import lru_cache, partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import orjson

from clerkship.events.log import Log
from clerkship.kit.wall import now
from clerkship.providers.openai import SESSION_FIELDS
from clerkship.providers.server_sent_events import split_events
from clerkship.recording.cassette import Cassette, RecordedModelCall, TrialKey, content_key
from clerkship.recording.current_date import hide_current_date
from clerkship.recording.recorded_model import render_diff
from clerkship.recording.session import NotRecorded, RecordingSession, build_miss
from clerkship.recording.shown_ids import UUID, ShownIds

IGNORED = SESSION_FIELDS | {"stream_options"}
IGNORED_IN_ENTRIES = frozenset({"internal_chat_message_metadata_passthrough"})
"""Fields of messages that identify a session: Codex puts the time and the turn there."""
LISTS = ("system", "instructions", "tools", "messages", "input", "contents")
"""Fields whose entries are compared one by one."""
PASSING = frozenset({408, 409, 425, 429})
"""Statuses, besides those from 500 on, upon which a client tries again. They are not recorded."""
_PRIVATE = re.compile(r"[^\s\"'\\]*\.private/run-\w+/clerkship-\w+")
"""The private folder of a trial, whose names are random: programs tell models where they work."""
_TEMPORARY = re.compile(rf"{re.escape(tempfile.gettempdir())}/[^\s\"'\\/]+")


class RedactedTrial(Protocol):
    """The part of a playground that recordings use."""

    log: Log

    def redact(self, text: str) -> str:
        """Replace the credentials and addresses of the trial."""

    def restore(self, text: str) -> str:
        """Put the credentials and addresses of the trial back."""


class AskedCall(NamedTuple):
    """A request as it is looked for."""

    request: str
    """What equal requests have in common: the key of the first of them."""
    texts: tuple[str, ...]
    entry: RecordedModelCall
    """Without the response."""
    attempt: int = 0
    """Which of all requests of the trial it is."""

    @property
    def place(self) -> tuple[str, int]:
        """What only one request of a trial has: its number among those that are equal."""
        return self.request, self.entry.number


class CallRecording:
    """The recorded model calls of one trial."""

    def __init__(self, session: RecordingSession, owner: TrialKey, trial: RedactedTrial) -> None:
        self._session, self._owner, self._trial = session, owner, trial
        self._redactor = session.redactor_for(owner[0])
        self._ids = ShownIds()
        self._attempts = count(1)
        self._places: dict[tuple[str, int], int] = {}
        """The attempt that has each place among equal requests; one that failed has none."""
        self._last: dict[str, int] = {}
        """The number of the last of equal requests, unless it failed."""
        self._taken: dict[str, int] = {}
        """How many of the first numbers of equal requests are not free."""
        self._has_missed = False
        self._lock = threading.Lock()
        session.record_calls(owner)

    def interrupt(self) -> None:
        """Keep the earlier recordings of the trial, because it ended before it made all its calls."""
        self._session.interrupt(self._owner)

    @property
    def replays(self) -> bool:
        """Whether nothing is sent to a provider."""
        return self._session.replays

    def ask(self, provider: str, operation: str, body: Mapping[str, Any]) -> AskedCall:
        """Return the call to look for: the next one with this request."""
        texts = tuple(split_request(body, self._hide, self._ids.find(self._trial.log)))
        entry = RecordedModelCall(
            key="",
            of=(self._owner,),
            provider=provider,
            operation=operation,
            request=tuple(map(content_key, texts)),
            status=0,
            media="",
            response="",
        )
        return AskedCall(entry.keyed().key, texts, entry)

    def begin(self, asked: AskedCall, *, is_repeated: bool = False) -> AskedCall:
        """Return the call with its number among equal ones: the first that is free, in order of arrival.

        One that a client repeats, because it did not get the response, has the number of the call before.
        """
        with self._lock:
            number = self._last.get(asked.request) if is_repeated else None
            if number is None:
                number = self._taken.get(asked.request, 0) + 1
                while (asked.request, number) in self._places:
                    number += 1
                self._taken[asked.request] = number
            begun = asked._replace(entry=asked.entry.keyed(number=number), attempt=next(self._attempts))
            self._places[begun.place] = begun.attempt
            self._last[asked.request] = number
        return begun

    def release(self, asked: AskedCall) -> None:
        """Let the next equal request have the number of a call that has no response to record."""
        with self._lock:
            if self._places.get(asked.place) == asked.attempt:
                del self._places[asked.place]
                self._taken[asked.request] = min(self._taken[asked.request], asked.entry.number - 1)
            elif asked.attempt:  # the client has repeated it meanwhile
                return
            self._last.pop(asked.request, None)

    def find(self, asked: AskedCall) -> RecordedModelCall | None:
        """Return the recorded call with its response as this run would have got it; None if it must be asked for."""
        if self._session.mode == "record":
            return None
        found = self._session.find(self._owner, asked.entry)
        if found is None:
            return None
        return found.model_copy(update={"response": self._trial.restore(self._redactor.show(found.response))})

    def miss(self, asked: AskedCall) -> NotRecorded:
        """Return the error for a request that is not recorded. The trial names the first, from which others follow."""
        number = f" (number {asked.entry.number} of equal ones)" if asked.entry.number > 1 else ""
        what = f"a call of the agent to {asked.entry.provider}{asked.entry.operation}{number}"
        self.release(asked)
        with self._lock:
            is_first, self._has_missed = not self._has_missed, True
        if not is_first:
            return build_miss(self._owner, what)
        return self._session.miss(self._owner, asked.entry, what, partial(describe_nearest_call, asked))

    def save(self, asked: AskedCall, status: int, media: str, headers: Mapping[str, str], response: bytes) -> None:
        """Record a response, unless a client would ask again upon it."""
        if status >= 500 or status in PASSING:
            self.release(asked)
            return
        try:
            text = response.decode()
        except UnicodeDecodeError:
            self._session.refuse(self._owner, "a model answered the agent with bytes that are not UTF-8")
            return
        is_stream = media.startswith("text/event-stream")
        hidden = "".join(hide_stream(text, self._hide)) if is_stream else self._hide(text)
        known = {"status": status, "media": media, "headers": dict(headers), "response": hidden}
        with self._lock:
            if self._places.get(asked.place) == asked.attempt:  # else the client has repeated it meanwhile
                self._session.put(self._owner, asked.entry.model_copy(update=known), asked.texts)

    def _hide(self, text: str) -> str:
        hidden: str = self._redactor.hide(self._trial.redact(text))
        return hidden


def split_request(body: Mapping[str, Any], hide: Callable[[str], str], shown: Set[str] = frozenset()) -> Iterator[str]:
    """Yield the parts of a request: its options, then each message and tool, redacted.

    Ids that the client makes up are numbered in the order of their first appearance; those that the run has `shown`
    stay, such as the id of a patient.
    """
    options = {name: value for name, value in body.items() if name not in IGNORED and name not in LISTS}
    parts: list[Any] = [options]
    for name in LISTS:
        value = body.get(name)
        entries = map(_leave_out_ignored, value) if isinstance(value, list) else [value] if value else []
        parts += [{name: entry} for entry in entries]
    numbers: dict[str, str] = {}
    days = {now().date(), now().astimezone().date()}  # programs use UTC, or the time zone of the machine

    def number(match: "re.Match[str]") -> str:
        return match[0] if match[0] in shown else numbers.setdefault(match[0], f"[id {len(numbers) + 1}]")

    folder = _folder_pattern(str(Path.cwd()))
    for part in parts:
        text = hide(orjson.dumps(part, option=orjson.OPT_SORT_KEYS).decode())
        text = folder.sub("[folder]", _PRIVATE.sub("[private folder]", text))
        text = _TEMPORARY.sub("[temporary file]", text)
        yield UUID.sub(number, hide_current_date(text, days))


def _leave_out_ignored(entry: Any) -> Any:
    if isinstance(entry, Mapping) and not IGNORED_IN_ENTRIES.isdisjoint(entry):
        return {name: value for name, value in entry.items() if name not in IGNORED_IN_ENTRIES}
    return entry


@lru_cache(4)
def _folder_pattern(folder: str) -> "re.Pattern[str]":
    """Return a pattern for a folder in a JSON text, but not in a longer word or path: `/work` is not in `home/work`."""
    return re.compile(rf"(?:(?<![\w.-])|(?<=\\[nrt])){re.escape(folder)}(?![\w-])" if folder != "/" else "(?!)")


def hide_stream(text: str, hide: Callable[[str], str]) -> Iterator[str]:
    """Yield the events of a stream, redacted. A secret that several events share moves into the first of them."""
    events = [*split_events(text.encode())]
    leaves: dict[str, list[tuple[Any, Any]]] = {}
    for event in events:
        for name, holder, field in _list_texts(event.data, ""):
            leaves.setdefault(name, []).append((holder, field))
    changed: set[int] = set()
    for places in leaves.values():
        joined = "".join(holder[field] for holder, field in places)
        hidden = hide(joined)
        if len(places) > 1 and hidden != joined and hidden != "".join(hide(holder[field]) for holder, field in places):
            for place, (holder, field) in enumerate(places):
                holder[field] = hidden if place == 0 else ""
                changed.add(id(holder))
    if not changed:
        yield hide(text)
        return
    for event in events:
        text = event.raw.decode()
        if any(id(holder) in changed for _, holder, _ in _list_texts(event.data, "")):
            head = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("data:")).strip()
            lines = f"{head}\n" if head else ""
            yield f"{lines}data: {orjson.dumps(event.data).decode()}\n\n"
        else:
            yield hide(text)


_PIECES = frozenset({"content", "arguments", "text", "partial_json", "thinking", "delta"})
"""The fields of events that hold the next piece of a text."""


def _list_texts(data: Any, place: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield each piece of a text in an event: its place, which is the same in all events of a text, and its holder."""
    if isinstance(data, dict):
        number = "/".join(str(data[name]) for name in ("index", "output_index", "content_index") if name in data)
        for name, value in data.items():
            where = f"{place}/{number}/{name}"
            if name in _PIECES and isinstance(value, str):
                yield where, data, name
            else:
                yield from _list_texts(value, where)
    elif isinstance(data, list):
        for position, value in enumerate(data):
            yield from _list_texts(value, f"{place}/{position}")


def describe_nearest_call(asked: AskedCall, cassette: Cassette, used: Collection[str]) -> str:
    """Describe how a request differs from the most similar recorded one."""
    calls = [entry for entry in cassette.entries.values() if isinstance(entry, RecordedModelCall)]
    own = [entry for entry in calls if entry.of == asked.entry.of] or calls
    if not own:
        return "; no model call of an agent is recorded there"
    same = [entry for entry in own if entry.request == asked.entry.request and entry.provider == asked.entry.provider]
    if same:
        return f"; this request is recorded {max(entry.number for entry in same)} times"
    wanted = asked.entry.request

    def score(entry: RecordedModelCall) -> tuple[float, bool, str]:
        equal = len(set(wanted) & set(entry.request)) - abs(len(wanted) - len(entry.request)) / 100
        return equal, entry.key not in used, entry.key

    near = max(own, key=score)
    recorded = "\n".join(_indent(cassette.texts[key]) for key in near.request)
    current = "\n".join(map(_indent, asked.texts))
    return f"; the nearest recorded request differs{render_diff('the request', recorded, current)}"


def _indent(text: str) -> str:
    return orjson.dumps(orjson.loads(text), option=orjson.OPT_INDENT_2).decode()
