"""Read the phone calls of a trial from its log. Loaded by name: few logs have calls."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from clerkship.events.event import Event, Payload
from clerkship.model.duration import describe_duration
from clerkship.report.call_moments import (
    OUTCOME_WORDS,
    CallMoment,
    ShownCall,
    ShownVoicemail,
)
from clerkship.simulators.voice.call_log import read_calls
from clerkship.simulators.voice.calls import CALL_EVENTS
from clerkship.simulators.voice.events import (
    BeepPlayed,
    CallAnswered,
    CallEnded,
    CallTransferred,
    DigitsSent,
    HoldStarted,
    IdentityVerified,
    InputRejected,
    NodeEntered,
    VoicemailLeft,
)
from clerkship.simulators.voice.metrics import CallMetrics, measure_call
from clerkship.simulators.voice.records import CallTurn, PhoneCall

KINDS: Mapping[str, type[Payload]] = {each.kind: each for each in CALL_EVENTS} | {VoicemailLeft.kind: VoicemailLeft}
REJECTIONS = {"no_match": "not understood", "no_input": "nothing was heard", "invalid": "entry rejected"}


def list_call_facts(records: Iterable[Mapping[str, Any]]) -> tuple[list[ShownCall], list[ShownVoicemail]]:
    """Return the calls and voicemails in a log, in order. The events are as `parse_line` returns them."""
    events = [event for record in records if (event := _parse(record)) is not None]
    calls = read_calls(events)
    others: dict[tuple[str, str], list[Event]] = {}
    for event in events:
        call = getattr(event.payload, "call", None)
        if isinstance(call, str):
            others.setdefault((event.source, call), []).append(event)
    shown = [_build_call(call, others.get((call.source, call.id), [])) for call in calls.values()]
    return shown, [
        _build_voicemail(event, event.payload) for event in events if isinstance(event.payload, VoicemailLeft)
    ]


def _parse(record: Mapping[str, Any]) -> Event | None:
    """Return the event of a call; None for others, and for one that cannot be read, such as one with a cut body."""
    kind = KINDS.get(record["kind"])
    if kind is None:
        return None
    try:
        payload = kind.model_validate(record["payload"])
    except ValidationError:
        return None
    at = datetime.fromisoformat(record["at"])
    return Event(record["seq"], at, record["source"], record["kind"], record["actor"], record["cause"], payload)


def _build_call(call: PhoneCall, events: Iterable[Event]) -> ShownCall:
    start = call.started_at
    end = call.ended_at or max([call.last_at, *(turn.end for turn in call.turns)])
    moments = [_build_speech(turn, start, end) for turn in call.turns]
    moments += [moment for event in events for moment in _build_moments(call, event, end)]
    moments.sort(key=lambda moment: (moment.start, moment.seq))
    return ShownCall(
        id=call.id,
        source=call.source,
        seq=call.seq,
        direction=call.direction,
        number=call.first_number,
        started_at=start,
        end=(end - start).total_seconds(),
        outcome=call.outcome or "",
        ended_by=call.ended_by or "",
        measures=tuple(_describe_measures(measure_call(call))) if call.answered_at else (),
        moments=tuple(moments),
    )


def _build_speech(turn: CallTurn, start: datetime, end: datetime) -> CallMoment:
    rest = turn.text.removeprefix(turn.heard) if turn.is_cut else ""
    return CallMoment(
        "speech",
        turn.seq,
        (turn.start - start).total_seconds(),
        (max(min(turn.end, end), turn.start) - start).total_seconds(),
        speaker=turn.speaker,
        text=turn.heard,
        rest=rest.strip(),
        note="" if turn.is_heard else "not heard by the far end",
        is_cut=turn.is_cut,
    )


def _build_moments(call: PhoneCall, event: Event, end: datetime) -> Iterator[CallMoment]:
    """Yield what the drawing shows of an event, besides speech."""
    at = (event.at - call.started_at).total_seconds()

    def build(sort: Any, text: str = "", **more: Any) -> CallMoment:
        return CallMoment(sort, event.seq, at, more.pop("end", at), text=text, **more)

    match event.payload:
        case CallAnswered(far_end=far_end):
            yield build("answered", "answered", note=_name_far_end(far_end))
        case CallTransferred(far_end=far_end, is_wrong=is_wrong):
            note = "a fault sent it to the wrong place" if is_wrong else ""
            yield build("transfer", f"transferred to {_name_far_end(far_end)}", note=note)
        case DigitsSent(digits=digits, understood=understood):
            note = f"the line understood {understood}" if understood != digits else ""
            yield build("keys", digits, speaker="agent", note=note)
        case NodeEntered(tree=tree, node=node):
            yield build("node", node, note=tree)
        case InputRejected(reason=reason, attempt=attempt):
            yield build("rejected", REJECTIONS.get(reason, reason.replace("_", " ")), note=f"attempt {attempt}")
        case IdentityVerified(member_id=member_id):
            yield build("verified", f"identity verified: {member_id}")
        case BeepPlayed(mailbox=mailbox):
            yield build("beep", "beep", note=f"mailbox {mailbox}")
        case VoicemailLeft(mailbox=mailbox, text=text):
            yield build("voicemail", f"voicemail left in {mailbox}" if text.strip() else f"nothing left in {mailbox}")
        case HoldStarted(by=by, position=position):
            hold = next((hold for hold in call.holds if hold.start == event.at and hold.by == by), None)
            if hold is not None:
                stop = ((hold.end or end) - call.started_at).total_seconds()
                note = f"position {position} in the queue" if position is not None else ""
                yield build("hold", f"on hold for {describe_duration(stop - at)}", speaker=by, note=note, end=stop)
        case CallEnded(by=by, outcome=outcome, reason=reason):
            yield build("ended", OUTCOME_WORDS.get(outcome, outcome), speaker=by, note=reason)
        case _:
            pass


def _name_far_end(far_end: str) -> str:
    """Return the name of a representative, or the number of a line or person."""
    number, _, name = far_end.partition("/")
    return name.replace("_", " ") or number


def _describe_measures(metrics: CallMetrics) -> Iterator[tuple[str, str]]:
    yield "Length", describe_duration(metrics.length)
    if metrics.on_hold:
        yield "On hold", describe_duration(metrics.on_hold)
    if metrics.median_response_time is not None and metrics.max_response_time is not None:
        median, longest = describe_duration(metrics.median_response_time), describe_duration(metrics.max_response_time)
        yield "Response time", median if len(metrics.response_times) == 1 else f"{median} median, {longest} longest"
    yield "Dead air", describe_duration(metrics.dead_air)
    yield "Overlap", describe_duration(metrics.overlap)
    yield "Interruptions", str(metrics.barge_ins)
    yield "Reprompts", str(metrics.reprompts)


def _build_voicemail(event: Event, left: VoicemailLeft) -> ShownVoicemail:
    return ShownVoicemail(
        source=event.source,
        seq=event.seq,
        mailbox=left.mailbox,
        from_number=left.from_number,
        at=left.received_at or event.at,
        seconds=left.seconds,
        text=left.text,
        before_beep=left.before_beep,
        call=left.call or "",
    )
