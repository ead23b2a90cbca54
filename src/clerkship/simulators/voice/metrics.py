"""Measures of a call: response times, silence, overlap, length and time on hold."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from statistics import median
from typing import NamedTuple

from clerkship.simulators.voice.records import PhoneCall

CUT_TOLERANCE = timedelta(seconds=0.1)
"""How far the moment of a cut may be from what the agent did: its place in the prompt is rounded."""
Span = tuple[datetime, datetime]


class CallMetrics(NamedTuple):
    """Measures of one call, in seconds."""

    length: float
    """From the answer to the end; 0 if it was not answered."""
    on_hold: float
    response_times: tuple[float, ...]
    """From the end of the far end's speech to the agent's next words or keys, without time on hold."""
    dead_air: float
    """While the call was connected and not on hold, and neither side spoke."""
    overlap: float
    """While both sides spoke."""
    barge_ins: int
    """How often the agent cut the far end short by words or keys."""
    reprompts: int
    """How often the line rejected an entry, or heard none."""

    @property
    def median_response_time(self) -> float | None:
        """The median of the response times; None if there are none."""
        return round(median(self.response_times), 3) if self.response_times else None

    @property
    def max_response_time(self) -> float | None:
        """The longest response time; None if there are none."""
        return max(self.response_times, default=None)


def measure_call(call: PhoneCall) -> CallMetrics:
    """Measure a call; one that has not ended, up to its last event."""
    end = call.ended_at or call.last_at
    start = call.answered_at or end
    holds = _merge((hold.start, hold.end or end) for hold in call.holds)
    agent = _merge((turn.start, min(turn.end, end)) for turn in call.turns if turn.speaker == "agent")
    far_end = _merge((turn.start, min(turn.end, end)) for turn in call.turns if turn.speaker != "agent")
    busy = _merge((*holds, *agent, *far_end))
    connected = [(start, end)]
    return CallMetrics(
        length=_to_seconds(end - start),
        on_hold=_sum(holds),
        response_times=tuple(_list_response_times(call, holds)),
        dead_air=_round(_sum(connected) - _sum_overlap(connected, busy)),
        overlap=_round(_sum_overlap(agent, far_end)),
        barge_ins=_count_barge_ins(call),
        reprompts=call.reprompts,
    )


def _list_agent_acts(call: PhoneCall) -> list[datetime]:
    spoken = (turn.start for turn in call.turns if turn.speaker == "agent")
    return sorted((*spoken, *(keys.at for keys in call.keys)))


def _list_response_times(call: PhoneCall, holds: Sequence[Span]) -> list[float]:
    """Return the times from the last words of the far end to the agent's next act, if nothing is said between.

    A prompt that the agent cut short has no response time.
    """
    turns = sorted((turn for turn in call.turns if turn.speaker != "agent"), key=lambda turn: turn.start)
    acts = _list_agent_acts(call)
    times: list[float] = []
    for place, turn in enumerate(turns):
        first = bisect_left(acts, turn.end)
        act = acts[first] if first < len(acts) else None
        next_start = turns[place + 1].start if place + 1 < len(turns) else None
        if act is None or (next_start is not None and act > next_start):
            continue
        if turn.is_cut and _is_cut_by(turn.end, acts):
            continue
        if not any(start < act and stop > turn.end for start, stop in holds):
            times.append(_to_seconds(act - turn.end))
    return times


def _is_cut_by(end: datetime, acts: Sequence[datetime]) -> bool:
    place = bisect_left(acts, end - CUT_TOLERANCE)
    return place < len(acts) and acts[place] <= end + CUT_TOLERANCE


def _count_barge_ins(call: PhoneCall) -> int:
    acts = _list_agent_acts(call)
    return sum(turn.speaker != "agent" and turn.is_cut and _is_cut_by(turn.end, acts) for turn in call.turns)


def _merge(spans: Iterable[Span]) -> list[Span]:
    """Return spans of time without overlap, in order."""
    merged: list[Span] = []
    for start, end in sorted(span for span in spans if span[1] > span[0]):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def _sum(spans: Iterable[Span]) -> float:
    return _to_seconds(sum((end - start for start, end in spans), timedelta()))


def _sum_overlap(first: Sequence[Span], second: Sequence[Span]) -> float:
    """Return for how many seconds a time is in both lists, each in order and without overlap."""
    common, place, other = timedelta(), 0, 0
    while place < len(first) and other < len(second):
        start, end = max(first[place][0], second[other][0]), min(first[place][1], second[other][1])
        common += max(end - start, timedelta())
        if first[place][1] <= second[other][1]:
            place += 1
        else:
            other += 1
    return _to_seconds(common)


def _to_seconds(time: timedelta) -> float:
    return _round(time.total_seconds())


def _round(seconds: float) -> float:
    return round(seconds, 3)
