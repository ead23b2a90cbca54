"""The calls and voicemails of a run, read from its events by the tables of the state."""

from bisect import bisect
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, cast

from clerkship.events.event import Event
from clerkship.events.evidence import Evidence
from clerkship.simulators.voice.calls import CALL_EVENTS, CallTable
from clerkship.simulators.voice.config import VoiceConfig
from clerkship.simulators.voice.events import VoicemailLeft
from clerkship.simulators.voice.lines import LineTable
from clerkship.simulators.voice.records import CallTurn, KeyPress, PhoneCall

_SETTINGS = VoiceConfig(lines=())
"""What a log tells of calls does not depend on the lines and limits of a configuration."""


class LoggedVoicemail(NamedTuple):
    """A message in a mailbox that the agent left."""

    source: str
    seq: int
    left: VoicemailLeft
    to_number: str
    """The number that was called; empty if it was left without a call."""

    def describe(self) -> str:
        """Return the mailbox and the beginning of the text."""
        text = " ".join(self.left.text.split())
        return f"voicemail in {self.left.mailbox} (#{self.seq}): {text[:60]}{'…' if len(text) > 60 else ''}"


def list_calls(evidence: Evidence, sandbox: str | None = None) -> list[PhoneCall]:
    """Return the calls of the agent in either direction, in order."""
    return [call for call in evidence.cached(_read_calls).values() if sandbox in (None, call.source)]


def list_voicemails(evidence: Evidence, sandbox: str | None = None) -> list[LoggedVoicemail]:
    """Return the voicemails that the agent left, in order. Those of a step or of a simulated person are left out."""
    return [each for each in evidence.cached(_read_voicemails) if sandbox in (None, each.source)]


def read_calls(events: Iterable[Event]) -> dict[tuple[str, str], PhoneCall]:
    """Return the calls in the events of CALL_EVENTS, by sandbox and id, in order."""
    tables: dict[str, CallTable] = {}
    # In the order in which they were appended: the state applied them in this order.
    ordered = sorted(events, key=lambda event: event.seq)
    for event in ordered:
        table = tables.get(event.source)
        if table is None:
            table = tables[event.source] = CallTable(_SETTINGS, LineTable(_SETTINGS))
        table.apply(event)
    calls = (call for table in tables.values() for call in table.by_id.values())
    return {(call.source, call.id): call for call in sorted(calls, key=lambda call: call.seq)}


def _read_calls(evidence: Evidence) -> dict[tuple[str, str], PhoneCall]:
    return read_calls(evidence.of_kind(*(each.kind for each in CALL_EVENTS)))


def _read_voicemails(evidence: Evidence) -> list[LoggedVoicemail]:
    calls = evidence.cached(_read_calls)
    voicemails = []
    for event in evidence.of_kind(VoicemailLeft.kind):
        left = cast(VoicemailLeft, event.payload)
        call = calls.get((event.source, left.call or ""))
        if call.direction == "outbound" if call is not None else evidence.find_originator(event) == "agent":
            number = call.first_number if call is not None else ""
            voicemails.append(LoggedVoicemail(event.source, event.seq, left, number))
    return voicemails


def group_passages(turns: list[CallTurn], is_selected: Callable[[CallTurn], bool]) -> Iterator[tuple[CallTurn, ...]]:
    """Yield what one speaker said without the other side between: a number may be said in several turns."""
    passage: list[CallTurn] = []
    for turn in turns:
        if passage and (turn.speaker != passage[-1].speaker or turn.far_end != passage[-1].far_end):
            yield tuple(passage)
            passage = []
        if is_selected(turn):
            passage.append(turn)
    if passage:
        yield tuple(passage)


def group_keys(call: PhoneCall) -> Iterator[KeyPress]:
    """Yield the keys that were pressed without words between as one: a number may be pressed in parts."""
    spoken = [turn.seq for turn in call.turns]
    last: KeyPress | None = None
    for keys in call.keys:
        if last is not None and bisect(spoken, last.seq) == bisect(spoken, keys.seq):
            last = last._replace(digits=last.digits + keys.digits)
            continue
        if last is not None:
            yield last
        last = keys
    if last is not None:
        yield last
